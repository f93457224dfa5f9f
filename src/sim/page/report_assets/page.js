// What all pictures of a report share: words for numbers and times, scales, markup, the tooltip, the shared window of
// time, colours. Every file of this folder is a part of one function (template.html), so these names are not global.

const data = JSON.parse(document.getElementById('data').textContent);
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

// Markup. Text is always set as text, never as HTML: names of workloads come from anywhere.
function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}
function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const color = (variable) => `var(${variable})`;
// There are six colours. From the seventh name on (--s7 to --s12) they come again, hatched, and their lines broken.
const hatched = (variable) => /^--s([7-9]|1[0-2])$/.test(variable);
const swatch = (variable) => el('i', { class: hatched(variable) ? 'swatch hatch' : 'swatch', style: `--c:${color(variable)}` });
const lineStyle = (variable) => ({ style: `stroke:${color(variable)}`, 'stroke-dasharray': hatched(variable) ? '7 3' : null });
// An element of an area in its colour, and where needed the hatching over it.
function filled(name, attributes, variable) {
  const out = [svg(name, { ...attributes, style: `fill:${color(variable)}` })];
  if (hatched(variable)) out.push(svg(name, { ...attributes, style: 'fill:url(#hatch)' }));
  return out;
}

// Words. human() says durations as sim/report.h does.
function human(ms) {
  if (ms < 0) return '-' + human(-ms);
  if (ms === 0) return '0 s';
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${Math.round(ms / 100) / 10} s`;
  const two = (large, unit, small, smallUnit) => `${large} ${unit}` + (small ? ` ${small} ${smallUnit}` : '');
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return two(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 1440) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(ms / HOUR);
  if (hours < 2400) return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
  return `${amount(Math.round(ms / DAY), 1, 0)} d`;
}
function amount(value, divisor = 1, decimals = 1) {
  return (value / divisor).toLocaleString('en-US', { maximumFractionDigits: decimals });
}
function percent(part, whole) {
  const value = 100 * part / whole;
  return `${value.toLocaleString('en-US', { maximumFractionDigits: value > 99 && value < 100 ? 2 : 1 })} %`;
}

// Times. With an origin they are dates in UTC, otherwise the time since the start.
const hasDates = data.origin !== undefined;
const origin = hasDates ? data.origin : 0;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const pad = (number) => String(number).padStart(2, '0');
function clock(ms, seconds) {
  const rest = ((ms % DAY) + DAY) % DAY;
  const text = `${pad(Math.floor(rest / HOUR))}:${pad(Math.floor(rest / MINUTE) % 60)}`;
  return seconds ? `${text}:${pad(Math.floor(rest / SECOND) % 60)}` : text;
}
function moment(t, fine = false) {
  if (!hasDates) {
    const day = Math.floor(t / DAY);
    return (day ? `day ${day}, ` : '') + clock(t, fine);
  }
  const date = new Date(origin + t);
  return `${WEEKDAYS[date.getUTCDay()]} ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ` +
      `${date.getUTCFullYear()}, ${clock(origin + t, fine)}`;
}
const TIME_STEPS = [SECOND, 2 * SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE,
  30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 7 * DAY, 14 * DAY, 30 * DAY,
  60 * DAY, 90 * DAY, 180 * DAY, 365 * DAY];
function timeTicks(a, b, most) {
  const step = TIME_STEPS.find((size) => (b - a) / size <= most) || Math.ceil((b - a) / most / (365 * DAY)) * 365 * DAY;
  const ticks = [];
  for (let at = Math.ceil((a + origin) / step) * step - origin; at <= b; at += step) {
    let text = clock(at + origin, step < MINUTE);
    if ((at + origin) % DAY === 0 && (hasDates || at !== 0 || step >= DAY)) {
      const date = new Date(origin + at);
      text = hasDates ? `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}` : `day ${at / DAY}`;
    }
    ticks.push([at, text]);
  }
  return ticks;
}
const timeTitle = () => hasDates ? 'date (UTC)' : 'time since the start';

function valueTicks(top, most) {
  const raw = top / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let i = 0; i * step <= top * 1.0001; ++i) ticks.push(i * step);
  return ticks;
}

// A logarithmic scale with a place of its own for what lies between 0 and its lower end.
function logScale(low, high, from, to) {
  const zone = Math.min(26, (to - from) * 0.08);
  const start = from + zone, decades = Math.max(Math.log10(high / low), 0.3);
  const scale = (value) => value <= low ? from + zone * Math.max(value, 0) / low
                                        : start + (to - start) * Math.min(Math.log10(value / low) / decades, 1);
  scale.invert = (x) => x <= start ? low * Math.max(x - from, 0) / zone : low * 10 ** (decades * (x - start) / (to - start));
  return scale;
}

// Names beside what they name, in a plot. `places` of a name are where it may stand, the best first: {x, y, end} (end: the text ends
// there). A name that would cover another, or leave the plot, takes its next place, or stays in the legend alone.
function directLabels(root, names, box) {
  const taken = [];
  for (const { text, variable, places } of names) {
    const label = text.length > 24 ? text.slice(0, 23) + '…' : text;
    const width = label.length * 6.4 + 16;
    for (const { x, y, end } of places) {
      const left = end ? x - width : x;
      const room = { a: left, b: left + width, c: y - 11, d: y + 4 };
      if (room.a < box.left || room.b > box.right || room.c < box.top || room.d > box.bottom) continue;
      if (taken.some((other) => room.a < other.b && other.a < room.b && room.c < other.d && other.c < room.d)) continue;
      taken.push(room);
      root.append(svg('text', { class: 'direct', x, y, 'text-anchor': end ? 'end' : 'start' },
                      svg('tspan', { style: `fill:${color(variable)}` }, '■ '), label));
      break;
    }
  }
}

// The tooltip.
const tip = document.getElementById('tip');
const live = document.getElementById('live');
function showTip(x, y, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  tip.style.left = `${clamp(left, 6, Math.max(6, innerWidth - box.width - 6))}px`;
  tip.style.top = `${clamp(y - box.height / 2, 6, Math.max(6, innerHeight - box.height - 6))}px`;
}
function hideTip() { tip.hidden = true; }
function tipRow(name, value, variable) {
  return el('tr', {}, el('th', {}, variable ? swatch(variable) : '', name),
            el('td', {}, value));
}
function say(text) { live.textContent = text; }

// One window of time for all pictures with the same span: zooming one zooms all.
const windows = new Map();
function windowOf(b, e) {
  const key = `${b}:${e}`;
  if (!windows.has(key)) windows.set(key, { b, e, from: b, to: e, watchers: [], queued: false });
  return windows.get(key);
}
function setWindow(view, from, to) {
  const least = Math.min(view.e - view.b, Math.max((view.e - view.b) / 5000, SECOND));
  const width = clamp(to - from, least, view.e - view.b);
  view.from = clamp((from + to) / 2 - width / 2, view.b, view.e - width);
  view.to = view.from + width;
  if (view.queued) return;
  view.queued = true;
  requestAnimationFrame(() => {
    view.queued = false;
    for (const watcher of view.watchers) watcher();
  });
}
function zoom(view, factor, at = (view.from + view.to) / 2) {
  setWindow(view, at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function pan(view, share) {
  const by = clamp((view.to - view.from) * share, view.b - view.from, view.e - view.to);
  setWindow(view, view.from + by, view.to + by);
}
// Keys that every picture over time understands. True where the key was one of them.
function timeKey(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === '+' || event.key === '=') zoom(view, 0.5);
  else if (event.key === '-') zoom(view, 2);
  else if (event.key === '0') setWindow(view, view.b, view.e);
  else if (event.shiftKey && event.key === 'ArrowLeft') pan(view, -0.2);
  else if (event.shiftKey && event.key === 'ArrowRight') pan(view, 0.2);
  else return false;
  event.preventDefault();
  return true;
}
// The zoom buttons of a figure and the track below its plot.
function zoomTools(figure, plot, view) {
  const button = (text, label, act) => {
    const made = el('button', { type: 'button', 'aria-label': label, title: label }, text);
    made.addEventListener('click', act);
    return made;
  };
  const out = button('−', 'Zoom out', () => zoom(view, 2));
  const all = button('All', 'Show the whole time', () => setWindow(view, view.b, view.e));
  const tools = el('div', { class: 'tools' }, out, button('+', 'Zoom in', () => zoom(view, 0.5)), all);
  figure.querySelector('figcaption').append(tools);

  const thumb = el('i');
  const track = el('div', { class: 'track', hidden: true, 'aria-hidden': 'true' }, thumb);
  plot.after(track);
  let grip = null;
  thumb.addEventListener('pointerdown', (event) => {
    grip = { x: event.clientX, from: view.from, to: view.to };
    thumb.setPointerCapture(event.pointerId);
  });
  thumb.addEventListener('pointermove', (event) => {
    if (!grip) return;
    const by = clamp((event.clientX - grip.x) / track.clientWidth * (view.e - view.b), view.b - grip.from, view.e - grip.to);
    setWindow(view, grip.from + by, grip.to + by);
  });
  thumb.addEventListener('pointerup', () => { grip = null; });
  const update = () => {
    const whole = view.to - view.from >= view.e - view.b;
    out.disabled = all.disabled = track.hidden = whole;
    thumb.style.left = `${100 * (view.from - view.b) / (view.e - view.b)}%`;
    thumb.style.width = `${100 * (view.to - view.from) / (view.e - view.b)}%`;
  };
  view.watchers.push(update);
  update();
  return tools;
}
// Dragging over a plot selects a span of time. `at` tells the time under an x on the screen.
function dragToZoom(plot, view, at, mark) {
  let start = null;
  plot.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'mouse' && event.button === 0) start = event.clientX;
  });
  plot.addEventListener('pointermove', (event) => {
    if (start === null) return;
    if (Math.abs(event.clientX - start) > 5) {
      hideTip();
      mark(at(Math.min(start, event.clientX)), at(Math.max(start, event.clientX)));
    }
  });
  addEventListener('pointerup', (event) => {
    if (start === null) return;
    const from = at(Math.min(start, event.clientX)), to = at(Math.max(start, event.clientX));
    const moved = Math.abs(event.clientX - start) > 5;
    start = null;
    mark(null);
    if (moved) setWindow(view, from, to);
  });
  plot.addEventListener('dblclick', () => setWindow(view, view.b, view.e));
  return () => start !== null;
}

// Draws now and whenever the width changes.
function watchWidth(element, draw) {
  let last = -1;
  element.inert = true;  // pointers and keys need what is drawn
  new ResizeObserver(() => {
    const width = element.clientWidth;
    if (width === last || width === 0) return;
    last = width;
    requestAnimationFrame(() => { draw(); element.inert = false; });
  }).observe(element);
}

// Rows of a legend show one series alone on a click, and light it up below the pointer.
function legendRows(rows, state, changed) {
  for (const row of rows) {
    const i = Number(row.dataset.i);
    const head = row.querySelector('th');
    const button = el('button', { type: 'button', 'aria-pressed': 'false', title: `Show ${head.textContent} alone` });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      state.only = state.only === i ? null : i;
      for (const other of rows) {
        const mine = Number(other.dataset.i) === state.only;
        other.querySelector('button').setAttribute('aria-pressed', String(mine));
        other.classList.toggle('dim', state.only !== null && !mine);
      }
      changed();
    });
    row.addEventListener('pointerenter', () => { state.lit = i; changed(); });
    row.addEventListener('pointerleave', () => { state.lit = null; changed(); });
  }
}

// Tables: a click on a column's name sorts by it.
function sortableTable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = el('button', { type: 'button' });
    const unit = head.querySelector('small');
    button.append(...[...head.childNodes].filter((node) => node !== unit));
    head.prepend(button);
    button.addEventListener('click', () => {
      const numeric = head.classList.contains('n');
      const was = head.getAttribute('aria-sort');
      const direction = was ? (was === 'ascending' ? -1 : 1) : (numeric ? -1 : 1);
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const key = (row) => {
        const cell = row.cells[column];
        if (!numeric) return cell.textContent;
        const number = parseFloat(cell.dataset.v);
        return Number.isNaN(number) ? -Infinity : number;
      };
      const compare = (x, y) => numeric ? x - y || 0 : x.localeCompare(y, 'en', { numeric: true });
      const rows = [...body.rows].map((row) => [key(row), row]);
      body.append(...rows.sort((x, y) => direction * compare(x[0], y[0])).map((pair) => pair[1]));
    });
  });
}

// Light, dark, or as the system has it.
const themeWatchers = [];
function themeButton() {
  const button = document.getElementById('theme');
  const system = matchMedia('(prefers-color-scheme: dark)');
  const modes = { auto: 'Auto', light: 'Light', dark: 'Dark' };
  let mode = 'auto';
  try { mode = localStorage.getItem('berth-theme') || 'auto'; } catch { /* no storage: the system decides */ }
  if (!(mode in modes)) mode = 'auto';
  const apply = () => {
    const dark = mode === 'dark' || (mode === 'auto' && system.matches);
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    button.textContent = `◐ ${modes[mode]}`;
    button.setAttribute('aria-label', `Colours: ${modes[mode]}. Change`);
    for (const watcher of themeWatchers) watcher();
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    const names = Object.keys(modes);
    mode = names[(names.indexOf(mode) + 1) % names.length];
    try { localStorage.setItem('berth-theme', mode); } catch { /* lasts as long as the page */ }
    apply();
  });
  system.addEventListener('change', apply);
  // Paper is light. SVG follows the style sheet; a canvas has to be drawn again.
  let before = null;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    for (const details of document.querySelectorAll('details')) details.open = true;
    for (const watcher of themeWatchers) watcher();
  });
  addEventListener('afterprint', () => {
    if (before === null) return;
    document.documentElement.dataset.theme = before;
    for (const watcher of themeWatchers) watcher();
  });
  apply();
}
