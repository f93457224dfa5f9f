// Decisions as they are made: how many in each minute, and each one in a list.
import { useCallback, useMemo, useRef, useState } from 'preact/hooks'
import { get, query, type DecisionRow, type DecisionsPage, type Timeline as Points } from '../api'
import { Chart } from '../chart'
import { clock, number } from '../format'
import { VirtualTable, type Column } from '../list'
import { memo } from '../memo'
import { Chips, Problem } from '../parts'
import { link, setQuery, useAnswer, useLatest, useRevision, useTurns, type Place } from '../store'

export const kDecisionWords: Record<string, { mark: string; word: string }> = {
  start: { mark: '▶', word: 'started' }, evict: { mark: '■', word: 'evicted' }, hold: { mark: '◐', word: 'room held' }, 'release-hold': { mark: '○', word: 'hold released' },
}
const kMostKept = 5000

// The newest first. New ones are fetched by their number; older ones when the list is scrolled to its end.
function useDecisions(base: Record<string, string>, revision: number) {
  const key = JSON.stringify(base)
  const held = useRef({ key, items: [] as DecisionRow[], last: 0, more: false, busy: false })
  const [version, redraw] = useState(0)
  const [error, setError] = useState('')
  if (held.current.key !== key) held.current = { key, items: [], last: 0, more: false, busy: false }
  const ask = (values: Record<string, number>, take: (page: DecisionsPage) => void) => {
    const mine = held.current
    return get<DecisionsPage>(`decisions${query({ ...base, limit: 200, ...values })}`).then(
      (page) => { if (held.current === mine) { take(page); setError(''); redraw((n) => n + 1) } },
      (problem: unknown) => { if (held.current === mine) setError(String(problem instanceof Error ? problem.message : problem)) },
    )
  }
  const latest = useLatest(ask)
  useTurns(() => {
    const mine = held.current
    return ask(mine.last ? { after: mine.last } : {}, (page) => {
      // More than a page came at once: the list begins anew, without a hole.
      const hole = mine.last > 0 && page.more
      mine.items = hole || mine.last === 0 ? page.items : [...page.items, ...mine.items].slice(0, kMostKept)
      if (hole || mine.last === 0) mine.more = page.more
      mine.last = page.last
    })
  }, [key, revision])
  return {
    version,  // another one: the items may be others
    items: held.current.items,
    error,
    rowAt: useCallback((at: number) => held.current.items[at], []),
    onRange: useCallback((_first: number, last: number) => {
      const mine = held.current
      const oldest = mine.items[mine.items.length - 1]
      if (last < mine.items.length - 20 || mine.busy || !mine.more || !oldest || mine.items.length >= kMostKept) return
      mine.busy = true
      void latest.current({ before: oldest.seq }, (page) => {
        if (mine.items[mine.items.length - 1] !== oldest) return  // the list began anew meanwhile
        mine.items = [...mine.items, ...page.items]
        mine.more = page.more
      }).finally(() => { mine.busy = false })
    }, []),
  }
}

const Table = memo(VirtualTable<DecisionRow>)  // new points of the charts draw no row anew
const hrefOf = (row: DecisionRow) => link('workload', row.uid)
const kColumns: Column<DecisionRow>[] = [
  { key: 'at', title: 'Time', class: 'num small', cell: (row) => clock(row.at) },
  { key: 'kind', title: 'Decision', class: 'medium', cell: (row) => { const known = kDecisionWords[row.kind]; return <span class={`kind ${row.kind}`}><span aria-hidden="true">{known?.mark}</span> {known?.word ?? row.kind}</span> } },
  { key: 'name', title: 'Workload', class: 'grow', cell: (row) => <a class="name" href={link('workload', row.uid)} title={row.name}>{row.name || row.uid}</a> },
  { key: 'queue', title: 'Queue', class: 'medium hide-medium', cell: (row) => row.queue },
  { key: 'slots', title: 'Pods', class: 'num small hide-small', cell: (row) => number(row.slots) },
  {
    key: 'why', title: 'Why', class: 'why hide-small', cell: (row) => (
      <span title={row.text}>{row.beneficiary ? <>for <a href={link('workload', row.beneficiary)}>{row.beneficiary_name || row.beneficiary}</a> </> : null}<span class="quiet">{row.text}</span></span>
    ),
  },
]

export function Timeline({ place }: { place: Place }) {
  const revision = useRevision(100)
  const chartRevision = useRevision(1000)
  const kind = place.query.get('kind') ?? ''
  const text = place.query.get('q') ?? ''
  const span = Number(place.query.get('minutes') || 60)
  const decisions = useDecisions({ kind, q: text }, revision)
  const answer = useAnswer<Points>(`timeline?minutes=${span}`, chartRevision)
  const points = answer.data?.points
  const column = (at: number, scale = 1) => (points ?? []).map((point) => (point[at] ?? 0) / scale)
  const times = useMemo(() => column(0), [points])
  const made = useMemo(() => [column(1), column(2)], [points])
  const devices = useMemo(() => [column(5, 1000), column(4, 1000)], [points])
  const waiting = useMemo(() => [column(6), column(7)], [points])

  return (
    <section class="fill" aria-labelledby="title">
      <h1 id="title">Timeline</h1>
      <div class="bar">
        <Chips label="Span" value={String(span)} onPick={(key) => setQuery({ minutes: key === '60' ? '' : key })} options={[{ key: '15', title: '15 min' }, { key: '60', title: '1 h' }, { key: '360', title: '6 h' }]} />
      </div>
      <Problem text={answer.error || decisions.error} />
      <div class="charts">
        {points && points.length > 1 ? <>
          <Chart label="Devices" times={times} values={devices} height={150} format={number} lines={[{ label: 'there', color: '--quiet', dash: [4, 4] }, { label: 'in use', color: '--accent', fill: true }]} />
          <Chart label="Workloads" times={times} values={waiting} height={150} format={number} lines={[{ label: 'wait', color: '--warm' }, { label: 'run', color: '--good' }]} />
          <Chart label="Decisions" times={times} values={made} height={150} format={number} lines={[{ label: 'started', color: '--good', bars: true }, { label: 'evicted', color: '--bad', bars: true }]} />
        </> : <p class="quiet pad">The charts begin with the second minute after the dashboard's start.</p>}
      </div>
      <div class="bar">
        <Chips label="Kind" value={kind} onPick={(key) => setQuery({ kind: key })}
          options={[{ key: '', title: 'all' }, { key: 'start', title: 'started' }, { key: 'evict', title: 'evicted' }, { key: 'hold', title: 'room held' }, { key: 'release-hold', title: 'hold released' }]} />
        <label>Filter <input type="search" value={text} placeholder="workload or queue" onInput={(event) => setQuery({ q: event.currentTarget.value })} /></label>
      </div>
      <Table label="Decisions, newest first" columns={kColumns} total={decisions.items.length} version={decisions.version} rowHeight={32} rowAt={decisions.rowAt}
        hrefOf={hrefOf} empty="No decision yet." onRange={decisions.onRange} />
    </section>
  )
}
