// What the programs of bench/published share. Each repeats a published measurement with kernels of
// its own, and prints nothing: bench/accuracy takes the times of its launches from the trace.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define OK(call)                                                                                   \
    do {                                                                                           \
        const hipError_t error_ = (call);                                                          \
        if (error_ != hipSuccess) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error_));                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void usage(const char *text)
{
    fprintf(stderr, "usage: %s\n", text);
    exit(2);
}

template <class T> static T *device(size_t count)
{
    T *memory;
    OK(hipMalloc(&memory, count * sizeof(T)));
    return memory;
}

static inline int compute_units()
{
    hipDeviceProp_t properties;
    OK(hipGetDeviceProperties(&properties, 0));
    return properties.multiProcessorCount;
}

static inline void finish()
{
    OK(hipGetLastError());
    OK(hipDeviceSynchronize());
}
