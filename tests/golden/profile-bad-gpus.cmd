# exit 2
rocm-perf profile --gpus 9 ./app
