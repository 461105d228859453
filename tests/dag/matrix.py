#!/usr/bin/env python3
"""All programs of gen_trace.py in all kinds of traces: a night's run of oracle.py.

usage: matrix.py ROCM_PERF SCHEMA FOLDER [SIZES [SEEDS [PROGRAMS [KINDS]]]]
SIZES: 100,1000; SEEDS: 1:50; PROGRAMS and KINDS: names of the tables below, all of them by default.
A program is simulated once and written as a trace of every kind. Each result is compared as oracle.py
does; the report counts, by kind and size, what agrees, and how far what-ifs are off where the kind
takes information away. The state of a long run is in FOLDER/matrix-PID.txt.
Exit status 0 when all agree, 1 otherwise.
"""
import json
import os
import shlex
import sys

import gen_trace
import oracle

PROGRAMS = {
    "plain": "",
    "threads": "--threads 3",
    "null": "--null-p 0.05",
    "ranks": "--ranks 3",
    "all": "--ranks 2 --threads 2 --null-p 0.03",
}
KINDS = {
    "3.0.0": "",
    "3.0.4": "--schema 3.0.4",
    "shuffle": "--trap shuffle",
    "nocorr": "--trap nocorr",
    "overlap": "--trap overlap:0.01",
    "zero": "--trap zero:0.004",
    "neg": "--trap neg:0.004",
    "noargs": "--trap noargs",
    "nohip": "--trap nohip",
}


class Tally:
    """What came out, by program, kind and size."""

    def __init__(self):
        self.rows = {}

    def add(self, key, wrong, errors):
        row = self.rows.setdefault(key, {"traces": 0, "differ": 0, "errors": []})
        row["traces"] += 1
        row["differ"] += bool(wrong)
        row["errors"] += errors

    def too_far(self):
        """Kinds whose what-ifs are off by more than they may be; some are needed to say so."""
        for (size, program, kind), row in sorted(self.rows.items()):
            most = oracle.TRAPS[kind][2] if kind in oracle.TRAPS else 1
            within = sum(e <= most for e in row["errors"])
            if len(row["errors"]) >= 100 and within < 0.95 * len(row["errors"]):
                yield f"{size} {program} {kind}: {within} of {len(row['errors'])} what-ifs are off by at most {most:.0%}"

    def text(self):
        lines = ["dispatches  program  kind      traces  differ  what-ifs off by (median, 99 %, most)"]
        for (size, program, kind), row in sorted(self.rows.items()):
            e = sorted(row["errors"])
            off = "%.2f %%, %.1f %%, %.1f %%" % tuple(100 * e[min(len(e) - 1, int(len(e) * q))] for q in (0.5, 0.99, 1)) if e else ""
            lines.append(f"{size:10}  {program:7}  {kind:8}  {row['traces']:6}  {row['differ']:6}  {off}")
        traces, differ = (sum(r[k] for r in self.rows.values()) for k in ("traces", "differ"))
        return "\n".join([*lines, f"{traces} traces, {differ} differ"])


def traces_of(folder, size, seed, program, kinds):
    """Yields (kind, options, oracle's answers, base of the files) for the traces of one simulation."""
    base = os.path.join(folder, f"m{os.getpid()}")
    options = ["-n", str(size), "--seed", str(seed), "--answers", *shlex.split(program), "-o", base]
    a = gen_trace.parse(options)
    sim = gen_trace.Sim(a)
    sim.run()
    answers = json.loads(json.dumps(gen_trace.oracle(sim, a)))
    for kind in kinds:
        b = gen_trace.parse(options + shlex.split(KINDS[kind]))
        gen_trace.write(sim, b, answers)
        yield kind, options[5:-2] + shlex.split(KINDS[kind]), answers, base
        for f in answers["files"]:
            os.remove(os.path.join(folder, f["path"]))


def main():
    program, schema, folder, *rest = sys.argv[1:]
    sizes, seeds, programs, kinds = (rest + ["100,1000", "1:50", ",".join(PROGRAMS), ",".join(KINDS)][len(rest):])
    os.makedirs(folder, exist_ok=True)
    first, last = map(int, seeds.split(":"))
    tally, state = Tally(), os.path.join(folder, f"matrix-{os.getpid()}.txt")
    for size in map(int, sizes.split(",")):
        for seed in range(first, last + 1):
            for name in programs.split(","):
                for kind, options, answers, base in traces_of(folder, size, seed, PROGRAMS[name], kinds.split(",")):
                    wrong, errors = oracle.compare(program, schema if seed == 1 and size <= 1000 else None, base, answers, options)
                    tally.add((size, name, kind), wrong, errors)
                    for line in wrong[:6]:
                        print(f"-n {size} --seed {seed} {shlex.join(options)}: {line}"[:300], flush=True)
            with open(state, "w") as f:
                f.write(f"up to seed {seed} of {size}\n{tally.text()}\n")
    for name in os.listdir(folder):
        if name.startswith(f"m{os.getpid()}"):
            os.remove(os.path.join(folder, name))
    print(tally.text())
    far = list(tally.too_far())
    print("".join(line + "\n" for line in far), end="")
    sys.exit(1 if far or not tally.rows or any(r["differ"] for r in tally.rows.values()) else 0)


if __name__ == "__main__":
    main()
