# Packed inputs are read as if they were not; what is damaged, or grows without end, is refused.
data=$SOURCE/tests/data
export TMPDIR=$PWD/tmp && mkdir tmp
same() { both "$1" >a 2>&1; both "$2" >b 2>&1; cmp a b && echo "same: ${3:-$2}"; }
both() { rocm-perf analyze -v --arch gfx942 "$1" | grep -v "^Next: "; }
gzip -c "$data/rocpd/streams-hip_results.db" >x.db.gz && same "$data/rocpd/streams-hip_results.db" x.db.gz
for case in base join/t join/c; do
    cp -r "$data/cases/$case" "${case##*/}" && chmod -R u+w "${case##*/}" && gzip "${case##*/}"/* && same "$data/cases/$case" "${case##*/}"
done
same "$data/cases/join/t" t/1_kernel_trace.csv.gz
cp "$data/cases/join/t/1_kernel_trace.csv" t && same "$data/cases/join/t" t "t, both"
# Thread traces, each of their files; waves that no list names; the statistics beside them.
packed() { cp -r "$data/cases/attdir/ui_output_agent_1_dispatch_1" "$1" && chmod -R u+w "$1"; }
packed plain_ui && packed packed_ui && gzip packed_ui/* && rocm-perf analyze -v plain_ui >a 2>&1
rocm-perf analyze -v packed_ui 2>&1 | sed s/packed_ui/plain_ui/ | cmp a - && grep -c s_endpgm a
cp plain_ui/code.json packed_ui && rocm-perf analyze -v packed_ui 2>&1 | sed s/packed_ui/plain_ui/ | cmp a - && echo "same: both"
printf 'no gzip' >packed_ui/filenames.json.gz && rocm-perf analyze -v packed_ui | grep filenames.json
# Results of profile, alone and in their folder.
for result in before after; do mkdir $result && gzip -c "$data/compare/$result.json" >$result.json.gz && cp $result.json.gz $result/profile.json.gz; done
compared() { rocm-perf compare "$@" | sed '/^before /d; /^after  /d; /^Undecided whether /d; /^Next: /d'; }
compared "$data/compare/before.json" "$data/compare/after.json" >a
compared before.json.gz after.json.gz | cmp a - && echo "same: before.json.gz"
compared before after | cmp a - && echo "same: before/profile.json.gz"
rocm-perf history add --db h.db --commit x before.json.gz after >/dev/null && rocm-perf history list --db h.db | grep -c MI300X
head -c 200 before.json.gz >cut.json.gz && rocm-perf compare cut.json.gz after; echo "exit $?"
head -c 2000 x.db.gz >short.db.gz && rocm-perf analyze -v short.db.gz; echo "exit $?"
head -c 300000000 /dev/zero | gzip -1 >zeros.gz
for name in bomb_kernel_trace.csv.gz bomb.db.gz bomb_results.json.gz pmc_perf.csv; do
    cp zeros.gz $name && rocm-perf analyze -v $name; echo "exit $?"
done
TMPDIR=$PWD/none rocm-perf analyze -v x.db.gz; echo "exit $?"
echo "both, and each holds something else: the one that is named is read"
trace() { printf 'Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\nKERNEL_DISPATCH,Agent 4,1,0,7,1,1,k,1,1000,%d\n' "$1"; }
count() { printf 'Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value\n1,Agent 4,k,SQ_WAVES,%d\n' "$1"; }
mkdir two && trace 4000 >two/1_kernel_trace.csv && trace 90000 | gzip -c >two/1_kernel_trace.csv.gz
count 5 >two/1_counter_collection.csv && count 7 | gzip -c >two/1_counter_collection.csv.gz
x=two/1_kernel_trace.csv c=two/1_counter_collection.csv
for inputs in $x $x.gz "$x.gz $x.gz" two $c $c.gz "$x $x.gz" "$x.gz $x" "two $x.gz" "$c $c.gz"; do
    echo "$inputs:" && rocm-perf analyze -v --arch gfx942 $inputs >table; echo "exit $?" && grep -e '^End to end  ' -e ' SQ_WAVES  ' table
done
rocm-perf report --format csv -o - $x.gz | cut -d, -f 1,8,9
rocm-perf compare $x $x.gz | grep '^after '
gzip -c $x >$x.gz && gzip -c $c >$c.gz && rocm-perf analyze -v --arch gfx942 two | grep ' SQ_WAVES  '
gzip -c $x | head -c 50 >$x.gz && rocm-perf analyze -v two | grep '^End to end  '
ls tmp
