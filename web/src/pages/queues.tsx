// Queues as a tree: guarantee, use, borrowed, waiting.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get, type Queue, type QueuesPage } from '../api'
import { amount, number, percent, queueLabel, resourceName } from '../format'
import { Problem, Tile, UseBar } from '../parts'
import { link, setQuery, useRevision, useStore, type Place } from '../store'
import { QueueTree, resourcesOf, type QueueRow, type Use } from '../tree'

// All queues, kept by their changes alone.
export function useQueues(): { queues: ReadonlyMap<string, Queue>; error: string; known: boolean } {
  const revision = useRevision(250)
  const held = useRef({ queues: new Map<string, Queue>(), since: 0, known: false })
  const [shown, setShown] = useState<{ queues: ReadonlyMap<string, Queue>; error: string; known: boolean }>({ queues: new Map(), error: '', known: false })
  useLayoutEffect(() => {
    let ended = false
    get<QueuesPage>(`queues?since=${held.current.since}`).then(
      (page) => {
        if (ended) return
        const queues = page.whole ? new Map<string, Queue>() : new Map(held.current.queues)
        for (const name of page.gone) queues.delete(name)
        for (const queue of page.items) queues.set(queue.name, queue)
        held.current = { queues, since: page.revision, known: true }
        setShown({ queues, error: '', known: true })
      },
      (error: unknown) => { if (!ended) setShown({ ...held.current, error: String(error instanceof Error ? error.message : error) }) },
    )
    return () => { ended = true }
  }, [revision])
  return shown
}

