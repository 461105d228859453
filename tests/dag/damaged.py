#!/usr/bin/env python3
"""`rocm-perf analyze` on traces with times that no clock gives.

usage: damaged.py ROCM_PERF FOLDER
What is spoilt is left out and counted, or the trace is refused; numbers are never made of it.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

LEAST, MOST = -2**63, 2**63 - 1

# What to spoil: table, columns, value, how many rows; whether the trace is still of use.
DAMAGES = [
    ("rocpd_region", ["start", "end"], LEAST, 1, True),
    ("rocpd_region", ["start"], 0, 2, True),
    ("rocpd_hip_event", ["end"], 0, 3, True),
    ("rocpd_kernel_dispatch", ["start"], LEAST, 1, True),
    ("rocpd_kernel_dispatch", ["end"], 4 * 10**18, 1, True),  # calls waited for it: clipped
    ("rocpd_kernel_dispatch", ["end"], MOST, 20, True),
    ("rocpd_memory_copy", ["start", "end"], MOST, 1, True),
    ("rocpd_memory_copy", ["start", "end"], MOST, 16, False),
    ("rocpd_hip_event", ["end"], MOST, 1, False),
    ("rocpd_region", ["start"], 1, 1, True),  # long ago, but within a year
]


def spoil(path, table, columns, value, rows):
    db = sqlite3.connect(path)
    names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if n.startswith(table + "_")]
    assert len(names) == 1, names
    changed = db.execute(f'UPDATE "{names[0]}" SET ' + ", ".join(f'"{c}" = {value}' for c in columns) +
                         f' WHERE id IN (SELECT id FROM "{names[0]}" ORDER BY id DESC LIMIT {rows})').rowcount
    assert changed == rows, (table, changed)
    db.commit()
    db.close()


def main():
    program, folder = sys.argv[1:]
    base = os.path.join(folder, f"d{os.getpid()}")
    os.makedirs(folder, exist_ok=True)
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gen_trace.py"), "-n", "300",
                    "--seed", "1", "--schema", "3.0.4", "-o", base], check=True, stdout=subprocess.DEVNULL)
    wrong = []
    for table, columns, value, rows, of_use in DAMAGES:
        shutil.copy(base + ".db", base + "x.db")
        spoil(base + "x.db", table, columns, value, rows)
        run = subprocess.run([program, "analyze", "--json", base + "x.db"], capture_output=True, text=True)
        what = f"{rows} {table}.{columns} = {value}"
        if run.returncode != (0 if of_use else 3):
            wrong.append(f"{what}: exit status {run.returncode} {run.stderr}")
        elif not of_use and "more than a year" not in run.stderr:
            wrong.append(f"{what}: {run.stderr}")
        elif of_use:
            got = json.loads(run.stdout)
            left_out = rows if value <= 0 else 0
            overlap = got["overlap"]
            if not 0 < overlap["kernel_time_ns"] < 10**9 or not 0 < overlap["copy_time_ns"] < 10**9:
                wrong.append(f"{what}: sums of {overlap['kernel_time_ns']} and {overlap['copy_time_ns']}")
            if (got["repairs"]["clipped_ends"] > 0) != (value > 10**18):
                wrong.append(f"{what}: {got['repairs']['clipped_ends']} clipped")
            if got["repairs"]["never_ended"] != left_out:
                wrong.append(f"{what}: {got['repairs']['never_ended']} left out")
            if not 0 < got["makespan_ns"] < 2 * 10**12 or \
                    sum(got["critical_path"]["by_class"].values()) != got["makespan_ns"]:
                wrong.append(f"{what}: the path does not add up to {got['makespan_ns']}")
    for name in os.listdir(folder):
        if name.startswith(f"d{os.getpid()}"):
            os.remove(os.path.join(folder, name))
    print("\n".join(wrong) or f"{len(DAMAGES)} traces")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
