// Amounts, times and names as people write them.

// Base units in one unit: thousandths for CPU and for extended resources, ones for all else.
export const unitOf = (resource: string) => (resource === 'cpu' || resource.includes('/') ? 1000 : 1)
export const isDevice = (resource: string) => resource.includes('/')

const kBinary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi']

// Made once: making one costs more than a thousand uses.
const kFormats = [0, 1, 2].map((digits) => new Intl.NumberFormat('en', { maximumFractionDigits: digits }))

export function number(value: number): string {
  const digits = Number.isInteger(value) ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0
  return kFormats[digits]?.format(value) ?? String(value)
}

export function amount(resource: string, base: number): string {
  if (resource === 'memory' || resource.endsWith('storage') || resource.startsWith('hugepages')) {
    let at = 0
    let value = base
    while (Math.abs(value) >= 1024 && at < kBinary.length - 1) { value /= 1024; ++at }
    return number(value) + (kBinary[at] ?? '')
  }
  return number(base / unitOf(resource))
}

// "nvidia.com/gpu" is GPU to people.
export function resourceName(resource: string): string {
  if (resource === 'cpu') return 'CPU'
  const last = resource.slice(resource.lastIndexOf('/') + 1)
  return last === 'gpu' ? 'GPU' : last === resource ? resource : last
}

export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, '0')} min`
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`
}

export function clock(ms: number): string {
  const at = new Date(ms)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

export function moment(ms: number): string {
  const at = new Date(ms)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(ms)}`
}

export const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0)
export const percent = (part: number, whole: number) => `${Math.round(share(part, whole) * 100)} %`

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`
}

// The queue of work that names none, and the common top of all queues, have no names of their own.
export function queueLabel(name: string): string {
  return name === '' ? 'no queue' : name === 'cluster:root' ? 'whole cluster' : name
}
