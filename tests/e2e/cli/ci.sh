# A change of a repository is held against its base: a good, a slow, a wrong and a racy one, and one that does not build, have
# the right verdicts, and nothing of the user's tree changes.
. "$(dirname "$0")/../lib.sh"
. "$SOURCE/tests/e2e/ci_repository.sh"

# Good: a line that makes nothing slower. It is not committed, and needs a new file.
change 's/    float sum = 0;/#include "zero.h"/'
sed -i 's|"build": "[^"]*"|"build": "hipcc -O3 -g sums.hip -o sums"|' rocm-perf.json
echo 'float sum = 0;' >zero.h
ci 0 --history ../history.db
says ../out "all 11 gates hold"
says ../out "Software device: times are modelled"
[ "$(json head.changed ../result/ci.json)" = true ] || fail "changed"
good=$(names)
grep -q '<html' ../result/programs/sums/compare.html || fail "no page"
rm zero.h
git checkout -q base -- rocm-perf.json

# Slow.
change 's/sum += in\[row \* n + i\];/for (int k = 0; k < 4; k++) sum += ((volatile const float *)in)[row * n + i] \/ 4;/'
GITHUB_ACTIONS=true ci 1 --history ../history.db
grep -Eq '^\* `sums`: ([0-9]+\.[0-9] % slower|[0-9.]+x slower) than base \([0-9.]+ -> [0-9.]+ us\), limit 2 %: `row_sums\(.*` at `sums.hip:7`$' ../result/comment.md || { cat ../result/comment.md; fail "slow"; }
[ "$(outcome time) $(outcome output) $(outcome races)" = "fails holds holds" ] || fail "slow: gates"
# The history tells the changes of a pull request from the branch, and its page says what it is.
says ../out 'times over commits: ../result/history.html'
[ "$(rocm-perf history list --db ../history.db --config "branch=$(git symbolic-ref --short HEAD)" | wc -l)" = 2 ] || fail "branch: $(rocm-perf history list --db ../history.db)"
grep -q '<h1 id="title">Times over commits</h1>' ../result/history.html && grep -q '<svg class="times"' ../result/history.html || fail 'history.html'
[ "$(names)" = "$good" ] || fail "names changed: $(names)"
grep -q '^::error file=sums.hip,line=7,title=rocm-perf%3A sums time::sums: ' ../out || { cat ../out; fail "annotation"; }
[ "$(rocm-perf history list --db ../history.db --program sums --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["results"]))')" = 2 ] || fail "history"

# Wrong.
change 's/sum += in/sum = in/'
ci 1
[ "$(outcome output) $(outcome run)" = "fails holds" ] || fail "wrong: gates"
says ../result/comment.md '`sums`: its output is not that of base: `standard output, line 1`'
says ../result/comment.md 'base: 64 rows, total '
[ "$(names)" = "$good" ] || fail "names changed: $(names)"
grep -q '^::' ../out && fail "a command for nobody"

# Racy, with the same output; and a base with the same race excuses it. With several threads of the device the output is another one
# now and then, as it may be on a GPU.
export ROCM_PERF_DEVICE_THREADS=1
change 's/atomicAdd(rows, 1);/*rows = *rows + 1;/'
ci 1
[ "$(outcome output) $(outcome races) $(outcome uninit) $(outcome bounds)" = "holds fails holds holds" ] || fail "racy: gates"
grep -q '^\* `sums`: [12] findings\? that base has not: `race in global of row_sums(.*` at `sums.hip:24`$' ../result/comment.md || { cat ../result/comment.md; fail "racy"; }
[ "$(names)" = "$good" ] || fail "names changed: $(names)"
save racy
git tag racy
sed -i 's/float sum = 0;/float sum = 0.0f;/' sums.hip
ci 0 --base racy
says ../result/comment.md "which the base has, too"
# Nobody knows what the base has whose own checks come to no end.
config ', "checks": {"uninit": false, "bounds": false}, "limits": {"time": null}'
sed -i 's|\["./sums"\]|["sh", "-c", "[ ! -e once ] \|\| case $PWD in */base) exit 3 ;; esac; : >once; exec ./sums"]|' rocm-perf.json
ci 6 --base racy
says ../result/comment.md "and the base's own checks came to no end"
unset ROCM_PERF_DEVICE_THREADS
git reset -q --hard base

# Builds that fail: of the head with the place, of the base with its name.
config "$quick"
change 's/float sum = 0;/float sum = zero;/'
GITHUB_ACTIONS=true ci 1
grep -q "^::error file=sums.hip,line=11,title=rocm-perf%3A build build head::build: the head does not build: .*undeclared identifier 'zero'" ../out || { cat ../out; fail "build"; }
[ "$(outcome "build head") $(outcome run)" = "fails skipped" ] || fail "build: gates"
save broken
git tag broken
git checkout -q base -- sums.hip
ci 6 --base broken
says ../out "the base does not build"
says ../out "(this is the base, not the change)"
[ "$(outcome "build base") $(outcome run) $(outcome output)" = "undecided holds undecided" ] || fail "base: gates"

# Warm timing, by the option and by the configuration: results name it.
change 's/float sum = 0;/float sum = 0.0f;/'
config "$quick"
ci 0 --timing warm
json timing ../result/ci.json | grep -q '^warm (version [0-9]' || fail "warm: $(json timing ../result/ci.json)"
says ../out 'times are modelled (warm (version '
config ', "limits": {"time": 2}, "sources": ["sums.hip"], "checks": {"races": false, "uninit": false, "bounds": false}' ', "timing": "warm"'
ci 0
says ../result/comment.md 'warm (version '
[ "$(outcome time) $(outcome kernels)" = "holds holds" ] || fail "warm: $(cat ../out)"
git checkout -q base -- . && git reset -q --hard base

# A signal ends it at any time, and the trees go.
for after in 0.1 0.3 2; do
    rocm-perf ci --build "[ $after != 2 ] || sleep 60; $builder" --base base --device software -o ../result >../out 2>../err </dev/null &
    sleep "$after"
    kill -INT $!
    status=0
    wait $! || status=$?
    [ "$status" = 130 ] || { cat ../err; fail "interrupted: $status"; }
    [ "$(git worktree list | wc -l)" = 1 ] && [ ! -e .git/worktrees ] && [ -z "$(ls ../tmp)" ] || fail "interrupted after $after s: $(git worktree list; ls ../tmp)"
done
