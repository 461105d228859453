# exit 2
rocm-perf profile --runs 0 ./app
