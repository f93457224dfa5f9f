// Nodes as a map: a card per domain, a square per device. A card opens the table of its nodes.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { memo } from '../memo'
import { get, type NodeRow, type NodesPage } from '../api'
import { NodeMap, useOfDevice, type Domain } from '../domains'
import { amount, number, percent, plural, resourceName } from '../format'
import { VirtualTable, type Column } from '../list'
import { Problem } from '../parts'
import { setQuery, useRevision, useStore, useTurns, type Place } from '../store'

const kNodesPage = 2500

function useNodeMap(): { map: NodeMap; version: number; error: string; known: boolean } {
  const revision = useRevision(1000)
  const map = useRef(new NodeMap())
  const since = useRef(0)
  const [shown, setShown] = useState({ version: 0, error: '', known: false })
  useTurns(async () => {
    try {
      // The first pages come in turn, each drawn as it comes; later only what has changed.
      let begun = -1
      for (let offset = 0; ;) {
        const page = await get<NodesPage>(`nodes?since=${since.current}&offset=${offset}&limit=${kNodesPage}`)
        if (offset === 0) begun = page.revision
        map.current.take(page.items, page.gone, page.whole && offset === 0, page.levels)
        offset += page.items.length
        if (page.items.length > 0 || page.gone.length > 0 || offset === 0) setShown((was) => ({ version: was.version + 1, error: '', known: true }))
        if (page.items.length === 0 || offset >= page.total) break
      }
      since.current = begun  // what changed while later pages came is asked for again
    } catch (error) {
      setShown((was) => ({ ...was, error: String(error instanceof Error ? error.message : error) }))
    }
  }, [revision])
  return { map: map.current, ...shown }
}

export function Nodes({ place }: { place: Place }) {
  const { summary } = useStore()
  const { map, error, known } = useNodeMap()
  const levels = map.levels
  const asked = place.query.get('level')
  const depth = asked ? Math.max(0, levels.indexOf(asked) + 1) : map.bestDepth()
  map.setDepth(depth)
  const filter = (place.query.get('q') ?? '').toLowerCase()
  const chosen = place.query.get('domain') ?? ''
  const only = place.query.get('only') ?? ''
  const all = map.list()
  const domains = all.filter((domain) => (!filter || domain.key.toLowerCase().includes(filter) || domain.nodes.some((node) => node.name.toLowerCase().includes(filter)))
    && (only !== 'free' || domain.idle > 0) && (only !== 'broken' || domain.broken > 0 || domain.nodes.some((node) => node.cordoned)))
  const open = chosen ? map.get(chosen) : undefined
  const devices = all.reduce((sum, domain) => sum + domain.devices, 0)
  const idle = all.reduce((sum, domain) => sum + domain.idle, 0)

  if (summary && !summary.sees_nodes) {
    return <section aria-labelledby="title"><h1 id="title">Nodes</h1><p class="pad">You may not list nodes in this cluster, so none are shown.</p></section>
  }
  return (
    <section aria-labelledby="title">
      <h1 id="title">Nodes</h1>
      <div class="bar">
        <label>Filter <input type="search" value={place.query.get('q') ?? ''} placeholder="domain or node" onInput={(event) => setQuery({ q: event.currentTarget.value })} /></label>
        {levels.length > 0
          ? (
            <label>Domains{' '}
              <select value={levels[depth - 1] ?? ''} onChange={(event) => setQuery({ level: event.currentTarget.value || 'all', domain: '' })}>
                <option value="all">all nodes together</option>
                {levels.map((level) => <option key={level} value={level}>by {level.slice(level.lastIndexOf('/') + 1)}</option>)}
              </select>
            </label>
          )
          : null}
        <label>Show{' '}
          <select value={only} onChange={(event) => setQuery({ only: event.currentTarget.value })}>
            <option value="">every domain</option>
            <option value="free">with free devices</option>
            <option value="broken">with unhealthy devices or cordoned nodes</option>
          </select>
        </label>
        <span class="legend" aria-hidden="true"><i class="d-free" /> free <i class="d-part" /> in part <i class="d-used" /> used <i class="d-kept" /> kept <i class="d-bad" /> unhealthy</span>
      </div>
      <Problem text={error} />
      <p class="quiet counts" role="status">{known ? `${plural(domains.length, 'domain')}, ${plural(map.nodes.size, 'node')}, ${number(idle)} of ${plural(devices, 'device')} free` : 'Reading the nodes'}</p>
      <div class={open ? 'split' : ''}>
        <ul class="cards" aria-label="Domains">
          {domains.map((domain) => <DomainCard key={domain.key} domain={domain} version={domain.version} isOpen={domain.key === chosen} />)}
        </ul>
        {open ? <DomainPanel domain={open} filter={filter} /> : null}
      </div>
    </section>
  )
}

