// What ran where: one lane per node, one row per device. Drawn on a canvas; a list of boxes is all there is to it.

const BAR_ENDS = ['completed', 'evicted', 'failed', 'still running'];

function gantt(figure, block) {
  const plot = figure.querySelector('.plot');
  if (!plot) return;
  const view = windowOf(block.b, block.e);
  const boxes = block.boxes.map(([lane, row, height, start, end, series, ended, from, to, gpus, name]) =>
      ({ lane, row, height, start, end, series, ended, from, to, gpus, name }));
  const state = { hover: null, find: '', keyed: -1, select: null };
  const canvas = el('canvas');
  plot.append(canvas);
  plot.tabIndex = 0;
  plot.setAttribute('role', 'group');
  plot.setAttribute('aria-label', `${block.title}: Gantt chart of ${block.lanes.length} nodes. Up and down go from bar to bar, ` +
      'left and right move in time, plus and minus zoom, 0 shows all.');
  const tools = zoomTools(figure, plot, view);
  const search = el('input', { type: 'search', placeholder: 'Find a workload', 'aria-label': 'Find a workload' });
  const found = el('span', { class: 'found', role: 'status' });
  tools.prepend(search, found);

  let frame = null;
  function layout() {
    const width = Math.max(plot.clientWidth, 260);
    const left = width < 560 ? 74 : 128, right = 12, upper = 26, gap = 8;
    const rows = block.lanes.reduce((sum, lane) => sum + Math.max(lane.rows, 1), 0);
    const unit = clamp((860 - block.lanes.length * gap) / rows, 4, 13);
    let y = upper;
    const lanes = block.lanes.map((lane) => {
      const top = y;
      y += Math.max(lane.rows, 1) * unit + gap;
      return { ...lane, top, height: Math.max(lane.rows, 1) * unit };
    });
    return { width, height: Math.ceil(y), left, right, upper, unit, lanes };
  }
  const x = (t) => frame.left + (t - view.from) / (view.to - view.from) * (frame.width - frame.left - frame.right);

  // Black or white, whichever reads better on a colour "#rrggbb".
  function textOn(paint) {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(paint.slice(i, i + 2), 16) / 255)
        .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? '#10161d' : '#ffffff';
  }

  function draw() {
    frame = layout();
    const ratio = Math.min(devicePixelRatio || 1, 3);
    canvas.width = Math.round(frame.width * ratio);
    canvas.height = Math.round(frame.height * ratio);
    canvas.style.width = '100%';
    canvas.style.maxWidth = `${frame.width}px`;
    const pen = canvas.getContext('2d');
    pen.scale(ratio, ratio);
    const styles = getComputedStyle(document.documentElement);
    const paint = (name) => styles.getPropertyValue(name).trim();
    const ink = paint('--ink'), muted = paint('--muted'), grid = paint('--grid'), bad = paint('--bad'), surface = paint('--surface');
    const fills = block.series.map((series) => paint(series.c));
    const inks = fills.map(textOn);
    const font = getComputedStyle(plot).fontFamily;
    const right = frame.width - frame.right;

    pen.font = `12px ${font}`;
    pen.textBaseline = 'middle';
    for (const [t, text] of timeTicks(view.from, view.to, Math.max(2, (right - frame.left) / 95))) {
      pen.fillStyle = grid;
      pen.fillRect(Math.round(x(t)), frame.upper - 6, 1, frame.height - frame.upper);
      pen.fillStyle = muted;
      pen.textAlign = x(t) > right - 24 ? 'end' : 'center';
      pen.fillText(text, Math.min(x(t), right), 10);
    }
    for (const lane of frame.lanes) {
      pen.fillStyle = paint('--page');
      pen.fillRect(frame.left, lane.top, right - frame.left, lane.height);
      pen.textAlign = 'end';
      pen.fillStyle = ink;
      const middle = lane.top + lane.height / 2;
      const twoLines = lane.h && lane.height >= 30;
      pen.fillText(shorten(pen, lane.n, frame.left - 14), frame.left - 10, twoLines ? middle - 8 : middle);
      if (twoLines) {
        pen.fillStyle = muted;
        pen.fillText(shorten(pen, lane.h, frame.left - 14), frame.left - 10, middle + 8);
      }
      if (lane.rows > lane.d && lane.d > 0) {
        pen.fillStyle = bad;
        pen.fillRect(frame.left, lane.top + lane.d * frame.unit, right - frame.left, 1);
      }
    }
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, frame.upper - 2, right - frame.left, frame.height);
    pen.clip();
    pen.textAlign = 'start';
    pen.font = `11px ${font}`;
    const needle = state.find.toLowerCase();
    for (const box of boxes) {
      if (box.end <= view.from || box.start >= view.to) continue;
      const a = Math.max(x(box.start), frame.left - 4), b = Math.min(x(box.end), right + 4);
      const lane = frame.lanes[box.lane];
      const top = lane.top + box.row / 1000 * frame.unit;
      const height = Math.max(box.height / 1000 * frame.unit - 1, 1.5);
      const width = Math.max(b - a - (b - a > 3 ? 1 : 0), 0.7);
      const lit = state.hover !== null ? box.name === state.hover : !needle || box.name.toLowerCase().includes(needle);
      pen.globalAlpha = lit ? 1 : 0.2;
      pen.fillStyle = fills[box.series];
      pen.fillRect(a, top, width, height);
      if (hatched(block.series[box.series].c) && width > 2) hatch(pen, surface, a, top, width, height, 1.2, 5);
      if (box.ended === 1 && width > 2) {
        pen.fillStyle = bad;
        pen.fillRect(a + width - Math.min(4, width / 2), top, Math.min(4, width / 2), height);
      } else if (box.ended === 2 && width > 2) {
        hatch(pen, bad, a, top, width, height, 2, 8);
      }
      if (width > 44 && height >= 11) {
        pen.fillStyle = inks[box.series];
        const from = Math.max(a, frame.left) + 4;
        const text = shorten(pen, box.name, a + width - from - 6);
        if (text.length > 2) pen.fillText(text, from, top + height / 2 + 0.5);
      }
      if (state.keyed >= 0 && boxes[state.keyed] === box) {
        pen.globalAlpha = 1;
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.strokeRect(a - 1, top - 1, width + 2, height + 2);
      }
    }
    pen.globalAlpha = 1;
    if (state.select) {
      pen.globalAlpha = 0.2;
      pen.fillStyle = paint('--accent');
      pen.fillRect(x(state.select[0]), frame.upper, x(state.select[1]) - x(state.select[0]), frame.height);
      pen.globalAlpha = 1;
    }
    pen.restore();
    pen.fillStyle = surface;
  }

  function hatch(pen, paint, left, top, width, height, thick, apart) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.strokeStyle = paint;
    pen.lineWidth = thick;
    pen.beginPath();
    for (let at = left - height; at < left + width; at += apart) {
      pen.moveTo(at, top + height);
      pen.lineTo(at + height, top);
    }
    pen.stroke();
    pen.restore();
  }

  function shorten(pen, text, room) {
    if (pen.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, middle) + '…').width <= room) low = middle; else high = middle - 1;
    }
    return low === 0 ? '' : text.slice(0, low) + '…';
  }

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * frame.width / box.width, (event.clientY - box.top) * frame.height / box.height];
  };
  const timeAt = (clientX) => {
    const box = canvas.getBoundingClientRect();
    const at = (clientX - box.left) * frame.width / box.width;
    return clamp(view.from + (at - frame.left) / (frame.width - frame.left - frame.right) * (view.to - view.from), view.from, view.to);
  };
  function boxAt(px, py) {
    let best = null, distance = 4;
    for (const box of boxes) {
      const lane = frame.lanes[box.lane];
      const top = lane.top + box.row / 1000 * frame.unit;
      if (py < top || py > top + box.height / 1000 * frame.unit) continue;
      const off = Math.max(x(box.start) - px, px - x(box.end), 0);
      if (off < distance) { distance = off; best = box; }
    }
    return px < frame.left ? null : best;
  }
  function describe(box) {
    return [
      el('b', {}, box.name),
      el('table', {}, tipRow('queue', block.series[box.series].n, block.series[box.series].c),
         tipRow('node', block.lanes[box.lane].n), tipRow('GPUs here', amount(box.gpus, 1000, 2)),
         tipRow('start', moment(box.from, true)), tipRow(box.ended === 3 ? 'until' : 'end', moment(box.to, true)),
         tipRow('ran for', human(box.to - box.from)), tipRow('how it ended', BAR_ENDS[box.ended])),
    ];
  }
  function hover(box, clientX, clientY) {
    const name = box ? box.name : null;
    if (box) showTip(clientX, clientY, ...describe(box)); else hideTip();
    if (name === state.hover) return;
    state.hover = name;
    draw();
  }
  const leave = () => { state.keyed = -1; if (state.hover !== null) { state.hover = null; draw(); } hideTip(); };

  const dragging = dragToZoom(plot, view, timeAt, (from, to) => {
    state.select = from === null ? null : [from, to];
    draw();
  });
  const follow = (event) => { if (!dragging()) hover(boxAt(...place(event)), event.clientX, event.clientY); };
  plot.addEventListener('pointermove', follow);
  plot.addEventListener('pointerdown', (event) => { if (event.pointerType !== 'mouse') follow(event); });
  plot.addEventListener('pointerleave', leave);
  plot.addEventListener('blur', leave);
  plot.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(view, event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.clientX));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan(view, event.deltaX / frame.width);
    }
  }, { passive: false });
  plot.addEventListener('keydown', (event) => {
    if (timeKey(view, event)) return;
    if (event.key === 'Escape') return leave();
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      event.preventDefault();
      return pan(view, event.key === 'ArrowLeft' ? -0.1 : 0.1);
    }
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    const step = event.key === 'ArrowDown' ? 1 : -1;
    let i = state.keyed;
    for (let tries = 0; tries < boxes.length; ++tries) {
      i = (i + step + boxes.length) % boxes.length;
      if (boxes[i].end > view.from && boxes[i].start < view.to) break;
    }
    state.keyed = i;
    const box = boxes[i], area = canvas.getBoundingClientRect();
    draw();
    const lane = frame.lanes[box.lane];
    showTip(area.left + clamp(x(box.end), frame.left, frame.width), area.top + lane.top, ...describe(box));
    say(`${box.name}, ${block.series[box.series].n}, node ${block.lanes[box.lane].n}, ${amount(box.gpus, 1000, 2)} GPU, ` +
        `${moment(box.from)}, ran for ${human(box.to - box.from)}, ${BAR_ENDS[box.ended]}`);
  });
  search.addEventListener('input', () => {
    state.find = search.value.trim();
    const needle = state.find.toLowerCase();
    const names = new Set(boxes.filter((box) => box.name.toLowerCase().includes(needle)).map((box) => box.name));
    found.textContent = state.find ? `${names.size} found` : '';
    draw();
  });
  figure.append(el('p', { class: 'note' }, 'Drag to zoom, ctrl and wheel to zoom at the pointer, double click to show all. ' +
      'Pointing at a bar lights up the whole gang.'));
  view.watchers.push(draw);
  themeWatchers.push(() => { if (frame) draw(); });
  watchWidth(plot, draw);
}