export function Queues({ place }: { place: Place }) {
  const { summary } = useStore()
  const { queues, error, known } = useQueues()
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [current, setCurrent] = useState('')
  const wantsFocus = useRef(false)
  const list = useRef<HTMLTableSectionElement>(null)
  const tree = useMemo(() => new QueueTree(queues), [queues])
  const resources = useMemo(() => resourcesOf(queues.values()), [queues])
  const resource = place.query.get('resource') || resources[0] || 'nvidia.com/gpu'
  const filter = place.query.get('q') ?? ''
  const rows = useMemo(() => tree.rows(closed, filter), [tree, closed, filter])
  const sum = summary?.resources.find((one) => one.resource === resource)

  useEffect(() => {
    if (!wantsFocus.current) return
    wantsFocus.current = false
    list.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus()
  })
  const toggle = (name: string, open: boolean) => {
    const next = new Set(closed)
    if (open) next.delete(name)
    else next.add(name)
    setClosed(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const at = rows.findIndex((row) => row.queue.name === (current || rows[0]?.queue.name))
    const row = rows[at]
    if (!row || (event.target as HTMLElement).tagName === 'A') return
    let to = at
    if (event.key === 'ArrowDown') to = at + 1
    else if (event.key === 'ArrowUp') to = at - 1
    else if (event.key === 'Home') to = 0
    else if (event.key === 'End') to = rows.length - 1
    else if (event.key === 'ArrowRight' && row.children > 0 && !row.open) toggle(row.queue.name, true)
    else if (event.key === 'ArrowRight' && row.open) to = at + 1
    else if (event.key === 'ArrowLeft' && row.open && !filter) toggle(row.queue.name, false)
    else if (event.key === 'ArrowLeft') to = rows.findIndex((one) => one.queue.name === row.queue.parent)
    else if (event.key === 'Enter') location.hash = link('workloads', '', { queue: row.queue.name })
    else return
    event.preventDefault()
    const next = rows[Math.max(0, Math.min(rows.length - 1, to < 0 ? at : to))]
    if (next) setCurrent(next.queue.name)
    wantsFocus.current = true
  }

  return (
    <section aria-labelledby="title">
      <h1 id="title">Queues</h1>
      <div class="tiles">
        {sum ? <Tile title={`${resourceName(resource)} in use`} value={percent(sum.used, sum.capacity)} note={`${amount(resource, sum.used)} of ${amount(resource, sum.capacity)}`} /> : null}
        <Tile title="Workloads wait" value={number(summary?.pending ?? 0)} href={link('workloads')} note={summary?.held ? `and ${number(summary.held)} with room held` : 'all their reasons'} />
        <Tile title="Workloads run" value={number(summary?.running ?? 0)} href={link('workloads', '', { state: 'running' })} />
        <Tile title="Nodes" value={number(summary?.nodes ?? 0)} href={link('nodes')} />
      </div>
      <div class="bar">
        <label>Filter <input type="search" value={filter} placeholder="queue" onInput={(event) => setQuery({ q: event.currentTarget.value })} /></label>
        <label>Resource{' '}
          <select value={resource} onChange={(event) => setQuery({ resource: event.currentTarget.value })}>
            {(resources.length ? resources : [resource]).map((name) => <option key={name} value={name}>{resourceName(name)} ({name})</option>)}
          </select>
        </label>
        <span class="legend" aria-hidden="true"><i class="within" /> within the guarantee <i class="borrowed" /> borrowed</span>
      </div>
      <Problem text={error} />
      <div class="scroll" tabIndex={-1}>
        <table class="tree" role="treegrid" aria-label="Queues">
          <thead>
            <tr>
              <th scope="col">Queue</th>
              <th scope="col" class="num">Guarantee</th>
              <th scope="col" class="num">Use</th>
              <th scope="col" class="wide">of the guarantee</th>
              <th scope="col" class="num">Borrowed</th>
              <th scope="col" class="num hide-small">Could still use</th>
              <th scope="col" class="num hide-small">Run</th>
              <th scope="col" class="num">Wait</th>
            </tr>
          </thead>
          <tbody ref={list} onKeyDown={onKeyDown}>
            {rows.map((row) => <QueueLine key={row.queue.name} row={row} use={tree.use(row.queue, resource)} resource={resource} isCurrent={row.queue.name === (current || rows[0]?.queue.name)} onFocus={() => setCurrent(row.queue.name)} onToggle={() => toggle(row.queue.name, !row.open)} />)}
          </tbody>
        </table>
        {known && rows.length === 0 ? <p class="pad quiet">{filter ? 'No queue has this name.' : 'There is no queue yet.'}</p> : null}
        {!known && !error ? <p class="pad quiet">Reading the queues</p> : null}
      </div>
    </section>
  )
}

function QueueLine({ row, use, resource, isCurrent, onFocus, onToggle }: { row: QueueRow; use: Use; resource: string; isCurrent: boolean; onFocus: () => void; onToggle: () => void }) {
  const { queue } = row
  return (
    <tr role="row" aria-level={row.depth + 1} aria-setsize={row.siblings} aria-posinset={row.index} {...(row.children ? { 'aria-expanded': row.open } : {})} tabIndex={isCurrent ? 0 : -1} onFocus={onFocus}>
      <td role="gridcell" class="queue" style={{ paddingLeft: `${12 + row.depth * 22}px` }}>
        {row.children > 0
          ? <button class="twist" tabIndex={-1} aria-label={`${row.open ? 'close' : 'open'} ${queueLabel(queue.name)}`} onClick={onToggle}>{row.open ? '▾' : '▸'}</button>
          : <span class="twist" aria-hidden="true" />}
        <span class="queue-name" title={queueLabel(queue.name)}>{queueLabel(queue.name)}</span>
        {queue.disabled ? <span class="tag bad" title={queue.disabled}>misconfigured</span> : null}
        {queue.stop !== 'none' ? <span class="tag">stopped</span> : null}
      </td>
      <td role="gridcell" class="num">{amount(resource, use.nominal)}</td>
      <td role="gridcell" class="num">{amount(resource, use.usage)}</td>
      <td role="gridcell" class="wide"><UseBar resource={resource} nominal={use.nominal} usage={use.usage} /></td>
      <td role="gridcell" class={`num${use.borrowed ? ' borrows' : ' quiet'}`}>{use.borrowed ? amount(resource, use.borrowed) : '0'}</td>
      <td role="gridcell" class="num hide-small">{amount(resource, use.available)}</td>
      <td role="gridcell" class="num hide-small">{row.started ? <a tabIndex={-1} href={link('workloads', '', { state: 'running', queue: queue.name })}>{number(row.started)}</a> : <span class="quiet">0</span>}</td>
      <td role="gridcell" class="num">{row.pending ? <a tabIndex={-1} href={link('workloads', '', { queue: queue.name })}>{number(row.pending)}</a> : <span class="quiet">0</span>}</td>
    </tr>
  )
}
