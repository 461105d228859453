try() { "$@"; echo "exit $?"; }
try rocm-perf replay
try rocm-perf replay what
try rocm-perf replay full-vm --iterations 0
try rocm-perf replay full-vm --iterations 1x
try rocm-perf replay full-vm --warmup -1
try rocm-perf replay full-vm --capture-dir
try rocm-perf replay full-vm --capture-dir ''
try rocm-perf replay full-vm more
try rocm-perf replay full-vm --device tpu
try rocm-perf replay reserve-check --verify
try rocm-perf replay full-vm
try rocm-perf replay full-vm --compare f32
try rocm-perf replay full-vm --hsaco f --compare f32,abs
try rocm-perf replay full-vm --hsaco f --no-recopy
try rocm-perf replay reserve-check --hsaco f
try rocm-perf replay compare
try rocm-perf replay compare a
try rocm-perf replay compare a b c
try rocm-perf replay compare a b --blocks 9
try rocm-perf replay compare a b --margin x
try rocm-perf replay compare a b --gate slower
try rocm-perf replay compare a b --iterations 5
try rocm-perf replay full-vm --gate faster
try rocm-perf replay full-vm --cache hot
try rocm-perf replay reserve-check --cache warm
try rocm-perf replay full-vm --inputs f32
try rocm-perf replay full-vm --hsaco f --inputs f8
try rocm-perf replay full-vm -o dir
