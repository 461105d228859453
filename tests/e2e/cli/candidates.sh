# Another kernel in the place of the captured one: what fits and is right is taken, all else is not.
. "$(dirname "$0")/../lib.sh"
example candidates
export ROCM_PERF_DEVICE_TIMING=off
export ASAN_OPTIONS=verify_asan_link_order=0 # for a rocm-perf built with it: we preload in front

# made NAME N [OPTION...]: NAME.hsaco
made() {
    local name=$1 number=$2
    shift 2
    rocm-perf hipcc --genco --offload-arch=gfx942 -nogpuinc -nogpulib -DCANDIDATE="$number" "$@" \
        "$SOURCE/tests/e2e/programs/candidates.hip" -o "$name.hsaco" >&2 || fail "cannot compile $name"
}

# tried STATUS NAME N [OPTION...]
tried() {
    local status=$1 name=$2 number=$3
    shift 3
    made "$name" "$number"
    expect "$status" rocm-perf replay full-vm --capture-dir cap --hsaco "$name.hsaco" "$@"
}

# The result stands there already when the captured dispatch begins.
expect 0 rocm-perf isolate --kernel '^target' --dispatch 2 --device software -o cap ./candidates

tried 0 other_way 1 --iterations 2 --json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay.schema.json" out >/dev/null || fail "JSON"
[ "$(json verify.equal out)" = true ] || fail "the same result in another way"
[ "$(json candidate.written_bytes out)" = 19996 ] || { cat out; fail "4999 floats are written"; }
[ "$(json candidate.poisoned_bytes out)" = 19996 ] || fail "all of them can be poisoned"
[ "$(json candidate.leftovers.tried out)" = true ] || fail "other contents of LDS are tried"
[ "$(json candidate.checked_runs out)" = 7 ] || fail "each run is checked"
tried 1 nothing 2 --json
[ "$(json candidate.wrong_bytes out)" = 19996 ] || fail "a kernel that does nothing"
tried 1 half 3 --json
[ "$(json candidate.wrong_bytes out)" = 9756 ] || fail "half of the grid: 4999 - 2560 floats are missing"
tried 1 stale 4 --compare f32,rel=1e-3
tried 1 not_number 10 --compare f32,rel=1
says out "4 bytes wrong, 0 bytes changed"
tried 1 minimum 40 --inputs none # right with NaN there, and with the result
says out "after 3 of 6 runs"
tried 1 outside 11
says out "0 bytes wrong, 4 bytes changed"
tried 1 behind 29
says out "0 bytes wrong, 4 bytes changed"
expect 1 rocm-perf replay compare other_way.hsaco behind.hsaco --capture-dir cap
says out "with the captured inputs, the output of B differs from the captured one"
tried 1 input 14 --compare f32,rel=1
says out "0 bytes wrong, 4 bytes changed"
tried 1 variable 15
says out "1 of variables"
tried 1 once 13
says out "after 3 of 6 runs"

# LDS, scratch and registers begin as zeros here, and as anything on a GPU.
for left in 43 44 45; do
    tried 1 "left$left" $left --inputs none
    says out "after 1 of 6 runs"
    says out "it was right where LDS, scratch and registers begin as zeros"
done
expect 1 rocm-perf replay compare other_way.hsaco left43.hsaco --capture-dir cap
says out "it reads what it has not written"

expect 0 env ROCM_PERF_DEVICE_LEFTOVERS=7 rocm-perf run --device software ./candidates
expect 2 env ROCM_PERF_DEVICE_LEFTOVERS=0 rocm-perf run --device software ./candidates
says err "ROCM_PERF_DEVICE_LEFTOVERS=0: use a whole number from 1"

# From other inputs the captured kernel says what is right.
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco other_way.hsaco --json
[ "$(json candidate.other_inputs.equal out)" = true ] || { cat out; fail "the same with other inputs"; }
for kind in numbers signs integers order arguments half_grid odd_grid one_group; do
    [ "$(json candidate.other_inputs.$kind.tried out)" = true ] || { cat out; fail "other $kind are tried"; }
