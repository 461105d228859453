// Elements and texts. What comes out of a trace becomes text, never markup.

// What reorders or hides text, or controls, is written as its number, as in "\\u{202e}".
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const plain = (text) => String(text).replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

// Of a long name its begin, which tells the family, and its end with the template's arguments.
const MOST_LETTERS = 160;
function brief(name, most = MOST_LETTERS) {
  const text = plain(name), letters = text.length > most ? [...text] : [], tail = most < MOST_LETTERS ? 0 : 49;
  return letters.length > most ? letters.slice(0, most - 1 - tail).join('') + '…' + letters.slice(letters.length - tail).join('') : text;
}
const named = (name, most) => el('span', { title: brief(name, most) === plain(name) ? null : name }, brief(name, most));

// Of a kernel's name what a narrow place has room for: as the terminal shortens it, so that no two kernels have the same; else
// no return type, namespaces, arguments of the function or of its templates.
const SHORT_NAMES = new Map();
function shortName(name) {
  if (SHORT_NAMES.has(name)) return SHORT_NAMES.get(name);
  let text = plain(name).replace(/^void /, ''), depth = 0, short = '';
  if (/^(MEMORY_COPY|MEMORY_SET)_?/.test(text)) return text.replace(/^MEMORY_/, '').replaceAll('_', ' ').toLowerCase();
  text = text.replaceAll('(anonymous namespace)::', '').replaceAll('operator()', 'operator');
  for (const c of text) {
    if (c === '(' && depth === 0) break;
    if (c === '<') depth++;
    if (depth === 0) short += c;
    if (c === '>' && depth > 0) depth--;
  }
  const word = short.trim().split('::').pop().split(' ').pop() || text;
  return word.length > 80 ? word.slice(0, Math.max(word.lastIndexOf('_', 64), 24)) + '…' : word; // generated, with all its parameters
}
// A kernel in a list whose place is beside a picture.
const shortly = (name) => el('span', { title: shortName(name) === plain(name) ? null : name }, brief(shortName(name)));

function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null) continue;
    const said = key === 'title' || key.startsWith('aria');
    if (key === 'on') for (const [type, fn] of Object.entries(value)) node.addEventListener(type, fn);
    else if (key === 'style') for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else if (key === 'data') Object.assign(node.dataset, value);
    else if (key in node && !key.startsWith('aria')) node[key] = said ? plain(value) : value;
    else node.setAttribute(key, said ? plain(value) : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : plain(child))));
  return node;
}

function section(id, title, ...children) {
  const heading = el('h2', { id: id + '-title' }, title);
  const node = el('section', { id, 'aria-labelledby': id + '-title' }, heading, ...children);
  document.getElementById('main').append(node);
  document.getElementById('nav').append(el('a', { href: '#' + id }, title));
  return node;
}

const known = (value) => value !== null && value !== undefined;

// Three to five digits; the unit that makes the number readable.
function digits(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return '∞';
  if (size === 0) return '0';
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 4);
}
function time(ns) {
  if (!known(ns)) return 'unknown';
  const size = Math.abs(ns);
  if (size < 1e3) return fixed(ns, 0) + ' ns';
  if (size < 1e6) return digits(ns / 1e3) + ' µs';
  if (size < 1e9) return digits(ns / 1e6) + ' ms';
  return digits(ns / 1e9) + ' s';
}
// As toFixed, but nothing has no sign.
const fixed = (value, digits) => value.toFixed(digits).replace(/^-(?=[0.]*$)/, '');
// A ratio of times with the digits that the terminal gives it: two for its difference from 1.
function times(ratio) {
  if (!Number.isFinite(ratio)) return '∞';
  return ratio.toFixed(ratio >= 99.95 ? 0 : ratio >= 1.995 ? 1 : ratio >= 1.0995 ? 2 : ratio >= 1.00995 ? 3 : 4);
}
const percent = (share) => (known(share) ? fixed(share * 100, share < 0.1 ? 2 : 1) + ' %' : 'unknown');
const whole = (n) => (known(n) ? n.toLocaleString('en') : 'unknown');
const or = (value, text) => (known(value) ? value : text || 'unknown');
const words = (name) => String(name).replaceAll('_', ' ');

// columns: [{title, n: number, cls, of: row -> text or node}]; options: limit, pick(row), key(row)
function table(caption, columns, rows, options) {
  const { limit = 400, pick, key } = options || {};
  const shown = rows.slice(0, limit);
  const cut = rows.length > shown.length ? ` (the first ${whole(shown.length)} of ${whole(rows.length)})` : '';
  const body = el('tbody');
  for (const row of shown) {
    const tr = el('tr', { data: key ? { key: key(row) } : {} });
    for (const c of columns) tr.append(el('td', { className: [c.n ? 'n' : '', c.cls || ''].join(' ').trim() }, c.of(row)));
    body.append(tr);
  }
  const head = el('thead', {}, el('tr', {}, ...columns.map((c) => el('th', { className: c.n ? 'n' : '', scope: 'col' }, c.title))));
  const node = el('table', {}, el('caption', {}, caption + cut), head, body);
  if (pick) pickable(node, body, shown, pick);
  return node;
}

// Rows are chosen by click, and by arrow keys: one of them takes part in the order of tabs.
function pickable(node, body, rows, pick) {
  node.setAttribute('role', 'grid');
  [...body.rows].forEach((tr, i) => {
    tr.tabIndex = i === 0 ? 0 : -1;
    tr.setAttribute('aria-selected', 'false');
    tr.addEventListener('click', () => pick(rows[i]));
  });
  body.addEventListener('keydown', (event) => {
    const trs = [...body.rows];
    const at = trs.indexOf(event.target.closest('tr'));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: trs.length - 1, Enter: at, ' ': at }[event.key];
    if (to === undefined || !trs[to]) return;
    event.preventDefault();
    trs[to].focus();
    pick(rows[to]);
  });
}

const folded = (summary, ...children) => el('details', {}, el('summary', {}, summary), ...children);
const scrolled = (node) => el('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': node.caption.textContent + '; scrolls' }, node);
const tabled = (summary, node) => folded(summary, scrolled(node));

function list(pairs) {
  return el('dl', {}, ...pairs.filter((pair) => pair).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}
