# exit 5
rocm-perf profile --device software -- /bin/sh -c "exit 7"
