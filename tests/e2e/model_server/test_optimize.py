#!/usr/bin/env python3
"""`rocm-perf optimize` with llama.cpp's server and random weights: nothing may come of it.

usage: test_optimize.py BUILD

Exit status 77 when the server is not there.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from llama_server import llama_prefix, start_llama
from optimizer import failures, optimize, prepare, records, result, want

MOST_REPAIRS = 2
ATTEMPTS = 4


def main():
    prefix = llama_prefix()
    text, _ = prepare(sys.argv[1], "unrolled")
    child, port = start_llama(prefix, ".")
    try:
        ran = optimize("unrolled", {"base_url": f"http://127.0.0.1:{port}/v1", "model": "random", "answer_tokens": 300,
                                    "temperature": 1.0}, "--max-iters", str(ATTEMPTS), "--geometries", "1")
    finally:
        child.terminate()
        child.wait()
    want("status", ran.returncode == 1, ran.returncode, ran.stdout, ran.stderr)
    want("nothing", "Nothing was worth accepting." in ran.stdout, ran.stdout)
    exchanges = records("exchange")
    want("each attempt asks once", len(exchanges) == ATTEMPTS and all(e["http_status"] == 200 for e in exchanges),
         exchanges)
    attempts = result()["rounds"][0]["kernels"][0]["attempts"]
    # Nonsense between two fences may get as far as the guards, and to a repair.
    want("each attempt is refused", [a["outcome"] in ("refused", "failed to compile") for a in attempts] ==
         [True] * ATTEMPTS, attempts)
    repairs = "".join("r" if a["repair"] else "-" for a in attempts)
    want("repairs are bounded", "r" * (MOST_REPAIRS + 1) not in repairs, repairs)
    want("a repair is asked for as such", [e["user"].startswith("Repair") for e in exchanges] ==
         [a["repair"] for a in attempts], repairs)
    print("repairs:", repairs)
    with open("unrolled.hip") as file:
        want("the source is as it was", file.read() == text)
    want("no result", not os.path.exists("unrolled_opt.hip"))


with tempfile.TemporaryDirectory() as folder:
    build = sys.argv[1] = os.path.abspath(sys.argv[1])
    os.chdir(folder)
    main()
    os.chdir("/")
print("\n".join(failures) or "passed")
sys.exit(1 if failures else 0)
