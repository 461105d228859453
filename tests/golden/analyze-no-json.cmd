# exit 3
# What is called like a JSON trace and is none is told so in terms of JSON.
printf ' \n\t' >space_results.json
: >empty_results.json
printf '{}' >object_results.json
printf '[]' >array_results.json
printf '{"traceEvents": []}' >other_results.json
printf '\357\273\277{"rocprofiler-sdk-tool": []}' >mark_results.json
printf '\377\376{\0"\0' >utf16le_results.json
printf '\0{\0"' >utf16be_results.json
printf 'PK' >zip_results.json
for name in space empty object array other mark utf16le utf16be zip missing; do
    rocm-perf analyze -v ${name}_results.json || echo "$name: $?"
done
cp "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" database_results.json
rocm-perf analyze -v database_results.json >/dev/null && echo 'a database'
rocm-perf analyze -v space_results.json 2>/dev/null
