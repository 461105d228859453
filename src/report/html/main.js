// The page from top to bottom.

function deviceBanner(docs) {
  const { names, timing } = modelledIn(docs), node = document.getElementById('device');
  if (!names.length) return;
  const by = timing ? ` (model “${timing.model}”, version ${timing.version})` : '';
  node.textContent = plain(names.length === 1 && names[0] === 'thread_trace'
    ? 'Modelled time: the thread traces are of the software device. Their cycles, and what is found from them, were not measured on hardware.'
    : `Modelled time: this ran on the software device${by}. No time on this page was measured on hardware.`);
  node.hidden = false;
}

const flat = (value) => (value === null ? 'unknown' : typeof value === 'object' ? (Array.isArray(value) ? value.map(flat).join(' ') || 'none' : Object.entries(value).map(([k, v]) => `${words(k)}: ${flat(v)}`).join('; ') || 'none') : String(value));

// What says that nothing was lost is one sentence; what says that something was is named.
const NOTHING = (value) => value === 0 || !known(value) || value === false || (typeof value === 'object' && !Object.keys(value).length);
const TROUBLE = ['clipped_ends', 'corrections', 'incomplete_traces', 'lost_dispatches', 'lost_records', 'repaired_timestamps', 'unknown_kernels', 'untraced_queues'];

function provenance(docs) {
  const node = section('provenance', 'Where the numbers come from'), dag = docs.dag, profile = docs.profile;
  const here = Object.keys(docs).filter((name) => docs[name]);
  if (!profile) node.append(el('p', { className: 'dim' }, 'There is no profile.json: give the folder of one profile to see registers, geometry and how the run was made.'));
  else {
    const facts = Object.entries(profile.provenance).filter(([key, value]) => !(NOTHING(value) && (TROUBLE.includes(key) || key === 'counter_passes')));
    node.append(list(facts.map(([key, value]) => [words(key), flat(value)])));
    if (TROUBLE.every((key) => NOTHING(profile.provenance[key]))) node.append(el('p', { className: 'dim' }, 'No dispatch, record or end of an operation was lost, clipped or repaired.'));
  }
  node.append(el('p', { className: 'dim' }, 'Documents in this page: ' + here.map((name) => name + '.json').join(', ') + '.'));
  if (!dag) return;
  const grades = Object.entries(dag.grades).filter((g) => g[1].edges > 0), repairs = Object.entries(dag.repairs).filter((r) => r[1] > 0);
  if (grades.length) node.append(tabled('How well dependencies are known', table('Edges of the graph', [{ title: 'grade', of: (g) => g[0] }, { title: 'edges', n: true, of: (g) => whole(g[1].edges) }, { title: 'of the path’s time', n: true, of: (g) => percent(g[1].path_share) }, { title: 'of the dependencies', n: true, of: (g) => percent(g[1].dependency_share) }], grades)));
  if (repairs.length) node.append(tabled('What was repaired', table('Repairs', [{ title: 'what', of: (r) => words(r[0]) }, { title: 'how often', n: true, of: (r) => whole(r[1]) }], repairs)));
  if (dag.processes.length > 1 || !profile) node.append(tabled('Processes', table('Processes', [{ title: 'pid', n: true, of: (p) => p.pid }, { title: 'rank', n: true, of: (p) => or(p.rank, '') }, { title: 'machine', of: (p) => dag.machines[p.machine] ? dag.machines[p.machine].hostname : '' }, { title: 'guid', cls: 'code', of: (p) => p.guid }], dag.processes)));
}

function main() {
  const docs = readAll(), kernels = kernelsOf(docs);
  const app = { kernels, byName: new Map(kernels.map((k) => [k.name, k])), ink: paletteOf(kernels), picked: null, onPick: [], onTheme: [() => sheet.clear()] };
  app.pick = (name) => { app.picked = name; document.body.dataset.picked = name; for (const fn of app.onPick) fn(name); };
  document.getElementById('title').append(named(document.title));
  if (!hasPlots) document.querySelector('footer details').remove(); // there is no uPlot to be licensed
  document.querySelector('.skip').hidden = !!(docs.compare || docs.refused);
  themes(app);
  deviceBanner(docs);
  if (docs.compare) comparePage(docs.compare);
  else if (docs.refused) refusedPage(docs.refused);
  else profilePage(docs, app);
  document.body.dataset.ready = 'true';
}

// Each process of a program with several, by rank.
function processSection(docs) {
  const list = (docs.analysis && docs.analysis.processes) || (docs.profile && docs.profile.processes);
  if (!list) return;
  const pids = docs.profile && docs.profile.processes ? docs.profile.provenance.varies.pids : [], rows = list.map((p, i) => ({ ...p, pid: pids[i] })), several = new Set(list.map((p) => p.hostname)).size > 1;
  section('processes', `${list.length} processes, one beside the other`,
    docs.dag ? null : el('p', { className: 'dim' }, 'On the software device each process has a clock of its own: no path leads across, and only the length of their times compares.'),
    table('Processes', [{ title: 'process', of: (p) => (p.rank === null ? (known(p.pid) ? `pid ${p.pid}` : 'no rank') : `rank ${p.rank}`) + (several && p.hostname ? ` on ${p.hostname}` : '') }, { title: 'kernels', n: true, of: (p) => time(p.runtime_ms * 1e6) }, { title: 'share', n: true, of: (p) => percent(p.share) }, { title: 'first to last kernel', n: true, of: (p) => time(p.span_ms * 1e6) }, { title: 'launches', n: true, of: (p) => whole(p.dispatches) }, { title: 'longest kernel', cls: 'name', of: (p) => (p.kernel ? named(p.kernel) : 'none') }, { title: 'trace', of: (p) => (p.complete ? 'whole' : 'its end may be missing') }], rows));
}

function profilePage(docs, app) {
  findingSection(docs, app);
  if (docs.timeline && docs.timeline.name.length) timelineSection(docs, app);
  pathSection(docs, app);
  rangeSection(docs);
  communicationSection(docs);
  processSection(docs);
  whatIfSection(docs, app);
  rooflineSection(docs, app);
  for (const id of ['what-if', 'roofline']) if (hasPlots && document.getElementById('what-if') && document.querySelector('#roofline .chart')) document.getElementById(id).className = 'half';
  kernelSection(docs, app);
  countersSection(docs);
  provenance(docs);
}
