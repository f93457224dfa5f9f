// Serves dist/ and a made-up state as the scheduler would (docs/dashboard.md), for work on the pages and for the browser test:
//   node dev/server.mjs [--port 8100] [--workloads 100000] [--nodes 10000] [--still] [--sign-in]
// With --sign-in the token "all" sees all, and the token "vision" only namespace team-vision, no nodes, and its own queues.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { State } from './state.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const kTypes = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', txt: 'text/plain; charset=utf-8' }
const kPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function serve({ state, port = 0, signIn = false, every = 1000, changes = 20 }) {
  const streams = new Set()
  const sightOf = (request) => {
    if (!signIn) return { all: true, namespace: () => true }
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    if (token === 'all') return { all: true, namespace: () => true }
    if (token === 'vision') return { all: false, namespace: (name) => name.startsWith('team-vision/') }
    return null
  }
  const seen = (sight, name) => sight.all || sight.namespace(name)
  const summary = (sight) => {
    const rows = sight.all ? null : [...state.workloads.values()].filter((row) => seen(sight, row.name))
    const count = (name) => (rows ? rows.filter((row) => row.state === name).length : state.count(name))
    state.counts()
    const capacity = state.nodes.size * 8000
    return {
      revision: state.revision, as_of: state.now, pending: count('pending'), held: count('held'), running: count('running'), queues: state.queues.size, nodes: sight.all ? state.nodes.size : 0,
      resources: sight.all ? [{ resource: 'nvidia.com/gpu', capacity, used: Math.floor(capacity * 0.81), promised: Math.floor(capacity * 0.83) }] : [],
      reasons: rows ? [] : [...state.counted.reasons].map(([code, count]) => ({ code, count })), decision: state.seq, sees_all: sight.all, sees_nodes: sight.all, sees_queues: sight.all,
    }
  }
  const pages = {
    about: () => ({ api: 1, version: '0.1.0 (fixture)', sign_in: signIn }),
    summary: (_query, sight) => summary(sight),
    queues: (query, sight) => {
      const since = Number(query.get('since') ?? 0)
      const shown = [...state.queues.values()].filter((queue) => sight.all || queue.name.startsWith('vision') || queue.name === 'company')
      return { revision: state.revision, total: shown.length, items: shown.filter((queue) => queue.changed > since), gone: [], whole: since === 0 }
    },
    workloads: (query, sight) => {
      const offset = Number(query.get('offset') ?? 0)
      const limit = Number(query.get('limit') ?? 100)
      const [wanted, reason, queue, text] = ['state', 'reason', 'queue', 'q'].map((key) => query.get(key) ?? '')
      const rows = []
      for (const row of state.workloads.values()) {
        if (wanted && wanted !== 'any' && row.state !== wanted) continue
        if (reason && row.reason !== reason) continue
        if (queue && row.queue !== queue && state.queues.get(row.queue)?.parent !== queue) continue
        if (text && !row.name.includes(text) && !row.uid.includes(text)) continue
        if (seen(sight, row.name)) rows.push(row)
      }
      const sorts = { age: (a, b) => a.created - b.created, priority: (a, b) => b.priority - a.priority, devices: (a, b) => b.devices - a.devices, name: (a, b) => (a.name < b.name ? -1 : 1) }
      rows.sort(sorts[query.get('sort') ?? 'age'] ?? sorts.age)
      return { revision: state.revision, total: rows.length, offset, items: rows.slice(offset, offset + limit) }
    },
    nodes: (query, sight) => {
      const since = Number(query.get('since') ?? 0)
      const offset = Number(query.get('offset') ?? 0)
      const text = query.get('q') ?? ''
      const rows = sight.all ? [...state.nodes.values()].filter((node) => node.changed > since && node.name.includes(text)) : []
      return { revision: state.revision, total: rows.length, offset, levels: state.levels, items: rows.slice(offset, offset + Number(query.get('limit') ?? 100)), gone: [], whole: since === 0 }
    },
    decisions: (query, sight) => {
      const [before, after] = [Number(query.get('before') ?? Infinity), Number(query.get('after') ?? 0)]
      const limit = Number(query.get('limit') ?? 100)
      const [kind, text] = [query.get('kind') ?? '', query.get('q') ?? '']
      const items = []
      let more = false
      for (let at = state.decisions.length - 1; at >= 0; --at) {
        const one = state.decisions[at]
        if (one.seq <= after) break
        if (one.seq >= before || (kind && one.kind !== kind) || (text && !`${one.name} ${one.queue}`.includes(text)) || !seen(sight, one.name)) continue
        if (items.length >= limit) { more = true; break }
        items.push(one.beneficiary && !seen(sight, one.beneficiary_name) ? { ...one, beneficiary: '', beneficiary_name: '' } : one)
      }
      return { revision: state.revision, last: state.seq, items, more }
    },
    timeline: (query) => ({ step: 60_000, points: state.points.slice(-Number(query.get('minutes') ?? 60)) }),
  }
  const story = (uid, sight) => {
    const row = state.workloads.get(uid)
    if (!row || !seen(sight, row.name)) return null
    const past = state.decisions.filter((one) => one.uid === uid).slice(-20)
    return {
      revision: state.revision, workload: row, verdict: { kind: row.state === 'running' ? 'placed' : 'blocked', text: row.text, enough: '', reason: { code: row.reason || 'None', text: row.text, children: [] } },
      slots: row.running ? Array.from({ length: row.slots }, (_v, index) => ({ pod_set: 0, index, state: 'running', node: `gpu-${String(index).padStart(5, '0')}` })) : [], slots_total: row.running,
      story: [{ at: row.created, what: 'created', slots: row.slots, text: '', uid: '', name: '' }, ...past.map((one) => ({ at: one.at, what: one.kind, slots: one.slots, text: one.text, uid: one.beneficiary, name: one.beneficiary_name }))],
    }
  }

  const server = createServer((request, answer) => {
    const address = new URL(request.url, 'http://fixture')
    const path = address.pathname
    const say = (status, type, body) => { answer.writeHead(status, { 'Content-Type': type, 'Content-Security-Policy': kPolicy, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' }); answer.end(body) }
    if (path.startsWith('/api/v1/')) {
      const name = path.slice(8)
      const sight = name === 'about' ? {} : sightOf(request)
      if (!sight) return say(401, kTypes.txt, 'this token is not known to the API server\n')
      if (name === 'changes') {
        answer.writeHead(200, { 'Content-Type': 'text/event-stream' })
        const one = { answer, sight }
        streams.add(one)
        answer.write(`data: ${JSON.stringify(summary(sight))}\n\n`)
        request.on('close', () => streams.delete(one))
        return undefined
      }
      if (name.startsWith('workloads/')) {
        const found = story(decodeURIComponent(name.slice(10)), sight)
        return found ? say(200, 'application/json', JSON.stringify(found)) : say(404, kTypes.txt, 'no such workload\n')
      }
      const page = pages[name]
      return page ? say(200, 'application/json', JSON.stringify(page(address.searchParams, sight))) : say(404, kTypes.txt, 'no such page\n')
    }
    const file = path === '/' ? 'index.html' : path.slice(1)
    if (!/^[a-z]+\.(html|js|css|txt)$/.test(file)) return say(404, kTypes.txt, 'no such page\n')
    try { return say(200, kTypes[file.split('.')[1]], readFileSync(join(here, '../dist', file))) } catch { return say(404, kTypes.txt, 'no such page\n') }
  })
  const tell = () => { for (const one of streams) one.answer.write(`data: ${JSON.stringify(summary(one.sight))}\n\n`) }
  const timer = every > 0 ? setInterval(() => { state.step(every, changes); tell() }, every) : undefined
  return new Promise((done) => server.listen(port, '127.0.0.1', () => done({
    port: server.address().port, tell, close: () => { clearInterval(timer); for (const one of streams) one.answer.end(); server.close(); server.closeAllConnections() },
  })))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const value = (name, otherwise) => { const at = process.argv.indexOf(name); return at < 0 ? otherwise : Number(process.argv[at + 1]) }
  const state = new State({ workloads: value('--workloads', 100_000), nodes: value('--nodes', 10_000), now: Date.now() })
  const running = await serve({ state, port: value('--port', 8100), signIn: process.argv.includes('--sign-in'), every: process.argv.includes('--still') ? 0 : 1000 })
  console.log(`http://127.0.0.1:${running.port}/`)
}
