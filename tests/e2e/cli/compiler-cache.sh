# What is kept of the compiler's results is given for the same only, and then to the byte.
. "$(dirname "$0")/../lib.sh"
export ROCM_PATH=$ROCM_PERF_ROCM ROCM_PERF_CACHE=$SCRATCH/cache
unset ROCM_PERF_COMPILER_CACHE
entries() { find cache/compiler -type f ! -name '*.twice' 2>/dev/null | wc -l; }
device() { rocm-perf hipcc --genco --no-gpu-bundle-output -nogpulib -O1 "$@"; }

# kept WHAT COMMAND...: it is run, and one more result is there; run again it is taken from there: the same file has
# been used anew, and all that it gives is the same. Without a cache that is the same, too.
kept() {
    local what=$1 before=$(entries) files way
    shift
    for way in made taken uncached; do
        if [ $way = taken ]; then
            [ "$(entries)" = $((before + 1)) ] || fail "$what: not kept"
            find cache/compiler -type f -exec touch -d @1 {} +
            files=$(find cache/compiler -type f -printf '%i\n' | sort)
        fi
        rm -f out.co
        [ $way != uncached ] || export ROCM_PERF_COMPILER_CACHE=off
        "$@" >$way.out 2>$way.err || fail "$what, $way: $(cat $way.err)"
        unset ROCM_PERF_COMPILER_CACHE
        [ ! -e out.co ] || cp -p out.co $way.co
        if [ $way = taken ]; then
            [ "$(find cache/compiler -type f -newermt @2 | wc -l)" = 1 ] || fail "$what: not taken"
            [ "$(find cache/compiler -type f -printf '%i\n' | sort)" = "$files" ] || fail "$what: made again"
        fi
        [ $way != uncached ] || sed -Ei 's/0x[0-9a-f]+/ADDRESS/g' made.out uncached.out # each process has others
        [ $way = made ] || { cmp made.out $way.out && cmp made.err $way.err; } || fail "$what: $way says otherwise"
        [ ! -e made.co ] || { cmp made.co $way.co && [ "$(stat -c %a made.co)" = "$(stat -c %a $way.co)" ]; } ||
            fail "$what: $way differs"
    done
    rm -f made.* taken.* uncached.*
}

# passed WHAT COMMAND...: it works, and nothing is kept of it.
passed() {
    local what=$1 before=$(entries)
    shift
    "$@" >out 2>err || { cat err >&2; fail "$what"; }
    [ "$(entries)" = "$before" ] || fail "$what: kept"
}

cat >k.hip <<'END'
#include "h.h"
__attribute__((global)) void k(int *p) { int unused; *p = VALUE; }
END
mkdir early late
echo '#define VALUE 1 // one' >late/h.h
kept 'code object with a warning' device -Wall -I early -I late k.hip -o out.co
device -Wall -I early -I late k.hip -o out.co 2>err
says err 'unused variable'
echo '#define VALUE 2 // two' >late/h.h
kept 'changed header' device -Wall -I early -I late k.hip -o out.co
echo '#define VALUE 2 // 2' >late/h.h
kept 'changed comment: a message may show it' device -Wall -I early -I late k.hip -o out.co
echo '#define VALUE 3' >early/h.h
kept 'header that is found earlier' device -I early -I late k.hip -o out.co
rm early/h.h
kept 'option' device -I late -DX k.hip -o out.co
kept 'other place' device -I late k.hip -o ./out.co
kept 'variable' env CPATH="$SCRATCH/late" "$BUILD/rocm-perf" hipcc --genco --no-gpu-bundle-output -nogpulib k.hip -o out.co
kept 'standard output' device -I late k.hip -S -emit-llvm -o -
kept 'syntax tree' device -I late k.hip -fsyntax-only -Xclang -ast-dump=json -Xclang -ast-dump-filter=k
cp -r late near
kept 'folder' bash -c 'cd near; exec rocm-perf hipcc --genco --no-gpu-bundle-output -nogpulib -I . ../k.hip -o ../out.co'

# The same from another folder, where nothing of it is in the result.
mkdir -p one/h two/h
for folder in one two; do
    cp k.hip $folder
    cp late/h.h $folder/h
done
before=$(entries)
for folder in one two; do (cd $folder; device -cuid=k -I h k.hip -o "$SCRATCH/$folder.co"); done
[ "$(entries)" = $((before + 1)) ] && cmp one.co two.co || fail "clones do not share"

