#!/usr/bin/env python3
"""Writes a decoded thread trace with random waves, and what an analysis of it must find.

usage: gen_att.py DIR SEED [VARIANT...]

DIR/ui_output_agent_7_dispatch_SEED is the trace, DIR/expected.json the answer, counted while the
waves are made. Variants change the form of the files, or damage them:

    list_header columns11 columns14 columns13   forms of code.json and of the stats CSV
    rocm64                                      as ROCm 6.4: no header, stalls or idle times; packed events
    no_realtime gfx11 two_kernels shuffled      things that differ between captures
    empty                                       code and wave_filenames are null
    absent_wave truncated_wave wrong_sum unknown_line bad_timeline unstitched
    no_code no_code_csv no_filenames no_occupancy unended
"""
import csv
import json
import os
import random
import sys

# Text, category of the decoder, kind. Waits: what may stay outstanding.
POOL = [
    ("v_add_f32_e32 v1, v2, v3", 6, "valu"),
    ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", 6, "mfma"),
    ("s_add_u32 s0, s1, s2", 2, "salu"),
    ("s_load_dwordx2 s[0:1], s[2:3], 0x0", 1, "smem"),
    ("global_load_dwordx4 v[4:7], v[8:9], off", 4, "vmem"),
    ("buffer_load_dword v4, v5, s[0:3], 0 offen", 3, "vmem"),
    ("buffer_store_dword v4, v5, s[0:3], 0 offen", 3, "vmem"),
    ("flat_load_dword v1, v[2:3]", 4, "flat"),
    ("ds_read_b128 v[0:3], v4", 5, "lds"),
    ("ds_write_b64 v4, v[0:1]", 5, "lds"),
    ("s_cbranch_scc1 65520", 7, "branch"),
    ("s_waitcnt vmcnt(0)", 9, "wait"),
    ("s_waitcnt vmcnt(2)", 9, "wait"),
    ("s_waitcnt lgkmcnt(0)", 9, "wait"),
    ("s_waitcnt vmcnt(1) lgkmcnt(0)", 9, "wait"),
    ("s_barrier", 9, "barrier"),
    ("s_nop 4", 9, "other"),
    ("s_endpgm", 11, "other"),
]
STATIC = {"valu": "valu_dependency", "mfma": "mfma_dependency", "vmem": "vector_memory_issue",
          "flat": "vector_memory_issue", "lds": "lds_issue", "salu": "scalar_issue",
          "smem": "scalar_issue", "branch": "branch", "barrier": "barrier"}
KINDS = ["valu", "mfma", "salu", "smem", "vmem", "flat", "lds", "branch", "wait", "barrier", "other"]


def sums():
    return {"executed": 0, "latency_cycles": 0, "stall_cycles": 0, "idle_cycles": 0}


def limits(text):
    """What a wait allows: {"vm": n, "lgkm": n}."""
    found = {}
    for part in text.split()[1:]:
        name, number = part.rstrip(")").split("(")
        found[{"vmcnt": "vm", "lgkmcnt": "lgkm"}[name]] = int(number)
    return found


