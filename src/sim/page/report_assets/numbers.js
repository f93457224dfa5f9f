// Numbers beside pictures: the table of a chart over time, and copying any table.

// Copies a table as lines of tab-separated text, which spreadsheets take. Names and numbers as they are shown, but
// numbers and durations as plain numbers where the cell knows its value.
function tableText(table) {
  const cellText = (cell) => (cell.dataset.v !== undefined && cell.dataset.v !== '' ? cell.dataset.v : cell.textContent)
      .replace(/[\t\n]/g, ' ').replace(/ [↕↑↓]$/, '').trim();
  return [...table.rows].map((row) => [...row.cells].filter((cell) => !cell.classList.contains('strip')).map(cellText).join('\t')).join('\n') + '\n';
}
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* no clipboard here: the old way */ }
  const area = el('textarea', { class: 'unseen', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
function copyButton(table) {
  const button = el('button', { type: 'button', class: 'copy', title: 'Copy as tab-separated text' }, 'Copy');
  button.addEventListener('click', async () => {
    const done = await copyText(tableText(table()));
    button.textContent = done ? 'Copied' : 'Not possible here';
    say(button.textContent);
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  return button;
}

// The values of a chart over time at most 48 moments, made when somebody opens it.
function timeNumbers(figure, block, edges) {
  const rows = Math.min(edges.length - 1, 48);
  const details = el('details', { class: 'numbers' }, el('summary', {}, 'Numbers'));
  const scroll = el('div', { class: 'scroll', tabindex: '0' });
  const columns = [...block.s, ...(block.tot ? [block.tot] : []), ...(block.cap ? [block.cap] : [])];
  details.addEventListener('toggle', () => {
    if (!details.open || scroll.firstChild) return;
    const head = el('tr', {}, el('th', { scope: 'col' }, 'from'), ...columns.map((series) => el('th', { scope: 'col', class: 'n' }, series.n)));
    const body = el('tbody');
    for (let r = 0; r < rows; ++r) {
      const first = Math.floor(r * (edges.length - 1) / rows), last = Math.floor((r + 1) * (edges.length - 1) / rows);
      const cells = columns.map((series) => {
        let area = 0;
        for (let i = first; i < last; ++i) area += series.v[i] * (edges[i + 1] - edges[i]);
        const mean = area / (edges[last] - edges[first]) / block.div;
        return el('td', { class: 'n', 'data-v': Math.round(mean * 1000) / 1000 }, amount(mean, 1, 2));
      });
      body.append(el('tr', {}, el('td', { 'data-v': edges[first] / SECOND }, moment(edges[first])), ...cells));
    }
    const unit = block.unit ? ` ${block.unit};` : '';
    scroll.append(el('table', {}, el('thead', {}, head), body));
    details.append(scroll, el('p', { class: 'note' }, `Means;${unit} copied times are seconds of the trace. series.csv has all of them.`));
  });
  details.append(copyButton(() => scroll.querySelector('table')));
  figure.append(details);
}

function tableTools() {
  for (const card of document.querySelectorAll('.card.table')) card.prepend(copyButton(() => card.querySelector('table')));
  for (const details of document.querySelectorAll('figure.xy details.numbers')) details.append(copyButton(() => details.querySelector('table')));
  for (const strips of document.querySelectorAll('table.strips')) strips.after(copyButton(() => strips));
}
