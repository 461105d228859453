# exit 2
# A pattern that would take all memory or time is refused before anything runs.
for pattern in '((a{1,255}){1,255}){1,255}' '(((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+' '(a*)*\1' "$(printf '(%.0s' {1..300})$(printf 'a)%.0s' {1..300})"; do
    rocm-perf isolate --kernel "$pattern" -o out true
    echo "exit $?"
    rocm-perf optimize --device software true --source "$SOURCE/README.md" --kernel "$pattern" -o session
    echo "exit $?"
    rocm-perf prompt --source "$SOURCE/examples/vector_add.hip" --kernel "$pattern"
    echo "exit $?"
    rocm-perf profile --device software --deep-analysis --kernel-include-regex "$pattern" -o out true
    echo "exit $?"
done
ls
rocm-perf autotune --space "$SOURCE/tests/data/tune/made.json" --cmd-template 'x {A}' --output-regex '((a{1,255}){1,255}){1,255}'
