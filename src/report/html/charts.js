// The roofline and the what-if curves, drawn by uPlot; markers and labels by hooks of ours.

const hasPlots = typeof uPlot === 'function';
const absent = () => el('p', { className: 'dim' }, 'This rocm-perf was built without uPlot: the table below has the numbers of the chart.');

function axisStyle(more) {
  return Object.assign({ stroke: () => css('--front'), grid: { stroke: () => css('--line'), width: 1 }, ticks: { stroke: () => css('--line') }, font: '12px system-ui, sans-serif', labelFont: '13px system-ui, sans-serif' }, more);
}

// A chart that follows the theme and the width of the page; make(width) gives options and data.
function chart(app, make, label) {
  const holder = el('div', { className: 'chart', role: 'img', 'aria-label': label });
  let plot = null, width = 0;
  const draw = () => {
    if (plot) plot.destroy();
    width = holder.clientWidth;
    const { options, data } = make(Math.max(320, width || 900));
    plot = new uPlot(Object.assign({ legend: { show: false }, cursor: { show: false }, ms: 1 }, options), data, holder);
  };
  new ResizeObserver(() => { if (plot && holder.clientWidth !== width) draw(); }).observe(holder);
  app.onTheme.push(draw);
  app.onPick.push(draw);
  return { holder, draw };
}

// --- roofline -----------------------------------------------------------------------------------

const LEVELS = [['hbm', 'HBM'], ['l2', 'L2'], ['l1', 'L1'], ['lds', 'LDS']];
const LEVEL_DASH = { hbm: [], l2: [10, 4], l1: [4, 4], lds: [2, 3] };

const flops = (gflops) => (gflops >= 1000 ? digits(gflops / 1000) + ' TFLOP/s' : digits(gflops) + ' GFLOP/s');

// Horizontal ceilings: units of the same height are one line.
function computeCeilings(ceilings) {
  const heights = new Map();
  for (const [key, value] of Object.entries(ceilings)) {
    if (!key.endsWith('_gflops') || !value) continue;
    if (!heights.has(value)) heights.set(value, []);
    heights.get(value).push(key.replace('_gflops', '').replace('_', ' '));
  }
  const short = (names) => ['valu', 'mfma'].map((unit) => [unit, names.filter((n) => n.startsWith(unit)).map((n) => n.slice(5))]).filter((g) => g[1].length).map(([unit, types]) => unit.toUpperCase() + ' ' + types.join(', ')).join('; ');
  return [...heights].map(([value, names]) => ({ value, label: short(names) })).sort((a, b) => b.value - a.value);
}

function rooflinePoints(kernels, device, picked) {
  const points = [];
  for (const k of kernels) {
    if (!known(k.achieved_gflops) || k.achieved_gflops <= 0 || (known(k.device) && k.device !== device)) continue;
    for (const [level] of LEVELS) {
      const at = k.levels && k.levels[level];
      if (!at || !at.arithmetic_intensity || (level !== 'hbm' && k.name !== picked)) continue;
      points.push({ name: k.name, level, x: at.arithmetic_intensity, y: k.achieved_gflops });
    }
  }
  return points;
}

// The range of both axes: ridges and points, with some room.
function rooflineRange(ceilings, tops, points) {
  const rates = LEVELS.map(([l]) => ceilings[l + '_gbps']).filter(Boolean), highest = tops.length ? tops[0].value : 1;
  const xs = points.map((p) => p.x).concat(rates.flatMap((r) => tops.map((t) => t.value / r)), [0.1]);
  const ys = points.map((p) => p.y).concat(tops.map((t) => t.value / 300));
  const x = [10 ** Math.floor(Math.log10(Math.min(...xs) * 0.7)), 10 ** Math.ceil(Math.log10(Math.max(...xs) * 1.2))];
  return { x, y: [10 ** Math.floor(Math.log10(Math.min(...ys) * 0.7)), highest * 3] };
}

