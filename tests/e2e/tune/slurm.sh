#!/usr/bin/env bash
# Workers as steps of a real Slurm: munged, slurmctld and slurmd of this machine, on the loopback interface, with
# all their files in the scratch folder. They end with this script, also when it is killed (--pdeathsig).
. "$(dirname "$0")/../lib.sh"
# Neither the job in which this may run nor another cluster is meant, from the beginning.
unset ${!SLURM_*} ${!SLURMD_*} ${!SRUN_*} ${!SALLOC_*} ${!SBATCH_*} ROCR_VISIBLE_DEVICES
export SLURM_CONF=$SCRATCH/slurm.conf
export PYTHONPATH=$SOURCE/tests/e2e/tune PYTHONDONTWRITEBYTECODE=1 SCRATCH TMPDIR=$SCRATCH PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd srun sbatch; do
    command -v $program >/dev/null || { echo "no $program; ./setup --check installs it"; exit 77; }
done
ln -s "$(command -v sleep)" sleep_here
left() { grep -qzs "^$SCRATCH/sleep_here" /proc/[0-9]*/cmdline; } # -q: also when a process ends meanwhile
# Processes of this test that are not Slurm's daemons: srun and all that they start inherit $SCRATCH.
ours() {
    local path name
    for path in $(grep -lzsxF "SCRATCH=$SCRATCH" /proc/[0-9]*/environ); do
        name=$(cat "${path%environ}comm" 2>/dev/null) || continue
        path=${path#/proc/}
        case $name in slurm* | munged) ;; *) echo "${path%/environ}" ;; esac
    done
}

# gone WHAT COMMAND: waits until the command fails. Not for ever: a test that is killed for its time leaves what it
# waits for.
gone() {
    local until=$((SECONDS + 300))
    while "$2"; do
        [ $SECONDS -lt $until ] || fail "killed or refused, and still there: $1"
        sleep 0.1
    done
}

# --- a cluster ---------------------------------------------------------------------------------------------

daemons=()
start_daemon() {
    setpriv --pdeathsig TERM "$@" </dev/null >>daemons.log 2>&1 &
    daemons+=($!)
}
stop_daemons() {
    local pid
    for pid in ${daemons[@]+"${daemons[@]}"}; do kill "$pid" 2>/dev/null || true; done
    for pid in ${daemons[@]+"${daemons[@]}"}; do wait "$pid" 2>/dev/null || true; done
    daemons=()
}
# A client that still talks to slurmctld when that goes asks for it again and again, for minutes.
end_all() {
    local pid
    timeout 60 scancel --quiet -u "$(id -un)" 2>/dev/null || true
    for pid in $(ours); do kill -KILL "$pid" 2>/dev/null || true; done
    stop_daemons
}
trap 'end_all; chmod -R u+w "$SCRATCH" 2>/dev/null; rm -rf "$SCRATCH"' EXIT
running() { local pid; for pid in "${daemons[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done; }

free_ports() {
    python3 -c 'import socket
s = [socket.socket() for i in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])'
}

start_munge() {
    mkdir -m 700 munge
    head -c 1024 /dev/urandom >munge/key
    chmod 600 munge/key
    start_daemon munged --foreground --force --socket="$SCRATCH/munge/socket" --key-file="$SCRATCH/munge/key" \
        --pid-file="$SCRATCH/munge/pid" --seed-file="$SCRATCH/munge/seed" --log-file="$SCRATCH/munge/log"
    while running && [ ! -S munge/socket ]; do sleep 0.05; done
}

