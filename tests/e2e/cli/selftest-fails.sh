# doctor --selftest: all steps pass, and each property that is judged can fail, by a suite or a tracer that says
# something else.
. "$(dirname "$0")/../lib.sh"
. "$SOURCE/tests/e2e/stand_in/selftest.bash"
export PATH="$SCRATCH/tracer:$PATH"
expect 0 env BREAK=none bin/doctor doctor --selftest # all of it
[ "$(head -1 out)" = 'rocm-perf works with the software device on this machine: 16 of 16 checks passed' ] || fail 'verdict'
grep -q '^  passed   clocks .*(4 of 7' out || fail 'clocks of both tracers'
[ "$(wc -c <rocm-perf-selftest.json)" -lt 100000 ] || fail 'size'
schema rocm-perf-selftest.json

# The suite says something else.
breaks memory isolate 'the capture has not all memory of the kernel'
python3 - <<'END' || fail 'words of the captured memory'
import json
values = json.load(open("rocm-perf-selftest.json"))["steps"][-1]["values"]
assert values["wrong_before"] == values["wrong_after"] == values["words"] > 0, values
END
breaks unequal replay 'memory after the replay is not that of the capture'
breaks counter counters 'SQ_WAVES is wrong'
breaks flops counters "the roofline's vector FLOPs are wrong"
breaks bytes counters "the roofline's bytes read from memory are wrong"
breaks executed thread_trace 'the thread trace counts other instructions than its waves execute'
breaks verdict compare 'a kernel with twice the work is not said to be slower'
breaks best autotune 'autotune finds a configuration other than the fastest'

# The tracer says something else than the collector.
breaks launches rocprofv3 'rocprofv3 has other launches than the collector'
breaks grid rocprofv3 'rocprofv3 has a grid other than the collector'
breaks lds rocprofv3 'rocprofv3 has another size of LDS than the collector'
breaks vgprs rocprofv3 'rocprofv3 has other vector registers than the collector'
breaks sgprs rocprofv3 'rocprofv3 has other scalar registers than the collector'
breaks backwards rocprofv3 'dispatches end before they begin'
breaks grid json_trace 'the JSON trace has a grid other than the collector'
expect 1 selftest times rocprofv3,clocks
says out 'disagree on how long the same kernel takes'
expect 1 selftest none counters --tracer rocprofv3 # the stand-in invents what it counts
says out 'SQ_INSTS_VALU_FMA_F32 is wrong'
expect 0 selftest none thread_trace --tracer rocprofv3
says out 'the decoder of thread traces is missing'
[ "$(of_step status thread_trace)" = skipped ] || fail 'without a decoder'
