// A long list that the server keeps: pages of it are fetched as they come into view, and again after changes. Pages that left the view are
// dropped beyond a bound.
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { get } from './api'
import { useLatest } from './store'

interface Page<Row> { revision: number; total: number; offset: number; items: Row[] }

export const kPage = 100
const kMostPages = 12

export class PageBook<Row> {
  readonly pages = new Map<number, Row[]>()
  total = -1

  at(index: number): Row | undefined { return this.pages.get(Math.floor(index / kPage))?.[index % kPage] }
  put(page: Page<Row>) {
    const number = Math.floor(page.offset / kPage)
    this.pages.delete(number)
    this.pages.set(number, page.items)
    this.total = page.total
    while (this.pages.size > kMostPages) {
      const oldest = this.pages.keys().next().value
      if (oldest === undefined) return
      this.pages.delete(oldest)
    }
  }
}

// `base`: path with its query ("workloads?state=pending"); a change of it begins anew.
export function usePaged<Row>(base: string, revision: number) {
  const [version, redraw] = useState(0)
  const book = useRef({ base, rows: new PageBook<Row>(), error: '' })
  const range = useRef({ first: 0, last: kPage })
  const fresh = useRef(new Map<number, number>())  // page -> revision at which it was asked for
  if (book.current.base !== base) {
    // The rows stay in view until the first answer to the new question.
    book.current = { base, rows: book.current.rows, error: '' }
    fresh.current = new Map()
    range.current = { first: 0, last: kPage }
  }
  const ask = () => {
    const mine = book.current
    const from = Math.floor(range.current.first / kPage)
    const to = Math.floor(Math.max(range.current.first, range.current.last - 1) / kPage)
    for (let number = from; number <= Math.min(to, from + 3); ++number) {
      if (fresh.current.get(number) === revision) continue
      const first = fresh.current.size === 0
      fresh.current.set(number, revision)
      get<Page<Row>>(`${base}${base.includes('?') ? '&' : '?'}offset=${number * kPage}&limit=${kPage}`).then(
        (page) => {
          if (book.current !== mine) return
          if (first) mine.rows = new PageBook<Row>()
          mine.rows.put(page)
          mine.error = ''
          redraw((n) => n + 1)
        },
        (error: unknown) => {
          if (book.current !== mine) return
          mine.error = error instanceof Error ? error.message : String(error)
          fresh.current.delete(number)
          redraw((n) => n + 1)
        },
      )
    }
  }
  // An effect that waits for the page to be painted would ask two frames later.
  useLayoutEffect(ask, [base, revision])
  const latest = useLatest(ask)
  return {
    version,  // another one: the rows may be others
    total: Math.max(0, book.current.rows.total),
    known: book.current.rows.total >= 0,
    error: book.current.error,
    rowAt: useCallback((index: number) => book.current.rows.at(index), []),
    onRange: useCallback((first: number, last: number) => { range.current = { first, last }; latest.current() }, []),
  }
}
