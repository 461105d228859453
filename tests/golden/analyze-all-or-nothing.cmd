# exit 2
# A roofline that is refused leaves the files of the result before as they are, and none of its own.
trace=$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db
rocm-perf analyze -o out "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" >/dev/null
before=$(cat out/* | sha256sum)
rocm-perf analyze -o out --arch gfx906 "$trace"
status=$?
ls -A out
[ "$(cat out/* | sha256sum)" = "$before" ] && echo 'as before'
rocm-perf analyze -o new --arch gfx906 "$trace" 2>/dev/null
ls -A
rocm-perf analyze -o out "$trace" >/dev/null
ls -A out
exit $status
