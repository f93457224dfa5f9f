// A made-up cluster of any size, from a seed, that goes on changing: what the fixture server (server.mjs) shows.
export function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const kGpu = 'nvidia.com/gpu'
const kTeams = ['vision', 'speech', 'language', 'robotics', 'search', 'ads', 'research', 'safety', 'video', 'maps', 'health', 'core']
const kReasons = [
  ['Quota', 'needs 64 nvidia.com/gpu in flavor h100, quota left for it: 16', '48 nvidia.com/gpu of quota in flavor h100'],
  ['Nodes', '8 pods need nodes, there is room for 6: 94 nodes lack free nvidia.com/gpu', 'room for 2 more pods'],
  ['Topology', '16 pods must share one rack, the best has room for 11', 'room for 5 more pods in one rack'],
  ['BehindHead', 'waits behind the head of the strict queue', ''],
  ['LaneLimit', 'its user may have no more than 32 nvidia.com/gpu in this queue', '8 nvidia.com/gpu within its limit'],
  ['IncompleteGang', 'waiting for pods: 6 of the gang\'s 8 exist', '2 pods'],
]

export class State {
  constructor({ workloads = 100_000, nodes = 10_000, seed = 1, now = Date.UTC(2026, 10, 26, 2, 0, 0) } = {}) {
    this.random = random(seed)
    this.now = now
    this.revision = 1
    this.decisions = []
    this.seq = 0
    this.points = []
    this.makeNodes(nodes)
    this.makeQueues()
    this.makeWorkloads(workloads)
    this.makePast()
  }
  pick(list) { return list[Math.floor(this.random() * list.length)] }

  makeNodes(count) {
    this.levels = ['topology.kubernetes.io/zone', 'berth.dev/rack']
    this.nodes = new Map()
    const perRack = count > 2000 ? 40 : 16
    for (let i = 0; i < count; ++i) {
      const rack = Math.floor(i / perRack)
      const name = `gpu-${String(i).padStart(5, '0')}`
      const hot = this.random() < 0.8
      let use = ''
      for (let d = 0; d < 8; ++d) use += this.random() < 0.003 ? 'x' : hot ? (this.random() < 0.9 ? '9' : this.pick(['4', '7', 'p'])) : '0'
      this.nodes.set(name, {
        name, path: [`zone-${'abcd'[rack % 4]}`, `rack-${String(rack).padStart(3, '0')}`], cordoned: this.random() < 0.004, changed: 1,
        devices: [{ resource: kGpu, use }], amounts: [{ resource: 'cpu', capacity: 128_000, used: hot ? 96_000 : 8_000 }, { resource: 'memory', capacity: 2 ** 41, used: hot ? 2 ** 40 : 2 ** 36 }],
      })
    }
  }

  makeQueues() {
    this.queues = new Map()
    const add = (name, parent, leaf, nominal, usage) => this.queues.set(name, {
      name, parent, leaf, pending: 0, started: 0, stop: 'none', disabled: '', changed: 1,
      quotas: [{ flavor: 'h100', resource: kGpu, nominal: nominal * 1000, usage: usage * 1000, available: Math.max(0, nominal - usage) * 1000 },
        { flavor: 'h100', resource: 'cpu', nominal: nominal * 16_000, usage: usage * 12_000, available: Math.max(0, nominal * 16_000 - usage * 12_000) }],
    })
    add('company', '', false, 0, 78_000)
    for (const team of kTeams) {
      add(team, 'company', false, 0, 6_500)
      for (const part of ['train', 'batch', 'serve', 'lab']) {
        const nominal = 800 + Math.floor(this.random() * 1200)
        add(`${team}-${part}`, team, true, nominal, Math.floor(nominal * (0.4 + this.random())))
      }
    }
    this.queues.get('ads-lab').stop = 'hold'
    this.leaves = [...this.queues.values()].filter((queue) => queue.leaf)
  }

