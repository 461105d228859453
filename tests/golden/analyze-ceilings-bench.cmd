# The file of rocm-perf bench as ceilings: called by who measured them and when; those of another GPU and bad ones are refused.
good='{"hbm_gbps": 1388.5, "l1_gbps": null, "mfma_bf16_gflops": 100, "mfma_f16_gflops": 165000, "valu_f32_gflops": 21000}'
file() {
    cat <<JSON
{"schema_version": "1.0", "device": "${device:-hardware}", "date": "2026-11-30T12:00:00Z",
 "gpu": {"arch": "${arch:-gfx90a}", "product": "AMD Instinct MI210", "compute_units": ${cus:-104}},
 "ceilings": ${ceilings:-$good},
 "measurements": []}
JSON
}
traces=$SOURCE/tests/data/counters/vcopy_MI200
file >bench.json
rocm-perf analyze -v --ceilings bench.json -o out "$traces" | grep -A1 "Measured\|^Note: ceilings"
python3 - <<'PY'
import json
r = json.load(open("out/roofline.json"))
print(r["ceilings_from"])
for key in ("hbm_gbps", "l1_gbps", "valu_f32_gflops", "mfma_bf16_gflops", "mfma_f8_gflops"):
    print(key, r["kernels"][0]["ceilings"][key])
PY
bad() {
    cat >bad.json
    rocm-perf analyze --roofline --ceilings bad.json "$traces" >/dev/null
    echo "status $?"
}
arch=gfx942 cus=304 file | bad
device=moon file | bad
arch='' cus=0 file | bad
ceilings='{"hbm_gbps": "fast"}' file | bad
ceilings='{"hbm_gbps": -1}' file | bad
ceilings='{"hbm_gbps": 1e308}' file | bad
ceilings='{"valu_f32_gflops": 1e-300}' file | bad
ceilings='{"hbm_gbps": null}' file | bad
file | sed 's/AMD Instinct MI210/\\u001b[31m/' | bad
ceilings='[]' file | bad
file | sed 's/"1.0"/"2.0"/' | bad
file | sed 's/2026-11-30T12:00:00Z//' | bad
file | head -c 100 | bad
echo '{}' | bad
device=software file >soft.json
rocm-perf analyze --roofline --ceilings soft.json "$traces" | grep -o 'the ceilings were modelled[^"]*'
rocm-perf analyze --roofline --ceilings none.json "$traces" >/dev/null
echo "status $?"
