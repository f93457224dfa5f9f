import assert from 'node:assert/strict'
import { test } from 'node:test'
import { amount, duration, isDevice, percent, plural, queueLabel, resourceName } from '../src/format'

test('amounts are in the units that people write', () => {
  assert.equal(amount('nvidia.com/gpu', 64_000), '64')
  assert.equal(amount('nvidia.com/gpu', 250), '0.25')
  assert.equal(amount('cpu', 1500), '1.5')
  assert.equal(amount('memory', 3 * 2 ** 30), '3Gi')
  assert.equal(amount('pods', 110), '110')
})
test('times are short, and negative ones are none', () => {
  assert.equal(duration(59_000), '59 s')
  assert.equal(duration(61_000), '1 min')
  assert.equal(duration(3_660_000), '1 h 01 min')
  assert.equal(duration(90_000_000), '1 d 1 h')
  assert.equal(duration(-5), '0 s')
})
test('names of resources', () => {
  assert.equal(resourceName('nvidia.com/gpu'), 'GPU')
  assert.equal(resourceName('nvidia.com/mig-1g.5gb'), 'mig-1g.5gb')
  assert.equal(resourceName('memory'), 'memory')
  assert.ok(isDevice('amd.com/gpu') && !isDevice('cpu'))
})
test('parts of nothing are nothing', () => {
  assert.equal(percent(1, 0), '0 %')
  assert.equal(percent(1, 3), '33 %')
  assert.equal(plural(1, 'node'), '1 node')
  assert.equal(plural(1200, 'node'), '1,200 nodes')
})
test('queues without a name of their own are named', () => {
  assert.deepEqual(['', 'cluster:root', 'team'].map(queueLabel), ['no queue', 'whole cluster', 'team'])
})
