# The files of the software GPUs in /sys and /dev, by every function that takes a path; the host's
# own files beside them; none of it when the device is off.
. "$(dirname "$0")/../lib.sh"
hosts=$(ls -d /sys/class/net /sys/class/mem 2>/dev/null | head -n 1)
for program in device_paths device_paths64; do
    expect 0 rocm-perf run --device software -- "$BUILD/tests/$program" "$hosts"
    says out PASS
    expect 1 "$BUILD/tests/$program" "$hosts"
done
# Tools that walk folders by their descriptors; nothing of the host's is hidden.
expect 0 rocm-perf run --device software -- find /sys/class -maxdepth 2 -path '*/drm*'
for name in drm drm/version drm/card0 drm/renderD128; do
    grep -qx "/sys/class/$name" out || fail "find: $(cat out)"
done
expect 0 rocm-perf run --device software -- find -L /sys/class/drm/card0/device -maxdepth 1 -name vendor
says out /sys/class/drm/card0/device/vendor
expect 0 rocm-perf run --device software -- ls -la /sys/class/drm/
[ ! -s err ] || fail "ls: $(cat err)"
ls /sys/bus/pci/devices >hosts
expect 0 rocm-perf run --device software --gpus 8 -- ls /sys/bus/pci/devices
[ "$(grep -vc '^7f00:0[1-8]:00.0$' out)" = "$(grep -c . hosts)" ] || fail "the host's PCI devices: $(cat out)"
for gpus in 1 8; do
    expect 0 rocm-perf run --device software --gpus $gpus -- /bin/sh -c 'ls -l /sys/class/drm/ && ls -l /dev/dri && cat /sys/class/drm/card*/device/unique_id'
    [ "$(grep -c ' renderD[0-9]*$' out)" = $gpus ] || fail "device files of $gpus GPUs: $(cat out)"
    [ "$(grep -E '^[0-9a-f]{16}$' out | sort -u | wc -l)" = $gpus ] || fail "serial numbers of $gpus GPUs: $(cat out)"
    [ ! -s err ] || fail "ls: $(cat err)"
done
# cp demands that what it opens is what it looked at; a file that a shell has opened for another is that file.
expect 0 rocm-perf run --device software -- /bin/sh -c 'cp /sys/class/drm/card0/device/vendor vendor && cat vendor - </sys/class/drm/card0/device/device'
[ "$(cat out)" = "0x1002
0x74a1" ] || fail "cp: $(cat out)"
expect 0 rocm-perf run --device software -- /bin/sh -c 'stat -L -c "%F %s %a" - </sys/class/drm/card0/device/device'
says out 'regular file 4096 444'
# rocminfo reads most of them.
rocminfo=$(ls "${ROCM_PERF_ROCM:-/opt/rocm}"/usr/bin/rocminfo "${ROCM_PERF_ROCM:-/opt/rocm}"/bin/rocminfo 2>/dev/null | head -n 1)
[ -n "$rocminfo" ] || fail "no rocminfo in ${ROCM_PERF_ROCM:-/opt/rocm}"
while read -r target units chip clock l2 product; do
    expect 0 rocm-perf run --device "software:$target" --gpus 2 -- "$rocminfo"
    [ "$(grep -cE "^  Marketing Name: +$product *$" out)" = 2 ] || fail "$target: no two $product: $(cat out)"
    for line in "Compute Unit: +$units" "Chip ID: +[0-9]+\($chip\)" "Max Clock Freq. \(MHz\): +$clock" "L2: +$l2\(0x[0-9a-f]+\) KB"; do
        [ "$(grep -cE "^ +$line *$" out)" = 2 ] || fail "$target: no '$line' for both GPUs: $(cat out)"
    done
done <<'END'
gfx942 304 0x74a1 2100 4096 AMD Instinct MI300X
gfx90a 110 0x7408 1700 8192 AMD Instinct MI250X
gfx950 256 0x75a0 2200 4096 AMD Instinct MI350X
mi325x 304 0x74a5 2100 4096 AMD Instinct MI325X
END
