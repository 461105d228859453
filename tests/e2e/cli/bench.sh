# bench on the software device gives the model's constants back, and its file is what --ceilings takes. Here a few of the
# kernels; bench-all.sh has the others.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING
schema() { expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/$1.schema.json" "$2"; }
some=hbm_read,l1,lds,lds_latency,l2_latency,mfma_f16,fma_f32,atomics_one_word,launch,host_to_device,peer

expect 0 rocm-perf bench --device software:mi300x --only $some --repeats 2 -o bench.json
[ "$(head -1 out)" = 'SOFTWARE DEVICE: modelled time (detailed timing), not hardware time' ] || fail 'the first line'
says out 'AMD Instinct MI300X (software device, gfx942, 304 CUs) gives back '
says out 'not measured: there is one GPU'
[ "$(tail -1 out)" = 'Next: rocm-perf profile --roofline --ceilings bench.json ./program' ] || fail 'the last line'
schema bench bench.json
expect 0 python3 "$SOURCE/tests/e2e/cli/bench_check.py" bench.json ${some//,/ }

# The same again is the same, but for date and seconds: in JSON, on another number of threads, with the compiler.
expect 0 env HIPRTC_COMPILE_OPTIONS_APPEND=--nonsense rocm-perf bench --device software:mi300x --threads 1 --only lds,launch --json -o again.json
cmp out again.json || fail 'what --json prints is not the file'
expect 0 python3 "$SOURCE/tests/e2e/cli/bench_check.py" again.json lds launch
[ "$(json ceilings.lds_gbps again.json)" = "$(json ceilings.lds_gbps bench.json)" ] || fail 'other numbers'

# As ceilings: of the roofline, of the page, of traces that are there.
example vector_add
expect 0 rocm-perf profile --roofline --ceilings bench.json --device software:mi300x -o result ./vector_add
says out 'Modelled: HBM'
says out 'ceilings are modelled ones (--ceilings), as far as rocm-perf bench found them: AMD Instinct MI300X'
schema roofline result/roofline.json
[ "$(json kernels.0.ceilings.hbm_gbps result/roofline.json)" = "$(json ceilings.hbm_gbps bench.json)" ] || fail 'HBM of profile'
[ "$(json ceilings_from.date result/roofline.json)" = "$(json date bench.json)" ] || fail 'date'
expect 0 rocm-perf analyze --roofline --ceilings bench.json result
[ "$(json kernels.0.ceilings.lds_gbps out)" = "$(json ceilings.lds_gbps bench.json)" ] || fail 'LDS of analyze'
[ "$(json kernels.0.ceilings.l2_gbps out)" = 34406.4 ] || fail 'what was not measured'
expect 0 rocm-perf report result --ceilings bench.json -o page.html
says page.html '"ceilings_from"'

# Those of another GPU are refused before the program runs, and so are bad ones.
expect 3 rocm-perf profile --roofline --ceilings bench.json --device software:mi300a -o other ./vector_add
says err 'bench.json is of an AMD Instinct MI300X, and the results are of an AMD Instinct MI300A'
[ ! -e other ] || fail 'it ran'
head -c 300 bench.json >half.json
expect 3 rocm-perf profile --roofline --ceilings half.json --device software -o other ./vector_add
says err 'read ceilings half.json: line'
expect 2 rocm-perf profile --no-rocprof --ceilings bench.json ./vector_add

# A group that fails ends no other.
mkdir bin
ln -s "$BUILD/lib" "$BUILD/rocm-perf-replay" "$BUILD/rocm-perf-selftest" bin/
cp "$BUILD/rocm-perf" bin/bench
printf '#!/bin/sh\ncase "$*" in *" -o lds "*|*" -o memory "*) echo "rocm-perf: broken" >&2; exit 5 ;; esac\nexec "%s/rocm-perf" "$@"\n' "$BUILD" >bin/rocm-perf
chmod +x bin/rocm-perf
expect 5 bin/bench bench --device software --only lds,launch --repeats 1 -o part.json
says err 'bench: memory: rocm-perf profile (memory) ended with exit status 5: broken'
says out 'not measured: rocm-perf profile (memory)'
schema bench part.json
[ "$(json ceilings.lds_gbps part.json)" = null ] || fail 'a ceiling of what failed'
rm bin/rocm-perf-selftest
expect 4 bin/bench bench --device software --only launch
says err 'rocm-perf-selftest is not beside this program'

# A full disk, and Ctrl-C, which leaves the file of before.
expect 4 rocm-perf bench --device software --only launch -o /dev/full
says err '/dev/full'
cp bench.json before.json
mkdir tmp
TMPDIR=$PWD/tmp background rocm-perf bench --device software --only memory -o bench.json
bench=$!
for _ in $(seq 600); do pgrep -P $bench >/dev/null && break; sleep 0.1; done
for _ in $(seq 50); do [ -z "$(find tmp -name '*.hipi')" ] || break; sleep 0.1; done # the compiler works
kill -INT $bench
code=0; wait $bench || code=$?
[ $code = 130 ] || { cat out err; fail "exit status $code after Ctrl-C"; }
cmp bench.json before.json || fail 'Ctrl-C has changed the file'
[ ! -s out ] || fail 'a result after Ctrl-C'
[ -z "$(ls tmp)" ] || fail "the compiler's files are left: $(ls tmp)"
