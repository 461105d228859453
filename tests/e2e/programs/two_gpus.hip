// Launches bump once on GPU 0, twice on GPU 1, and so on.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void bump(int *value)
{
    *value += 1;
}

int main()
{
    int count = 0;
    if (hipGetDeviceCount(&count) != hipSuccess)
        return 1;
    printf("%d devices\n", count);
    for (int device = 0; device < count; device++) {
        int *value, result = -1, zero = 0;
        if (hipSetDevice(device) != hipSuccess || hipMalloc(&value, sizeof *value) != hipSuccess ||
            hipMemcpy(value, &zero, sizeof zero, hipMemcpyHostToDevice) != hipSuccess)
            return 1;
        for (int i = 0; i <= device; i++)
            bump<<<1, 1>>>(value);
        if (hipMemcpy(&result, value, sizeof result, hipMemcpyDeviceToHost) != hipSuccess ||
            result != device + 1 || hipFree(value) != hipSuccess)
            return 1;
    }
    return 0;
}
