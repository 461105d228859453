// Drawing of the timeline. What is narrower than a pixel is added up per column, so that the cost of
// a picture is one look at each operation in sight and some rectangles for each column.

const AXIS = 24, TRACK = 26, BAR = 17;

// A browser draws nothing on a canvas that is too high: of a timeline higher than this only what is in sight of its
// frame is drawn, and on paper what a sheet has room for.
const MOST_HEIGHT = 8000, FRAME_HEIGHT = 458, PAPER_HEIGHT = 960;
const fullHeight = (model) => AXIS + model.tracks.length * TRACK + 6;
const isTall = (model) => fullHeight(model) > MOST_HEIGHT;

function niceStep(span, pixels) {
  const raw = span / Math.max(2, pixels / 110), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= raw);
}

// With as many digits as tell one line from the next, however far from the start they are.
function tickText(t, step, most) {
  const [unit, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([ns]) => ns <= most / 2) || [1, 'ns'];
  return (t / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9))) + ' ' + name;
}

function drawAxis(ctx, view, box) {
  const step = niceStep(view.to - view.from, box.width);
  ctx.fillStyle = css('--dim');
  ctx.strokeStyle = css('--line');
  ctx.lineWidth = 1;
  ctx.font = '12px system-ui, sans-serif';
  ctx.textAlign = 'center';
  const first = Math.ceil(view.from / step), count = Math.min(box.width, Math.floor(view.to / step) - first + 1);
  for (let n = 0; n < count; n++) { // counted, for a step may be too small to be added to a time
    const t = (first + n) * step;
    const x = Math.round(box.x(t)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, AXIS - 4);
    ctx.lineTo(x, box.height);
    ctx.stroke();
    if (x < box.left + box.width - 24) ctx.fillText(tickText(t, step, view.to), x, AXIS - 9);
  }
  ctx.textAlign = 'left';
}

function drawLabels(ctx, model, box) {
  ctx.font = '12px system-ui, sans-serif';
  ctx.fillStyle = css('--front');
  for (let k = box.first; k <= box.last; k++) {
    const track = model.tracks[k];
    const short = box.left < 150 ? track.title.replaceAll(' · ', ' ').replace('queue ', 'q').replace('stream ', 's') : track.title; // a telephone
    if (track.title) ctx.fillText(short, 4, AXIS + k * TRACK + BAR - 3, box.left - 10);
  }
}

// Columns of what is too narrow: time covered, the longest of it, whether it is on the path.
function columnsOf(width) {
  return { time: new Float64Array(width), longest: new Float64Array(width), op: new Int32Array(width), path: new Uint8Array(width) };
}

// What was searched for stands in front of everything else.
function gather(columns, state, i, column) {
  const { model } = state;
  column = Math.max(0, Math.min(columns.time.length - 1, column)); // of what begins before, or at the very end
  const took = model.end[i] - model.start[i], rank = took + (state.found && isFound(state, i) ? model.span : 0);
  columns.time[column] += took;
  if (columns.longest[column] === 0 || rank > columns.longest[column]) {
    columns.longest[column] = rank || 1e-9;
    columns.op[column] = i;
  }
  columns.path[column] |= model.doc.on_path[i];
}

function drawColumns(ctx, state, columns, y, box, perPixel) {
  for (let c = 0; c < columns.time.length; c++) {
    if (columns.longest[c] === 0) continue;
    const height = Math.max(4, Math.min(1, columns.time[c] / perPixel) * BAR);
    ctx.globalAlpha = isFound(state, columns.op[c]) ? 1 : UNFOUND;
    ctx.fillStyle = state.style(columns.op[c]);
    ctx.fillRect(box.left + c, y + BAR - height, 1, height);
    ctx.globalAlpha = 1;
    if (columns.path[c]) {
      ctx.fillStyle = css('--path');
      ctx.fillRect(box.left + c, y - 2, 1, 2);
    }
  }
}

function drawSlack(ctx, model, i, y, box) {
  const slack = model.doc.slack_ns[i];
  if (slack <= 0) return;
  const x = Math.max(box.left, box.x(model.end[i])), until = Math.min(box.left + box.width, box.x(model.end[i] + slack));
  if (until - x < 1) return;
  ctx.fillStyle = css('--shade');
  ctx.fillRect(x, y + 5, until - x, BAR - 10);
}

