# exit 2
rocm-perf profile ./no-such-program
