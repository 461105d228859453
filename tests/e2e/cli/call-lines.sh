# Verdicts about launches and copies name the line of the program that makes them, if it has debug information.
. "$(dirname "$0")/../lib.sh"
source=$SOURCE/tests/e2e/programs/call_lines.hip
launch=$(grep -n '// launch$' "$source" | cut -d: -f1)
copy=$(grep -n '// copy$' "$source" | cut -d: -f1)
compile() { rocm-perf hipcc -O3 "$@" "$source" || fail "cannot compile: $*"; }

# profile DIR PROGRAM ARGS...
profile() { expect 0 rocm-perf profile --device software --deep-analysis --runs 1 --quiet -o "$1" "${@:2}"; }

# line_is KEY FILE WANTED: null, or a line of the source.
line_is() {
    local got wanted=$3
    [ "$wanted" = None ] || wanted=$source:$wanted
    got=$(python3 -c '
import json, sys
value = json.load(open(sys.argv[2]))
for key in sys.argv[1].split("."):
    value = value[int(key)] if key.isdigit() else value[key]
print(value)' "$1" "$2")
    [ "$got" = "$wanted" ] || { cat out err >&2; fail "$1 of $2 is $got instead of $wanted"; }
}

compile -g -o with_lines
profile grid ./with_lines 20000
[ "$(json kernels.0.bottleneck.cause grid/analysis.json)" = small_grid ] || fail 'the grid is not named'
line_is kernels.0.bottleneck.line grid/analysis.json "$launch"
profile copies ./with_lines 1 copies
[ "$(json program.cause copies/analysis.json)" = copy_bound ] || fail 'copies are not named'
line_is program.line copies/analysis.json "$copy"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/analysis.schema.json" grid/analysis.json copies/analysis.json

# Rows have places; those of a run that nobody asked for have none.
query() { python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }
launches="select count(*) from rocpd_region r join rocpd_event e on e.id = r.event_id
  where json_extract(e.line_info, '\$.line') = $launch and json_extract(e.call_stack, '\$.frames[0].line') = $launch"
[ "$(query grid/trace_results.db "$launches")" = 3 ] || fail 'launches in the database'
expect 0 rocm-perf profile --device software --runs 1 --quiet -o plain ./with_lines 1
[ "$(query plain/trace_results.db "select count(*) from rocpd_event where line_info != '{}' or call_stack != '{}'")" = 0 ] ||
    fail 'places that nobody asked for'

# A program at fixed addresses, whose stubs are not inlined.
compile -g -no-pie -fno-pie -fno-inline -o fixed
profile fixed-result ./fixed 20000
line_is kernels.0.bottleneck.line fixed-result/analysis.json "$launch"

# Without debug information there is no line, nor is any made up.
compile -o without
profile without-result ./without 20000
line_is kernels.0.bottleneck.line without-result/analysis.json None
strip -o stripped with_lines
profile stripped-result ./stripped 20000
line_is kernels.0.bottleneck.line stripped-result/analysis.json None

# The line is the library's where that launches.
compile -g -DLIBRARY -shared -fPIC -o libwork.so
rocm-perf hipcc -O3 -DPROGRAM "$source" -L. -lwork -Wl,-rpath,"$PWD" -o with_library || fail 'cannot compile with a library'
profile library ./with_library 20000
line_is kernels.0.bottleneck.line library/analysis.json "$launch"
