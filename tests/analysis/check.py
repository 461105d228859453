#!/usr/bin/env python3
"""analysis.json against its own inputs, computed again from the files and the table of rules.

usage: check.py ROCM_PERF SOURCE SCRATCH
"""
import csv
import glob
import json
import os
import re
import subprocess
import sys

from jsonschema import Draft202012Validator

failures = []
LIMITS = ("LESS_WORK", "LATENCY", "UNKNOWN")  # of gains; all others are of mistakes


def expect(what, ok):
    if not ok:
        failures.append(what)


def close(a, b, part=2e-6):
    return abs(a - b) <= part * max(1, abs(b))


def run(tool, *args):
    done = subprocess.run([tool, "analyze", *args], capture_output=True, text=True)
    if done.returncode != 0:
        failures.append("%s: exit status %d: %s" % (args, done.returncode, done.stderr))
        return ""
    return done.stdout


def table(source):
    """The rules [(id, cause, gain, [(feature, sense, value)])] and {cause: label} as the source has them."""
    def text(path):
        with open(os.path.join(source, "src/analyze", path), encoding="utf-8") as file:
            return file.read()

    def names(path, macro):
        return dict(re.findall(r'^%s\((\w+), "(\w+)"' % macro, text(path), re.M))
    feature, label = names("bottleneck_features.def", "RP_FEATURE"), \
        names("bottleneck_labels.def", "RP_BOTTLENECK")
    causes = re.findall(r'^RP_CAUSE\((\w+), "(\w+)", (\w+),', text("bottleneck_causes.def"), re.M)
    cause = {identifier: name for identifier, name, _ in causes}
    rows = []
    for name, of, gain, rest in re.findall(r'^RULE\("(\w+)", (\w+), (\w+), (.*)\)$', text("bottleneck_rules.def"), re.M):
        conditions = [(feature[f], sense.lower(), float(value))
                      for f, sense, value in re.findall(r"IS\((\w+), (\w+), ([0-9.]+)\)", rest)]
        rows.append((name, cause[of], gain, conditions))
    return rows, {name: label[of] for _, name, of in causes}


def holds(value, sense, threshold):
    """True, False, or None where the feature is not known."""
    if sense == "unknown":
        return value is None
    if value is None:
        return None
    return (value >= threshold) == (sense == "at_least")


def judge(rules, features):
    """The rules that fire, and whether one is undecided."""
    fired, undecided = [], False
    for rule in rules:
        states = [holds(features[f], sense, value) for f, sense, value in rule[3]]
        if all(s is True for s in states):
            fired.append(rule)
        elif False not in states:
            undecided = True
    return fired, undecided


