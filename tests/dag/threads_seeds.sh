#!/usr/bin/env bash
# threads_seeds.sh ROCM_PERF FOLDER FIRST LAST [DISPATCHES]: threads that share hardware queues, over many seeds. Slack,
# what-ifs and all else are equal to the nanosecond: what blocking calls cost by themselves is in these traces (--warm).
# 500 seeds of 1,000 dispatches take about 25 minutes on one processor.
set -euo pipefail
program=$1 folder=$2 first=$3 last=$4 size=${5:-1000}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 "$here/oracle.py" "$program" "$here/../../schemas/dag.schema.json" "$folder" "$size" "$first:$last" \
    '--threads 2 --warm' '--threads 3 --warm' '--threads 4 --warm --streams 8 --queues 3' \
    '--threads 2 --warm --null-p 0.05' '--threads 2 --warm --schema 3.0.4'
