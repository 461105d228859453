// The program's own ranges, and its communication between GPUs: what the graph sums up by them.

function rangeSection(docs) {
  const dag = docs.dag, all = (dag && dag.ranges) || [];
  if (!all.length) return;
  const kernels = dag.overlap.kernel_time_ns || 1, own = (r) => r.kernels.slice(0, 3).flatMap((k, i) => [i ? ', ' : null, named(shortName(k.name)), k.launches > 1 ? ` (${whole(k.launches)})` : null]);
  const outside = dag.outside_ranges_ns > 0 ? ` ${time(dag.outside_ranges_ns)} (${percent(dag.outside_ranges_ns / kernels)}) was launched in no range.` : '';
  section('ranges', 'Ranges of the program',
    el('p', { className: 'dim' }, `Each kernel counts for the innermost range (ROCTx, operator or annotation) around its launch; “with inner” also has what ranges inside of it launched.${outside}`),
    scrolled(table('Ranges that launch kernels or copies', [
      { title: 'range', cls: 'name', of: (r) => named(r.name) },
      { title: 'entered', n: true, of: (r) => whole(r.calls) },
      { title: 'kernel time', n: true, of: (r) => time(r.own_kernel_ns) },
      { title: 'share', n: true, of: (r) => percent(r.own_kernel_ns / kernels) },
      { title: 'launches', n: true, of: (r) => whole(r.own_launches) },
      { title: 'with inner', n: true, of: (r) => time(r.kernel_ns) },
      { title: '% of critical path', n: true, of: (r) => percent(r.path_ns / (dag.makespan_ns || 1)) },
      { title: 'its kernels', cls: 'name', of: (r) => el('span', {}, ...own(r)) },
    ], all)));
}

// Where a kernel is launched: [range, of its launches].
function rangesOf(docs, name) {
  const all = ((docs.dag && docs.dag.ranges) || []).flatMap((r) => r.kernels.filter((k) => k.name === name).map((k) => [r.name, k]));
  return all.sort((a, b) => b[1].ns - a[1].ns);
}

function communicationSection(docs) {
  const dag = docs.dag;
  if (!dag || !dag.collectives.length) return;
  const ranks = dag.processes.filter((p) => p.waited_for_ns > 0).sort((a, b) => b.waited_for_ns - a.waited_for_ns), waits = dag.processes.length > 1;
  const hidden = (c) => percent(c.time_ns ? 1 - c.exposed_ns / c.time_ns : null), each = (m) => (known(m.bytes) ? bytes(m.bytes / m.count) : 'unknown');
  const gbps = (value) => (known(value) ? `${waits ? '' : 'at least '}${digits(value)} GB/s` : 'unknown');
  section('communication', 'Communication between GPUs',
    ranks.length ? el('p', {}, `${known(ranks[0].rank) ? 'Rank ' + ranks[0].rank : 'Process ' + ranks[0].pid} comes last most: the others wait ${time(ranks[0].waited_for_ns)} for it, of ${time(ranks.reduce((sum, p) => sum + p.waited_for_ns, 0))} for any rank.`) : null,
    scrolled(table('Collectives by kernel', [
      { title: 'kernel', cls: 'name', of: (c) => named(c.name) }, { title: 'times', n: true, of: (c) => whole(c.count) }, { title: 'time', n: true, of: (c) => time(c.time_ns) },
      { title: 'exposed', n: true, of: (c) => time(c.exposed_ns) }, { title: 'behind kernels', n: true, of: hidden }, { title: 'waits for other ranks', n: true, of: (c) => time(c.wait_ns) },
    ], dag.collectives)),
    (dag.messages || []).length ? scrolled(table('What was sent', [
      { title: 'collective', of: (m) => m.collective }, { title: 'of', of: (m) => m.dtype }, { title: 'ranks', n: true, of: (m) => or(m.ranks) }, { title: 'times', n: true, of: (m) => whole(m.count) }, { title: 'each', n: true, of: each },
      { title: 'time', n: true, of: (m) => time(m.time_ns) }, { title: 'bus bandwidth', n: true, of: (m) => gbps(m.bus_gbps) }, { title: 'at best', n: true, of: (m) => gbps(m.best_bus_gbps) }, { title: 'links have', n: true, of: (m) => (known(m.link_gbps) ? `${digits(m.link_gbps)} GB/s` : 'unknown') },
    ], dag.messages)) : null,
    ranks.length ? tabled('Which rank the others waited for', table('Ranks by how long others waited for them', [{ title: 'rank', n: true, of: (p) => or(p.rank, p.pid) }, { title: 'others waited', n: true, of: (p) => time(p.waited_for_ns) }, { title: 'it waited', n: true, of: (p) => time(p.collective_wait_ns) }], ranks)) : null);
}
