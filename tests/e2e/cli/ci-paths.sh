# The trees of ci are at the same place in each run, so that a compiler's cache finds what it has; runs at the same time, a
# run that was killed, and what somebody else put at that place get into nobody's way.
. "$(dirname "$0")/../lib.sh"
. "$SOURCE/tests/e2e/ci_repository.sh"
export LOG=$SCRATCH/log
# Builds end with 1, so that nothing runs behind them: exit status 1, as the head does not build.
build='pwd >>"$LOG"; false'
ci_paths() { : >"$LOG"; ci 1 --build "$build" "$@"; sort "$LOG"; }

first=$(ci_paths)
[ "$(echo "$first" | wc -l)" = 2 ] && [ "$(ci_paths)" = "$first" ] || fail "paths differ from run to run: $first"
case $first in "$(realpath ../tmp)"/rocm-ci-???????0/base*) ;; *) fail "the place: $first" ;; esac
place=${first%%0/base*}

# A compiler's cache, a real one: all that the second run compiles is there.
if command -v ccache >/dev/null; then
    export CCACHE_DIR=$SCRATCH/ccache CCACHE_NODIRECT=1
    unset CCACHE_BASEDIR CCACHE_NOHASHDIR
    echo 'int f(int x) { return 2 * x; }' >f.c
    save ccache
    build='ccache cc -g -c f.c -o f.o && false'
    ci 1 --base HEAD --build "$build"
    ccache --zero-stats >/dev/null
    ci 1 --base HEAD --build "$build"
    ccache --print-stats >stats
    grep -q '^cache_miss	0$' stats && grep -q '^preprocessed_cache_hit	2$' stats || fail "the compiler's cache: $(cat stats)"
    rm stats
fi

# At the same time: another place, and both end as alone.
build='pwd >>"$LOG.slow"; touch "$LOG.runs"; while [ ! -e "$LOG.go" ]; do sleep 0.1; done; false'
rocm-perf ci --base base --device software --build "$build" -o ../other >../out2 2>../err2 </dev/null &
other=$!
until [ -e "$LOG.runs" ]; do sleep 0.1; done
: >"$LOG"
status=0
rocm-perf ci --base base --device software --build 'pwd >>"$LOG"; false' -o ../result >../out 2>../err </dev/null || status=$?
[ "$status" = 1 ] && [ "$(sort "$LOG")" = "${place}1/base
${place}1/head" ] || fail "beside another run: $status, $(cat "$LOG" ../err)"
touch "$LOG.go"
status=0
wait "$other" || status=$?
[ "$status" = 1 ] && [ "$(sort "$LOG.slow")" = "$first" ] || fail "the other run: $status, $(cat "$LOG.slow" ../err2)"
[ -z "$(ls ../tmp)" ] || fail "left: $(ls ../tmp)"

# Killed: while something that it started runs on, its place is not free; then it is, and the notes of its trees go.
rm -f "$LOG".*
rocm-perf ci --base base --device software --build 'trap "" TERM; touch "$LOG.runs"; while [ ! -e "$LOG.go" ]; do sleep 0.1; done' -o ../other >../out2 2>&1 </dev/null &
other=$!
until [ -e "$LOG.runs" ]; do sleep 0.1; done
kill -9 "$other"
wait "$other" 2>/dev/null || true
: >"$LOG"
rocm-perf ci --base base --device software --build 'pwd >>"$LOG"; false' -o ../result >../out 2>../err </dev/null || true
[ "$(sort "$LOG" | head -1)" = "${place}1/base" ] || fail "a killed run's program lost its tree: $(cat "$LOG" ../err)"
touch "$LOG.go"
for wait in $(seq 100); do flock -n "${place}0" true && break || sleep 0.1; done
build='pwd >>"$LOG"; false'
[ "$(ci_paths)" = "$first" ] || fail "after a killed run: $(cat "$LOG" ../err)"

# What others made there is not used: a folder that all may write to, a link, a file.
mkdir -m 777 "${place}0"
ln -s "$SCRATCH" "${place}1"
: >"${place}2"
: >"$LOG"
rocm-perf ci --base base --device software --build "$build" -o ../result >../out 2>../err </dev/null || true
[ "$(sort "$LOG" | head -1)" = "${place}3/base" ] || fail "a place of others: $(cat "$LOG" ../err)"
[ -z "$(ls "${place}0")" ] && [ -L "${place}1" ] && [ -f "${place}2" ] || fail "what others made has changed"
rm -r "${place}0" "${place}1" "${place}2"

# A colon would end the folder of the hipcc that is offered in $PATH.
: >"$LOG"
rocm-perf ci --base base --device software --build 'command -v hipcc >>"$LOG"; false' -o '../re:sult' >../out 2>../err </dev/null || true
[ "$(wc -l <"$LOG")" = 2 ] || fail "no hipcc: $(cat "$LOG" ../err)"

# Below the tree itself, and relative: nothing of it is taken for the user's.
mkdir inside
TMPDIR=inside rocm-perf ci --base base --device software --build "$build" -o ../result >../out 2>../err </dev/null || true
[ "$(json head.changed ../result/ci.json)" = false ] && [ -z "$(ls inside)" ] || fail "\$TMPDIR in the repository: $(cat ../out ../err; ls inside)"
rmdir inside
