// Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008); beyond seven
// kernels a hatch tells them apart, and shapes and dashes stand beside every colour.

const HUES = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'];
const OTHER = '#8a9099';
const SHAPES = ['circle', 'square', 'triangle', 'diamond', 'cross', 'down', 'star'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [14, 4], [6, 2, 2, 2, 2, 2]];

// Rank by time: {fill, hatched, shape, dash} of a kernel's name.
const COPIES = ['#8a9099', '#c2c7ce', '#5f6670'];
function paletteOf(kernels) {
  const inks = new Map();
  [...kernels].sort((a, b) => (b.ns || 0) - (a.ns || 0)).forEach((k, i) => {
    const named = i < 2 * HUES.length;
    inks.set(k.name, {
      fill: named ? HUES[i % HUES.length] : OTHER,
      hatched: named && i >= HUES.length,
      shape: SHAPES[i % SHAPES.length],
      dash: DASHES[i % DASHES.length],
    });
  });
  let copies = 0; // and whatever else is no kernel
  return (name) => {
    if (!inks.has(name)) inks.set(name, { fill: COPIES[copies++ % COPIES.length], hatched: true, shape: 'cross', dash: [3, 3] });
    return inks.get(name);
  };
}

// Colours of the style sheet, asked for once per theme: a picture needs them thousands of times.
const sheet = new Map();
let probe = null; // names of the system's colours, which forced ones are, mean nothing to a canvas
function css(name) {
  if (!probe) document.body.append(probe = el('span', { id: 'probe', hidden: true }));
  if (!sheet.has(name)) {
    probe.style.color = `var(${name})`;
    sheet.set(name, getComputedStyle(probe).color);
  }
  return sheet.get(name);
}

// Whether black letters can be read on a colour better than white ones.
function isBright(fill) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 125;
}

// A fill style of a canvas: plain or hatched.
function inkStyle(ctx, ink, cache) {
  if (!ink.hatched) return ink.fill;
  const key = ink.fill;
  if (cache.has(key)) return cache.get(key);
  const tile = el('canvas', { width: 6, height: 6 });
  const c = tile.getContext('2d');
  c.fillStyle = ink.fill;
  c.fillRect(0, 0, 6, 6);
  c.strokeStyle = '#00000088';
  c.lineWidth = 1.2;
  for (const x of [-3, 3, 9]) {
    c.beginPath();
    c.moveTo(x - 3, 6);
    c.lineTo(x + 3, 0);
    c.stroke();
  }
  cache.set(key, ctx.createPattern(tile, 'repeat'));
  return cache.get(key);
}

function swatch(ink) {
  const style = { 'background-color': ink.fill, 'print-color-adjust': 'exact' };
  if (ink.hatched) style['background-image'] = 'repeating-linear-gradient(135deg, #0008 0 1px, transparent 1px 5px)';
  return el('span', { className: 'swatch', style, 'aria-hidden': 'true' });
}

// A marker of a chart around a point, in pixels.
function marker(ctx, shape, x, y, r) {
  ctx.beginPath();
  const corners = {
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
    triangle: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
    down: [[0, 1.2], [1.1, -0.9], [-1.1, -0.9]],
    diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    cross: [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
    star: [[0, -1.4], [0.35, -0.4], [1.3, -0.4], [0.55, 0.25], [0.85, 1.2], [0, 0.65], [-0.85, 1.2], [-0.55, 0.25], [-1.3, -0.4], [-0.35, -0.4]],
  }[shape];
  if (corners) corners.forEach(([dx, dy], i) => (i ? ctx.lineTo(x + dx * r, y + dy * r) : ctx.moveTo(x + dx * r, y + dy * r)));
  else ctx.arc(x, y, r, 0, 2 * Math.PI);
  ctx.closePath();
  ctx.fill();
  ctx.stroke();
}
