#!/usr/bin/env bash
# usage: abi.sh LIBRARY
# What librocm-perf.so exports is exports.txt, each of it with its version; the header declares all of
# it, with enumerators that keep their numbers (numbers.txt), and docs/library.md names all of it.
# RP_GOLDEN_UPDATE=1 rewrites the lists: only additions are allowed there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../.." && pwd)
header=$source/include/rocm-perf/rocm-perf.h
seen=$(mktemp -d)
trap 'rm -rf "$seen"' EXIT
nm -D --defined-only "$1" | awk '$2 == "T" {print $3}' | LC_ALL=C sort >"$seen/exports.txt"
grep -oE '\bROCM_PERF_[A-Z0-9_]+ = [0-9]+' "$header" >"$seen/numbers.txt"
bad=0
for list in exports.txt numbers.txt; do
    [ -z "${RP_GOLDEN_UPDATE:-}" ] || cp "$seen/$list" "$here/$list"
    diff -u "$here/$list" "$seen/$list" || bad=1
done
while IFS=@ read -r name _; do
    grep -qE "\b$name\(" "$header" || { echo "$header does not declare $name"; bad=1; }
    grep -qF "\`$name\`" "$source/docs/library.md" || { echo "docs/library.md does not name $name"; bad=1; }
done <"$here/exports.txt"
while read -r name _; do
    grep -qE "\`$name\`" "$source/docs/library.md" || { echo "docs/library.md does not name $name"; bad=1; }
done <"$here/numbers.txt"
soname=$(readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = librocm-perf.so.0 ] || { echo "soname $soname"; bad=1; }
clang -x c++ -fsyntax-only -Wall -Werror "$header" || bad=1
exit $bad
