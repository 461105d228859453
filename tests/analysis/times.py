#!/usr/bin/env python3
"""Every output has one runtime of a kernel: the sum of end - start of its rows, to the nanosecond.

usage: times.py ROCM_PERF SOURCE SCRATCH [LIBRARY]
A trace whose consecutive kernels overlap, as firmware stamps ends late, on two queues; beside it the
statistics that rocprofv3 makes of it, summed up here. Then the same with ends that cannot be: every
output counts the same instead of them. LIBRARY: librocm-perf.so, where it can be loaded.
"""
import collections
import csv
import ctypes
import json
import os
import random
import re
import shutil
import subprocess
import sys

failures = []
KERNELS = {"gemm(float*)": 41_003, "softmax(float*, int)": 9_127, "ncclDevKernel_Generic(int)": 77_777,
           "__amd_rocclr_copyBuffer": 3_001}
TRACE = ("Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,"
         "End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Workgroup_Size_X,"
         "Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z").split(",")
CALLS = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp".split(",")


def expect(what, seen, wanted):
    if seen != wanted:
        failures.append(f"{what}: {seen} instead of {wanted}")


# --- a trace ----------------------------------------------------------------------------------

def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, quoting=csv.QUOTE_NONNUMERIC).writerows([header, *rows])


def dispatches(rng):
    """[(queue, name, start, end)]: half of the ends are stamped 10 to 622 ns late."""
    rows, names = [], list(KERNELS)
    for queue in (1, 2):
        now = 5_000_000_000 + queue * 1_000
        for _ in range(40):
            name = rng.choice(names)
            end = now + int(KERNELS[name] * rng.uniform(0.9, 1.1))
            late = rng.randrange(10, 623) if rng.random() < 0.5 else 0
            rows.append((queue, name, now, end + late))
            now = end + rng.randrange(0, 300)
    return sorted(rows, key=lambda r: r[2])


