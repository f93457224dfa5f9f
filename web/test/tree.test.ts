import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Queue } from '../src/api'
import { QueueTree, resourcesOf } from '../src/tree'

const kGpu = 'nvidia.com/gpu'
const queue = (name: string, parent: string, nominal = 0, usage = 0, more: Partial<Queue> = {}): Queue => ({
  name, parent, leaf: true, pending: 1, started: 2, stop: 'none', disabled: '', quotas: [{ flavor: 'f', resource: kGpu, nominal, usage, available: 5 }], ...more,
})
const treeOf = (...list: Queue[]) => new QueueTree(new Map(list.map((one) => [one.name, one])))

test('a queue stands below its parent, with what all below it wait for', () => {
  const tree = treeOf(queue('root', '', 0, 0, { leaf: false, pending: 0, started: 0 }), queue('b', 'root'), queue('a', 'root'), queue('aa', 'a'))
  const rows = tree.rows(new Set())
  assert.deepEqual(rows.map((row) => [row.queue.name, row.depth, row.pending, row.index, row.siblings]), [['root', 0, 3, 1, 1], ['a', 1, 2, 1, 2], ['aa', 2, 1, 1, 1], ['b', 1, 1, 2, 2]])
  assert.deepEqual(tree.rows(new Set(['a'])).map((row) => row.queue.name), ['root', 'a', 'b'])
})
test('a filter shows the matches and what is above them, opened', () => {
  const tree = treeOf(queue('root', ''), queue('vision', 'root'), queue('vision-lab', 'vision'), queue('ads', 'root'))
  assert.deepEqual(tree.rows(new Set(['vision', 'root']), 'LAB').map((row) => row.queue.name), ['root', 'vision', 'vision-lab'])
})
test('a parent that is not shown, and a loop of parents, end no walk', () => {
  assert.deepEqual(treeOf(queue('a', 'hidden')).rows(new Set()).map((row) => row.depth), [0])
  const loop = treeOf(queue('a', 'b'), queue('b', 'a'))
  assert.ok(loop.rows(new Set()).length <= 2)
})
test('use beyond the guarantees of a subtree is borrowed from outside of it', () => {
  const root = queue('root', '', 10, 0, { leaf: false })
  const tree = treeOf(root, queue('a', 'root', 10, 15), queue('b', 'root', 10, 2))
  assert.deepEqual(tree.use(root, kGpu), { nominal: 30, usage: 17, available: 5, borrowed: 0 })
  const a = tree.queues.get('a')
  assert.ok(a)
  assert.equal(tree.use(a, kGpu).borrowed, 5)
})
test('devices come first among resources', () => {
  const one = queue('a', '')
  one.quotas = ['memory', 'cpu', 'example.com/fpga', kGpu].map((resource) => ({ flavor: 'f', resource, nominal: 1, usage: 0, available: 1 }))
  assert.deepEqual(resourcesOf([one]), [kGpu, 'example.com/fpga', 'cpu', 'memory'])
})
test('the queue of work without a queue stands there only while it has work', () => {
  assert.deepEqual(treeOf(queue('', '', 0, 0, { pending: 0, started: 0, quotas: [] }), queue('a', '')).rows(new Set()).map((row) => row.queue.name), ['a'])
  assert.deepEqual(treeOf(queue('', '', 0, 0, { quotas: [] }), queue('a', '')).rows(new Set()).map((row) => row.queue.name), ['', 'a'])
})
