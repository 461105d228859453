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
for_gfx950() { # NAME OPTION: compiles it
    local source=$SOURCE/tests/e2e/programs/$1.hip
    [ -f "$source" ] || source=$SOURCE/examples/$1.hip
    rocm-perf hipcc --offload-arch=gfx950 "$2" -I "$SOURCE/examples" "$source" -o "$1" || fail "cannot compile $1"
}
for_gfx950 what_gpu -O3
expect 0 rocm-perf run --device software:gfx950 ./what_gpu
says out 'AMD Instinct MI350X|gfx950|256 CUs|309237645312 bytes|2200000 kHz|1900000 kHz memory'
says out 'LDS 163840'
for_gfx950 three_bits -O3
expect 0 rocm-perf run --device software:gfx950 ./three_bits
says out '32 bits: 0 of 9000 differ'
for_gfx950 softmax -O3
expect 0 rocm-perf run --device software:gfx950 ./softmax
for_gfx950 reduction -O0
expect 0 rocm-perf run --device software:gfx950 ./reduction
for_gfx950 cdna4 -O3
expect 0 rocm-perf run --device software:gfx950 ./cdna4
says out '0 of all differ'
for_gfx950 cdna4 -O0
expect 0 rocm-perf run --device software:gfx950 ./cdna4
says out '0 of all differ'
# The variable without the command line: a wrong word is told, and there is no device.
got=0
env LD_PRELOAD="$BUILD/lib/librocm-perf-device.so" ROCM_PERF_DEVICE=voodoo2 ./what_gpu >out 2>err || got=$?
[ "$got" != 0 ] || fail 'runs on a voodoo2'
says err 'ROCM_PERF_DEVICE=voodoo2: no device; choose off, gfx942:mi300x'
