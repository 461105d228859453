# A program linked with the machine's own loader runs through the private ROCm's loader.
. "$(dirname "$0")/../lib.sh"
example vector_add
rocm=$(rocm-perf doctor --json | python3 -c 'import json,sys; r = json.load(sys.stdin)["rocm"]; print(r["path"] if r["kind"] == "private" else "")')
if [ -z "$rocm" ]; then
    # An installed ROCm has no loader of its own: any program is an ordinary one there.
    expect 0 rocm-perf run --device software ./vector_add
    exit 0
fi
rocm-perf hipcc "$SOURCE/examples/vector_add.hip" -o foreign -Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2 -Wl,-rpath,/nowhere
if readelf -l foreign | grep -q "$rocm"; then
    # The last --dynamic-linker wins and is ours: write the machine's own into the file.
    "$rocm/lib64/ld-linux-x86-64.so.2" --library-path "$rocm/usr/lib/x86_64-linux-gnu" \
        "$rocm/usr/bin/patchelf" --set-interpreter /lib64/ld-linux-x86-64.so.2 --remove-rpath foreign
fi
readelf -l foreign | grep -q 'interpreter: /lib64/ld-linux' || fail 'the test program is not foreign'
expect 0 rocm-perf run --device software ./foreign
says out 'vector_add: PASS'
expect 0 rocm-perf profile --device software --runs 1 ./foreign
# One that the private ROCm of another machine made names a loader that is not here.
cp foreign elsewhere
"$rocm/lib64/ld-linux-x86-64.so.2" --library-path "$rocm/usr/lib/x86_64-linux-gnu" \
    "$rocm/usr/bin/patchelf" --set-interpreter /nobody/lib64/ld-linux-x86-64.so.2 elsewhere
expect 0 rocm-perf run --device software ./elsewhere
says out 'vector_add: PASS'
