# A change of modelled times that was taken back without a commit is a result; the same file again is none.
made() {
    sed "s/\"fast\"/\"detailed\"/; s/3\.0,/3.0$2,/; s/3\.0\$/3.0$2/" "$SOURCE/tests/data/compare/software.json" |
        python3 -c 'import json, sys; d = json.load(sys.stdin); d["provenance"]["varies"]["wall_ms"] = [float(sys.argv[1])]; json.dump(d, sys.stdout)' "$1" >s.json
    rocm-perf history add --commit '' s.json
}
made 1.5 0
made 2.5 1
made 3.5 0
made 3.5 0
rocm-perf history check --json | grep -o '"state": "[a-z]*"'
