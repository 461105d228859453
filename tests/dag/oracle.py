#!/usr/bin/env python3
"""Compares `rocm-perf analyze` with the exact answers of gen_trace.py.

usage: oracle.py ROCM_PERF SCHEMA FOLDER SIZES SEEDS OPTIONS...
SIZES: dispatches, such as 100,1000; SEEDS: first:last; each of OPTIONS is one string of options of
gen_trace.py, such as "--ranks 3 --null-p 0.05". Makespan, path, slack and what-ifs must be equal to
the nanosecond. What a blocking call costs by itself is not in a trace in which every one waited:
where repairs.unknown_costs is not 0, and only there, what-ifs and slack may be off by one such cost.
With --warm each kind of call that can be is in the trace without having waited: then all is exact.
With a trap that spoils times or hides calls, grades and repairs must say so, and what-ifs be within
their least_ns and most_ns, which are equal without one.
Exit status 0 when all agree, 1 otherwise.
"""
import json
import os
import shlex
import sqlite3
import subprocess
import sys

LARGEST_COST_NS = 4500  # of the generator's blocking calls

# Traps that take information away: what must then be said (repairs that must be there, grades that
# must be there), and how far what-ifs may be off as parts of the end-to-end time for nineteen in
# twenty of them (matrix.py); all of them must be within least_ns and most_ns.
TRAPS = {
    "overlap": (["late_ends"], [], 0.01),
    "zero": (["zero_durations"], [], 0.01),
    "neg": (["negative_durations"], [], 0.01),
    "noargs": ([], ["partial"], 0.1),
    "nohip": ([], ["inferred"], 0.1),
}
FINAL_WAIT_NS = 8000 + 1500  # the generator's wake-up and device synchronisation at the end


def generate(base, size, seed, options):
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, os.path.join(here, "gen_trace.py"), "-n", str(size), "--seed", str(seed),
                    "--answers", "-o", base, *options], check=True, stdout=subprocess.DEVNULL)
    with open(base + ".oracle.json") as f:
        return json.load(f)


def guid_of(path):
    if path.endswith(".json"):  # of the PyTorch profiler, which does not name processes
        return path
    db = sqlite3.connect(path)
    guid = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid'").fetchone()[0]
    db.close()
    return guid


def own_copies(path):
    """Calls that always wait, for a copy of their own: what they cost by themselves shows nowhere, and changes nothing."""
    if path.endswith(".json"):
        with open(path) as f:
            return sum(e["name"][-16:] == "MemcpyWithStream" for e in json.load(f)["traceEvents"])
    db = sqlite3.connect(path)
    count = db.execute("SELECT COUNT(*) FROM rocpd_region r JOIN rocpd_string s ON s.id = r.name_id AND s.guid = r.guid"
                       " WHERE s.string = 'hipMemcpyWithStream'").fetchone()[0]
    db.close()
    return count


def factor_of(text):
    return "inf" if text == "inf" else int(text.split("/")[0]) / int(text.split("/")[1])


def nonzero(pairs):
    return {k: v for k, v in pairs if v}


