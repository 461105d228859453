# exit 3
# Several traces of a folder: runs of a command, ranks of one run, the same one twice, or neither.
cat >again.py <<'END'
"""again(OUT, NUMBER, START_S, SLOWER, COMMAND, PID, PPID): the trace of another process. All in one process: each
start of Python, and each wait for the disk, would take longer than the tests."""
import os, sqlite3, sys
old = "00000030-366b-766b-8e59-fecceb320974"
source = sqlite3.connect(os.environ["SOURCE"] + "/tests/data/rocpd/vadd-kernel_results.db")
dump = "\n".join(source.iterdump())

def again(out, number, start, slower="1", command="./vadd 100", pid=None, ppid="1", software=False):
    number, start = int(number), int(float(start) * 1e9)
    new = f"{number:08d}" + old[8:]
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    db = sqlite3.connect(out, isolation_level=None)
    db.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;" +
                     dump.replace(old, new).replace(old.replace("-", "_"), new.replace("-", "_")))
    end = "_" + new.replace("-", "_")
    first = db.execute(f"select min(start) from rocpd_info_process{end}").fetchone()[0]
    moved = lambda column: f"{column} = {column} - {first} + {start}"
    db.execute(f"update rocpd_info_process{end} set {', '.join(map(moved, ('init', 'fini', 'start', 'end')))}, command = ?, pid = ?, ppid = ?",
               (command, int(pid or 100 + number), int(ppid)))
    db.execute(f"update rocpd_kernel_dispatch{end} set {moved('start')}, {moved('end')}")
    db.execute(f"update rocpd_kernel_dispatch{end} set end = start + cast((end - start) * ? as integer)", (float(slower),))
    if software:
        for tag, value in (("rocm_perf_device", "software"), ("rocm_perf_timing", "detailed"), ("rocm_perf_timing_version", "2")):
            db.execute(f"insert into rocpd_metadata{end}(tag, value) values (?, ?)", (tag, value))
    db.close()

for i in range(7):
    again(f"before/run{i}/{i}_results.db", 1 + 2 * i, 10 + 10 * i, f"1.00{i * 7 % 5}")
    again(f"after/run{i}/{i}_results.db", 2 + 2 * i, 210 + 10 * i, f"1.10{i * 3 % 5}")
for i in range(3):
    again(f"ranks/{i}_results.db", 20 + i, f"300.0{i}")
for i in range(2):
    again(f"twice_two/{i}_results.db", 30 + i, f"400.0{i}")
    again(f"twice_two/1{i}_results.db", 32 + i, f"410.0{i}")
for script, second in (("script", 6), ("mixed", 7777)):
    number, start = {"script": (40, 500), "mixed": (50, 600)}[script]
    again(f"{script}/a_results.db", number, start, "1", "./a", 7, 6)
    again(f"{script}/b_results.db", number + 1, start + 10, "1", "./b", 8, second)
for i in range(2):
    again(f"parent/{i}_results.db", 70 + i, 800, "1", "./a", 7 + i, 6, True)
    again(f"parents/{i}_results.db", 72 + i, 800, "1", "./a", 7 + 2 * i, 6 + 2 * i, True)
    again(f"containers/{i}_results.db", 74 + i, 800, "1", "./a", 7, 1, True)
for name, number, start in (("a", 60, 700), ("b", 61, 700), ("c", 62, 710)):
    again(f"uneven/{name}_results.db", number, start)
END
try() { rocm-perf "$@"; echo "exit $?"; }
python3 again.py
echo "== ten seconds apart: runs"
try compare before after --gate 'runtime<=1.02'
try history add --commit '' before
sqlite3 .rocm-perf/history.db "select program, json_array_length(runs_ms) from result join times on result = id where kernel is null"
echo "== at the same time: ranks of one run"
try compare before ranks | sed -n '/all kernels/p; /exit/p'
echo "== two runs of two ranks each"
rocm-perf compare ranks twice_two | sed -n '/runs,/p; /all kernels/p'
echo "== the same one twice"
mkdir copies && cp ranks/0_results.db copies/a.db && cp ranks/0_results.db copies/b.db
try compare copies ranks
try history add --commit '' copies
try analyze copies
try analyze copies/a.db copies/a.db
echo "== what a script has started, one after the other"
try compare script script | sed -n '/all kernels/p; /exit/p'
try history add --commit '' script
try history add --commit '' --program ./script.sh script
echo "== the software device, on which each has a clock of its own: two of one parent, two parents, two containers"
for with in parent parents containers; do try compare parents $with | sed -n '/all kernels/p; /exit/p'; done
echo "== neither"
try compare mixed ranks
rocm-perf compare uneven ranks
