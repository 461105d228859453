// Names that a host's C++ runtime may not know: half and bfloat16 types, a lambda.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

template <class T> __global__ void scale(T *p) { p[threadIdx.x] = (T)1.0f; }
template <class F> __global__ void apply(F f, int *p) { f(p); }

int main()
{
    void *d;

    if (hipMalloc(&d, 1024) != hipSuccess)
        return 1;
    scale<_Float16><<<1, 64>>>((_Float16 *)d);
    scale<__hip_bfloat16><<<1, 64>>>((__hip_bfloat16 *)d);
    scale<__bf16><<<1, 64>>>((__bf16 *)d);
    apply<<<1, 64>>>([] __device__(int *p) { p[threadIdx.x] = 3; }, (int *)d);
    return hipDeviceSynchronize() != hipSuccess;
}
