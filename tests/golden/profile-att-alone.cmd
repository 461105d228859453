# exit 2
rocm-perf profile --att-target-cu 1 ./app
