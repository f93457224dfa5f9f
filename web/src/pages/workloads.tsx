// Workloads that wait, with their reasons and with what would free them; or those that run.
import { useMemo } from 'preact/hooks'
import { query, type WorkloadRow } from '../api'
import { duration, number, queueLabel } from '../format'
import { VirtualTable, type Column } from '../list'
import { Chips, Problem, State, WorkloadLink, reasonWords } from '../parts'
import { memo } from '../memo'
import { usePaged } from '../paged'
import { link, setQuery, useRevision, useStore, type Place } from '../store'

const kSorts = ['age', 'priority', 'devices', 'name'] as const
const Table = memo(VirtualTable<WorkloadRow>)  // a new summary draws no row anew, the rows that follow it do
const hrefOf = (row: WorkloadRow) => link('workload', row.uid)

export function Workloads({ place }: { place: Place }) {
  const { summary } = useStore()
  const revision = useRevision(1000)
  const state = place.query.get('state') || 'pending'
  const reason = place.query.get('reason') ?? ''
  const queue = place.query.get('queue') ?? ''
  const text = place.query.get('q') ?? ''
  const sort = place.query.get('sort') || 'age'
  const paged = usePaged<WorkloadRow>(`workloads${query({ state, reason: state === 'pending' ? reason : '', queue, q: text, sort })}`, revision)
  const now = useMemo(() => summary?.as_of ?? 0, [paged.version, summary === null])
  const waits = state === 'pending' || state === 'held'

  const columns = useMemo((): Column<WorkloadRow>[] => {
    const out: Column<WorkloadRow>[] = [
      { key: 'name', title: 'Workload', class: 'grow', cell: (row) => <WorkloadLink row={row} /> },
      { key: 'queue', title: 'Queue', class: 'medium hide-small', cell: (row) => <a href={link('workloads', '', { state, queue: row.queue })} title={queueLabel(row.queue)}>{queueLabel(row.queue)}</a> },
      { key: 'priority', title: 'Priority', class: 'num small hide-medium', cell: (row) => number(row.priority) },
      { key: 'devices', title: 'GPUs', class: 'num small', cell: (row) => number(row.devices / 1000) },
      { key: 'age', title: waits ? 'Waits' : 'Runs', class: 'num small', cell: (row) => duration(now - (waits ? row.created : row.started || row.created)) },
    ]
    if (waits) {
      out.push({ key: 'why', title: 'Why', class: 'why', cell: (row) => <span title={row.text}><b>{reasonWords(row.reason)}</b> <span class="quiet hide-medium">{row.text}</span></span> })
      out.push({ key: 'short', title: 'Is short of', class: 'help hide-medium', cell: (row) => <span title={row.short}>{row.short || '–'}</span> })
    } else {
      out.push({ key: 'pods', title: 'Pods', class: 'num small', cell: (row) => (row.running === row.slots ? number(row.slots) : `${number(row.running)} of ${number(row.slots)}`) })
      out.push({ key: 'state', title: 'State', class: 'medium hide-small', cell: (row) => <State state={row.state} /> })
    }
    return out
  }, [state, waits, Math.floor(now / 1000)])

  const sorting = useMemo(() => ({ key: sort, keys: kSorts, onSort: (key: string) => setQuery({ sort: key === 'age' ? '' : key }) }), [sort])
  const reasons = (summary?.reasons ?? []).slice().sort((a, b) => b.count - a.count).slice(0, 8)
  return (
    <section class="fill" aria-labelledby="title">
      <h1 id="title">Workloads</h1>
      <div class="bar">
        <Chips label="State" value={state} onPick={(key) => setQuery({ state: key === 'pending' ? '' : key, reason: '' })}
          options={[{ key: 'pending', title: 'Wait', count: summary?.pending ?? 0 }, { key: 'held', title: 'Room held', count: summary?.held ?? 0 }, { key: 'running', title: 'Run', count: summary?.running ?? 0 }]} />
        <label>Filter <input type="search" value={text} placeholder="namespace/name" onInput={(event) => setQuery({ q: event.currentTarget.value })} /></label>
        {queue ? <button class="chip" aria-pressed="true" onClick={() => setQuery({ queue: '' })}>queue {queue} <span aria-hidden="true">×</span><span class="hidden">, show all queues</span></button> : null}
      </div>
      {state === 'pending' && reasons.length > 0
        ? <Chips label="Reason" value={reason} onPick={(key) => setQuery({ reason: key === reason ? '' : key })} options={[{ key: '', title: 'every reason' }, ...reasons.map((one) => ({ key: one.code, title: reasonWords(one.code), count: one.count }))]} />
        : null}
      <Problem text={paged.error} />
      <p class="quiet counts" role="status">{paged.known ? `${number(paged.total)} ${paged.total === 1 ? 'workload' : 'workloads'}` : 'Reading the workloads'}</p>
      <Table label={`Workloads: ${state}`} columns={columns} total={paged.total} version={paged.version} rowHeight={36} rowAt={paged.rowAt} onRange={paged.onRange}
        hrefOf={hrefOf} empty={paged.known ? 'None.' : ''} sort={sorting} />
    </section>
  )
}