# A program, from an object as well; another object is another program.
echo 'int value() { return 1; }' >value.c
cat >main.hip <<'END'
extern "C" int value();
int main() { return value(); }
END
for value in 1 2; do
    echo "int value() { return $value; }" >value.c
    gcc -c value.c -o value.o
    rocm-perf hipcc main.hip value.o -o program
    got=0; ./program || got=$?
    [ $got = $value ] || fail "program with value $value ends with $got"
done
kept 'program' rocm-perf hipcc main.hip value.o -DY -o out.co

# Mistakes are said each time, and are nobody's result.
before=$(entries)
echo 'no' >wrong.hip
for i in 1 2; do
    expect 1 device wrong.hip -o out.co
    says err "wrong.hip:1:1: error"
done
[ "$(entries)" = "$before" ] || fail "a mistake is kept"

printf '#include "h.h"\nint value = VALUE;\n' >v.hip
passed 'list of what is included' rocm-perf hipcc --cuda-host-only -c -I late -MD -MF k.d v.hip -o out.o
says k.d late/h.h
passed 'temporary files' device -I late -save-temps=obj k.hip -o out.co
echo "-I late k.hip -o out.co" >words
passed 'words of a file' device @words
passed 'standard input' device -xhip - -I late -o out.co <k.hip
passed 'preprocessed' device -I late -E k.hip -o out.ii
passed 'version' rocm-perf hipcc --version
echo data >data
echo '__asm__(".section .d,\"a\"\n.incbin \"data\"\n"); int main() { return 0; }' >incbin.hip
passed 'file that the assembler reads' rocm-perf hipcc incbin.hip -o out.co
echo '.set V, 3' >v.s
for directive in '.include' '.inc" "lude' '.in"
  "c" "lude'; do
    echo "int main() { __asm__(\"$directive \\\"v.s\\\"\n mov \$V, %eax\"); }" >include.hip
    passed "source that the assembler reads: $directive" rocm-perf hipcc include.hip -o out.co
done
printf '%s\n' '__asm__(".section .d,\"a\"\n.INCBIN \"data\"\n.text\n"); int main() { return 0; }' >upper.hip
passed 'file that the assembler reads by a directive in capitals' rocm-perf hipcc upper.hip -o out.co
printf '%s\n' 'int main() { __asm__(".inc"' '# 1 "/usr/x.h" 3' '"lude \"v.s\"\n mov $V, %eax"); }' >marker.hip
passed 'line marker within it' rocm-perf hipcc marker.hip -o out.co
printf '%s\n' '__asm__(".macro m x\n .in\\x \"data\"\n.endm\n.section .d,\"a\"\n m cbin\n.text\n"); int main() { return 0; }' >macro.hip
passed 'file that a macro of the assembler reads' rocm-perf hipcc macro.hip -o out.co
echo 'struct C { int n; __attribute__((device)) void increment() { n++; } };
__attribute__((global)) void k(int *p) { C c{*p}; c.increment(); *p = c.n; }' >member.hip
kept 'member whose name is like a directive' device member.hip -o out.co
passed 'command line in the result' device -frecord-command-line -I late k.hip -o out.co

# A library of LIBRARY_PATH is another one, and so is the program.
mkdir lib
for value in 1 2; do
    echo "int value() { return $value; }" >value.c
    gcc -c value.c -o value.o && rm -f lib/libvalue.a && ar rc lib/libvalue.a value.o
    LIBRARY_PATH=/nowhere:$PWD/lib rocm-perf hipcc main.hip -lvalue -o program
    got=0; ./program || got=$?
    [ $got = $value ] || fail "program with library $value ends with $got"
done

# Where its folder is an empty one of LIBRARY_PATH, the current one, something is kept, too.
cp lib/libvalue.a .
for path in . : :/nowhere /nowhere: /nowhere::/nothing; do
    export LIBRARY_PATH=$path
    kept "library of '$path'" rocm-perf hipcc main.hip -lvalue -o out.co
    ./out.co && fail "library of '$path': not linked" || [ $? = 2 ] || fail "library of '$path': another one"
done
unset LIBRARY_PATH
rm libvalue.a

# What others write into the same file is theirs.
device -I late -DSHARED -Wall k.hip -o out.co >log 2>&1 &
compiler=$!
while kill -0 $compiler 2>/dev/null; do echo 'of another job'; sleep 0.02; done >>log
wait $compiler
device -I late -DSHARED -Wall k.hip -o out.co >log 2>&1
! grep -q 'of another job' log || fail 'it says what another job said'
grep -q 'unused variable' log || fail 'it does not say what it said'

