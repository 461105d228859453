// Source lines of a kernel with the cycles that its waves spent in them.

// "a.h:1 -> b.hip:2" is code of a.h that was inlined into b.hip: it counts for the line of b.hip, where the kernel is.
function lineOf(source) {
  const parts = /^(.*):(\d+)$/.exec((source || '').split(' -> ').pop());
  return parts ? { file: parts[1], line: Number(parts[2]) } : null;
}

// The line of each instruction. One that the compiler gave none, as waits mostly have none, stands before what needed
// it: it has the line of the instruction behind it, or at the end of a kernel of the one before.
function linesOf(instructions) {
  const own = instructions.map((i) => lineOf(i.source)), lines = own.map((at) => (at && at.line > 0 ? at : null));
  const take = (i, from) => { if (!lines[i] && lines[from] && instructions[i].kernel === instructions[from].kernel) lines[i] = lines[from]; };
  for (let i = lines.length - 2; i >= 0; i--) take(i, i + 1);
  for (let i = 1; i < lines.length; i++) take(i, i - 1);
  return { lines, given: (i) => lines[i] !== own[i] };
}

// {files: [{file, cycles, lines: Map(line -> {cycles, stall, executed, reasons})}], cycles, moved}
function heatOf(trace) {
  const files = new Map(), { lines, given } = linesOf(trace.instructions);
  let all = 0, moved = 0;
  for (const [n, i] of trace.instructions.entries()) {
    const cycles = i.sums ? i.sums.latency_cycles + i.sums.idle_cycles : 0, at = lines[n];
    all += cycles;
    if (!at) continue;
    if (given(n)) moved += cycles;
    if (!i.sums || !i.sums.executed) continue;
    if (!files.has(at.file)) files.set(at.file, { file: at.file, cycles: 0, lines: new Map() });
    const file = files.get(at.file), line = file.lines.get(at.line) || { line: at.line, cycles: 0, stall: 0, executed: 0, reasons: {} };
    file.lines.set(at.line, line);
    file.cycles += cycles;
    line.cycles += cycles;
    line.stall += i.sums.stall_cycles;
    line.executed += i.sums.executed;
    for (const [why, n] of Object.entries(i.stall_reasons || {})) line.reasons[why] = (line.reasons[why] || 0) + n;
  }
  return { files: [...files.values()].sort((a, b) => b.cycles - a.cycles), cycles: all, moved };
}

// The text of a file's lines, as profile has copied it: Map(line -> text).
function textOf(docs, file) {
  const found = docs.sources && docs.sources.files.find((f) => f.path === file);
  return new Map(found ? found.lines : []);
}

// Lines with cycles, and those around them that are known; null stands for what is left out between.
const AROUND = 3;
function shownLines(file, text) {
  const hot = [...file.lines.keys()].sort((a, b) => a - b), shown = [];
  if (!text.size) return hot;
  for (const line of [...text.keys()].sort((a, b) => a - b)) {
    if (!hot.some((h) => Math.abs(h - line) <= AROUND)) continue;
    if (shown.length && shown[shown.length - 1] !== line - 1) shown.push(null);
    shown.push(line);
  }
  for (const line of hot) if (!text.has(line)) shown.push(line);
  return shown;
}

function heatRow(file, text, line, all) {
  const at = file.lines.get(line), share = at ? at.cycles / all : 0;
  const reasons = at ? Object.entries(at.reasons).sort((a, b) => b[1] - a[1]).slice(0, 2).map((r) => words(r[0])).join(', ') : '';
  const tr = el('tr', {}, el('td', { className: 'n dim' }, String(line)), el('td', { className: 'n' }, at ? percent(share) : ''), el('td', { className: 'n' }, at ? whole(at.executed) : ''), el('td', { className: 'why' }, reasons), el('td', { className: 'src' }, text.get(line) || ''));
  if (at) tr.style.setProperty('--warm', Math.round(Math.sqrt(share) * 55) + '%');
  return tr;
}

function heatTable(docs, file, all) {
  const text = textOf(docs, file.file), head = el('tr', {}, ...['line', 'cycles', 'executed', 'waits for', text.size ? 'source' : 'source (its text is not in the folder of the trace)'].map((title, n) => el('th', { scope: 'col', className: n < 3 ? 'n' : '' }, title)));
  const rows = shownLines(file, text).map((line) => (line === null ? el('tr', { className: 'gap' }, el('td', { colSpan: 5 }, '⋯')) : heatRow(file, text, line, all)));
  return scrolled(el('table', { className: 'source' }, el('caption', {}, `${brief(file.file)}: ${percent(file.cycles / all)} of the cycles`), el('thead', {}, head), el('tbody', {}, ...rows)));
}

function sourcePart(docs, trace) {
  const heat = heatOf(trace), node = el('div', {}, el('h4', {}, 'Source lines'));
  if (!heat.files.length || !heat.cycles) node.append(el('p', { className: 'dim' }, heat.cycles ? 'The code has no line information: compile with -g to see cycles by source line.' : 'The thread trace has no cycles.'));
  for (const file of heat.files.slice(0, 2)) node.append(heatTable(docs, file, heat.cycles || 1));
  if (heat.moved > 0) node.append(el('p', { className: 'dim' }, `${percent(heat.moved / heat.cycles)} of the cycles are in instructions to which the compiler gave no line, as it often does for waits: they count for the line behind them, which needed what they waited for.`));
  return node;
}
