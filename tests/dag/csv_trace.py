#!/usr/bin/env python3
"""`rocm-perf analyze` on the CSV files that rocprofv3 writes instead of a database.

usage: csv_trace.py ROCM_PERF FOLDER
Traces are written in both forms; CSV has no arguments of calls, so that the database is written
without them. Results must be the same but for the name of the process.
"""
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys

KERNEL = ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name",
          "Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count",
          "Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z", "Grid_Size_X",
          "Grid_Size_Y", "Grid_Size_Z"]
QUERIES = {
    "kernel_trace.csv": (KERNEL, """SELECT 'KERNEL_DISPATCH', 'Agent ' || d.agent_id, queue_id, stream_id, tid,
        dispatch_id, kernel_id, display_name, max(e.stack_id, e.parent_stack_id), start, "end", 0, 0, 8, 4, 16,
        workgroup_size_x, 1, 1, grid_size_x, 1, 1 FROM rocpd_kernel_dispatch d JOIN rocpd_event e ON e.id = d.event_id
        JOIN rocpd_info_kernel_symbol k ON k.id = d.kernel_id ORDER BY d.id"""),
    "memory_copy_trace.csv": (["Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id",
                               "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
                              """SELECT 'MEMORY_COPY', string, stream_id, 'Agent ' || src_agent_id, 'Agent ' ||
        dst_agent_id, e.stack_id, start, "end" FROM rocpd_memory_copy c JOIN rocpd_event e ON e.id = c.event_id
        JOIN rocpd_string s ON s.id = c.name_id ORDER BY c.id"""),
    "hip_api_trace.csv": (["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp",
                           "End_Timestamp"],
                          """SELECT 'HIP_RUNTIME_API_EXT', string, r.pid, tid, e.stack_id, start, "end"
        FROM rocpd_region r JOIN rocpd_event e ON e.id = r.event_id JOIN rocpd_string s ON s.id = r.name_id
        ORDER BY r."end" """),
}


def export(database, prefix, quoting):
    db = sqlite3.connect(database)
    for name, (header, query) in QUERIES.items():
        rows = db.execute(query).fetchall()
        if not rows:
            continue
        with open(prefix + name, "w", newline="") as f:
            csv.writer(f, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(header)
            csv.writer(f, quoting=quoting, lineterminator="\n").writerows(rows)
    db.close()


def without_names(node):
    """The result without the names of processes and machines; ids of copies are row numbers in CSV."""
    if isinstance(node, dict):
        return {k: without_names(v) for k, v in node.items()
                if k not in ("guid", "copy_id", "hostname", "machine_id", "pid", "name" if node.get("kind") == "agent" else "") and
                not (k == "id" and node.get("kind") == "copy")}
    return [without_names(v) for v in node] if isinstance(node, list) else node


def analyze(program, *paths):
    run = subprocess.run([program, "analyze", "--json", "--full", *paths], capture_output=True, text=True)
    if run.returncode:
        return run.stderr
    result = without_names(json.loads(run.stdout))
    for agent in result.get("idle", {}).get("agents", []):
        agent.pop("name", None)
    return result


def differing(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        return next((d for k in sorted({*a, *b}) if (d := differing(a.get(k), b.get(k), f"{path}.{k}"))), None)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((d for i, (x, y) in enumerate(zip(a, b)) if (d := differing(x, y, f"{path}[{i}]"))), None)
    return None if a == b else f"{path}: {a} instead of {b}"


def main():
    program, folder = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    home = os.path.join(folder, f"c{os.getpid()}")
    os.makedirs(home, exist_ok=True)
    wrong, runs = [], 0
    for options, quoting in ((["--trap", "noargs"], csv.QUOTE_ALL), (["--trap", "noargs", "--threads", "2"], csv.QUOTE_NONNUMERIC),
                             (["--trap", "noargs,shuffle"], csv.QUOTE_MINIMAL), (["--trap", "nohip"], csv.QUOTE_ALL)):
        base = os.path.join(home, "t")
        subprocess.run([sys.executable, os.path.join(here, "gen_trace.py"), "-n", "400", "--seed", "5", "-o", base, *options],
                       check=True, stdout=subprocess.DEVNULL)
        want = analyze(program, base + ".db")
        assert isinstance(want, dict), want
        files = os.path.join(home, "csv", "host")
        os.makedirs(files)
        export(base + ".db", os.path.join(files, "77_"), quoting)
        for what, paths in (("one file", [os.path.join(files, "77_kernel_trace.csv")]),
                            ("every file", sorted(os.path.join(files, f) for f in os.listdir(files))),
                            ("the folder", [os.path.join(home, "csv")])):
            runs += 1
            got = analyze(program, *paths)
            difference = differing(got, want)
            if difference:
                wrong.append(f"{options} {what}: {difference}"[:300])
        shutil.copytree(os.path.join(home, "csv"), os.path.join(home, "again"))
        got = analyze(program, os.path.join(home, "csv"), os.path.join(home, "again"))
        runs += 1
        if not isinstance(got, str) or "given twice" not in got:
            wrong.append(f"{options} a copy of the folder: {got}"[:300])
        shutil.rmtree(os.path.join(home, "csv"))
        shutil.rmtree(os.path.join(home, "again"))
    shutil.rmtree(home)
    print("\n".join(wrong) or f"{runs} traces, the same results")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
