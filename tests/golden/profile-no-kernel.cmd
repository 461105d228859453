# exit 3
rocm-perf profile --device software /bin/true
