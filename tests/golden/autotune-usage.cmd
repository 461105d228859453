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
try --simulate missing.json --strategy genetic
try --simulate missing.json --resume
try --simulate missing.json --json --quiet
try --simulate missing.json --plot a.svg --export-t4 a.svg
try --simulate missing.json --export-t4 missing.json
try --simulate missing.json --top
try --magic
# What would have no effect, or is said twice.
for option in '--space x' '--cmd-template x' '--build x' --shell --env '--check x' --no-rocprof '--output-regex x' \
    '--output-unit s' '--timeout 3' '--memory 3' '--warmup 3' '--repeats 3' '--device gpu' '--threads 3' \
    '--timing counts' '--gpus 0' '--launcher local' '--srun x' '--salloc x' '--export-t1 x'; do
    try --simulate missing.json $option
done
run() { try --space missing.json --cmd-template x "$@"; }
run --output-regex x --no-rocprof
run --no-rocprof --output-regex x
run --output-unit s
run --output-regex '('
run --output-regex ''
run --srun --gpus=1
run --launcher local --salloc x
run --gpus 0 --workers 2
run --gpus 0 --launcher slurm
run --gpus all,0
run --gpus 1,1
run -o found --plot found/journal.jsonl
echo '{"name": "x"}' >no-space.json
# A name below a file is one that is not there.
try --simulate no-space.json/x
try --space no-space.json/x --cmd-template x -o found
# A worker whose pool cannot hear it says itself why it ends.
rocm-perf autotune --worker --quiet --device software </dev/null >&-
echo "exit $?"
rocm-perf autotune --simulate no-space.json