def compare_exact(got, oracle, guids, options):
    """Yields what differs; slack and what-ifs within the cost that the trace does not show."""
    allowed = LARGEST_COST_NS if got["repairs"]["unknown_costs"] and "--warm" not in options else 0
    path, want = got["critical_path"], oracle["critical_path"]
    exact = [
        ("makespan", got["makespan_ns"], oracle["makespan_ns"]),
        ("kernel span", got["kernel_span_ns"], oracle["kernel_span"]["length_ns"]),
        ("classes", nonzero(path["by_class"].items()), nonzero(want["by_class"].items())),
        ("symbols", nonzero((s["name"], s["ns"]) for s in path["by_symbol"]), nonzero(want["by_name"].items())),
        ("chain", [[guids.index(s["guid"]), "C" if s["kind"] == "copy" else "K", s["id"]] for s in path["chain"]],
         want["chain"]),
        ("exposed copies", got["overlap"]["exposed_copy_ns"], oracle["exposed_copy_ns"]),
        ("kernel time", got["overlap"]["kernel_time_ns"], oracle["kernel_time_ns"]),
        ("concurrency", nonzero(enumerate(got["overlap"]["concurrency_ns"])),
         nonzero((int(k), v) for k, v in oracle["concurrency_ns"].items())),
        ("sum of the path", sum(path["by_class"].values()), got["makespan_ns"]),
    ]
    yield from (f"{name}: {a} instead of {b}" for name, a, b in exact if a != b)
    if abs(got["what_if_unshared_queues_ns"] - oracle["whatif_unshared_queues_makespan_ns"]) > allowed:
        yield f"without queues: {got['what_if_unshared_queues_ns']} instead of {oracle['whatif_unshared_queues_makespan_ns']}"
    predicted = {(w["symbol"], w["factor"]): w["makespan_ns"] for w in got["what_if"]}
    unsure = [w for w in got["what_if"] if not w["least_ns"] == w["makespan_ns"] == w["most_ns"]]
    if unsure and any(got["grades"][g]["dependency_share"] for g in ("partial", "inferred")) is False:
        yield f"nothing is guessed, but {unsure[0]}"
    for w in oracle["whatif"]:
        mine = predicted.get((w["symbol"], factor_of(w["speedup"])))
        if mine is None or abs(mine - w["makespan_ns"]) > allowed:
            yield f"{w['symbol']} {w['speedup']}: {mine} instead of {w['makespan_ns']}"
    for kind, d in [("dispatch", d) for d in got["dispatches"]] + [("copy", c) for c in got["copies"]]:
        slack = oracle["slack_ns"][str(guids.index(d["guid"]))][kind][d[kind + "_id"] - 1]
        if abs(d["slack_ns"] - slack) > allowed:
            yield f"slack of {d}: instead of {slack}"


def compare_near_critical(got, want):
    mine = {b["up_to"]: [b["count"], b["time_ns"]] for b in got["slack_histogram"]}
    if mine != want["histogram"]:
        yield f"slack histogram {mine}: {want['histogram']}"
    mine = {s["name"]: [s["count"], s["time_ns"], s["near_ns"]] for s in got["by_symbol"]}
    if mine != want["by_symbol"] or got["epsilon_ns"] != want["epsilon_ns"]:
        yield f"criticality {mine}: {want['by_symbol']}"
    for k, (a, b) in enumerate(zip(got["paths"], want["paths"])):
        differ = {key: a[key] for key in b if a[key] != b[key]}
        if differ or sum(s["ns"] for s in a["by_symbol"]) != b["kernel_ns"] + b["copy_ns"]:
            yield f"near path {k}: {differ} instead of {b}"
    if len(got["paths"]) != len(want["paths"]):
        yield f"{len(got['paths'])} near paths, {len(want['paths'])} wanted"


def compare_collectives(got, want, guids):
    sums = {key: sum(c[key] for c in got["collectives"]) for key in ("count", "time_ns", "exposed_ns")}
    yield from (f"collectives {key}: {value} instead of {want[key]}" for key, value in sums.items() if value != want[key])
    waited = nonzero((str(guids.index(p["guid"])), p["waited_for_ns"]) for p in got["processes"])
    if waited != nonzero(want["waited_for_ns"].items()):
        yield f"waited for {waited}: {want['waited_for_ns']}"
    if guids[0].endswith(".json") and want["count"]:  # the file says what was asked for: 4 MB each
        message, moved = got["messages"][0], want["count"] * 4 * 2**20 * 2 * (len(guids) - 1) / len(guids)
        rate = moved / (want["time_ns"] - sum(want["waited_for_ns"].values()))
        if message["bytes"] != want["count"] * 4 * 2**20 or message["ranks"] != len(guids) or abs(message["bus_gbps"] - rate) > 0.001 or \
                len(got["messages"]) != 1 or any(message[key] != value for key, value in sums.items()):
            yield f"messages {got['messages']}: {rate} GB/s, {want}"


