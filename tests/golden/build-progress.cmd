# What ./demo says while it builds; no time need pass for it here.
. "$SOURCE/tools/common.sh"
printf '[1/3] Building a\na.c: warning\n[2/3] Building b\n' | build_progress 0
printf '[1/3] Building a\n' | build_progress 1000
