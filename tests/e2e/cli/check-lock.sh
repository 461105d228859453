# Two ./check in one folder: the second one is refused, for as long as the first one runs and no longer.
. "$(dirname "$0")/../lib.sh"
mkdir tree tree/tools tree/tests
cp "$SOURCE/check" tree/
cp "$SOURCE/tools/common.sh" tree/tools/
cp "$SOURCE/tests/tiers.sh" tree/tests/
# In the place of ./setup: it says that it has begun, waits for an answer, and so ends ./check.
mkfifo begun
cat >tree/setup <<'END'
#!/bin/sh
mkfifo "$SCRATCH/answer.$$" # its own: one that is about to die may still be at it
echo $$ >"$SCRATCH/begun"
read -r _ <"$SCRATCH/answer.$$"
exit 1
END
chmod +x tree/setup
export SCRATCH

begin() {
    tree/check --quick >begin.out 2>&1 7>&- &
    check=$!
    setup=$(timeout 20 cat begun) || fail "$1: $(cat begin.out)"
}
end() {
    local status=0
    echo >"answer.$setup"
    wait $check || status=$?
    [ $status = 1 ] || fail "it ends with $status: $(cat begin.out)"
}

begin 'the first one'
expect 2 tree/check --quick
says err "another ./check (process $check) runs in this folder"
end
# What has the number of one that has ended is another process, though "check" is among its words.
(exec -a check sleep 60 >/dev/null 2>&1 7>&-) &
other=$!
echo $other | tee tree/build/check.pid >tree/build/check.lock
begin 'it takes another process for ./check'
kill $other
end
# What one has started may outlive it.
begin 'after one that has ended'
kill -KILL $check
wait $check 2>/dev/null || true
kill -0 "$setup" || fail 'nothing has outlived it'
outlived=$setup
begin 'it waits for what an earlier one has left'
kill "$outlived"
end
