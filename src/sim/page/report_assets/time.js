// Amounts over time: stacked areas or lines, with a line for the capacity.

function timeChart(figure, block) {
  const plot = figure.querySelector('.plot');
  if (!plot) return;
  const view = windowOf(block.b, block.e);
  const state = { only: null, lit: null, at: null };
  const edges = block.t || Array.from({ length: block.slices + 1 },
                                      (_, i) => block.b + (block.e - block.b) * i / block.slices);
  const count = edges.length - 1;
  const lengths = Float64Array.from({ length: count }, (_, i) => edges[i + 1] - edges[i]);
  const greatest = (series) => (series.hi || series.v).reduce((a, b) => Math.max(a, b), 0);
  const least = (series) => (series.lo || series.v).reduce((a, b) => Math.min(a, b), 0);
  const cap = block.cap ? [block.cap] : [];
  const sum = block.tot || block.s[0];  // a stack of one is its own sum
  const top = Math.max(0, ...(block.stacked ? [greatest(sum)] : block.s.map(greatest)), ...cap.map(greatest)) || block.div;
  const bottom = block.stacked ? 0 : Math.min(0, ...block.s.map(least));
  const words = (value) => `${amount(value, block.div)}${block.unit ? ' ' + block.unit : ''}`;

  plot.tabIndex = 0;
  plot.setAttribute('role', 'group');
  plot.setAttribute('aria-label', `${block.title}: chart. Arrow keys read values, plus and minus zoom, 0 shows all, ` +
      'shift with arrows moves. The table beside it has the numbers.');
  zoomTools(figure, plot, view);
  const rows = [...figure.querySelectorAll('.legend tr[data-i]')];
  let frame = null;

  function indexAt(t) {
    let low = 0, high = count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (edges[middle] <= t) low = middle; else high = middle - 1;
    }
    return low;
  }

  function draw() {
    const width = Math.max(plot.clientWidth, 260);
    const height = width < 560 ? 250 : clamp(28 * figure.querySelectorAll('.legend tr').length + 30, 270, 430);
    const left = 58, right = 12, upper = 24, lower = 40;
    const x = (t) => left + (t - view.from) / (view.to - view.from) * (width - left - right);
    const ticks = valueTicks((top - bottom) / block.div, height < 300 ? 4 : 5);
    const spacing = (ticks[1] || 1) * block.div;
    const base = Math.ceil(bottom / spacing) * spacing;
    const ceiling = Math.max(top, bottom) + (top - bottom) * 0.02;
    const y = (value) => upper + (ceiling - value) / (ceiling - bottom) * (height - upper - lower);
    const first = indexAt(view.from), last = indexAt(view.to);

    // Steps narrower than two pixels are drawn together, those of a stack as their mean, so that thin layers stay visible.
    const columns = [first];
    const narrow = (view.to - view.from) / (width - left - right) * (block.stacked ? 2 : 0);
    for (let i = first + 1; i <= last; ++i) if (edges[i] - edges[columns.at(-1)] >= narrow) columns.push(i);
    columns.push(last + 1);
    const gather = (values, join) => columns.slice(1).map((until, k) => join(values, columns[k], until));
    const mean = (values, from, until) => {
      if (until === from + 1) return values[from];
      let area = 0;
      for (let i = from; i < until; ++i) area += values[i] * lengths[i];
      return area / (edges[until] - edges[from]);
    };
    const peak = (values, from, until) => values.slice(from, until).reduce((a, b) => Math.max(a, b));

    // A step line through one value per column, forwards or backwards, so that two of them close an area.
    const steps = (values, back) => {
      let path = '';
      const edge = (k) => Math.round(clamp(x(edges[columns[k]]), left, width - right) * 10) / 10;
      for (let j = 0; j < values.length; ++j) {
        const k = back ? values.length - 1 - j : j;
        const level = Math.round(y(values[k]) * 10) / 10;
        path += `${path ? 'L' : ''}${edge(back ? k + 1 : k)},${level}H${edge(back ? k : k + 1)}`;
      }
      return path;
    };
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    root.append(svg('text', { x: 4, y: 13 }, block.unit || 'amount'));
    for (const tick of ticks) {
      const value = tick * block.div + base;
      if (value > ceiling) continue;
      root.append(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
                  svg('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, amount(value, block.div, 3)));
    }
    for (const [t, text] of timeTicks(view.from, view.to, Math.max(2, (width - left) / 95))) {
      if (x(t) > width - right - 14) continue;
      root.append(svg('line', { class: 'axis', x1: x(t), x2: x(t), y1: height - lower, y2: height - lower + 5 }),
                  svg('text', { x: x(t), y: height - lower + 18, 'text-anchor': 'middle' }, text));
    }
    root.append(svg('text', { x: width - right, y: height - 5, 'text-anchor': 'end' }, timeTitle()));

    // Where a name may stand: in the thickest parts of an area; above the highest parts of a line.
    const middle = (k) => (clamp(x(edges[columns[k]]), left, width - right) + clamp(x(edges[columns[k + 1]]), left, width - right)) / 2;
    const bySize = (sizes) => sizes.map((size, k) => [size, k]).sort((a, b) => b[0] - a[0] || a[1] - b[1])
        .filter((_, i, all) => i % Math.ceil(all.length / 24) === 0);
    const placed = (k, level) => ({ x: middle(k) + (middle(k) > width / 2 ? -3 : 3), y: level, end: middle(k) > width / 2 });
    const nameInArea = (series, from, to) => ({
      text: series.n, variable: series.c,
      places: bySize(to.map((value, k) => y(from[k]) - y(value))).filter(([size]) => size >= 17)
          .map(([, k]) => placed(k, (y(from[k]) + y(to[k])) / 2 + 4)),
    });
    const nameOnLine = (series, values) => ({
      text: series.n, variable: series.c, places: bySize(values).map(([value, k]) => placed(k, y(value) - 5)),
    });
    const names = [];
    const shown = (i) => state.only === null || state.only === i;
    const faded = (i) => state.lit !== null && state.only === null && state.lit !== i ? '.22' : null;
    let below = new Array(columns.length - 1).fill(0);
    block.s.forEach((series, i) => {
      if (!shown(i)) return;
      const values = gather(series.v, mean);
      if (block.stacked) {
        const above = values.map((value, k) => value + below[k]);
        root.append(...filled('path', { d: `M${steps(above)}L${steps(below, true)}Z`, opacity: faded(i) }, series.c));
        names.push(nameInArea(series, below, above));
        below = above;
        return;
      }
      if (series.hi) {
        const band = `M${steps(gather(series.hi, peak))}L${steps(gather(series.lo, peak), true)}Z`;
        root.append(svg('path', { class: 'band', d: band, style: `fill:${color(series.c)}`, opacity: faded(i) }));
      }
      root.append(svg('path', { class: 'line', d: 'M' + steps(values), ...lineStyle(series.c), opacity: faded(i) }));
      names.push(nameOnLine(series, values));
    });
    if (block.stacked && sum.hi && state.only === null) root.append(svg('path', { class: 'peaks', d: 'M' + steps(gather(sum.hi, peak)) }));
    for (const series of cap) root.append(svg('path', { class: 'capacity-line', d: 'M' + steps(gather(series.v, mean)) }));
    root.append(svg('line', { class: 'axis', x1: left, x2: width - right, y1: y(0), y2: y(0) }));
    if (block.s.length > 1) directLabels(root, names, { left, right: width - right, top: upper - 10, bottom: height - lower });
    const select = svg('rect', { class: 'select', y: upper, height: height - upper - lower, width: 0 });
    const cross = svg('line', { class: 'cross', y1: upper, y2: height - lower, visibility: 'hidden' });
    root.append(select, cross);
    plot.replaceChildren(root);
    frame = { root, x, left, right, width, select, cross };
    if (state.at !== null) markCross();
  }

  function markCross() {
    const inside = state.at !== null && state.at >= view.from && state.at <= view.to;
    frame.cross.setAttribute('visibility', inside ? 'visible' : 'hidden');
    if (!inside) return;
    frame.cross.setAttribute('x1', frame.x(state.at));
    frame.cross.setAttribute('x2', frame.x(state.at));
  }
  const timeAt = (clientX) => {
    const box = frame.root.getBoundingClientRect();
    const at = (clientX - box.left) * frame.width / box.width;
    return clamp(view.from + (at - frame.left) / (frame.width - frame.left - frame.right) * (view.to - view.from), view.from, view.to);
  };
  function tell(t, clientX, clientY) {
    const i = indexAt(t);
    state.at = t;
    markCross();
    const list = block.s.map((series, k) => [series, k]).filter(([, k]) => state.only === null || state.only === k);
    if (block.stacked) list.reverse();
    const few = list.length > 6 ? list.filter(([series]) => series.v[i] !== 0) : list;
    const lines = few.map(([series]) => tipRow(series.n, words(series.v[i]), series.c));
    if (block.tot && state.only === null) lines.push(tipRow('total', words(block.tot.v[i])));
    for (const series of cap) lines.push(tipRow(series.n, words(series.v[i])));
    const span = block.t ? moment(t) : `${moment(edges[i])} + ${human(edges[i + 1] - edges[i])}`;
    showTip(clientX, clientY, el('b', {}, span), el('table', {}, ...lines));
    return `${span}: ` + list.map(([series]) => `${series.n} ${words(series.v[i])}`).join(', ');
  }

  let dragging = () => false;
  plot.addEventListener('pointermove', (event) => { if (!dragging()) tell(timeAt(event.clientX), event.clientX, event.clientY); });
  plot.addEventListener('pointerdown', (event) => { if (event.pointerType !== 'mouse') tell(timeAt(event.clientX), event.clientX, event.clientY); });
  const leave = () => { state.at = null; hideTip(); if (frame) markCross(); };
  plot.addEventListener('pointerleave', leave);
  plot.addEventListener('blur', leave);
  dragging = dragToZoom(plot, view, timeAt, (from, to) => {
    frame.select.setAttribute('x', from === null ? 0 : frame.x(from));
    frame.select.setAttribute('width', from === null ? 0 : Math.max(0, frame.x(to) - frame.x(from)));
  });
  plot.addEventListener('keydown', (event) => {
    if (timeKey(view, event)) return;
    if (event.key === 'Escape') return leave();
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    const step = (view.to - view.from) / 50;
    const t = clamp((state.at === null ? (view.from + view.to) / 2 : state.at) + (event.key === 'ArrowLeft' ? -step : step), view.from, view.to);
    const box = frame.root.getBoundingClientRect();
    say(tell(t, box.left + frame.x(t) * box.width / frame.width, box.top + box.height / 3));
  });
  legendRows(rows, state, draw);
  view.watchers.push(draw);
  watchWidth(plot, draw);
  timeNumbers(figure, block, edges);
}
