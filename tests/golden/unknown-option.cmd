# exit 2
rocm-perf profile --list-counters=1
rocm-perf profile --att- 1 ./app
rocm-perf profile --=3 ./app
rocm-perf profile -z ./app
rocm-perf profile --frobnicate ./app
rocm-perf profile --deep-analisys ./app
rocm-perf profile --rusn=3 ./app
