#!/usr/bin/env python3
"""`rocm-perf analyze` on traces that are not what they should be.

usage: fuzz.py ROCM_PERF FOLDER [PAGES [SEED]]
Every table and every column is dropped in turn, pages are overwritten (PAGES traces, default 60),
strings are replaced by hostile ones, numbers by texts and by the largest ones, and CSV files are cut
and changed. Each time there is a result that is well formed, or one message with exit status 3.
"""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

HOSTILE = ["", "\x01\x02\n\r\t\"\\", "%s%n%x", "<script>alert(1)</script>", "'; DROP TABLE x; --", "\u202e\u0000hidden",
           "A" * 70000, "{\"a\": [1, 2", "\U0001f4a9" * 300, "../../etc/passwd", "-9223372036854775809", "0x", "nan"]
NUMBERS = [2**63 - 1, -2**63, -1, 0, "text", None, 1e300, b"\xff\xfe"]


def tables_of(db):
    return [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd%' ORDER BY name")]


def columns_of(db, table):
    return [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]


def views_of(db):
    return db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'").fetchall()


def rebuild(db, table, column):
    """Drops a column, whatever constraints it has; views of the table stay."""
    views = views_of(db)
    for name, _ in views:
        db.execute(f'DROP VIEW "{name}"')
    names = ", ".join(f'"{c}"' for c in columns_of(db, table) if c != column)
    db.execute(f'CREATE TABLE kept AS SELECT {names} FROM "{table}"')
    db.execute(f'DROP TABLE "{table}"')
    db.execute(f'ALTER TABLE kept RENAME TO "{table}"')
    for _, sql in views:
        db.execute(sql)


def without_checks(db, table):
    """The same rows without types and constraints, so that anything can be put there."""
    rebuild(db, table, None)


class Fuzz:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.wrong, self.runs, self.refused = [], 0, 0

    def check(self, what, *paths):
        run = subprocess.run([self.program, "analyze", "--json", *paths], capture_output=True, timeout=120)
        self.runs += 1
        err = run.stderr.decode(errors="replace")
        if run.returncode == 0:
            try:
                got = json.loads(run.stdout.decode())
                assert sum(got["critical_path"]["by_class"].values()) == got["makespan_ns"] >= 0
            except (ValueError, AssertionError, KeyError) as e:
                self.wrong.append(f"{what}: the result is wrong: {e!r}")
        elif run.returncode == 3:
            self.refused += 1
            if not err.startswith("rocm-perf: ") or err.count("\n") != 1 or run.stdout:
                self.wrong.append(f"{what}: {err!r}")
        else:
            self.wrong.append(f"{what}: exit status {run.returncode}: {err[-400:]}")

    def changed(self, base, what, change):
        path = os.path.join(self.folder, "x.db")
        shutil.copy(base, path)
        db = sqlite3.connect(path)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = MEMORY")
        try:
            change(db)
            db.commit()
        finally:
            db.close()
        self.check(what, path)

    def schema(self, base):
        db = sqlite3.connect(base)
        tables = {t: columns_of(db, t) for t in tables_of(db)}
        db.close()
        for table, columns in tables.items():
            self.changed(base, f"without {table}", lambda db: db.execute(f'DROP TABLE "{table}"'))
            self.changed(base, f"{table} empty", lambda db: db.execute(f'DELETE FROM "{table}"'))
            for column in columns:
                self.changed(base, f"without {table}.{column}", lambda db: rebuild(db, table, column))

    def values(self, base, rng):
        db = sqlite3.connect(base)
        tables = {t: columns_of(db, t) for t in tables_of(db)}
        db.close()
        for table, columns in tables.items():
            for column in columns:
                value = rng.choice(HOSTILE + NUMBERS)

                def change(db):
                    without_checks(db, table)
                    db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid IN '
                               f'(SELECT rowid FROM "{table}" ORDER BY rowid % 7, rowid LIMIT 5)', (value,))
                self.changed(base, f"{table}.{column} = {value!r:.60}", change)

    def pages(self, base, count, rng):
        path = os.path.join(self.folder, "x.db")
        with open(base, "rb") as f:
            whole = f.read()
        for i in range(count):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(100 if i % 3 else 0, len(data))
                size = rng.choice([1, 2, 8, 64, 4096])
                data[at:at + size] = rng.choice([rng.randbytes(size), bytes(size), b"\xff" * size])[:len(data) - at]
            if i % 5 == 0:
                del data[rng.randrange(1, len(data)):]
            with open(path, "wb") as f:
                f.write(data)
            self.check(f"pages {i}", path)

    def csv(self, base, count, rng):
        files = {"kernel_trace.csv": "Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n" +
                 "".join(f"Agent 1,1,1,7,{i},k{i % 3},{i},{10**9 + i * 1000},{10**9 + i * 1000 + 900}\n" for i in range(1, 60)),
                 "hip_api_trace.csv": "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n" +
                 "".join(f"HIP,hipLaunchKernel,7,7,{i},{10**9 + i * 1000 - 500},{10**9 + i * 1000 - 300}\n" for i in range(1, 60))}
        for i in range(count):
            for name, text in files.items():
                data = bytearray(text.encode())
                for _ in range(rng.randrange(0, 5)):
                    at = rng.randrange(len(data))
                    data[at:at + rng.randrange(3)] = rng.choice([b"", b",", b"\n", b"\"", b"-", b"9" * 30, b"\0", rng.randbytes(3)])
                with open(os.path.join(self.folder, "f_" + name), "wb") as f:
                    f.write(data[:rng.randrange(len(data))] if i % 4 == 0 else data)
            self.check(f"csv {i}", os.path.join(self.folder, "f_kernel_trace.csv"))


def main():
    program, folder = sys.argv[1:3]
    pages = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    home = os.path.join(folder, f"f{os.getpid()}")
    os.makedirs(home, exist_ok=True)
    here = os.path.dirname(os.path.abspath(__file__))
    base = os.path.join(home, "t")
    subprocess.run([sys.executable, os.path.join(here, "gen_trace.py"), "-n", "60", "--seed", "2", "--schema", "3.0.4", "-o", base],
                   check=True, stdout=subprocess.DEVNULL)
    fuzz = Fuzz(program, home)
    fuzz.check("untouched", base + ".db")
    fuzz.schema(base + ".db")
    fuzz.values(base + ".db", rng)
    fuzz.pages(base + ".db", pages, rng)
    fuzz.csv(base + ".db", pages // 2, rng)
    shutil.rmtree(home)
    print("\n".join(fuzz.wrong[:20]) or f"{fuzz.runs} traces, {fuzz.refused} refused")
    sys.exit(bool(fuzz.wrong))


if __name__ == "__main__":
    main()