done
[ "$(json candidate.other_inputs.numbers.telling_bytes out)" -gt 10000 ] || fail "results are other ones then"
[ "$(json candidate.other_inputs.odd_grid.changed out)" = 5 ] || { cat out; fail "15 of 20 workgroups"; }
tried 1 copied 18
says out "memory is right after all 6 runs"
says out "it does not give what the captured kernel gives"
tried 1 built_in 46
says out "memory is right after all 6 runs"
says out "with other arguments (2 values) it does not give what the captured kernel gives"
tried 1 this_grid 50
says out "memory is right after all 6 runs"
says out "with half of the workgroups (10 workgroups less) it does not give what the captured kernel gives"
expect 1 rocm-perf replay compare other_way.hsaco this_grid.hsaco --capture-dir cap
says out "with half of the workgroups, the output of B differs from the captured kernel's"
tried 1 modest 47
says out "with inputs of other signs and sizes"
expect 1 rocm-perf replay compare other_way.hsaco modest.hsaco --capture-dir cap
says out "with inputs of other signs and sizes than the captured ones, the output of B differs"
tried 1 holds 48 --inputs none # what is there and may be a result
says out "after 1 of 6 runs"
tried 1 beyond 42
says out "memory is right after all 6 runs"
says out "it does not give what the captured kernel gives"
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco copied.hsaco --inputs none
says out "other inputs were not tried"
expect 1 rocm-perf replay compare other_way.hsaco copied.hsaco --capture-dir cap --json
[ "$(json verdict out)" = "different output" ] || fail "compare with a copied answer"
[ "$(json b.other_inputs.equal out)" = false ] || fail "B is the copy"
tried 1 picky 19
says err "was ended by signal"
says err "--inputs none leaves them out"
[ ! -s out ] || fail "a result of what crashed"
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco picky.hsaco --inputs none
# One that crashes with the captured inputs, or does not end with them, is no substitute.
tried 1 crashes 22
says err "the kernel of crashes.hsaco crashed: it was ended by signal"
[ ! -s out ] || fail "a result of what crashed"
expect 1 rocm-perf replay compare other_way.hsaco crashes.hsaco --capture-dir cap --json
says err "B: the kernel of crashes.hsaco crashed"
expect 1 rocm-perf replay compare crashes.hsaco other_way.hsaco --capture-dir cap
says err "A: the kernel of crashes.hsaco crashed"
made hangs 23
begun=$SECONDS
expect 1 rocm-perf replay compare other_way.hsaco hangs.hsaco --capture-dir cap
[ $((SECONDS - begun)) -lt 60 ] || fail "a kernel that does not end is waited for too long"
says err "B: the kernel of hangs.hsaco does not end within 16777216 instructions"
[ ! -s out ] || fail "a result of what does not end"
# Where the captured kernel is the one that ends its program, that is left out.
expect 0 rocm-perf isolate --kernel '^picky$' --device software -o other ./candidates
expect 0 rocm-perf replay full-vm --capture-dir other --hsaco other/kernel.hsaco --json
says err "once more without: results that were there before"
says err "does not come to its end with other inputs"
[ "$(json candidate.poisoned_bytes out)" = 256 ] || fail "what it survives is tried"
[ "$(json candidate.other_inputs.equal out)" = null ] || fail "other inputs were tried"

