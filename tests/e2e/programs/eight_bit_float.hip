// One conversion from an 8-bit float: another format on gfx950 than on gfx942.
#include <hip/hip_runtime.h>

__global__ void widen(float *out, int bits)
{
    out[threadIdx.x] = __builtin_amdgcn_cvt_f32_fp8(bits + (int)threadIdx.x, 0);
}

int main()
{
    float *out;
    if (hipMalloc(&out, 64 * sizeof *out) != hipSuccess)
        return 1;
    widen<<<1, 64>>>(out, 3);
    return hipDeviceSynchronize() != hipSuccess || hipFree(out) != hipSuccess;
}
