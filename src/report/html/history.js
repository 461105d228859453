// The page of `rocm-perf history page` is there without a script, which only changes its colours.

function main() {
  themes({ onTheme: [] });
  document.body.dataset.ready = 'true';
}
