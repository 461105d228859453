# exit 3
# Several traces of a folder: runs of a command, ranks of one run, the same one twice, or neither.
cat >again.py <<'END'
"""again.py OUT NUMBER START_S [SLOWER [COMMAND [PID [PPID]]]]: the trace of another process."""
import os, sqlite3, sys
out, number, start = sys.argv[1], int(sys.argv[2]), int(float(sys.argv[3]) * 1e9)
slower, command, pid, ppid = (sys.argv[4:] + ["1", "./vadd 100", str(100 + number), "1"][len(sys.argv[4:]):])
old = "00000030-366b-766b-8e59-fecceb320974"
new = f"{number:08d}" + old[8:]
source = sqlite3.connect(os.environ["SOURCE"] + "/tests/data/rocpd/vadd-kernel_results.db")
text = "\n".join(source.iterdump()).replace(old, new).replace(old.replace("-", "_"), new.replace("-", "_"))
os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
db = sqlite3.connect(out)
db.executescript(text)
end = "_" + new.replace("-", "_")
first = db.execute(f"select min(start) from rocpd_info_process{end}").fetchone()[0]
moved = lambda column: f"{column} = {column} - {first} + {start}"
db.execute(f"update rocpd_info_process{end} set {', '.join(map(moved, ('init', 'fini', 'start', 'end')))}, command = ?, pid = ?, ppid = ?",
           (command, int(pid), int(ppid)))
db.execute(f"update rocpd_kernel_dispatch{end} set {moved('start')}, {moved('end')}")
db.execute(f"update rocpd_kernel_dispatch{end} set end = start + cast((end - start) * ? as integer)", (float(slower),))
if os.environ.get("SOFTWARE"):
    for tag, value in (("rocm_perf_device", "software"), ("rocm_perf_timing", "fast"), ("rocm_perf_timing_version", "2")):
        db.execute(f"insert into rocpd_metadata{end}(tag, value) values (?, ?)", (tag, value))
db.commit()
END
try() { rocm-perf "$@"; echo "exit $?"; }
n=0
for i in 0 1 2 3 4 5 6; do
    python3 again.py before/run$i/${i}_results.db $((n += 1)) $((10 + 10 * i)) 1.00$((i * 7 % 5))
    python3 again.py after/run$i/${i}_results.db $((n += 1)) $((210 + 10 * i)) 1.10$((i * 3 % 5))
done
echo "== ten seconds apart: runs"
try compare before after --gate 'runtime<=1.02'
try history add --commit '' before
sqlite3 .rocm-perf/history.db "select program, json_array_length(runs_ms) from result join times on result = id where kernel is null"
echo "== at the same time: ranks of one run"
for i in 0 1 2; do python3 again.py ranks/${i}_results.db $((20 + i)) 300.0$i; done
try compare before ranks | sed -n '/all kernels/p; /exit/p'
echo "== two runs of two ranks each"
for i in 0 1; do
    python3 again.py twice_two/${i}_results.db $((30 + i)) 400.0$i && python3 again.py twice_two/1${i}_results.db $((32 + i)) 410.0$i
done
rocm-perf compare ranks twice_two | sed -n '/runs,/p; /all kernels/p'
echo "== the same one twice"
mkdir copies && cp ranks/0_results.db copies/a.db && cp ranks/0_results.db copies/b.db
try compare copies ranks
try history add --commit '' copies
try analyze copies
try analyze copies/a.db copies/a.db
echo "== what a script has started, one after the other"
python3 again.py script/a_results.db 40 500 1 ./a 7 6 && python3 again.py script/b_results.db 41 510 1 ./b 8 6
try compare script script | sed -n '/all kernels/p; /exit/p'
try history add --commit '' script
try history add --commit '' --program ./script.sh script
echo "== the software device, on which each has a clock of its own: two of one parent, two parents, two containers"
export SOFTWARE=1
for i in 0 1; do
    python3 again.py parent/${i}_results.db $((70 + i)) 800 1 ./a $((7 + i)) 6
    python3 again.py parents/${i}_results.db $((72 + i)) 800 1 ./a $((7 + 2 * i)) $((6 + 2 * i))
    python3 again.py containers/${i}_results.db $((74 + i)) 800 1 ./a 7 1
done
unset SOFTWARE
for with in parent parents containers; do try compare parents $with | sed -n '/all kernels/p; /exit/p'; done
echo "== neither"
python3 again.py mixed/a_results.db 50 600 1 ./a 7 6 && python3 again.py mixed/b_results.db 51 610 1 ./b 8 7777
try compare mixed ranks
python3 again.py uneven/a_results.db 60 700 && python3 again.py uneven/b_results.db 61 700 && python3 again.py uneven/c_results.db 62 710
rocm-perf compare uneven ranks
