// Queues as a tree: sums of what each subtree waits for, rows in the order of a walk, quota of one resource.
import type { Queue } from './api'

export interface QueueRow {
  queue: Queue
  depth: number
  children: number
  open: boolean
  pending: number  // with its descendants
  started: number
  index: number    // among its siblings, from 1
  siblings: number
}

export interface Use { nominal: number; usage: number; available: number; borrowed: number }
const kNoUse: Use = { nominal: 0, usage: 0, available: 0, borrowed: 0 }

// All flavors of a resource together.
export function useOf(queue: Queue, resource: string): Use {
  const out = { nominal: 0, usage: 0, available: 0, borrowed: 0 }
  for (const quota of queue.quotas) {
    if (quota.resource !== resource) continue
    out.nominal += quota.nominal
    out.usage += quota.usage
    out.available += Math.max(0, quota.available)
    out.borrowed += Math.max(0, quota.usage - quota.nominal)
  }
  return out
}

// Resources with a quota somewhere, devices first.
export function resourcesOf(queues: Iterable<Queue>): string[] {
  const found = new Set<string>()
  for (const queue of queues) for (const quota of queue.quotas) found.add(quota.resource)
  const rank = (name: string) => (name.endsWith('/gpu') ? 0 : name.includes('/') ? 1 : name === 'cpu' ? 2 : 3)
  return [...found].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
}

export class QueueTree {
  private readonly children = new Map<string, Queue[]>()
  private readonly roots: Queue[] = []
  private readonly sums = new Map<string, { pending: number; started: number }>()
  private readonly uses = new Map<string, Use>()

  constructor(readonly queues: ReadonlyMap<string, Queue>) {
    for (const queue of [...queues.values()].sort((a, b) => a.name.localeCompare(b.name))) {
      if (queue.name === '' && !queue.pending && !queue.started) continue
      // A parent that is not shown makes a root. So does a loop, which the engine disables.
      if (queue.parent && queues.has(queue.parent) && !this.isAbove(queue.name, queue.parent)) {
        const list = this.children.get(queue.parent)
        if (list) list.push(queue)
        else this.children.set(queue.parent, [queue])
      } else this.roots.push(queue)
    }
  }

  private isAbove(name: string, start: string): boolean {
    let at: string | undefined = start
    for (let steps = 0; at && steps < 64; ++steps) {
      if (at === name) return true
      at = this.queues.get(at)?.parent
    }
    return !!at
  }

  private sum(queue: Queue): { pending: number; started: number } {
    const known = this.sums.get(queue.name)
    if (known) return known
    const out = { pending: queue.pending, started: queue.started }
    for (const child of this.children.get(queue.name) ?? []) {
      const below = this.sum(child)
      out.pending += below.pending
      out.started += below.started
    }
    this.sums.set(queue.name, out)
    return out
  }

  // Of a queue with its descendants: the guarantees of all, the use of those that take work, and what that is beyond the guarantees, which
  // comes from outside the subtree. Could still use: of the queue itself.
  use(queue: Queue, resource: string): Use {
    const key = `${resource} ${queue.name}`
    const known = this.uses.get(key)
    if (known) return known
    const own = useOf(queue, resource)
    const below = this.children.get(queue.name) ?? []
    let out = own
    if (below.length > 0) {
      const sum = below.map((child) => this.use(child, resource)).reduce((a, b) => ({ ...a, nominal: a.nominal + b.nominal, usage: a.usage + b.usage }), kNoUse)
      const nominal = own.nominal + sum.nominal
      const usage = (queue.leaf ? own.usage : 0) + sum.usage
      out = { nominal, usage, available: own.available, borrowed: Math.max(0, usage - nominal) }
    }
    this.uses.set(key, out)
    return out
  }

  rows(closed: ReadonlySet<string>, filter = ''): QueueRow[] {
    const out: QueueRow[] = []
    const wanted = filter.toLowerCase()
    const matches = new Map<string, boolean>()
    const has = (queue: Queue): boolean => {
      const known = matches.get(queue.name)
      if (known !== undefined) return known
      const found = queue.name.toLowerCase().includes(wanted) || (this.children.get(queue.name) ?? []).some(has)
      matches.set(queue.name, found)
      return found
    }
    const walk = (list: Queue[], depth: number) => {
      const shown = wanted ? list.filter(has) : list
      shown.forEach((queue, at) => {
        const below = this.children.get(queue.name) ?? []
        const open = below.length > 0 && (wanted !== '' || !closed.has(queue.name))
        out.push({ queue, depth, children: below.length, open, ...this.sum(queue), index: at + 1, siblings: shown.length })
        if (open) walk(below, depth + 1)
      })
    }
    walk(this.roots, 0)
    return out
  }
}