def compare_answers(got, oracle, guids, options):
    """What answers.py says; what a call's own cost may change is off by all of these at most."""
    allowed = LARGEST_COST_NS * got["repairs"]["unknown_costs"]
    for limit in got["limits"]:
        if abs(limit["makespan_ns"] - oracle["limits"][limit["name"]]) > allowed:
            yield f"limit {limit}: {oracle['limits'][limit['name']]}"
    if got["overlap"]["true_span_ns"] != oracle["true_span_ns"]:
        yield f"true span {got['overlap']['true_span_ns']}: {oracle['true_span_ns']}"
    if not allowed and got["overlap"]["pairs"] != oracle["pairs"]:
        yield f"pairs {got['overlap']['pairs']}: {oracle['pairs']}"
    waits = {str(guids.index(p["guid"])): p["collective_wait_ns"] for p in got["processes"] if len(guids) > 1}
    if waits != oracle["collective_wait_ns"] and len(guids) > 1 and oracle["collective_wait_ns"] or \
            sum(waits.values()) != sum(c["wait_ns"] or 0 for c in got["collectives"]):
        yield f"waits in collectives {waits}: {oracle['collective_wait_ns']}"
    if len(guids) > 1:
        yield from compare_collectives(got, oracle["collectives"], guids)
    if not allowed:
        yield from compare_near_critical(got["near_critical"], oracle["near"])
    for agent in got["idle"]["agents"]:
        want = oracle["idle"]["agents"][str(guids.index(agent["guid"]))]
        for key, value in want.items():
            mine = nonzero(agent[key].items()) if key == "by_class" else agent[key]
            if mine != (nonzero(value.items()) if key == "by_class" else value):
                yield f"agent {agent['agent_id']} {key}: {mine} instead of {value}"
        if sum(agent["by_class"].values()) != agent["idle_ns"] or agent["idle_ns"] + agent["busy_ns"] != got["makespan_ns"]:
            yield f"agent {agent['agent_id']}: idle times do not add up"
    if len(got["idle"]["agents"]) != len(oracle["idle"]["agents"]):
        yield f"{len(got['idle']['agents'])} agents"
    has_ranges = "--ranges" in options
    for what, mine, want in (("idle", got["idle"], oracle["idle"]["by_range"]), ("path", got["critical_path"], oracle["path_ranges"])):
        mine = {s["name"]: s["ns"] for s in mine["by_range"]}
        if mine != (nonzero(want.items()) if has_ranges else {}):
            yield f"{what} by range {mine}: {want}"
    mine = {s["name"]: {**s, "kernels": {k["name"]: k["ns"] for k in s["kernels"]}} for s in got["ranges"]}
    want = oracle["ranges"] if has_ranges else {}
    for name in sorted(set(mine) | set(want)):
        differ = {key: (mine.get(name, {}).get(key), value) for key, value in want.get(name, {"no": "range"}).items()
                  if mine.get(name, {}).get(key) != value}
        if differ:
            yield f"range {name}: {differ}"
    if sum(s["own_kernel_ns"] for s in got["ranges"]) + got["outside_ranges_ns"] != got["overlap"]["kernel_time_ns"] and has_ranges:
        yield "the kernel times of ranges do not add up"
    names = nonzero((s["name"], s["ns"]) for s in got["idle"]["by_symbol"])
    if names != nonzero(oracle["idle"]["by_symbol"].items()):
        yield f"idle by symbol {names}: {oracle['idle']['by_symbol']}"


def gain_errors(got, oracle):
    """How far what-ifs are from the truth, as parts of the end-to-end time."""
    predicted = {(w["symbol"], w["factor"]): w["makespan_ns"] for w in got["what_if"]}
    for w in oracle["whatif"]:
        mine = predicted.get((w["symbol"], factor_of(w["speedup"])))
        yield 1 if mine is None else abs(got["makespan_ns"] - mine - w["gain_ns"]) / oracle["makespan_ns"]


def window(files):
    """From the first start to the last end of kernels and copies."""
    times = []
    for path in files:
        db = sqlite3.connect(path)
        for table in ("kernel_dispatch", "memory_copy"):
            times += [t for row in db.execute(f"SELECT MIN(start), MAX(end) FROM rocpd_{table}") for t in row if t]
        db.close()
    return max(times) - min(times)