// What a search does not find is pale.
const UNFOUND = 0.2;
const isFound = (state, i) => !state.found || state.found.has(state.model.doc.name[i]);

// The name in a bar, cut to the bar's part that is in sight; none where not even four letters have room.
const LETTER = 6.2;
function drawName(ctx, state, i, x, y, width) {
  const room = Math.floor((width - 8) / LETTER), name = state.model.short[state.model.doc.name[i]];
  if (room < Math.min(4, name.length)) return;
  const text = name.length > room ? name.slice(0, room - 1) + '…' : name, ink = state.ink(i);
  ctx.font = '11px system-ui, sans-serif';
  ctx.textAlign = 'left';
  if (ink.hatched) {
    ctx.fillStyle = ink.fill;
    ctx.fillRect(x + 2, y + 2, Math.min(width - 4, ctx.measureText(text).width + 4), BAR - 4);
  }
  ctx.fillStyle = isBright(ink.fill) ? '#000000' : '#ffffff';
  ctx.fillText(text, x + 4, y + BAR - 5, width - 8);
}

function drawOperation(ctx, state, i, y, box) {
  const { model } = state;
  const x = Math.max(box.left, box.x(model.start[i])), until = Math.min(box.left + box.width, box.x(model.end[i]));
  const width = Math.max(1, until - x);
  ctx.globalAlpha = isFound(state, i) ? 1 : UNFOUND;
  ctx.fillStyle = state.style(i);
  ctx.fillRect(x, y, width, BAR);
  drawName(ctx, state, i, x, y, width);
  ctx.globalAlpha = 1;
  if (state.picked !== null && model.doc.name[i] === state.picked) {
    ctx.fillStyle = css('--accent');
    ctx.fillRect(x, y + BAR, width, 3);
  }
  if (model.doc.on_path[i] && width > 3) {
    ctx.strokeStyle = css('--path');
    ctx.lineWidth = 2;
    ctx.strokeRect(x + 1, y + 1, width - 2, BAR - 2);
  } else if (model.doc.on_path[i]) {
    ctx.fillStyle = css('--path');
    ctx.fillRect(x, y - 2, width, 2);
  }
}

function drawTrack(ctx, state, k, box) {
  const { model, view } = state, track = model.tracks[k], y = AXIS + k * TRACK;
  const columns = columnsOf(Math.ceil(box.width)), wide = [];
  for (let n = firstSeen(track, view); n < track.ops.length; n++) {
    const i = track.ops[n];
    if (model.start[i] > view.to) break;
    if (!isSeen(model, i, view)) continue;
    const x = box.x(model.start[i]);
    if (box.x(model.end[i]) - x < 1) gather(columns, state, i, Math.floor(x - box.left));
    else wide.push(i);
  }
  for (const i of wide) drawSlack(ctx, model, i, y, box);
  for (const i of wide) drawOperation(ctx, state, i, y, box);
  drawColumns(ctx, state, columns, y, box, (view.to - view.from) / box.width);
}

const middleOf = (model, i) => AXIS + model.track[i] * TRACK + BAR / 2;

// From the end of each operation on the path to the start of the next; once per column and track, and
// pale where there are more of them than columns to tell them apart.
const CROWD = 4;
function drawPath(ctx, state, box) {
  const { model, view } = state;
  const drawn = new Set(), tracks = model.tracks.length;
  ctx.beginPath();
  for (let k = 1; k < model.path.length; k++) {
    const a = model.path[k - 1], b = model.path[k];
    if (model.start[b] < view.from || model.end[a] > view.to) continue;
    if (Math.max(model.track[a], model.track[b]) < box.first || Math.min(model.track[a], model.track[b]) > box.last) continue;
    const x = box.clip(model.end[a]), to = box.clip(model.start[b]);
    if (model.track[a] === model.track[b] && to - x < 1) continue;
    const key = ((x | 0) * tracks + model.track[a]) * tracks + model.track[b];
    if (drawn.has(key)) continue;
    drawn.add(key);
    ctx.moveTo(x, middleOf(model, a));
    ctx.lineTo(to, middleOf(model, b));
  }
  ctx.strokeStyle = css('--path');
  ctx.lineWidth = drawn.size > box.width / CROWD ? 1 : 1.5;
  ctx.globalAlpha = Math.max(0.05, Math.min(1, box.width / CROWD / (drawn.size + 1)));
  ctx.stroke();
  ctx.globalAlpha = 1;
}

