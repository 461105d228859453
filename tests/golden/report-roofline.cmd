# The options of the roofline mean in report what they mean in analyze: the page has the same bytes.
counters="$SOURCE/tests/data/counters/vcopy_MI200"
cat >roofline.csv <<'CSV'
device,HBMBw,HBMBwLow,hbmBwHigh,L2Bw,L1Bw,LDSBw,FP32Flops,FP64Flops,MFMABF16Flops,MFMAF16Flops,MFMAF32Flops
0,1388.9302,1388.3835,1389.4768,5018.2891,N/A,17717.834,20941.971,30272.537,80483.16,164938.17,41438.68
CSV
plain=
same() {
    rm -rf out page
    rocm-perf analyze "$@" -o out "$counters" >/dev/null || return
    rocm-perf report "$@" -o page.html --title T "$counters" >/dev/null || return
    python3 "$SOURCE/tests/html/extract.py" page.html page >/dev/null
    cmp out/roofline.json page/roofline.json && cmp out/analysis.json page/analysis.json &&
        echo "$* is the same"
    # An option that is taken and forgotten would be the same, too.
    sum=$(cksum <page/roofline.json)
    [ -z "$plain" ] || [ "$sum" != "$plain" ] || echo "$* changes nothing"
    plain=${plain:-$sum}
}
same
same --clock-mhz 1000
same --memory-bandwidth-gbps 1000
same --ceilings roofline.csv
same --ceilings roofline.csv --memory-bandwidth-gbps 1000 --clock-mhz 1000 --flop-model exact
same --flop-model width
same --arch gfx942
# Another form is made of the same numbers.
rocm-perf report --format csv -o - "$counters" >plain.csv
rocm-perf report --format csv -o - --flop-model width "$counters" | cmp -s - plain.csv || echo "csv differs"
try() { rocm-perf report "$@" "$counters"; echo "exit $?"; }
try --clock-mhz 2100MHz
try --memory-bandwidth-gbps 0
try --flop-model most
try --ceilings missing.csv
echo 'a,b' >other.csv
try --ceilings other.csv
ls *.html
