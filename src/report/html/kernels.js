// The table of kernels: where a kernel is selected.

function kernelSection(docs, app) {
  const all = app.kernels, shares = new Map();
  if (docs.dag) for (const s of docs.dag.critical_path.by_symbol) shares.set(s.name, s.weight);
  const label = (k) => (k.analysis ? words(k.analysis.bottleneck.label) : 'unknown');
  const occupancy = (k) => { const p = k.profile[0]; return p && p.occupancy ? p.occupancy.theoretical : k.analysis ? k.analysis.occupancy.theoretical : null; };
  const node = table('Kernels, first what is worth looking at; click, or arrow keys, to select', [
    { title: 'kernel', cls: 'name', of: (k) => el('span', {}, swatch(app.ink(k.name)), named(k.name)) },
    { title: 'calls', n: true, of: (k) => whole(k.calls) },
    { title: 'time', n: true, of: (k) => time(k.ns) },
    { title: '% of critical path', n: true, of: (k) => (docs.dag ? percent(shares.get(k.name) || 0) : 'unknown') },
    { title: 'bottleneck', of: label },
    { title: 'headroom', n: true, of: (k) => percent(k.analysis && k.analysis.headroom_fraction) },
    { title: 'max speed-up', n: true, of: (k) => (k.analysis && known(k.analysis.end_to_end_bound) ? times(k.analysis.end_to_end_bound) + 'x' : 'unknown') },
    { title: 'occupancy', n: true, of: (k) => percent(occupancy(k)) },
  ], all, { limit: 1000, key: (k) => k.name, pick: (k) => app.pick(k.name) });
  const cards = el('div', { id: 'cards' });
  section('kernels', 'Kernels', all.length ? scrolled(node) : el('p', {}, 'No kernel is in these files.'), cards);
  node.id = 'kernel-table';
  const made = new Map();
  const card = (k) => { if (!made.has(k.name)) { made.set(k.name, kernelCard(docs, k, app)); cards.append(made.get(k.name)); } return made.get(k.name); };
  all.slice(0, 6).forEach(card);
  if (all.length > 6) cards.append(el('p', { className: 'dim' }, `Cards of the first 6 of ${whole(all.length)} kernels are shown; the card of any other appears when it is selected.`));
  app.onPick.push((name) => {
    const picked = app.byName.get(name);
    for (const tr of node.tBodies[0].rows) {
      const is = tr.dataset.key === name;
      tr.setAttribute('aria-selected', String(is));
      tr.tabIndex = is ? 0 : -1;
    }
    if (picked) card(picked);
    for (const [key, article] of made) article.dataset.picked = String(key === name);
    if (picked) cards.prepend(made.get(name));
  });
}
