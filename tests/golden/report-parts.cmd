# What there is: of thread traces and counters alone, of both, of a folder with profile.json.
python3 "$SOURCE/tests/att/gen_att.py" made 5
rocm-perf report --arch gfx942 made
rocm-perf report -o a.html "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" made
mkdir d && cp "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" d/trace_results.db
echo '{"schema_version": "1.0", "provenance": {"command": ["./a<b", "1"]}}' >d/profile.json
rocm-perf report -o b.html d && grep '<title>' b.html
python3 "$SOURCE/tests/html/extract.py" b.html b >/dev/null && cmp d/profile.json b/profile.json
# The same input, the same bytes; a page that was there is replaced by a whole one, and by no other.
cp b.html c.html && rocm-perf report -o c.html d >/dev/null && cmp b.html c.html
echo '{"provenance"' >d/profile.json
rocm-perf report -o c.html d; echo "exit $?"; cmp b.html c.html
ls
