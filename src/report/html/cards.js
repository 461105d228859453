// A card: all that is known of one kernel.

const gainText = (gain) => (gain ? (times(gain[0]) === times(gain[1]) ? times(gain[0]) : `${times(gain[0])}x to ${times(gain[1])}`) + 'x faster' : 'unknown');

// Where the waves' time goes: parts of it, with the line that has most of each.
function waveTimePart(a) {
  const parts = (a.wave_time || []).filter((p) => p.share >= 0.005).sort((x, y) => y.share - x.share);
  if (!parts.length) return null;
  return table('Where the time of its waves goes', [
    { title: 'part', of: (p) => words(p.part).replace(/\b(lds|valu|mfma)\b/g, (unit) => unit.toUpperCase()) }, { title: 'share', n: true, of: (p) => percent(p.share) },
    { title: 'line with most of it', cls: 'code', of: (p) => place(p.line) },
  ], parts);
}

function bottleneckPart(k) {
  const a = k.analysis;
  if (!a) return el('div', {}, el('h4', {}, 'Bottleneck'), el('p', { className: 'dim' }, 'unknown'));
  const b = a.bottleneck, condition = (c) => `${words(c.feature)} ${known(c.value) ? digits(c.value) : 'unknown'}${c.is === 'unknown' ? '' : ` ${c.is === 'at_least' ? '≥' : '<'} ${c.threshold}`}`;
  const node = el('div', {}, el('h4', {}, 'Bottleneck'), el('p', {}, el('span', { className: 'chip' }, words(b.label)), ' ', known(b.cause) && b.cause !== b.label ? words(b.cause) : '', b.line ? el('span', {}, ', mostly at ', place(b.line), b.inlined_at ? ' (inlined at ' : '', b.inlined_at ? place(b.inlined_at) : '', b.inlined_at ? ')' : '', b.waits_at ? '; waves wait at ' : '', b.waits_at ? place(b.waits_at) : '') : null));
  if (b.evidence && b.evidence.length) node.append(list(b.evidence.map((e) => [e.name, `${e.value} ${e.unit}`])));
  if (b.or) node.append(el('p', {}, `It may also be ${words(b.or.cause)}: ${words(b.or.feature)} would tell (needs ${b.or.needs}).`));
  if (b.advice) node.append(el('p', {}, 'Try: ' + b.advice + '.'));
  if (known(a.expected_gain)) node.append(el('p', { className: 'dim' }, `Expected gain: kernel ${gainText(a.expected_gain)}` + (a.end_to_end_gain ? `, program ${gainText(a.end_to_end_gain)}.` : '.')));
  for (const also of b.also || []) node.append(el('p', {}, `Also: ${words(also.cause)}`, also.line ? ' at ' : '', also.line ? place(also.line) : '', also.expected_gain ? `; kernel ${gainText(also.expected_gain)}.` : '.'));
  const wave = waveTimePart(a);
  if (wave) node.append(wave);
  if (b.rules.length)
    node.append(folded(`Rules that fired (${b.rules.length}), version ${b.rules_version}`, table('Rules', [
      { title: 'rule', of: (r) => words(r.id) }, { title: 'cause', of: (r) => words(or(r.cause, r.label)) }, { title: 'expected gain', n: true, of: (r) => gainText(r.gain) }, { title: 'because', of: (r) => r.conditions.map(condition).join('; ') },
    ], b.rules)));
  else node.append(el('p', { className: 'dim' }, 'No rule fired.'));
  if (b.missing.length) node.append(folded(`Missing data (${b.missing.length})`, list(b.missing.map((m) => [words(m.feature), 'needs ' + or(m.needs, '?')]))));
  const t = a.thread_traces;
  if (t) node.append(el('p', { className: 'dim' }, ['used', 'partial', 'sampled', 'damaged'].filter((key) => t[key] > 0).map((key) => `${t[key]} ${{ used: t.used === 1 ? 'thread trace' : 'thread traces', partial: 'partial', sampled: 'of a part of the workgroups', damaged: 'damaged and not used' }[key]}`).join(', ')));
  return node;
}

function meter(share, text) {
  return el('div', {}, el('div', { className: 'meter', role: 'img', 'aria-label': text }, el('div', { style: { width: Math.min(1, share) * 100 + '%' } })), el('p', {}, text));
}

