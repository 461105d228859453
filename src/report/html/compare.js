// The page of `rocm-perf compare --html`: which of two results is faster, kernel by kernel.

// "2.1x faster", "1.3x slower": of a ratio after / before.
function ratioText(ratio) {
  if (!known(ratio)) return 'unknown';
  if (ratio === 0) return '∞ faster';
  return ratio > 1 ? `${times(ratio)}x slower` : `${times(1 / ratio)}x faster`;
}

const SAME = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const isTold = (t) => t && (t.verdict === 'faster' || t.verdict === 'slower');

function verdictText(t) {
  if (!t) return 'not compared';
  if (isTold(t)) return ratioText(t.ratio);
  return t.verdict === 'equal' ? 'equal' : 'undecided' + (t.reason ? ': ' + t.reason : '');
}

function verdictMark(t) {
  const verdict = t ? t.verdict : 'none';
  return el('span', { className: 'verdict ' + verdict }, { faster: '▲ ', slower: '▼ ', equal: '= ', undecided: '? ' }[verdict] || '', verdictText(t));
}

const intervalText = (t) => (!t || !known(t.low) ? '' : t.low === t.high ? 'exact' : `${digits(t.low)} to ${digits(t.high)}`);

// How far the ratios of a comparison reach to each side, as a logarithm; the same for all its rows.
function reachOf(comparison) {
  const times = [comparison.whole.time, ...comparison.kernels.map((k) => k.time)].filter((t) => t);
  const logs = times.flatMap((t) => [t.low, t.high, t.ratio]).filter((r) => known(r) && r > 0 && Number.isFinite(r)).map((r) => Math.abs(Math.log(r)));
  return Math.min(Math.log(100), Math.max(Math.log(1.05), ...logs) * 1.08);
}

// The interval of a ratio on a logarithmic axis: left faster, right slower, 1 in the middle.
function intervalPlot(t, reach) {
  if (!t || !known(t.ratio) || t.ratio <= 0) return el('div', { className: 'ratio' });
  const at = (r) => Math.min(100, Math.max(0, 50 + (50 * Math.log(r)) / reach));
  const low = known(t.low) && t.low > 0 ? t.low : t.ratio, high = known(t.high) ? t.high : t.ratio;
  return el('div', { className: 'ratio ' + t.verdict, role: 'img', 'aria-label': `after / before ${digits(t.ratio)}${known(t.low) ? `, ${intervalText(t)}` : ''}` },
    el('div', { className: 'bar', style: { left: at(low) + '%', width: Math.max(0, at(high) - at(low)) + '%' } }), el('div', { className: 'dot', style: { left: at(t.ratio) + '%' } }));
}

const ms = (value) => (known(value) ? time(value * 1e6) : 'unknown');
const exactBytes = (n) => whole(n) + ' B';
const METRIC_UNITS = { lds_bytes: exactBytes, scratch_bytes: exactBytes, bytes, occupancy: percent, cv: percent };
const sizeText = (size) => (size ? size.join(' × ') : 'unknown');

// What is not the same before and after, beside the time.
function changesOf(k) {
  const changed = Object.entries(k.metrics).filter(([name, m]) => name !== 'cv' && known(m.before) && known(m.after) && m.before !== m.after)
    .map(([name, m]) => `${name === 'bytes' ? 'bytes between L2 and memory' : words(name.replace(/_bytes$/, ''))} ${(METRIC_UNITS[name] || whole)(m.before)} → ${(METRIC_UNITS[name] || whole)(m.after)}`);
  for (const size of ['grid', 'block']) if (k[size].before && k[size].after && !SAME(k[size].before, k[size].after)) changed.push(`${size} ${sizeText(k[size].before)} → ${sizeText(k[size].after)}`);
  return changed;
}

