// Workloads, queues and nodes whose names contain the words.
import { query, type NodesPage, type WorkloadsPage } from '../api'
import { number, plural, queueLabel } from '../format'
import { Problem, State, WorkloadLink } from '../parts'
import { link, useAnswer, useRevision, useStore, type Place } from '../store'
import { useQueues } from './queues'

const kShown = 25

export function Search({ place }: { place: Place }) {
  const text = (place.query.get('q') ?? '').trim()
  const revision = useRevision(2000)
  const { summary } = useStore()
  const { queues } = useQueues()
  const workloads = useAnswer<WorkloadsPage>(text ? `workloads${query({ state: 'any', q: text, limit: kShown })}` : null, revision)
  const nodes = useAnswer<NodesPage>(text && summary?.sees_nodes ? `nodes${query({ q: text, limit: kShown })}` : null, revision)
  const found = text ? [...queues.values()].filter((queue) => queue.name.toLowerCase().includes(text.toLowerCase())) : []
  if (!text) return <section aria-labelledby="title"><h1 id="title">Search</h1><p class="pad quiet">Give a part of the name of a workload, a queue or a node.</p></section>
  return (
    <section aria-labelledby="title">
      <h1 id="title" class="wrap">Search: {text}</h1>
      <Problem text={workloads.error || nodes.error} />
      <h2>Workloads <span class="quiet">{workloads.data ? number(workloads.data.total) : ''}</span></h2>
      <ul class="found">{workloads.data?.items.map((row) => <li key={row.uid}><WorkloadLink row={row} /> <State state={row.state} /> <span class="quiet">{queueLabel(row.queue)}</span></li>)}</ul>
      {workloads.data && workloads.data.total > kShown ? <p><a href={link('workloads', '', { state: 'any', q: text })}>All {number(workloads.data.total)} workloads</a></p> : null}
      <h2>Queues <span class="quiet">{number(found.length)}</span></h2>
      <ul class="found">{found.slice(0, kShown).map((queue) => <li key={queue.name}><a href={link('queues', '', { q: queue.name })}>{queueLabel(queue.name)}</a> <span class="quiet">{plural(queue.pending, 'workload')} waiting</span></li>)}</ul>
      <h2>Nodes <span class="quiet">{nodes.data ? number(nodes.data.total) : ''}</span></h2>
      <ul class="found">{nodes.data?.items.map((node) => <li key={node.name}><a href={link('nodes', '', { q: node.name })}>{node.name}</a> <span class="quiet">{node.path.join(' / ')}</span></li>)}</ul>
    </section>
  )
}
