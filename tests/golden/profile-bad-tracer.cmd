# exit 2
rocm-perf profile --tracer rocprof ./app
