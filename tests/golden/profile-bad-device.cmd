# exit 2
rocm-perf profile --device tpu ./app
