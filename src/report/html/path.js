// What the critical path is made of.

const PART_LOOK = {
  kernel: ['#0072b2', 0], copy: ['#e69f00', 0], host_api: ['#009e73', 0], host_gap: ['#cc79a7', 0], launch: ['#56b4e9', 0], sync: ['#d55e00', 0], collective: ['#f0e442', 0],
  stream: ['#0072b2', 1], queue: ['#e69f00', 1], event: ['#009e73', 1], null_stream: ['#cc79a7', 1], unknown: [OTHER, 1],
};

function pathSection(docs, app) {
  const dag = docs.dag;
  if (!dag) return;
  const parts = Object.entries(dag.critical_path.by_class).filter((part) => part[1] > 0).sort((a, b) => b[1] - a[1]), all = dag.makespan_ns || 1;
  const ink = (name) => ({ fill: (PART_LOOK[name] || PART_LOOK.unknown)[0], hatched: !!(PART_LOOK[name] || PART_LOOK.unknown)[1] });
  const stack = el('div', { className: 'stack', role: 'img', 'aria-label': 'Parts of the critical path; the table below has the numbers' });
  for (const [name, ns] of parts) {
    const node = swatch(ink(name));
    const block = el('div', { title: `${words(name)}: ${time(ns)}, ${percent(ns / all)}`, style: { width: (100 * ns) / all + '%' } });
    block.style.cssText += node.style.cssText;
    stack.append(block);
  }
  section('path', 'What the critical path is made of',
    el('p', { className: 'dim' }, `From the first start to the last end, ${time(dag.makespan_ns)}. Only work on the critical path affects total time.`),
    stack,
    el('ul', { className: 'legend' }, ...parts.map(([name, ns]) => el('li', {}, swatch(ink(name)), `${words(name)} ${percent(ns / all)}`))),
    tabled('Parts as a table', table('Parts of the critical path', [{ title: 'part', of: (p) => words(p[0]) }, { title: 'time', n: true, of: (p) => time(p[1]) }, { title: 'share', n: true, of: (p) => percent(p[1] / all) }], parts)),
    tabled('By name', table('Kernels, copies and calls on the critical path', [{ title: 'name', cls: 'name', of: (s) => named(s.name) }, { title: 'time', n: true, of: (s) => time(s.ns) }, { title: 'share', n: true, of: (s) => percent(s.weight) }], dag.critical_path.by_symbol)),
    dag.idle.agents.some((a) => a.idle_ns > 0) ? tabled('What each GPU waited for', table('Idle time of GPUs', [{ title: 'GPU', of: (a) => `${or(a.agent_id, '?')} ${brief(a.name)}` }, { title: 'busy', n: true, of: (a) => time(a.busy_ns) }, { title: 'idle', n: true, of: (a) => time(a.idle_ns) }, { title: 'most of it', of: (a) => Object.entries(a.by_class).filter((p) => p[1] > 0).sort((x, y) => y[1] - x[1]).slice(0, 3).map((p) => `${words(p[0])} ${time(p[1])}`).join(', ') }], dag.idle.agents)) : el('p', { className: 'dim' }, dag.idle.agents.length > 1 ? 'No GPU was idle.' : 'The GPU was never idle.'));
}
