# exit 2
rocm-perf profile --runs 3