function occupancyPart(k) {
  const p = k.profile[0] && k.profile[0].occupancy, a = k.analysis && k.analysis.occupancy;
  const node = el('div', {}, el('h4', {}, 'Occupancy'));
  const theoretical = p ? p.theoretical : a ? a.theoretical : null, limiter = (p && p.limiter) || (a && a.limiter);
  if (known(theoretical)) node.append(meter(theoretical, `theoretical ${percent(theoretical)}, limited by ${limiter && limiter !== 'none' ? words(limiter) : 'nothing'}`));
  else node.append(el('p', { className: 'dim' }, 'theoretical: unknown'));
  if (p && p.reason) node.append(el('p', { className: 'dim' }, p.reason));
  if (a && known(a.achieved_waves_per_simd)) node.append(meter(a.max_waves_per_simd ? a.achieved_waves_per_simd / a.max_waves_per_simd : 0, `achieved ${digits(a.achieved_waves_per_simd)} of ${or(a.max_waves_per_simd, '?')} waves on a SIMD`), el('p', { className: 'dim' }, or(a.formula, '')));
  else node.append(el('p', { className: 'dim' }, 'achieved: unknown, needs counters or a thread trace'));
  return node;
}

// HIP counts blocks, HSA work-items: both, so that neither is taken for the other.
function gridText(p) {
  const blocks = p.block && p.block.every((n) => n > 0) ? p.grid.map((n, axis) => Math.ceil(n / p.block[axis])) : null;
  return p.grid.join(' × ') + ' work-items' + (blocks ? ` (${blocks.join(' × ')} blocks)` : '');
}

function launchPart(docs, k) {
  const p = k.profile[0], r = p && p.resources, inside = rangesOf(docs, k.name);
  return el('div', {}, el('h4', {}, 'Launch'), list([
    k.profile.length > 1 && ['shown', `the first of ${k.profile.length}: by GPU, symbol and registers`],
    ['calls', whole(k.calls)], ['total time', time(k.ns)],
    p && known(p.mean_ms) && ['mean', `${time(p.mean_ms * 1e6)} (${time(p.min_ms * 1e6)} to ${time(p.max_ms * 1e6)})`],
    p && p.grid && ['grid', gridText(p)], p && p.block && ['block', p.block.join(' × ') + ' work-items'],
    p && p.geometries > 1 && ['geometries', p.geometries],
    r && ['registers', `${or(r.vgpr_per_thread, '?')} VGPR, ${or(r.agpr_per_thread, '?')} AGPR, ${or(r.sgpr_per_wave, '?')} SGPR`],
    r && ['LDS, scratch', `${known(r.lds_bytes) ? whole(r.lds_bytes) + ' bytes' : '?'} per workgroup, ${known(r.scratch_bytes) ? whole(r.scratch_bytes) + ' bytes' : '?'} per work-item`],
    p && p.symbol && ['symbol', named(p.symbol)],
    inside.length && ['launched in', el('span', {}, ...inside.slice(0, 3).flatMap(([range, own], i) => [i ? ', ' : null, named(range), ` (${whole(own.launches)})`]), inside.length > 3 ? ` and ${inside.length - 3} more` : null)],
  ]));
}

function headroomPart(k) {
  const a = k.analysis;
  if (!a) return null;
  return el('div', {}, el('h4', {}, 'Headroom'), list([
    ['headroom', percent(a.headroom_fraction)], a.headroom_assumption && ['assuming', a.headroom_assumption], ['% of total time', percent(a.weight)],
    ['max program speed-up', known(a.end_to_end_bound) ? times(a.end_to_end_bound) + 'x' : 'unknown'],
    ['speed-up if removed', known(a.end_to_end_bound_if_free) ? times(a.end_to_end_bound_if_free) + 'x' : 'unknown'],
  ]));
}

const stallColumns = [
  { title: 'executed', n: true, of: (i) => whole(i.sums.executed) }, { title: 'stalled cycles', n: true, of: (i) => whole(i.sums.stall_cycles) },
  { title: 'latency', n: true, of: (i) => whole(i.sums.latency_cycles) }, { title: 'idle', n: true, of: (i) => whole(i.sums.idle_cycles) },
];

// Of a place that was inlined, "a.h:1 -> b.hip:2", what stands in the kernel itself; all of it on hover.
function place(source) {
  if (!source) return '';
  const last = source.split(' -> ').pop(), short = last.split('/').pop();
  return el('span', { title: source }, short + (last === source ? '' : ' (inlined)'));
}

// A share of samples with its interval of 95 %.
function sampleShare(s) {
  return `${percent(s.share)} (${percent(s.share_low)} to ${percent(s.share_high)})`;
}