function rooflineLines(ceilings, tops, range) {
  const highest = tops.length ? tops[0].value : Infinity, slowest = Math.min(...LEVELS.map(([l]) => ceilings[l + '_gbps'] || Infinity));
  const rates = new Map(); // levels as fast as each other are one line
  for (const [level, label] of LEVELS) {
    const rate = ceilings[level + '_gbps'];
    if (rate) rates.set(rate, { level: rates.has(rate) ? rates.get(rate).level : level, label: rates.has(rate) ? rates.get(rate).label + ', ' + label : label });
  }
  const lines = [...rates].map(([gbps, { level, label }]) => {
    const from = Math.max(range.x[0], range.y[0] / gbps), to = Math.min(range.x[1], highest / gbps);
    return { label: `${label} ${gbps >= 1000 ? digits(gbps / 1000) + ' TB/s' : digits(gbps) + ' GB/s'}`, dash: LEVEL_DASH[level], ends: [[from, from * gbps], [to, to * gbps]], side: 'begin', heavy: level === 'hbm' };
  });
  const fastest = Math.max(...LEVELS.map(([l]) => ceilings[l + '_gbps'] || 0));
  for (const top of tops) lines.push({ label: `${top.label}  ${flops(top.value)}`, dash: [], ends: [[Math.max(range.x[0], fastest ? top.value / fastest : range.x[0]), top.value], [range.x[1], top.value]], side: 'end', heavy: false });
  return slowest ? lines : [];
}

// With the page's colour around the letters, as lines run behind them.
function label(ctx, text, x, y, ratio) {
  ctx.lineWidth = 4 * ratio;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = css('--back');
  ctx.strokeText(text, x, y);
  ctx.fillText(text, x, y);
}

// Memories along their lines; units behind the ends of theirs, in the margin, or above them where there is none.
const LABEL_ROOM = 210;
const hasMargin = (width) => width >= 600;
function drawRooflineLabels(u, lines) {
  const { ctx } = u, ratio = devicePixelRatio || 1, beside = hasMargin(u.width);
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.fillStyle = css('--front');
  let lastY = -1e9;
  for (const line of lines) {
    const [x, y] = line.side === 'begin' ? line.ends[0] : line.ends[1];
    const px = u.valToPos(x, 'x', true), py = u.valToPos(y, 'y', true);
    if (line.side === 'begin') {
      const [x2, y2] = line.ends[1];
      ctx.save();
      ctx.translate(px, py);
      ctx.rotate(Math.atan2(u.valToPos(y2, 'y', true) - py, u.valToPos(x2, 'x', true) - px));
      ctx.textAlign = 'left';
      label(ctx, line.label, 34 * ratio, -5 * ratio, ratio);
      ctx.restore();
      continue;
    }
    lastY = Math.max(py + (beside ? 4 : -5) * ratio, lastY + 14 * ratio);
    ctx.textAlign = beside ? 'left' : 'right';
    label(ctx, line.label, px + (beside ? 6 : -4) * ratio, lastY, ratio);
  }
}

// The names of points, where no other name stands; the picked kernel's first.
function drawPointNames(u, points, app) {
  const { ctx } = u, ratio = devicePixelRatio || 1, taken = [], wanted = points.filter((p) => p.level === 'hbm').sort((a, b) => (b.name === app.picked) - (a.name === app.picked));
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.fillStyle = css('--front');
  ctx.textAlign = 'left';
  for (const p of wanted.slice(0, 30)) {
    const text = brief(shortName(p.name), 28), wide = ctx.measureText(text).width, high = 14 * ratio, right = u.bbox.left + u.bbox.width;
    const spots = [[p.px + 10 * ratio, p.py + 4 * ratio], [p.px - 10 * ratio - wide, p.py + 4 * ratio], [p.px - wide / 2, p.py - 11 * ratio], [p.px - wide / 2, p.py + 20 * ratio]];
    const spot = spots.find(([x, y]) => x >= u.bbox.left && x + wide <= right && !taken.some((t) => x < t.x + t.wide && t.x < x + wide && y < t.y + high && t.y < y + high)
      && !points.some((q) => q !== p && q.px > x - 6 * ratio && q.px < x + wide + 6 * ratio && q.py > y - high && q.py < y + 4 * ratio));
    if (!spot) continue;
    taken.push({ x: spot[0], y: spot[1], wide });
    label(ctx, text, spot[0], spot[1], ratio);
  }
}

