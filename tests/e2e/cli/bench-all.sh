# All of bench, on each target that the software device can be: the constants of its model come back.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING
all() { python3 -c 'import json, sys; print(*[row["name"] for row in json.load(open(sys.argv[1]))["measurements"]])' "$1"; }

for target in mi300x mi300a mi325x mi350x mi355x mi250x; do
    expect 0 rocm-perf bench --device software:$target --gpus 2 --repeats 1 -o $target.json
    [ "$(all $target.json | wc -w)" = 39 ] || fail "$target: measurements are missing"
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/bench.schema.json" $target.json
    expect 0 python3 "$SOURCE/tests/e2e/cli/bench_check.py" $target.json $(all $target.json)
done
# Each has the instructions that its data sheet has.
for target in mi300x:mfma_xf32 mi350x:mfma_f6 mi350x:mfma_f4 mi350x:mfma_f8 mi250x:mfma_bf16; do
    python3 -c 'import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1] + ".json"))["measurements"]}
sys.exit(rows[sys.argv[2]]["median"] is None)' ${target%:*} ${target#*:} || fail "$target was not measured"
done
