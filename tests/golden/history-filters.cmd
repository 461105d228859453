# exit 3
# check of one program and one configuration; near names where nothing matches.
data=$SOURCE/tests/data/compare
add() {
    sed "s/3\.001693/$4/; s/2\.996868/$4/; s/3\.01458/$4/" "$data/few.json" >r.json
    rocm-perf history add --db h.db --commit "c$1" --program "$2" --config "$3" --config opt=O3 --at "2026-10-$(printf %02d "$1")T00:00:00Z" r.json >/dev/null
}
for day in 1 2 3 4 5 6 7 8; do
    add $day './app train' block=64 3.000$((day * 7 % 5))
    add $day './app2' block=64 3.000$((day * 3 % 5))
    add $day './app2' block=128 $((day > 6 ? 4 : 3)).000$((day * 3 % 5))
done
try() { rocm-perf history "$@" --db h.db --kernel '' >out; code=$?; grep -E '^(slower|steady|undecided|faster)' out; echo "exit $code"; }
try check
try check --program ./app
try check --program ./app2 --config block=64
try check --program ./app2 --config 'block=1*' --config opt=O3
rocm-perf history list --db h.db --program './app*' --config block=128 | wc -l
try check --program ./ap2
try check --config blok=64
try check --program ./app --config block=128
rocm-perf history check --db h.db --program ./app --config block
rocm-perf history check --db h.db --program ./app3 --config block=65
# A list of nothing is an answer, and says what is near, too.
for command in list show export 'list --json'; do
    rocm-perf history $command --db h.db --program ./ap2
    echo "exit $?"
done
rocm-perf history list --db h.db --kernel zzz
# An empty name, as of a variable that is not set, is none.
rocm-perf history add --db h.db --program '' r.json
echo "exit $?"
# Names that are not like it are listed, not called near.
rocm-perf history check --db h.db --program zzzqqq --config q=1
rocm-perf history add --db bare.db --commit c1 r.json >/dev/null
rocm-perf history check --db bare.db --config block=64
