try() { "$@"; echo "exit $?"; }
try rocm-perf isolate
try rocm-perf isolate true
try rocm-perf isolate --kernel add
try rocm-perf isolate --kernel '(' true
try rocm-perf isolate --kernel add --dispatch 0 true
try rocm-perf isolate --kernel add --dispatch x true
try rocm-perf isolate --kernel
try rocm-perf isolate --kernel add -o '' true
try rocm-perf isolate --kernel add --json true
try rocm-perf isolate --kernel add --device tpu true
try rocm-perf isolate --kernel add --device software ./nowhere
try rocm-perf isolate inspect
try rocm-perf isolate verify a b
try rocm-perf isolate inspect --kernel add a
try rocm-perf isolate --list --json
mkdir there
try rocm-perf isolate --kernel add -o there true
