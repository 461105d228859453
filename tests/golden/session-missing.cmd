# A mistake in the name of what is read is bad input, in that of what is resumed a wrong option; neither leaves anything.
sim() { rocm-perf autotune --budget-evals 20 --quiet "$@"; echo "exit $?"; }
space=$SOURCE/tests/data/tune/made.json
sim --simulate "$space" --resume -o none
sim --simulate .
sim --simulate "$space" --import .
sim --simulate none.json
sim --space . --cmd-template 'echo {A}' -o none
touch k.hip file && printf '#!/bin/sh\n' >app && chmod +x app
optimize() { rocm-perf optimize ./app --device software "$@"; echo "exit $?"; }
optimize --source . -o none
optimize --source none.hip -o none
optimize --source k.hip --resume -o none
optimize --source k.hip --resume -o file
sim --simulate "$space" --resume -o file/deep
[ ! -e none ] || ls none