// Times of the kernels before and after, each a bar on the same scale with a part for each kernel.
const MOST_PARTS = 14;
function comparedBars(comparison) {
  const timed = comparison.kernels.filter((k) => k.time || k.runs_in !== 'both'), side = (k, of) => (k.time && k.time[of + '_ms']) || 0;
  const total = (of) => timed.reduce((sum, k) => sum + side(k, of), 0), longest = Math.max(total('before'), total('after'));
  if (!longest) return null;
  const ink = paletteOf(timed.map((k) => ({ name: k.name, ns: Math.max(side(k, 'before'), side(k, 'after')) })));
  const bar = (of) => el('div', { className: 'compared' }, el('span', { className: 'dim' }, of), el('div', { className: 'parts', role: 'img', 'aria-label': `${of}: ${ms(total(of))}; the table below has each kernel’s time` },
    ...timed.filter((k) => side(k, of) > 0).slice(0, 200).map((k) => {
      const share = side(k, of) / longest, part = el('div', { title: `${k.name}: ${ms(side(k, of))}`, style: { width: share * 100 + '%', color: isBright(ink(k.name).fill) ? '#000' : '#fff' } }, share > 0.04 ? brief(shortName(k.name), 60) : '');
      const look = swatch(ink(k.name)).style;
      part.style.setProperty('background-color', look.getPropertyValue('background-color'));
      if (!share || share <= 0.04) part.style.setProperty('background-image', look.getPropertyValue('background-image'));
      return part;
    })), el('span', {}, ms(total(of))));
  return el('div', {}, bar('before'), bar('after'), el('ul', { className: 'legend' }, ...timed.slice(0, MOST_PARTS).map((k) => el('li', {}, swatch(ink(k.name)), named(k.name, 60)))));
}

function boundText(k) {
  const { before, after } = k.bound;
  if (!before && !after) return '';
  return before === after || k.runs_in !== 'both' ? words(before || after) : `${words(or(before))} → ${words(or(after))}`;
}

function comparedTable(comparison, reach) {
  const only = { before: 'runs only before', after: 'runs only after' };
  return table('Kernels, longest before first; the bar is the interval of after / before: left of the middle is faster', [
    { title: 'kernel', cls: 'name', of: (k) => named(k.name) },
    { title: 'verdict', of: (k) => (only[k.runs_in] ? only[k.runs_in] : verdictMark(k.time)) },
    { title: 'before', n: true, of: (k) => (k.time ? ms(k.time.before_ms) : '') }, { title: 'after', n: true, of: (k) => (k.time ? ms(k.time.after_ms) : '') },
    { title: 'after / before', cls: 'plot', of: (k) => intervalPlot(k.time, reach) }, { title: 'interval', n: true, of: (k) => intervalText(k.time) },
    { title: 'bottleneck', of: boundText }, { title: 'also changed', of: (k) => changesOf(k).join('; ') },
  ], comparison.kernels, { limit: 1000 });
}

function gateTable(comparison) {
  return table('Gates', [
    { title: 'gate', cls: 'code', of: (g) => plain(g.gate) }, { title: 'result', of: (g) => el('span', { className: 'verdict ' + { passed: 'faster', failed: 'slower' }[g.result] }, words(g.result)) },
    { title: 'value', n: true, of: (g) => (known(g.value) ? digits(g.value) : 'unknown') }, { title: 'limit', n: true, of: (g) => (known(g.limit) ? digits(g.limit) : 'unknown') },
    { title: 'in', cls: 'name', of: (g) => (g.kernel ? named(g.kernel) : 'the whole') }, { title: 'reason', of: (g) => or(g.reason, '') + (g.near ? `, near: ${g.near}` : '') },
  ], comparison.gates);
}

// The time from the first kernel or copy to the last one, where it tells more than that of kernels.
const spanMatters = (w) => w.span && (w.span.before_ms !== w.time.before_ms || w.span.after_ms !== w.time.after_ms);
const spanText = (s) => ` From first to last on the GPU, with copies and gaps, it takes ${ms(s.after_ms)}, ${ms(s.before_ms)} before: ${verdictText(s)}.`;

