// What the programs of this folder have in common: memory of the GPU, and results that are wrong.
#ifndef PRIMITIVES_DEVICE_H
#define PRIMITIVES_DEVICE_H

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

inline void want(bool right, const char *what, size_t count)
{
    if (right)
        return;
    std::printf("WRONG %s of %zu\n", what, count);
    std::exit(1);
}

inline void ok(hipError_t status)
{
    want(status == hipSuccess, hipGetErrorString(status), 0);
}

template <typename T> struct OnDevice {
    T *data = nullptr;
    explicit OnDevice(size_t n)
    {
        ok(hipMalloc(&data, (n ? n : 1) * sizeof(T)));
    }
    explicit OnDevice(const std::vector<T> &host) : OnDevice(host.size())
    {
        ok(hipMemcpy(data, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
    }
    ~OnDevice()
    {
        (void)hipFree(data);
    }
    OnDevice(const OnDevice &) = delete;
    std::vector<T> host(size_t n) const
    {
        std::vector<T> copy(n);
        if (n)
            ok(hipMemcpy(copy.data(), data, n * sizeof(T), hipMemcpyDeviceToHost));
        return copy;
    }
};

#endif