# What is zero, or small, at the time of the capture may be another value later.
while read -r -u 3 kernel wrong number kind text; do
    expect 0 rocm-perf isolate --kernel "^$kernel" --device software -o "$kernel" ./candidates
    made "$wrong" "$number"
    expect 1 rocm-perf replay full-vm --capture-dir "$kernel" --hsaco "$wrong.hsaco"
    says out "memory is right after all 6 runs"
    says out "$text"
    expect 0 rocm-perf replay full-vm --capture-dir "$kernel" --hsaco other_way.hsaco --json
    [ "$(json candidate.other_inputs.$kind.tried out)" = true ] || { cat out; fail "$kernel: $kind are tried"; }
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay.schema.json" out >/dev/null || fail "JSON"
done 3<<'EOT'
layer no_bias 51 zeros with numbers in place of zeros
sums narrow 52 large with large whole numbers
quotients shift 53 negatives with whole numbers of other signs
corner square 54 unequal with equal arguments made unequal
rotated again 55 in_place with results in the place of an input (argument 2 is argument 1)
EOT

# Whether it ends with other inputs does not depend on how fast the machine is: code that is
# interpreted, by one thread, is.
expect 0 rocm-perf isolate --kernel '^counted$' --device software -o counted ./candidates
begun=$SECONDS
expect 0 rocm-perf replay full-vm --capture-dir counted --hsaco other_way.hsaco --json
[ $((SECONDS - begun)) -lt 60 ] || fail "a kernel that hardly ends is waited for too long"
says out "the captured kernel does not end with them"
[ "$(json candidate.other_inputs.large.tried out)" = false ] || { cat out; fail "more than 2^30 rounds"; }
[ "$(json candidate.other_inputs.integers.tried out)" = true ] || { cat out; fail "a round more or less"; }
python3 -c 'import json; print(json.load(open("out"))["candidate"])' >fast_host
expect 0 env ROCM_PERF_DEVICE_JIT=off ROCM_PERF_DEVICE_THREADS=1 \
    rocm-perf replay full-vm --capture-dir counted --hsaco other_way.hsaco --json
python3 -c 'import json; print(json.load(open("out"))["candidate"])' | cmp - fast_host ||
    fail "a slower machine tries something else"

# Which of two is faster: by modelled time here, and only if both are right.
made slower 17
made same 0
compared() {
    local status=$1
    shift
    expect "$status" env -u ROCM_PERF_DEVICE_TIMING rocm-perf replay compare "$@" --capture-dir cap
}
compared 1 same.hsaco slower.hsaco --json --gate faster
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay_compare.schema.json" out >/dev/null || fail "JSON"
[ "$(json verdict out)" = slower ] || { cat out; fail "a kernel that does more"; }
rocm-perf compare out >told || fail "compare does not read it"
says told 'slower'
[ "$(json environment.device out)" = software ] || fail "the device is said"
python3 - out <<'EOF' || fail "the ratio is not that of the times"
import json, statistics, sys
r = json.load(open(sys.argv[1]))
ratios = [statistics.median(b["a_us"]) / statistics.median(b["b_us"]) for b in r["blocks"]]
assert len(ratios) == 1 and not r["a_to_a_blocks"]  # modelled times repeat
assert r["blocks"][0]["a_us"][0] == r["blocks"][0]["a_us"][1] and len(r["blocks"][0]["b_us"]) == 2
ratio = r["ratio"]
assert ratio["level"] == 1 and ratio["low"] == ratio["high"]
assert min(ratios) - 1e-3 < ratio["low"] <= ratio["estimate"] <= ratio["high"] < max(ratios) + 1e-3
assert abs(r["a"]["median_us"] / r["b"]["median_us"] - ratio["estimate"]) < 1e-2 and ratio["high"] < 0.99
EOF
# One that keeps its result in a variable for the next run is wrong with other inputs, and gains nothing.
made cached 20
compared 1 same.hsaco cached.hsaco
says out "cached.hsaco: with other inputs"
compared 0 same.hsaco cached.hsaco --inputs none
says out "slower than A"
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf replay full-vm --timing counts --capture-dir cap --hsaco cached.hsaco --inputs none --iterations 2 --json
python3 -c 'import json; t = json.load(open("out"))["timing"]; assert t["min"] == t["max"] > 2, t' || fail "each run computes"
tried 1 scribbles 21
says err "the code of scribbles.hsaco is other than it was loaded"
compared 1 same.hsaco scribbles.hsaco
says err "B: the code of scribbles.hsaco is other than it was loaded"
tried 1 erases 26 --iterations 2 --inputs none
says err "the code of erases.hsaco is other than it was loaded"
compared 1 same.hsaco erases.hsaco --inputs none # as often as it runs in a block
says err "B: the code of erases.hsaco is other than it was loaded"
made arguments 27 -DWORD=1030
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco arguments.hsaco
says err "the kernel of arguments.hsaco crashed" # there is no memory behind their page
made arguments 27 -DWORD=6
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco arguments.hsaco
says err "the kernel of arguments.hsaco writes into its own arguments"
# The captured code where the program had it, which no kernel runs from.
code=$(python3 - <<'EOT'
import json, struct
elf = open("cap/kernel.hsaco", "rb").read()
at, size, count = *struct.unpack_from("<Q", elf, 32), *struct.unpack_from("<HH", elf, 54)
headers = [struct.unpack_from("<IIQQ", elf, at + i * size) for i in range(count)]
print(int(json.load(open("cap/dispatch.json"))["kernel"]["load_base"], 0) +
      next(h[3] for h in headers if h[0] == 1 and h[1] & 1))
EOT
)
made copy 30 -DNOTE="$code"
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco copy.hsaco
says err "writes into the captured code object"
made late 28
compared 1 same.hsaco late.hsaco --inputs none
says out "B reads a clock, which A does not"
for ((turn = 0; turn < 80; turn++)); do # until it does so in a timed run, and in none of its first ones
    compared 1 same.hsaco late.hsaco --inputs none --check none
    ! grep -q "after many runs A or B has changed memory" out || break
    says out "B is wrong; not timed: "
