# Every example gives the CPU's result on the software device.
. "$(dirname "$0")/../lib.sh"
for source in "$SOURCE"/examples/*.hip; do
    name=$(basename "$source" .hip)
    example "$name"
    expect 0 rocm-perf run --device software "./$name"
    says out "$name: PASS"
done
# The one with a mistake is told it, in its line: ./demo shows that.
expect 0 rocm-perf hipcc -g -O3 "$SOURCE/examples/transpose.hip" -o transpose
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf profile --device software --why -o why ./transpose
store=$(grep -n 'out\[static_cast' "$SOURCE/examples/transpose.hip" | cut -d: -f1)
head -n 1 out >first
[ "$(sed -n '1p' out)" != 'transpose: PASS (largest error 0)' ] || sed -n 2p out >first
says first "uncoalesced memory accesses at transpose.hip:$store"
