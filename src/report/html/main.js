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

function overview(docs, app) {
  const dag = docs.dag, profile = docs.profile, tile = (value, name) => el('div', { className: 'tile' }, el('b', {}, value), el('span', {}, name));
  const first = app.kernels.find((k) => k.analysis), gpu = profile && profile.gpu, tiles = [];
  if (dag) tiles.push(tile(time(dag.makespan_ns), 'end to end' + (dag.device === 'software' ? ', modelled' : '')));
  if (dag) tiles.push(tile(time(dag.overlap.kernel_time_ns), 'in kernels'), tile(time(dag.overlap.copy_time_ns), 'in copies'));
  else if (docs.analysis && known(docs.analysis.basis_ns)) tiles.push(tile(time(docs.analysis.basis_ns), words(or(docs.analysis.basis, 'time'))));
  tiles.push(tile(whole(app.kernels.length), app.kernels.length === 1 ? 'kernel' : 'kernels'));
  if (docs.timeline) tiles.push(tile(whole(docs.timeline.name.length), 'launches and copies'));
  if (gpu) tiles.push(tile(or(gpu.product, gpu.architecture), gpu.architecture + (profile.device === 'software' ? ', software' : '')));
  else for (const d of (docs.roofline && docs.roofline.devices) || []) tiles.push(tile(or(d.product, d.arch), `GPU ${d.id}: ${or(d.arch)}`));
  if (first) tiles.push(tile(words(first.analysis.bottleneck.label), el('span', {}, 'limits ', named(first.name, 40))));
  if (profile && profile.stability && profile.stability.runs > 1) tiles.push(tile(profile.stability.classification, `${profile.stability.runs} runs, cv ${percent(profile.stability.cv)}`));
  const node = section('overview', 'Overview', el('div', { className: 'tiles' }, ...tiles));
  if (!app.kernels.length && !(docs.timeline && docs.timeline.name.length)) node.append(el('p', { id: 'nothing' }, 'Nothing ran on a GPU while this was recorded: no kernel and no copy is in these files, so there are no charts of them.'));
  if (dag && !dag.complete) node.append(el('p', {}, 'The trace was not closed in order: the end of the run may be missing.'));
  if (profile && profile.launches && profile.launches.failed > 0) node.append(el('p', { id: 'failed-launches' }, `${whole(profile.launches.failed)} of ${whole(profile.launches.calls)} launches started no kernel, so their work is in no time on this page: ` + profile.launches.failed_launches.slice(0, 5).map((f) => `${f.calls > 1 ? whole(f.calls) + ' x ' : ''}${f.api}${f.kernel ? ' of ' + plain(f.kernel) : ''} (${or(f.error, 'no kernel in the trace')})`).join('; ') + '.'));
  if (profile && (profile.run_differences || []).length) node.append(el('p', { id: 'run-differences' }, 'The runs launch different work, which their spread is of, too: ' + profile.run_differences.slice(0, 5).map((d) => `${plain(d.name)} ${d.runs_calls.slice(0, 12).join(', ')} launches${d.geometry_differs ? ', other grid or block' : ''}`).join('; ') + '.'));
  if (dag && dag.disturbed_by.length) node.append(el('p', {}, 'The times are not those of the program alone: ' + dag.disturbed_by.map(words).join(', ') + '.'));
  if (dag && dag.grades.inferred.dependency_share > 0) node.append(el('p', {}, `${percent(dag.grades.inferred.dependency_share)} of the dependencies are guessed, with ${percent(dag.grades.inferred.path_share)} of the critical path’s time.`));
}

const flat = (value) => (value === null ? 'unknown' : typeof value === 'object' ? (Array.isArray(value) ? value.map(flat).join(' ') || 'none' : Object.entries(value).map(([k, v]) => `${words(k)}: ${flat(v)}`).join('; ') || 'none') : String(value));

function provenance(docs) {
  const node = section('provenance', 'Where the numbers come from'), dag = docs.dag, profile = docs.profile;
  const here = Object.keys(docs).filter((name) => docs[name]);
  node.append(el('p', {}, 'Documents in this page: ' + here.map((name) => name + '.json').join(', ') + '. They are what profile and analyze write, word for word; timeline.json is of this page only.'));
  if (!profile) node.append(el('p', { className: 'dim' }, 'There is no profile.json: give the folder of one profile to see registers, geometry and how the run was made.'));
  else node.append(list(Object.entries(profile.provenance).map(([key, value]) => [words(key), flat(value)])));
  if (!dag) return;
  node.append(tabled('How well dependencies are known', table('Edges of the graph', [{ title: 'grade', of: (g) => g[0] }, { title: 'edges', n: true, of: (g) => whole(g[1].edges) }, { title: 'of the path’s time', n: true, of: (g) => percent(g[1].path_share) }, { title: 'of the dependencies', n: true, of: (g) => percent(g[1].dependency_share) }], Object.entries(dag.grades))));
  node.append(tabled('What was repaired', table('Repairs', [{ title: 'what', of: (r) => words(r[0]) }, { title: 'how often', n: true, of: (r) => whole(r[1]) }], Object.entries(dag.repairs))));
  node.append(tabled('Processes', table('Processes', [{ title: 'pid', n: true, of: (p) => p.pid }, { title: 'rank', n: true, of: (p) => or(p.rank, '') }, { title: 'machine', of: (p) => dag.machines[p.machine] ? dag.machines[p.machine].hostname : '' }, { title: 'guid', cls: 'code', of: (p) => p.guid }], dag.processes)));
}

// The system's colours, until someone chooses; on paper always the light ones.
function themes(app) {
  const root = document.documentElement, button = document.getElementById('theme'), system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null, paper = false;
  const apply = () => {
    root.dataset.theme = paper ? 'light' : chosen || (system.matches ? 'dark' : 'light');
    button.textContent = root.dataset.theme === 'dark' ? '☀ light' : '☾ dark';
    button.setAttribute('aria-label', root.dataset.theme === 'dark' ? 'Switch to light colours' : 'Switch to dark colours');
    sheet.clear();
    for (const fn of app.onTheme) fn();
  };
  const print = (on) => { const folds = document.querySelectorAll('details'); for (const d of folds) { if (on) { d.dataset.was = d.open ? '1' : ''; d.open = true; } else d.open = d.dataset.was === '1'; } paper = on; root.dataset.paper = on ? '1' : ''; apply(); };
  button.addEventListener('click', () => { chosen = root.dataset.theme === 'dark' ? 'light' : 'dark'; apply(); });
  system.addEventListener('change', apply);
  matchMedia('(forced-colors: active)').addEventListener('change', apply);
  window.addEventListener('beforeprint', () => print(true));
  window.addEventListener('afterprint', () => print(false));
  apply();
}

function main() {
  const docs = readAll(), kernels = kernelsOf(docs);
  const app = { kernels, byName: new Map(kernels.map((k) => [k.name, k])), ink: paletteOf(kernels), picked: null, onPick: [], onTheme: [] };
  app.pick = (name) => { app.picked = name; document.body.dataset.picked = name; for (const fn of app.onPick) fn(name); };
  document.getElementById('title').append(named(document.title));
  if (!hasPlots) document.querySelector('footer details').remove(); // there is no uPlot to be licensed
  themes(app);
  deviceBanner(docs);
  overview(docs, app);
  if (docs.timeline && docs.timeline.name.length) timelineSection(docs, app);
  pathSection(docs, app);
  whatIfSection(docs, app);
  rooflineSection(docs, app);
  countersSection(docs);
  kernelSection(docs, app);
  provenance(docs);
  document.body.dataset.ready = 'true';
}
