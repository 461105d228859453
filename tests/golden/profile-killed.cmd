# exit 5
rocm-perf profile --device software -- /bin/sh -c 'kill -SEGV $$'
