#!/usr/bin/env bash
# The runtime is that of the dispatches: what rocm-perf profile says, with and without a build.
. "$(dirname "$0")/../lib.sh"
export PYTHONPATH=$SOURCE/tests/e2e/tune PYTHONDONTWRITEBYTECODE=1 SCRATCH TMPDIR=$SCRATCH
example vector_add
expect 0 rocm-perf profile --device software --json --runs 1 ./vector_add
cp out profile.json
python3 - >requests <<'END'
import os
from requests import *
s = os.environ["SCRATCH"]
print("\n".join([
    request(1, "./vector_add", objective="dispatch", samples=2, warmups=1),
    request(2, s + "/built/program", objective="dispatch", **build(s + "/built/program", "cp", s + "/vector_add", s + "/built/program")),
    request(3, "sh", "-c", "./vector_add; exit 3", objective="dispatch"),
    request(4, "sh", "-c", "./vector_add; ./vector_add", objective="dispatch"),
    request(5, "true", objective="dispatch"),
]))
END
rocm-perf autotune --worker --device software <requests >out 2>err || { cat out err >&2; fail "the worker"; }
python3 - <<'END' || { cat out profile.json; fail "answers"; }
import json
answers = {a["id"]: a for a in map(json.loads, open("out")) if "id" in a}
ns = json.load(open("profile.json"))["runtime_ms"] * 1e6
def near(a, b): return abs(a - b) < 1e-6 * b
one = answers[1]["runtimes_ns"]
assert answers[1]["outcome"] == "ok" and len(one) == 2 and near(one[0], ns) and near(one[1], ns), (answers[1], ns)
assert answers[2]["built"] and near(answers[2]["runtimes_ns"][0], ns), answers[2]
assert answers[3]["outcome"] == "failed" and answers[3]["status"] == 3, answers[3]
assert near(answers[4]["runtimes_ns"][0], 2 * ns), answers[4]
assert answers[5]["outcome"] == "no time" and "no kernel" in answers[5]["reason"], answers[5]
END
