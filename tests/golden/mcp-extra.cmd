# exit 2
rocm-perf mcp now
