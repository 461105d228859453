# A folder is a search's only where what is in it proves that: a file of one of its names proves nothing.
search() { rocm-perf autotune --simulate $SOURCE/tests/data/tune/made.json --budget-evals 5 --quiet -o "$@" >/dev/null; echo "exit $?"; }
mkdir a b c
touch a/lock; echo mine >a/stdin; echo mine >a/autotune.json
search a; cat a/stdin a/autotune.json
echo mine >b/lock; search b; cat b/lock
mkdir c/builds; echo mine >c/builds/notes; search c; cat c/builds/notes
# An empty file is nobody's.
mkdir d; touch d/lock; search d; cat d/lock
# Without its journal nothing of a search is lost.
rm d/journal.jsonl
search d --resume
search d; ls d