class Wave:
    """Runs a program with random times; keeps lists of what is outstanding."""

    def __init__(self, rng, program, answer, gfx11):
        self.rng, self.program, self.answer, self.gfx11 = rng, program, answer, gfx11
        self.out = {"vm": [], "lgkm": []}
        self.rows = []

    def run(self, begin, steps):
        now = begin
        for step in range(steps):
            last = step == steps - 1
            line = self.program[-1] if last else self.rng.choice(self.program[:-1])
            now = self.execute(now, line)
        return now

    def execute(self, now, line):
        text, category, kind = self.answer["program"][line]
        gap = self.rng.choice([0, 0, 0, 4, 12])
        stall = self.rng.choice([0, 0, 4, 40, 400]) if kind != "wait" else self.rng.choice([0, 60, 700])
        busy = self.rng.choice([4, 8]) if kind != "wait" or stall == 0 else 0
        start = now + gap
        if kind == "branch" and self.rng.random() < 0.5:
            category = 8
        if kind == "branch":
            self.answer["taken" if category == 7 else "not_taken"] += 1
        self.rows.append([start, category, stall, stall + busy, line])
        mine = self.answer["lines"][line]
        mine["executed"] += 1
        mine["latency_cycles"] += stall + busy
        mine["stall_cycles"] += stall
        mine["idle_cycles"] += gap
        reason = self.waited(text, stall, start + stall + busy) if kind == "wait" else \
            STATIC.get(kind, "sleep" if text.startswith("s_nop") else "scalar_issue")
        if stall:
            self.answer["reasons"][reason] = self.answer["reasons"].get(reason, 0) + stall
        self.send(text, kind, start + stall)
        return start + stall + busy

    def send(self, text, kind, issued):
        store = self.gfx11 and "store" in text
        if kind in ("vmem", "flat") and not store:
            self.out["vm"].append((issued, kind))
        if kind in ("lds", "smem", "flat"):
            self.out["lgkm"].append((issued, kind))

    def waited(self, text, stall, end):
        came = {}
        allowed = limits(text)
        for counter, most in allowed.items():
            took = []
            while len(self.out[counter]) > most:
                took.append(self.out[counter].pop(0))
            if took:
                came[counter] = took
        kinds = {kind for took in came.values() for _, kind in took}
        if stall and len(came) == 1 and len(kinds) == 1:
            issued, kind = next(iter(came.values()))[-1]
            self.answer["latencies"].setdefault(kind, []).append(end - issued)
        groups = {"vector" if k in ("vmem", "flat") else k for k in kinds}
        if len(groups) > 1:
            return "memory_mixed"
        if groups:
            return {"vector": "vector_memory", "lds": "lds", "smem": "scalar_memory"}[groups.pop()]
        if len(allowed) == 2:
            return "memory_mixed"
        return "vector_memory" if "vm" in allowed else "lds_or_scalar"


def timeline(rng, begin, end):
    """Random states that fill begin to end; a quarter of real waves has 4 cycles more."""
    parts, at = [], begin
    while at < end:
        length = min(end - at, rng.randrange(1, 200) * 4)
        parts.append([rng.randrange(1, 5), length])
        at += length
    if parts and rng.random() < 0.25:
        parts[-1][1] += 4
    return parts


def occupancy(answer, waves, other, unended):
    """Events, and their answer by looking at every event time on its own."""
    events = {}
    for engine, cu, simd, slot, begin, end, kernel in waves + other:
        events.setdefault(engine, []).append([begin, cu, simd, slot, 1, kernel])
        if not unended or (engine, cu, simd, slot, begin) != unended:
            events[engine].append([end, cu, simd, slot, 0, kernel])
    for engine, rows in events.items():
        rows.sort(key=lambda r: (r[0], r[4]))  # ends before starts
        mine = [r for r in rows if r[5] == 3]
        if not mine:
            continue
        first, last = min(r[0] for r in mine), max(r[0] for r in mine)
        lives = [(w[4], last if unended == (w[0], w[1], w[2], w[3], w[4]) else w[5], w[1], w[2])
                 for w in waves if w[0] == engine]
        busy = 0
        for simd in {(c, s) for _, _, c, s in lives}:
            spans = sorted((b, e) for b, e, c, s in lives if (c, s) == simd)
            at = first
            for b, e in spans:
                busy += max(0, e - max(b, at))
                at = max(at, e)
        answer["engines"][engine] = {
            "waves": len(lives), "wave_cycles": sum(e - b for b, e, _, _ in lives),
            "simd_busy_cycles": busy, "first_cycle": first, "last_cycle": last,
            "simds": len({(c, s) for _, _, c, s in lives}), "cus": len({c for _, _, c, _ in lives}),
            "unended_waves": 1 if unended and unended[0] == engine else 0}
    return events


def packed(row):
    """An event as one number."""
    cycle, cu, simd, slot, starts, kernel = row
    return cycle // 8 << 23 | cu << 19 | starts << 18 | slot << 14 | simd << 12 | kernel


def listing(rng, two):
    """Lines of the listing: {line: (text, category, kind)} for each kernel."""
    kernels, line = [], 1
    for number in range(2 if two else 1):
        program = {}
        for entry in POOL if number == 0 else POOL[:6]:
            for _ in range(1 if entry[0] == "s_endpgm" else rng.randrange(1, 3)):
                program[line] = entry
                line += 1
        kernels.append(program)
    return kernels


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, separators=(",", ":"))