function drawRooflinePoints(u, points, app) {
  const { ctx } = u, ratio = devicePixelRatio || 1, shapes = { hbm: 'circle', l2: 'square', l1: 'triangle', lds: 'diamond' };
  for (const p of points) {
    const ink = app.ink(p.name), picked = p.name === app.picked;
    ctx.fillStyle = ink.fill;
    ctx.strokeStyle = css('--front');
    ctx.lineWidth = (picked ? 2.5 : 1) * ratio;
    p.px = u.valToPos(p.x, 'x', true);
    p.py = u.valToPos(p.y, 'y', true);
    marker(ctx, shapes[p.level], p.px, p.py, (picked ? 8 : 6) * ratio);
  }
}

function rooflineChart(doc, device, app) {
  const of = doc.kernels.find((k) => k.device === device) || doc.kernels[0], ceilings = of.ceilings;
  const tops = computeCeilings(ceilings);
  let points = [];
  const made = chart(app, (width) => {
    points = rooflinePoints(doc.kernels, device, app.picked);
    const range = rooflineRange(ceilings, tops, rooflinePoints(doc.kernels, device, null)), lines = rooflineLines(ceilings, tops, range);
    const xs = [...new Set(lines.flatMap((l) => l.ends.map((e) => e[0])))].sort((a, b) => a - b);
    const data = [xs, ...lines.map((l) => xs.map((x) => { const end = l.ends.find((e) => e[0] === x); return end ? end[1] : null; }))];
    const series = [{}, ...lines.map((l) => ({ label: l.label, stroke: () => css('--front'), width: l.heavy ? 2.5 : 1.3, dash: l.dash, spanGaps: true, points: { show: false } }))];
    const isDecade = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-6, decades = (self, splits) => splits.map((v) => (isDecade(v) ? v : null));
    const faint = { stroke: () => css('--faint'), width: 1, filter: (self, splits) => (splits.length > 40 ? decades(self, splits) : splits) }, ticks = { stroke: () => css('--line'), filter: decades };
    const powers = (self, splits) => splits.map((v) => (isDecade(v) ? (v >= 1e4 || v < 1e-3 ? v.toExponential(0) : String(v)) : ''));
    const tera = tops.length && tops[0].value >= 1000, scaled = (self, splits) => powers(self, splits.map((v) => Number((tera ? v / 1000 : v).toPrecision(12))));
    return { data, options: {
      width, height: 430, padding: [12, hasMargin(width) ? LABEL_ROOM : 20, 0, 0], series, scales: { x: { time: false, distr: 3, range: () => range.x }, y: { distr: 3, range: () => range.y } },
      axes: [axisStyle({ label: 'FLOPs per byte', values: powers, grid: faint, ticks }), axisStyle({ label: tera ? 'TFLOP/s' : 'GFLOP/s', values: scaled, size: 64, grid: faint, ticks })],
      hooks: { draw: [(u) => { drawRooflineLabels(u, lines); drawRooflinePoints(u, points, app); drawPointNames(u, points, app); }] },
    } };
  }, 'Roofline; the table below has its numbers');
  made.holder.addEventListener('click', (event) => {
    const canvas = made.holder.querySelector('canvas'), r = canvas.getBoundingClientRect(), ratio = canvas.width / r.width;
    const x = (event.clientX - r.left) * ratio, y = (event.clientY - r.top) * ratio;
    const near = points.map((p) => [Math.hypot(p.px - x, p.py - y), p]).sort((a, b) => a[0] - b[0])[0];
    if (near && near[0] < 20 * ratio) app.pick(near[1].name);
  });
  return made;
}