done
says out "by A or B: 0 bytes wrong, 4 bytes changed"
made clocked 56
compared 0 clocked.hsaco clocked.hsaco --json --inputs none
[ "$(json rule.runs_per_block out)" = 4 ] || { cat out; fail "two times by a clock may be the same by chance"; }
compared 0 slower.hsaco same.hsaco --gate faster
says out "x faster than A ("
says out "modelled time (detailed), not that of a GPU"
compared 0 slower.hsaco same.hsaco --json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay_compare.schema.json" out >/dev/null || fail "JSON"
python3 - out <<'EOF' || { cat out; fail "times with other inputs"; }
import json, sys
r = json.load(open(sys.argv[1]))
others = {o["inputs"]: o for o in r["other_ratios"]}
assert {"numbers", "signs", "integers", "order", "arguments"} <= set(others), others
assert all(o["low"] > 1.01 for o in others.values() if o["demanded"]) and not others["arguments"]["demanded"]
EOF
# One that recognises the captured inputs is right everywhere, and fast for these only.
made known 49
compared 6 slower.hsaco known.hsaco --gate faster --margin 5
says out "B is faster with the captured values only"
compared 0 slower.hsaco known.hsaco --margin 5 --json
[ "$(json undecided_by out)" = values ] || { cat out; fail "fast for the captured values only"; }
compared 1 same.hsaco other_way.hsaco --gate faster
says out "No difference: B is as fast as A"
says out "kinds of other inputs, too (-v: which)"
! grep -q 'Next:\|same.hsaco: with' out || { cat out; fail 'more than is asked for'; }
compared 0 same.hsaco other_way.hsaco -v
says out "other_way.hsaco: with other arguments (2 values) it gives what the captured kernel gives"
compared 0 same.hsaco other_way.hsaco --gate not-slower
# From counts, times are intervals: no verdict where these overlap.
compared 6 same.hsaco other_way.hsaco --gate faster --timing counts
says out "Undecided whether B is faster or slower than A: the bounds of both times overlap: use --timing detailed"
says out "Next: rocm-perf replay compare --timing detailed same.hsaco other_way.hsaco --gate faster --capture-dir cap"
compared 0 same.hsaco other_way.hsaco --json --timing counts
[ "$(json verdict out) $(json undecided_by out)" = 'undecided bounds' ] || { cat out; fail 'bounds overlap'; }
python3 - out <<'EOF' || { cat out; fail 'the interval is not that of the bounds'; }
import json, sys
r = json.load(open(sys.argv[1]))["ratio"]
assert 0 < r["low"] < 1 < r["high"] and r["level"] == 1, r
EOF
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay_compare.schema.json" out >/dev/null || fail "JSON"
compared 1 same.hsaco half.hsaco --gate not-slower # is faster
says out "B is wrong; not timed: with the captured inputs, the output of B differs"
compared 1 once.hsaco same.hsaco --json
[ "$(json verdict out)" = "different output" ] || fail "A is wrong"
[ "$(json a.wrong_runs out)" = 3 ] || { cat out; fail "A is wrong from the second time on"; }
[ "$(json blocks out)" = "[]" ] || fail "times of what is wrong"
expect 4 rocm-perf replay compare same.hsaco same.hsaco --capture-dir cap --cache warm
says err "caches of a modelled dispatch are empty"
expect 0 rocm-perf replay full-vm --capture-dir cap --cache cold --json
[ "$(json execution.cache out)" = cold ] || fail "cold"

