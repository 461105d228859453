# Every command of the manual pages and of the agent skill runs and succeeds, in the order they stand. With the word
# "some" those of an eighth of the pages, which ones the seed says, and of the skill those that the others rest on.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING
some=${1:-}
example vector_add
cp "$SOURCE/examples/vector_add.hip" "$SOURCE/examples/check.h" "$SOURCE/tests/data/tune/made.json" .
echo '{"TENTHS": [1, 2, 3, 4]}' >space.json

# drawn PAGE: whether this page is run.
drawn() {
    local sum
    [ "$some" ] || return 0
    sum=$(printf '%s %s' "${RP_SEED:-}" "$(basename "$1")" | cksum)
    [ $((${sum%% *} % 8)) = 0 ]
}

# Man pages: the lines marked as displayed commands (.Dl).
for page in "$BUILD"/man/*.1; do
    sed -n 's/^\.Dl //p' "$page" >commands
    [ -s commands ] || fail "$page has no example"
    drawn "$page" || continue
    while IFS= read -r line; do
        bash -c "$line" >out 2>err </dev/null || { cat out err; fail "$page: $line"; }
    done <commands
done

# The agent skill: the lines of its sh blocks; "# exit N" behind one that does not end with 0. One folder
# for all, in which the first reference compiles what the others run.
mkdir skill
cd skill
cp "$SOURCE/examples/vector_add.hip" "$SOURCE/examples/check.h" "$SOURCE/tests/data/tune/made.json" ../space.json .
skill=$SOURCE/skills/rocm-perf-lab
cp "$skill"/evals/files/step.json .
cp "$skill"/evals/files/rows.hip app.hip
cp "$skill"/evals/files/rows.hip old.hip
cp "$skill"/evals/files/rows_new.hip new.hip
echo '{"version": 1, "build": "hipcc -O3 -g app.hip -o app", "programs": [{"name": "app", "command": ["./app"]}]}' >rocm-perf.json
git init -q .
echo '*' >.gitignore
git add -f app.hip rocm-perf.json
git -c user.name=test -c user.email=test@localhost commit -qm base
for page in "$skill/SKILL.md" "$skill"/references/{cli,profiling,autotune,replay,optimize}.md; do
    sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$page" >commands
    [ -s commands ] || fail "$page has no example"
    [[ $page == */cli.md ]] || drawn "$page" || continue
    while IFS= read -r line; do
        wanted=$(sed -n 's/.* # exit \([0-9]*\)$/\1/p' <<<"$line")
        got=0
        bash -c "$line" >out 2>err </dev/null || got=$?
        [ "$got" = "${wanted:-0}" ] || { cat out err; fail "$page: exit status $got: $line"; }
    done <commands
done
[ "$(ls "$skill"/references | wc -l)" = 5 ] || fail "a reference of the skill is not run"

[ -z "$some" ] || exit 0

# A document of which all commands are quick: lines of fenced blocks that begin with rocm-perf. Files of the sources
# are named from their root.
ln -s "$SOURCE/tests" tests
awk '/^```/ {on = !on; next} on && /^rocm-perf /' "$SOURCE/docs/how-it-decides.md" >commands
[ -s commands ] || fail "docs/how-it-decides.md has no example"
while IFS= read -r line; do
    bash -c "$line" >out 2>err </dev/null || { cat out err; fail "docs/how-it-decides.md: $line"; }
done <commands
