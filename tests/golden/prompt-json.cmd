cat > k.hip <<'END'
__attribute__((global)) void twice(int *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += x[i]; // "quoted" \ and é
}
END
rocm-perf prompt --source k.hip --json > prompt.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/prompt.schema.json" prompt.json
rocm-perf prompt --source k.hip > prompt.txt
python3 -c 'import json; print("\n".join(m["content"] for m in json.load(open("prompt.json"))["messages"]), end="")' |
    cmp - prompt.txt && cat prompt.json
