# A program on two software GPUs: --gpus, and a profile that tells them apart.
. "$(dirname "$0")/../lib.sh"
example two_gpus
expect 0 rocm-perf run --device software --gpus 2 ./two_gpus
says out '2 devices'
expect 0 rocm-perf run --device software ./two_gpus
says out '1 devices'
expect 0 rocm-perf profile --device software --gpus 2 --runs 1 ./two_gpus
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" \
    .rocpd_profile/profile.json
db=.rocpd_profile/trace_results.db
agents=$(sqlite3 "$db" "select count(*) from rocpd_info_agent where type = 'GPU'")
[ "$agents" = 2 ] || fail "$agents GPU agents in the trace"
# GPU n runs the kernel n + 1 times.
calls=$(sqlite3 "$db" "select group_concat(n) from (select count(*) n from rocpd_kernel_dispatch d
    join rocpd_info_agent a on a.id = d.agent_id join rocpd_info_kernel_symbol k on k.id = d.kernel_id
    where k.kernel_name like '%bump%' group by d.agent_id order by a.type_index)")
[ "$calls" = 1,2 ] || fail "dispatches per GPU: $calls"

# Counters are of the GPU that ran the kernel: a wave for each of its launches.
expect 0 rocm-perf profile --device software --gpus 2 --runs 1 --json --pmc SQ_WAVES ./two_gpus
python3 - out <<'EOF' || fail 'counters per GPU'
import json, sys
bumps = [k for k in json.load(open(sys.argv[1]))["kernels"] if "bump" in k["name"]]
found = sorted((k["calls"], k["counters"]["SQ_WAVES"]) for k in bumps)
assert found == [(1, 1), (2, 2)], found
EOF
