// The documents of the page, and what they say of each kernel, joined by name.

function read(name) {
  const node = document.getElementById('data-' + name);
  return node ? JSON.parse(node.textContent) : null;
}

function readAll() {
  const docs = {};
  for (const name of ['profile', 'dag', 'timeline', 'roofline', 'thread_trace', 'analysis', 'sources', 'names', 'compare', 'refused']) docs[name] = read(name);
  if (docs.names) docs.names.names.forEach((name, i) => SHORT_NAMES.set(name, docs.names.short[i]));
  return docs;
}

// Which of the documents say that their times are modelled, and the first that says by what.
function modelledIn(docs) {
  const names = ['profile', 'dag', 'roofline', 'analysis'].filter((name) => docs[name] && docs[name].device === 'software');
  if (docs.compare && docs.compare.baseline.device === 'software') names.push('compare');
  if (docs.thread_trace && docs.thread_trace.thread_trace.some((t) => t.device === 'software')) names.push('thread_trace');
  return { names, timing: names.map((name) => (name === 'compare' ? docs.compare.baseline : docs[name]).timing).find((timing) => timing) };
}

// Totals of the timeline, for what neither analysis nor profile names.
function timelineTotals(timeline) {
  const ns = new Float64Array(timeline.names.length), calls = new Uint32Array(timeline.names.length);
  const copy = new Uint8Array(timeline.names.length);
  for (let i = 0; i < timeline.name.length; i++) {
    ns[timeline.name[i]] += timeline.duration_ns[i];
    calls[timeline.name[i]]++;
    copy[timeline.name[i]] |= timeline.copy[i];
  }
  return { ns, calls, copy };
}

// [{name, ns, calls, analysis, profile: [], roofline: [], traces: []}], first what is worth looking at.
function kernelsOf(docs) {
  const all = new Map();
  const get = (name) => {
    if (!all.has(name)) all.set(name, { name, ns: null, calls: null, analysis: null, profile: [], roofline: [], traces: [] });
    return all.get(name);
  };
  for (const k of (docs.analysis && docs.analysis.kernels) || []) { // the first of a name is the most promising
    if (!get(k.name).analysis) Object.assign(get(k.name), { analysis: k, ns: k.time_ns, calls: k.calls });
  }
  for (const k of (docs.profile && docs.profile.kernels) || []) get(k.name).profile.push(k);
  for (const k of (docs.roofline && docs.roofline.kernels) || []) get(k.name).roofline.push(k);
  for (const t of (docs.thread_trace && docs.thread_trace.thread_trace) || []) if (t.kernel) get(t.kernel).traces.push(t);
  if (docs.timeline) {
    const totals = timelineTotals(docs.timeline);
    docs.timeline.names.forEach((name, i) => {
      if (totals.copy[i]) return;
      const k = get(name);
      k.ns = or(k.ns, totals.ns[i]);
      k.calls = or(k.calls, totals.calls[i]);
    });
  }
  for (const k of all.values()) if (!known(k.ns) && k.profile.length) k.ns = k.profile.reduce((sum, p) => sum + (p.total_ms || 0) * 1e6, 0);
  return [...all.values()];
}
