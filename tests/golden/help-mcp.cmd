rocm-perf mcp --help
