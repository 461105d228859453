# What goes wrong around ci is said as what it is: none of it is taken for a fault of the change, results of an earlier run are
# not taken for those of this one, and what was found is there, also where a history does not take it.
. "$(dirname "$0")/../lib.sh"
. "$SOURCE/tests/e2e/ci_repository.sh"
no_checks=', "checks": {"races": false, "uninit": false, "bounds": false}'
config "$no_checks"
save quick
git tag -f base >/dev/null

# --- a history that takes nothing ----------------------------------------------------------------------------
printf 'no history' >../other.db
change 's/float sum = 0;/float sum = 0.0f;/'
ci 4 --history ../other.db
says ../out 'all 5 gates hold'
says ../err 'rocm-perf: the results are there, but not in the history: history ../other.db: '
[ "$(json verdict ../result/ci.json)" = passed ] && [ ! -e ../result/history.html ] || fail 'results without a history'
! grep -q 'times over commits' ../out || fail 'a page that is not there'
# A gate that fails decides, and the history is only said.
change 's/sum += in/sum = in/'
ci 1 --history postgresql://me:s3cret@127.0.0.1:9/perf
says ../err 'but not in the history: history postgresql://me@127.0.0.1:9/perf: '
! grep -q s3cret ../err || fail 'the password'
git checkout -q base -- sums.hip

# What is wrong with its name is said before anything is built, and without the password.
for name in mysql://me:s3cret@h/perf postgresql://me:s3cret@x@h/perf :memory: /; do
    ci 2 --history "$name" --build "touch $SCRATCH/built; false"
    says ../err 'rocm-perf: --history: '
    ! grep -q s3cret ../err && [ ! -e ../built ] || fail "a history called $name: $(cat ../err)"
done

# A history within the tree is none of its files: nothing is changed by it.
git reset -q --hard base
for time in 1 2; do
    rocm-perf ci --base base --device software -o ../result --history .rocm-perf/history.db >../out 2>../err </dev/null || fail "a history within the tree: $(cat ../err)"
    [ "$(json head.changed ../result/ci.json)" = false ] || fail "the history is a change of run $time"
done
rocm-perf history list --db .rocm-perf/history.db >../out
[ "$(wc -l <../out)" = 2 ] && ! grep -q "$(git rev-parse --short=8 HEAD)+" ../out || fail "commits with changes: $(cat ../out)"
rm -r .rocm-perf

# --- what was compared ---------------------------------------------------------------------------------------
# refused STATUS TEXT OPTION...: it is, and says so, also to GitHub; nothing of an earlier run is left.
refused() {
    local wanted=$1 text=$2 got=0
    shift 2
    GITHUB_ACTIONS=true rocm-perf ci --base base --device software -o ../result "$@" >../out 2>../err </dev/null || got=$?
    [ "$got" = "$wanted" ] || { cat ../out ../err >&2; fail "exit status $got instead of $wanted: $*"; }
    says ../err "$text"
    grep -q '^::error title=rocm-perf ci::' ../out || fail "no annotation: $(cat ../out)"
    [ ! -e ../result/comment.md ] && [ ! -e ../result/ci.json ] || fail 'results of an earlier run are left'
}
cheap() { printf '{"version": 1, "build": "%s", "programs": [{"name": "%s", "command": ["false"]%s}]}\n' "$1" "$2" "$no_checks" >rocm-perf.json; }
cheap false a
save cheap
ci 1 --base HEAD
says ../out 'note: base and head have the same files, so that this run says nothing of a change'
says ../result/comment.md 'base and head have the same files'
cheap false 'b <img> @me'
ci 1 --base HEAD
says ../out 'note: rocm-perf.json is not that of base, so that programs and limits may be other ones; not tried any more: a'
! grep -q 'the same files' ../out || fail 'the same'
save config
cheap false a
ci 1 --base HEAD
says ../result/comment.md '* note: rocm-perf.json is not that of base, so that programs and limits may be other ones; not tried any more&#58; b &#60;img&#62; &#64;me'
python3 -c 'import json; assert json.load(open("../result/ci.json"))["notes"][0].endswith("b <img> @me")' || fail notes
ci 1 --base HEAD --config rocm-perf.json
! grep -q '^note' ../out || fail 'a configuration that was named is that of this run'