// The one sentence: of all kernels together, then the kernel that changed most of the time.
function comparedSentence(comparison, before) {
  const t = comparison.whole.time, names = `${brief(comparison.after.path, 60)} ${isTold(t) ? 'is ' + verdictText(t) + ' than' : t.verdict === 'equal' ? 'is as fast as' : 'and'} ${brief(before.path, 60)}`;
  const detail = known(t.before_ms) && known(t.after_ms) ? ` Kernels take ${ms(t.after_ms)} in all, ${ms(t.before_ms)} before.` : '';
  const s = comparison.whole.span;
  if (t.verdict === 'equal' && s && isTold(s)) return `${brief(comparison.after.path, 60)} is ${verdictText(s)} than ${brief(before.path, 60)} from first to last on the GPU; no difference in the time of kernels.${detail}${spanText(s)}`;
  return names + (t.verdict === 'undecided' ? ` cannot be told apart${t.reason ? ': ' + t.reason : ''}.` : '.') + detail + (spanMatters(comparison.whole) ? spanText(s) : '');
}

function movers(comparison) {
  const moved = comparison.kernels.filter((k) => isTold(k.time) && known(k.time.before_ms) && known(k.time.after_ms)).map((k) => ({ k, by: k.time.after_ms - k.time.before_ms }));
  return moved.sort((a, b) => Math.abs(b.by) - Math.abs(a.by)).slice(0, 3).map(({ k, by }) => el('li', {}, named(shortName(k.name), 60), ` is ${verdictText(k.time)}: ${ms(Math.abs(by))} ${by < 0 ? 'less' : 'more'}${changesOf(k).length ? ' (' + changesOf(k).join('; ') + ')' : ''}`));
}

function sideList(title, side) {
  return el('div', {}, el('h4', {}, title), list([
    ['result', plain(side.path)], side.command && ['command', plain(side.command)], ['GPU', side.gpus.map((g) => or(g.product, or(g.architecture))).join(', ') || 'unknown'],
    ['times', side.device === 'software' ? `modelled${side.timing ? `, ${side.timing.model} timing, version ${side.timing.version}` : ''}` : 'measured'],
    ['tracer', or(side.tracer)], ['ROCm', or(side.rocm_version)], !side.complete && ['complete', 'no: something was lost'], side.failed > 0 && ['failed launches', `${whole(side.failed)}: ${or(side.failed_launches, '')}`],
  ]));
}

function comparisonSection(doc, comparison, number) {
  const reach = reachOf(comparison), t = comparison.whole.time, moved = movers(comparison), id = number ? `comparison-${number + 1}` : 'comparison';
  const gates = comparison.gates.length, wrong = comparison.whole.different_output === true;
  section(id, doc.comparisons.length > 1 ? `Comparison ${number + 1}: ${brief(comparison.after.path, 40)}` : 'Comparison',
    el('p', { className: 'first-finding ' + t.verdict }, verdictMark(t), ' ', comparedSentence(comparison, doc.baseline)),
    wrong ? el('p', {}, 'The output after is other than the output before, so the times say nothing.') : null,
    comparedBars(comparison),
    el('div', {}, el('p', { className: 'dim' }, t.basis === 'modelled' ? (!known(t.low) ? 'Times of counts timing without bounds tell nothing apart.' : t.low < t.high ? `Modelled times lie between two bounds; after / before: ${intervalText(t)}.` : 'Modelled times are the same in every run, so the ratio is exact.') : `${intervalText(t) ? `after / before: ${intervalText(t)}, ` : ''}${whole(t.before_runs)} runs before, ${whole(t.after_runs)} after; ratios within ${percent(doc.rule.margin)} of 1 are equal.`)),
    moved.length ? el('ul', { className: 'found' }, ...moved) : null,
    gates ? scrolled(gateTable(comparison)) : null,
    comparison.kernels.length ? scrolled(comparedTable(comparison, reach)) : el('p', {}, 'No kernel ran in either result.'),
    el('div', { className: 'pair' }, sideList('Before', doc.baseline), sideList('After', comparison.after)));
}

function comparePage(doc) {
  doc.comparisons.forEach((comparison, number) => comparisonSection(doc, comparison, number));
  if (doc.comparisons.length < 2) document.getElementById('nav').remove();
}

// Results that do not compare: a page of an earlier build would be taken for this one's.
function refusedPage(doc) {
  section('comparison', 'Comparison', el('p', { className: 'first-finding slower' }, 'These results were not compared: ' + plain(doc.message)));
  document.getElementById('nav').remove();
}
