cd "$SOURCE/tests/data/cases"
rocm-perf analyze chipid
rocm-perf analyze --arch gfx942 sysinfo
rocm-perf analyze cpx_workload
