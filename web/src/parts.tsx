// Small parts that several pages use.
import type { ComponentChildren } from 'preact'
import type { WorkloadRow } from './api'
import { amount, number, resourceName } from './format'

export const kReasonWords: Record<string, string> = {
  Quota: 'no free quota', QuotaMax: 'more than its queue can have', QuotaKept: 'quota kept for the head of the line', Reserved: 'room reserved for older work',
  QuotaUncovered: 'no quota for this resource', LaneLimit: 'limit of its lane', FirmLimit: 'limit of work that is not preemptible', Nodes: 'no room on nodes', Topology: 'no domain is large enough', BehindHead: 'behind the head of a strict queue',
  IncompleteGang: 'pods of the gang are missing', QueueMissing: 'queue does not exist', QueueStopped: 'queue is stopped', QueueDisabled: 'queue is misconfigured',
  Claim: 'its volume claim is not ready', Inactive: 'suspended by its owner', Invalid: 'invalid', Unsupported: 'unsupported constraint', NoVictims: 'nothing may be preempted', WaitingForRoom: 'waits for ending pods',
  SearchBudget: 'search ended at its bound', Preemptor: 'its victims are ending', ReleasingRoom: 'waits for ending pods',
}
export const reasonWords = (code: string) => kReasonWords[code] ?? (code === '' || code === 'None' ? 'not looked at yet' : code)

const kStates: Record<string, { mark: string; word: string }> = {
  pending: { mark: '○', word: 'waits' }, held: { mark: '◐', word: 'room is held' }, running: { mark: '●', word: 'runs' }, inactive: { mark: '–', word: 'inactive' },
}
export function State({ state }: { state: string }) {
  const known = kStates[state] ?? { mark: '?', word: state }
  return <span class={`state ${state}`}><span aria-hidden="true">{known.mark}</span> {known.word}</span>
}

export function WorkloadLink({ row }: { row: Pick<WorkloadRow, 'uid' | 'name'> }) {
  const slash = row.name.indexOf('/')
  return (
    <a class="name" href={`#/workload/${encodeURIComponent(row.uid)}`} title={row.name}>
      {slash > 0 ? <><span class="quiet">{row.name.slice(0, slash + 1)}</span>{row.name.slice(slash + 1)}</> : row.name || row.uid}
    </a>
  )
}

// Use against a guarantee: the bar ends at the larger of both; what is beyond the guarantee is borrowed.
export function UseBar({ resource, nominal, usage }: { resource: string; nominal: number; usage: number }) {
  const whole = Math.max(nominal, usage, 1)
  const within = Math.min(usage, nominal)
  const name = resourceName(resource)
  const text = `${amount(resource, usage)} of ${amount(resource, nominal)} guaranteed ${name} in use${usage > nominal ? `, ${amount(resource, usage - nominal)} of it borrowed` : ''}`
  return (
    <span class="usebar" role="img" aria-label={text} title={text}>
      <span class="within" style={{ width: `${(within / whole) * 100}%` }} />
      <span class="borrowed" style={{ width: `${((usage - within) / whole) * 100}%` }} />
      {usage > nominal ? <span class="mark" style={{ left: `${(nominal / whole) * 100}%` }} /> : null}
    </span>
  )
}

export function Tile({ title, value, note, href, children }: { title: string; value: string; note?: string; href?: string; children?: ComponentChildren }) {
  const inner = <><span class="tile-title">{title}</span><span class="tile-value">{value}</span>{note ? <span class="quiet tile-note">{note}</span> : null}{children}</>
  return href ? <a class="tile" href={href}>{inner}</a> : <div class="tile">{inner}</div>
}

export function Problem({ text }: { text: string }) {
  return text ? <p class="problem" role="alert">{text}</p> : null
}

export function Chips({ label, options, value, onPick }: { label: string; options: { key: string; title: string; count?: number }[]; value: string; onPick: (key: string) => void }) {
  return (
    <div class="chips" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.key} class="chip" aria-pressed={option.key === value} onClick={() => onPick(option.key)}>
          {option.title}{option.count !== undefined ? <span class="count">{number(option.count)}</span> : null}
        </button>
      ))}
    </div>
  )
}
