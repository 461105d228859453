# Every example gives the CPU's result on the software device.
. "$(dirname "$0")/../lib.sh"
for source in "$SOURCE"/examples/*.hip; do
    name=$(basename "$source" .hip)
    example "$name"
    expect 0 rocm-perf run --device software "./$name"
    says out "$name: PASS"
done
