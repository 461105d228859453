// The head of the page: what was found first, then the numbers that it rests on.

// A sentence of analysis.json, whose kernel in grave accents becomes what MADE makes of it.
function sentence(text, made) {
  const parts = /^(.*?)`([^`]+)`(.*)$/s.exec(text);
  return parts && made ? [parts[1], made(parts[2]), parts[3]] : [text];
}

// The two sentences of the terminal: what limits the program; what to try, with the gain to expect.
function programFinding(docs, app) {
  const { program } = docs.analysis || {};
  if (!program || !program.text) return null;
  const at = program.text.indexOf(' Try: '), [what, advice] = at < 0 ? [program.text, null] : [program.text.slice(0, at), program.text.slice(at + 1)];
  const k = program.kernel && app.byName.get(program.kernel), link = k ? (short) => el('span', {}, swatch(app.ink(k.name)), pickLink(k.name, app, short)) : null;
  const evidence = k && k.analysis ? k.analysis.bottleneck.evidence || [] : [];
  return el('div', {}, el('p', { id: 'first-finding' }, ...sentence(what, link)), advice ? el('p', { id: 'advice' }, advice) : null,
    evidence.length ? el('p', { className: 'evidence' }, ...evidence.map((e) => el('span', { className: 'chip' }, `${e.name} `, el('b', {}, `${e.value} ${e.unit}`)))) : null);
}

// Then the kernels that take the most, but for one that the program's finding is of.
function kernelFindings(docs, app) {
  const { program, basis } = docs.analysis || {}, of = basis === 'critical_path' ? 'of the critical path' : 'of kernel time';
  const others = app.kernels.filter((k) => k.analysis && k.analysis.weight >= 0.01 && !(program && program.kernel === k.name));
  return others.sort((x, y) => y.analysis.weight - x.analysis.weight).slice(0, 4).map((k) => el('li', {}, swatch(app.ink(k.name)), pickLink(k.name, app), `, ${percent(k.analysis.weight)} ${of}: ${k.analysis.bottleneck.text || words(k.analysis.bottleneck.label)}`));
}

// A kernel's name that selects it and goes to its card.
function pickLink(name, app, short) {
  return el('a', { href: '#kernels', title: plain(name), on: { click: (event) => { event.preventDefault(); app.pick(name); document.querySelector('.card[data-picked=true]').scrollIntoView(); } } }, short ? brief(short) : brief(shortName(name), 60));
}

function tiles(docs, app) {
  const { dag, profile } = docs, tile = (value, name) => el('div', { className: 'tile' }, el('b', {}, value), el('span', {}, name));
  const gpu = profile && profile.gpu, made = [];
  if (dag) {
    made.push(tile(time(dag.makespan_ns), 'end to end' + (dag.device === 'software' ? ', modelled, without host time' : '')), tile(time(dag.overlap.kernel_time_ns), 'in kernels'));
    if (dag.overlap.copy_time_ns > 0.01 * dag.makespan_ns) made.push(tile(time(dag.overlap.copy_time_ns), 'in copies'));
  } else if (docs.analysis && known(docs.analysis.basis_ns)) made.push(tile(time(docs.analysis.basis_ns), words(or(docs.analysis.basis, 'time'))));
  made.push(tile(whole(app.kernels.length), app.kernels.length === 1 ? 'kernel' : 'kernels'));
  if (docs.timeline) made.push(tile(whole(docs.timeline.name.length), 'launches and copies'));
  if (gpu) made.push(tile(or(gpu.product, gpu.architecture), gpu.architecture + (profile.device === 'software' ? ', software' : '') + (gpu.modelled_clock_mhz ? `, at ${gpu.modelled_clock_mhz} MHz` : '')));
  else for (const d of (docs.roofline && docs.roofline.devices) || []) made.push(tile(or(d.product, d.arch), `GPU ${d.id}: ${or(d.arch)}`));
  if (profile && profile.stability && profile.stability.runs > 1) made.push(tile(profile.stability.classification, `${profile.stability.runs} runs` + (profile.stability.cv > 0 ? `, cv ${percent(profile.stability.cv)}` : ', equal')));
  return el('div', { className: 'tiles' }, ...made);
}

// What to know before the rest is trusted.
function notices(docs, app) {
  const { dag, profile } = docs, made = [];
  if (!app.kernels.length && !(docs.timeline && docs.timeline.name.length)) made.push(el('p', { id: 'nothing' }, 'Nothing ran on a GPU while this was recorded: no kernel and no copy is in these files, so there are no charts of them.'));
  if (dag && !dag.complete) made.push(el('p', {}, 'The trace was not closed in order: the end of the run may be missing.'));
  if (profile && profile.launches && profile.launches.failed > 0) made.push(el('p', { id: 'failed-launches' }, `${whole(profile.launches.failed)} of ${whole(profile.launches.calls)} launch calls started no kernel, so their work is in no time on this page: ` + profile.launches.failed_launches.slice(0, 5).map((f) => `${f.calls > 1 ? whole(f.calls) + ' x ' : ''}${f.api}${f.kernel ? ' of ' + plain(f.kernel) : ''} (${or(f.error, 'no kernel in the trace')})`).join('; ') + '.'));
  if (profile && (profile.run_differences || []).length) made.push(el('p', { id: 'run-differences' }, 'The runs launch different work, which is part of their spread: ' + profile.run_differences.slice(0, 5).map((d) => `${plain(d.name)} ${d.runs_calls.slice(0, 12).join(', ')} launches${d.geometry_differs ? ', other grid or block' : ''}`).join('; ') + '.'));
  if (dag && dag.disturbed_by.length) made.push(el('p', {}, 'The times are not those of the program alone: ' + dag.disturbed_by.map(words).join(', ') + '.'));
  const guessed = dag ? dag.grades.partial.dependency_share + dag.grades.inferred.dependency_share : 0;
  if (guessed > 0) made.push(el('p', {}, `${percent(guessed)} of the dependencies are guessed, with ${percent(dag.grades.inferred.path_share)} of the critical path’s time.`));
  return made;
}

function findingSection(docs, app) {
  const first = programFinding(docs, app), others = kernelFindings(docs, app), node = section('finding', 'Finding');
  node.append(el('div', { className: 'head' }, el('div', { className: 'found' }, first,
    others.length ? el('ul', {}, ...others) : null,
    first || others.length ? null : el('p', { className: 'dim' }, 'What limits the program is not known: there are no times of kernels in these files.'), ...notices(docs, app)), tiles(docs, app)));
}
