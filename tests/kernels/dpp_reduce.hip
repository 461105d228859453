// Cross-lane moves of every kind, and atomics on one address.
#include <hip/hip_runtime.h>

__device__ int dppadd(int v)
{
    v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, true);
    v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, true);
    v += __builtin_amdgcn_update_dpp(0, v, 0x114, 0xf, 0xe, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x118, 0xf, 0xc, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x142, 0xa, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x143, 0xc, 0xf, false);
    return v;
}
__global__ void dpp_scan(const int *x, int *o)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    o[i] = dppadd(x[i]);
}
__global__ void dpp_all(const int *x, int *o)
{
    int i = threadIdx.x;
    int v = x[i];
    int r = 0;
    r ^= __builtin_amdgcn_mov_dpp(v, 0x1b, 0xf, 0xf, true);
    r += __builtin_amdgcn_mov_dpp(v, 0xb1, 0xf, 0xf, true);
    r ^= __builtin_amdgcn_mov_dpp(v, 0x140, 0xf, 0xf, true);
    r += __builtin_amdgcn_mov_dpp(v, 0x141, 0xf, 0xf, true);
    r ^= __builtin_amdgcn_mov_dpp(v, 0x121, 0xf, 0xf, true);
    r += __builtin_amdgcn_mov_dpp(v, 0x130, 0xf, 0xf, true);
    r ^= __builtin_amdgcn_mov_dpp(v, 0x138, 0xf, 0xf, true);
    r += __builtin_amdgcn_mov_dpp(v, 0x134, 0xf, 0xf, true);
    r ^= __builtin_amdgcn_mov_dpp(v, 0x13c, 0xf, 0xf, true);
    r += __builtin_amdgcn_update_dpp(r, v, 0x150, 0xf, 0xf, false);
    r ^= __builtin_amdgcn_ds_swizzle(v, 0x401f);
    r += __builtin_amdgcn_ds_swizzle(v, 0x8055);
    r ^= __builtin_amdgcn_ds_permute(i * 4 ^ 16, v);
    r += __builtin_amdgcn_readlane(v, 7);
    r ^= __builtin_amdgcn_readfirstlane(v);
    {
#ifdef __OPTIMIZE__
        int sv = __builtin_amdgcn_readfirstlane(v);
        asm volatile("v_writelane_b32 %0, %1, 3" : "+v"(r) : "s"(sv));
#else // there the compiler gives a vector register for the "s" operand, which does not assemble
        int sv;
        asm volatile("v_readfirstlane_b32 %1, %2\n"
                     "v_writelane_b32 %0, %1, 3"
                     : "+v"(r), "=&s"(sv)
                     : "v"(v));
#endif
    }
    o[i] = r;
}
__global__ void atomic_red(float *o, const float *x)
{
    atomicAdd(o, x[blockIdx.x * 256 + threadIdx.x]);
}
__global__ void atomic_red_i(int *o, const int *x)
{
    atomicAdd(o, x[blockIdx.x * 256 + threadIdx.x]);
}