const gpuName = (doc, at) => { const d = doc.devices[at]; return d ? `GPU ${d.id} (${or(d.product, d.arch)})` : 'GPU ?'; };

function rooflineTable(doc, app) {
  const level = (l) => ({ title: l.toUpperCase() + ' FLOP/byte', n: true, of: (k) => (k.levels && k.levels[l] && known(k.levels[l].arithmetic_intensity) ? digits(k.levels[l].arithmetic_intensity) : 'unknown') });
  return table('Roofline of each kernel', [
    { title: 'kernel', cls: 'name', of: (k) => el('span', {}, swatch(app.ink(k.name)), named(k.name)) },
    ...(doc.devices.length > 1 ? [{ title: 'GPU', of: (k) => gpuName(doc, k.device) }] : []),
    { title: 'GFLOP/s', n: true, of: (k) => (known(k.achieved_gflops) ? digits(k.achieved_gflops) : 'unknown') },
    { title: 'HBM GB/s', n: true, of: (k) => (known(k.achieved_bandwidth_gbps) ? digits(k.achieved_bandwidth_gbps) : 'unknown') },
    level('hbm'), level('l2'), level('l1'), level('lds'),
    { title: 'bound', of: (k) => or(k.bound) }, { title: 'of the bound', n: true, of: (k) => percent(k.bound_share) },
  ], doc.kernels);
}

function ceilingTable(doc) {
  const firsts = doc.devices.map((d, at) => doc.kernels.find((k) => k.device === at)).filter((k) => k);
  const rows = firsts.flatMap((of) => Object.entries(of.ceilings).filter((entry) => known(entry[1])).map((entry) => [...entry, of.device]));
  const from = doc.ceilings_from;
  return table('Ceilings' + (from ? `, ${from.device === 'software' ? 'modelled' : 'measured'} by rocm-perf bench on ${from.gpu}, ${from.date}` : ''), [...(doc.devices.length > 1 ? [{ title: 'GPU', of: (row) => gpuName(doc, row[2]) }] : []), { title: 'ceiling', of: (row) => words(row[0].replace(/_g(bps|flops)$/, '')) }, { title: 'value', n: true, of: (row) => whole(Math.round(row[1])) }, { title: 'unit', of: (row) => (row[0].endsWith('gbps') ? 'GB/s' : 'GFLOP/s') }], rows);
}

// Kernels by counters, also where no roofline can be made of them.
const count = (value) => (Number.isInteger(value) ? whole(value) : digits(value));

// Percentages and means do not add up: as in the terminal's table of counters.
function addsUp(counter) {
  const name = counter.replace(/^.*:/, '').split('[')[0].replace(/_sum$/, '');
  return /^(FetchSize|WriteSize|Wavefronts)$/.test(name) || (!/[a-z]/.test(name) && !/(UTIL|UTILIZATION|PERCENT|RATIO|RATE)$/.test(name));
}

function derivedCell(d) {
  if (!known(d.value)) return 'unknown: ' + (d.missing.length ? 'needs ' + d.missing.join(', ') : or(d.reason, ''));
  return d.unit === '%' ? percent(d.value) : digits(d.value) + (d.unit ? ' ' + d.unit : '');
}

