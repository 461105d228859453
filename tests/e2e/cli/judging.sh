# A library is loaded, and a child forked, while the software device reads another library's bundles of device code.
. "$(dirname "$0")/../lib.sh"
device=$BUILD/lib/librocm-perf-device.so
[ -f "$device" ] || fail "no $device"
export LD_LIBRARY_PATH=$BUILD/tests/judging
status=0
LD_PRELOAD=$device timeout -k 1 60 "$BUILD/tests/judging/judging" >out 2>err </dev/null || status=$?
[ $status != 124 ] || fail "everybody waits for everybody: $(cat out err)"
says out 'child launched'
says out PASS
