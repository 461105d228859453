# What a folder of a search has to be, and what damage of its journal is found: one line each, with what helps.
search() { rocm-perf autotune --simulate $SOURCE/tests/data/tune/made.json --budget-evals 20 --quiet -o "$@"; echo "exit $?"; }
search whole
# A search that had ended has a head, which shows when the end of its journal is missing.
for lines in 0 1 5; do
    cp -r whole cut && head -n $lines whole/journal.jsonl >cut/journal.jsonl
    search cut --resume
    rm -r cut
done
cp -r whole cut && head -n 5 whole/journal.jsonl >cut/journal.jsonl && rm cut/journal.jsonl.head && search cut --resume
cp -r whole head && echo '{' >head/journal.jsonl.head && search head --resume
search other --seed 2 && cp whole/journal.jsonl.head other && search other --resume
# Without an answer there is nothing to be lost, so there is no head.
rocm-perf autotune --simulate $SOURCE/tests/data/tune/made.json --max-fraction 0.0001 --quiet -o small
[ ! -e small/journal.jsonl.head ] || echo 'a head'
search small
# Another command's journal, and what is none.
mkdir session && sed 's/"autotune"/"session"/' whole/journal.jsonl | python3 -c '
import hashlib, sys
before = "0" * 64
for line in sys.stdin:
    body = line[line.index("\"record\":") + 9:-2]
    before = hashlib.sha256((before + body).encode()).hexdigest()
    print("{\"sha256\":\"%s\",\"record\":%s}" % (before, body))' >session/journal.jsonl
search session --resume
mkdir -p folder/journal.jsonl && search folder --resume
# Folders that cannot be made, and files that cannot be written.
search whole/lock
mkdir -p locked/lock && search locked
(ulimit -f 8; trap '' XFSZ; search large)
search large --resume