refused 2 'mian is no commit of this repository: give a branch, a tag or a hash' --base mian
refused 2 'of a branch that is called so give refs/heads/-x' --base=-x
git update-ref refs/heads/-x HEAD
ci 1 --base refs/heads/-x
git update-ref -d refs/heads/-x
git clone -q --depth 1 "file://$PWD" ../shallow
(cd ../shallow && refused 2 'HEAD^1 is no commit of this clone, which has not the whole history: fetch it (git fetch --unshallow' --base HEAD^1)
git init -q ../none
(cp rocm-perf.json ../none && cd ../none && refused 2 'this repository has no commit yet' --base HEAD)
mv rocm-perf.json rocm-perf.toml
refused 2 'rocm-perf.json is not there, and rocm-perf.toml is not read, as this file is JSON: write one'
mv rocm-perf.toml rocm-perf.json
echo '{' >rocm-perf.json
refused 2 'rocm-perf.json: line 2'
cheap false a

# Changes within a submodule are not in the head, which is said.
git clone -q . ../inner
git -c protocol.file.allow=always submodule --quiet add "$PWD/../inner" 'a b'
save submodule
ci 1 --base HEAD
! grep -q 'submodule' ../out || fail 'an unchanged submodule'
echo >>'a b/sums.hip'
ci 1 --base HEAD
says ../out 'note: 1 submodule has changes of its own, which are not in the head: commit them there'
git reset -q --hard HEAD~1 2>err
rm -rf 'a b'

# --- what prints or writes without an end --------------------------------------------------------------------
outputs() { printf '{"version": 1, "programs": [{"name": "a", "command": ["sh", "-c", "%s"], "outputs": ["big"]%s}]}\n' "$1" "$no_checks" >rocm-perf.json; }
outputs 'exec yes'
ci 1
says ../out 'a: it does not run as it should: it printed more than 256 MiB'
[ "$(stat -c %s ../result/programs/a/output-head.out)" -lt 2000000000 ] || fail 'it was not ended'
rm -r ../result
outputs 'rm -f big; truncate -s 300M big'
ci 1
says ../out 'a: it does not run as it should: a file of its outputs has more than 256 MiB'
outputs 'rm -f big; mkfifo big'
ci 1
says ../out 'a: it does not run as it should: one of its outputs is no file'
cheap 'exec yes' a
ci 1
says ../out 'build: the head does not build: it printed more than 256 MiB'

# --- two runs, one folder ------------------------------------------------------------------------------------
cheap false a
rocm-perf ci --base base --device software --build 'touch ../../runs; while [ ! -e ../../go ]; do sleep 0.1; done; false' -o ../both >../out2 2>../err2 </dev/null &
other=$!
until [ -e ../tmp/runs ]; do sleep 0.1; done
expect 2 rocm-perf ci --base base --device software -o ../both
says err '--output ../both: another run is writing there: name another folder'
rm out err
touch ../tmp/go
status=0
wait "$other" || status=$?
[ "$status" = 1 ] && [ -s ../both/comment.md ] || fail "the first run: $status, $(cat ../err2)"
rm ../tmp/go ../tmp/runs

# --- no room -------------------------------------------------------------------------------------------------
# A file system of 300 KiB in a name space of its own, where this machine lets us have one.
if unshare -rm true 2>/dev/null; then
    mkdir ../small
    for size in 100k 300k; do
        status=0
        config "$no_checks"
        unshare -rm sh -c 'mount -t tmpfs -o size='"$size"' tmpfs ../small && exec env TMPDIR="$PWD/../small" rocm-perf ci --base base --device software \
            --build "dd if=/dev/zero of=sums bs=1k count=250" -o ../result' >../out 2>../err </dev/null || status=$?
        [ "$status" = 4 ] && grep -q 'there is no room left at .*, so that what failed says nothing' ../err || fail "no room, $size: $status $(cat ../out ../err)"
    done
fi
