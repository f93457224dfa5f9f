// A table that draws only the rows in view. Rows come from `rowAt`, which may not know a row yet. Arrow keys, Page, Home and End move
// the current row; Enter opens it. Screen readers get the row's number and the number of all rows.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

export interface Column<Row> {
  key: string
  title: string
  class?: string
  cell: (row: Row) => ComponentChildren
}

interface Props<Row> {
  label: string
  columns: Column<Row>[]
  total: number
  version?: number  // with memo(): another one says that rowAt gives other rows
  rowHeight: number
  rowAt: (index: number) => Row | undefined
  hrefOf?: (row: Row) => string
  onRange?: (first: number, last: number) => void
  sort?: { key: string; onSort: (key: string) => void; keys: readonly string[] }
  empty: ComponentChildren
}

export function windowOf(top: number, height: number, rowHeight: number, total: number, spare = 8): { first: number; last: number } {
  const first = Math.max(0, Math.floor(top / rowHeight) - spare)
  return { first: Math.min(first, total), last: Math.min(total, Math.ceil((top + height) / rowHeight) + spare) }
}

export function VirtualTable<Row>(props: Props<Row>) {
  const { columns, total, rowHeight } = props
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  const [current, setCurrent] = useState(0)
  const wantsFocus = useRef(false)

  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight })
    look()
    const watch = new ResizeObserver(look)
    watch.observe(element)
    return () => watch.disconnect()
  }, [])

  const { first, last } = windowOf(view.top, view.height, rowHeight, total)
  useEffect(() => { props.onRange?.(first, last) }, [first, last, total])
  useEffect(() => { if (current >= total && total > 0) setCurrent(total - 1) }, [total])
  useEffect(() => {
    if (!wantsFocus.current) return
    // After a jump the row is drawn only once the scrolling has been seen.
    const row = box.current?.querySelector<HTMLElement>(`[data-row="${current}"]`)
    if (!row) return
    wantsFocus.current = false
    row.focus({ preventScroll: true })
  })

  const move = (to: number) => {
    const next = Math.max(0, Math.min(total - 1, to))
    const element = box.current
    if (!element) return
    const head = rowHeight
    if (next * rowHeight < element.scrollTop) element.scrollTop = next * rowHeight
    else if ((next + 1) * rowHeight + head > element.scrollTop + element.clientHeight) element.scrollTop = (next + 1) * rowHeight + head - element.clientHeight
    wantsFocus.current = true
    setCurrent(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 2)
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page, Home: 0, End: total - 1 }[event.key]
    if (to !== undefined && (event.target as HTMLElement).closest('[role=row]')) {
      event.preventDefault()
      move(to)
    } else if (event.key === 'Enter' && (event.target as HTMLElement).getAttribute('role') === 'row') {
      const row = props.rowAt(current)
      const href = row && props.hrefOf?.(row)
      if (href) location.hash = href
    }
  }

  const rows: ComponentChildren[] = []
  for (let index = first; index < last; ++index) {
    const row = props.rowAt(index)
    const href = row && props.hrefOf?.(row)
    rows.push(
      <div
        role="row" key={index} class={`row${index % 2 ? ' odd' : ''}${href ? ' opens' : ''}`} data-row={index} aria-rowindex={index + 2}
        tabIndex={index === current ? 0 : -1} style={{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
        onFocus={() => setCurrent(index)}
        onClick={(event: MouseEvent) => {
          if (!href || (event.target as HTMLElement).closest('a,button') || String(getSelection())) return
          location.hash = href
        }}
      >
        {row
          ? columns.map((column) => <div role="cell" key={column.key} class={`cell ${column.class ?? ''}`}>{column.cell(row)}</div>)
          : <div role="cell" class="cell quiet">…</div>}
      </div>,
    )
  }
  return (
    <div class="table" role="table" aria-label={props.label} aria-rowcount={total + 1} ref={box}
      onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })} onKeyDown={onKeyDown}>
      <div role="rowgroup" class="head-group">
        <div role="row" class="row head" aria-rowindex={1} style={{ height: `${rowHeight}px` }}>
          {columns.map((column) => {
            const sorts = props.sort?.keys.includes(column.key)
            return (
              <div role="columnheader" key={column.key} class={`cell ${column.class ?? ''}`} {...(sorts && props.sort?.key === column.key ? { 'aria-sort': 'ascending' as const } : {})}>
                {sorts ? <button class="sort" onClick={() => props.sort?.onSort(column.key)}>{column.title}{props.sort?.key === column.key ? ' ▾' : ''}</button> : column.title}
              </div>
            )
          })}
        </div>
      </div>
      {total === 0 ? <div role="rowgroup"><div role="row"><div role="cell" class="pad quiet">{props.empty}</div></div></div> : null}
      <div role="rowgroup" class="body" style={{ height: `${total * rowHeight}px` }}>{rows}</div>
    </div>
  )
}
