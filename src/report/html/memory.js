// What moves between the memories of one kernel: bytes, rates, hit rates. What was not counted is said.

const BYTE_UNITS = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];
function bytes(n) {
  if (!known(n)) return 'not counted';
  const [unit, name] = BYTE_UNITS.find(([of]) => Math.abs(n) >= of) || [1, 'B'];
  return (unit === 1 ? whole(Math.round(n)) : digits(n / unit)) + ' ' + name;
}
const rate = (gbps) => (gbps >= 1000 ? digits(gbps / 1000) + ' TB/s' : digits(gbps) + ' GB/s');

// Where the L2's misses go first on these GPUs; no counter that rocprofv3 has says what of them it holds.
const hasInfinityCache = (device) => /^gfx9(42|50)/.test(device.arch || '');

// A value made of counters, of one kernel on one GPU: {value} or {missing: [counters]}.
function derivedOf(docs, k, r, name) {
  const device = docs.roofline.devices[r.device], entry = (docs.roofline.counters || []).find((c) => c.name === k.name && device && c.gpu === device.id);
  return (entry && entry.derived.find((d) => d.name === name)) || { value: null, missing: [] };
}

function memoryBox(title, ...lines) {
  return el('div', { className: 'mem-box' }, el('b', {}, title), ...lines.filter(known).map((line) => el('span', {}, line)));
}

// A way between two boxes, with a bar for its part of the peak.
function memoryLink(what, gbps, peak, peakOf) {
  const share = gbps && peak ? gbps / peak : null;
  return el('div', { className: 'mem-link' }, ...what.map((text) => el('span', {}, text)),
    el('div', { className: 'mem-arrow', role: 'img', 'aria-label': known(share) ? `${percent(share)} of the peak` : 'not counted' }, el('div', { className: share > 0.6 ? 'hot' : '', style: { width: Math.min(1, share || 0) * 100 + '%' } })),
    known(share) ? el('span', {}, `${rate(gbps)}, ${percent(share)} of ${peakOf} ${rate(peak)}`) : null);
}

function hitRate(derived, without) {
  if (known(derived.value)) return `hit rate ${percent(derived.value)}`;
  return 'hit rate not counted' + (derived.missing.length ? `: needs ${derived.missing.join(', ')}` : without ? ': ' + without : '');
}

function memoryPart(docs, k, r) {
  if (!['lds_bytes', 'l1_bytes', 'l2_bytes', 'hbm_read_bytes', 'hbm_write_bytes'].some((key) => known(r[key]))) return el('p', { className: 'memory dim' }, 'Memory: no bytes between its memories were counted; profile with --roofline counts them.');
  const at = (level) => (r.levels && r.levels[level]) || {}, device = docs.roofline.devices[r.device] || {}, { ceilings } = r;
  const from = docs.roofline.ceilings_from, peak = from ? (from.device === 'software' ? 'the modelled' : 'the measured') : 'peak';
  const link = (level, what) => memoryLink(what, at(level).gbps, ceilings[level + '_gbps'], peak);
  const conflicts = derivedOf(docs, k, r, 'lds_conflicts_per_access'), behind = hasInfinityCache(device);
  const fabric = known(r.hbm_read_bytes) || known(r.hbm_write_bytes) ? [`read ${bytes(r.hbm_read_bytes)}`, `written ${bytes(r.hbm_write_bytes)}`] : ['not counted'];
  const toMemory = memoryLink(fabric, at('hbm').gbps, ceilings.hbm_gbps, from ? peak : 'HBM’s peak');
  return el('div', { className: 'memory' }, el('h4', {}, 'Memory' + (docs.roofline.devices.length > 1 ? ', ' + gpuName(docs.roofline, r.device) : '') + (k.calls > 1 ? ` (all ${whole(k.calls)} launches)` : '')),
    el('div', { className: 'mem' + (behind ? ' mem-long' : '') },
      memoryBox('Compute units'),
      el('div', { className: 'mem-way mem-lds' }, link('lds', [r.lds_bytes === 0 ? 'not used' : bytes(r.lds_bytes)]), memoryBox('LDS', r.lds_bytes === 0 ? null : known(conflicts.value) ? `${digits(conflicts.value)} bank conflicts per access` : 'bank conflicts not counted')),
      el('div', { className: 'mem-way' }, link('l1', [bytes(r.l1_bytes)]), memoryBox('Vector L1', hitRate(derivedOf(docs, k, r, 'vector_l1_hit_rate'))),
        link('l2', [bytes(r.l2_bytes)]), memoryBox('L2', hitRate(derivedOf(docs, k, r, 'l2_hit_rate'))),
        toMemory, ...(behind ? [memoryBox('Infinity Cache', 'hit rate: no counter exists'), memoryLink(['no counter exists'])] : []), memoryBox('HBM'))));
}
