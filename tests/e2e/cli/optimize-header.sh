# A kernel template in a header, which two files include, each by another name: the header is changed for
# both, and the user's is not touched.
. "$(dirname "$0")/../lib.sh"
mkdir -p src inc/deep
echo '#define SCALE 2.0f' >inc/deep/scale.h
cat >inc/columns.hpp <<'END_SOURCE'
#pragma once
#include "deep/scale.h"
template <int WIDTH> __global__ void column_sums(const float *a, float *out, int n)
{
    float sum = 0;
    int t = threadIdx.x;
    for (int i = 0; i < n; i++)
        sum += a[i * WIDTH + t] * SCALE;
    out[t] = sum;
}
void other(const float *a, float *out);
END_SOURCE
cat >src/other.hip <<'END_SOURCE'
#include <hip/hip_runtime.h>
#include "../inc/columns.hpp"
void other(const float *a, float *out)
{
    column_sums<32><<<1, 32>>>(a, out, 10);
}
END_SOURCE
cat >src/main.hip <<'END_SOURCE'
#include <hip/hip_runtime.h>
#include <cstdio>
#include "columns.hpp"
int main()
{
    static float in[6400];
    float *a, *out, sums[64];
    for (int i = 0; i < 6400; i++)
        in[i] = i % 7;
    if (hipMalloc(&a, sizeof in) || hipMalloc(&out, sizeof sums) ||
        hipMemcpy(a, in, sizeof in, hipMemcpyHostToDevice))
        return 1;
    column_sums<64><<<1, 64>>>(a, out, 100);
    other(a, out);
    if (hipMemcpy(sums, out, sizeof sums, hipMemcpyDeviceToHost))
        return 1;
    printf("%g %g\n", sums[3], sums[63]);
}
END_SOURCE
build='hipcc -O2 -I inc src/main.hip src/other.hip -o app'
rocm-perf $build 2>/dev/null

# What is missing is said.
expect 2 rocm-perf prompt --source inc/columns.hpp
says err "say with --unit which file that is compiled includes it"
expect 2 rocm-perf prompt --source inc/columns.hpp --build "$build"
says err "say with --unit which of its files includes it"
expect 2 rocm-perf prompt --source inc/columns.hpp --unit src/absent.hip
says err "--unit src/absent.hip: No such file or directory"
expect 2 rocm-perf optimize ./app --source inc/columns.hpp --unit src/main.hip --build './b {source} {output}' --device software
says err "cannot be given to a script"
expect 3 rocm-perf prompt --source src/main.hip --build "$build"
says err "inc/columns.hpp): give that with --source, and with --unit"
# One file is named: it is that.
expect 0 rocm-perf prompt --source inc/columns.hpp --build 'hipcc -O2 -I inc src/other.hip -o app'
says out "template <int WIDTH> __global__ void column_sums"

find src inc -type f | sort | xargs sha256sum >before
expect 0 rocm-perf optimize ./app --source inc/columns.hpp --unit src/main.hip --build "$build" \
    --kernel 'column_sums<64>' --device software --timing detailed --max-iters 1 --max-rounds 1
says out "1 accepted"
sha256sum --quiet -c before || fail "the user's files were changed"
grep -q '#pragma unroll' inc/columns_opt.hpp || fail "no result beside the header"
(cd inc && patch -s columns.hpp columns_opt.patch && cmp columns.hpp columns_opt.hpp) || fail "the patch"
