# Shared by the end-to-end scripts. Sourced with BUILD set.
set -eu
: "${BUILD:?the build folder}"
SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# The same folder each time, so that what the compiler made of the same files before is found again; another one
# while somebody runs the same script of the same build. It is named by what it is for: paths are in results.
scratch_folder() {
    local parent=${TMPDIR:-/tmp}/rocm-perf-tests-$(id -u) name
    name=$(printf '%s' "$BUILD" | cksum)
    name=$parent/${name%% *}-$(basename "$0" .sh)
    if mkdir -p -m 700 "$parent" && [ -O "$parent" ] && [ ! -L "$parent" ] && exec 7>"$name.lock" && flock -n 7; then
        chmod -R u+w "$name" 2>/dev/null || true
        rm -rf "$name"
        mkdir "$name"
        SCRATCH=$name
    else
        SCRATCH=$(mktemp -d)
    fi
}
scratch_folder
trap 'chmod -R u+w "$SCRATCH" 2>/dev/null; rm -rf "$SCRATCH"' EXIT
export PATH="$BUILD:$PATH" LC_ALL=C
# Most scripts are about other things than how long kernels take; those that are not say so, or unset it.
export ROCM_PERF_DEVICE_TIMING=counts
cd "$SCRATCH"

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect STATUS COMMAND...: runs it, keeps stdout and stderr in out and err.
expect() {
    local wanted=$1 got=0
    shift
    "$@" >out 2>err </dev/null || got=$?
    [ "$got" = "$wanted" ] || { cat out err >&2; fail "exit status $got instead of $wanted: $*"; }
}

# background COMMAND...: in out and err is what this command says, nothing of before. A signal for it
# must wait for that: until bash has become the command it would run the trap above.
background() {
    rm -f out err
    "$@" >out 2>err &
}

# says FILE TEXT: the file contains the text.
says() { grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "$1 does not say: $2"; }; }

# example NAME: compiles examples/NAME.hip (or a test program) once per build folder, or for several
# with the same PROGRAMS.
example() {
    local programs=${PROGRAMS:-$BUILD/tests/programs}
    local source=$SOURCE/examples/$1.hip out=$programs/$1
    [ -f "$source" ] || source=$SOURCE/tests/e2e/programs/$1.hip
    mkdir -p "$programs"
    (
        flock 9
        [ "$out" -nt "$source" ] || (cd "$SOURCE" && rocm-perf hipcc -cuid="$1" "${source#"$SOURCE"/}" -I examples -o "$out.new" >&2) &&
            { [ ! -e "$out.new" ] || mv "$out.new" "$out"; }
    ) 9>"$out.lock" || fail "cannot compile $source"
    cp "$out" "$SCRATCH/$1"
}

# json KEY FILE: value of a dotted key.
json() {
    python3 - "$1" "$2" <<'EOF'
import json, sys
value = json.load(open(sys.argv[2]))
for key in sys.argv[1].split("."):
    value = value[int(key)] if key.isdigit() else value[key]
print(json.dumps(value) if isinstance(value, (dict, list, bool)) or value is None else value)
EOF
}
