# exit 0
# What a file says, and what a file is called, in messages, tables, CSV and annotations: nothing of it acts.
cases="$SOURCE/tests/data/cases"
rocm-perf compare "$cases/base" "$cases/escape_result" || echo "exit $?"
rocm-perf compare "$cases/escape_result" "$cases/base" || echo "exit $?"
rocm-perf compare --github "$cases/escape_result" "$cases/escape_result" || echo "exit $?"
# The same of names: of files, options, commands.
name=$'a\e[31m\n::error::b\u202e\u009bc\xff'
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