function sampledPart(docs, trace) {
  const all = trace.samples, hot = trace.instructions.filter((i) => i.samples.taken > 0).sort((a, b) => b.samples.taken - a.samples.taken).slice(0, 12);
  const reasons = (s) => Object.entries(s.not_issued).sort((a, b) => b[1] - a[1]).slice(0, 3).map((r) => `${words(r[0])} ${percent(r[1] / s.taken)}`).join(', ');
  const how = trace.sampling.method === 'host_trap' ? 'host traps: what takes the time may stand up to two instructions off' : trace.sampling.method || 'PC sampling';
  const node = el('div', { className: 'hot-instructions' }, el('h4', {}, `Hot instructions (${whole(all.taken)} PC samples, ${how})`));
  const columns = [{ title: 'instruction', cls: 'code', of: (i) => i.isa }, { title: 'source', cls: 'code place', of: (i) => place(i.source) }, { title: 'samples', n: true, of: (i) => whole(i.samples.taken) }, { title: 'share (95 %)', n: true, of: (i) => sampleShare(i.samples) }];
  if (known(all.active_lanes)) columns.push({ title: 'active lanes', n: true, of: (i) => digits(i.samples.active_lanes) });
  if (known(all.stalled)) columns.push({ title: 'not issued', cls: 'code', of: (i) => reasons(i.samples) });
  node.append(scrolled(table('Instructions by PC samples', columns, hot)));
  for (const problem of trace.problems || []) node.append(el('p', { className: 'dim' }, `${problem.file}: ${problem.text}`));
  return el('div', { className: 'pair' }, sourcePart(docs, trace), node);
}

function hotPart(docs, trace) {
  if (trace.sampling) return sampledPart(docs, trace);
  const hot = trace.instructions.filter((i) => i.sums && i.sums.latency_cycles + i.sums.idle_cycles > 0).sort((a, b) => b.sums.stall_cycles - a.sums.stall_cycles || b.sums.latency_cycles - a.sums.latency_cycles).slice(0, 12);
  const reasons = (i) => Object.entries(i.stall_reasons || {}).sort((a, b) => b[1] - a[1]).slice(0, 2).map((r) => words(r[0])).join(', ');
  const node = el('div', { className: 'hot-instructions' }, el('h4', {}, `Hot instructions (thread trace of dispatch ${or(trace.dispatch, '?')}, ${trace.completeness}${trace.device === 'software' ? ', modelled' : ''})`));
  node.append(scrolled(table('Instructions by stalled cycles', [{ title: 'instruction', cls: 'code', of: (i) => i.isa }, { title: 'source', cls: 'code place', of: (i) => place(i.source) }, ...stallColumns, { title: 'waits for', of: reasons }], hot)));
  for (const problem of trace.problems || []) node.append(el('p', { className: 'dim' }, typeof problem === 'string' ? problem : Object.values(problem).join(': ')));
  return el('div', { className: 'pair' }, sourcePart(docs, trace), node);
}

function rooflinePart(doc, r) {
  const facts = [
    known(r.bound) && ['bound', `${r.bound.length < 4 ? r.bound.toUpperCase() : r.bound}, at ${percent(r.bound_share)} of its peak`], known(r.achieved_gflops) && ['rate', flops(r.achieved_gflops)],
    known(r.achieved_bandwidth_gbps) && ['HBM', rate(r.achieved_bandwidth_gbps)], known(r.arithmetic_intensity) && ['FLOPs per byte', digits(r.arithmetic_intensity)],
  ].filter((fact) => fact);
  return el('div', {}, el('h4', {}, 'Roofline' + (doc.devices.length > 1 ? ', ' + gpuName(doc, r.device) : '')), facts.length ? list(facts) : el('p', { className: 'dim' }, 'unknown: its counters are missing'));
}

// Counters of zero are named, not tabled.
function counterFold(all) {
  const some = all.filter((c) => c[1] !== 0), none = all.filter((c) => c[1] === 0).map((c) => c[0]);
  return folded('Counters', scrolled(table('Counters, summed over all launches', [{ title: 'counter', cls: 'code', of: (c) => c[0] }, { title: 'value', n: true, of: (c) => whole(c[1]) }], some)), none.length ? el('p', { className: 'dim' }, `0: ${none.join(', ')}`) : null);
}

function kernelCard(docs, k, app) {
  const counters = k.profile[0] && k.profile[0].counters;
  return el('article', { className: 'card', data: { kernel: k.name, picked: 'false' } },
    el('h3', {}, swatch(app.ink(k.name)), named(k.name)),
    brief(k.name) === plain(k.name) ? null : folded('The whole name', el('p', { className: 'whole' }, k.name)),
    el('div', { className: 'columns' }, bottleneckPart(k), occupancyPart(k), launchPart(docs, k), headroomPart(k), ...k.roofline.map((r) => rooflinePart(docs.roofline, r))),
    ...k.roofline.map((r) => memoryPart(docs, k, r)),
    ...k.traces.slice(0, 4).map((trace) => hotPart(docs, trace)),
    counters ? counterFold(Object.entries(counters)) : null);
}