# Messages that are more than a pipe takes at once, into one that does not wait.
python3 - <<'END' >many.hip
print("__attribute__((global)) void k(int *p) {" + "".join(f" int a_variable_that_is_not_used_{i};\n" for i in range(1200)) + "}")
END
cat >slow.py <<'END'
import fcntl, os, subprocess, sys, time
out, into = os.pipe()
fcntl.fcntl(into, fcntl.F_SETFL, fcntl.fcntl(into, fcntl.F_GETFL) | os.O_NONBLOCK)
process = subprocess.Popen(sys.argv[1:], stderr=into)
os.close(into)
time.sleep(0.1)
said = open(out, "rb").read()
print(process.wait(), len(said), said.count(b"unused variable"))
END
for how in made taken; do
    python3 slow.py rocm-perf hipcc --genco --no-gpu-bundle-output -nogpulib -Wall -ferror-limit=0 many.hip -o out.co >$how.txt
    [ "$(cut -d' ' -f1,3 $how.txt)" = '0 1200' ] || fail "messages, $how: $(cat $how.txt)"
done
cmp made.txt taken.txt || fail 'other messages the second time'

# A signal ends it as it would end the compiler, so that a script ends, too.
cat >script.py <<'END'
import os, signal, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
while not any("clang" in open(f"/proc/{pid}/comm").read() and os.getsid(int(pid)) == process.pid
              for pid in os.listdir("/proc") if pid.isdigit() and os.path.exists(f"/proc/{pid}/comm")):
    time.sleep(0.01)
os.killpg(process.pid, signal.SIGINT)
print(process.wait())
END
echo '#include <hip/hip_runtime.h>' | cat - k.hip >long.hip
[ "$(python3 script.py rocm-perf hipcc -O3 -I late long.hip -c -o out.o)" = -2 ] || fail 'it does not die of the signal'
expect 2 env ROCM_PERF_COMPILER_CACHE=1G rocm-perf hipcc --version
says err 'ROCM_PERF_COMPILER_CACHE=1G: use a number of MiB, or off'

# The folder may be anything at any time.
rm -rf cache
kept 'after it was removed' device -I late k.hip -o out.co
device -I late k.hip -o out.co
cp out.co good.co
for entry in $(find cache/compiler -type f); do
    for damage in 'truncate -s 20' 'truncate -s 0' 'truncate -s -1' "sed -i s/ELF/FLE/"; do
        $damage "$entry"
        device -I late k.hip -o out.co && cmp out.co good.co || fail "$damage"
    done
done
rm -rf cache/compiler
device -I late k.hip -o a.co & device -I late k.hip -o b.co & device -I late k.hip -o a.co &
wait
rm -rf cache/compiler & device -I late -DZ k.hip -o c.co
wait
[ -s a.co ] && [ -s b.co ] && [ -s c.co ] || fail "two at once"
chmod 777 cache/compiler 2>/dev/null || mkdir -m 777 -p cache/compiler
passed 'folder that others can write' device -I late -DW k.hip -o out.co
rm -rf cache/compiler
echo file >cache/compiler
device -I late k.hip -o good.co || fail "a file in its place"
rm cache/compiler

# Not more than it may be.
export ROCM_PERF_COMPILER_CACHE=1
for i in 1 2 3 4 5; do
    echo "__attribute__((used, device)) const char big[400000] = {$i, 1};" >big.hip
    device big.hip -o big.co
done
[ "$(entries)" -ge 1 ] || fail 'nothing is kept'
[ "$(du -sk cache/compiler | cut -f1)" -le 1100 ] || fail "$(du -sk cache/compiler)"
unset ROCM_PERF_COMPILER_CACHE

# Another compiler, or other libraries of it: a folder of links, of which one file becomes another.
cp -rs "$ROCM_PERF_ROCM" rocm
cp --remove-destination "$ROCM_PERF_ROCM/.rocm-perf-prefix" rocm/
sed -i "s|^path .*|path $SCRATCH/rocm|" rocm/.rocm-perf-prefix
export ROCM_PATH=$SCRATCH/rocm
kept 'other ROCm' device -I late k.hip -o out.co
library=$(find rocm/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode -name 'ockl.bc')
cp --remove-destination "$(readlink -f "$library")" "$library.new"
mv "$library.new" "$library"
kept 'other device library' device -I late k.hip -o out.co
