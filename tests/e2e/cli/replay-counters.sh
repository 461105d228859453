# Counters, rooflines and thread traces of a replayed dispatch are those of the same dispatch in its program.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../memories.sh"
unset ROCM_PERF_DEVICE_TIMING # counters of caches need detailed timing

counters=SQ_WAVES,SQ_INSTS_VALU,SQ_INSTS_LDS,SQ_INSTS_SMEM,TCP_TOTAL_ACCESSES_sum,TCC_REQ_sum,TCC_EA0_RDREQ_sum,TCC_EA0_WRREQ_sum

# counted FOLDER KERNEL N: what is counted of the Nth dispatch of that kernel
counted() {
    python3 - "$@" <<'EOF'
import glob, sqlite3, sys
folder, kernel, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = []
for path in glob.glob(folder + "/*.db"):
    db = sqlite3.connect(path)
    rows += db.execute("select dispatch_id, counter_name, value from counters_collection where kernel_name like ?", (kernel + "%",))
ids = sorted({row[0] for row in rows})
assert len(ids) >= number, (kernel, ids)
for row in sorted(r[1:] for r in rows if r[0] == ids[number - 1]):
    print(*row)
EOF
}

# counts MODE KERNEL [N]: as many in the replay as in the program
counts() {
    rm -rf program replayed
    captured "$@"
    expect 0 rocm-perf profile --device software --runs 1 --pmc "$counters" -o program ./memories "$1" dumps
    expect 0 rocm-perf replay full-vm --capture-dir cap --pmc "$counters" -o replayed
    ! grep -q warning out || { cat out; fail "$1: the trace of the replay is not whole"; }
    counted program "$2" "${3:-1}" >wanted || fail "$1: the program"
    counted replayed "$2" 1 >found || fail "$1: the replay"
    [ "$(wc -l <found)" = 8 ] || { cat found; fail "$1: all counters"; }
    diff wanted found >&2 || fail "$1: counters of the replay are not those of the program"
    echo "$1: $(head -1 found | tr '\n' ' ')"
}

counts managed target_scale
counts async target_scale
counts host target_scale
counts histogram target_histogram 3
counts gemm target_gemm 2

# The folders are as those of profile: analyze reads them, and what they find is the same.
expect 0 rocm-perf profile --device software --runs 1 --roofline --json -o program ./memories gemm dumps
expect 0 rocm-perf replay full-vm --capture-dir cap --roofline --json -o replayed
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" out >/dev/null || fail "profile.json"
expect 0 rocm-perf analyze --roofline replayed
python3 - program/roofline.json out <<'EOF' || fail "the rooflines differ"
import json, sys
program, replayed = [[k for k in json.load(open(path))["kernels"] if k["name"].startswith("target_gemm")] for path in sys.argv[1:]]
assert len(program) == len(replayed) == 1
one, many = replayed[0], program[0]
assert (one["calls"], many["calls"]) == (1, 3), (one["calls"], many["calls"])
for kind, flops in one["flops_by_type"].items():
    assert flops is None or 3 * flops == many["flops_by_type"][kind], (kind, flops, many["flops_by_type"])
assert one["flops"] > 0 and one["bound"] == many["bound"]
EOF
expect 0 rocm-perf replay full-vm --capture-dir cap --deep-analysis -o replayed
[ -s replayed/thread_trace.json ] && [ -s replayed/analysis.json ] || { ls replayed; fail "a thread trace"; }
expect 0 rocm-perf report -o page.html replayed

# Another kernel runs in place of the captured one, once, and is not compared.
expect 0 rocm-perf replay full-vm --capture-dir cap --hsaco cap/kernel.hsaco --pmc "$counters" -o replayed
counted replayed target_gemm 1 >again
diff found again >&2 || fail "another code object of the same kernel"

expect 2 rocm-perf replay compare a b --capture-dir cap --pmc SQ_WAVES
expect 2 rocm-perf replay full-vm --capture-dir cap --pmc SQ_WAVES --iterations 3
says err "counters and traces are of one run from the captured memory"
expect 2 rocm-perf replay full-vm --capture-dir cap --pmc NO_SUCH_COUNTER
says err "NO_SUCH_COUNTER"
expect 2 rocm-perf replay full-vm --capture-dir cap -o folder
