# exit 3
# What does not compare, or is no result.
cd "$SOURCE/tests/data/compare"
made() { sed "$2" few.json >"$OLDPWD/$1"; }
try() { rocm-perf compare "$@"; echo "exit $?"; }
try few.json software.json
try software.json ../rocpd/vadd-kernel_results.db
try few.json
try before.json replay.json
try few.json missing
try few.json README.md
try few.json ../../../schemas/compare.schema.json
made clock.json 's/"engine_clock_mhz": 2100/"engine_clock_mhz": 1300/'
made arch.json 's/gfx942/gfx950/'
made wall.json 's/"measurement": "dispatches"/"measurement": "wallclock"/'
made damaged.json 's/"stability"/stability/'
made complete.json '/"complete"/d'
for one in clock arch wall damaged complete; do
    try few.json "$OLDPWD/$one.json"
done
sed 's/"version": 2/"version": 1/' software.json >"$OLDPWD/version.json"
rocm-perf compare software.json "$OLDPWD/version.json"
