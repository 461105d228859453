# A program whose rows in LDS are on one bank: with no option but the program, the textbook's change is accepted.
. "$(dirname "$0")/../lib.sh"
cp "$SOURCE/tests/e2e/programs/row_scan.hip" .
expect 0 rocm-perf hipcc -O3 -g row_scan.hip -o row_scan
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf optimize ./row_scan --device software --max-iters 1 --max-rounds 1
says out "pad the rows of tile in LDS by one element: accepted"
says out "modelled time (detailed), not hardware time"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" optimize_result/optimize.json >/dev/null ||
    fail "JSON"
sed 's/tile\[SIDE\]\[SIDE\];/tile[SIDE][SIDE + 1];/' row_scan.hip | cmp - row_scan_opt.hip || fail "another change"
python3 - optimize_result/optimize.json <<'END' || fail "no gain"
import json, sys
attempt, = json.load(open(sys.argv[1]))["accepted"]
assert attempt["ratio"]["low"] > 1.2, attempt["ratio"]
END

# Sums of floats whose loads wait for each other: four sums are another order, which the verdict says.
cp "$SOURCE/tests/e2e/programs/partial_sums.hip" .
expect 0 rocm-perf hipcc -O3 -g partial_sums.hip -o partial_sums
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf optimize ./partial_sums --device software --kernel partial_sums --max-iters 3 \
    --max-rounds 1 -o sums
says out "add up 4 sums in the loop at line 18: accepted"
says out "changes rounding: largest difference"
python3 - sums/optimize.json <<'END' || fail "no gain"
import json, sys
attempt, = json.load(open(sys.argv[1]))["accepted"]
assert attempt["ratio"]["low"] > 2, attempt["ratio"]
END

# A sum in memory is kept in a register.
cp "$SOURCE/tests/e2e/programs/column_sums.hip" .
expect 0 rocm-perf hipcc -O3 -g column_sums.hip -o column_sums
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf optimize ./column_sums --device software --max-iters 1 --max-rounds 1 -o memory
says out "keep the element of sums in a register in the loop at line 10, unrolled by 8: accepted"
python3 - memory/optimize.json <<'END' || fail "no gain"
import json, sys
attempt, = json.load(open(sys.argv[1]))["accepted"]
assert attempt["ratio"]["low"] > 3, attempt["ratio"]
END
