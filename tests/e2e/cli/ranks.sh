# Ranks of MPI, Slurm and torchrun: a folder for each below that of the job, one table, printed by the rank that ends last.
. "$(dirname "$0")/../lib.sh"
example forked
cat >launch <<'END'
#!/usr/bin/env python3
"""launch SIZE RANK_VARIABLE SIZE_VARIABLE COMMAND...: starts it so often, as a launcher of parallel programs does."""
import os, subprocess, sys
size, rank, total = int(sys.argv[1]), *sys.argv[2:4]
ranks = [subprocess.Popen(sys.argv[4:], env={**os.environ, rank: str(i), total: str(size)}) for i in range(size)]
sys.exit(max(r.wait() for r in ranks))
END
chmod +x launch
for variables in 'OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE' 'SLURM_PROCID SLURM_STEP_NUM_TASKS' 'PMI_RANK PMI_SIZE' 'RANK WORLD_SIZE'; do
    rm -rf job
    expect 0 ./launch 3 $variables rocm-perf profile --device software -o job ./forked 0
    [ "$(ls -A job | tr '\n' ' ')" = 'rank-0 rank-1 rank-2 ' ] || fail "$variables: $(ls -A job)"
    [ "$(grep -c '3 processes, one beside the other' out)" = 1 ] || { cat out; fail "$variables: one table"; }
    for rank in 0 1 2; do
        says out "rank $rank "
        says err "rank $rank of 3: its result is in job/rank-$rank"
        [ "$(json stability.runs job/rank-$rank/profile.json)" = 1 ] || fail 'MPI starts a rank once'
    done
    expect 0 rocm-perf analyze job
    says out '3 processes, one beside the other'
done
expect 0 rocm-perf report job
cp -r job other
expect 0 rocm-perf compare job other
# As JSON: one document.
expect 0 ./launch 2 PMI_RANK PMI_SIZE rocm-perf profile --device software --json -o two ./forked 0
cp out all.json
[ "$(json processes.1.rank all.json)" = 1 ] && [ "$(json kernels.0.calls all.json)" = 8 ] || fail 'the document of all ranks'
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" all.json
# One rank fails: its folder says what it recorded.
expect 5 ./launch 2 PMI_RANK PMI_SIZE rocm-perf profile --device software -o fails -- \
    /bin/sh -c './forked 0; exit $((PMI_RANK * 3))'
says err 'exited with status 3'
[ -f fails/rank-0/profile.json ] && [ -f fails/rank-1/failed/trace_results.db ] || fail 'what the ranks recorded'
# It is in no sum, also where its folder has the result of an earlier job; whichever rank ends last prints the table.
expect 0 ./launch 2 PMI_RANK PMI_SIZE rocm-perf profile --device software -o twice ./forked 0
for last in 0 1; do
    expect 5 ./launch 2 PMI_RANK PMI_SIZE rocm-perf profile --device software --json -o twice -- \
        /bin/sh -c "[ \$PMI_RANK != $last ] || sleep 2; ./forked 0; exit \$((PMI_RANK * 3))"
    says err 'rank 1 of 2 failed: it is in none of the sums'
    cp out all.json
    [ "$(json kernels.0.calls all.json)" = 4 ] && [ "$(json provenance.complete all.json)" = false ] || { cat all.json; fail 'a failed rank in the sums'; }
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" all.json
    ls -A twice | grep -q ranks- && fail 'marks of a job that has ended'
done
for job in fails twice; do
    expect 0 rocm-perf analyze $job
    says err "$job/rank-1: its last run failed, and is left out"
    says err 'rank 1 of 2 has left no result'
    expect 1 rocm-perf compare $job $job --gate 'runtime<=1.02'
