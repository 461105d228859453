# --device software:TARGET: HIP sees the product, kernels run, the profile says which one it was.
. "$(dirname "$0")/../lib.sh"
example what_gpu
expect 0 rocm-perf run --device software ./what_gpu
says out 'AMD Instinct MI300X|gfx942|304 CUs|206141652992 bytes|2100000 kHz|1300000 kHz memory'
expect 0 rocm-perf run --device software:mi325x --gpus 2 ./what_gpu
says out 'AMD Instinct MI325X|gfx942|304 CUs|274877906944 bytes|2100000 kHz|1500000 kHz memory'
[ "$(grep -c MI325X out)" = 2 ] || fail 'not two of them'
expect 0 rocm-perf run --device software:gfx942:mi300a ./what_gpu
says out 'AMD Instinct MI300A|gfx942|228 CUs|137438953472 bytes|2100000 kHz|1300000 kHz memory'
says out 'integrated 1'
expect 0 rocm-perf profile --device software:MI300A --runs 1 ./what_gpu
says out 'AMD Instinct MI300A'
says out 'SOFTWARE DEVICE'
[ "$(json device .rocpd_profile/profile.json)" = software ] || fail 'not called software'
[ "$(json gpus.0.product .rocpd_profile/profile.json)" = 'AMD Instinct MI300A' ] || fail 'which GPU?'
# gfx950: its own instructions.
for_target() { # TARGET NAME OPTION: compiles it
    local source=$SOURCE/tests/e2e/programs/$2.hip
    [ -f "$source" ] || source=$SOURCE/examples/$2.hip
    rocm-perf hipcc "--offload-arch=$1" "$3" -I "$SOURCE/examples" "$source" -o "$2" || fail "cannot compile $2"
}
for_target gfx950 what_gpu -O3
expect 0 rocm-perf run --device software:gfx950 ./what_gpu
says out 'AMD Instinct MI350X|gfx950|256 CUs|309237645312 bytes|2200000 kHz|1900000 kHz memory'
says out 'LDS 163840'
for_target gfx950 three_bits -O3
expect 0 rocm-perf run --device software:gfx950 ./three_bits
says out '32 bits: 0 of 9000 differ'
for_target gfx950 softmax -O3
expect 0 rocm-perf run --device software:gfx950 ./softmax
for_target gfx950 reduction -O0
expect 0 rocm-perf run --device software:gfx950 ./reduction
for_target gfx950 cdna4 -O3
expect 0 rocm-perf run --device software:gfx950 ./cdna4
says out '0 of all differ'
for_target gfx950 cdna4 -O0
expect 0 rocm-perf run --device software:gfx950 ./cdna4
says out '0 of all differ'
# gfx90a: one GPU for each die; private memory through a buffer resource (-O0), a clock of 25 MHz.
for_target gfx90a what_gpu -O0
expect 0 rocm-perf run --device software:gfx90a --gpus 2 ./what_gpu
says out 'AMD Instinct MI250X|gfx90a|110 CUs|68719476736 bytes|1700000 kHz|1600000 kHz memory|4096 bits|wall 25000 kHz'
[ "$(grep -c MI250X out)" = 2 ] || fail 'not two of them'
expect 0 rocm-perf run --device software:mi210 ./what_gpu
says out 'AMD Instinct MI210|gfx90a|104 CUs'
for_target gfx90a histogram -O0
expect 0 rocm-perf run --device software:gfx90a ./histogram
for_target gfx90a reduction -O0
expect 0 rocm-perf run --device software:gfx90a ./reduction
for_target gfx90a saxpy_streams -O3
expect 0 rocm-perf profile --device software:gfx90a --runs 1 ./saxpy_streams
[ "$(json gpus.0.product .rocpd_profile/profile.json)" = 'AMD Instinct MI250X' ] || fail 'which GPU?'
for_target gfx90a cooperative -O3
expect 0 rocm-perf run --device software:gfx90a ./cooperative
# Code for another target: HIP crashes at the launch, and the user is told why before.
got=0
rocm-perf run --device software ./what_gpu >out 2>err || got=$?
[ "$got" != 0 ] || fail 'gfx90a code runs on gfx942'
says err 'what_gpu has device code for gfx90a only, but the software MI300X is gfx942'
# Wrong numbers without the command line, too: they are left out of account.
expect 0 env LD_PRELOAD="$BUILD/lib/librocm-perf-device.so" ROCM_PERF_DEVICE=gfx90a \
    ROCM_PERF_DEVICE_THREADS=2x ROCM_PERF_DEVICE_GPUS=9 ROCM_PERF_DEVICE_JIT=0 ./what_gpu
says err 'ROCM_PERF_DEVICE_THREADS=2x is not a whole number from 1 to 256: using all processors'
says err 'ROCM_PERF_DEVICE_GPUS=9 is not a whole number from 1 to 8: there is one GPU'
says err 'ROCM_PERF_DEVICE_JIT=0 is neither on nor off: hot code is translated'
# The variable without the command line: a wrong word is told, and there is no device.
got=0
env LD_PRELOAD="$BUILD/lib/librocm-perf-device.so" ROCM_PERF_DEVICE=voodoo2 ./what_gpu >out 2>err || got=$?
[ "$got" != 0 ] || fail 'runs on a voodoo2'
says err 'ROCM_PERF_DEVICE=voodoo2: no device; choose off, gfx90a:mi250x'
