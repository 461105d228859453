#pragma once
#include <cstdio>
#include <cstdlib>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <vector>
#define OK(x)                                                                                      \
    do {                                                                                           \
        if ((x) != hipSuccess) {                                                                   \
            printf("failed: %s\n", #x);                                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
template <typename T> T *up(const std::vector<T> &v)
{
    T *p;
    OK(hipMalloc(&p, v.size() * sizeof(T) + 64));
    OK(hipMemcpy(p, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
    return p;
}
template <typename T> void sum(const char *name, const T *d, size_t n)
{
    std::vector<T> v(n);
    OK(hipMemcpy(v.data(), d, n * sizeof(T), hipMemcpyDeviceToHost));
    unsigned long h = 1469598103934665603ul;
    const unsigned char *b = (const unsigned char *)v.data();
    for (size_t i = 0; i < n * sizeof(T); i++)
        h = (h ^ b[i]) * 1099511628211ul;
    printf("%s %016lx\n", name, h);
}
/* bf16 */
__device__ inline float wide(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}
__device__ inline unsigned short narrow(float value)
{
    unsigned bits = __float_as_uint(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
