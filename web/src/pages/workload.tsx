// One workload's whole story: what it asks for, where it stands, why, what would help, and all that has happened to it.
import type { Reason, Story } from '../api'
import { clock, duration, moment, number, plural, queueLabel } from '../format'
import { Problem, State, Tile, reasonWords } from '../parts'
import { link, useAnswer, useRevision, useStore, type Place } from '../store'
import { kDecisionWords } from './timeline'

function ReasonTree({ reason }: { reason: Reason }) {
  return (
    <li>
      <b>{reasonWords(reason.code)}</b> {reason.text}
      {reason.children.length > 0 ? <ul>{reason.children.map((child, at) => <ReasonTree key={at} reason={child} />)}</ul> : null}
    </li>
  )
}

const kSteps: Record<string, string> = { created: 'arrived', changed: 'changed by its owner', running: 'runs', ended: 'ended', withdrawn: 'withdrawn', inactive: 'suspended by its owner' }

export function Workload({ place }: { place: Place }) {
  const { summary } = useStore()
  const answer = useAnswer<Story>(place.rest ? `workloads/${encodeURIComponent(place.rest)}` : null, useRevision(1000))
  const data = answer.data
  if (!data || data.workload.uid !== place.rest) {
    return (
      <section aria-labelledby="title">
        <h1 id="title">Workload</h1>
        {answer.error ? <Problem text={answer.error} /> : <p class="pad quiet">Reading its story</p>}
        <p class="pad"><a href={link('workloads')}>All workloads</a></p>
      </section>
    )
  }
  const { workload, verdict } = data
  const now = summary?.as_of ?? 0
  const slash = workload.name.indexOf('/')
  const nodes = new Set(data.slots.map((slot) => slot.node).filter(Boolean))
  return (
    <section aria-labelledby="title">
      <h1 id="title" class="wrap">{slash > 0 ? <><span class="quiet">{workload.name.slice(0, slash + 1)}</span>{workload.name.slice(slash + 1)}</> : workload.name || workload.uid}</h1>
      <p class="counts"><State state={workload.state} /> in queue <a href={link('workloads', '', { queue: workload.queue, state: workload.state === 'running' ? 'running' : '' })}>{queueLabel(workload.queue)}</a></p>
      <Problem text={answer.error} />
      <div class="tiles">
        <Tile title={workload.state === 'running' ? 'Runs for' : 'Waits for'} value={duration(now - (workload.state === 'running' ? workload.started : workload.created))} note={`since ${moment(workload.state === 'running' ? workload.started : workload.created)}`} />
        <Tile title="Pods" value={`${number(workload.running)} of ${number(workload.slots)}`} note="run" />
        <Tile title="GPUs" value={number(workload.devices / 1000)} note="asked for" />
        <Tile title="Priority" value={number(workload.priority)} note={workload.kind} />
      </div>
      <h2>{workload.state === 'running' ? 'Where it stands' : 'Why it waits'}</h2>
      <div class="verdict">
        <p class="lead">{verdict.text || (workload.state === 'running' ? 'Every pod that may run has its place.' : 'Nothing is known about it yet.')}</p>
        {verdict.enough ? <p class="helps"><b>Would free it:</b> {verdict.enough}</p>
          : workload.short ? <p><b>Is short of:</b> {workload.short}</p> : null}
        {verdict.reason.children.length > 0 ? <ul class="reasons">{verdict.reason.children.map((child, at) => <ReasonTree key={at} reason={child} />)}</ul> : null}
      </div>
      <h2>Story</h2>
      <ol class="story">
        {data.story.map((step, at) => {
          const known = kDecisionWords[step.what]
          return (
            <li key={at} class={step.what}>
              <time dateTime={new Date(step.at).toISOString()} title={moment(step.at)}>{clock(step.at)}</time>
              <span class={`kind ${step.what}`}><span aria-hidden="true">{known?.mark ?? '·'}</span> {known?.word ?? kSteps[step.what] ?? step.what}</span>
              <span>{step.uid ? <>for <a href={link('workload', step.uid)}>{step.name || step.uid}</a> </> : null}<span class="quiet">{step.text || plural(step.slots, 'pod')}</span></span>
            </li>
          )
        })}
      </ol>
      {data.slots.length > 0 ? (
        <>
          <h2>Pods <span class="quiet">on {plural(nodes.size, 'node')}</span></h2>
          <div class="scroll">
            <table class="plain">
              <thead><tr><th scope="col">Pod</th><th scope="col">State</th><th scope="col">Node</th></tr></thead>
              <tbody>{data.slots.map((slot) => (
                <tr key={`${slot.pod_set}/${slot.index}`}>
                  <td>{slot.pod_set}/{slot.index}</td><td>{slot.state}</td>
                  <td>{slot.node ? <a href={link('nodes', '', { q: slot.node })}>{slot.node}</a> : <span class="quiet">–</span>}</td>
                </tr>
              ))}</tbody>
            </table>
          </div>
          {data.slots_total > data.slots.length ? <p class="quiet">The first {number(data.slots.length)} of {number(data.slots_total)} pods.</p> : null}
        </>
      ) : null}
    </section>
  )
}
