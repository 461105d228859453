# doctor: JSON valid, ready where the tests run; without ROCm it says what mends it.
. "$(dirname "$0")/../lib.sh"
expect 0 rocm-perf doctor
says out ready
expect 0 rocm-perf doctor --json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/doctor.schema.json" out
if [ ! -e /opt/rocm ]; then
    expect 4 env ROCM_PATH= ROCM_PERF_CACHE="$SCRATCH/none" rocm-perf doctor
    says out ./setup
    expect 4 env ROCM_PATH= ROCM_PERF_CACHE="$SCRATCH/none" rocm-perf doctor --json
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/doctor.schema.json" out
    expect 4 env ROCM_PATH= ROCM_PERF_CACHE="$SCRATCH/none" rocm-perf profile ./app
    says err ./setup
fi
# A ROCM_PATH without a ROCm 7 is refused, not passed over for another one.
for command in doctor "hipcc -c none.hip" "run ./app" "profile ./app"; do
    expect 4 env ROCM_PATH="$SCRATCH/none" rocm-perf $command
    cat err >>out
    says out "ROCM_PATH=$SCRATCH/none"
done
