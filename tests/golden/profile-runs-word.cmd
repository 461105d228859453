# exit 2
rocm-perf profile --runs three ./app
