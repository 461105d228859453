# Every command of the manual pages runs and succeeds, in the order they stand.
. "$(dirname "$0")/../lib.sh"
example vector_add
cp "$SOURCE/examples/vector_add.hip" "$SOURCE/examples/check.h" "$SOURCE/tests/data/tune/made.json" .
echo '{"TENTHS": [1, 2, 3, 4]}' >space.json

# Man pages: the lines marked as displayed commands (.Dl).
for page in "$SOURCE"/docs/man/*.1; do
    sed -n 's/^\.Dl //p' "$page" >commands
    [ -s commands ] || fail "$page has no example"
    while IFS= read -r line; do
        bash -c "$line" >out 2>err </dev/null || { cat out err; fail "$page: $line"; }
    done <commands
done
