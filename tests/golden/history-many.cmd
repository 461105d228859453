# Many kernels of two models of time: a check takes seconds, and not a minute for each thousand of them.
python3 - "$SOURCE/tests/data/compare/software.json" <<'EOF'
import copy, json, sys
profile = json.load(open(sys.argv[1]))
kernel = profile["kernels"][0]
profile["kernels"] = []
for i in range(1500):
    kernel = copy.deepcopy(kernel)
    kernel["name"] = f"kernel_{i}(float*)"
    profile["kernels"].append(kernel)
profile["timing"]["model"] = "detailed"
for version in 1, 2:
    profile["timing"]["version"] = version
    json.dump(profile, open(f"{version}.json", "w"))
EOF
for n in 1 2 3 4; do
    rocm-perf history add --commit "c$n" --at "2026-11-0${n}T00:00:00Z" $(((n + 1) / 2)).json
done
timeout 30 rocm-perf history check >out
echo "exit $?"
head -1 out
