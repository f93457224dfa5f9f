// What all pages share: the latest summary, whether the stream is up, the address, and questions that are asked again when the state moved.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ApiError, follow, get, type Summary } from './api'

type Listener = () => void

class Store {
  summary: Summary | null = null
  live = false
  refused: ApiError | null = null
  private listeners = new Set<Listener>()
  private stop: AbortController | null = null

  listen(listener: Listener) {
    this.listeners.add(listener)
    return () => { this.listeners.delete(listener) }
  }
  private tell() { for (const listener of [...this.listeners]) listener() }

  start() {
    this.stop?.abort()
    this.stop = new AbortController()
    this.refused = null
    void follow(
      (summary) => { this.summary = summary; this.tell() },
      (live, error) => {
        if (live === this.live && !error) return
        this.live = live
        if (error && (error.status === 401 || error.status === 403)) this.refused = error
        this.tell()
      },
      this.stop.signal,
    )
    this.tell()
  }
}
export const store = new Store()

export function useStore(): Store {
  const [, redraw] = useState(0)
  useEffect(() => store.listen(() => redraw((n) => n + 1)), [])
  return store
}

// The revision that pages follow: at most once in `every` ms.
export function useRevision(every = 1000): number {
  const [revision, setRevision] = useState(store.summary?.revision ?? 0)
  useEffect(() => {
    let last = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      const wait = last + every - performance.now()
      if (wait > 0) { timer ??= setTimeout(() => { timer = undefined; look() }, wait); return }
      last = performance.now()
      setRevision(store.summary?.revision ?? 0)
    }
    look()
    const end = store.listen(look)
    return () => { end(); if (timer) clearTimeout(timer) }
  }, [every])
  return revision
}

export interface Answer<T> { data: T | null; error: string; path: string }

// The answer to `path`, asked again at every new revision. While the next one is on its way, the last one stays.
export function useAnswer<T>(path: string | null, revision: number): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: null, error: '', path: '' })
  const asked = useRef(0)
  useLayoutEffect(() => {  // an effect that waits for the page to be painted would ask two frames later
    if (path === null) return undefined
    const mine = ++asked.current
    const stop = new AbortController()
    get<T>(path, stop.signal).then(
      (data) => { if (mine === asked.current) setAnswer({ data, error: '', path }) },
      (error: unknown) => {
        if (stop.signal.aborted || mine !== asked.current) return
        setAnswer((was) => ({ data: was.path === path ? was.data : null, error: error instanceof Error ? error.message : String(error), path }))
      },
    )
    return () => { if (mine !== asked.current) stop.abort() }
  }, [path, revision])
  return answer.path === path ? answer : { data: answer.data, error: '', path: answer.path }
}

// Holds the function of the last drawing, for what is called later.
export function useLatest<F>(f: F): { readonly current: F } {
  const latest = useRef(f)
  latest.current = f
  return latest
}

// Calls `ask` now and whenever one of `inputs` is another, never twice at a time: what comes meanwhile makes one more call. It must not fail.
export function useTurns(ask: () => Promise<void>, inputs: unknown[]) {
  const latest = useLatest(ask)
  const turn = useRef({ busy: false, again: false })
  useLayoutEffect(() => {
    const mine = turn.current
    const run = () => {
      mine.again = mine.busy
      if (mine.busy) return
      mine.busy = true
      void latest.current().finally(() => { mine.busy = false; if (mine.again) run() })
    }
    run()
  }, inputs)
}

export interface Place { page: string; rest: string; query: URLSearchParams }

export function readPlace(hash: string): Place {
  const text = hash.replace(/^#\/?/, '')
  const mark = text.indexOf('?')
  const path = mark < 0 ? text : text.slice(0, mark)
  const slash = path.indexOf('/')
  return {
    page: (slash < 0 ? path : path.slice(0, slash)) || 'queues',
    rest: slash < 0 ? '' : decodeURIComponent(path.slice(slash + 1)),
    query: new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1)),
  }
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => readPlace(location.hash))
  useEffect(() => {
    const look = () => setPlace(readPlace(location.hash))
    addEventListener('hashchange', look)
    return () => removeEventListener('hashchange', look)
  }, [])
  return place
}

export function go(page: string, rest = '', query: Record<string, string> = {}) {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  location.hash = `#/${page}${rest ? `/${encodeURIComponent(rest)}` : ''}${text ? `?${text}` : ''}`
}
export const link = (page: string, rest = '', query: Record<string, string> = {}) => {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return `#/${page}${rest ? `/${encodeURIComponent(rest)}` : ''}${text ? `?${text}` : ''}`
}
// Changes the query of the present page without a step in the history.
export function setQuery(values: Record<string, string>) {
  const place = readPlace(location.hash)
  for (const [key, value] of Object.entries(values)) {
    if (value) place.query.set(key, value)
    else place.query.delete(key)
  }
  const text = place.query.toString()
  history.replaceState(null, '', `#/${place.page}${place.rest ? `/${encodeURIComponent(place.rest)}` : ''}${text ? `?${text}` : ''}`)
  dispatchEvent(new HashChangeEvent('hashchange'))
}
