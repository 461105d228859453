// The head of the page: what was found first, then the numbers that it rests on.

// The classes of the critical path that are no kernels, as the subject of a sentence.
const CLASS_SUBJECTS = {
  copy: 'Copies take', host_api: 'Calls of the host take', host_gap: 'Gaps in which the host submits nothing take', launch: 'Launches take', sync: 'Waiting of the host takes', collective: 'Collectives take',
  stream: 'Waiting within streams takes', queue: 'Waiting for queues takes', event: 'Waiting for events takes', null_stream: 'Waiting for the null stream takes', unknown: 'Unknown waits take',
};

// [{share, node}]: what takes most of the time, in the order in which it is worth looking at.
function findings(docs, app) {
  const { dag } = docs, found = [];
  for (const [name, ns] of dag ? Object.entries(dag.critical_path.by_class) : [])
    if (name !== 'kernel' && ns > 0.1 * dag.makespan_ns) found.push({ share: ns / dag.makespan_ns, node: el('span', {}, `${CLASS_SUBJECTS[name] || words(name) + ' takes'} ${percent(ns / dag.makespan_ns)} of the end-to-end time (${time(ns)} of ${time(dag.makespan_ns)}).`) });
  for (const k of app.kernels.filter((one) => one.analysis).slice(0, 3)) {
    const a = k.analysis, of = docs.analysis.basis === 'critical_path' ? 'of the critical path' : 'of kernel time', faster = known(a.end_to_end_bound) && a.end_to_end_bound >= 1.005;
    found.push({ share: a.weight || 0, node: el('span', {}, swatch(app.ink(k.name)), pickLink(k.name, app), known(a.weight) ? ` takes ${percent(a.weight)} ${of}. ` : '. ',
      a.bottleneck.label === 'unknown' ? 'What limits it is unknown' : `It is ${words(a.bottleneck.label)}`, faster ? `; at its limit the program would be up to ${digits(a.end_to_end_bound)}x faster.` : '.') });
  }
  return found.sort((x, y) => y.share - x.share);
}

// A kernel's name that selects it and goes to its card.
function pickLink(name, app) {
  return el('a', { href: '#kernels', title: plain(name), on: { click: (event) => { event.preventDefault(); app.pick(name); document.querySelector('.card[data-picked=true]').scrollIntoView(); } } }, brief(shortName(name), 60));
}

function tiles(docs, app) {
  const { dag, profile } = docs, tile = (value, name) => el('div', { className: 'tile' }, el('b', {}, value), el('span', {}, name));
  const gpu = profile && profile.gpu, made = [];
  if (dag) {
    made.push(tile(time(dag.makespan_ns), 'end to end' + (dag.device === 'software' ? ', modelled' : '')), tile(time(dag.overlap.kernel_time_ns), 'in kernels'));
    if (dag.overlap.copy_time_ns > 0.01 * dag.makespan_ns) made.push(tile(time(dag.overlap.copy_time_ns), 'in copies'));
  } else if (docs.analysis && known(docs.analysis.basis_ns)) made.push(tile(time(docs.analysis.basis_ns), words(or(docs.analysis.basis, 'time'))));
  made.push(tile(whole(app.kernels.length), app.kernels.length === 1 ? 'kernel' : 'kernels'));
  if (docs.timeline) made.push(tile(whole(docs.timeline.name.length), 'launches and copies'));
  if (gpu) made.push(tile(or(gpu.product, gpu.architecture), gpu.architecture + (profile.device === 'software' ? ', software' : '')));
  else for (const d of (docs.roofline && docs.roofline.devices) || []) made.push(tile(or(d.product, d.arch), `GPU ${d.id}: ${or(d.arch)}`));
  if (profile && profile.stability && profile.stability.runs > 1) made.push(tile(profile.stability.classification, `${profile.stability.runs} runs` + (profile.stability.cv > 0 ? `, cv ${percent(profile.stability.cv)}` : ', equal')));
  return el('div', { className: 'tiles' }, ...made);
}

// What to know before the rest is trusted.
function notices(docs, app) {
  const { dag, profile } = docs, made = [];
  if (!app.kernels.length && !(docs.timeline && docs.timeline.name.length)) made.push(el('p', { id: 'nothing' }, 'Nothing ran on a GPU while this was recorded: no kernel and no copy is in these files, so there are no charts of them.'));
  if (dag && !dag.complete) made.push(el('p', {}, 'The trace was not closed in order: the end of the run may be missing.'));
  if (profile && profile.launches && profile.launches.failed > 0) made.push(el('p', { id: 'failed-launches' }, `${whole(profile.launches.failed)} of ${whole(profile.launches.calls)} launches started no kernel, so their work is in no time on this page: ` + profile.launches.failed_launches.slice(0, 5).map((f) => `${f.calls > 1 ? whole(f.calls) + ' x ' : ''}${f.api}${f.kernel ? ' of ' + plain(f.kernel) : ''} (${or(f.error, 'no kernel in the trace')})`).join('; ') + '.'));
  if (profile && (profile.run_differences || []).length) made.push(el('p', { id: 'run-differences' }, 'The runs launch different work, which is part of their spread: ' + profile.run_differences.slice(0, 5).map((d) => `${plain(d.name)} ${d.runs_calls.slice(0, 12).join(', ')} launches${d.geometry_differs ? ', other grid or block' : ''}`).join('; ') + '.'));
  if (dag && dag.disturbed_by.length) made.push(el('p', {}, 'The times are not those of the program alone: ' + dag.disturbed_by.map(words).join(', ') + '.'));
  if (dag && dag.grades.inferred.dependency_share > 0) made.push(el('p', {}, `${percent(dag.grades.inferred.dependency_share)} of the dependencies are guessed, with ${percent(dag.grades.inferred.path_share)} of the critical path’s time.`));
  return made;
}

function findingSection(docs, app) {
  const found = findings(docs, app), node = section('finding', 'Finding');
  const said = el('div', { className: 'found' }, ...found.slice(0, 1).map((f) => el('p', { id: 'first-finding' }, f.node)),
    found.length > 1 ? el('ol', { start: 2 }, ...found.slice(1, 4).map((f) => el('li', {}, f.node))) : null,
    found.length ? null : el('p', { className: 'dim' }, 'There are no times of kernels in these files, so nothing is found to be first.'), ...notices(docs, app));
  node.append(el('div', { className: 'head' }, said, tiles(docs, app)));
}