def make(folder, rows, calls_until):
    """The files of rocprofv3: trace, statistics, and the calls if they were traced."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ids = {name: i + 1 for i, name in enumerate(KERNELS)}
    write(os.path.join(folder, "7_kernel_trace.csv"), TRACE,
          [["KERNEL_DISPATCH", "Agent 4", queue, queue, 7, i + 1, ids[name], name, i + 1, start, end,
            0, 0, 32, 0, 16, 256, 1, 1, 65536, 1, 1] for i, (queue, name, start, end) in enumerate(rows)])
    of = collections.defaultdict(list)
    for _, name, start, end in rows:
        of[name].append(end - start)
    total = sum(map(sum, of.values()))
    write(os.path.join(folder, "7_kernel_stats.csv"),
          ["Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs", "StdDev"],
          [[n, len(v), sum(v), sum(v) / len(v), 100 * sum(v) / total, min(v), max(v), 0.0] for n, v in of.items()])
    if calls_until:
        first = rows[0][2]
        calls = [["HIP_RUNTIME_API_EXT", "hipLaunchKernel", 7, 7, i + 1, first - 90_000 + i * 1_000, first - 89_500 + i * 1_000]
                 for i in range(len(rows))]
        calls.append(["HIP_RUNTIME_API_EXT", "hipDeviceSynchronize", 7, 7, len(rows) + 1, first - 5_000, calls_until])
        write(os.path.join(folder, "7_hip_api_trace.csv"), CALLS, calls)
    return {n: sum(v) for n, v in of.items()}


# --- what the outputs say of it ---------------------------------------------------------------

def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    expect(" ".join(command[1:]), (done.returncode, done.stdout == ""), (status, "-o" in command and "-" not in command))
    return done.stdout, done.stderr


def of_library(path, folder):
    class Error(ctypes.Structure):
        _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]

    lib, handle, error, number = ctypes.CDLL(path), ctypes.c_void_p(), Error(), ctypes.c_double()
    lib.rocm_perf_kernel_count.restype = ctypes.c_size_t
    lib.rocm_perf_kernel_text.restype = ctypes.c_char_p
    lib.rocm_perf_kernel_text.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    lib.rocm_perf_kernel_number.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
    paths = (ctypes.c_char_p * 1)(os.fsencode(folder))
    if lib.rocm_perf_open(paths, ctypes.c_size_t(1), ctypes.byref(handle), ctypes.byref(error)) < 0 or \
            lib.rocm_perf_analyze(handle, ctypes.byref(error)) < 0:
        failures.append(f"library: {error.text}")
        return {}, 0
    found, total = {}, 0
    for k in range(lib.rocm_perf_kernel_count(handle)):
        if lib.rocm_perf_kernel_number(handle, k, 1, ctypes.byref(number)) > 0:
            found[lib.rocm_perf_kernel_text(handle, k, 0).decode()] = round(number.value)
    for which in (1, 2):  # the program's kernels, the runtime's
        if lib.rocm_perf_number(handle, which, ctypes.byref(number)) > 0:
            total += round(number.value)
    lib.rocm_perf_close(handle)
    return found, total


def of_mcp(tool, folder):
    """analysis of the tool analyze, of a client that waits for the answer."""
    messages = [{"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                           "clientInfo": {"name": "times", "version": "1"}}},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/call", "params": {"name": "analyze", "arguments": {"traces": [folder], "result": "analysis"}}}]
    with subprocess.Popen([tool, "mcp", "--allow", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        for m in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **m}) + "\n")
        server.stdin.flush()
        answer = {}
        while answer.get("id") != 2:
            line = server.stdout.readline()
            if not line:
                failures.append("mcp: no answer")
                return {}
            answer = json.loads(line)
        server.stdin.close()
    structured = answer["result"].get("structuredContent")
    document = structured if structured and "kernels" in structured else json.loads(answer["result"]["content"][0]["text"])
    return {k["name"]: k["time_ns"] for k in document["kernels"]}


def of_page(html):
    def data(name):
        return json.loads(re.search(r'id="data-%s">(.*?)</script>' % name, html, re.S).group(1))
    timeline, bars = data("timeline"), collections.Counter()
    for name, ns in zip(timeline["name"], timeline["duration_ns"]):
        bars[timeline["names"][name]] += ns
    return {k["name"]: k["time_ns"] for k in data("analysis")["kernels"]}, dict(bars), data("dag")["overlap"]["kernel_time_ns"]


def check(what, tool, scratch, folder, sums, library):
    """sums: by kernel, what every output has to say."""
    total = sum(sums.values())
    dag = json.loads(run(tool, "analyze", "--json", folder)[0])
    expect(f"{what}: dag.json", dag["overlap"]["kernel_time_ns"], total)
    analysis = json.loads(run(tool, "analyze", "--analysis", folder)[0])
    expect(f"{what}: analysis.json", {k["name"]: k["time_ns"] for k in analysis["kernels"]}, sums)
    text = run(tool, "analyze", folder)[0]
    shown = re.search(r"^Kernels +([0-9.]+) (µs|ms) total", text, re.M)
    expect(f"{what}: text", shown and f"{float(shown[1]) * {'µs': 1e3, 'ms': 1e6}[shown[2]]:.3e}",
           f"{float(f'{total:.3e}'):.3e}")
    rows = csv.DictReader(run(tool, "report", "--format", "csv", "-o", "-", folder)[0].splitlines())
    expect(f"{what}: csv", {r["kernel"]: int(r["time_ns"]) for r in rows}, sums)
    metrics = re.findall(r'^rocm_perf_kernel_time_seconds\{.*kernel="(.*?)".*\} (\S+)$',
                         run(tool, "report", "--format", "openmetrics", "-o", "-", folder)[0], re.M)
    expect(f"{what}: openmetrics", {n: round(float(v) * 1e9) for n, v in metrics}, sums)
    analysed, bars, overlap = of_page(run(tool, "report", "--format", "html", "-o", "-", folder)[0])
    expect(f"{what}: page", (analysed, bars, overlap), (sums, sums, total))
    both = json.loads(run(tool, "compare", "--json", folder, folder)[0])["comparisons"][0]["kernels"]
    for side in ("before", "after"):
        expect(f"{what}: compare, {side}", {k["name"]: round(k["time"][side + "_ms"] * 1e6) for k in both}, sums)
    db = os.path.join(scratch, "times.db")
    if os.path.exists(db):
        os.remove(db)
    run(tool, "history", "add", "--db", db, "--commit", "", "--program", "times", folder)
    rows = list(csv.DictReader(run(tool, "history", "export", "--db", db, "--format", "csv")[0].splitlines()))
    kept = {r["kernel"]: round(float(r["ms"]) * 1e6) for r in rows}
    expect(f"{what}: history", {k: v for k, v in kept.items() if k}, sums)
    expect(f"{what}: history, all", kept.get(""), total)
    expect(f"{what}: mcp", of_mcp(tool, folder), sums)
    if library:
        expect(f"{what}: library", of_library(library, folder), (sums, total))
    return dag, text


def main():
    tool, source, scratch, *library = sys.argv[1:]
    library = library[0] if library else None
    os.makedirs(scratch, exist_ok=True)
    folder, rows = os.path.join(scratch, "times"), dispatches(random.Random(4))
    for calls_until in (None, max(end for *_, end in rows) + 9_000):
        what = "with calls" if calls_until else "kernels alone"
        sums = make(folder, rows, calls_until)
        dag, _ = check(what, tool, scratch, folder, sums, library)
        expect(f"{what}: clipped", dag["repairs"]["clipped_ends"], 0)
        expect(f"{what}: late ends", dag["repairs"]["late_ends"] > 10 and 0 < dag["repairs"]["late_by_ns"] < 623, True)
        expect(f"{what}: statistics beside", run(tool, "analyze", folder)[1], "")

        # One end 5 ms, one an hour late, and one at the end of time: each counts as long as its kernel does in the median.
        wrong, late = dict(enumerate(rows)), {7: 5_000_000, 31: 3600 * 10**9, 50: 2**63 - 1 - rows[50][3]}
        lasted = collections.defaultdict(list)
        for i, (_, name, start, end) in enumerate(rows):
            lasted[name].append(None if i in late else end - start)
        for i, by in late.items():
            queue, name, start, end = rows[i]
            wrong[i] = (queue, name, start, end + by)
            known = sorted(d for d in lasted[name] if d is not None)
            follower = min(r[2] for r in rows if r[0] == queue and r[2] > start)
            sums[name] += min(known[len(known) // 2], follower - start) - (end - start)
        make(folder, [wrong[i] for i in range(len(rows))], calls_until)
        os.remove(os.path.join(folder, "7_kernel_stats.csv"))
        dag, text = check(what + ", clipped", tool, scratch, folder, sums, library)
        expect(f"{what}: clipped", dag["repairs"]["clipped_ends"], 3)
        expect(f"{what}: said", "3 times are clipped" in text, True)
        for command in (["compare", folder, folder], ["history", "add", "--db", os.path.join(scratch, "times2.db"),
                                                      "--commit", "", "--program", what, folder]):
            expect(f"{what}: said by {command[0]}", "3 ends in" in run(tool, *command)[1], True)
    # Kernels that take 1.1 times as long from the same starts: late by microseconds is not wrong.
    longer = [(queue, name, start, start + (end - start) * 11 // 10) for queue, name, start, end in rows]
    dag, _ = check("all longer", tool, scratch, folder, make(folder, longer, None), library)
    expect("all longer: clipped", (dag["repairs"]["clipped_ends"], dag["repairs"]["late_ends"] > 40), (0, True))
    print("\n".join(failures) or "every output says the same")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
