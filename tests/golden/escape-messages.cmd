# exit 0
# What a file says, and what a file is called, in messages, tables, CSV and annotations: nothing of it acts.
cases="$SOURCE/tests/data/cases"
rocm-perf compare "$cases/base" "$cases/escape_result" || echo "exit $?"
rocm-perf compare "$cases/escape_result" "$cases/base" || echo "exit $?"
rocm-perf compare --github "$cases/escape_result" "$cases/escape_result" || echo "exit $?"
# The same of names: of files, options, commands.
name=$'a\e[31m\n::error::b\xe2\x80\xae\xc2\x9bc\xff'
rocm-perf report "$name" || echo "exit $?"
rocm-perf analyze "$name" || echo "exit $?"
rocm-perf compare "$name" "$name" || echo "exit $?"
rocm-perf history list --db "$name" || echo "exit $?"
rocm-perf profile --timing "$name" true || echo "exit $?"
rocm-perf profile --"$name" true || echo "exit $?"
rocm-perf "$name" || echo "exit $?"
rocm-perf autotune --space "$name" --cmd-template x || echo "exit $?"
# A name of a kernel, in every table.
printf 'Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n1,Agent 1,"::error::k\033[31m\n::warning::\342\200\256x\302\233y\377 ::z ##[error]",SQ_WAVES,3,1000,2000\n' >odd_counter_collection.csv
for how in 'analyze' 'analyze --roofline --arch gfx942' 'report --format csv -o -' 'report --format markdown -o -' 'report --format openmetrics -o -' 'report --format junit -o -'; do
    rocm-perf $how odd_counter_collection.csv >out.txt 2>&1
    echo "$how: exit $?, $(grep -ac 'k.*warning' out.txt) with the name, $(grep -acP '^\s*::|##\[|[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae|\xff' out.txt) that act"
    grep -a -m 1 'k.*warning' out.txt | cut -c 1-150
done
# Names of GPUs, kernels, commands and marks in a trace: all that is text in it.
cat >odd.py <<'END'
import os, sqlite3, sys
out, before = sys.argv[1], sys.argv[2].encode().decode("unicode_escape")
source = sqlite3.connect(os.environ["SOURCE"] + "/tests/data/rocpd/vadd-kernel_results.db")
db = sqlite3.connect(out)
source.backup(db)
for table, in db.execute("select name from sqlite_master where type = 'table'").fetchall():
    for column, kind in ((row[1], row[2]) for row in db.execute(f"pragma table_info('{table}')").fetchall()):
        if column in ("name", "string", "product_name", "vendor_name", "model_name", "user_name", "command", "hostname", "kernel_name",
                      "display_name", "environment", "extdata") and "_info_pmc" not in table and "_metadata" not in table:
            db.execute(f"update '{table}' set {column} = ? || {column} where {column} is not null and not json_valid({column})", (before,))
db.commit()
END
python3 odd.py odd.db '\n::error::k\x1b[31m\u202e\x9b##[error]'
python3 odd.py formula.db '=cmd()|'
for how in analyze 'analyze --json' 'compare odd.db' 'compare --github odd.db' 'compare --markdown odd.db' 'history add' 'history list' 'history show' \
    'history export' 'history export --format csv' 'report --format csv -o -' 'report --format markdown -o -' 'report --format openmetrics -o -' \
    'report --format junit -o -' 'report --format html -o -' 'report --format svg-timeline -o -'; do
    case $how in 'history add' | [!h]*) file=odd.db ;; *) file= ;; esac
    rocm-perf $how $file >out.txt 2>&1
    echo "$how: exit $?, $(grep -acP '^\s*::error::k|##\[|[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' out.txt) that act"
done
rocm-perf report --format csv -o - formula.db | python3 -c 'import csv, sys; print([cell for row in csv.reader(sys.stdin) for cell in row if cell[:1] in list("=+@|")])'
# The picture of a search, and what a client of mcp gets back.
python3 -c 'import json; json.dump({"name": "\n::error::k\x1b[31m\u202e\x9b##[error]<b>", "parameters": ["A"], "configs": [{"A": i, "runtime_ms": 1 + i} for i in range(3)]}, open("search.json", "w"))'
rocm-perf autotune --simulate search.json --max-fraction 0.9 --plot search.svg -o search >out.txt 2>&1
grep -a 'Search of' search.svg
grep -acP '^\s*::|##\[|[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' out.txt search.svg
printf '{"jsonrpc":"2.0","id":"\\u001b\\u009b\\u202e##[error]","method":"none"}\n' | rocm-perf mcp
