# exit 2
rocm-perf run --threads 0 ./app
