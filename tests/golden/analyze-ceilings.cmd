cat >roofline.csv <<'CSV'
device,HBMBw,HBMBwLow,hbmBwHigh,L2Bw,L1Bw,LDSBw,FP32Flops,FP64Flops,MFMABF16Flops,MFMAF16Flops,MFMAF32Flops
0,1388.9302,1388.3835,1389.4768,5018.2891,N/A,17717.834,20941.971,30272.537,80483.16,164938.17,41438.68
1,1,1,1,1,1,1,1,1,1,1,1
CSV
rocm-perf analyze -v --ceilings roofline.csv -o out "$SOURCE/tests/data/counters/vcopy_MI200"
python3 - <<'PY'
import json
c = json.load(open("out/roofline.json"))["kernels"][0]["ceilings"]
for key in ("hbm_gbps", "l1_gbps", "valu_f32_gflops", "valu_f64_gflops", "mfma_bf16_gflops", "mfma_f8_gflops"):
    print(key, c[key])
PY
rocm-perf analyze --ceilings roofline.csv --memory-bandwidth-gbps 1000 --roofline "$SOURCE/tests/data/counters/vcopy_MI200" |
    grep -o '"hbm_gbps": [0-9]*' | sort -u
echo 'a,b' >other.csv
rocm-perf analyze -v --ceilings other.csv "$SOURCE/tests/data/counters/vcopy_MI200"
# exit 3
