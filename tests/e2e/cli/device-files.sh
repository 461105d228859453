# The files of the software GPUs in /sys and /dev, by every function that takes a path; the host's
# own files beside them; none of it when the device is off.
. "$(dirname "$0")/../lib.sh"
hosts=$(ls -d /sys/class/net /sys/class/mem 2>/dev/null | head -n 1)
expect 0 rocm-perf run --device software -- "$BUILD/tests/device_paths" "$hosts"
says out PASS
expect 1 "$BUILD/tests/device_paths" "$hosts"
for gpus in 1 8; do
    expect 0 rocm-perf run --device software --gpus $gpus -- /bin/sh -c 'ls -l /sys/class/drm/ && ls -l /dev/dri && cat /sys/class/drm/card*/device/unique_id'
    [ "$(grep -c ' renderD[0-9]*$' out)" = $gpus ] || fail "device files of $gpus GPUs: $(cat out)"
    [ "$(grep -E '^[0-9a-f]{16}$' out | sort -u | wc -l)" = $gpus ] || fail "serial numbers of $gpus GPUs: $(cat out)"
    [ ! -s err ] || fail "ls: $(cat err)"
done
