# What CI reads says when launches failed and when a rate cannot be: names are whatever the program calls its kernels.
cp "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" failed.db
python3 - <<'END'
import json, sqlite3
db = sqlite3.connect("failed.db")
meta, = (t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'") if t.startswith("rocpd_metadata"))
failed = [{"api": "hipLaunchKernel", "block": [2048, 1, 1], "calls": 2, "code": 1, "error": "hipErrorInvalidValue",
           "grid": [64, 1, 1], "kernel": k, "symbol": k} for k in ('a|`b`](x) <i>"&\n@me', "b", "c", "d", "e", "f")]
for tag, value in (("rocm_perf_device", "hardware"),
                   ("rocm_perf_launches", json.dumps({"calls": 14, "failed": 12, "list": failed}))):
    db.execute(f"INSERT INTO {meta}(tag, value) VALUES(?, ?)", (tag, value))
db.commit()
END
cp failed.db good.db
python3 - <<'END'
import sqlite3
db = sqlite3.connect("good.db")
meta, = (t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'") if t.startswith("rocpd_metadata"))
db.execute(f"""UPDATE {meta} SET value = '{{"calls": 2, "failed": 0, "list": []}}' WHERE tag = 'rocm_perf_launches'""")
db.commit()
END
for trace in failed good; do
    rocm-perf report --format markdown -o - $trace.db | grep -A 8 'no kernel'
    rocm-perf report --format openmetrics --title T -o - $trace.db | grep failed_launches
    rocm-perf report --format junit --title T -o - $trace.db | grep -e failed_launches -e warning
    rocm-perf report --format csv -o - $trace.db | grep -o ',[^,]*,[^,]*$'
done
# 100 million writes in a microsecond; a kernel that is right beside it.
{
    echo Dispatch_ID,GPU_ID,Kernel_Name,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Start_Timestamp,End_Timestamp,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum,TCP_TOTAL_CACHE_ACCESSES_sum
    echo '0,0,"k|`<b>",64,64,0,0,32,0,16,1000,2000,100000000,0,5,100,100,100000000'
    echo 1,0,right,64,64,0,0,32,0,16,3000,4000,100,0,5,100,100,100
} >pmc_perf.csv
rocm-perf report --arch gfx942 --format markdown -o - pmc_perf.csv | tail -n 4
rocm-perf report --arch gfx942 --format csv -o - pmc_perf.csv | grep -o ',[^,]*,[^,]*$'
rocm-perf report --arch gfx942 --format openmetrics -o - pmc_perf.csv | grep -e impossible -e failed
rocm-perf report --arch gfx942 --format junit -o - pmc_perf.csv | grep -e warning -e failed_
true
