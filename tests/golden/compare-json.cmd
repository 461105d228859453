# Agrees with its schema, every key of which is explained; replays are told again.
cd "$SOURCE/tests/data/compare"
rocm-perf compare --json before.json after.json --allow-missing --gate 'runtime<=1.1' --gate 'kernel:reduce:lds_bytes<=1024' >"$OLDPWD/two.json"
rocm-perf compare --json replay.json >"$OLDPWD/replay.json"
rocm-perf compare --json few.json ../rocpd/multik-pmc-synthetic_results.db >"$OLDPWD/trace.json"
cd - >/dev/null
cat two.json replay.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/compare.schema.json" .
sed -n '/^## compare.json$/,/^## autotune.json$/p' "$SOURCE/docs/formats.md" >section
[ -s section ] || echo "docs/formats.md has no section compare.json"
grep -o '"[a-z_]*": {' "$SOURCE/schemas/compare.schema.json" | tr -d '": {' | sort -u |
    grep -vxE 'properties|items|defs|side|pair|sizes|size|text|number|count|kernel' | while read -r key; do
    grep -q "\`$key\`" section || echo "docs/formats.md does not explain $key"
done
