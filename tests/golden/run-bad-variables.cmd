# exit 2
export ROCM_PERF_DEVICE_THREADS=abc
rocm-perf run --device software ./app
export ROCM_PERF_DEVICE_THREADS=2 ROCM_PERF_DEVICE_GPUS=0
rocm-perf run --device software ./app
export ROCM_PERF_DEVICE_GPUS=2 ROCM_PERF_DEVICE_JIT=OFF
rocm-perf run --device software ./app
export ROCM_PERF_DEVICE_JIT=0
rocm-perf profile --device software ./app
export ROCM_PERF_DEVICE_JIT=off ROCM_PERF_DEVICE=off
rocm-perf run ./app
