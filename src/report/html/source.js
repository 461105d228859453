// Source lines of a kernel with the cycles that its waves spent on them.

// Of a thread trace: {cycles, none, files: [{file, cycles, lines: Map(line -> {cycles, executed, part})}]}; none: cycles
// of code without a line.
function heatOf(docs, trace) {
  const at = docs.thread_trace.thread_trace.indexOf(trace), hot = docs.sources && docs.sources.traces[at];
  if (!hot) return { cycles: 0, none: 0, files: [] };
  const files = new Map();
  let lined = 0;
  for (const [number, line, cycles, executed, part] of hot.lines) {
    if (!line) continue;
    if (!files.has(number)) files.set(number, { file: docs.sources.files[number], cycles: 0, lines: new Map() });
    const file = files.get(number);
    file.cycles += cycles;
    lined += cycles;
    file.lines.set(line, { cycles, executed, part });
  }
  return { cycles: hot.cycles, none: Math.max(0, hot.cycles - lined), files: [...files.values()].sort((a, b) => b.cycles - a.cycles) };
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
  const tr = el('tr', {}, el('td', { className: 'n dim' }, String(line)), el('td', { className: 'n' }, at ? percent(share) : ''), el('td', { className: 'n' }, at && at.executed ? whole(at.executed) : ''), el('td', { className: 'why' }, at ? at.part : ''), el('td', { className: 'src' }, text.get(line) || ''));
  if (at) tr.style.setProperty('--warm', Math.round(Math.sqrt(share) * 55) + '%');
  return tr;
}

function heatTable(file, all, unit) {
  const text = new Map(file.file.lines), head = el('tr', {}, ...['line', unit, 'executed', 'mostly', text.size ? 'source' : 'source (its text is not in the folder of the trace)'].map((title, n) => el('th', { scope: 'col', className: n < 3 ? 'n' : '' }, title)));
  const rows = shownLines(file, text).map((line) => (line === null ? el('tr', { className: 'gap' }, el('td', { colSpan: 5 }, '⋯')) : heatRow(file, text, line, all)));
  return scrolled(el('table', { className: 'source' }, el('caption', {}, `${brief(file.file.path)}: ${percent(file.cycles / all)} of the ${unit}`), el('thead', {}, head), el('tbody', {}, ...rows)));
}

function sourcePart(docs, trace) {
  const heat = heatOf(docs, trace), unit = trace.sampling ? 'samples' : 'cycles', node = el('div', {}, el('h4', {}, 'Source lines'));
  if (!heat.files.length) node.append(el('p', { className: 'dim' }, 'The code has no line information: compile with -g to see ' + unit + ' by source line.'));
  for (const file of heat.files.filter((f, n) => n === 0 || f.cycles > 0.01 * heat.cycles).slice(0, 3)) node.append(heatTable(file, heat.cycles || 1, unit));
  if (heat.files.length && heat.none > 0.005 * heat.cycles) node.append(el('p', { className: 'dim' }, `${percent(heat.none / heat.cycles)} of the ${unit} are in instructions to which the compiler gave no line.`));
  return node;
}
