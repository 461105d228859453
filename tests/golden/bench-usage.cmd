rocm-perf bench --only hbm_read,moon
rocm-perf bench --repeats 0
rocm-perf bench extra
rocm-perf bench --device software --only launch -o none/file.json
# exit 4