# Near enough is for the user to say.
tried 1 nearly 12
named=$(sed -n 's/.* ulp off: .*--compare \(f32,ulp=[0-9]*\) .*/\1/p' out | sort -t= -k2n | tail -n 1)
[ -n "$named" ] || { cat out; fail "the tolerance that would do is not named"; }
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco nearly.hsaco --compare "$named"
for rule in f32,rel=1e-5 f32,abs=1e-3 f32,ulp=20; do
    expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco nearly.hsaco --compare $rule
done
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco nearly.hsaco --compare f32,rel=1e-8,ulp=1

# What does not fit is not run.
refused() {
    local text=$1
    shift
    tried 1 "$@"
    says err "$text"
    [ ! -s out ] || fail "a result beside the refusal"
}
refused "it has no kernel target.kd" misnamed 5
refused "it takes 5 arguments, the captured one 4" one_more 6
refused "its argument 4 is at offset 24, that of the captured one at 20" wider 7
refused "it needs 66048 bytes of LDS, with what the launch adds, and can have 65536" greedy 8
refused "it is for workgroups of at most 128 work-items, the captured ones have 256" small 9
# How many workgroups there are is known, though the captured kernel does not ask for it.
tried 0 grid 16
rocm-perf hipcc --genco --offload-arch=gfx90a -nogpuinc -nogpulib -DCANDIDATE=1 "$SOURCE/tests/e2e/programs/candidates.hip" -o gfx90a.hsaco
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco gfx90a.hsaco
says err "it has no code for gfx942"
made bare 1 --no-gpu-bundle-output
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco bare.hsaco
head -c 3000 bare.hsaco >cut.hsaco
expect 3 rocm-perf replay full-vm --capture-dir cap --hsaco cut.hsaco
expect 3 rocm-perf replay full-vm --capture-dir cap --hsaco nowhere.hsaco

# A kernel whose own runs differ says how near is near enough; one that stores the clock does not.
example memories
mkdir dumps
rm -rf cap
expect 0 rocm-perf isolate --kernel target_turns --device software -o cap ./memories varying dumps
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco --json
python3 - out <<'EOF' || { cat out; fail "a tolerance from its own runs"; }
import json, re, sys
c = json.load(open(sys.argv[1]))["candidate"]
assert 0 < int(re.fullmatch("f32,ulp=([0-9]+),normal", c["compare"])[1]) < 1000 and c["compare_runs"] == 6
EOF
tried 0 in_turn 24
tried 1 other_key 25
says out "4 bytes wrong, 0 bytes changed"
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco --compare exact
says err "or leave that out"
rm -rf cap
expect 0 rocm-perf isolate --kernel target_clock --device software -o cap ./memories varying dumps
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco
says err "what varies is not near"

