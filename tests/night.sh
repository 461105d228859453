# Shared by the parts of ./check --night, which are the executables of tests/night: the second line of each says what it
# is. Sourced, not run. A part runs in the folder of the sources, when the plain tree is built, with BUILD, ROCM_PERF_ROCM
# and RP_SEED set; it prints what it likes, and may end with "N passed, N failed" as ./check does. It can be run by itself.
set -euo pipefail
case ${1:-} in
    --help | -h) sed -n '2s/^# *//p' "$0"; exit 0 ;;
    ?*) printf '%s: no options but --help\n' "${0##*/}" >&2; exit 2 ;;
esac
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
. tools/common.sh
. tests/tiers.sh
export BUILD=${BUILD:-$PWD/build} RP_SEED=${RP_SEED:-$(date +%Y%m%d)}
ROCM_PERF_ROCM=${ROCM_PERF_ROCM:-$(./setup --print-rocm)}
export ROCM_PERF_ROCM
passed=0 failed=0

# tests DIR [ctest options]
tests() {
    local dir=$1 log summary bad total
    shift
    log=$dir/night-${0##*/}.log
    ctest --test-dir "$dir" -j "$(nproc)" --timeout 1800 --output-on-failure "$@" 2>&1 | tee "$log" || true
    summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" | tail -n 1)
    [ -n "$summary" ] || { failed=$((failed + 1)); return; }
    bad=$(sed -E 's/.*passed, ([0-9]+) tests? failed.*/\1/' <<<"$summary")
    total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$summary")
    passed=$((passed + total - bad)) failed=$((failed + bad))
}

# one COMMAND...: a test that is no test of ctest
one() {
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

finish() {
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" = 0 ]
}
