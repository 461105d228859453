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

# The same output of the source as it was and of the accepted one, for as many elements as these.
same_with() # NAME SIZE...
{
    local name=$1 size
    shift
    expect 0 rocm-perf hipcc -O3 "${name}_opt.hip" -o "$name-opt"
    for size; do
        expect 0 rocm-perf run --device software --timing off "./$name" "$size"
        cp out was
        expect 0 rocm-perf run --device software --timing off "./$name-opt" "$size"
        cmp out was || fail "$name: another output with $size"
    done
}

# Each lane takes neighbours, and the next tile is loaded early.
gain() # FOLDER LEAST
{
    python3 - "$1/optimize.json" "$2" <<'END' || fail "no gain"
import json, sys
attempt, = json.load(open(sys.argv[1]))["accepted"]
assert attempt["ratio"]["low"] > float(sys.argv[2]), attempt["ratio"]
END
}

cp "$SOURCE/tests/e2e/programs/neighbours.hip" .
expect 0 rocm-perf hipcc -O3 -g neighbours.hip -o neighbours
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf optimize ./neighbours --device software --kernel scale_and_add --max-iters 1 \
    --max-rounds 1 -o wide
says out "load 4 neighbours at once in the loop at line 18: accepted"
gain wide 1.5
same_with neighbours 0 1 2 3 5 64 257 1023
rm neighbours_opt.*
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf optimize ./neighbours --device software --kernel row_norms --max-iters 3 \
    --max-rounds 1 -o wide_sum
says out "load 4 neighbours at once in the loop at line 28: accepted"
says out "changes rounding: largest difference"
gain wide_sum 1.5

cp "$SOURCE/tests/e2e/programs/next_tiles.hip" .
expect 0 rocm-perf hipcc -O3 -g next_tiles.hip -o next_tiles
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf optimize ./next_tiles --device software --max-iters 1 --max-rounds 1 -o tiles
says out "load the next tile of rows while one is used in the loop at line 15: accepted"
gain tiles 1.4
same_with next_tiles 1 15 16 17 31 32 33
