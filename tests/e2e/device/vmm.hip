// Virtual memory management: reserve an address, back it with physical memory, use it, undo it.
#include "check.h"

#include <vector>

__global__ void iota(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = i;
}

int main()
{
    hipMemAllocationProp prop = {};
    prop.type = hipMemAllocationTypePinned;
    prop.location.type = hipMemLocationTypeDevice;
    prop.location.id = 0;
    size_t granularity;
    HIP(hipMemGetAllocationGranularity(&granularity, &prop, hipMemAllocationGranularityMinimum));
    const size_t part = (size_t)2 << 20;
    CHECK(part % granularity == 0);
    hipMemGenericAllocationHandle_t handles[2];
    void *base;
    HIP(hipMemAddressReserve(&base, 2 * part, 0, nullptr, 0));
    hipMemAccessDesc access = {};
    access.location = prop.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    for (int i = 0; i < 2; i++) {
        HIP(hipMemCreate(&handles[i], part, &prop, 0));
        HIP(hipMemMap((char *)base + i * part, part, 0, handles[i], 0));
    }
    HIP(hipMemSetAccess(base, 2 * part, &access, 1));
    int n = (int)(2 * part / sizeof(int)); // one kernel across both parts
    iota<<<(n + 255) / 256, 256>>>((int *)base, n);
    std::vector<int> out(n);
    HIP(hipMemcpy(out.data(), base, 2 * part, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        CHECK(out[i] == i);
    for (int i = 0; i < 2; i++) {
        HIP(hipMemUnmap((char *)base + i * part, part));
        HIP(hipMemRelease(handles[i]));
    }
    HIP(hipMemAddressFree(base, 2 * part));
}
