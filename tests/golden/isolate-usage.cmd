try() { "$@"; echo "exit $?"; }
try rocm-perf isolate
try rocm-perf isolate true
try rocm-perf isolate --kernel add
try rocm-perf isolate --kernel '(' true
try rocm-perf isolate --kernel add --dispatch 0 true
try rocm-perf isolate --kernel add --dispatch x true
try rocm-perf isolate --kernel add --dispatch 3, true
try rocm-perf isolate --kernel add --dispatch 1,2x true
try rocm-perf isolate --kernel add --grid 0 true
try rocm-perf isolate --kernel add --grid 1,2,3,4 true
try rocm-perf isolate --kernel add --workgroup 65536 true
try rocm-perf isolate --kernel add --workgroup 64, true
try rocm-perf isolate --kernel add --queue -1 true
try rocm-perf isolate --kernel add --stream x true
try rocm-perf isolate --kernel add --gpu '' true
try rocm-perf isolate --kernel add --most 0 true
try rocm-perf isolate --kernel add --most 3 true
try rocm-perf isolate --kernel add --longest --dispatch 2 true
try rocm-perf isolate --kernel add --longest --representative true
try rocm-perf isolate --kernel add --representative --dispatch 2 true
try rocm-perf isolate --kernel
try rocm-perf isolate --kernel add -o '' true
try rocm-perf isolate --kernel add --json true
try rocm-perf isolate --kernel add --device tpu true
try rocm-perf isolate --kernel add --device software ./nowhere
try rocm-perf isolate inspect
try rocm-perf isolate verify a b
try rocm-perf isolate inspect --kernel add a
try rocm-perf isolate --list --json
try rocm-perf isolate --list --longest
mkdir there
try rocm-perf isolate --kernel add -o there true
try rocm-perf isolate --kernel add -o there// true
touch file
try rocm-perf isolate --kernel add --device software -o file/deep/x sh -c 'echo it runs'
try rocm-perf isolate --kernel add --device software -o new/. sh -c 'echo it runs'
try rocm-perf isolate --kernel add --device software -o new/deep/x ./nowhere
ls
