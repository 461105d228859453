# Lists of triton.Config and tables of tuned kernels: read, searched, and the best one written back.
. "$(dirname "$0")/../lib.sh"

cat >kernel.py <<'END2'
import triton

# triton.Config({'BLOCK': 0}, num_warps=0) is no configuration of a comment
@triton.autotune(
    configs=[triton.Config({'BLOCK': b, 'waves_per_eu': 2}, num_warps=4) for b in (1, 2)],
    key=['n'])
@triton.jit
def other(n): pass
END2
expect 3 rocm-perf autotune --device software --space kernel.py --cmd-template 'echo {BLOCK}' --objective min:time -o refused
says err 'search space kernel.py: line 5: a value that is a name or a call; write it out, or give the space as JSON'
python3 - <<'END2'
lists = ""
for at, blocks in ("add", (32, 64, 128, 256)), ("mul", (512, 1024)):
    configs = ",\n        ".join(f"triton.Config({{'BLOCK': {b}, 'KIND': '{at}'}}, num_warps={w}, num_stages=2)" for b in blocks for w in (2, 4, 8))
    lists += f"@triton.autotune(\n    configs=[\n        {configs},\n    ],\n    key=['n'],\n)\n@triton.jit\ndef {at}(n): pass\n\n"
open("kernels.py", "w").write("import triton\n\n" + lists)
END2
echo 'echo "cost: $(( ($1 - 128) * ($1 - 128) + $2 + 1 ))"' >run.sh
bridge() { rocm-perf autotune --device software --cmd-template 'sh run.sh {BLOCK} {num_warps}' --env --objective min:cost --repeats 1:1 --warmup 0 --max-fraction 0.95 "$@"; }
expect 3 bridge --space kernels.py -o two
says err 'it has 2 lists of triton.Config, in lines 3, 23: say which, FILE.py:LINE'
expect 0 bridge --space kernels.py:8 -o add --export-triton best.py --json
python3 - <<'END2' || { cat best.py; fail 'the best Config'; }
import ast, json
r = json.load(open("out"))
assert r["search_space_size"] == 12 and r["best_config"]["parameters"] == {"BLOCK": 128, "KIND": "add", "num_warps": 2, "num_stages": 2}, r
call = ast.parse(open("best.py").read()).body[1].value.elts[0]
assert ast.unparse(call) == "triton.Config({'BLOCK': 128, 'KIND': 'add'}, num_warps=2, num_stages=2)", ast.unparse(call)
END2
expect 0 bridge --space best.py -o again
# What a Config of a list does not say has no value, and is not in the best one either.
cat >some.py <<'END2'
configs = [triton.Config({'BLOCK': 128}, num_warps=2), triton.Config({'BLOCK': 64, 'KIND': 'add'}),
           triton.Config({'BLOCK': 32}, num_warps=4, num_stages=3)]
END2
expect 0 bridge --space some.py -o some --export-triton best-of-some.py --json
says out '"search_space_size": 3'
config=$(sed -n 's/^configs = \[\(.*\)\]$/\1/p' best-of-some.py)
[ -n "$config" ] && grep -qF "$config" some.py || fail "the best of some: $(cat best-of-some.py)"
# The columns and values of tables of aiter; nothing but the row of the shape changes.
echo '{"kernelId": [3, 7, 11, 34], "splitK": [0, 1, 2]}' >kernels.json
printf 'gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n' >table.csv
printf 'gfx942,80,1,1280,8192,torch.int8,34,0,20.5611,name_34,1.02,510.5,0.0\ngfx942,80,32,1280,8192,torch.int8,34,2,19.9841,name_34,33.58,541.92,0.0\n' >>table.csv
cp table.csv before.csv
echo 'echo "time $(( ($1 - 7) * ($1 - 7) + $2 + 2 )) us"' >gemm.sh
table() {
    rocm-perf autotune --device software --space kernels.json --cmd-template 'sh gemm.sh {kernelId} {splitK}' --output-regex 'time ([0-9.]+)' --output-unit us \
        --repeats 1:1 --warmup 0 --max-fraction 0.95 --tuned-csv table.csv "$@"
}
expect 0 table --shape gfx=gfx942,cu_num=80,M=32,N=1280,K=8192,q_dtype_w=torch.int8 -o table-1 --json
says err 'table.csv has a row of this shape: it is run first'
python3 - <<'END2' || { cat table.csv; fail 'the row'; }
import csv, json
first = json.load(open("out"))["history"][0]["parameters"]
assert first == {"kernelId": 34, "splitK": 2}, first
before, now = (open(f).read().splitlines() for f in ("before.csv", "table.csv"))
assert now[:2] == before[:2] and len(now) == 3
row = list(csv.DictReader(now))[1]
assert row["kernelId"] == "7" and row["splitK"] == "0" and row["us"] == "2.0000" and row["kernelName"] == "" and float(row["tflops"]) == 335.54, row
END2
# What others add meanwhile stays: here it is what is tuned that does so.
echo 'grep -q other table.csv || echo gfx942,80,64,1280,8192,torch.int8,3,0,9.0,other,1,1,0 >>table.csv' >>gemm.sh
expect 0 table --shape gfx=gfx942,cu_num=80,M=2,N=1280,K=8192,q_dtype_w=torch.int8 -o table-2 --quiet
grep -q ',9.0,other,1,1,0$' table.csv || { cat table.csv; fail 'a row of others is lost'; }
sed -i /other/d table.csv gemm.sh
[ "$(wc -l <table.csv)" = 4 ] && tail -1 table.csv | grep -q '^gfx942,80,2,1280,8192,torch.int8,7,0,2.0000,,20.97,,$' || { cat table.csv; fail 'a new row'; }
# A kernel that is not in the space, and is said to be faster, stays.
sed -i 's/,34,0,20.5611,/,99,0,0.5,/' table.csv
cp table.csv before.csv
expect 0 table --shape gfx=gfx942,cu_num=80,M=1,N=1280,K=8192,q_dtype_w=torch.int8 -o table-3
says err 'which is not in the space'
says err 'is as it was: its row says 0.5000 us, the best one here takes 2.0000 us'
cmp table.csv before.csv || fail 'the row has changed'
expect 2 table --shape M=1,N=1280 -o table-4
says err '--shape: table.csv has these columns as well: gfx,cu_num,K,q_dtype_w'
expect 2 table -o table-5
says err '--tuned-csv goes with --shape: which row is it about?'
echo 'gfx942,80' >>table.csv
expect 3 table --shape gfx=gfx942,cu_num=80,M=1,N=1280,K=8192,q_dtype_w=torch.int8 -o table-6
says err '--tuned-csv table.csv: line 5: 2 fields in place of 13'
[ ! -e table-6 ] || fail 'a folder of a search that has not begun'
