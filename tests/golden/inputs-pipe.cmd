# exit 3
# A pipe is refused at once, given by name or in a folder.
data=$SOURCE/tests/data
mkfifo pipe
try() { timeout 20 rocm-perf "$@" 2>&1 | sed 's,/dev/fd/[0-9]*,/dev/fd/N,'; echo "exit ${PIPESTATUS[0]}"; }
try compare pipe "$data/compare/before.json"
try compare "$data/compare/before.json" pipe
try compare <(cat "$data/compare/before.json") "$data/compare/after.json"
try history add --commit '' pipe
try analyze pipe
try report pipe
mkdir folder profile && cp "$data/rocpd/vadd-kernel_results.db" folder && mkfifo folder/other.db folder/results.json
cp "$data/rocpd/vadd-kernel_results.db" profile/trace_results.db && mkfifo profile/profile.json
try analyze folder | grep '^End to end  '
try compare folder profile
try report profile
mv profile/profile.json profile/roofline.json && cp "$data/compare/before.json" profile/profile.json
try compare profile profile
# A path that is too long is not printed whole, and what is wrong with it is.
long=$(printf 'a/%.0s' {1..3000})
try compare "$long" "$data/compare/before.json"
try analyze "$long"
try report "$long"
try history add --commit '' "$long"
try report -o "$long.html" "$data/rocpd/vadd-kernel_results.db"
timeout 20 rocm-perf compare pipe pipe
