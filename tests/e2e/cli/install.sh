# What is installed works from any folder, without the build folder, also when it is moved: the
# program, its library, and the examples of the library. So does what is in the Debian package.
. "$(dirname "$0")/../lib.sh"
example vector_add
DESTDIR="$SCRATCH/root" cmake --install "$BUILD" --prefix /opt/suite >install.log || { cat install.log; fail 'cmake --install'; }
[ ! -e /opt/suite ] || fail 'DESTDIR was not heeded'
mv root/opt/suite moved
inst="$SCRATCH/moved"
PATH="$inst/bin:/usr/bin:/bin"
[ "$(command -v rocm-perf)" = "$inst/bin/rocm-perf" ] || fail PATH
mkdir elsewhere
cd elsewhere
expect 0 rocm-perf profile --device software --runs 1 ../vector_add
expect 0 rocm-perf-lab --version
version=$(cut -d' ' -f2 out)
[ -f "$inst/share/man/man1/rocm-perf-profile.1" ] || fail 'man page'
[ -f "$inst/share/rocm-perf-lab/schemas/dag.schema.json" ] || fail schema
[ -f "$inst/share/rocm-perf-lab/skills/rocm-perf-lab/references/cli.md" ] || fail 'agent skill'
# Who has no ROCm is told what makes one (tests/e2e/setup).
expect 4 env -u ROCM_PATH ROCM_PERF_CACHE="$PWD/none" rocm-perf doctor
says out '; run rocm-perf setup'
[ "$(echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | rocm-perf mcp)" = '{"jsonrpc":"2.0","id":1,"result":{}}' ] || fail mcp
bash -c '. "$1" && complete -p rocm-perf-lab' bash "$inst/share/bash-completion/completions/rocm-perf-lab" >completion ||
    fail completion

# Only the public header is there; pkg-config finds what it needs beside itself.
[ "$(ls "$inst/include/rocm-perf")" = rocm-perf.h ] || fail 'headers'
export PKG_CONFIG_PATH="$inst/lib/pkgconfig"
[ "$(pkg-config --modversion rocm-perf)" = "$version" ] || fail 'version of rocm-perf.pc'
eval "cc -Wall -Wextra -Werror -std=c11 '$inst/share/doc/rocm-perf-lab/examples/kernels.c' $(pkg-config --cflags --libs rocm-perf) -o kernels"
export LD_LIBRARY_PATH="$inst/lib"
expect 0 ./kernels .rocpd_profile
grep -qE '^vector_add\(.*\): [a-z_]+, [0-9.]+ ms, occupancy 1\.00$' out || { cat out; fail 'kernels.c'; }
mv out of_c
expect 0 python3 "$inst/share/doc/rocm-perf-lab/examples/kernels.py" .rocpd_profile
cmp of_c out || fail 'kernels.py says something else'
expect 3 ./kernels /nonexistent.db
says err 'kernels: '
expect 3 python3 "$inst/share/doc/rocm-perf-lab/examples/kernels.py" /nonexistent.db

# The package, unpacked: what it holds is what was installed, and all that it needs is named.
(cd "$BUILD" && cpack -B "$SCRATCH/package") >package.log 2>&1 || { cat package.log; fail cpack; }
deb=$(echo "$SCRATCH"/package/*.deb)
dpkg-deb -x "$deb" unpacked
dpkg-deb -e "$deb" control
# Compressed there, and three files that only Debian wants.
(cd unpacked/usr && find . | sed -E 's/\.1\.gz$/.1/; /\/changelog\.gz$/d; /^\.\/share\/lintian/d' | sort) >packed
(cd "$inst" && find . | sort) >installed
diff installed packed || fail 'the package holds something else'
sed -n 's/^Depends: //p' control/control | tr ',' '\n' | sed 's/^ *//; s/ .*//' | sort -u >depends
for package in libc6 libjansson4 libsqlite3-0 libxxhash0 libzstd1 zlib1g; do
    grep -qE "^$package(t64)?\$" depends || { cat control/control; fail "the package does not depend on $package"; }
done
says control/triggers 'activate-noawait ldconfig'
zcat unpacked/usr/share/man/man1/rocm-perf-lab.1.gz | grep -qx '.Dt ROCM-PERF 1' ||
    fail 'man pages of the package'
zcat unpacked/usr/share/doc/rocm-perf-lab/changelog.gz | grep -q "^rocm-perf-lab ($version) " || fail changelog
says control/shlibs 'librocm-perf 0 rocm-perf-lab (>= '
PATH="$PWD/unpacked/usr/bin:/usr/bin:/bin"
export LD_LIBRARY_PATH="$PWD/unpacked/usr/lib"
expect 0 rocm-perf profile --device software --runs 1 -o packed.profile ../vector_add
expect 0 ./kernels packed.profile
