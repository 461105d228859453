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
head -c 2000 x.db.gz >short.db.gz && rocm-perf analyze short.db.gz; echo "exit $?"
head -c 300000000 /dev/zero | gzip -1 >zeros.gz
for name in bomb_kernel_trace.csv.gz bomb.db.gz bomb_results.json.gz pmc_perf.csv; do
    cp zeros.gz $name && rocm-perf analyze $name; echo "exit $?"
done
TMPDIR=$PWD/none rocm-perf analyze x.db.gz; echo "exit $?"
ls tmp