def check_document(source, rules):
    """docs/how-it-decides.md has each rule as it is."""
    with open(os.path.join(source, "docs/how-it-decides.md"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for name, _, _, conditions in rules:
        words = ["%s unknown" % f if sense == "unknown" else
                 "%s %s %g" % (f, "≥" if sense == "at_least" else "<", value) for f, sense, value in conditions]
        rows = [re.sub(r"([0-9]\.[0-9]*?)0+(?![0-9])", r"\1", line).replace(". ", " ") for line in lines
                if "| `%s` |" % name in line]
        expect("docs: rule %s" % name, len(rows) == 1 and
               all(w in re.sub(r"\.(?=\D|$)", "", rows[0]) for w in words))


def check_verdict(where, rows, k):
    rules, labels = rows
    fired, undecided = judge(rules, k["features"])
    seen = k["bottleneck"]
    gains = {r["id"]: r["gain"] for r in seen["rules"]}
    expect("%s: rules" % where, [r["id"] for r in seen["rules"]] == [r[0] for r in fired])
    expect("%s: label of the cause" % where, seen["label"] == labels[seen["cause"]])
    for low, high in [g for g in [k["expected_gain"], *gains.values()] if g]:
        expect("%s: range" % where, 1 <= low <= high <= 2.001 * low)
    chosen = [r for r in fired if r[0] == seen["rule"]]
    if seen["cause"] in ("runtime_kernel", "communication"):
        expect("%s: not the user's" % where, k["name"].startswith(("__amd_rocclr_", "nccl", "rccl")))
        return
    if not chosen:  # what fires may still be a mistake that costs nothing
        expect("%s: %s of nothing" % (where, seen["cause"]),
               seen["cause"] == ("unknown" if undecided else "balanced") and
               not any(r[2] in LIMITS for r in fired))
        return
    expect("%s: cause" % where, chosen[0][1] == seen["cause"] and k["expected_gain"] == gains[seen["rule"]])
    if chosen[0][2] in LIMITS:
        limits = [r for r in fired if r[2] in LIMITS]
        expect("%s: the first limit, or the busiest" % where, chosen[0] == limits[0] or
               chosen[0][2] == limits[0][2] == "LESS_WORK")
    else:
        mistakes = [r for r in fired if r[2] not in LIMITS]
        expect("%s: the worst mistake" % where, gains[seen["rule"]][1] == max(gains[r[0]][1] for r in mistakes))
    if chosen[0][2] == "LESS_WORK":
        value = k["features"][chosen[0][3][0][0]]
        expect("%s: headroom" % where, close(k["headroom_fraction"], max(0, 1 - value / 0.7), 1e-5))
    if k["features"]["hbm_share"] is not None and k["features"]["hbm_share"] >= 0.6:
        expect("%s: latency bound in a full memory" % where, seen["label"] != "latency_bound")


def check_kernels(name, rows, analysis):
    order = []
    for k in analysis["kernels"]:
        check_verdict("%s: %s" % (name, k["name"]), rows, k)
        if k["headroom_fraction"] is not None and k["weight"] is not None:
            expect("%s: priority" % name,
                   close(k["priority"], k["headroom_fraction"] * k["weight"]))
        elif k["priority"] is not None:
            failures.append("%s: a priority from nothing" % name)
        order.append(k["priority"] if k["priority"] is not None else k["weight"] or 0)
    expect("%s: order" % name, order == sorted(order, reverse=True))


def counters_of(folder):
    """{kernel: {counter: sum}} of a folder of rocprof-compute, both forms."""
    with open(os.path.join(folder, "pmc_perf.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sums = {}
    for row in rows:
        name = re.sub(r"( \[clone \.kd\]| \(\.kd\)|\.kd)$", "", row["Kernel_Name"])  # as they are joined
        mine = sums.setdefault(name, {})
        if "Counter_Name" in row:
            mine[row["Counter_Name"]] = mine.get(row["Counter_Name"], 0) + float(row["Counter_Value"])
            continue
        for key, value in row.items():
            if key.startswith("SQ_") and value:
                mine[key] = mine.get(key, 0) + float(value)
    return sums


def check_counters(name, folder, analysis):
    sums = counters_of(folder)
    for k in analysis["kernels"]:
        mine = sums[k["name"]]
        for feature, part, whole, scale, most in (
                ("wait", "SQ_WAIT_ANY", "SQ_WAVE_CYCLES", 1, 1),
                ("lanes_active", "SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU", 64, 1),
                ("lds_conflicts", "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", 1, 1)):
            wanted = mine[part] / mine[whole] / scale if mine.get(whole) and part in mine else None
            wanted = None if wanted is not None and wanted > most else wanted
            seen = k["features"][feature]
            expect("%s: %s is %s, not %s" % (name, feature, seen, wanted),
                   seen is None if wanted is None else seen is not None and close(seen, wanted))
        seen = k["occupancy"]["achieved_waves_per_simd"]
        if "SQ_WAVE_CYCLES" in mine and "SQ_BUSY_CU_CYCLES" in mine:
            waves = mine["SQ_WAVE_CYCLES"] / mine["SQ_BUSY_CU_CYCLES"]
            expect("%s: %s waves, not %s" % (name, seen, waves), seen is not None and close(seen, waves))
        else:
            expect("%s: waves from nothing" % name, seen is None)


def check_roofline(name, analysis, roofline):
    kernels = {k["name"]: k for k in roofline.get("kernels", [])}
    for k in analysis["kernels"]:
        roof = kernels.get(k["name"])
        if roof is None:
            continue
        for level in ("hbm", "l1", "l2", "lds"):
            rate, most = roof["levels"][level]["gbps"], roof["ceilings"]["%s_gbps" % level]
            seen = k["features"]["%s_share" % level]
            expect("%s: %s_share" % (name, level),
                   (rate is None or most is None) == (seen is None) and
                   (seen is None or close(seen, rate / most, 1e-5)))


def check_by_time(name, analysis):
    """Without any known dependency, kernels rank by what they take."""
    whole = sum(k["time_ns"] for k in analysis["kernels"])
    expect("%s: basis" % name, analysis["basis"] == "kernel_time" and analysis["basis_ns"] == whole)
    for k in analysis["kernels"]:
        expect("%s: weight of %s" % (name, k["name"]), close(k["weight"], k["time_ns"] / whole))
    if all(k["priority"] is None for k in analysis["kernels"]):
        times = [k["time_ns"] for k in analysis["kernels"]]
        expect("%s: order" % name, times == sorted(times, reverse=True))


def check_path(name, analysis, dag):
    whole = dag["makespan_ns"]
    on_path = {s["name"]: s["ns"] for s in dag["critical_path"]["by_symbol"]}
    free = {w["symbol"]: w["makespan_ns"] for w in dag["what_if"] if w["factor"] == "inf"}
    if not any(dag["grades"][g]["dependency_share"] for g in ("recorded", "derived", "partial")):
        check_by_time(name, analysis)
        return
    expect("%s: basis" % name, analysis["basis"] == "critical_path" and analysis["basis_ns"] == whole)
    for k in analysis["kernels"]:
        mine = on_path.get(k["name"], 0)
        rest = free.get(k["name"], whole - mine)
        expect("%s: weight of %s" % (name, k["name"]), close(k["weight"], mine / whole))
        if rest:
            expect("%s: free" % name, close(k["end_to_end_bound_if_free"], whole / rest))
        if k["headroom_fraction"] is not None:
            left = max(rest, whole - k["headroom_fraction"] * mine)
            expect("%s: bound" % name, close(k["end_to_end_bound"], whole / left, 1e-5))


def analyse(tool, scratch, name, *inputs):
    out = os.path.join(scratch, name)
    text = run(tool, "--analysis", *inputs)
    expect("%s: twice" % name, run(tool, "--analysis", "-o", out, *inputs) == text)
    with open(os.path.join(out, "analysis.json"), encoding="utf-8") as file:
        expect("%s: file" % name, file.read() == text)
    return out, json.loads(text)


def load(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    tool, source, scratch = sys.argv[1:4]
    rows = table(source)
    check_document(source, rows[0])
    with open(os.path.join(source, "schemas/analysis.schema.json"), encoding="utf-8") as file:
        schema = Draft202012Validator(json.load(file))
    cases = []
    for folder in sorted(glob.glob(os.path.join(source, "tests/data/counters/*/pmc_perf.csv"))):
        folder = os.path.dirname(folder)
        name = os.path.basename(folder)
        out, analysis = analyse(tool, scratch, name, folder)
        check_counters(name, folder, analysis)
        check_roofline(name, analysis, load(out, "roofline.json"))
        cases.append((name, analysis))
    for path in sorted(glob.glob(os.path.join(source, "tests/data/rocpd/*.db"))):
        name = os.path.basename(path)
        out, analysis = analyse(tool, scratch, name, path)
        check_path(name, analysis, load(out, "dag.json"))
        cases.append((name, analysis))
    for seed in (1, 2, 3):
        path = os.path.join(scratch, "generated-%d.db" % seed)
        os.makedirs(scratch, exist_ok=True)
        subprocess.run([sys.executable, os.path.join(source, "tests/dag/gen_trace.py"), "-n", "300",
                        "--seed", str(seed), "-o", path[:-3]], check=True, stdout=subprocess.DEVNULL)
        out, analysis = analyse(tool, scratch, "generated-%d" % seed, path)
        check_path("generated-%d" % seed, analysis, load(out, "dag.json"))
        expect("generated: kernels", len(analysis["kernels"]) > 3)
        cases.append(("generated-%d" % seed, analysis))
    for name, analysis in cases:
        for error in schema.iter_errors(analysis):
            failures.append("%s: schema: %s" % (name, error.message[:200]))
        check_kernels(name, rows, analysis)
    expect("no cases", len(cases) > 6)
    for failure in failures[:40]:
        print(failure)
    print("%d cases, %d failures" % (len(cases), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