def code_rows(answer, kernels, variants):
    rows, address = [], 0x1900
    for number, program in enumerate(kernels):
        first = min(program)
        label = ["; _Z6kernel%dPf" % number, 0, first - 1, "kernel%d(float*)" % number, 8, address,
                 0, 0, 0, 0]
        rows.append(label)
        for line, (text, _, _) in program.items():
            s = answer["lines"][line]
            rows.append([text, 0, line, "/src/k.cpp:%d" % (line // 3), 8, address, s["executed"],
                         s["latency_cycles"], s["stall_cycles"], s["idle_cycles"]])
            address += 8
    header = ["ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle"]
    if "columns13" in variants:
        header += ["PC_Issued", "PC_Stalled", "Stall_Reasons"]
        rows = [r + [0, 0, [0] * 10] for r in rows]
    if "columns14" in variants:
        header += ["ServiceType", "Issued", "Stalled", "NotIssuedReasons"]
        rows = [r + ["none", 0, 0, [0] * 10] for r in rows]
    if "shuffled" in variants:  # columns in another order
        order = list(range(len(header)))
        random.Random(1).shuffle(order)
        header = [header[i] for i in order]
        rows = [[r[i] for i in order] for r in rows]
    return header, rows


def write_stats(path, answer, kernels, variants):
    header = ["CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle"]
    header += ["ServiceType", "Issued", "Stalled"] if "columns11" in variants else []
    header += ["Source"]
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(",".join(header) + "\n" if "columns11" in variants
                   else ",".join('"%s"' % h for h in header) + "\n")
        out = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        for program in kernels:
            for line, (text, _, _) in program.items():
                s = answer["lines"][line]
                row = [8, 0x1900 + 8 * line, text, s["executed"], s["latency_cycles"],
                       s["stall_cycles"], s["idle_cycles"]]
                row += ["none", 0, 0] if "columns11" in variants else []
                out.writerow(row + ["/src/k.cpp:%d" % (line // 3)])


def damage(folder, names, files, variants, answer):
    if "absent_wave" in variants:
        os.remove(os.path.join(folder, names[0]))
    if "truncated_wave" in variants:
        path = os.path.join(folder, names[0])
        with open(path, "r+", encoding="utf-8") as file:
            file.truncate(os.path.getsize(path) // 2)
    if names and ("unknown_line" in variants or "bad_timeline" in variants or "unstitched" in variants):
        wave = files[names[0]]
        if "unknown_line" in variants:
            wave["wave"]["instructions"][0][4] = 100000
        if "bad_timeline" in variants:
            wave["wave"]["timeline"][0][1] += 8
        if "unstitched" in variants:
            wave["num_stitched"] -= 3
        write(os.path.join(folder, names[0]), wave)
    for variant, name in (("no_code", "code.json"), ("no_code_csv", "code.json"),
                          ("no_filenames", "filenames.json"), ("no_occupancy", "occupancy.json")):
        if variant in variants:
            os.remove(os.path.join(folder, name))
    answer["damaged"] = bool({"truncated_wave", "wrong_sum", "unknown_line", "bad_timeline"} & variants)
    answer["missing"] = bool({"absent_wave", "unstitched", "no_code", "no_code_csv", "no_filenames",
                              "no_occupancy"} & variants)


def make_waves(rng, kernels, answer, variants):
    """[engine, cu, simd, slot, begin, end, kernel id] and the wave files."""
    waves, files, tree = [], {}, {}
    for engine in (0, 2):
        for simd in range(rng.randrange(2, 5)):
            for slot in range(rng.randrange(1, 3)):
                begin = rng.randrange(1000, 1400) * 4
                for number in range(rng.randrange(1, 3)):
                    wave = Wave(rng, list(kernels[0]), answer, "gfx11" in variants)
                    end = wave.run(begin, rng.randrange(40, 200))
                    name = "se%d_sm%d_sl%d_wv%d.json" % (engine, simd, slot, number)
                    count = len(wave.rows)
                    files[name] = {"duration": end - begin, "name": "SE%d" % engine, "num_insts": count,
                                   "num_stitched": count, "wave": {
                                       "begin": begin, "cu": 1, "end": end, "id": number,
                                       "instructions": wave.rows, "simd": simd, "slot": slot,
                                       "timeline": timeline(rng, begin, end), "waitcnt": []}}
                    tree.setdefault(str(engine), {}).setdefault(str(simd), {}).setdefault(
                        str(slot), {})[str(number)] = [name, begin, end]
                    waves.append((engine, 1, simd, slot, begin, end, 3))
                    begin = end + rng.randrange(1, 50) * 4
    return waves, files, tree


def main():
    target, seed, variants = sys.argv[1], int(sys.argv[2]), set(sys.argv[3:])
    rng = random.Random(seed)
    folder = os.path.join(target, "ui_output_agent_7_dispatch_%d" % seed)
    os.makedirs(folder)
    kernels = listing(rng, "two_kernels" in variants)
    program = {line: entry for k in kernels for line, entry in k.items()}
    answer = {"program": program, "lines": {line: sums() for line in program}, "reasons": {},
              "latencies": {}, "taken": 0, "not_taken": 0, "engines": {}}
    waves, files, tree = ([], {}, None) if "empty" in variants else \
        make_waves(rng, kernels, answer, variants)
    other = [(e, rng.randrange(2, 9), s, 0, 400, 90000, 1) for e in (0, 2) for s in range(4)]
    unended = waves[0][:5] if "unended" in variants else None
    if "rocm64" in variants:  # its events have times in units of 8 cycles
        events = occupancy(answer, [(*w[:4], w[4] & ~7, w[5] & ~7, w[6]) for w in waves], other, unended)
        events = {engine: [packed(row) for row in rows] for engine, rows in events.items()}
    else:
        events = occupancy(answer, waves, other, unended)
    header, rows = code_rows(answer, kernels, variants)
    if "wrong_sum" in variants:
        rows[3][header.index("Stall")] += 4
    code = {"code": None if "empty" in variants else rows, "version": "3.0.0",
            "header": header if {"list_header", "columns13"} & variants else ", ".join(header)}
    if "rocm64" in variants:
        code = {"code": [row[:8] for row in rows], "version": "3.0.0"}
    write(os.path.join(folder, "code.json"), code)
    cuts = {"rocm_perf": {"device": "software", "timing": "detailed", "waves_cut_short": 3,
                          "waves_cut_short_by_buffer": 1, "waves_lost": 2}} if "cut_short" in variants else {}
    write(os.path.join(folder, "filenames.json"), {
        **cuts, "global_begin_time": 0, "gfxv": "navi" if "gfx11" in variants else "vega",
        "gfxip": 11 if "gfx11" in variants else 9, "version": "3.0.0", "counter_names": [],
        "wave_filenames": tree})
    for name, wave in files.items():
        write(os.path.join(folder, name), wave)
    write(os.path.join(folder, "occupancy.json"), {
        **{str(e): r for e, r in sorted(events.items())}, "version": "3.0.0",
        "dispatches": {"0": "0 / 0x0", "1": "6 / 0x26c00", "3": "_Z6kernel0Pf"}})
    if "no_realtime" not in variants:
        write(os.path.join(folder, "realtime.json"), {
            "SE0": [[1000, 5000], [3000, 5060], [85000, 9000]], "SE2": [[900, 5000], [84900, 9000]],
            "metadata": {"frequency": 100000000}})
        answer["clock_mhz"] = 84000 / 4000 * 100
    if "no_code_csv" in variants or "columns11" in variants:
        write_stats(os.path.join(target, "stats_%s.csv" % os.path.basename(folder)), answer, kernels,
                    variants)
    answer["states"] = [0] * 5
    for wave in files.values():
        for state, cycles in wave["wave"]["timeline"]:
            answer["states"][state] += cycles
    answer["waves"] = len(files)
    answer["wave_cycles"] = sum(w[5] - w[4] for w in waves)
    damage(folder, sorted(files), files, variants, answer)
    write(os.path.join(target, "expected.json"), answer)


if __name__ == "__main__":
    main()
