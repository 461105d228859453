#!/usr/bin/env python3
"""`rocm-perf analyze` on traces that lead an analysis astray: what is wrong must be mended or said.

usage: traps.py ROCM_PERF SCHEMA FOLDER
"""
import glob
import json
import os
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Run:
    """One generated trace, spoilt by SQL, and what analyze makes of it."""

    def __init__(self, program, schema, folder):
        self.program, self.schema, self.base = program, schema, os.path.join(folder, f"p{os.getpid()}")
        self.wrong = []
        os.makedirs(folder, exist_ok=True)

    def generate(self, *options):
        self.remove()
        subprocess.run([sys.executable, os.path.join(HERE, "gen_trace.py"), "-o", self.base, *options], check=True,
                       stdout=subprocess.DEVNULL)
        with open(self.base + ".oracle.json") as f:
            self.oracle = json.load(f)
        self.files = sorted(glob.glob(self.base + "*.db"))

    def spoil(self, path, *statements):
        """{table} stands for rocpd_table with its suffix. Every statement must change something."""
        db = sqlite3.connect(path)
        suffix = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()[0]
        for s in statements:
            changed = db.execute(s.replace("{", '"rocpd_').replace("}", suffix + '"')).rowcount
            assert changed > 0, s
        db.commit()
        db.close()

    def analyze(self, files=None, *options):
        run = subprocess.run([self.program, "analyze", "--json", *options, *(files or self.files)], capture_output=True, text=True)
        self.status, self.err = run.returncode, run.stderr
        self.got = json.loads(run.stdout) if run.stdout else None
        if self.got:
            with open(self.base + ".json", "w") as f:
                f.write(run.stdout)
            valid = subprocess.run([sys.executable, os.path.join(HERE, "..", "validate_schema.py"), self.schema, self.base + ".json"],
                                   capture_output=True, text=True)
            self.expect("schema", valid.returncode == 0, valid.stdout + valid.stderr)
            self.expect("sum of the path", sum(self.got["critical_path"]["by_class"].values()) == self.got["makespan_ns"], "")

    def expect(self, what, good, seen):
        if not good:
            self.wrong.append(f"{what}: {seen}")

    def near(self, what, tolerance):
        self.expect(what, self.status == 0, self.err)
        if self.status:
            return
        error = abs(self.got["makespan_ns"] / self.oracle["makespan_ns"] - 1)
        self.expect(what, error <= tolerance, f"makespan off by {error}")
        mine = {(w["symbol"], w["factor"]): w["makespan_ns"] for w in self.got["what_if"]}
        for w in self.oracle["whatif"]:
            factor = "inf" if w["speedup"] == "inf" else int(w["speedup"].split("/")[0]) / int(w["speedup"].split("/")[1])
            error = abs(mine.get((w["symbol"], factor), 0) / w["makespan_ns"] - 1)
            self.expect(what, error <= tolerance, f"{w['symbol']} {w['speedup']} off by {error}")

    def remove(self):
        for name in glob.glob(self.base + "*"):
            os.remove(name)


def clocks_of_gpus(r):
    r.generate("-n", "1000", "--seed", "3", "--trap", "early:9000")  # launches take 5000 ns
    r.analyze()
    r.near("GPU clock 9 us behind", 0.001)
    r.expect("GPU clock 9 us behind", r.got["repairs"]["early_starts"] > 0 and r.got["processes"][0]["moved_ns"] == 4000 and
             not r.got["processes"][0]["clocks_apart"], r.got["processes"])
    r.generate("-n", "1000", "--seed", "3", "--trap", "early:200000")
    r.analyze()
    p, grades = r.got["processes"][0], r.got["grades"]
    r.near("GPU clock 200 us behind", 0.001)
    r.expect("GPU clock 200 us behind", p["clocks_apart"] and p["clock_ahead_ns"] in range(-208000, -195000) and
             not p["clocks_contradict"] and grades["derived"]["edges"] > 0 and r.got["repairs"]["moved_clocks"] == 1, (p, grades))


def clocks_of_machines(r):
    r.generate("-n", "1000", "--seed", "3", "--ranks", "4", "--nodes", "2", "--drift-ppb", "500000", "--skew-ns", "777")
    r.analyze()
    r.near("drift", 0.0001)
    m = r.got["machines"][1]
    r.expect("drift", abs(m["drift_ppb"] - 500000) < 500 and m["collectives"] == 19 and m["uncertainty_ns"] > 0, m)
    r.expect("ranks", [p["rank"] for p in r.got["processes"]] == [0, 1, 2, 3] and
             [p["machine"] for p in r.got["processes"]] == [0, 0, 1, 1], r.got["processes"])
    r.generate("-n", "400", "--seed", "3", "--ranks", "2", "--nodes", "2", "--skew-ns", "12345")
    r.spoil(r.files[1], "UPDATE {kernel_dispatch} SET start = start + 1000000000, end = end + 1000000000 WHERE id IN"
            " (SELECT d.id FROM {kernel_dispatch} d JOIN {info_kernel_symbol} s ON s.id = d.kernel_id"
            "  WHERE s.display_name LIKE 'nccl%' ORDER BY d.id LIMIT 1)")
    r.analyze()
    r.expect("contradicting collectives", r.status == 3 and "do not fit together" in r.err and "synthetic-1" in r.err, (r.status, r.err))
    r.generate("-n", "2000", "--seed", "3", "--ranks", "2", "--nodes", "2", "--drift-ppb", "9000000")
    r.analyze()
    r.expect("no clock drifts so much", r.status == 3 and "do not fit together" in r.err, (r.status, r.err))
    r.generate("-n", "400", "--seed", "3", "--ranks", "2", "--nodes", "2", "--coll-every", "100000")
    r.analyze()
    r.expect("no collectives", r.status == 3 and "no collective" in r.err, (r.status, r.err))
    r.analyze(r.files[:1])
    r.expect("one machine of them", r.status == 0, r.err)