  makeWorkloads(count) {
    this.workloads = new Map()
    for (let i = 0; i < count; ++i) this.addWorkload(i, i < count / 4)
  }
  addWorkload(i, runs) {
    const queue = this.pick(this.leaves)
    const team = queue.name.slice(0, queue.name.lastIndexOf('-'))
    const slots = this.pick([1, 1, 1, 2, 4, 8, 16, 32])
    const why = this.pick(this.random() < 0.7 ? kReasons.slice(0, 2) : kReasons)
    const created = this.now - Math.floor(this.random() ** 2 * 86_400_000 * 2) - 60_000
    const row = {
      uid: `uid-${String(i).padStart(6, '0')}`, name: `team-${team}/${this.pick(['train', 'sweep', 'eval', 'finetune', 'infer'])}-${i}`, queue: queue.name, priority: this.pick([0, 0, 0, 100, 1000]),
      kind: this.pick(['training', 'batch', 'batch', 'interactive', 'service']), state: runs ? 'running' : this.random() < 0.002 ? 'held' : 'pending', created,
      started: runs ? created + 40_000 : 0, slots, running: runs ? slots : 0, devices: slots * 8000, reason: runs ? '' : why[0], text: runs ? '' : why[1], short: runs ? '' : why[2],
    }
    this.workloads.set(row.uid, row)
    if (runs) ++queue.started
    else ++queue.pending
    return row
  }
  decide(kind, row, at, for_) {
    this.decisions.push({
      seq: ++this.seq, at, kind, uid: row.uid, name: row.name, queue: row.queue, slots: row.slots, nodes: Math.ceil(row.slots / 2), beneficiary: for_?.uid ?? '', beneficiary_name: for_?.name ?? '',
      reason: kind === 'evict' ? 'Reclaimed' : '', text: kind === 'evict' ? 'quota that it borrowed goes back to its owner' : kind === 'hold' ? 'its victims are ending' : '',
    })
    if (this.decisions.length > 20_000) this.decisions.splice(0, 5000)
  }
  makePast() {
    const running = [...this.workloads.values()].filter((row) => row.state === 'running')
    for (let minute = 360; minute > 0; --minute) {
      const at = this.now - minute * 60_000
      const starts = 20 + Math.floor(20 * this.random() + 15 * Math.sin(minute / 25))
      const evictions = Math.floor(4 * this.random())
      for (let i = 0; i < starts && running.length; ++i) this.decide('start', this.pick(running), at + i * 900)
      for (let i = 0; i < evictions && running.length; ++i) this.decide('evict', this.pick(running), at + i * 900, this.pick(running))
      const all = this.nodes.size * 8000
      this.points.push([at, starts, evictions, evictions, Math.floor(all * (0.78 + 0.05 * Math.sin(minute / 40))), all, this.count('pending') + Math.floor(500 * Math.sin(minute / 30)), running.length])
    }
  }
  count(state) { return this.counts().get(state) ?? 0 }
  counts() {
    if (this.counted?.revision === this.revision) return this.counted.map
    const map = new Map()
    const reasons = new Map()
    for (const row of this.workloads.values()) {
      map.set(row.state, (map.get(row.state) ?? 0) + 1)
      if (row.state === 'pending') reasons.set(row.reason, (reasons.get(row.reason) ?? 0) + 1)
    }
    this.counted = { revision: this.revision, map, reasons }
    return map
  }

  // Some workloads start and end, some devices change hands.
  step(ms = 1000, changes = 20) {
    this.now += ms
    ++this.revision
    const nodes = [...this.nodes.values()]
    const rows = [...this.workloads.values()]
    for (let i = 0; i < changes; ++i) {
      const node = this.pick(nodes)
      node.devices = [{ resource: kGpu, use: [...node.devices[0].use].map((mark) => (mark === 'x' ? 'x' : this.random() < 0.5 ? mark : this.pick(['0', '9', '9']))).join('') }]
      node.changed = this.revision
      const row = this.pick(rows)
      const queue = this.queues.get(row.queue)
      queue.changed = this.revision
      if (row.state === 'pending') {
        Object.assign(row, { state: 'running', started: this.now, running: row.slots, reason: '', text: '', short: '' })
        --queue.pending
        ++queue.started
        this.decide('start', row, this.now)
      } else if (row.state === 'running' && this.random() < 0.2) {
        const why = this.pick(kReasons)
        Object.assign(row, { state: 'pending', started: 0, running: 0, reason: why[0], text: why[1], short: why[2] })
        ++queue.pending
        --queue.started
        this.decide('evict', row, this.now, this.pick(rows))
      }
    }
  }
}
