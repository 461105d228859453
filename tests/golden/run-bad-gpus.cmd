# exit 2
rocm-perf run --gpus 0 ./app
