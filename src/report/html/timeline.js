// The timeline's section: view, pointer, keys, and the tables beside it.

function clampView(model, from, to) {
  const least = Math.min(model.span, Math.max(10, model.span / 2 ** 46)), width = Math.min(model.span, Math.max(least, to - from));
  const begin = Math.min(Math.max(0, from), model.span - width);
  return { from: begin, to: begin + width };
}

function operationAt(state, x, y) {
  const { model, box } = state, k = Math.floor((y + box.top - AXIS + 4) / TRACK), track = model.tracks[k];
  if (!track || x < box.left || (box.top && y < AXIS)) return -1;
  const perPixel = (state.view.to - state.view.from) / box.width, t = state.view.from + (x - box.left) * perPixel;
  let best = -1, bestGap = 4 * perPixel;
  for (let n = firstFrom(track, t - bestGap); n < track.ops.length; n++) {
    const i = track.ops[n];
    if (model.start[i] > t + bestGap) break;
    const gap = Math.max(0, model.start[i] - t, t - model.end[i]);
    if (gap < bestGap || best < 0) { best = i; bestGap = gap; }
    if (gap === 0) break;
  }
  return best;
}

function describe(state, i) {
  if (i < 0) return 'Hover over an operation, or use the arrow keys to go from one to the next.';
  const { model } = state, t = model.doc, from = t.waited_for[i];
  const waited = from < 0 ? 'It waited for no other operation.' : `It waited for ${brief(t.names[t.name[from]])} (${t.copy[from] ? 'copy' : 'dispatch'} ${t.id[from]})${t.classes[t.via[i]] === 'launch' ? ', by way of the host: launched late enough' : ', by ' + words(t.classes[t.via[i]])}.`;
  const path = t.on_path[i] ? 'on the critical path' : 'slack ' + time(t.slack_ns[i]);
  const range = t.ranges && t.range[i] >= 0 ? `, launched in ${brief(t.ranges[t.range[i]])}` : '';
  return `${brief(t.names[t.name[i]])}: ${t.copy[i] ? 'copy' : 'dispatch'} ${t.id[i]}, starts at ${whole(model.start[i])} ns, takes ${time(t.duration_ns[i])}${range}, ${path}. ${waited} ${whole(model.followers(i).length)} waited for it.`;
}

function operationColumns(model, ink) {
  const t = model.doc;
  return [
    { title: 'operation', cls: 'name', of: (i) => el('span', {}, swatch(ink(t.names[t.name[i]])), named(t.names[t.name[i]])) },
    { title: 'id', n: true, of: (i) => t.id[i] },
    { title: 'start, ns', n: true, of: (i) => whole(model.start[i]) },
    { title: 'takes', n: true, of: (i) => time(t.duration_ns[i]) },
    { title: 'slack', n: true, of: (i) => time(t.slack_ns[i]) },
    { title: 'critical', of: (i) => (t.on_path[i] ? 'yes' : '') },
    { title: 'waited by', of: (i) => words(t.classes[t.via[i]]) },
    ...(t.ranges ? [{ title: 'range', cls: 'name', of: (i) => (t.range[i] < 0 ? '' : named(t.ranges[t.range[i]])) }] : []),
  ];
}

// The table follows what is in sight, when it is open.
function operationTable(state, ink) {
  const { model, view } = state, seen = [];
  for (const track of model.tracks)
    for (let n = firstSeen(track, view); n < track.ops.length && model.start[track.ops[n]] <= view.to; n++)
      if (isSeen(model, track.ops[n], view)) seen.push(track.ops[n]);
  seen.sort((a, b) => model.start[a] - model.start[b]);
  return table('Operations in sight, by start', operationColumns(model, ink), seen, { limit: 300 });
}

// Around T, which stays where it is on the screen.
function zoomAt(state, t, f) {
  const { from, to } = state.view;
  state.view = clampView(state.model, t - (t - from) * f, t + (to - t) * f);
}

function moveBy(state, share) {
  const { from, to } = state.view;
  state.view = clampView(state.model, from + (to - from) * share, to + (to - from) * share);
}

// What the keys zoom around: the pointer, else the chosen operation, else the middle.
function zoomCentre(state) {
  const { model, view, at } = state;
  if (state.pointer !== null) return state.pointer;
  const middle = at >= 0 ? (model.start[at] + model.end[at]) / 2 : -1;
  return middle >= view.from && middle <= view.to ? middle : (view.from + view.to) / 2;
}

