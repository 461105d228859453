# A trace beside the thread trace of the same run, in folders of jobs, and one that has no kernels.
cp -r "$SOURCE/tests/data/cases/attdir" . && chmod -R u+w attdir
rocm-perf analyze -v attdir | grep -E '^(Kernels|Thread trace|  copy$|  rccl$|GPUs)'
mkdir job && mv attdir job/pass_1
rocm-perf analyze -v job | grep -E '^(Kernels|Thread trace)'
mkdir -p idle/host && cp -r job/pass_1/ui_output_agent_1_dispatch_1 idle && cp "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" idle/host/1_results.db
python3 - <<'END'
import sqlite3
db = sqlite3.connect("idle/host/1_results.db")
table = next(n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_kernel_dispatch%'"))
db.execute(f"DELETE FROM {table}")
db.commit()
END
rocm-perf analyze -v idle | grep -A 1 '^Thread trace'
