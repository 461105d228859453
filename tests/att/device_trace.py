#!/usr/bin/env python3
"""Checks a thread trace that the software device has left against what the files say about each
other, the code object in the program, and the program's source.

usage: device_trace.py FOLDER PROGRAM LLVM_BIN SOURCE
Prints facts as "name value" lines for the caller.
"""
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

folder, program, llvm, source = sys.argv[1:5]


def load(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def waves_of(manifest):
    for engine, simds in (manifest["wave_filenames"] or {}).items():
        for simd, slots in simds.items():
            for slot, numbers in slots.items():
                for number, (name, begin, end) in numbers.items():
                    wave = load(name)
                    w = wave["wave"]
                    assert name == f"se{engine}_sm{simd}_sl{slot}_wv{number}.json", name
                    assert (w["simd"], w["slot"], w["id"]) == (int(simd), int(slot), int(number)), name
                    assert wave["name"] == "SE" + engine and wave["duration"] == end - begin, name
                    assert (w["begin"], w["end"]) == (begin, end), name
                    assert wave["num_insts"] == wave["num_stitched"] == len(w["instructions"]), name
                    yield int(engine), w


def recount(waves):
    """Sums by line, as rocprofv3 counts; and checks of each wave on the way."""
    sums, states = {}, {}
    for _, wave in waves:
        previous = wave["begin"]
        for time, category, stall, duration, line in wave["instructions"]:
            assert previous <= time and 0 <= stall <= duration, (time, previous, stall, duration)
            s = sums.setdefault(line, [0, 0, 0, 0])
            s[0] += 1
            s[1] += duration
            s[2] += stall
            s[3] += time - previous
            previous = time + duration
        assert previous <= wave["end"]
        assert sum(length for _, length in wave["timeline"]) == wave["end"] - wave["begin"]
        at = wave["begin"]
        for state, length in wave["timeline"]:
            assert 1 <= state <= 4 and length > 0
            states.setdefault(state, []).append((at, at + length))
            at += length
    return sums, states


def check_states(states):
    for state in range(1, 5):
        name = f"wstates{state}.json"
        if not os.path.exists(os.path.join(folder, name)):
            assert state not in states, name
            continue
        data = load(name)
        assert data["name"] == name and data["time"] == sorted(set(data["time"]))
        for time, count in zip(data["time"], data["state"]):
            assert count == sum(b <= time < e for b, e in states[state]), (name, time)


def check_occupancy(waves, cut):
    data = load("occupancy.json")
    lives, open_at = set(), {}
    for engine, rows in data.items():
        if not engine.isdigit():
            continue
        assert [r[0] for r in rows] == sorted(r[0] for r in rows)
        for time, cu, simd, slot, starts, kernel in rows:
            key = (int(engine), cu, simd, slot)
            assert str(kernel) in data["dispatches"] and (key in open_at) != bool(starts), (time, key)
            if starts:
                open_at[key] = time
            else:
                lives.add(key + (open_at.pop(key), time))
    assert not open_at
    for engine, w in waves:
        key = (engine, w["cu"], w["simd"], w["slot"], w["begin"])
        assert any(life[:5] == key and (life[5] == w["end"] or cut) for life in lives), key
    return len(lives)


def code_object():
    """The first ELF file for a GPU in the program; what follows it does not matter."""
    with open(program, "rb") as file:
        data = file.read()
    at = 1
    while True:
        at = data.index(b"\x7fELF", at)
        if int.from_bytes(data[at + 18:at + 20], "little") == 224:
            path = os.path.join(tempfile.mkdtemp(), "code")
            with open(path, "wb") as out:
                out.write(data[at:])
            return path
        at += 4


def run(tool, *args):
    return subprocess.run([os.path.join(llvm, tool), *args], check=True, capture_output=True,
                          text=True).stdout


def disassembly(elf):
    """{function: {address: text}} of LLVM."""
    functions, now = {}, None
    for line in run("llvm-objdump", "-d", elf).splitlines():
        head = re.fullmatch(r"([0-9a-f]+) <(.*)>:", line)
        row = re.fullmatch(r"\t(.*?)\s*// ([0-9A-F]+): ([0-9A-F ]+).*", line)
        if head:
            now = functions.setdefault(head.group(2), {})
        elif row and now is not None:
            now[int(row.group(2), 16)] = row.group(1)
    return functions


def line_table(elf):
    """[(address, file name, line)] in order, None as file at the end of a sequence."""
    table, names, rows = {}, [], []
    for line in run("llvm-dwarfdump", "--debug-line", elf).splitlines():
        name = re.fullmatch(r"file_names\[\s*(\d+)\]:", line)
        text = re.fullmatch(r'\s+name: "(.*)"', line)
        row = re.match(r"0x([0-9a-f]+)\s+(\d+)\s+\d+\s+(\d+)\s(.*)", line)
        if line.startswith("debug_line["):
            table = {}
        elif name:
            names = int(name.group(1))
        elif text and names is not None:
            table[names] = os.path.basename(text.group(1))
        elif row:
            over = "end_sequence" in row.group(4)
            rows.append((int(row.group(1), 16), None if over else table[int(row.group(3))],
                         int(row.group(2))))
    return rows


def place_of(rows, address):
    """The last row at or before the address, of the sequence that has it."""
    found = None
    for (at, name, line), (behind, _, _) in zip(rows, rows[1:]):
        if name is not None and at <= address < behind:
            found = (name, line)
    return found


def check_listing(rows, elf):
    functions, table = disassembly(elf), line_table(elf)
    listed, symbol = {}, None
    for row in rows:
        if row[0].startswith("; "):
            symbol = row[0][2:]
            listed[symbol] = {}
            continue
        text = functions[symbol][row[5]]
        assert row[0] == text, (row, text)
        listed[symbol][row[5]] = text
        name, _, line = row[3].split(" -> ")[0].rpartition(":")
        place = (os.path.basename(name), int(line)) if name else None
        assert place == place_of(table, row[5]), (row, place_of(table, row[5]))
    for symbol, lines in listed.items():  # whole functions, but for what pads them
        rest = [t for a, t in functions[symbol].items() if a not in lines]
        assert all(t in ("s_nop 0", "s_code_end") for t in rest), (symbol, rest[:3])


def check_stats(rows):
    path = os.path.join(os.path.dirname(folder), f"stats_{os.path.basename(folder)}.csv")
    with open(path, newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    assert table[0] == ["CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source"]
    want = [[str(r[4]), str(r[5]), r[0], str(r[6]), str(r[7]), str(r[8]), str(r[9]), r[3]] for r in rows]
    assert sorted(table[1:]) == sorted(want)
    places = [(int(r[0]), int(r[1])) for r in table[1:]]
    assert places == sorted(places)


def check_snapshots(rows):
    names = {frame.rsplit(":", 1)[0] for r in rows if not r[0].startswith("; ")
             for frame in r[3].split(" -> ") if frame}
    tree, found = load("snapshots.json"), {}

    def walk(node, path):
        for key, value in node.items():
            at = os.path.join(path, key)
            if isinstance(value, dict):
                walk(value, at)
            else:
                found[at] = value

    walk(tree, "")
    assert set(found) == names, (set(found) ^ names)
    for path, copy in found.items():
        with open(path, "rb") as a, open(os.path.join(folder, copy), "rb") as b:
            assert a.read() == b.read(), path


def marked(mark):
    with open(source, encoding="utf-8") as file:
        numbers = [n for n, text in enumerate(file, 1) if text.rstrip().endswith("// " + mark)]
    assert len(numbers) == 1, mark
    return f"{os.path.basename(source)}:{numbers[0]}"


def main():
    manifest, code = load("filenames.json"), load("code.json")
    assert manifest["gfxip"] == 9 and manifest["gfxv"] == "vega" and manifest["thread_trace"] is True
    assert manifest["rocm_perf"]["device"] == "software"
    waves = list(waves_of(manifest))
    rows = code["code"]
    assert code["header"] == "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    assert [r[2] for r in rows] == list(range(len(rows))) and rows[0][0].startswith("; ")
    sums, states = recount(waves)
    for row in rows:
        assert row[6:] == sums.pop(row[2], [0, 0, 0, 0]), row
    assert not sums
    check_states(states)
    lives = check_occupancy(waves, manifest["rocm_perf"]["waves_cut_short"])
    check_stats(rows)
    check_listing(rows, code_object())
    check_snapshots(rows)
    clocks = load("realtime.json")
    for engine in {e for e, _ in waves}:
        (a, x), (b, y) = clocks[f"SE{engine}"]
        assert (b - a) * clocks["metadata"]["frequency"] == (y - x) * 2100 * 10**6
    print("waves", len(waves))
    print("lives", lives)
    print("engines", ",".join(str(e) for e in sorted({e for e, _ in waves})))
    print("cus", ",".join(str(c) for c in sorted({w["cu"] for _, w in waves})))
    print("simds", ",".join(str(c) for c in sorted({w["simd"] for _, w in waves})))
    print("modelled", manifest["rocm_perf"]["workgroups_modelled"], manifest["rocm_perf"]["workgroups"])
    print("symbol", rows[0][0][2:])
    # Executions of the lines that the source marks.
    for mark in ("CALLED", "LOOPED", "TAKEN", "MEET", "CHASE"):
        place = marked(mark)
        of = [r for r in rows if any(frame.endswith("/" + place) for frame in r[3].split(" -> "))]
        kinds = {"load": [r for r in of if "_load_" in r[0] and not r[0].startswith("s_")],
                 "add": [r for r in of if r[0].startswith(("v_add_f32", "v_fma", "v_fmac"))],
                 "barrier": [r for r in of if r[0].startswith("s_barrier")]}
        for kind, found in kinds.items():
            if found:
                print(f"{mark}.{kind}", sum(r[6] for r in found), sum(r[8] for r in found))
    # What a load takes: from its issue to the end of the wait for it.
    loads = {r[2] for r in rows if re.match(r"(global|flat)_load", r[0])}
    waits = {r[2] for r in rows if r[0].startswith("s_waitcnt") and "vmcnt(0)" in r[0]}
    took, pairs = [], set()
    for _, wave in waves:
        issued = None
        for time, _, stall, duration, line in wave["instructions"]:
            if line in loads:
                issued = time + stall
            elif line in waits and issued is not None:
                took.append(time + duration - issued)
                issued = None
        for line, on in wave["waitcnt"]:
            pairs |= {(line, dependency) for dependency, zero in on if zero == 0}
    if took:
        print("latency", statistics.median(took))
        assert pairs & {(w, l) for w in waits for l in loads}, pairs
    jumps = sum(i[1] == 7 for _, w in waves for i in w["instructions"])
    print("branches", jumps, sum(i[1] == 8 for _, w in waves for i in w["instructions"]))


main()
