# Every command of README.md runs and succeeds, in the order they stand: every line of the ```sh blocks, and
# those of the ```console blocks print what stands below them; in a copy of the sources. ./check is what
# runs this test and is named here so that nothing else is passed over.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING
mkdir copy
(cd "$SOURCE" && git ls-files -co --exclude-standard | tar cf - -T -) | tar xf - -C copy
cd copy
# With the flags of the build that is tested, ccache has its objects already.
export RP_WERROR=ON CCACHE_BASEDIR=$PWD
git init -q . # ./check and ./demo ask git which files there are
awk '/^```(sh|console)$/ { on = substr($0, 4); next } /^```$/ { on = "" }
     on == "sh" { print "run " $0 }
     on == "console" && /^\$ / { print "show " substr($0, 3); next }
     on == "console" { print "out " $0 }' README.md >../commands
grep -q '^run ' ../commands && grep -q '^show ' ../commands || fail 'README.md has no commands'

# What the command that was shown last has printed has to be what stands below it; a GPU is not as fast each time.
compared() {
    [ -z "$shown" ] || { [ -s ../printed ] && ! grep -q 'SOFTWARE DEVICE' ../printed; } || diff -u ../expected ../printed || fail "README.md shows something else of: $shown"
    shown=
}
shown=
export LC_ALL=C.UTF-8 # as the README has it: µs, not us
while IFS= read -r line; do
    case $line in
        'out '* | out)
            printf '%s\n' "${line#out }" >>../expected
            continue
            ;;
    esac
    compared
    command=${line#* }
    [ "$command" = ./check ] && continue
    PATH="$PWD/build:$PATH" bash -c "$command" >../out 2>../err </dev/null || { cat ../out ../err; fail "README.md: $command"; }
    case $line in
        'show '*) shown=$command && cp ../out ../printed && : >../expected ;;
    esac
done <../commands
compared
