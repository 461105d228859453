# A build by ninja with rocm-perf hipcc compiles once: every header that its depfile names is where it says.
. "$(dirname "$0")/../lib.sh"
export ROCM_PATH=$ROCM_PERF_ROCM
cat >k.hip <<'EOF'
#include <hip/hip_runtime.h>
#include <vector>
__global__ void k(int *p) { *p = 1; }
int main() { return std::vector<int>(1).at(0); }
EOF
cat >build.ninja <<'EOF'
rule hip
  command = rocm-perf hipcc --cuda-host-only -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
build k.o: hip k.hip
EOF
expect 0 ninja
says out '[1/1]'
expect 0 ninja -d explain
says out 'no work to do'
touch k.hip
expect 0 ninja
says out '[1/1]'