function countersSection(docs) {
  const list = ((docs.roofline && docs.roofline.counters) || []).filter((k) => k.values.length);
  if (!list.length) return;
  const gpus = new Set(list.map((k) => k.gpu)).size > 1;
  const node = section('counters', 'Counters of each kernel', el('p', { className: 'dim' }, 'Sums over the dispatches that have the counter, and what is made of them.'));
  for (const k of list.slice(0, 100)) {
    const some = k.values.some((v) => v.dispatches < k.calls);
    node.append(folded(brief(k.name) + (gpus ? `, GPU ${k.gpu}` : '') + `: ${whole(k.calls)} dispatch${k.calls === 1 ? '' : 'es'}, ${whole(k.values.length)} counter${k.values.length === 1 ? '' : 's'}`,
      k.derived.length ? scrolled(table('What is made of them', [{ title: 'value', of: (d) => d.title }, { title: 'of this kernel', of: derivedCell }], k.derived)) : null,
      scrolled(table('Counters', [{ title: 'counter', cls: 'code', of: (v) => plain(v.counter) }, { title: 'sum', n: true, of: (v) => (addsUp(v.counter) ? count(v.sum) : '-') }, { title: 'per dispatch', n: true, of: (v) => count(v.mean) }, ...(some ? [{ title: 'dispatches', n: true, of: (v) => `${whole(v.dispatches)} of ${whole(k.calls)}` }] : [])], k.values))));
  }
  if (list.length > 100) node.append(el('p', { className: 'dim' }, `and ${whole(list.length - 100)} more kernels, in roofline.json`));
}

function rooflineSection(docs, app) {
  const doc = docs.roofline;
  if (!doc) return;
  if (!doc.kernels || !doc.kernels.length) {
    const node = section('roofline', 'Roofline', el('p', {}, 'There is none: ' + or(doc.reason, 'no kernel was counted') + '.'));
    for (const note of doc.notes || []) node.append(el('p', { className: 'dim' }, note));
    return;
  }
  const node = section('roofline', 'Roofline', el('p', { className: 'dim' }, 'How fast each kernel computes, against what memories and units allow. Circles: FLOPs per byte of HBM; of the selected kernel also L2 (square), L1 (triangle) and LDS (diamond). A click selects.'));
  const devices = hasPlots ? [...new Set(doc.kernels.map((k) => k.device))] : [];
  if (!rooflinePoints(doc.kernels, doc.kernels[0].device, null).length) node.append(el('p', {}, 'No kernel is in the chart: FLOPs and HBM bytes of none were both counted, or were 0, for which its axes have no place.'));
  if (!hasPlots) node.append(absent());
  for (const device of devices) {
    const facts = doc.devices && doc.devices[device], made = rooflineChart(doc, device, app);
    if (facts && devices.length > 1) node.append(el('h3', {}, gpuName(doc, device)));
    node.append(made.holder);
    made.draw();
  }
  doc.devices.forEach((d, at) => { if (!doc.kernels.some((k) => k.device === at)) node.append(el('p', {}, `No kernel was counted on ${gpuName(doc, at)}: it has no chart and no ceilings here.`)); });
  node.append(tabled('Roofline as a table', rooflineTable(doc, app)), tabled('Ceilings as a table', ceilingTable(doc)));
  for (const note of doc.notes || []) node.append(el('p', { className: 'dim' }, note));
}

// --- what if ------------------------------------------------------------------------------------

const speedUp = (factor) => (factor === 'inf' ? Infinity : factor);
const saved = (factor) => 1 - 1 / speedUp(factor);

function whatIfGroups(dag) {
  const groups = new Map();
  for (const w of dag.what_if) {
    if (!groups.has(w.symbol)) groups.set(w.symbol, []);
    groups.get(w.symbol).push(w);
  }
  return [...groups].map(([symbol, points]) => ({ symbol, points: points.sort((a, b) => speedUp(a.factor) - speedUp(b.factor)) }));
}

