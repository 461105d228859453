// A workgroup on each compute unit sums products of two buffers of KIB together, all the same ones, PASSES times, the same
// again, and then twice as often: gpu-cache. The difference of the last two launches is PASSES passes over what caches hold.
#include "common.h"

enum { SIZE = 512, MOST = 16 };

// Loads of a small buffer are unrolled over passes, those of a large one within a pass, so that MOST are under way.
template <int LOADS> __global__ void small(float4 *out, const float4 *from, int passes, int stay)
{
    float4 sum = {0, 0, 0, 0};
    from += threadIdx.x;
#pragma unroll MOST / LOADS
    for (int pass = 0; pass < passes; pass++) {
        from += stay;
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            sum += from[k * SIZE] * from[(k + LOADS) * SIZE];
    }
    if (sum.x == 1.25f)
        out[threadIdx.x] = sum;
}

__global__ void large(float4 *out, const float4 *from, int passes, int stay, int loads)
{
    float4 sum = {0, 0, 0, 0};
    from += threadIdx.x;
    for (int pass = 0; pass < passes; pass++) {
        from += stay;
        const float4 *other = from + (size_t)loads * SIZE;
#pragma unroll MOST
        for (int k = 0; k < loads; k++)
            sum += from[k * SIZE] * other[k * SIZE];
    }
    if (sum.x == 1.25f)
        out[threadIdx.x] = sum;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("cache KIB PASSES");
    const int loads = atoi(argv[1]) * 1024 / 2 / 16 / SIZE, passes = atoi(argv[2]), units = compute_units();
    float4 *out = device<float4>(SIZE), *from = device<float4>((size_t)loads * SIZE * 2);
    OK(hipMemset(from, 0, (size_t)loads * SIZE * 32));
    for (int times : {passes, passes, 2 * passes}) {
        if (loads == 1)
            small<1><<<units, SIZE>>>(out, from, times, 0);
        else if (loads == 2)
            small<2><<<units, SIZE>>>(out, from, times, 0);
        else if (loads == 4)
            small<4><<<units, SIZE>>>(out, from, times, 0);
        else if (loads == 8)
            small<8><<<units, SIZE>>>(out, from, times, 0);
        else
            large<<<units, SIZE>>>(out, from, times, 0, loads);
        finish();
    }
}
