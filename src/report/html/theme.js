// The system's colours, until someone chooses; on paper always the light ones.
function themes(app) {
  const root = document.documentElement, button = document.getElementById('theme'), system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null, paper = false;
  button.hidden = false;
  const apply = () => {
    root.dataset.theme = paper ? 'light' : chosen || (system.matches ? 'dark' : 'light');
    button.textContent = root.dataset.theme === 'dark' ? '☀ light' : '☾ dark';
    button.setAttribute('aria-label', root.dataset.theme === 'dark' ? 'Switch to light colours' : 'Switch to dark colours');
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