# Functions whose addresses are in memory: those of the captured kernel would run. What may call
# anything takes all arguments of the runtime, and replays if it does not ask the host by them.
rm -rf cap
expect 0 rocm-perf isolate --kernel target_prints --device software -o cap ./memories prints dumps
says out "not replayable: the kernel cannot be replayed: it calls the host (printf, malloc or assert)"
cat >asks.hip <<'EOF'
#include <cstdio>
#include <hip/hip_runtime.h>

typedef float (*function)(float);

__global__ void target_calls(function *, const float *in, float *out)
{
    printf("%f\n", out[threadIdx.x] = in[threadIdx.x]);
}
EOF
rocm-perf hipcc --genco --offload-arch=gfx942 asks.hip -o asks.hsaco
rm -rf cap
expect 0 rocm-perf isolate --kernel target_calls --device software -o cap ./memories calls dumps
says out "replayed: deterministic"
grep -q hidden_hostcall_buffer cap/kernel.hsaco || fail "no argument by which the host could be asked"
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco asks.hsaco
says err "the kernel of asks.hsaco cannot be replayed: it calls the host (printf, malloc or assert), which nobody answers here (hidden_hostcall_buffer)"
expect 1 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco
says err "is an address in the captured code object"
says err "it would run functions of the captured kernel in place of its own"
[ ! -s out ] || fail "a result of functions of another kernel"

# What a dispatch before has copied there already is found to be written, also where flags decide.
rm -rf cap
expect 0 rocm-perf isolate --kernel target_copies --dispatch 2 --device software -o cap ./memories copies dumps
tried 1 counts 41 --inputs none --json
[ "$(json candidate.wrong_bytes out)" = 1024 ] || { cat out; fail "what was copied before"; }
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco --inputs i32 --json
[ "$(json candidate.other_inputs.equal out)" = true ] || { cat out; fail "copies of other words"; }
[ "$(json candidate.written_bytes out)" = 2052 ] || { cat out; fail "memory, a count, and a variable are written"; }
[ "$(json candidate.blind_bytes out)" = 1024 ] || { cat out; fail "nothing can be told by a variable that holds its result"; }

# So is what a dispatch before has sorted already, and single bytes of words.
rm -rf cap
expect 0 rocm-perf isolate --kernel target_sorts --dispatch 2 --device software -o cap ./memories sorts dumps
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco --inputs none --json
[ "$(json candidate.written_bytes out)" = 2052 ] || { cat out; fail "keys, pixels, and a count are written"; }
[ "$(json candidate.blind_bytes out)" = 2048 ] || { cat out; fail "keys and pixels hold their results"; }
compared 6 cap/kernel.hsaco cap/kernel.hsaco --gate not-slower
says out "holds its results already"
compared 0 cap/kernel.hsaco cap/kernel.hsaco --json
[ "$(json undecided_by out)" = blind ] || { cat out; fail "by what it is undecided"; }

# Updated in place, so that poison would be taken for input; and pointers, which it must not hit.
for what in "histogram target_histogram 3 true" "chase target_chase 1 null" "variables target_variable 1 null"; do
    set -- $what
    rm -rf cap
    expect 0 rocm-perf isolate --kernel "$2" --dispatch "$3" --device software -o cap ./memories "$1" dumps
    expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco --json
    [ "$(json verify.equal out)" = true ] || fail "$1: the captured kernel itself"
    [ "$(json candidate.probed out)" = true ] || fail "$1: the probe"
    expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco --inputs i32 --json
    [ "$(json candidate.other_inputs.equal out)" = "$4" ] || { cat out; fail "$1: other words"; }
done
echo passed
