// What the timeline draws: tracks of operations by start, found by time without looking at all.

// Where there is one GPU, no title names it.
function laneTitle(docs, lane, gpus) {
  const process = docs.dag && docs.dag.processes[lane.process];
  const parts = [];
  if (docs.dag && docs.dag.processes.length > 1) parts.push(known(process.rank) ? 'rank ' + process.rank : 'pid ' + process.pid);
  if (gpus > 1) parts.push(known(lane.agent) ? 'GPU ' + lane.agent : 'GPU ?');
  if (known(lane.queue)) parts.push('queue ' + lane.queue);
  parts.push(known(lane.stream) ? 'stream ' + lane.stream : 'stream ?');
  return parts.join(' · ');
}

// Operations of a lane that overlap get rows of their own, up to a few.
const MOST_ROWS = 6;
function rowsOf(model, ops) {
  const rows = [];
  for (const i of ops) {
    let row = rows.findIndex((r) => r.until <= model.start[i]);
    if (row < 0) row = rows.length < MOST_ROWS ? rows.push({ ops: [], until: 0 }) - 1 : MOST_ROWS - 1;
    rows[row].ops.push(i);
    rows[row].until = Math.max(rows[row].until, model.end[i]);
  }
  return rows;
}

// Largest end so far: the first operation that may be seen from a time on is found by halves.
function trackOf(model, ops, title) {
  const latest = new Float64Array(ops.length);
  let most = 0;
  ops.forEach((i, k) => { latest[k] = most = Math.max(most, model.end[i]); });
  return { ops: Uint32Array.from(ops), latest, title };
}

function firstFrom(track, t) {
  let low = 0, high = track.ops.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.latest[middle] > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Also what takes no time at the very begin of what is in sight.
const firstSeen = (track, view) => firstFrom(track, view.from - 0.5);
const isSeen = (model, i, view) => model.end[i] > view.from || model.start[i] >= view.from;

function followersOf(waits, count) {
  const first = new Uint32Array(count + 1);
  for (const from of waits) if (from >= 0) first[from + 1]++;
  for (let i = 0; i < count; i++) first[i + 1] += first[i];
  const next = first.slice(), list = new Uint32Array(first[count]);
  waits.forEach((from, i) => { if (from >= 0) list[next[from]++] = i; });
  return (i) => list.subarray(first[i], first[i + 1]);
}

function timelineModel(docs) {
  const t = docs.timeline, count = t.start_ns.length;
  const model = {
    doc: t, count, span: Math.max(1, t.makespan_ns),
    start: Float64Array.from(t.start_ns), end: new Float64Array(count), track: new Uint32Array(count),
    followers: followersOf(t.waited_for, count), tracks: [],
  };
  for (let i = 0; i < count; i++) model.end[i] = model.start[i] + t.duration_ns[i];
  const byLane = t.lanes.map(() => []), gpus = new Set(t.lanes.map((lane) => lane.agent)).size;
  const order = Uint32Array.from({ length: count }, (_, i) => i).sort((a, b) => model.start[a] - model.start[b] || a - b);
  for (const i of order) byLane[t.lane[i]].push(i);
  byLane.forEach((ops, lane) => {
    rowsOf(model, ops).forEach((row, r) => {
      for (const i of row.ops) model.track[i] = model.tracks.length;
      model.tracks.push(trackOf(model, row.ops, r ? '' : laneTitle(docs, t.lanes[lane], gpus)));
    });
  });
  model.order = order;
  model.path = order.filter((i) => t.on_path[i]);
  model.short = t.names.map(shortName);
  return model;
}