def compare_near(got, oracle, trap, files):
    """What the trace does not show may be wrong, but not beyond what is said."""
    repairs, grades, _ = TRAPS[trap]
    allowed = LARGEST_COST_NS if got["repairs"]["unknown_costs"] else 0
    if sum(got["critical_path"]["by_class"].values()) != got["makespan_ns"]:
        yield "the path does not add up"
    want = window(files) if trap == "nohip" else oracle["makespan_ns"]
    if got["makespan_ns"] != want:
        yield f"makespan {got['makespan_ns']}: {want}"
    if trap == "nohip":  # nor does the trace show the host's time before the first kernel and after the last
        allowed += FINAL_WAIT_NS
    predicted = {(w["symbol"], w["factor"]): w for w in got["what_if"]}
    for w in oracle["whatif"]:
        mine = predicted.get((w["symbol"], factor_of(w["speedup"])))
        truth = want - w["gain_ns"]
        if mine is None or not mine["least_ns"] - allowed <= truth <= mine["most_ns"] + allowed:
            yield f"{w['symbol']} {w['speedup']}: {mine}, {truth} without the trap"
    for w in got["what_if"]:
        if not w["least_ns"] <= w["makespan_ns"] <= w["most_ns"] <= got["makespan_ns"]:
            yield f"bounds of {w}"
    for name in grades:
        if not got["grades"][name]["edges"]:
            yield f"no edge is graded {name}"
    for name in repairs:
        if not got["repairs"][name] and oracle["args"]["n"] >= 1000:
            yield f"repairs.{name} is 0"


def compare(program, schema, base, oracle, options):
    """What analyze says of the traces that the oracle lists, against it: (what is wrong, how far
    what-ifs are off where the trace hides something). Without a schema, that is not checked."""
    files = [os.path.join(os.path.dirname(base), f["path"]) for f in oracle["files"]]
    run = subprocess.run([program, "analyze", "--full", "--json", *files], capture_output=True, text=True)
    if run.returncode:
        return [f"exit status {run.returncode}: {run.stderr}"], []
    trap = options[options.index("--trap") + 1].split(":")[0] if "--trap" in options else ""
    # Calls of CUDA are called as HIP's are.
    got = json.loads(run.stdout.replace('"cuda', '"hip') if "cuda" in options else run.stdout)
    guids = [guid_of(f) for f in files]
    unsure = "--warm" in options and got["repairs"]["unknown_costs"] - sum(map(own_copies, files))
    errors = list(gain_errors(got, oracle)) if trap in TRAPS else []
    wrong = list(compare_near(got, oracle, trap, files) if trap in TRAPS
                 else [*compare_exact(got, oracle, guids, options), *compare_answers(got, oracle, guids, options)])
    if unsure:
        wrong.append(f"{unsure} costs are unknown, although the trace shows them")
    if schema:
        with open(base + ".dag.json", "w") as f:
            f.write(run.stdout)
        here = os.path.dirname(os.path.abspath(__file__))
        valid = subprocess.run([sys.executable, os.path.join(here, "..", "validate_schema.py"), schema, base + ".dag.json"],
                               capture_output=True, text=True)
        if valid.returncode:
            wrong.append(valid.stdout + valid.stderr)
    return wrong, errors


def main():
    program, schema, folder, sizes, seeds, *variants = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    first, last = map(int, seeds.split(":"))
    failed = runs = 0
    for options in map(shlex.split, variants or [""]):
        for size in map(int, sizes.split(",")):
            for seed in range(first, last + 1):
                base = os.path.join(folder, f"t{os.getpid()}")
                wrong, _ = compare(program, schema if seed == 1 else None, base, generate(base, size, seed, options), options)
                runs += 1
                failed += bool(wrong)
                for line in wrong[:6]:
                    print(f"-n {size} --seed {seed} {shlex.join(options)}: {line}"[:300])
    for name in os.listdir(folder):
        if name.startswith(f"t{os.getpid()}."):
            os.remove(os.path.join(folder, name))
    print(f"{runs} traces, {failed} differ")
    sys.exit(1 if failed or not runs else 0)


if __name__ == "__main__":
    main()
