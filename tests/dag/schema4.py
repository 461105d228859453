#!/usr/bin/env python3
"""`rocm-perf analyze` on the same traces in the layout of the drafts of rocpd's schema 4.

usage: schema4.py ROCM_PERF FOLDER
There an activity refers to a track (thread, agent, queue, stream) and, in one of the drafts, to rows
of rocpd_timestamp. Results must be the same to the byte.
"""
import os
import sqlite3
import subprocess
import sys

TRACKED = ["nid", "pid", "tid", "agent_id", "queue_id", "stream_id"]
ACTIVITIES = ["region", "kernel_dispatch", "memory_copy"]
NEVER = -1  # stands for NULL where tracks are compared


def columns(db, table):
    return [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]


def rebuild(db, table, drop, add):
    """The table without some columns and with others: {name: expression}."""
    kept = [c for c in columns(db, table) if c not in drop]
    wanted = ", ".join([f'r."{c}"' for c in kept] + [f'{e} AS "{n}"' for n, e in add.items()])
    db.execute(f'CREATE TABLE moved AS SELECT {wanted} FROM "{table}" r')
    names = ", ".join([f'"{c}"' + (" INTEGER PRIMARY KEY" if c == "id" else "") for c in kept] + [f'"{n}"' for n in add])
    db.execute(f'DROP TABLE "{table}"')
    db.execute(f'CREATE TABLE "{table}" ({names})')
    db.execute(f'INSERT INTO "{table}" SELECT * FROM moved')
    db.execute("DROP TABLE moved")


def convert(path, timestamps, views):
    db = sqlite3.connect(path)
    tables = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    guid = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid'").fetchone()[0]
    suffix = "_" + guid.replace("-", "_")
    for (view,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
        db.execute(f'DROP VIEW "{view}"')
    tracks = "rocpd_track" + suffix
    db.execute(f'DROP TABLE IF EXISTS "{tracks}"')
    db.execute(f'CREATE TABLE "{tracks}" (id INTEGER PRIMARY KEY, guid TEXT, ' + ", ".join(TRACKED) + ")")
    times = "rocpd_timestamp" + suffix
    if timestamps:
        db.execute(f'CREATE TABLE "{times}" (id INTEGER PRIMARY KEY, guid TEXT, value BIGINT, phase INTEGER)')
    for kind in ACTIVITIES:
        table = f"rocpd_{kind}{suffix}"
        if table not in tables:
            continue
        has = columns(db, table)
        key = [f'coalesce(r."{c}", {NEVER})' if c in has else str(NEVER) for c in TRACKED]
        db.execute(f'INSERT INTO "{tracks}" (guid, {", ".join(TRACKED)}) SELECT DISTINCT ?, '
                   + ", ".join(f"nullif({k}, {NEVER})" for k in key) + f' FROM "{table}" r', (guid,))
        match = " AND ".join(f"coalesce(t.{c}, {NEVER}) = {k}" for c, k in zip(TRACKED, key))
        add = {"track_id": f'(SELECT max(t.id) FROM "{tracks}" t WHERE {match})'}
        drop = list(TRACKED)
        if timestamps:
            base = db.execute(f'SELECT coalesce(max(id), 0) FROM "{times}"').fetchone()[0]
            for phase, column in enumerate(("start", "end")):
                db.execute(f'INSERT INTO "{times}" (id, guid, value, phase) SELECT {base} + 2 * id + {phase}, ?, "{column}", '
                           f'{phase + 1} FROM "{table}"', (guid,))
                add[column + "_id"] = f"{base} + 2 * r.id + {phase}"
            drop += ["start", "end"]
        rebuild(db, table, drop, add)
    agents = "rocpd_info_agent" + suffix
    rebuild(db, agents, ["name", "user_name"], {"name": "NULL", "generic_name": 'r."name"'})
    if views:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if table.endswith(suffix):
                db.execute(f'CREATE VIEW "{table[:-len(suffix)]}" AS SELECT * FROM "{table}"')
    db.commit()
    db.close()


def analyze(program, path, option):
    run = subprocess.run([program, "analyze", option, *(["--full"] if option == "--json" else []), path],
                         capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr.replace(path, "")


def main():
    program, folder = sys.argv[1:]
    base = os.path.join(folder, f"s{os.getpid()}")
    os.makedirs(folder, exist_ok=True)
    here = os.path.dirname(os.path.abspath(__file__))
    wrong, runs = [], 0
    for options in ([], ["--schema", "3.0.4", "--threads", "2"], ["--null-p", "0.05"]):
        subprocess.run([sys.executable, os.path.join(here, "gen_trace.py"), "-n", "400", "--seed", "3", "-o", base, *options],
                       check=True, stdout=subprocess.DEVNULL)
        want = analyze(program, base + ".db", "--json")
        assert want[0] == 0, want
        for timestamps in (False, True):
            for views in (False, True):
                with open(base + ".db", "rb") as src, open(base + "x.db", "wb") as to:
                    to.write(src.read())
                convert(base + "x.db", timestamps, views)
                got = analyze(program, base + "x.db", "--json")
                runs += 1
                if got != want:
                    wrong.append(f"{options} timestamps {timestamps} views {views}: exit status {got[0]} {got[2]}")
    for name in os.listdir(folder):
        if name.startswith(f"s{os.getpid()}"):
            os.remove(os.path.join(folder, name))
    print("\n".join(wrong) or f"{runs} traces, the same results")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
