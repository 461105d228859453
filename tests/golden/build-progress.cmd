# What ./demo says while it builds; no time need pass for it here.
. "$SOURCE/tools/common.sh"
printf '[1/3] Building a\na.c: warning\n[2/3] Building b\n' | build_progress 0
printf '[1/3] Building a\n' | build_progress 1000
# The time left is told once it can be; how long it is depends on the machine.
{
    echo '-- configuring'
    echo '[1/200] Building a'
    sleep 4
    echo 'a.c:1: warning: [50/2] is in the midst of a line'
    echo '[50/200] Building b'
} | build_progress 3 2>&1 >/dev/null | sed -E 's/about [0-9]+ s/about N s/' >&2
