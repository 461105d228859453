rocm-perf profile --list-counters
