# exit 3
# Each error says what to mend.
try() { rocm-perf autotune "$@"; echo "exit $?"; }
try
try --simulate missing.json
try --simulate missing.json word
try --simulate missing.json --max-fraction 0
try --simulate missing.json --max-fraction 1.5
try --simulate missing.json --budget-evals -1
try --simulate missing.json --budget-time nan
try --simulate missing.json --seed x
try --simulate missing.json --workers 0
try --simulate missing.json --strategy luck
try --simulate missing.json --resume
try --simulate missing.json --json --quiet
try --simulate missing.json --plot a.svg --export-t4 a.svg
try --simulate missing.json --export-t4 missing.json
try --simulate missing.json --top
try --magic
echo '{"name": "x"}' >no-space.json
rocm-perf autotune --simulate no-space.json
