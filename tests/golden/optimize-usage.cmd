# exit 2
# Each error says what to mend.
touch k.hip
printf '#!/bin/sh\n' >app && chmod +x app
try() { rocm-perf optimize --device software "$@"; echo "exit $?"; }
try ./app
try --source k.hip
try ./missing --source k.hip
try ./app --source k.hip --proposer magic
try ./app --source k.hip --allow everything
try ./app --source k.hip --max-iters 0
try ./app --source k.hip --min-improvement -1
try ./app --source k.hip --kernel '('
try ./app --source k.hip --apply --dry-run
try ./app --source k.hip --llm-config llm.json
try ./app --source missing.hip
try ./app --source .
try ./app --source k.hip --compile-commands none.json
try ./app --source k.hip --build 'hipcc k.hip -o app' --compile-commands none.json
try ./app --source k.hip --build 'hipcc -fgpu-rdc k.hip -o app'
try ./app --source k.hip --budget 0
try ./app --source k.hip --build 'hipcc -shared -fPIC k.hip -o libk.so'
try ./app --source k.hip --build 'make app'
rocm-perf optimize ./app --source k.hip --build 'make | tee log'
