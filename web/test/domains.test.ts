import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeRow } from '../src/api'
import { NodeMap } from '../src/domains'

const node = (name: string, path: string[], use = '0099xp4'): NodeRow => ({ name, path, cordoned: false, devices: [{ resource: 'nvidia.com/gpu', use }], amounts: [] })
const kLevels = ['zone', 'rack', 'host']

function mapOf(...list: NodeRow[]) {
  const map = new NodeMap()
  map.take(list, [], true, kLevels)
  return map
}

test('domains of one node each are not worth cards', () => {
  const map = mapOf(...Array.from({ length: 8 }, (_v, at) => node(`n${at}`, ['z', `r${at % 2}`, `n${at}`])))
  assert.equal(map.bestDepth(), 2)
  map.setDepth(2)
  assert.deepEqual(map.list().map((domain) => [domain.key, domain.nodes.length]), [['z / r0', 4], ['z / r1', 4]])
})
test('devices are counted by their marks', () => {
  const map = mapOf(node('a', ['z']))
  const all = map.list()[0]
  assert.ok(all)
  assert.deepEqual([all.key, all.devices, all.idle, all.broken], ['all nodes', 7, 2, 1])
  assert.ok(Math.abs(all.used - (2 + 4 / 9)) < 1e-9)
})
test('a change touches only its own domain; a move touches two; the last node takes its domain along', () => {
  const map = mapOf(node('a', ['z', 'r1']), node('b', ['z', 'r1']), node('c', ['z', 'r2']))
  map.setDepth(2)
  const versions = () => Object.fromEntries(map.list().map((domain) => [domain.key, domain.version]))
  const before = versions()
  map.take([node('a', ['z', 'r1'], '9999')], [], false, kLevels)
  assert.equal(versions()['z / r2'], before['z / r2'])
  assert.ok((versions()['z / r1'] ?? 0) > (before['z / r1'] ?? 0))
  map.take([node('b', ['z', 'r2'])], [], false, kLevels)
  assert.deepEqual(map.list().map((domain) => domain.nodes.map((one) => one.name)), [['a'], ['c', 'b']])
  map.take([], ['a', 'unknown'], false, kLevels)
  assert.deepEqual(map.list().map((domain) => domain.key), ['z / r2'])
})