done
# A rank that is missing is named, and nothing is decided without it.
cp -r job less
rm -r less/rank-1
expect 0 rocm-perf analyze less
says err 'rank 1 of 3 has left no result'
expect 0 rocm-perf analyze less/rank-0
! grep -q 'left no result' err || fail 'one rank alone is no job'
rm -r less/rank-2
expect 0 rocm-perf analyze less
says err 'ranks 1, 2 of 3 have left no result'
expect 1 rocm-perf compare job less --gate 'runtime<=1.02'
says out 'a rank is missing'
# What is left of an earlier job is named.
rm -rf left
expect 0 ./launch 3 PMI_RANK PMI_SIZE rocm-perf profile --device software -o left ./forked 0
expect 0 ./launch 2 PMI_RANK PMI_SIZE rocm-perf profile --device software -o left ./forked 0
says err 'left/rank-2 and above are of an earlier job'
expect 3 rocm-perf analyze left
says err 'left/rank-2/trace_results.db and left/rank-0/trace_results.db are of two runs: remove the older from left'
expect 0 rocm-perf profile --device software --runs 1 -o left ./forked 0
says err 'left/rank-0 and above are of an earlier job'
# Ranks that are started by hand, and one that was killed before.
rm -rf hand
for rank in 0 1 0 1; do expect 0 env RANK=$rank WORLD_SIZE=2 rocm-perf profile --device software -o hand ./forked 0; done
says out '2 processes, one beside the other'
ls -A hand | grep -q ranks- && fail 'marks of a job that has ended'
expect 0 env RANK=0 WORLD_SIZE=2 rocm-perf profile --device software -o hand ./forked 0
expect 0 env RANK=0 WORLD_SIZE=2 rocm-perf profile --device software -o hand ./forked 0
! grep -q 'one beside the other' out || fail 'a mark of a job that was killed'
expect 0 env RANK=1 WORLD_SIZE=2 rocm-perf profile --device software -o hand ./forked 0
says out '2 processes, one beside the other'
expect 0 env RANK=../x WORLD_SIZE=2 rocm-perf profile --device software --runs 1 -o none ./forked 0
says err 'RANK=../x is no rank'
for less in 'PMIX_RANK=2 X=' 'RANK=2 WORLD_SIZE=2' 'RANK=2 MASTER_ADDR=localhost' 'PMI_RANK=2 X='; do
    expect 0 env $less rocm-perf profile --device software --runs 1 -o none ./forked 0
    says err "nothing says of how many ranks ${less%% *} is one"
done
expect 0 env RANK=2 rocm-perf profile --device software --runs 1 -o none ./forked 0
! grep -q 'of how many ranks' err || fail 'RANK alone may be anything'
# Two jobs of one allocation that have one MASTER_PORT: the second does not end with what is left of the first.
torch='MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=2 SLURM_JOB_ID=7'
rm -rf steps
expect 0 env $torch SLURM_STEP_ID=0 RANK=1 rocm-perf profile --device software -o steps ./forked 0
expect 0 env $torch SLURM_STEP_ID=1 RANK=0 rocm-perf profile --device software -o steps ./forked 0
! grep -q 'one beside the other' out || fail 'a rank of another job has been counted'
expect 0 env $torch SLURM_STEP_ID=1 RANK=1 rocm-perf profile --device software -o steps ./forked 0
says out '2 processes, one beside the other'
# On the host of mpirun there is no step of Slurm, on the others there is: PMIX_NAMESPACE is the same on all.
rm -rf hosts
expect 0 env PMIX_NAMESPACE=n OMPI_COMM_WORLD_SIZE=2 SLURM_JOB_ID=7 OMPI_COMM_WORLD_RANK=0 rocm-perf profile --device software -o hosts ./forked 0
expect 0 env PMIX_NAMESPACE=n OMPI_COMM_WORLD_SIZE=2 SLURM_JOB_ID=7 SLURM_STEP_ID=1 OMPI_COMM_WORLD_RANK=1 rocm-perf profile --device software -o hosts ./forked 0
says out '2 processes, one beside the other'
# Scripts that the launcher starts for each rank.
printf '#!/bin/sh\nrocm-perf profile --device software -o wrapped ./forked 0\nexit $?\n' >wrap && chmod +x wrap
expect 0 ./launch 2 PMI_RANK PMI_SIZE ./wrap
says out '2 processes, one beside the other'
# Wall clocks: each rank prints its own.
expect 0 ./launch 2 PMI_RANK PMI_SIZE rocm-perf profile --device software --no-rocprof --quiet -o walls ./forked 0
[ "$(grep -cE '^[0-9.]+$' out)" = 2 ] || { cat out; fail 'wall clocks of two ranks'; }
# A single task, and a script of Slurm without srun, are no ranks.
expect 0 env SLURM_PROCID=0 SLURM_NTASKS=4 rocm-perf profile --device software --runs 1 -o alone ./forked 0
[ -f alone/profile.json ] || fail 'a script that srun has not started'
# The launcher below rocm-perf: one result, its processes by rank.
expect 0 rocm-perf profile --device software --runs 1 -o below ./launch 2 RANK WORLD_SIZE ./forked 0
[ "$(json processes.1.rank below/profile.json)" = 1 ] || fail 'ranks of a launcher that is profiled'
