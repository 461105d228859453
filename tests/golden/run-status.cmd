# exit 7
rocm-perf run --device software -- /bin/sh -c "cat; echo out; echo err >&2; exit 7" <<<"from standard input"
