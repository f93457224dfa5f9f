// Curves over a number: a metric over a parameter, allocated over arrived. A line through the points, a mark on each, and
// a bar from least to greatest where a point stands for several runs.

function xyChart(figure, block) {
  const plot = figure.querySelector('.plot');
  if (!plot) return;
  const points = block.s.flatMap((series) => series.p);
  const reach = (of, pick) => points.reduce((best, point) => pick(best, of(point)), of(points[0]));
  const low = ([, y, least]) => least === undefined ? y : least;
  const high = ([, y, , most]) => most === undefined ? y : most;
  const xs = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b);
  const left = xs[0], right = xs[xs.length - 1];
  const top = reach(high, Math.max);
  const least = reach(low, Math.min);
  const bottom = block.zero && least >= 0 ? 0 : least;
  const words = (value) => block.duration ? human(value) : amount(value, block.div, 3);

  // Durations are divided at round ones, everything else at 1, 2, 2.5 and 5.
  function ticksOf(most) {
    if (!block.duration) return valueTicks((top - bottom) / block.div || 1, most).map((tick) => tick * block.div);
    const step = TIME_STEPS.find((size) => (top - bottom) / size <= most) || (top - bottom) / most || 1;
    return Array.from({ length: Math.floor((top - bottom) / step) + 1 }, (_, i) => i * step);
  }

  // Where points are marked, ticks stand at them: at all, or as many as have room, the first and the last among them. Otherwise at
  // round numbers.
  function placesOf(x, room) {
    if (!block.marks) {
      const steps = valueTicks((right - left) / block.xdiv || 1, Math.max(2, room / 90));
      const spacing = (steps[1] || 1) * block.xdiv;
      const first = Math.ceil(left / spacing);
      return Array.from({ length: Math.max(Math.floor(right / spacing) - first + 1, 0) }, (_, i) => (first + i) * spacing);
    }
    const half = (value) => amount(value, block.xdiv, 3).length * 3.4 + 5;
    const kept = [xs[0]];
    for (const value of xs.slice(1, -1)) {
      const last = kept.at(-1);
      if (x(value) - x(last) < half(value) + half(last)) continue;
      if (x(right) - x(value) < half(value) + half(right)) continue;
      kept.push(value);
    }
    return right === left ? kept : [...kept, right];
  }

  plot.tabIndex = 0;
  plot.setAttribute('role', 'group');
  plot.setAttribute('aria-label', `${block.title}: chart over ${block.x}. Arrow keys read its points; the table below has the numbers.`);
  const state = { at: null };
  let frame = null;

  function draw() {
    const width = Math.max(plot.clientWidth, 240);
    const height = clamp(width * 0.36, 220, 340);
    const upper = 24, lower = 40, margin = 14;
    const ticks = ticksOf(height < 260 ? 4 : 5).map((tick) => tick + bottom);
    const inset = Math.max(40, ...ticks.map((tick) => words(tick).length * 6.6 + 14));
    const x = (value) => inset + (right === left ? 0.5 : (value - left) / (right - left)) * (width - inset - margin);
    const ceiling = top + (top - bottom || 1) * 0.04;
    const y = (value) => upper + (ceiling - value) / (ceiling - bottom) * (height - upper - lower);
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    root.append(svg('text', { x: 4, y: 13 }, block.y));
    for (const tick of ticks) {
      root.append(svg('line', { class: 'grid', x1: inset, x2: width - margin, y1: y(tick), y2: y(tick) }),
                  svg('text', { x: inset - 8, y: y(tick) + 4, 'text-anchor': 'end' }, words(tick)));
    }
    for (const value of placesOf(x, width - inset)) {
      root.append(svg('line', { class: 'axis', x1: x(value), x2: x(value), y1: height - lower, y2: height - lower + 5 }),
                  svg('text', { x: x(value), y: height - lower + 18, 'text-anchor': 'middle' }, amount(value, block.xdiv, 3)));
    }
    root.append(svg('line', { class: 'axis', x1: inset, x2: width - margin, y1: height - lower, y2: height - lower }),
                svg('text', { x: width - margin, y: height - 5, 'text-anchor': 'end' }, block.x));
    for (const series of block.s) {
      const { style: stroke, 'stroke-dasharray': broken } = lineStyle(series.c);
      const path = series.p.map(([at, value], i) => `${i ? 'L' : 'M'}${x(at).toFixed(1)},${y(value).toFixed(1)}`).join('');
      root.append(svg('path', { class: 'line', d: path, style: stroke, 'stroke-dasharray': series.dash ? '2 4' : broken }));
      if (!block.marks) continue;
      for (const point of series.p) {
        const at = x(point[0]);
        if (point[2] !== undefined) {
          root.append(svg('path', { style: stroke, fill: 'none', 'stroke-width': 1.5,
            d: `M${at},${y(point[2])}V${y(point[3])}M${at - 4},${y(point[2])}h8M${at - 4},${y(point[3])}h8` }));
        }
        root.append(svg('circle', { cx: at, cy: y(point[1]), r: 3.5, style: `fill:${color(series.c)}` }));
      }
    }
    if (block.s.length > 1) {
      directLabels(root, block.s.map((series) => ({
        text: series.n, variable: series.c,
        places: [...series.p].reverse().flatMap(([at, value]) =>
          [-7, 15].map((off) => ({ x: x(at) - (x(at) > width / 2 ? 4 : -4), y: y(value) + off, end: x(at) > width / 2 }))),
      })), { left: inset, right: width, top: upper - 8, bottom: height - lower + 2 });
    }
    const cross = svg('line', { class: 'cross', y1: upper, y2: height - lower, visibility: 'hidden' });
    root.append(cross);
    plot.replaceChildren(root);
    frame = { root, cross, x, width, inset, margin };
    if (state.at !== null) mark();
  }

  function mark() {
    frame.cross.setAttribute('visibility', state.at === null ? 'hidden' : 'visible');
    if (state.at === null) return;
    frame.cross.setAttribute('x1', frame.x(xs[state.at]));
    frame.cross.setAttribute('x2', frame.x(xs[state.at]));
  }
  function tell(i, clientX, clientY) {
    state.at = i;
    mark();
    const here = block.s.map((series) => [series, series.p.find(([at]) => at === xs[i])]).filter(([, point]) => point);
    const text = (point) => words(point[1]) + (point[2] === undefined ? '' : ` (${words(point[2])} to ${words(point[3])})`);
    const title = `${block.x}: ${amount(xs[i], block.xdiv, 3)}`;
    showTip(clientX, clientY, el('b', {}, title), el('table', {}, ...here.map(([series, point]) => tipRow(series.n, text(point), series.c))));
    return `${title}: ` + here.map(([series, point]) => `${series.n} ${text(point)}`).join(', ');
  }
  function nearest(clientX) {
    const box = frame.root.getBoundingClientRect();
    const px = (clientX - box.left) * frame.width / box.width;
    let best = 0;
    xs.forEach((value, i) => { if (Math.abs(frame.x(value) - px) < Math.abs(frame.x(xs[best]) - px)) best = i; });
    return best;
  }
  const follow = (event) => tell(nearest(event.clientX), event.clientX, event.clientY);
  const leave = () => { state.at = null; hideTip(); if (frame) mark(); };
  plot.addEventListener('pointermove', follow);
  plot.addEventListener('pointerdown', follow);
  plot.addEventListener('pointerleave', leave);
  plot.addEventListener('blur', leave);
  plot.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return leave();
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    const step = event.key === 'ArrowLeft' ? -1 : 1;
    const i = clamp(state.at === null ? (step > 0 ? 0 : xs.length - 1) : state.at + step, 0, xs.length - 1);
    const box = frame.root.getBoundingClientRect();
    say(tell(i, box.left + frame.x(xs[i]) * box.width / frame.width, box.top + box.height / 3));
  });
  watchWidth(plot, draw);
}
