# exit 3
# What is kept, in each form; commits of git; what is refused.
data=$SOURCE/tests/data/compare
try() { rocm-perf history "$@"; echo "exit $?"; }
try list
rocm-perf history add --at 2026-11-20T10:00:00Z --commit '' "$data/before.json" "$data/after.json"
rocm-perf history add --at 2026-11-19T10:00:00Z --commit 0123456789abcdef0123456789abcdef01234567-dirty \
    --config 'b=1, 2' --config a=x=y "$data/few.json"
git init -q . && git -c user.name=x -c user.email=x@y -c commit.gpgsign=false commit -q --allow-empty -m x
rocm-perf history add --at 2026-11-21T10:00:00Z "$data/software.json" | sed 's/[0-9a-f]\{40\}$/HEAD/'
[ "$(sqlite3 .rocm-perf/history.db 'select commit_id from result where id = 4')" = "$(git rev-parse HEAD)" ] || echo "another commit"
echo x >changed && git add changed && touch -d 2020-01-01 changed
# Nobody's index is written, who may be committing at that time.
index=$(md5sum .git/index)
rocm-perf history add --db dirty.db "$data/software.json" | sed 's/[0-9a-f]\{40\}/HEAD/'
[ "$(md5sum .git/index)" = "$index" ] || echo "the index was written"
try list --device hardware
try show --kernel '*gemm*' --device hardware
try show --commit 0123 --json
try list --json >list.json
sed '$d' list.json >all.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/history.schema.json" all.json
try export --commit 0123 --format csv
try export --commit 0123 -o out.jsonl
cat out.jsonl
try add
try add --at today "$data/few.json"
try add --config 'a b=1' "$data/few.json"
try add --config a=1 --config a=2 "$data/few.json"
try list --margin 3
try list more
try check --recent 0
try export --format xml
try explain
try add "$data/replay.json"
try check --kernel gem
try add "$data/README.md"
sed 's/"schema_version": "1.0"/"schema_version": "2.0"/' "$data/few.json" >later.json
try add later.json
try list --db later.json
sqlite3 .rocm-perf/history.db 'pragma user_version = 2'
rocm-perf history add "$data/few.json"
