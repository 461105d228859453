cd "$SOURCE/tests/data/cases"
rocm-perf analyze -v chipid
rocm-perf analyze -v --arch gfx942 sysinfo
rocm-perf analyze -v cpx_workload