function whatIfChart(dag, groups, app) {
  const factors = [1, ...new Set(groups.flatMap((g) => g.points.map((p) => speedUp(p.factor))))].sort((a, b) => a - b), xs = factors.map(saved);
  const of = (g, key) => factors.map((f) => { if (f === 1) return dag.makespan_ns / unit; const p = g.points.find((q) => speedUp(q.factor) === f); return p ? p[key] / unit : null; });
  const [unit, unitName] = dag.makespan_ns < 1e6 ? [1e3, 'µs'] : dag.makespan_ns < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  const made = chart(app, (width) => {
    const series = [{}], data = [xs], bands = [];
    for (const g of groups) {
      const ink = app.ink(g.symbol), picked = g.symbol === app.picked;
      series.push({ label: g.symbol, stroke: ink.fill, dash: ink.dash, width: picked ? 3.5 : 2, points: { show: false }, spanGaps: true });
      data.push(of(g, 'makespan_ns'));
      if (!picked || g.points.every((p) => p.least_ns === p.most_ns)) continue;
      series.push({ stroke: ink.fill, width: 0.5, points: { show: false } }, { stroke: ink.fill, width: 0.5, points: { show: false } });
      data.push(of(g, 'most_ns'), of(g, 'least_ns'));
      bands.push({ series: [series.length - 2, series.length - 1], fill: ink.fill + '30' });
    }
    const top = dag.makespan_ns / unit;
    return { data, options: {
      width, height: 320, series, bands, scales: { x: { time: false, range: () => [-0.01, 1.01] }, y: { range: (u, least) => [Math.max(0, least - (top - least) * 0.15 - top * 0.01), top * 1.03] } },
      axes: [axisStyle({ label: 'how much faster the kernel is', splits: () => xs, values: () => factors.map((f) => (f === Infinity ? 'no time' : width < 600 && f > 1 && f < 1.5 ? '' : f + 'x')), space: 20 }), axisStyle({ label: 'end-to-end time, ' + unitName, size: 76 })],
      hooks: { draw: [(u) => { const ratio = devicePixelRatio || 1; groups.forEach((g) => { const ink = app.ink(g.symbol); u.ctx.fillStyle = ink.fill; u.ctx.strokeStyle = css('--front'); u.ctx.lineWidth = ratio; of(g, 'makespan_ns').forEach((y, i) => { if (y !== null && i) marker(u.ctx, ink.shape, u.valToPos(xs[i], 'x', true), u.valToPos(y, 'y', true), 4 * ratio); }); }); }] },
    } };
  }, 'End-to-end time if a kernel were faster; the table below has its numbers');
  return made;
}

function whatIfSection(docs, app) {
  const dag = docs.dag;
  if (!dag || !dag.what_if.length) return;
  const groups = whatIfGroups(dag), unsure = dag.what_if.some((w) => w.least_ns !== w.most_ns);
  const node = section('what-if', 'What if a kernel were faster', el('p', { className: 'dim' }, 'The end-to-end time if all launches of one kernel took less time, everything else as it was.' + (unsure ? ' Where the trace lacks something the time lies within bounds, which are shaded for the selected kernel.' : '')));
  if (hasPlots) {
    const made = whatIfChart(dag, groups, app);
    node.append(made.holder, el('ul', { className: 'legend' }, ...groups.map((g) => el('li', {}, el('button', { type: 'button', on: { click: () => app.pick(g.symbol) } }, swatch(app.ink(g.symbol)), shortly(g.symbol), ` (${app.ink(g.symbol).shape})`)))));
    made.draw();
  } else node.append(absent());
  node.append(tabled('What-ifs as a table', table('End-to-end time', [
    { title: 'kernel', cls: 'name', of: (w) => el('span', {}, swatch(app.ink(w.symbol)), named(w.symbol)) },
    { title: 'faster', n: true, of: (w) => (w.factor === 'inf' ? 'no time' : w.factor + 'x') },
    { title: 'end to end', n: true, of: (w) => time(w.makespan_ns) }, { title: 'at least', n: true, of: (w) => time(w.least_ns) }, { title: 'at most', n: true, of: (w) => time(w.most_ns) },
    { title: 'program faster', n: true, of: (w) => (w.makespan_ns ? times(dag.makespan_ns / w.makespan_ns) + 'x' : '∞') },
  ], dag.what_if)));
  node.append(tabled('Limits: what remains when something takes no time', table('End-to-end time with something taken away', [
    { title: 'without', of: (l) => words(l.name) }, { title: 'end to end', n: true, of: (l) => time(l.makespan_ns) }, { title: 'of the time now', n: true, of: (l) => percent(dag.makespan_ns ? l.makespan_ns / dag.makespan_ns : null) },
  ], dag.limits)));
}
