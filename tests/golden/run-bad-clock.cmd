# exit 2
rocm-perf run --device software --clock 0 ./app
rocm-perf run --device software --clock fast ./app
rocm-perf run --device software --clock 2200 ./app
rocm-perf profile --device software:mi210 --clock 1900 ./app
rocm-perf run --device software --timing off --clock 1400 ./app
rocm-perf run --device gpu --clock 1400 ./app
export ROCM_PERF_DEVICE_CLOCK=2.1
rocm-perf run --device software ./app
export ROCM_PERF_DEVICE_CLOCK=1400
rocm-perf bench --device software
rocm-perf isolate --device software --kernel k ./app
rocm-perf judge --device software --old run-bad-clock.cmd --new run-bad-clock.cmd /bin/true