const kCell = 5
const kGap = 1

interface Colors { free: string; used: string; kept: string; bad: string; part: string; dim: string }
let colors: { theme: string; values: Colors } | undefined
function colorsNow(): Colors {
  const theme = `${document.documentElement.dataset.theme ?? ''}${matchMedia('(prefers-color-scheme: dark)').matches}`
  if (colors?.theme !== theme) {
    const style = getComputedStyle(document.documentElement)
    const read = (name: string) => style.getPropertyValue(name).trim()
    colors = { theme, values: { free: read('--d-free'), used: read('--d-used'), kept: read('--d-kept'), bad: read('--d-bad'), part: read('--d-part'), dim: read('--line') } }
  }
  return colors.values
}

interface Drawn { width: number; height: number; scale: number; tall: number; shades: Colors; nodes: NodeRow[] }
const drawn = new WeakMap<HTMLCanvasElement, Drawn>()

// Nodes are columns, so that eight devices stand below each other; nodes without devices are one square. Where the picture is the same but
// for some nodes, only these are drawn: one domain may have ten thousand.
function drawDomain(canvas: HTMLCanvasElement, domain: Domain, width: number) {
  const pen = canvas.getContext('2d')
  if (!pen) return
  const deepest = domain.nodes.reduce((most, node) => Math.max(most, node.devices.reduce((sum, pool) => sum + pool.use.length, 0)), 1)
  const tall = deepest * (kCell + kGap)
  const perLine = Math.max(1, Math.floor(width / (kCell + 2 * kGap)))
  const lines = Math.ceil(domain.nodes.length / perLine)
  const height = Math.max(1, lines * (tall + 4))
  const scale = devicePixelRatio || 1
  const shades = colorsNow()
  const was = drawn.get(canvas)
  const before = was && was.width === width && was.height === height && was.scale === scale && was.tall === tall && was.shades === shades ? was.nodes : undefined
  if (!before) {
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(height * scale)
    if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`
  }
  pen.setTransform(scale, 0, 0, scale, 0, 0)
  const placeOf = (at: number): [number, number] => [(at % perLine) * (kCell + 2 * kGap), Math.floor(at / perLine) * (tall + 4)]
  domain.nodes.forEach((node, at) => {
    if (before?.[at] === node) return
    const [x, top] = placeOf(at)
    let y = top
    if (before) pen.clearRect(x, y, kCell + kGap, tall)
    pen.globalAlpha = node.cordoned ? 0.35 : 1
    const marks = node.devices.map((pool) => pool.use).join('')
    if (!marks) { pen.fillStyle = shades.dim; pen.fillRect(x, y, kCell, kCell) }
    for (const mark of marks) {
      const use = useOfDevice(mark)
      pen.fillStyle = mark === 'x' ? shades.bad : mark === 'p' ? shades.kept : mark === '9' ? shades.used : use > 0 ? shades.part : shades.free
      pen.fillRect(x, y, kCell, kCell)
      y += kCell + kGap
    }
  })
  for (let at = domain.nodes.length; at < (before?.length ?? 0); ++at) pen.clearRect(...placeOf(at), kCell + kGap, tall)
  pen.globalAlpha = 1
  drawn.set(canvas, { width, height, scale, tall, shades, nodes: domain.nodes.slice() })
}

// Widths come from the observer: to ask each canvas after the last one was drawn would lay the page out again and again.
const DomainCard = memo(function DomainCard({ domain, version, isOpen }: { domain: Domain; version: number; isOpen: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [seen, setSeen] = useState(0)  // its width while it is in view
  useEffect(() => {
    const element = canvas.current
    if (!element) return undefined
    const watch = new IntersectionObserver((entries) => {
      const last = entries[entries.length - 1]
      if (last) setSeen(last.isIntersecting ? Math.round(last.boundingClientRect.width) : 0)
    }, { rootMargin: '200px' })
    const resized = new ResizeObserver(() => { watch.unobserve(element); watch.observe(element) })
    watch.observe(element)
    resized.observe(element.parentElement ?? element)
    return () => { watch.disconnect(); resized.disconnect() }
  }, [])
  useLayoutEffect(() => {
    const element = canvas.current
    if (!element || !seen) return undefined
    const draw = () => drawDomain(element, domain, seen)
    draw()
    addEventListener('berth-theme', draw)
    return () => removeEventListener('berth-theme', draw)
  }, [seen, version, domain])
  return (
    <li class={`card${isOpen ? ' current' : ''}`}>
      <button aria-expanded={isOpen} onClick={() => setQuery({ domain: isOpen ? '' : domain.key })}>
        <span class="card-head"><b title={domain.key}>{domain.path.slice(-2).join(' / ') || domain.key}</b><span class="quiet">{domain.devices ? <>{percent(domain.used, domain.devices)}<span class="hidden"> of its devices in use</span></> : plural(domain.nodes.length, 'node')}</span></span>
        <canvas ref={canvas} aria-hidden="true" />
        <span class="quiet card-foot">{domain.devices ? `${number(domain.idle)} free of ${number(domain.devices)}` : 'no devices'}<span class="hidden"> devices on {plural(domain.nodes.length, 'node')}</span>{domain.broken ? <span class="bad-text">{` ${number(domain.broken)} unhealthy`}</span> : null}</span>
      </button>
    </li>
  )
})

function Devices({ node }: { node: NodeRow }) {
  const words = node.devices.map((pool) => {
    const of = pool.use.length
    const free = [...pool.use].filter((mark) => mark === '0').length
    return `${free} of ${of} ${resourceName(pool.resource)} free`
  }).join(', ') || 'no devices'
  return (
    <span class="devices" role="img" aria-label={words} title={words}>
      {node.devices.flatMap((pool) => [...pool.use]).map((mark, at) => <i key={at} class={mark === 'x' ? 'd-bad' : mark === 'p' ? 'd-kept' : mark === '9' ? 'd-used' : mark === '0' ? 'd-free' : 'd-part'} />)}
    </span>
  )
}

const kColumns: Column<NodeRow>[] = [
  { key: 'name', title: 'Node', class: 'grow', cell: (node) => <span title={node.name}>{node.name}{node.cordoned ? <span class="tag">cordoned</span> : null}</span> },
  { key: 'devices', title: 'Devices', class: 'medium', cell: (node) => <Devices node={node} /> },
  {
    key: 'cpu', title: 'CPU free', class: 'num small hide-small', cell: (node) => {
      const cpu = node.amounts.find((one) => one.resource === 'cpu')
      return cpu ? amount('cpu', cpu.capacity - cpu.used) : '–'
    },
  },
]

function DomainPanel({ domain, filter }: { domain: Domain; filter: string }) {
  const matching = domain.nodes.filter((node) => node.name.toLowerCase().includes(filter))
  const nodes = matching.length > 0 ? matching : domain.nodes
  return (
    <aside class="panel fill" aria-label={`Nodes of ${domain.key}`}>
      <div class="panel-head"><h2>{domain.key}</h2><button class="icon" aria-label="close" onClick={() => setQuery({ domain: '' })}>×</button></div>
      <VirtualTable label={`Nodes of ${domain.key}`} columns={kColumns} total={nodes.length} rowHeight={32} rowAt={(at) => nodes[at]} empty="None." />
    </aside>
  )
}
