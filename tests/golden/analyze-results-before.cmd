# What a result before has and this one lacks does not stay beside it; other files do.
python3 "$SOURCE/tests/att/gen_att.py" made 5
rocm-perf analyze -o result made "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" >/dev/null
touch result/notes.txt
ls result
rocm-perf analyze -o result --analysis "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" >/dev/null
echo && ls result
rocm-perf analyze -o result --thread-trace made >/dev/null
echo && ls result
# A run that fails leaves all as it was.
rocm-perf analyze -o result none.db 2>/dev/null
echo && ls result
