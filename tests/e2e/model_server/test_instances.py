#!/usr/bin/env python3
"""A change of a template is one of all its instances: those that others run are compared, too.

usage: test_instances.py BUILD
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from optimizer import failures, optimize, prepare, records, result, run, want
from scripted_server import Server, whole

STORE = "    out[blockIdx.x"
BY_FOUR = ("nounroll", "unroll 4")
# The program prints a result of the first instance only. The conditions hold with other arguments or
# other values, or always.
ROWS = [
    ("spoils the other one", [BY_FOUR, (STORE, "    if (MODE == 1 && threadIdx.x > 5)\n        sum = -sum;\n" + STORE)],
     "wrong", "it also changes"),
    ("spoils it for other values",
     [BY_FOUR, (STORE, "    if (MODE == 1 && in[0] + in[1] + in[2] != 30.453125f)\n        sum = -sum;\n" + STORE)],
     "wrong", "the output of the candidate differs from the captured kernel's"),
    ("unrolls both", [BY_FOUR], "accepted", ""),
]


def answers(kernel, rows):
    for title, replacements, *_ in rows:
        text = kernel
        for old, new in replacements:
            assert old in text, (title, old)
            text = text.replace(old, new)
        yield whole(f"{title}\n````cpp\n{text}\n````\n")


def session(kernel, rows):
    with Server() as server:
        server.behaviours += answers(kernel, rows)
        ran = optimize("instances", {"model": "m", "base_url": server.url}, "--kernel", "sums<0>", "--max-iters",
                       str(len(rows)), "--max-rounds", "1")
    attempts = result()["rounds"][0]["kernels"][0]["attempts"]
    if os.environ.get("SHOW"):
        print(ran.stdout, ran.stderr)
        for a in attempts:
            print(a["title"], "|", a["outcome"], "|", a["reason"])
    want("attempts", len(attempts) == len(rows), ran.stdout, ran.stderr)
    for attempt, (title, _, outcome, reason) in zip(attempts, rows):
        want(title, attempt["outcome"] == outcome and reason in attempt["reason"], attempt)
    return ran


def main(build):
    text, _ = prepare(build, "instances")
    kernel = text[text.index("template <int MODE>"):]
    kernel = kernel[:kernel.index("\n}\n") + 2]
    ran = session(kernel, ROWS)
    want("both are faster", ran.returncode == 0, ran.stdout, ran.stderr)
    others = [c["kernel"] for r in records("attempt") for c in r.get("comparisons", []) if "kernel" in c]
    want("the other one is compared", others and all("sums<1>" in name for name in others), others)

    # One that the program does not run may be run by others.
    os.rename("session", "first")
    for name in ("instances_opt.hip", "instances_opt.patch"):
        os.remove(name)
    with open("instances.hip", "w") as file:
        file.write("#define UNUSED\n" + text)
    made = run("rocm-perf", "hipcc", "-O3", "instances.hip", "-o", "instances")
    want("compiles", made.returncode == 0, made.stderr)
    ran = session(kernel, [("unrolls all", [BY_FOUR], "undecided", "_Z4sumsILi2EEvPKfPfi, which was not captured")])
    want("nothing is accepted", ran.returncode == 1 and not os.path.exists("instances_opt.hip"), ran.stdout, ran.stderr)


with tempfile.TemporaryDirectory() as folder:
    BUILD = os.path.abspath(sys.argv[1])
    os.chdir(folder)
    main(BUILD)
    os.chdir("/")
print("\n".join(failures) or "passed")
sys.exit(1 if failures else 0)
