# The newest results only: after the filters, in each form, and where it would mean nothing.
data=$SOURCE/tests/data/compare
try() { rocm-perf history "$@"; echo "exit $?"; }
at() { rocm-perf history add --at "2026-11-$1T10:00:00Z" --commit "$2" "$data/$3.json" >/dev/null; }
at 20 one before
at 22 three few # added before a result that is older
at 21 two after
at 23 four software
try list --limit 2
try list --limit 2 --device hardware
try list --limit 99 --commit t
rocm-perf history show --limit 1 --json | grep '"commit"'
rocm-perf history export --limit 3 | grep -o '"commit": *"[a-z]*"'
try check --limit 2
try list --limit 0
try list --limit
