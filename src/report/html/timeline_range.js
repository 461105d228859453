// Search in the timeline, and sums over a selected range of time.

// Lower and upper end in either order; null keeps the end that is there.
function setRange(state, from, to) {
  const { model, range, view } = state, inside = (t) => Math.min(model.span, Math.max(0, t));
  const a = inside(known(from) ? from : range ? range.from : view.from), b = inside(known(to) ? to : range ? range.to : view.to);
  state.range = { from: Math.min(a, b), to: Math.max(a, b) };
}

// How long at least one of the intervals [start, end) lasts.
function covered(intervals) {
  let sum = 0, until = -Infinity;
  for (const [start, end] of intervals.sort((a, b) => a[0] - b[0])) {
    if (end > until) sum += end - Math.max(start, until);
    until = Math.max(until, end);
  }
  return sum;
}

// What runs between two times: {launches, busy, rows: [{name, launches, ns, path}]}, longest first. Of what crosses
// an end only the part inside counts.
function rangeSums(model, range) {
  const rows = new Map(), intervals = [];
  let launches = 0;
  for (const track of model.tracks)
    for (let n = firstSeen(track, range); n < track.ops.length && model.start[track.ops[n]] <= range.to; n++) {
      const i = track.ops[n], name = model.doc.name[i];
      if (!isSeen(model, i, range) || (model.start[i] === range.to && model.end[i] > range.to)) continue;
      const start = Math.max(range.from, model.start[i]), end = Math.min(range.to, model.end[i]);
      if (!rows.has(name)) rows.set(name, { name: model.doc.names[name], launches: 0, ns: 0, path: 0 });
      const row = rows.get(name);
      row.launches++;
      row.ns += end - start;
      row.path += model.doc.on_path[i] ? end - start : 0;
      launches++;
      intervals.push([start, end]);
    }
  return { launches, busy: covered(intervals), rows: [...rows.values()].sort((a, b) => b.ns - a.ns) };
}

// The sums under the timeline, made anew when the range has changed.
function rangeView(state, app, draw) {
  const node = el('div', { id: 'timeline-range', hidden: true });
  let shown = null;
  const update = () => {
    const { range, model } = state;
    if (range === shown) return;
    shown = range;
    node.hidden = !range;
    if (!range) return;
    const sums = rangeSums(model, range), length = range.to - range.from || 1;
    const button = (text, click) => el('button', { type: 'button', on: { click: () => { click(); draw(); } } }, text);
    node.replaceChildren(
      el('div', { className: 'tools' }, el('b', {}, `Range ${time(range.from)} to ${time(range.to)} (${time(range.to - range.from)})`), `${whole(sums.launches)} launches and copies; GPU busy ${percent(sums.busy / length)}`,
        button('zoom to it', () => { state.view = clampView(model, range.from, range.to); }), button('clear', () => { state.range = null; })),
      scrolled(table('Time in the selected range', [
        { title: 'kernel or copy', cls: 'name', of: (r) => el('span', {}, swatch(app.ink(r.name)), named(r.name)) },
        { title: 'launches', n: true, of: (r) => whole(r.launches) }, { title: 'time in range', n: true, of: (r) => time(r.ns) },
        { title: '% of range', n: true, of: (r) => percent(r.ns / length) }, { title: 'on the critical path', n: true, of: (r) => time(r.path) },
      ], sums.rows)));
  };
  return { node, update };
}

// --- search -------------------------------------------------------------------------------------

// Sets which names match, and all operations that have one of them, by start.
function search(state, text) {
  const { doc, order } = state.model, wanted = text.trim().toLowerCase();
  state.found = null;
  state.hits = [];
  if (!wanted) return;
  state.found = new Set(doc.names.flatMap((name, n) => (plain(name).toLowerCase().includes(wanted) || state.model.short[n].toLowerCase().includes(wanted) ? [n] : [])));
  state.hits = order.filter((i) => state.found.has(doc.name[i]));
}

// Brings an operation into sight, zooming in where it would be too narrow to be seen.
function goTo(state, i) {
  const { model, view, box } = state, took = model.end[i] - model.start[i], middle = (model.start[i] + model.end[i]) / 2;
  let width = view.to - view.from;
  if (box && (took / width) * box.width < 3) width = Math.max(took, 1) * (box.width / 60);
  if (width < view.to - view.from || model.start[i] < view.from || model.end[i] > view.to) state.view = clampView(model, middle - width / 2, middle + width / 2);
  state.at = i;
  state.show(i);
}

function searchTools(state, draw) {
  const input = el('input', { type: 'search', id: 'timeline-search', placeholder: 'search: kernel or copy ( / )', 'aria-label': 'Search kernels and copies in the timeline', autocomplete: 'off', spellcheck: false });
  const said = el('span', { id: 'timeline-found', className: 'dim', 'aria-live': 'polite' });
  let at = -1;
  const tell = () => {
    const { doc } = state.model, sum = state.hits.reduce((ns, i) => ns + doc.duration_ns[i], 0);
    said.textContent = !state.found ? '' : !state.hits.length ? 'no match' : `${at >= 0 ? whole(at + 1) + ' of ' : ''}${whole(state.hits.length)} match${state.hits.length === 1 ? '' : 'es'}, ${time(sum)}`;
  };
  input.addEventListener('input', () => { at = -1; search(state, input.value); tell(); draw(); });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { input.value = ''; at = -1; search(state, ''); }
    else if (event.key === 'Enter' && state.hits.length) {
      at = (at + (event.shiftKey ? -1 : 1) + (at < 0 && event.shiftKey ? 1 : 0) + state.hits.length) % state.hits.length;
      goTo(state, state.hits[at]);
    } else return;
    event.preventDefault();
    tell();
    draw();
  });
  return [input, said];
}
