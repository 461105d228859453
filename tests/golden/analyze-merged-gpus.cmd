# exit 3
# Two processes in one database, of hosts whose GPU 1 is not the same one.
python3 - "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" merged.db <<'PY'
import sqlite3, sys
source = sqlite3.connect(sys.argv[1])
merged = sqlite3.connect(sys.argv[2])
merged.executescript("\n".join(source.iterdump()))
suffix = merged.execute("SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_info_agent_%'").fetchone()[0][16:]
tables = [r[0] for r in merged.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_%'")]
views = [r[0] for r in merged.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
for view in views:
    merged.execute(f'DROP VIEW "{view}"')
for table in tables: # what is left is one table of each kind, with a guid in every row
    if not table.endswith(suffix):
        continue
    name = table[: -len(suffix)].rstrip("_")
    columns = [r[1] for r in merged.execute(f'PRAGMA table_info("{table}")')]
    merged.execute(f'CREATE TABLE "{name}" AS SELECT * FROM "{table}"')
    if "guid" in columns:
        other = ", ".join("'00000000-0000-7000-8000-000000000002'" if c == "guid" else f'"{c}"' for c in columns)
        merged.execute(f'INSERT INTO "{name}" SELECT {other} FROM "{table}"')
    merged.execute(f'DROP TABLE "{table}"')
merged.execute("""UPDATE rocpd_info_agent SET extdata = json_set(extdata, '$.cu_count', 80, '$.device_id', 29861)
                  WHERE guid LIKE '%002' AND type = 'GPU'""")
merged.commit()
PY
rocm-perf analyze --roofline merged.db
