# However much of the journal a kill has left, the search ends with the same result.
space=$SOURCE/tests/data/tune/made.json
search() { rocm-perf autotune --simulate "$space" --workers 3 --budget-evals 40 --quiet -o "$@"; }
search whole
for bytes in 1500 4000 4001 9000 12345; do
    mkdir part && head -c $bytes whole/journal.jsonl >part/journal.jsonl
    search part --resume && cmp part/autotune.json whole/autotune.json && cmp part/journal.jsonl whole/journal.jsonl
    rm -r part
done
search whole
echo "exit $?"
search whole --resume --seed 2 2>err
echo "exit $?"
cut -c1-90 err
sed '5s/runtime/Runtime/; 5s/ms/mz/' whole/journal.jsonl >other && cp other whole/journal.jsonl
search whole --resume
echo "exit $?"
search missing --resume
echo "exit $?"
