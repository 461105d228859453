# exit 2
rocm-perf run --device software:mi308x ./app
rocm-perf run --device software:gfx1030 ./app
rocm-perf run --device software:voodoo2 ./app
