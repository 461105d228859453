space=$SOURCE/tests/data/tune/made.json
rocm-perf autotune --simulate "$space" --budget-evals 12 --json >autotune.json 2>/dev/null
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/autotune.schema.json" autotune.json
cat autotune.json
# with more workers it is another search, of as many
rocm-perf autotune --simulate "$space" --budget-evals 12 --workers 4 --json 2>/dev/null |
    python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["workers"], r["evaluated_configs"])'
