# exit 2
rocm-perf profile --deep-analysis --att-simd-select 0x10 ./app
