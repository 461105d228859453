#!/usr/bin/env python3
"""Compares rocm-perf analyze --thread-trace with what gen_att.py counted.

usage: check.py ROCM_PERF SCHEMA SCRATCH
"""
import json
import os
import shutil
import subprocess
import sys

from jsonschema import Draft202012Validator

HERE = os.path.dirname(os.path.abspath(__file__))
FORMS = [[], ["list_header"], ["columns13"], ["columns14"], ["columns11"], ["shuffled"], ["gfx11"],
         ["two_kernels"], ["no_realtime"], ["list_header", "two_kernels", "columns14"], ["unended"], ["rocm64"]]
# Variant -> completeness, a word of the problem
BROKEN = {
    "empty": ("empty", None),
    "absent_wave": ("partial", "not there"),
    "truncated_wave": ("damaged", "se0_sm0_sl0_wv0.json"),
    "wrong_sum": ("damaged", "do not agree"),
    "unknown_line": ("damaged", "not in the listing"),
    "bad_timeline": ("damaged", "do not add up"),
    "unstitched": ("partial", "could not be placed"),
    "cut_short": ("partial", "2 waves cut short: too many instructions to record"),
    "no_code": ("partial", "code.json"),
    "no_code_csv": ("partial", "code.json"),
    "no_filenames": ("partial", "filenames.json"),
    "no_occupancy": ("partial", "occupancy.json"),
}
failures = []


def expect(what, seen, wanted):
    if seen != wanted:
        failures.append("%s: %s instead of %s" % (what, seen, wanted))


def run(tool, folder):
    done = subprocess.run([tool, "analyze", "--thread-trace", folder], capture_output=True, text=True)
    if done.returncode != 0:
        failures.append("%s: exit status %d: %s" % (folder, done.returncode, done.stderr))
        return None
    return done.stdout


def make(scratch, seed, variants):
    target = os.path.join(scratch, "%d-%s" % (seed, "-".join(variants) or "plain"))
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    subprocess.run([sys.executable, os.path.join(HERE, "gen_att.py"), target, str(seed), *variants],
                   check=True)
    with open(os.path.join(target, "expected.json"), encoding="utf-8") as file:
        return target, json.load(file)


def totals(lines):
    sums = {"executed": 0, "idle_cycles": 0, "latency_cycles": 0, "stall_cycles": 0}
    for line in lines:
        for key in sums:
            sums[key] += line[key]
    whole = sums["latency_cycles"] + sums["idle_cycles"]
    sums["stall_fraction"] = round(sums["stall_cycles"] / whole, 6) if whole else None
    return sums


def close(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) <= 1.1e-6)


def compare_sums(name, seen, wanted):
    for key, value in wanted.items():
        if key == "stall_fraction":
            expect(name + " " + key, close(seen[key], value), True)
        else:
            expect(name + " " + key, seen[key], value)


def compare_lines(name, trace, answer):
    """Listed instructions are those of the listing that were executed, in its order."""
    wanted = [(answer["program"][line], sums) for line, sums in answer["lines"].items()
              if sums["executed"]]
    expect(name + " instructions", len(trace["instructions"]), len(wanted))
    for seen, ((text, _, kind), sums) in zip(trace["instructions"], wanted):
        expect(name + " isa", seen["isa"], text)
        expect(name + " kind", seen["kind"], kind)
        compare_sums(name + " " + text, seen["sums"], totals([sums]))
        expect(name + " reasons of " + text, sum(seen["stall_reasons"].values()), sums["stall_cycles"])


