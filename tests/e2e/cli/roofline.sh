#!/usr/bin/env bash
# roofline.json of counter files, alone and beside a trace: agrees with its schema, which refuses
# others; what cannot be is refused with the reason.
. "$(dirname "$0")/../lib.sh"
counters=$SOURCE/tests/data/counters traces=$SOURCE/tests/data/rocpd
schema=$SOURCE/schemas/roofline.schema.json
valid() { expect 0 python3 "$SOURCE/tests/validate_schema.py" "$@"; }

# Every folder and a trace: valid, and the same bytes again.
mkdir all
for one in "$counters"/*/pmc_perf.csv "$counters"/gfx1151 "$traces"/*.db; do
    name=$(basename "$(dirname "$one")")-$(basename "$one")
    expect 0 rocm-perf analyze --roofline "$one"
    mv out "all/$name.json"
    expect 0 rocm-perf analyze --roofline "$one"
    cmp out "all/$name.json" || fail "$one: not the same bytes again"
done
[ "$(ls all | wc -l)" -ge 12 ] || fail 'too few files'
valid "$schema" all

# What the file of a real MI200 says: bytes of three copies, and that a copy is bound by memory.
real=all/vcopy_MI200-pmc_perf.csv.json
[ "$(json kernels.0.hbm_read_bytes $real)" = 25168576 ] || fail 'bytes read'
[ "$(json kernels.0.achieved_bandwidth_gbps $real)" = 864.239755351682 ] || fail 'rate'
[ "$(json kernels.0.bound $real)" = hbm ] || fail 'bound'
[ "$(json kernels.0.levels.l2.class $real)" = memory ] || fail 'class'
[ "$(json kernels.0.ceilings.hbm_gbps $real)" = 1638.4 ] || fail 'ceiling'

# The schema refuses what is damaged.
mkdir bad
python3 - $real <<'EOF'
import copy, json, sys
good = json.load(open(sys.argv[1]))
def damage(name, change):
    document = copy.deepcopy(good)
    change(document)
    json.dump(document, open(f"bad/{name}.json", "w"))
damage("version", lambda d: d.update(schema_version="2.0"))
damage("extra", lambda d: d["kernels"][0].update(extra=1))
damage("missing", lambda d: d["kernels"][0].pop("flops"))
damage("text", lambda d: d["kernels"][0].update(time_ns="7"))
damage("negative", lambda d: d["kernels"][0].update(l2_bytes=-1))
damage("bound", lambda d: d["kernels"][0].update(bound="moon"))
damage("named", lambda d: d["program"].update(name="all"))
damage("empty", lambda d: d.update(kernels=[]))
damage("both", lambda d: d.update(roofline=None, reason="x"))
EOF
for one in bad/*.json; do
    expect 1 python3 "$SOURCE/tests/validate_schema.py" "$schema" "$one"
done

# -o: all files for a trace with counters, no roofline for one without.
expect 0 rocm-perf analyze -o with "$traces/multik-pmc-synthetic_results.db"
[ "$(ls with | tr '\n' ' ')" = 'analysis.json dag.json roofline.json ' ] || fail 'with counters'
valid "$schema" with/roofline.json
expect 0 rocm-perf analyze -o without "$traces/vadd-kernel_results.db"
[ "$(ls without | tr '\n' ' ')" = 'analysis.json dag.json ' ] || fail 'without counters'

# Passes in files of their own, and what the user knows better.
head='"Dispatch_Id","Agent_Id","Kernel_Name","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"'
printf '%s\n1,Agent 1,k,TCC_EA0_RDREQ_sum,100,1000,2000\n1,Agent 1,k,TCC_EA0_RDREQ_32B_sum,20,1000,2000\n1,Agent 1,k,TCC_BUBBLE_sum,30,1000,2000\n' "$head" >a.csv
printf '%s\n7,Agent 1,k,TCC_EA0_WRREQ_sum,10,5000,9000\n7,Agent 1,k,TCC_EA0_WRREQ_64B_sum,4,5000,9000\n' "$head" >b.csv
expect 0 rocm-perf analyze --roofline --arch mi300a --memory-bandwidth-gbps 100 --clock-mhz 1000 a.csv b.csv
[ "$(json kernels.0.hbm_read_bytes out)" = $((30 * 128 + 50 * 64 + 20 * 32)) ] || fail 'first pass'
[ "$(json kernels.0.hbm_write_bytes out)" = $((4 * 64 + 6 * 32)) ] || fail 'second pass'
[ "$(json kernels.0.time_ns out)" = 1000 ] || fail 'time of the first file'
[ "$(json kernels.0.ceilings.hbm_gbps out)" = 100 ] || fail '--memory-bandwidth-gbps'
[ "$(json kernels.0.ceilings.valu_f32_gflops out)" = $((228 * 128)) ] || fail '--clock-mhz'

# The same as folders of passes.
mkdir -p run/pass_1/host run/pass_2/host
cp a.csv run/pass_1/host/7_counter_collection.csv
cp b.csv run/pass_2/host/8_counter_collection.csv
expect 0 rocm-perf analyze --roofline --arch mi300a --memory-bandwidth-gbps 100 --clock-mhz 1000 a.csv b.csv
mv out files
expect 0 rocm-perf analyze --roofline --arch mi300a --memory-bandwidth-gbps 100 --clock-mhz 1000 run
cmp files out || fail 'folders of passes'

# The times of a trace without counters are better than those of counter runs.
printf '"Kind","Agent_Id","Queue_Id","Dispatch_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n"KERNEL_DISPATCH","Agent 1",1,1,k,1,10,510\n' >kernel_trace.csv
expect 0 rocm-perf analyze --roofline --arch gfx942 a.csv kernel_trace.csv
[ "$(json kernels.0.time_ns out)" = 500 ] || fail 'time of the kernel trace'

# Counters of two GPUs are no passes of one run: neither side by side nor in one folder.
expect 3 rocm-perf analyze "$counters/vcopy_MI200" "$counters/vcopy_MI300X_A1_rocpd"
says err "$counters/vcopy_MI200/sysinfo.csv says gfx90a with 104 CUs"
says err "$counters/vcopy_MI300X_A1_rocpd/sysinfo.csv says gfx942 with 304 CUs"
says err 'one GPU at a time'
[ ! -s out ] || fail 'printed something for two GPUs'
expect 3 rocm-perf analyze "$counters"
says err 'counters of different GPUs'
expect 0 rocm-perf analyze "$counters/vcopy_MI300X_A1_rocpd" "$counters/no_roof_MI300X_A1"

# Measured ceilings: of the GPU that the file beside them names, or nobody knows which.
mkdir bench
printf 'device,HBMBw\n0,800\n' >bench/roofline.csv
cp bench/roofline.csv unknown.csv
cp "$counters/vcopy_MI200/sysinfo.csv" bench/
expect 0 rocm-perf analyze --roofline --ceilings bench/roofline.csv "$counters/vcopy_MI200"
says out 'exceeds its HBM ceiling (108.0 %)'
says out 'the measured ceilings are of another GPU'
expect 3 rocm-perf analyze --ceilings bench/roofline.csv "$counters/vcopy_MI100"
says err 'bench/sysinfo.csv says that they were measured on gfx90a with 104 CUs'
says err 'gfx908 with 120 CUs'
expect 3 rocm-perf analyze --arch gfx942 --ceilings bench/roofline.csv a.csv
expect 0 rocm-perf analyze --arch gfx90a --ceilings bench/roofline.csv a.csv
expect 0 rocm-perf analyze -v --ceilings bench/roofline.csv a.csv
expect 0 rocm-perf analyze -v --ceilings unknown.csv "$counters/vcopy_MI100"
echo gpu_arch >bench/sysinfo.csv
printf 'gfx942,"\n' >>bench/sysinfo.csv
expect 0 rocm-perf analyze -v --ceilings bench/roofline.csv a.csv
says err 'bench/sysinfo.csv'

# --arch against what the files say.
expect 0 rocm-perf analyze --arch gfx942 "$counters/vcopy_MI200"
says err '--arch gfx942 is used for GPU 2 although the files say gfx90a'
expect 0 rocm-perf analyze --arch gfx942:mi300a "$counters/no_roof_MI300X_A1"
says err 'although the files say gfx942 with 304 CUs'
expect 0 rocm-perf analyze --arch gfx950 "$counters/vcopy_MI350"
[ ! -s err ] || fail 'a warning although the GPU is the same'
expect 0 rocm-perf analyze --arch gfx942 a.csv
[ ! -s err ] || fail 'a warning although the files do not say'

# Refusals.
expect 2 rocm-perf analyze --json a.csv
says err 'use --roofline'
expect 2 rocm-perf analyze --json --roofline a.csv
says err 'choose one'
expect 2 rocm-perf analyze --roofline --arch gfx7 a.csv
says err 'gfx942:mi300x'
expect 2 rocm-perf analyze --clock-mhz fast a.csv
says err '--clock-mhz fast'
expect 2 rocm-perf analyze --flop-model guess a.csv
says err 'auto, exact or width'
printf '%s\n1,Agent 1,k,TCC_BUBBLE_sum,many,1,2\n' "$head" >bad.csv
expect 3 rocm-perf analyze bad.csv
says err "bad.csv: line 2: 'many' is no value of the counter TCC_BUBBLE_sum"