function arrow(ctx, x, y, to, toY) {
  const bend = Math.max(12, Math.abs(to - x) / 2);
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.bezierCurveTo(x + bend, y, to - bend, toY, to, toY);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(to, toY);
  ctx.lineTo(to - 6, toY - 4);
  ctx.lineTo(to - 6, toY + 4);
  ctx.fill();
}

// What the operation under the pointer waited for, and what waited for it.
const MOST_FOLLOWERS = 200;
function drawEdges(ctx, state, box) {
  const { model, at } = state;
  if (at < 0) return;
  ctx.save();
  ctx.lineWidth = 2;
  const from = model.doc.waited_for[at];
  ctx.strokeStyle = ctx.fillStyle = '#d55e00';
  if (from >= 0) arrow(ctx, box.clip(model.end[from]), middleOf(model, from), box.clip(model.start[at]), middleOf(model, at));
  ctx.strokeStyle = ctx.fillStyle = css('--accent');
  ctx.setLineDash([5, 3]);
  for (const to of model.followers(at).subarray(0, MOST_FOLLOWERS)) arrow(ctx, box.clip(model.end[at]), middleOf(model, at), box.clip(model.start[to]), middleOf(model, to));
  ctx.setLineDash([]);
  ctx.lineWidth = 3;
  const x = box.clip(model.start[at]), width = Math.max(3, box.clip(model.end[at]) - x);
  ctx.strokeRect(x - 2, AXIS + model.track[at] * TRACK - 2, width + 4, BAR + 4);
  ctx.restore();
}

// The selected range: a band over all tracks, with its length on the axis.
function drawRange(ctx, state, box) {
  const { range } = state;
  if (!range) return;
  const x = box.clip(range.from), to = box.clip(range.to);
  ctx.fillStyle = css('--band');
  ctx.fillRect(x, 0, to - x, box.height);
  ctx.fillStyle = css('--accent');
  for (const edge of [range.from, range.to]) if (edge >= state.view.from && edge <= state.view.to) ctx.fillRect(Math.round(box.x(edge)) - 0.5, 0, 1.5, box.height);
}

// Which of the tracks are drawn, and how far they are moved up.
function tracksInSight(canvas, model) {
  const full = fullHeight(model), count = model.tracks.length, paper = document.documentElement.dataset.paper === '1';
  const height = Math.min(full, paper ? PAPER_HEIGHT : isTall(model) ? FRAME_HEIGHT : full);
  const top = paper || height === full ? 0 : Math.min(full - height, canvas.closest('.scroll').scrollTop);
  const first = Math.floor(top / TRACK), last = Math.min(count - 1, Math.floor((top + height - AXIS - BAR) / TRACK) + (paper ? 0 : 1));
  return { height, top, first, last, left_out: paper ? count - 1 - last : 0 };
}

function drawTimeline(canvas, state) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  const sight = tracksInSight(canvas, state.model), { height } = sight;
  const left = Math.min(210, Math.max(90, width * 0.2));
  const { view } = state;
  if (width < left + 50) return; // hidden, or about to be laid out
  const box = { ...sight, left, width: width - left - 8 };
  box.x = (t) => left + ((t - view.from) / (view.to - view.from)) * box.width;
  box.clip = (t) => Math.min(left + box.width, Math.max(left, box.x(t)));
  canvas.style.height = height + 'px';
  canvas.parentElement.style.height = (document.documentElement.dataset.paper === '1' ? height : fullHeight(state.model)) + 'px';
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = css('--back');
  ctx.fillRect(0, 0, width, height);
  drawAxis(ctx, view, box);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, box.top ? AXIS : 0, width, height);
  ctx.clip();
  ctx.translate(0, -box.top);
  drawLabels(ctx, state.model, box);
  for (let k = box.first; k <= box.last; k++) drawTrack(ctx, state, k, box);
  drawPath(ctx, state, box);
  drawEdges(ctx, state, box);
  ctx.restore();
  drawRange(ctx, state, box);
  state.box = box;
}