function timelineKeys(state, event) {
  const { model, view } = state;
  const middle = state.at >= 0 ? (model.start[state.at] + model.end[state.at]) / 2 : (view.from + view.to) / 2, width = view.to - view.from;
  const zoom = (f) => { state.view = clampView(model, middle - (width * f) / 2, middle + (width * f) / 2); };
  const track = state.at >= 0 ? model.tracks[model.track[state.at]] : model.tracks[0];
  const place = state.at >= 0 ? track.ops.indexOf(state.at) : -1;
  const along = (by) => { state.at = track.ops[Math.min(track.ops.length - 1, Math.max(0, place + by))]; };
  const across = (by) => {
    const next = model.tracks[(state.at >= 0 ? model.track[state.at] : -1) + by];
    if (!next) return;
    const t = state.at >= 0 ? model.start[state.at] : view.from;
    state.at = next.ops[Math.min(next.ops.length - 1, firstFrom(next, t))];
  };
  const actions = {
    '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: () => { state.view = { from: 0, to: model.span }; },
    ArrowRight: () => along(1), ArrowLeft: () => along(-1), ArrowDown: () => across(1), ArrowUp: () => across(-1),
    Home: () => { state.at = track.ops[0]; }, End: () => { state.at = track.ops[track.ops.length - 1]; },
    Enter: () => state.pick(state.at), ' ': () => state.pick(state.at),
    w: () => zoomAt(state, zoomCentre(state), 0.6), s: () => zoomAt(state, zoomCentre(state), 1 / 0.6),
    a: () => moveBy(state, -0.2), d: () => moveBy(state, 0.2),
    '[': () => setRange(state, state.at >= 0 ? model.start[state.at] : view.from, null), ']': () => setRange(state, null, state.at >= 0 ? model.end[state.at] : view.to),
    Escape: () => { state.range = null; },
  };
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return false;
  action();
  if (state.at >= 0 && event.key.startsWith('Arrow') && (model.start[state.at] < state.view.from || model.end[state.at] > state.view.to)) {
    const w = state.view.to - state.view.from;
    state.view = clampView(model, model.start[state.at] - w / 2, model.start[state.at] + w / 2);
  }
  return true;
}

function timelinePointer(canvas, state, draw) {
  let drag = null;
  const at = (event) => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  const timeAt = (x) => state.view.from + ((x - state.box.left) / state.box.width) * (state.view.to - state.view.from);
  canvas.addEventListener('pointerdown', (event) => {
    const [x, y] = at(event);
    drag = { x, view: state.view, moved: false, selects: event.shiftKey || y < AXIS };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    const [x, y] = at(event);
    if (!state.box) return;
    state.pointer = x >= state.box.left ? timeAt(x) : null;
    canvas.style.cursor = y < AXIS || event.shiftKey ? 'col-resize' : '';
    if (drag && drag.selects) {
      if (Math.abs(x - drag.x) <= 3 && !drag.moved) return;
      drag.moved = true;
      setRange(state, timeAt(drag.x), timeAt(x));
    } else if (drag && Math.abs(x - drag.x) > 3) {
      const by = ((x - drag.x) / state.box.width) * (drag.view.to - drag.view.from);
      drag.moved = true;
      state.view = clampView(state.model, drag.view.from - by, drag.view.to - by);
    } else if (!drag) state.at = operationAt(state, x, y);
    draw();
  });
  canvas.addEventListener('pointerup', (event) => {
    const [x, y] = at(event);
    if (drag && drag.selects && !drag.moved) state.range = null;
    else if (drag && !drag.moved) { state.at = operationAt(state, x, y); state.pick(state.at); }
    drag = null;
    draw();
  });
  canvas.addEventListener('pointercancel', () => { drag = null; }); // a finger scrolls the page
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoomAt(state, timeAt(at(event)[0]), Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))));
    draw();
  }, { passive: false });
}

function timelineTools(state, draw) {
  const zoom = (f) => () => { zoomAt(state, (state.view.from + state.view.to) / 2, f); draw(); };
  const move = (share) => () => { moveBy(state, share); draw(); };
  const button = (text, label, click) => el('button', { type: 'button', 'aria-label': label, title: label, on: { click } }, text);
  return el('div', { className: 'tools' },
    button('+', 'zoom in', zoom(0.5)), button('−', 'zoom out', zoom(2)), button('◀', 'earlier', move(-0.5)), button('▶', 'later', move(0.5)),
    button('all', 'show all', () => { state.view = { from: 0, to: state.model.span }; draw(); }),
    ...searchTools(state, draw));
}

// Of a timeline that is higher than its frame.
function showTrack(frame, y) {
  if (y < frame.scrollTop + AXIS) frame.scrollTop = Math.max(0, y - 2 * TRACK);
  else if (y + TRACK > frame.scrollTop + frame.clientHeight) frame.scrollTop = y + 2 * TRACK - frame.clientHeight;
}

