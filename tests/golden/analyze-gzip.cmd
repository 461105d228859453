# Packed inputs are read as if they were not; what is damaged, or grows without end, is refused.
data=$SOURCE/tests/data
export TMPDIR=$PWD/tmp && mkdir tmp
same() { rocm-perf analyze --arch gfx942 "$1" >a 2>&1; rocm-perf analyze --arch gfx942 "$2" >b 2>&1; cmp a b && echo "same: ${3:-$2}"; }
gzip -c "$data/rocpd/streams-hip_results.db" >x.db.gz && same "$data/rocpd/streams-hip_results.db" x.db.gz
for case in base join/t join/c; do
    cp -r "$data/cases/$case" "${case##*/}" && chmod -R u+w "${case##*/}" && gzip "${case##*/}"/* && same "$data/cases/$case" "${case##*/}"
done
same "$data/cases/join/t" t/1_kernel_trace.csv.gz
cp "$data/cases/join/t/1_kernel_trace.csv" t && same "$data/cases/join/t" t "t, both"
# Thread traces, each of their files; waves that no list names; the statistics beside them.
packed() { cp -r "$data/cases/attdir/ui_output_agent_1_dispatch_1" "$1" && chmod -R u+w "$1"; }
packed plain_ui && packed packed_ui && gzip packed_ui/* && rocm-perf analyze plain_ui >a 2>&1
rocm-perf analyze packed_ui 2>&1 | sed s/packed_ui/plain_ui/ | cmp a - && grep -c s_endpgm a
cp plain_ui/code.json packed_ui && rocm-perf analyze packed_ui 2>&1 | sed s/packed_ui/plain_ui/ | cmp a - && echo "same: both"
printf 'no gzip' >packed_ui/filenames.json.gz && rocm-perf analyze packed_ui | grep filenames.json
# Results of profile, alone and in their folder.
for result in before after; do mkdir $result && gzip -c "$data/compare/$result.json" >$result.json.gz && cp $result.json.gz $result/profile.json.gz; done
rocm-perf compare "$data/compare/before.json" "$data/compare/after.json" | tail -n +3 >a
rocm-perf compare before.json.gz after.json.gz | tail -n +3 | cmp a - && echo "same: before.json.gz"
rocm-perf compare before after | tail -n +3 | cmp a - && echo "same: before/profile.json.gz"
rocm-perf history add --db h.db --commit x before.json.gz after >/dev/null && rocm-perf history list --db h.db | grep -c MI300X
head -c 200 before.json.gz >cut.json.gz && rocm-perf compare cut.json.gz after; echo "exit $?"
head -c 2000 x.db.gz >short.db.gz && rocm-perf analyze short.db.gz; echo "exit $?"
head -c 300000000 /dev/zero | gzip -1 >zeros.gz
for name in bomb_kernel_trace.csv.gz bomb.db.gz bomb_results.json.gz pmc_perf.csv; do
    cp zeros.gz $name && rocm-perf analyze $name; echo "exit $?"
done
TMPDIR=$PWD/none rocm-perf analyze x.db.gz; echo "exit $?"
ls tmp
