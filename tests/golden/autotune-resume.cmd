# However much of the journal a kill has left, the search ends with the same result.
space=$SOURCE/tests/data/tune/made.json
search() { rocm-perf autotune --simulate "$space" --workers 3 --budget-evals 40 --quiet -o "$@"; }
search whole
for bytes in 0 10 1500 4000 4001 9000 12345; do
    mkdir part && head -c $bytes whole/journal.jsonl >part/journal.jsonl
    search part --resume && cmp part/autotune.json whole/autotune.json && cmp part/journal.jsonl whole/journal.jsonl
    rm -r part
done
search whole
echo "exit $?"
# With other limits it ends as if it had had them from the beginning; what was run is not run again.
for more in '--budget-evals 60' '--budget-evals 12 --workers 1' '--patience 4 --seed 2' '--budget-time 9'; do
    search less $more && cp -r whole more && search more --resume $more && cmp less/autotune.json more/autotune.json
    search more --resume $more 2>err
    cat err
    rm -r less more
done
# Of another recording it is refused; one without an answer begins anew.
sed 's/MI100/MI101/; s/3\.6398/3.6399/' "$space" >other.json
cmp -s other.json "$space" && echo 'the same'
space=other.json search whole --resume
echo "exit $?"
mkdir begun && head -n 1 whole/journal.jsonl >begun/journal.jsonl
search begun --seed 2
sed '5s/runtime/Runtime/; 5s/ms/mz/' whole/journal.jsonl >other && cp other whole/journal.jsonl
search whole --resume
echo "exit $?"
search missing --resume
echo "exit $?"
# What cannot be written is found before.
rocm-perf autotune --simulate "$space" --quiet -o new --plot nowhere/plot.svg
echo "exit $?"
[ ! -e new ] || ls new
