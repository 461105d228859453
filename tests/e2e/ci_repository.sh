# A repository that `rocm-perf ci` is tried in, with a base. Sourced behind lib.sh; then the current folder is its top.
unset ROCM_PERF_DEVICE_TIMING GITHUB_ACTIONS # times are what it is about
export TMPDIR=$SCRATCH/tmp GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
mkdir tmp repository made
# The base is compiled once: most of a run's time is the compiler's.
cat >build <<'END'
made=$(dirname "$0")/made/$(cat sums.hip zero.h 2>/dev/null | md5sum | cut -c1-32)
[ -e "$made" ] || hipcc -O3 -g sums.hip -o "$made" || exit 1
cp "$made" sums
END
builder="sh $SCRATCH/build"
cd repository

save() { git add -A && git -c user.name=test -c user.email=test@localhost commit -qm "$1"; }
# config PROGRAM_KEYS [KEYS]: those of the program, and those of all
config() {
    printf '{"version": 1, "build": "%s", "programs": [{"name": "sums", "command": ["./sums"]%s}]%s}\n' \
        "$builder" "$1" "${2-}" >rocm-perf.json
}

git init -q .
cp "$SOURCE/tests/e2e/programs/ci.hip" sums.hip
config ', "limits": {"traffic": 2, "registers": 8, "occupancy": 0}'
echo /sums >.gitignore
save base
git tag base

# ci STATUS [OPTION...]: out and err are outside of the repository, and nothing in it changes
ci() {
    local wanted=$1 got=0 before after
    shift
    before=$(GIT_OPTIONAL_LOCKS=0 git status --porcelain --untracked-files=all; git for-each-ref; md5sum .git/index)
    rocm-perf ci --base base --device software -o ../result "$@" >../out 2>../err </dev/null || got=$?
    after=$(GIT_OPTIONAL_LOCKS=0 git status --porcelain --untracked-files=all; git for-each-ref; md5sum .git/index)
    [ "$got" = "$wanted" ] || { cat ../out ../err >&2; fail "exit status $got instead of $wanted: ci $*"; }
    [ "$before" = "$after" ] || fail "the user's tree changed: $before / $after"
    [ "$(git worktree list | wc -l)" = 1 ] && [ ! -e .git/worktrees ] || fail "a tree is left: $(git worktree list)"
    [ -z "$(ls ../tmp)" ] || fail "files are left: $(ls ../tmp)"
    [ "$got" = 2 ] || sound
}
# All forms are what they say, and are of the same gates.
sound() {
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/ci.schema.json" ../result/ci.json >/dev/null || fail "ci.json: schema"
    python3 - ../result <<'END' || fail "a form is wrong"
import json, os, sys, xml.etree.ElementTree as tree
folder = sys.argv[1]
read = lambda name: open(os.path.join(folder, name), encoding="utf-8").read()
result = json.loads(read("ci.json"))
cases = tree.fromstring(read("junit.xml")).findall(".//testcase")
assert [(c.get("classname"), c.get("name")) for c in cases] == [(g["program"] or "build", g["name"]) for g in result["gates"]]
bad = [g for g in result["gates"] if g["outcome"] in ("fails", "undecided")]
assert len([c for c in cases if c.find("failure") is not None]) == len(bad)
quality = json.loads(read("codequality.json"))
assert len(quality) == sum(max(1, len(g["notes"])) for g in bad)
assert len({q["fingerprint"] for q in quality}) == len(quality)
assert all(q["location"]["path"] and q["location"]["lines"]["begin"] > 0 for q in quality)
metrics = read("metrics.txt")
assert metrics.endswith("# EOF\n") and metrics.count("rocm_perf_ci_gate{") == len(result["gates"])
comment = read("comment.md")
assert comment.startswith("### rocm-perf: ") and len(comment.encode()) < 65535
assert result["device"] != "software" or "times are modelled" in comment
END
}
outcome() { python3 -c 'import json, sys
print([g["outcome"] for g in json.load(open("../result/ci.json"))["gates"] if g["name"] == sys.argv[1] and g["program"] in ("sums", None)][0])' "$1"; }
names() { python3 -c 'import json
print([(g["program"], g["name"]) for g in json.load(open("../result/ci.json"))["gates"]])
print([line.rsplit(" ", 1)[0] for line in open("../result/metrics.txt")])'; }
# change SCRIPT: of sed, of the base's source; it is not committed
change() {
    git checkout -q base -- sums.hip && git reset -q
    sed -i "$1" sums.hip
    git diff --quiet && fail "nothing changed: $1"
    return 0
}

quick=', "limits": {"time": null}, "checks": {"races": false, "uninit": false, "bounds": false}'