# The machine may have fewer processors than the cluster: config_overrides.
configure() {
    mkdir -p state spool
    touch gpu0 gpu1
    echo "NodeName=here Name=gpu File=$SCRATCH/gpu[0-1]" >gres.conf
    cat >slurm.conf <<END
ClusterName=rocm-perf
SlurmctldHost=$(uname -n | cut -d. -f1)(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$2
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$SCRATCH/munge/socket
CredType=cred/munge
SlurmctldPidFile=$SCRATCH/slurmctld.pid
SlurmdPidFile=$SCRATCH/slurmd.pid
SlurmctldLogFile=$SCRATCH/slurmctld.log
SlurmdLogFile=$SCRATCH/slurmd.log
StateSaveLocation=$SCRATCH/state
SlurmdSpoolDir=$SCRATCH/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MessageTimeout=100
TCPTimeout=60
SlurmdTimeout=600
GresTypes=gpu
NodeName=here NodeHostname=localhost NodeAddr=127.0.0.1 CPUs=4 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=here Default=YES MaxTime=INFINITE State=UP
END
}

# Somebody may take a port between the moment it was free and ours: then again with others.
start_slurm() {
    local try
    for try in 1 2 3 4 5; do
        configure $(free_ports)
        start_daemon slurmctld -D -f "$SLURM_CONF"
        start_daemon slurmd -D -f "$SLURM_CONF" -N here
        while running; do
            if timeout 60 sinfo -h -o %T 2>/dev/null | grep -qx idle; then return; fi
            sleep 0.1
        done
        stop_daemons
        rm -rf state spool munge
        start_munge
    done
    cat daemons.log slurm*.log
    fail "Slurm does not come up"
}

start_munge
start_slurm

# --- the same answers as here -------------------------------------------------------------------------------

# The first two are only answered when both run at the same time.
python3 - >requests <<'END'
import os
from requests import *
s, sh = os.environ["SCRATCH"], ("sh", "-c")
meet = 'touch "$0"; while [ ! -e "$1" ]; do sleep 0.02; done; echo 1'
lines = [request(1, *sh, meet, "here1", "here2", **output("[0-9]+")), request(2, *sh, meet, "here2", "here1", **output("[0-9]+"))]
lines += [request(i, "echo", str(i), **output("[0-9]+")) for i in range(3, 12)]
lines += [request(12, *sh, "exit 3"), request(13, *sh, "kill -SEGV $$"), request(14, "true", check="false"),
          request(15, *sh, "trap '' TERM; sleep 99999", timeout_ns=10**9),
          request(16, *sh, 'printf "%s" "$1" | wc -c', "x", "a" * 130000, "b'\n\"$(false)" * 9999, **output("[0-9]+")),
          request(17, s + "/b/program", **build(s + "/b/program", *sh, 'printf "#!/bin/sh\necho 17\n" >"$0"; chmod +x "$0"', s + "/b/program"), **output("[0-9]+"))]
print("\n".join(lines))
END
same() { # all but what a clock says
    sed -E 's/"(bench|build)_ns":[0-9]+/"\1_ns":0/g' "$1" >"$1.same"
}
expect 0 tune_drive pool local 2 requests here rocm-perf autotune --worker --device software
rm -r here1 here2 b
expect 0 tune_drive pool slurm 2 requests there rocm-perf autotune --worker --device software
says err "2 workers: AMD Instinct MI300X"
says err "worker 1: "
says err "worker 2: "
same here
same there
[ "$(wc -l <there)" = 17 ] || fail "$(wc -l <there) answers"
cmp here.same there.same || fail "Slurm gives other answers than this machine"

# --- the command: what a configuration takes does not depend on who runs it -------------------------------------

cat >program <<'END'
#!/bin/sh
[ "$1" != 3 ] || exit 9
echo "time: $((100 + $1 * 7 + $2 * $2 - ${#3}))"
END
chmod +x program
cat >space.json <<'END'
{"parameters": {"A": [1, 2, 3, 4, 5, 6], "B": {"range": [4, 9]}, "C": ["x", "'; touch pwned $(touch pwned)\n%s"]}}
END
tune() {
    expect 0 rocm-perf autotune --space space.json --cmd-template './program {A} {B} {C}' --output-regex 'time: ([0-9]+)' \
        --device software --seed 3 --quiet "$@"
}
# Chosen without looking at results, so the same ones: on this machine, and by two workers of Slurm.
tune --strategy random --max-fraction 0.5 -o tuned-here
tune --strategy random --max-fraction 0.5 -o tuned-there --launcher slurm --workers 2
tune --max-fraction 0.4 -o tuned-well --launcher slurm --workers 2
[ ! -e pwned ] || fail "a value was run as code"
python3 - <<'END' || fail "results"
import json
def results(folder):
    tuned = json.load(open(folder + "/autotune.json"))
    return tuned, {json.dumps(h["parameters"], sort_keys=True): (h["runtime_ms"], h["outcome"]) for h in tuned["history"]}
(here, a), (there, b), (well, c) = map(results, ("tuned-here", "tuned-there", "tuned-well"))
assert len(a) == 36 and a == b, (a, b)
assert here["best_config"] == there["best_config"], (here["best_config"], there["best_config"])
for key in c:
    p = json.loads(key)
    wanted = (None, "failed") if p["A"] == 3 else (100 + p["A"] * 7 + p["B"] ** 2 - len(p["C"].encode()), "ok")
    assert c[key] == wanted and a.get(key, wanted) == wanted, (key, c[key], wanted)
END

# --- the allocation that we are in; each step with a GPU of it ------------------------------------------------

# within WORDS -- COMMAND...: the command in a job of its own; its outputs in out and err. Not by salloc, which of
# Slurm 22.05 may go on for ever when its program has ended.
within() {
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    rm -f status out err
    printf '#!/bin/bash\ncd "$SCRATCH"\n%s >out 2>err </dev/null\necho $? >status.new\nmv status.new status\n' "$(printf '%q ' "$@")" >batch
    sbatch --quiet --output=/dev/null "${words[@]}" batch || fail "sbatch ${words[*]}"
    no_status() { [ ! -e status ]; }
    gone "the job of $*" no_status
    [ "$(cat status)" = 0 ] || { cat out err >&2; fail "exit status $(cat status) in a job: $*"; }
}

grep '"id": \([3-9]\),' requests >some
export TUNE_STEP=--gpus=1
within --ntasks=2 --gpus=2 -- tune_drive pool slurm 0 some inside rocm-perf autotune --worker --device software
says err "2 workers: AMD Instinct MI300X"
[ "$(wc -l <inside)" = 7 ] || fail "$(wc -l <inside) answers"

# --- steps have the processors of a task, which the allocation says --------------------------------------------

cat >cpus <<'END'
#!/bin/sh
echo "$SLURM_CPUS_ON_NODE" >>"$SCRATCH/cpus.seen"
exec rocm-perf autotune --worker --device software
END
chmod +x cpus
unset TUNE_STEP
TUNE_ALLOCATION=--cpus-per-task=2 expect 0 tune_drive pool slurm 2 some answers "$SCRATCH/cpus"
within --ntasks=1 --cpus-per-task=3 -- tune_drive pool slurm 0 some answers "$SCRATCH/cpus"
[ "$(tr '\n' ' ' <cpus.seen)" = "2 2 3 " ] || { cat cpus.seen; fail "processors of the steps"; }

# --- it cannot be had ---------------------------------------------------------------------------------------

TUNE_ALLOCATION=--partition=none expect 4 tune_drive pool slurm 2 some answers rocm-perf autotune --worker --device software
says err "invalid partition"
says err "srun gave no allocation"
TUNE_STEP=--gpus=nine expect 4 tune_drive pool slurm 1 some answers rocm-perf autotune --worker --device software
says err "worker 1 ended with exit status"
unset TUNE_STEP
expect 4 env PATH="$BUILD" tune_drive pool slurm 2 some answers rocm-perf autotune --worker --device software
says err "is Slurm installed?"
expect 2 rocm-perf autotune --space space.json --cmd-template './program {A} {B} {C}' --launcher slurm --gpus 0,1
says err "Slurm chooses GPUs"
has_jobs() { squeue -h | grep -q .; }
gone 'a job of a worker that could not be had' has_jobs

# --- srun that does not end when its program has ended: it is told to, then killed, and the job is cancelled -----

mkdir stuck
cat >stuck/srun <<'END'
#!/usr/bin/env bash
case $* in *--jobid=*) exec rocm-perf autotune --worker --device software ;; esac
trap 'echo asked >>"$SCRATCH/stuck.said"' TERM
echo "4711 1"
cat >/dev/null
while :; do sleep 0.1; done
END
printf '#!/bin/sh\necho "cancelled $2" >>"$SCRATCH/stuck.said"\n' >stuck/scancel
chmod +x stuck/*
PATH=$SCRATCH/stuck:$PATH expect 0 tune_drive pool slurm 1 some answers true
[ "$(cat stuck.said)" = "asked
cancelled 4711" ] || { cat stuck.said; fail "srun that does not end"; }
[ -z "$(ours)" ] || fail "srun that does not end is left"

# --- it is killed: no job stays, and nothing runs ---------------------------------------------------------------

python3 - >one <<'END'
import os
from requests import *
print(request(1, "sh", "-c", "trap '' TERM; (setsid $0 99999) & touch began; $0 99999", os.environ["SCRATCH"] + "/sleep_here"))
END
background tune_drive pool slurm 1 one answers rocm-perf autotune --worker --device software
while [ ! -e began ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
[ -e began ] || { cat err; fail "it has not begun"; }
while ! left; do sleep 0.05; done
kill -KILL $!
wait $! 2>/dev/null || true
has_jobs_or_left() { has_jobs || left; }
gone 'a job, or what it ran' has_jobs_or_left
# srun, too: it has been told to end, and waits for slurmctld's word.
has_ours() { [ -n "$(ours)" ]; }
gone 'srun' has_ours
