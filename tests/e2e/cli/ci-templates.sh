# The workflows that users copy, executed step by step in a clean home, with a wheel whose command is the program of this
# build. gh and apt-get are stand-ins; what only the services do is not run (ci_workflow.py names it).
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING GITHUB_ACTIONS
# With a ROCm there `rocm-perf setup` has nothing to fetch.
export ROCM_PATH=${ROCM_PERF_ROCM:-$HOME/.cache/rocm-perf-lab/rocm}
export HOME=$SCRATCH/home TMPDIR=$SCRATCH/tmp GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
mkdir home tmp stand_in origin
PATH=$SCRATCH/stand_in:${PATH#"$BUILD":} # the program comes from the wheel

# It answers with the numbers of comments that were told it.
printf '#!/bin/sh\necho "$@" >>%s/gh_calls\ncase $* in *--paginate*) cat %s/gh_comments ;; esac\n' "$SCRATCH" "$SCRATCH" >stand_in/gh
: >gh_comments
printf '#!/bin/sh\nexit 0\n' >stand_in/apt-get
chmod +x stand_in/*
command -v rocm-perf >/dev/null && fail "there is a rocm-perf already: $(command -v rocm-perf)"
python3 - "$BUILD/rocm-perf" <<'END'
import sys, zipfile
name = "rocm_perf_lab-0"
with zipfile.ZipFile(name + "-py3-none-any.whl", "w") as wheel:
    files = {name + ".data/scripts/rocm-perf": '#!/bin/sh\nexec "%s" "$@"\n' % sys.argv[1],
             name + ".dist-info/METADATA": "Metadata-Version: 2.1\nName: rocm_perf_lab\nVersion: 0\n",
             name + ".dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    for path, text in files.items():
        entry = zipfile.ZipInfo(path)
        entry.external_attr = 0o100755 << 16
        wheel.writestr(entry, text)
    wheel.writestr(name + ".dist-info/RECORD", "".join(path + ",,\n" for path in files) + name + ".dist-info/RECORD,,\n")
END

# A repository with a branch that is slower than main and one that is not, and as GitHub merges them.
commit() { git add -A && git -c user.name=test -c user.email=test@localhost commit -qm "$1"; }
(
    cd origin
    git init -q -b main .
    cp "$SOURCE/tests/e2e/programs/ci.hip" sums.hip
    echo '{"version": 1, "build": "hipcc -O3 sums.hip -o sums", "programs": [{"name": "sums", "command": ["./sums"]}]}' >rocm-perf.json
    commit base
    git checkout -q -b slow
    sed -i 's/sum += in\[row \* n + i\];/for (int k = 0; k < 4; k++) sum += ((volatile const float *)in)[row * n + i] \/ 4;/' sums.hip
    commit slow
    git checkout -q -b same main
    sed -i 's/float sum = 0;/float sum = 0.0f;/' sums.hip
    commit same
    for branch in slow same; do
        git checkout -q -b "merged-$branch" main
        git -c user.name=test -c user.email=test@localhost merge -q --no-ff -m merged "$branch"
    done
)
clone() { rm -rf repository && git clone -q -b "$1" --depth "$2" "file://$SCRATCH/origin" repository; }
workflow() {
    local wanted=$1 got=0
    shift
    rm -rf home/* gh_calls github_summary
    python3 "$SOURCE/tests/e2e/ci_workflow.py" "$@" >out 2>err </dev/null || got=$?
    [ "$got" = "$wanted" ] || { cat out err >&2; fail "exit status $got instead of $wanted: $*"; }
}
github() {
    workflow "$1" github "$SOURCE/examples/ci/github.yml" vars.ROCM_PERF_PACKAGE="$SCRATCH/rocm_perf_lab-0-py3-none-any.whl" \
        github.token=none github.event.pull_request.number=7 runner.os=Linux
}

clone merged-same 2
github 0
says out "all 8 gates hold"
says gh_calls "pr comment 7 --body-file rocm-perf-ci/comment.md"
clone merged-slow 2
printf '41\n42\n' >gh_comments
github 1
says out "not run: actions/checkout@v4"
says out "::error file=sums.hip,line=7,title=rocm-perf%3A sums time::sums: "
says github_summary '% slower than base ('
says gh_calls "api --method PATCH repos/{owner}/{repo}/issues/comments/42 -F body=@rocm-perf-ci/comment.md"
! grep -q 'pr comment' gh_calls || fail "a second comment"
[ -z "$(cd repository && git status --porcelain)" ] || fail "the clone changed: $(cd repository && git status)"

# GitLab's image has pip, and runs one script.
python3 -m venv image
PATH=$SCRATCH/image/bin:$PATH
gitlab() {
    workflow "$1" gitlab "$SOURCE/examples/ci/gitlab.yml" CI_PROJECT_DIR="$SCRATCH/repository" CI_MERGE_REQUEST_DIFF_BASE_SHA="$(git -C origin rev-parse main)" \
        ROCM_PERF_PACKAGE="$SCRATCH/rocm_perf_lab-0-py3-none-any.whl"
    rm image/bin/rocm-perf && image/bin/pip uninstall -q -y rocm_perf_lab
}
clone slow 1000
gitlab 1
says out '% slower than base ('
python3 - repository/rocm-perf-ci/codequality.json <<'END' || fail "code quality"
import json, sys
found = json.load(open(sys.argv[1]))
assert [(f["location"]["path"], f["location"]["lines"]["begin"], f["severity"]) for f in found] == [("sums.hip", 7, "major")], found
END
[ "$(json head.changed repository/rocm-perf-ci/ci.json)" = false ] || fail "the cache is taken for a change"
clone same 1000
gitlab 0

# Where the machine has a reader of YAML, both files are YAML.
python3 - "$SOURCE"/examples/ci/*.yml <<'END' || fail "no YAML"
import sys
try:
    import yaml
except ImportError:
    sys.exit(0)
for path in sys.argv[1:]:
    assert isinstance(yaml.safe_load(open(path)), dict), path
END
