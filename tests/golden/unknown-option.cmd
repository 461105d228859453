# exit 2
rocm-perf profile --frobnicate ./app
