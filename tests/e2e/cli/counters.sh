#!/usr/bin/env bash
# Hardware counters of the software device: those of a vector copy are those of a real MI300X, in
# profile.json and in the database, from the base run; what it cannot count is refused with the
# reason; times are the same with and without.
. "$(dirname "$0")/../lib.sh"
example vector_copy

# What the real one counted: rocprof-compute's sample of 1,048,576 doubles, block 256.
expect 0 rocm-perf profile --device software --runs 2 --json \
    --pmc SQ_WAVES,SQ_INSTS_VALU --pmc 'SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR TA_FLAT_READ_WAVEFRONTS_sum' \
    --pmc SQ_INSTS_VALU_INT32,SQ_THREAD_CYCLES_VALU,SPI_CSN_NUM_THREADGROUPS ./vector_copy
cp out with.json
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" with.json
python3 - with.json .rocpd_profile/trace_results.db <<'EOF' || fail 'counters'
import json, sqlite3, sys
profile = json.load(open(sys.argv[1]))
kernel = next(k for k in profile["kernels"] if "copy" in k["name"] and not k["runtime_internal"])
launches = kernel["calls"]
real = {"SQ_WAVES": 16384, "SQ_INSTS_VALU": 98304, "SQ_INSTS_VMEM_RD": 16384,
        "SQ_INSTS_VMEM_WR": 16384, "TA_FLAT_READ_WAVEFRONTS_sum": 16384,
        "SQ_INSTS_VALU_INT32": 49152, "SQ_THREAD_CYCLES_VALU": 6291456,
        "SPI_CSN_NUM_THREADGROUPS": 4096}
assert launches == 3, launches
assert kernel["counters"] == {n: v * launches for n, v in real.items()}, kernel["counters"]
assert profile["device"] == "software" and profile["provenance"]["counter_passes"] == 0
db = sqlite3.connect(sys.argv[2])
rows = db.execute("SELECT counter_name, value FROM counters_collection WHERE kernel_name LIKE '%copy%'"
                  " AND kernel_name NOT LIKE '%rocclr%'").fetchall()
assert sorted(rows) == sorted((n, v) for n, v in real.items() for _ in range(launches)), rows
assert db.execute("SELECT DISTINCT target_arch, component, value_type FROM rocpd_info_pmc").fetchall() \
    == [("GPU", "rocm", "ABS")]
EOF

# Modelled time does not notice.
expect 0 rocm-perf profile --device software --runs 1 --json ./vector_copy
cp out without.json
[ "$(json runtime_ms with.json)" = "$(json runtime_ms without.json)" ] || fail 'time with counters'
[ "$(json kernels.0.counters without.json)" = null ] || fail 'counters that nobody asked for'

# One thread or two, translated or not: the same database rows.
counted() { # THREADS JIT
    ROCM_PERF_DEVICE_JIT=$2 expect 0 rocm-perf profile --device software --threads "$1" --runs 1 \
        --json --pmc SQ_INSTS,SQ_INSTS_SALU,SQ_THREAD_CYCLES_VALU,GRBM_GUI_ACTIVE ./vector_copy
    json kernels out | grep -o '"counters": {[^}]*}'
}
counted 1 on >one
grep -q SQ_THREAD_CYCLES_VALU one || fail 'no counters'
counted 2 on >two
cmp one two || fail 'two threads count otherwise'
counted 2 off >interpreted
cmp one interpreted || fail 'interpreted code counts otherwise'

# What cannot be.
expect 2 rocm-perf profile --device software --pmc SQ_WAVE ./vector_copy
says err '--pmc SQ_WAVE: the software device has no such counter, did you mean SQ_WAVES?; --list-counters lists them'
expect 2 rocm-perf profile --device software --pmc sq_insts_valu ./vector_copy
says err 'did you mean SQ_INSTS_VALU?'
expect 2 rocm-perf profile --device software --pmc TCP_UTCL1_TRANSLATION_HIT ./vector_copy
says err '--pmc TCP_UTCL1_TRANSLATION_HIT: the software device cannot count it: translations of addresses'
expect 2 rocm-perf profile --device software --pmc TA_TA_BUSY ./vector_copy
says err '--pmc TA_TA_BUSY: the software device counts it with --timing detailed only'

# Units through time: what they do not share with waves follows from the modelled time.
expect 0 rocm-perf profile --device software --timing detailed --runs 1 --json \
    --pmc GRBM_GUI_ACTIVE,SQ_CYCLES,TCC_CYCLE,CPF_CPF_STAT_IDLE,SPI_VWC_CSC_WR,SQ_IFETCH \
    --pmc SQ_BUSY_CU_CYCLES,TA_TA_BUSY_sum,TD_TD_BUSY_sum,TCP_GATE_EN2_sum,TCC_BUSY_sum ./vector_copy
