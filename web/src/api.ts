// The JSON of /api/v1 (docs/dashboard.md), and the ways to ask for it. The token of a user is sent as a header, never in an address.

export const kApi = 'api/v1/'

export interface About { api: number; version: string; sign_in: boolean }
export interface ResourceSum { resource: string; capacity: number; used: number; promised: number }
export interface ReasonCount { code: string; count: number }
export interface Summary {
  revision: number
  as_of: number
  pending: number
  held: number
  running: number
  queues: number
  nodes: number
  resources: ResourceSum[]
  reasons: ReasonCount[]
  decision: number
  sees_all: boolean
  sees_nodes: boolean
  sees_queues: boolean
}
export interface Quota { flavor: string; resource: string; nominal: number; usage: number; available: number }
export interface Queue {
  name: string
  parent: string
  leaf: boolean
  pending: number
  started: number
  stop: string
  disabled: string
  quotas: Quota[]
}
export interface QueuesPage { revision: number; total: number; items: Queue[]; gone: string[]; whole: boolean }
export type WorkloadState = 'pending' | 'held' | 'running' | 'inactive'
export interface WorkloadRow {
  uid: string
  name: string
  queue: string
  priority: number
  kind: string
  state: WorkloadState
  created: number
  started: number
  slots: number
  running: number
  devices: number
  reason: string
  text: string
  short: string  // what is short, where its reason says
}
export interface WorkloadsPage { revision: number; total: number; offset: number; items: WorkloadRow[] }
export interface NodeDevices { resource: string; use: string }
export interface NodeAmount { resource: string; capacity: number; used: number }
export interface NodeRow { name: string; path: string[]; cordoned: boolean; devices: NodeDevices[]; amounts: NodeAmount[] }
export interface NodesPage { revision: number; total: number; offset: number; levels: string[]; items: NodeRow[]; gone: string[]; whole: boolean }
export interface DecisionRow {
  seq: number
  at: number
  kind: string
  uid: string
  name: string
  queue: string
  slots: number
  nodes: number
  beneficiary: string
  beneficiary_name: string
  reason: string
  text: string
}
export interface DecisionsPage { revision: number; last: number; items: DecisionRow[]; more: boolean }
export interface Reason { code: string; text: string; children: Reason[] }
export interface SlotRow { pod_set: number; index: number; state: string; node: string }
export interface StoryStep { at: number; what: string; slots: number; text: string; uid: string; name: string }
export interface Story {
  revision: number
  workload: WorkloadRow
  verdict: { kind: string; reason: Reason; text: string; enough: string }
  slots: SlotRow[]
  slots_total: number
  story: StoryStep[]
}
export interface Timeline { step: number; points: number[][] }  // at, starts, evictions, holds, devices used, devices, pending, running

export class ApiError extends Error {
  constructor(readonly status: number, message: string) { super(message) }
}

const kTokenKey = 'berth-token'
let token = ''
try { token = sessionStorage.getItem(kTokenKey) ?? '' } catch { /* no storage: the token lives as long as the page */ }

export function setToken(value: string) {
  token = value.trim()
  try {
    if (token) sessionStorage.setItem(kTokenKey, token)
    else sessionStorage.removeItem(kTokenKey)
  } catch { /* as above */ }
}
export const hasToken = () => token !== ''

const headers = (): Record<string, string> => (token ? { Authorization: `Bearer ${token}` } : {})

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(kApi + path, { headers: headers(), signal: signal ?? null, credentials: 'omit' })
  if (!answer.ok) throw new ApiError(answer.status, (await answer.text()).trim() || `the scheduler answered ${answer.status}`)
  return (await answer.json()) as T
}

export function query(values: Record<string, string | number | undefined>): string {
  const out = new URLSearchParams()
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== '') out.set(key, String(value))
  const text = out.toString()
  return text ? `?${text}` : ''
}

// The data lines of server-sent events in `text`, and what remains after the last whole one.
export function parseEvents(text: string): { data: string[]; rest: string } {
  const data: string[] = []
  let rest = text
  for (;;) {
    const end = rest.indexOf('\n\n')
    if (end < 0) return { data, rest }
    const lines = rest.slice(0, end).split('\n').filter((line) => line.startsWith('data:'))
    if (lines.length > 0) data.push(lines.map((line) => line.slice(5).trimStart()).join('\n'))
    rest = rest.slice(end + 2)
  }
}

// Calls `seen` for each summary that the scheduler sends, until `signal` ends it. It connects again after an end, with longer and longer waits.
export async function follow(seen: (summary: Summary) => void, state: (live: boolean, error?: ApiError) => void, signal: AbortSignal) {
  let wait = 500
  while (!signal.aborted) {
    try {
      const answer = await fetch(`${kApi}changes`, { headers: { ...headers(), Accept: 'text/event-stream' }, signal, credentials: 'omit' })
      if (!answer.ok || !answer.body) throw new ApiError(answer.status, (await answer.text()).trim())
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      let held = ''
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        const found = parseEvents(held + value)
        held = found.rest
        for (const one of found.data) seen(JSON.parse(one) as Summary)
        wait = 500
        state(true)
      }
    } catch (error) {
      if (signal.aborted) return
      state(false, error instanceof ApiError ? error : undefined)
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return
    }
    state(false)
    await new Promise((done) => setTimeout(done, wait))
    wait = Math.min(wait * 2, 10_000)
  }
}
