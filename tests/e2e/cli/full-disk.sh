# A disk that fills up during a profile: one message, exit status 4, nothing half-written.
. "$(dirname "$0")/../lib.sh"
example vector_add
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=200k none small 2>/dev/null; then
    trap 'umount "$SCRATCH/small"; rm -rf "$SCRATCH"' EXIT
    expect 4 rocm-perf profile --device software --runs 1 -o small/result ./vector_add
    grep -Eq 'No space left|disk (is )?full|full' err || { cat err; fail 'the message does not say that the disk is full'; }
    [ ! -e small/result/profile.json ] || fail 'profile.json exists'
    [ "$(grep -c '^rocm-perf: ' err)" = 1 ] || { cat err; fail 'more than one message'; }
else
    # Without the right to mount: a limit on the size of files, which write() reports as EFBIG.
    status=0
    (ulimit -f 64; trap '' XFSZ; rocm-perf profile --device software --runs 1 -o result ./vector_add) >out 2>err || status=$?
    [ $status = 4 ] || [ $status = 5 ] || { cat err; fail "exit status $status"; }
    [ ! -e result/profile.json ] || fail 'profile.json exists'
fi

# A device that cannot be says which limit it is.
status=0
rocm-perf run --device software /bin/sh -c 'ulimit -v 4000000; exec ./vector_add' >out 2>err || status=$?
[ $status != 0 ] || fail 'the device fits into 4 GB of addresses?'
says err 'ulimit -v unlimited'
