// Nodes by domain: one card per value path down to a chosen level, with the sums of its devices. Changed nodes change only their own cards.
import type { NodeRow } from './api'

export interface Domain {
  key: string
  path: string[]
  nodes: NodeRow[]
  devices: number
  used: number   // in whole devices, parts added up
  idle: number   // devices that nothing uses
  broken: number
  version: number
}

const kByName = new Intl.Collator('en', { numeric: true })

// One character per device: 0 free, 1 to 8 used in part, 9 used whole, p promised, x unhealthy.
export function useOfDevice(mark: string): number {
  return mark >= '0' && mark <= '9' ? Number(mark) / 9 : 0
}

export class NodeMap {
  readonly nodes = new Map<string, NodeRow>()
  private domains = new Map<string, Domain>()
  private sorted: Domain[] = []
  private depth = 0
  private best = { size: -1, levels: 0, depth: 0 }
  levels: string[] = []

  // The deepest level that is worth cards: its domains have several nodes.
  bestDepth(): number {
    if (this.best.size === this.nodes.size && this.best.levels === this.levels.length) return this.best.depth
    const depth = this.findDepth()
    this.best = { size: this.nodes.size, levels: this.levels.length, depth }
    return depth
  }
  private findDepth(): number {
    for (let depth = this.levels.length; depth > 0; --depth) {
      const keys = new Set<string>()
      for (const node of this.nodes.values()) keys.add(node.path.slice(0, depth).join(' / '))
      if (keys.size * 2 <= this.nodes.size) return depth
    }
    return 0
  }
  setDepth(depth: number) {
    if (depth === this.depth) return
    this.depth = depth
    this.domains.clear()
    for (const node of this.nodes.values()) this.domainOf(node).nodes.push(node)
    for (const domain of this.domains.values()) count(domain)
  }

  take(items: readonly NodeRow[], gone: readonly string[], whole: boolean, levels: string[]) {
    this.levels = levels
    if (whole) {
      this.nodes.clear()
      this.domains.clear()
    }
    const touched = new Set<Domain>()
    for (const name of gone) {
      const node = this.nodes.get(name)
      if (!node) continue
      this.nodes.delete(name)
      touched.add(this.leave(node))
    }
    for (const node of items) {
      const before = this.nodes.get(node.name)
      this.nodes.set(node.name, node)
      const domain = this.domainOf(node)
      touched.add(domain)
      if (!before) domain.nodes.push(node)
      else if (this.keyOf(before) === domain.key) {
        domain.nodes[domain.nodes.indexOf(before)] = node
      } else {
        touched.add(this.leave(before))
        domain.nodes.push(node)
      }
    }
    for (const domain of touched) {
      if (domain.nodes.length === 0) this.domains.delete(domain.key)
      else count(domain)
    }
  }

  list(): Domain[] {
    if (this.sorted.length !== this.domains.size || this.sorted.some((domain) => this.domains.get(domain.key) !== domain)) {
      this.sorted = [...this.domains.values()].sort((a, b) => kByName.compare(a.key, b.key))
    }
    return this.sorted
  }
  get(key: string): Domain | undefined { return this.domains.get(key) }

  private keyOf(node: NodeRow): string { return node.path.slice(0, this.depth).join(' / ') || 'all nodes' }
  private domainOf(node: NodeRow): Domain {
    const key = this.keyOf(node)
    let domain = this.domains.get(key)
    if (!domain) {
      domain = { key, path: node.path.slice(0, this.depth), nodes: [], devices: 0, used: 0, idle: 0, broken: 0, version: 0 }
      this.domains.set(key, domain)
    }
    return domain
  }
  private leave(node: NodeRow): Domain {
    const domain = this.domainOf(node)
    const at = domain.nodes.indexOf(node)
    if (at >= 0) domain.nodes.splice(at, 1)
    return domain
  }
}

function count(domain: Domain) {
  let devices = 0
  let used = 0
  let idle = 0
  let broken = 0
  for (const node of domain.nodes) {
    for (const pool of node.devices) {
      for (const mark of pool.use) {
        ++devices
        if (mark === 'x') ++broken
        else if (mark === '0') ++idle
        used += useOfDevice(mark)
      }
    }
  }
  Object.assign(domain, { devices, used, idle, broken, version: domain.version + 1 })
}
