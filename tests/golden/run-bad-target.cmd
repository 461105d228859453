# exit 2
rocm-perf run --device software:mi308x ./app
rocm-perf run --device software:gfx1030 ./app
rocm-perf run --device software:gfx1201 ./app
rocm-perf run --device software:gfx1250 ./app
rocm-perf run --device software:radeon-8060s-graphics ./app
rocm-perf run --device software:gfx1103 ./app
rocm-perf run --device software:voodoo2 ./app
