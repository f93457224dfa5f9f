import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEvents, query } from '../src/api'
import { windowOf } from '../src/list'
import { kPage, PageBook } from '../src/paged'
import { link, readPlace } from '../src/store'

test('events come in whatever pieces', () => {
  const text = 'data: {"a":1}\n\n: alive\n\ndata: {"b":\ndata: 2}\n\n'
  const whole = parseEvents(text)
  assert.deepEqual(whole, { data: ['{"a":1}', '{"b":\n2}'], rest: '' })
  for (let cut = 0; cut <= text.length; ++cut) {
    const first = parseEvents(text.slice(0, cut))
    const second = parseEvents(first.rest + text.slice(cut))
    assert.deepEqual([...first.data, ...second.data], whole.data)
    assert.equal(second.rest, '')
  }
})
test('queries leave out what is empty, and escape what is not', () => {
  assert.equal(query({ q: 'a b&c', state: '', limit: 5, none: undefined }), '?q=a+b%26c&limit=5')
  assert.equal(query({}), '')
})
test('addresses are read as they were written', () => {
  const place = readPlace(link('workload', 'team/a b?#%', { q: 'x=&y' }))
  assert.deepEqual([place.page, place.rest, place.query.get('q')], ['workload', 'team/a b?#%', 'x=&y'])
  assert.equal(readPlace('').page, 'queues')
})
test('a window of a hundred thousand rows is small, and stays within them', () => {
  assert.deepEqual(windowOf(0, 600, 36, 100_000, 8), { first: 0, last: 25 })
  const middle = windowOf(1_800_000, 600, 36, 100_000, 8)
  assert.ok(middle.first <= 50_000 && middle.last >= 50_016 && middle.last - middle.first < 40)
  assert.deepEqual(windowOf(9_999_999, 600, 36, 100, 8), { first: 100, last: 100 })
})
test('pages of a long list are kept up to a bound', () => {
  const book = new PageBook<number>()
  for (let number = 0; number < 100; ++number) book.put({ revision: 1, total: 10_000, offset: number * kPage, items: Array.from({ length: kPage }, (_v, at) => number * kPage + at) })
  assert.equal(book.at(9_999), 9_999)
  assert.equal(book.at(0), undefined)
  assert.ok(book.pages.size <= 12)
})
