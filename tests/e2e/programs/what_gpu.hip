// Prints what HIP says of each GPU, and fails unless a kernel runs there and the clock moves.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void ask(long long *out)
{
    long long begin = wall_clock64();
    out[1] = clock64();
    out[2] = warpSize;
    while (wall_clock64() == begin)
        ;
    out[0] = wall_clock64() - begin;
}

int main()
{
    int count = 0, wall_khz = 0;
    if (hipGetDeviceCount(&count) != hipSuccess)
        return 1;
    for (int device = 0; device < count; device++) {
        hipDeviceProp_t p;
        long long *out, result[3] = {};
        if (hipSetDevice(device) != hipSuccess ||
            hipGetDeviceProperties(&p, device) != hipSuccess ||
            hipDeviceGetAttribute(&wall_khz, hipDeviceAttributeWallClockRate, device) !=
                hipSuccess ||
            hipMalloc(&out, sizeof result) != hipSuccess)
            return 1;
        ask<<<1, 1>>>(out);
        if (hipMemcpy(result, out, sizeof result, hipMemcpyDeviceToHost) != hipSuccess ||
            result[0] <= 0 || result[2] != p.warpSize || hipFree(out) != hipSuccess)
            return 1;
        printf("%s|%.*s|%d CUs|%llu bytes|%d kHz|%d kHz memory|%d bits|wall %d kHz|integrated %d|"
               "LDS %zu\n",
               p.name, (int)6, p.gcnArchName, p.multiProcessorCount,
               (unsigned long long)p.totalGlobalMem, p.clockRate, p.memoryClockRate,
               p.memoryBusWidth, wall_khz, p.integrated, p.sharedMemPerBlock);
    }
    return 0;
}
