# The installed program works from any folder, without the build folder.
. "$(dirname "$0")/../lib.sh"
example vector_add
cmake --install "$BUILD" --prefix "$SCRATCH/inst" >install.log || { cat install.log; fail 'cmake --install'; }
PATH="$SCRATCH/inst/bin:/usr/bin:/bin"
[ "$(command -v rocm-perf)" = "$SCRATCH/inst/bin/rocm-perf" ] || fail PATH
mkdir elsewhere
cd elsewhere
expect 0 rocm-perf profile --device software --runs 1 ../vector_add
expect 0 rocm-perf-lab --version
[ -f "$SCRATCH/inst/share/man/man1/rocm-perf-profile.1" ] || fail 'man page'
