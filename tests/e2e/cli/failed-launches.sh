# What HIP refuses to launch does not run, and is nowhere taken for fast.
. "$(dirname "$0")/../lib.sh"
export ROCM_PERF_DEVICE_TIMING=detailed # counts compare as intervals
example unchecked
profile() { expect "$1" rocm-perf profile --device software --runs "$2" -o "$3" ./unchecked "${@:4}"; }
profile 0 1 good 256
grep -q 'started no kernel' out && fail 'nothing failed'
[ "$(json launches.failed good/profile.json)" = 0 ] || fail 'launches.failed of a good run'
[ "$(json launches.calls good/profile.json)" = 2 ] || fail 'launches.calls'
profile 0 2 bad 2048
says out 'warning: 1 of 2 launch calls started no kernel: HIP refused them'
says out 'hipLaunchKernel of work(float*, int): hipErrorInvalidConfiguration'
profile 0 1 lds 256 70000
says out 'hipErrorInvalidValue'
says out '70000 bytes of dynamic'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" good/profile.json bad/profile.json
[ "$(json launches.runs_failed bad/profile.json)" = '[1, 1]' ] || fail 'runs_failed'
[ "$(json launches.failed_launches.0.symbol bad/profile.json)" = _Z4workPfi ] || fail 'symbol'
[ "$(json launches.failed_launches.0.block bad/profile.json)" = '[2048, 1, 1]' ] || fail 'block'
expect 0 rocm-perf profile --device software --runs 1 --no-hip-calls --quiet -o quiet ./unchecked 2048
says err '1 of 2 launch calls started no kernel'
profile 5 1 none 2048 0 only
says err '1 of 1 launch call started no kernel'
expect 1 rocm-perf isolate --device software --kernel '^work\(' -o capture ./unchecked 2048 0 only
says err 'made no dispatch that matches'
says err 'if HIP refused its launches, rocm-perf profile names them and the error'
expect 1 rocm-perf isolate --device software --kernel '^work\(' --dispatch 3 -o capture ./unchecked 256
says err 'if HIP refused its launches'

expect 1 rocm-perf compare good bad --gate 'runtime<=1.0'
says out 'undecided'
says err 'a kernel that ran before does not run now'
says err 'work(float*, int)'
expect 1 rocm-perf compare good bad --gate 'runtime<=1.0' --allow-missing
says err 'is undecided: HIP refused launches of one side'
expect 0 rocm-perf compare bad bad/trace_results.db --gate 'runtime<=1.0'
expect 0 rocm-perf analyze bad
says err '1 of 2 launch calls started no kernel'

expect 0 rocm-perf history add --db h.db --commit a --program p bad
says err 'it is kept, and not checked'
expect 0 rocm-perf history list --db h.db
says out 'INCOMPLETE'

# The fastest configuration is none whose work did not happen.
echo '{"BLOCK": [64, 1280, 1536, 2048]}' >space.json
expect 0 rocm-perf autotune --space space.json --device software --cmd-template './unchecked {BLOCK}' --max-fraction 0.99 -o s
grep -qE "^Best.*BLOCK=(1280|1536|2048)" out && fail "the best is what HIP refuses: $(cat out)"
grep -rq 'started no kernel' s || fail 'the reason is not kept'

# Nor where time is that of the process, or what the program prints: the warm-up shows it.
for objective in --no-rocprof '--output-regex [0-9.]+'; do
    rm -rf s
    expect 0 rocm-perf autotune --space space.json --device software --max-fraction 0.99 $objective -o s \
        --cmd-template 'sh -c "./unchecked {BLOCK} && echo {BLOCK} | sed s/.*/3.5/"' --repeats 1:1 --top 1
    says out 'BLOCK=64'
    grep -qE "BLOCK=(1280|1536|2048)" out && fail "$objective: what HIP refuses is fast: $(cat out)"
    says out '2 failed'
    grep -rq 'started no kernel' s || fail "$objective: the reason is not kept"
    grep -q 'nor whether HIP has refused launches' err && fail "$objective: it has looked"
done
rm -rf s
expect 0 rocm-perf autotune --space space.json --device software --max-fraction 0.99 --no-rocprof --warmup 0 -o s \
    --cmd-template './unchecked {BLOCK}' --repeats 1:1 --top 1
says err 'nor whether HIP has refused launches'
# A program that cannot be watched is timed all the same.
rm -rf s
expect 0 rocm-perf autotune --space space.json --device software --max-fraction 0.99 --no-rocprof -o s --repeats 1:1 --top 1 \
    --cmd-template "sh -c '[ -z \"\$HSA_TOOLS_LIB\" ] && sleep 0.{BLOCK}'"