python3 - out <<'EOF' || fail 'counters of units'
import json, sys
kernel = next(k for k in json.load(open(sys.argv[1]))["kernels"]
              if "copy" in k["name"] and not k["runtime_internal"])
c = kernel["counters"]
assert c["SQ_CYCLES"] == 4 * c["GRBM_GUI_ACTIVE"] and c["TCC_CYCLE"] == 16 * c["GRBM_GUI_ACTIVE"], c
assert c["CPF_CPF_STAT_IDLE"] == 0 and c["SPI_VWC_CSC_WR"] == 3 * 16384, c
assert c["SQ_IFETCH"] == 3 * 65536, c  # as on the real one
assert 0 < c["TA_TA_BUSY_sum"] < c["TD_TD_BUSY_sum"] == c["TCP_GATE_EN2_sum"], c
assert 0 < c["TCC_BUSY_sum"] < c["TCC_CYCLE"], c
EOF
expect 2 rocm-perf profile --device software --pmc SQ_WAVES_sum ./vector_copy
says err 'no such counter, did you mean SQ_WAVES?'

# Memory: what the real one counted of the same copy, and the roofline of it without further runs.
expect 0 rocm-perf profile --device software --runs 1 --json --roofline \
    --pmc TCC_REQ_sum,TCC_HIT_sum,TCC_MISS_sum,TCC_EA0_RDREQ_sum,FETCH_SIZE ./vector_copy
python3 - out .rocpd_profile/roofline.json <<'EOF' || fail 'memory counters'
import json, sys
profile, roofline = (json.load(open(f)) for f in sys.argv[1:])
kernel = next(k for k in profile["kernels"] if "copy" in k["name"] and not k["runtime_internal"])
def near(value, real, share):
    assert abs(value - 3 * real) <= share * 3 * real, (value / 3, real)
counters = kernel["counters"]
near(counters["TCC_REQ_sum"], 196861, 0.05)
near(counters["TCC_HIT_sum"], 65536, 0.05)
near(counters["TCC_MISS_sum"], 131325, 0.05)
near(counters["TCC_EA0_RDREQ_sum"], 65763, 0.01)
near(counters["TCC_EA0_WRREQ_sum"], 131072, 0.01)
copy = next(k for k in roofline["kernels"] if k["name"] == kernel["name"])
near(copy["hbm_read_bytes"], 8403456, 0.01)
near(copy["hbm_write_bytes"], 8388608, 0.01)
assert copy["flops"] == 0 and copy["bound"] == "hbm", (copy["flops"], copy["bound"])
assert profile["roofline"]["bytes"] == copy["hbm_read_bytes"] + copy["hbm_write_bytes"]
assert profile["provenance"]["counter_passes"] == 0
EOF
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/roofline.schema.json" .rocpd_profile/roofline.json

# What was asked for is printed by kernel, without a roofline too: 33.4 % at the L2 on the real one.
expect 0 rocm-perf profile --device software --runs 1 --pmc TCC_HIT_sum,TCC_MISS_sum,SQ_LDS_BANK_CONFLICT ./vector_copy
grep -Eq '^    L2 hit rate +3[234]\.[0-9] %$' out || fail 'L2 hit rate'
grep -Eq '^    LDS bank conflicts per access +- needs SQ_LDS_IDX_ACTIVE$' out || fail 'what is missing'
grep -Eq '^    TCC_MISS_sum +[0-9]+ +[0-9.]+$' out || fail 'a counter under its name'

# A kernel whose work is known: an addition for each of 1,048,576 floats, of 12 bytes each.
example vector_add
expect 0 rocm-perf profile --device software --runs 1 --json --roofline ./vector_add 1048576
python3 - .rocpd_profile/roofline.json <<'EOF' || fail 'roofline of additions'
import json, sys
kernels = json.load(open(sys.argv[1]))["kernels"]
add = next(k for k in kernels if "vector_add" in k["name"])
n = 1 << 20
assert add["flops"] == n, add["flops"]
assert abs(add["hbm_read_bytes"] - 8 * n) < 0.01 * 8 * n, add["hbm_read_bytes"]
assert abs(add["hbm_write_bytes"] - 4 * n) < 0.01 * 4 * n, add["hbm_write_bytes"]
EOF

# The device counts beside its kernels: the graph is that of the program without counters.
cp .rocpd_profile/trace_results.db counted.db
expect 0 rocm-perf profile --device software --runs 1 --quiet ./vector_add 1048576
for trace in counted.db .rocpd_profile/trace_results.db; do
    expect 0 rocm-perf analyze --json "$trace"
    [ "$(json disturbed_by out)" = '[]' ] || fail "$trace: disturbed by $(json disturbed_by out)"
    json critical_path.by_symbol out >"path-$(basename "$trace")"
done
cmp path-counted.db path-trace_results.db || fail 'counters change the critical path'
