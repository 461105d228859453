# Every command of README.md runs and succeeds, in the order they stand: every line of the ```sh blocks,
# in a copy of the sources. ./check is what runs this test and is named here so that nothing else is
# passed over.
. "$(dirname "$0")/../lib.sh"
mkdir copy
(cd "$SOURCE" && git ls-files -co --exclude-standard | tar cf - -T -) | tar xf - -C copy
cd copy
# With the flags of the build that is tested, ccache has its objects already.
export RP_WERROR=ON CCACHE_BASEDIR=$PWD
git init -q . # ./check and ./demo ask git which files there are
awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' README.md >../commands
[ -s ../commands ] || fail 'README.md has no commands'
while IFS= read -r line; do
    [ "$line" = ./check ] && continue
    PATH="$PWD/build:$PATH" bash -c "$line" >../out 2>../err </dev/null || { cat ../out ../err; fail "README.md: $line"; }
done <../commands