function timelineSection(docs, app) {
  const model = timelineModel(docs), cache = new Map();
  const state = { model, view: { from: 0, to: model.span }, at: -1, picked: null, box: null, pointer: null, range: null, found: null, hits: [] };
  const canvas = el('canvas', { id: 'timeline-canvas', tabIndex: 0, role: 'application', 'aria-label': 'Timeline of kernels and copies; arrow keys move between operations; W and S zoom, A and D move', 'aria-describedby': 'timeline-say' });
  const say = el('p', { id: 'timeline-say', className: 'say', 'aria-live': 'polite' });
  const frame = el('div', { className: 'scroll canvas', role: 'region', 'aria-label': 'Timeline; scrolls' }, el('div', { className: 'tall' }, canvas));
  const more = el('p', { className: 'dim', hidden: true });
  const holder = el('div'), details = el('details', {}, el('summary', {}, 'Operations in sight as a table'), holder);
  const sums = rangeView(state, app, () => draw());
  let waiting = false;
  state.ink = (i) => app.ink(model.doc.names[model.doc.name[i]]);
  state.style = (i) => inkStyle(canvas.getContext('2d'), state.ink(i), cache);
  state.pick = (i) => { if (i >= 0 && !model.doc.copy[i]) app.pick(model.doc.names[model.doc.name[i]]); };
  state.show = (i) => { showTrack(frame, AXIS + model.track[i] * TRACK); };
  const fill = () => { if (details.open) holder.replaceChildren(scrolled(operationTable(state, app.ink))); };
  const now = () => {
    waiting = false;
    drawTimeline(canvas, state);
    if (!state.box) return;
    say.textContent = describe(state, state.at);
    more.textContent = `${whole(state.box.left_out)} more tracks have no room on paper: the page on a screen shows them.`;
    more.hidden = !state.box.left_out;
    sums.update();
    Object.assign(canvas.dataset, { operations: model.count, from: state.view.from, to: state.view.to, at: state.at, left: state.box.left, plotWidth: state.box.width, range: state.range ? `${state.range.from} ${state.range.to}` : '' });
  };
  const draw = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { now(); fill(); }); } };
  const key = (event) => {
    if (!timelineKeys(state, event)) return;
    event.preventDefault();
    if (state.at >= 0 && !/^[wasd]$/i.test(event.key)) state.show(state.at);
    draw();
  };
  canvas.addEventListener('keydown', key);
  document.addEventListener('keydown', (event) => { // W/A/S/D need no focus while the pointer is over the timeline
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === '/' && !event.ctrlKey) { event.preventDefault(); document.getElementById('timeline-search').focus(); }
    else if (event.target !== canvas && state.pointer !== null && /^([wasd]|Escape)$/i.test(event.key)) key(event);
  });
  canvas.addEventListener('pointerleave', () => { state.at = -1; state.pointer = null; draw(); });
  details.addEventListener('toggle', fill);
  frame.addEventListener('scroll', () => { if (isTall(model)) draw(); });
  timelinePointer(canvas, state, draw);
  section('timeline', 'Timeline', timelineTools(state, draw), frame, more, say, sums.node, legend(model, app), details,
    folded('Keys, and what the picture shows', list([
      ['W S, + −', 'zoom in and out around the pointer; the wheel does with Ctrl, or once the timeline has the focus; 0 shows all'],
      ['A D, drag', 'move to earlier and later'],
      ['Shift + drag', 'selects a range, as a drag along the time axis does; [ and ] set its begin and end at the chosen operation, Escape removes it'],
      ['/', 'searches; Enter goes to the next match, Shift + Enter to the previous one'],
      ['outlined bars', 'the critical path; the grey tail of a bar is its slack: how much longer it could take without delaying the end'],
      ['arrows', 'what the operation under the pointer waited for (orange), and what waited for it (dashed)'],
    ])));
  app.onPick.push((name) => { state.picked = model.doc.names.indexOf(name); draw(); });
  app.onTheme.push(() => { cache.clear(); now(); fill(); }); // also before printing, which does not wait for 'toggle'
  window.addEventListener('resize', draw);
  now();
}

function legend(model, app) {
  const names = [...new Set(app.kernels.map((k) => k.name).filter((name) => model.doc.names.includes(name)))].slice(0, 14);
  const copies = model.doc.names.filter((name) => !app.byName.has(name));
  return el('ul', { className: 'legend', 'aria-label': 'Colours' },
    ...names.map((name) => el('li', {}, el('button', { type: 'button', on: { click: () => app.pick(name) } }, swatch(app.ink(name)), shortly(name)))),
    ...copies.map((name) => el('li', {}, swatch(app.ink(name)), named(name))));
}
