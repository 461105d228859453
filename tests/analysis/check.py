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
    """[(id, label, points, [(feature, at least, value)])] as the source has it."""
    def names(path, macro):
        with open(os.path.join(source, "src/analyze", path), encoding="utf-8") as file:
            return dict(re.findall(r'^%s\((\w+), "(\w+)"' % macro, file.read(), re.M))
    feature, label = names("bottleneck_features.def", "RP_FEATURE"), \
        names("bottleneck_labels.def", "RP_BOTTLENECK")
    with open(os.path.join(source, "src/analyze/bottleneck_rules.def"), encoding="utf-8") as file:
        text = file.read()
    rows = []
    for line in re.findall(r"^RULE\((.*)\)$", text, re.M):
        f = [part.strip() for part in line.split(",")]
        rows.append((f[0].strip('"'), label[f[1]], int(f[2]),
                     [(feature[f[3]], f[4] == "AT_LEAST", float(f[5])),
                      (feature[f[6]], f[7] == "AT_LEAST", float(f[8]))]))
    return rows


def judge(rows, features):
    """The verdict once more: label and the rules that fired."""
    points, fired, undecided = {}, [], False
    for name, label, worth, conditions in rows:
        states = [None if features[f] is None else (features[f] >= v) == at_least
                  for f, at_least, v in conditions]
        if all(s is True for s in states):
            fired.append(name)
            points[label] = points.get(label, 0) + worth
        elif False not in states:
            undecided = True
    if not points:
        return ("unknown" if undecided else "mixed"), fired
    best = max(points.values())
    winners = [label for label, p in points.items() if p == best]
    return (winners[0] if len(winners) == 1 else "mixed"), fired


def check_kernels(name, rows, analysis):
    order = []
    for k in analysis["kernels"]:
        label, fired = judge(rows, k["features"])
        seen = k["bottleneck"]
        expect("%s: %s is %s, not %s" % (name, k["name"], seen["label"], label), seen["label"] == label)
        expect("%s: rules of %s" % (name, k["name"]), [r["id"] for r in seen["rules"]] == fired)
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
        if roof["bound_share"] is not None:
            expect("%s: headroom" % name,
                   close(k["headroom_fraction"], max(0, 1 - roof["bound_share"]), 1e-5))


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
