// A line chart of uPlot that follows the theme and the width of its place. The numbers stand below it for screen readers.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { clock } from './format'

export interface Line { label: string; color: string; fill?: boolean; bars?: boolean; dash?: number[] }

export function Chart({ label, times, lines, values, height, format }: { label: string; times: number[]; lines: Line[]; values: number[][]; height: number; format: (value: number) => string }) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const data = (): uPlot.AlignedData => [times.map((ms) => ms / 1000), ...values]

  useLayoutEffect(() => {
    const element = place.current
    if (!element) return undefined
    const make = () => {
      plot.current?.destroy()
      const style = getComputedStyle(document.documentElement)
      const color = (name: string) => style.getPropertyValue(name).trim()
      const axis = { stroke: color('--quiet'), grid: { stroke: color('--line'), width: 1 }, ticks: { stroke: color('--line'), width: 1 }, font: '12px system-ui, sans-serif' }
      plot.current = new uPlot({
        width: Math.max(200, element.clientWidth), height,
        legend: { show: false }, cursor: { y: false, points: { show: false } },
        scales: { x: { time: true }, y: { range: (_self, _min, max) => [0, Math.max(1, max * 1.08)] } },
        axes: [{ ...axis, size: 30, values: (_self, ticks) => ticks.map((s) => clock(s * 1000).slice(0, 5)) }, { ...axis, size: 58, values: (_self, ticks) => ticks.map(format) }],
        series: [{}, ...lines.map((line) => ({
          label: line.label, stroke: color(line.color), width: 2, points: { show: false },
          ...(line.dash ? { dash: line.dash } : {}),
          ...(line.fill || line.bars ? { fill: `${color(line.color)}40` } : {}),
          ...(line.bars && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.8, 24] }), fill: color(line.color), width: 0 } : {}),
        }))],
      }, data(), element)
    }
    make()
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, element.clientWidth), height }))
    watch.observe(element)
    addEventListener('berth-theme', make)
    return () => { watch.disconnect(); removeEventListener('berth-theme', make); plot.current?.destroy(); plot.current = null }
  }, [])
  useEffect(() => { plot.current?.setData(data()) }, [times, values])

  const last = values.map((line) => line[line.length - 1] ?? 0)
  return (
    <figure class="chart" aria-label={label}>
      <figcaption>
        <b>{label}</b>
        {lines.map((line, at) => <span key={line.label} class="series"><i style={{ background: `var(${line.color})` }} aria-hidden="true" />{line.label} <b>{format(last[at] ?? 0)}</b></span>)}
      </figcaption>
      <div ref={place} aria-hidden="true" />
    </figure>
  )
}
