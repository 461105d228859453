#!/usr/bin/env python3
"""The lists of public kernels are whole, and score counts what agrees, what contradicts, and what is missing.

usage: tests/public-kernels/check.py
"""
import glob
import json
import os
import re
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CAUSES = set("""hbm_bandwidth l2_bandwidth lds_bandwidth memory_latency lds_bank_conflicts uncoalesced_access
    scalar_cache_misses instruction_cache_misses low_occupancy small_grid divergence barrier atomic_contention
    register_spills mfma_throughput valu_throughput transcendental_throughput launch_overhead host_bound copy_bound
    communication runtime_kernel balanced""".split())
KEYS = ["id", "repository", "commit", "files", "kernel", "gpu", "kind", "write_up", "says", "cause", "accept"]
# Stands for rocm-perf: prints the file that it is given.
STUB = '#!/bin/sh\n[ "$1 $2" = "analyze --analysis" ] && exec cat "$3"\n'
failures = 0


def expect(right, what):
    global failures
    if not right:
        failures += 1
        print(f"check.py: {what}", file=sys.stderr)


def check_list(path):
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)
    names = [row["id"] for row in rows]
    expect(names == sorted(set(names)), f"{path}: ids are not sorted, or not unique")
    for row in rows:
        where = f"{path}: {row['id']}"
        expect(list(row) == KEYS, f"{where}: other keys")
        expect({row["cause"], *row["accept"]} <= CAUSES, f"{where}: unknown cause")
        expect(row["cause"] not in row["accept"], f"{where}: the cause is accepted twice")
        expect(re.fullmatch("[0-9a-f]{40}", row["commit"]), f"{where}: the commit has not 40 digits")
        expect(row["files"] and row["says"] and len(row["says"]) <= 200, f"{where}: no files, or no words, or too many")


def answer(label, share, cause=None):
    """An analysis of two kernels of one name, of which the second has the verdict."""
    verdict = {"label": label} if cause is None else {"label": label, "cause": cause}
    return {"kernels": [{"name": "k(int)", "bottleneck": {"label": "unknown"}, "features": {"hbm_share": None}},
                        {"name": "k(int)", "bottleneck": verdict, "features": {"hbm_share": share}}]}


def scored(answers, folder):
    """Runs score on one row for each answer, whose write-up says HBM bandwidth; returns its status and last line."""
    rows = []
    base = os.path.join(folder, "o/n", "0" * 12)
    os.makedirs(base, exist_ok=True)
    for number, content in enumerate(answers):
        name = f"{number}.json"
        if content is not None:
            with open(os.path.join(base, name), "w", encoding="utf-8") as file:
                json.dump(content, file)
        rows.append(dict(zip(KEYS, [str(number), "o/n", "0" * 40, [name], "k(", "MI300X", "counters", "README.md", "fast",
                                    "hbm_bandwidth", ["memory_latency"]])))
    with open(os.path.join(folder, "list.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file)
    done = subprocess.run([os.path.join(HERE, "score"), "--list", os.path.join(folder, "list.json"), folder],
                          env={**os.environ, "BUILD": folder}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    return done.returncode, done.stdout.splitlines()[-1]


def check_score():
    right, latency = answer("memory_bandwidth_bound", 0.9), answer("latency_bound", 0.59)
    cases = [
        ([right] * 4 + [latency], 0, "5 of 5 agree (100 %), 0 in part, latency bound at 60 % of HBM or more: none"),
        ([right] * 4 + [answer("under_occupied", 0.1)], 0, "4 of 5 agree (80 %)"),
        ([right] * 3 + [answer("mixed", None)], 1, "3 of 4 agree (75 %)"),
        ([right] * 9 + [answer("latency_bound", 0.6)], 1, "60 % of HBM or more: 9,"),
        ([right, answer("memory_bandwidth_bound", 0.7, "memory_latency")], 1, "60 % of HBM or more: 1,"),
        ([right, answer("latency_bound", 0.1, "barrier")], 1, "1 of 2 agree"),
        ([right, answer("memory_bandwidth_bound", None, "memory")], 1, "1 of 2 agree (50 %), 1 in part"),
        ([right, None], 3, "1 not analyzed"),
    ]
    for answers, status, text in cases:
        with tempfile.TemporaryDirectory() as folder:
            stub = os.path.join(folder, "rocm-perf")
            with open(stub, "w", encoding="utf-8") as file:
                file.write(STUB)
            os.chmod(stub, stat.S_IRWXU)
            got = scored(answers, folder)
            expect(got[0] == status and text in got[1], f"score: {got}, wanted {status}, {text}")


for found in sorted(glob.glob(os.path.join(HERE, "expected*.json"))):
    check_list(found)
check_score()
sys.exit(failures != 0)
