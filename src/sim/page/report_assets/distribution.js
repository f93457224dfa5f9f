// Distributions: a strip of quantiles in each row of the table, and curves of the tails beside it.

const DURATION_TICKS = [[SECOND, '1 s'], [10 * SECOND, '10 s'], [MINUTE, '1 min'], [10 * MINUTE, '10 min'], [HOUR, '1 h'],
  [6 * HOUR, '6 h'], [DAY, '1 d'], [7 * DAY, '1 wk'], [30 * DAY, '30 d'], [180 * DAY, '180 d'], [1000 * DAY, '1,000 d']];

function distribution(figure, block) {
  const plot = figure.querySelector('.plot');
  if (!plot || !block.g) return;
  const all = block.all ? [...block.g, block.all] : block.g;
  const counted = all.filter((group) => group.q);
  const unit = block.duration ? '' : (block.unit ? ` ${block.unit}` : '');
  const words = (value) => block.duration ? human(value) : amount(value, block.div, 2) + unit;
  const state = { only: null, lit: null };

  // The axis: from the least value that matters to the greatest of all, at round ticks.
  const greatest = Math.max(1, ...counted.map((group) => group.q[7]));
  const positive = Math.min(greatest, ...counted.map((group) => group.x.find((value) => value > 0) || greatest));
  const allTicks = block.duration ? DURATION_TICKS : Array.from({ length: 31 }, (_, i) => 10 ** (i - 12) * block.div)
      .map((value) => [value, amount(value, block.div, 12)]);
  let low = block.duration ? SECOND : Math.max(1, 10 ** Math.floor(Math.log10(positive / block.div)) * block.div);
  if (block.duration) for (const [value] of DURATION_TICKS) if (value <= positive && value < greatest) low = value;
  low = Math.min(low, greatest);
  const ticksFor = (scale, least) => {
    const kept = [[0, '0']];
    let last = scale(0);
    for (const [value, text] of allTicks) {
      const x = scale(value);
      if (value < low || value > greatest || x - last < Math.max(least, text.length * 6.6 + 6)) continue;
      kept.push([value, text]);
      last = x;
    }
    return kept;
  };

  const strips = [...figure.querySelectorAll('td.strip')];
  const head = figure.querySelector('th.strip');
  const rowOf = (row) => Number(row.dataset.i) < 0 ? block.all : block.g[Number(row.dataset.i)];

  function drawStrips() {
    const width = Math.max(90, Math.floor(head.clientWidth) - 8);
    const scale = logScale(low, greatest, 6, width - 8);
    const ticks = ticksFor(scale, 40);
    const axis = svg('svg', { viewBox: `0 0 ${width} 18`, height: 18, 'aria-hidden': 'true' });
    for (const [value, text] of ticks) {
      axis.append(svg('text', { x: scale(value), y: 12, 'text-anchor': value === 0 ? 'start' : 'middle', dx: value === 0 ? -4 : 0 }, text));
    }
    head.replaceChildren(axis);
    for (const cell of strips) {
      const group = rowOf(cell.parentElement);
      const root = svg('svg', { viewBox: `0 0 ${width} 24`, height: 24, 'aria-hidden': 'true' });
      for (const [value] of ticks) root.append(svg('line', { class: 'grid', x1: scale(value), x2: scale(value), y1: 0, y2: 24 }));
      if (group.q) {
        const [, p10, p25, p50, p75, p90, p99] = group.q.map(scale);
        const paint = color(group.c);
        root.append(
            svg('line', { x1: p90, x2: p99, y1: 12, y2: 12, style: `stroke:${paint}`, 'stroke-width': 1.5, 'stroke-dasharray': '1.5 2.5' }),
            svg('line', { x1: p10, x2: p90, y1: 12, y2: 12, style: `stroke:${paint}`, 'stroke-width': 2 }),
            ...filled('rect', { x: p25, y: 7, width: Math.max(2, p75 - p25), height: 10, rx: 2 }, group.c),
            svg('line', { x1: p99, x2: p99, y1: 8, y2: 16, style: `stroke:${paint}`, 'stroke-width': 1.5 }),
            svg('circle', { cx: p50, cy: 12, r: 4.5, style: 'fill:var(--surface);stroke:var(--ink)', 'stroke-width': 2 }));
      }
      cell.replaceChildren(root);
    }
  }

  // The part that is longer than each value, both axes logarithmic: each tenth, hundredth and thousandth of the tail has the same room.
  const most = Math.max(1, ...counted.map((group) => group.count));
  const least = Math.min(0.01, 10 ** -Math.min(Math.ceil(Math.log10(most)), 6));
  let frame = null;
  function drawCurves() {
    const width = Math.max(plot.clientWidth, 240);
    const height = clamp(26 * all.length + 60, 250, 360);
    const left = 62, right = 14, upper = 24, lower = 40;
    const scale = logScale(low, greatest, left, width - right);
    const y = (share) => upper + Math.min(Math.log10(Math.max(share, least)) / Math.log10(least), 1) * (height - upper - lower);
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    root.append(svg('text', { x: 4, y: 13 }, `share of ${block.subject} above (logarithmic)`));
    for (let share = 1; share > least * 0.999; share /= 10) {
      root.append(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(share), y2: y(share) }),
                  svg('text', { x: left - 8, y: y(share) + 4, 'text-anchor': 'end' }, `${+(share * 100).toPrecision(1)} %`));
    }
    for (const [value, text] of ticksFor(scale, 44)) {
      root.append(svg('line', { class: 'grid', x1: scale(value), x2: scale(value), y1: upper, y2: height - lower }),
                  svg('text', { x: scale(value), y: height - lower + 16, 'text-anchor': 'middle' }, text));
    }
    root.append(svg('text', { x: width - right, y: height - 5, 'text-anchor': 'end' },
                    block.duration ? 'duration (logarithmic)' : `${block.unit || 'amount'} (logarithmic)`));
    const names = [];
    all.forEach((group, i) => {
      if (!group.q || (state.only !== null && state.only !== i && group !== block.all)) return;
      let path = `M${scale(0)},${y(1)}`;
      const corners = [];
      group.x.forEach((value, k) => {
        const above = y(1 - group.r[k] / group.count);
        path += `H${scale(value).toFixed(1)}V${above.toFixed(1)}`;
        corners.push({ x: scale(value), y: above });
      });
      const broken = lineStyle(group.c);
      root.append(svg('path', {
        class: 'line', d: path, ...broken, 'stroke-dasharray': group === block.all ? '2 4' : broken['stroke-dasharray'],
        opacity: state.lit !== null && state.lit !== i ? '.18' : null,
        'stroke-width': state.lit === i ? 3 : null,
      }));
      // Best where the line comes down, above the last of its samples.
      const places = corners.reverse().map((corner) => ({ x: corner.x + (corner.x > width / 2 ? -4 : 5), y: corner.y - 5, end: corner.x > width / 2 }));
      names.push({ text: group.n, variable: group.c, places: places.filter((_, k) => k % Math.ceil(places.length / 24) === 0) });
    });
    if (counted.length > 1) directLabels(root, names, { left, right: width - right, top: upper - 10, bottom: height - lower });
    const cross = svg('line', { class: 'cross', y1: upper, y2: height - lower, visibility: 'hidden' });
    root.append(cross);
    plot.replaceChildren(root);
    frame = { root, cross, scale, width, left, right };
  }

  const shareAt = (group, value) => {
    let low = 0, high = group.x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (group.x[middle] <= value) low = middle + 1; else high = middle;
    }
    return low === 0 ? 0 : group.r[low - 1];
  };
  let at = null;
  function tell(x, clientX, clientY) {
    at = clamp(x, frame.left, frame.width - frame.right);
    const value = frame.scale.invert(at);
    frame.cross.setAttribute('visibility', 'visible');
    frame.cross.setAttribute('x1', at);
    frame.cross.setAttribute('x2', at);
    const list = counted.filter((group) => state.only === null || group === block.all || all.indexOf(group) === state.only);
    const title = `more than ${words(value < low ? 0 : value)}`;
    const share = (group) => percent(group.count - shareAt(group, value < low ? 0 : value), group.count);
    showTip(clientX, clientY, el('b', {}, title), el('table', {}, ...list.map((group) => tipRow(group.n, share(group), group.c))));
    return `${title}: ` + list.map((group) => `${group.n} ${share(group)}`).join(', ');
  }
  const leave = () => { at = null; hideTip(); if (frame) frame.cross.setAttribute('visibility', 'hidden'); };
  plot.tabIndex = 0;
  plot.setAttribute('role', 'group');
  plot.setAttribute('aria-label', `${block.title}: the share above each value. Arrow keys read them; the table beside has the numbers.`);
  const follow = (event) => {
    const box = frame.root.getBoundingClientRect();
    tell((event.clientX - box.left) * frame.width / box.width, event.clientX, event.clientY);
  };
  plot.addEventListener('pointermove', follow);
  plot.addEventListener('pointerdown', follow);
  plot.addEventListener('pointerleave', leave);
  plot.addEventListener('blur', leave);
  plot.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return leave();
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    const step = (frame.width - frame.left) / 40;
    const x = (at === null ? frame.width / 2 : at) + (event.key === 'ArrowLeft' ? -step : step);
    const box = frame.root.getBoundingClientRect();
    say(tell(x, box.left + x * box.width / frame.width, box.top + box.height / 3));
  });

  const rows = [...figure.querySelectorAll('.strips tr[data-i]')];
  for (const row of rows) {
    const group = rowOf(row);
    if (!group.q) continue;
    const cell = row.querySelector('.strip');
    const names = ['least', '1 in 10', '1 in 4', 'median', '3 in 4', '9 in 10', '99 in 100', 'greatest', 'mean'];
    cell.addEventListener('pointermove', (event) => showTip(event.clientX, event.clientY, el('b', {}, group.n),
        el('table', {}, ...names.map((name, i) => tipRow(name, words(group.q[i]))),
           tipRow('none at all', percent(group.zeros, group.count)))));
    cell.addEventListener('pointerleave', hideTip);
  }
  legendRows(rows.filter((row) => Number(row.dataset.i) >= 0), state, () => { if (frame) drawCurves(); });
  figure.append(el('p', { class: 'note' },
      'Each strip: circle the median, bar the middle half, line from 1 in 10 to 9 in 10, tick 99 in 100.'));
  watchWidth(plot, drawCurves);
  watchWidth(figure, drawStrips);
}