def compare_totals(name, trace, answer):
    compare_sums(name + " sums", trace["sums"], totals(answer["lines"].values()))
    for kind in trace["mix"]:
        mine = [s for line, s in answer["lines"].items() if answer["program"][line][2] == kind]
        compare_sums(name + " mix " + kind, trace["mix"][kind], totals(mine))
    expect(name + " reasons", trace["stall_reasons"], dict(sorted(answer["reasons"].items())))
    expect(name + " branches", trace["branches"],
           {"not_taken": answer["not_taken"], "taken": answer["taken"]})
    names = ["empty", "idle", "exec", "wait", "stall"]
    expect(name + " states", trace["state_cycles"],
           {n: c for n, c in zip(names, answer["states"]) if c})
    for kind, values in answer["latencies"].items():
        values.sort()
        seen = trace["memory_latency"].get(kind) or {}
        expect(name + " latency " + kind,
               [seen.get(k) for k in ("count", "least_cycles", "median_cycles", "most_cycles")],
               [len(values), values[0], values[(len(values) - 1) // 2], values[-1]])
    expect(name + " latencies", sorted(trace["memory_latency"]), sorted(answer["latencies"]))


def compare_engines(name, trace, answer):
    engines = {e["shader_engine"]: e for e in trace["occupancy"]["engines"]}
    expect(name + " engines", sorted(engines), sorted(int(e) for e in answer["engines"]))
    cycles = busy = 0
    for key, wanted in answer["engines"].items():
        seen = engines[int(key)]
        for field, value in wanted.items():
            expect("%s engine %s %s" % (name, key, field), seen[field], value)
        width = (wanted["last_cycle"] - wanted["first_cycle"]) / 32
        expect(name + " bins", abs(sum(seen["mean_waves"]) * width - wanted["wave_cycles"]) <
               1e-4 * wanted["wave_cycles"], True)
        cycles += wanted["wave_cycles"]
        busy += wanted["simd_busy_cycles"]
    expect(name + " waves per SIMD", close(trace["occupancy"]["waves_per_simd"],
                                           round(cycles / busy, 6)), True)
    expect(name + " of kernel", trace["occupancy"]["of_kernel_only"], True)


def compare_whole(name, trace, answer):
    expect(name + " completeness", trace["completeness"], "complete")
    expect(name + " problems", trace["problems"], [])
    expect(name + " kernel", trace["kernel"], "kernel0(float*)")
    expect(name + " waves", [len(trace["waves"]), trace["listed_waves"]], [answer["waves"]] * 2)
    expect(name + " clock", trace["clock_mhz"], answer.get("clock_mhz"))
    executed = sum(s["executed"] for s in answer["lines"].values())
    expect(name + " ipc", close(trace["ipc"]["per_wave"], round(executed / answer["wave_cycles"], 6)),
           True)
    compare_lines(name, trace, answer)
    compare_totals(name, trace, answer)
    compare_engines(name, trace, answer)


def compare_broken(name, trace, answer, wanted, variant):
    state, word = wanted
    expect(name + " completeness", trace["completeness"], state)
    if word:
        texts = ["%s: %s" % (p["file"], p["text"]) for p in trace["problems"]]
        expect(name + " problem", any(word in t for t in texts), True)
    if state == "damaged":
        expect(name + " kinds", "damaged" in [p["kind"] for p in trace["problems"]], True)
    # Everything that the remaining files say must still be right.
    if variant in ("absent_wave", "truncated_wave", "unstitched", "bad_timeline", "no_filenames",
                   "no_occupancy", "no_code_csv", "cut_short"):
        compare_sums(name + " sums", trace["sums"], totals(answer["lines"].values()))
    if variant == "no_code":  # from the waves; only the decoder's categories tell kinds
        sums = totals(answer["lines"].values())
        compare_sums(name + " sums", trace["sums"], sums)
    cut = variant == "cut_short"
    expect(name + " cut", [trace["waves_cut_short"], trace["waves_lost"]], [3, 2] if cut else [None] * 2)
    if cut:
        texts = [p["text"] for p in trace["problems"]]
        expect(name + " by buffer", any(t.startswith("1 wave cut short: buffer") for t in texts), True)
        expect(name + " lost", any(t.startswith("2 waves not kept") for t in texts), True)
        expect(name + " ipc", trace["ipc"]["per_simd"], None)
    if variant == "absent_wave":
        expect(name + " waves", len(trace["waves"]), answer["waves"] - 1)


def main():
    tool, schema, scratch = sys.argv[1:4]
    with open(schema, encoding="utf-8") as file:
        validate = Draft202012Validator(json.load(file))
    for seed in range(1, 4):
        for variants in FORMS:
            target, answer = make(scratch, seed, variants)
            name = os.path.basename(target)
            text = run(tool, target)
            if text is None:
                continue
            expect(name + " twice", run(tool, target), text)
            compare_whole(name, json.loads(text)["thread_trace"][0], answer)
            check_schema(validate, target, text)
        for variant, wanted in BROKEN.items():
            target, answer = make(scratch, seed, [variant])
            text = run(tool, target)
            if text is None:
                continue
            compare_broken(os.path.basename(target), json.loads(text)["thread_trace"][0], answer,
                           wanted, variant)
            check_schema(validate, target, text)
    for failure in failures[:40]:
        print(failure)
    print("%d failures" % len(failures))
    return 1 if failures else 0


def check_schema(validator, target, text):
    for error in validator.iter_errors(json.loads(text)):
        failures.append("%s: schema: %s" % (target, error.message[:200]))


if __name__ == "__main__":
    sys.exit(main())