def disturbances(r):
    variables = {"counters": {"ROCPROF_COUNTER_COLLECTION": "1"}, "thread_trace": {"ROCPROF_ADVANCED_THREAD_TRACE": "True"},
                 "pc_sampling": {"ROCPROF_PC_SAMPLING_METHOD": "host_trap"}}
    for name, environment in variables.items():
        r.generate("-n", "100", "--env", json.dumps(environment))
        r.analyze()
        r.expect(name, r.got["disturbed_by"] == [name] == r.got["processes"][0]["disturbed_by"], r.got["disturbed_by"])
    r.generate("-n", "100", "--env", '{"ROCPROF_ADVANCED_THREAD_TRACE": "0", "ROCPROF_COUNTERS": "", "RANK": "7"}')
    r.analyze()
    r.expect("nothing", r.got["disturbed_by"] == [] and r.got["processes"][0]["rank"] == 7, r.got["processes"])
    r.spoil(r.files[0], "INSERT INTO {info_pmc} (id, nid, pid, name, symbol) VALUES (1, 4242, 1000, 'SQ_WAVES', 'SQ_WAVES')",
            "INSERT INTO {pmc_event} (event_id, pmc_id, value) SELECT event_id, 1, 5 FROM {kernel_dispatch} LIMIT 3")
    r.analyze()
    r.expect("counters in the trace", r.got["disturbed_by"] == ["counters"], r.got["disturbed_by"])


def lone_rank(r):
    r.generate("-n", "1000", "--seed", "2", "--ranks", "3")
    r.analyze(r.files[1:2])
    names = [w["symbol"] for w in r.got["what_if"]]
    r.expect("a collective alone", not any(n.startswith("nccl") for n in names) and names, names)
    c = r.got["collectives"]
    r.expect("a collective alone", len(c) == 1 and c[0]["wait_ns"] is None and c[0]["count"] == 19, c)
    r.expect("a collective alone", r.got["grades"]["inferred"]["edges"] >= 19, r.got["grades"])
    ranked = json.loads(subprocess.run([r.program, "analyze", "--analysis", r.files[1]], capture_output=True, text=True).stdout)["kernels"]
    r.expect("a collective alone", ranked[-1]["name"].startswith("nccl") and ranked[-1]["weight"] == 0 and
             ranked[0]["weight"] > 0, ranked[-1])


def polls(r):
    for seed in "123":
        r.generate("-n", "1000", "--seed", seed, "--trap", "polls")
        r.analyze()
        r.near("polls", 0.002)
        # The loops are no time of the host: what it waits for is on the path in their place.
        mine = {k: v for k, v in r.got["critical_path"]["by_class"].items() if v}
        r.expect("polls", mine == r.oracle["critical_path"]["by_class"], (mine, r.oracle["critical_path"]["by_class"]))
        r.expect("polls", r.got["grades"]["inferred"]["edges"] > 0, r.got["grades"])


def concurrent_packets(r):
    r.generate("-n", "400", "--seed", "2")
    r.spoil(r.files[0], "UPDATE {kernel_dispatch} SET end = 50000 + (SELECT MIN(n.start) FROM {kernel_dispatch} n WHERE"
            " n.queue_id = {kernel_dispatch}.queue_id AND n.start > {kernel_dispatch}.start) WHERE id % 5 = 2")
    r.analyze()
    r.expect("packets at the same time", r.status == 0 and r.got["repairs"]["concurrent_packets"] > 0 and
             r.got["repairs"]["late_ends"] == 0, r.got and r.got["repairs"])


def endless_dependencies(r):
    """A table in which everything waits for very much, in circles too: the work stays in proportion to its rows."""
    r.generate("-n", "600", "--seed", "2")
    db = sqlite3.connect(r.files[0])
    suffix = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()[0]
    db.execute(f'CREATE TABLE "rocm_perf_dependency{suffix}" (guid TEXT, is_copy INTEGER, row_id INTEGER, waits_for_copy INTEGER, waits_for_id INTEGER)')
    db.execute(f'INSERT INTO "rocm_perf_dependency{suffix}" SELECT a.guid, 0, a.dispatch_id, 0, b.dispatch_id FROM'
               f' "rocpd_kernel_dispatch{suffix}" a JOIN "rocpd_kernel_dispatch{suffix}" b ON b.dispatch_id BETWEEN a.dispatch_id - 200 AND a.dispatch_id + 200')
    db.execute(f'CREATE VIEW rocm_perf_dependency AS SELECT * FROM "rocm_perf_dependency{suffix}"')
    db.commit()
    db.close()
    start = os.times().children_user
    r.analyze()
    took = os.times().children_user - start
    r.expect("endless dependencies", r.status == 0 and r.got["grades"]["recorded"]["edges"] > 40000, r.err)
    r.expect("endless dependencies", took < 2, f"took {took} s")


def main():
    r = Run(*sys.argv[1:])
    for trap in (clocks_of_gpus, clocks_of_machines, disturbances, lone_rank, polls, concurrent_packets, endless_dependencies):
        trap(r)
    r.remove()
    print("\n".join(r.wrong)[:4000] or "all traps are handled")
    sys.exit(bool(r.wrong))


if __name__ == "__main__":
    main()
