// Every way to get memory that a kernel can reach, and the end of it.
#include "check.h"

#include <cstring>
#include <vector>

__global__ void increment(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += 1;
}

static const int N = 5000;

static void launch(int *data, hipStream_t stream = 0)
{
    increment<<<(N + 255) / 256, 256, 0, stream>>>(data, N);
    HIP(hipGetLastError());
    HIP(hipStreamSynchronize(stream));
}

static void check_host(int *host, int *device)
{
    for (int i = 0; i < N; i++)
        host[i] = i;
    launch(device);
    for (int i = 0; i < N; i++)
        CHECK(host[i] == i + 1);
}

static void host_memory()
{
    int *host, *device;
    HIP(hipHostMalloc(&host, N * sizeof(int), hipHostMallocMapped));
    HIP(hipHostGetDevicePointer((void **)&device, host, 0));
    check_host(host, device);
    HIP(hipHostFree(host));

    std::vector<int> registered(N + 1024);
    HIP(hipHostRegister(registered.data(), N * sizeof(int), hipHostRegisterDefault));
    HIP(hipHostGetDevicePointer((void **)&device, registered.data(), 0));
    check_host(registered.data(), device);
    HIP(hipHostUnregister(registered.data()));

    HIP(hipMallocManaged(&host, N * sizeof(int)));
    check_host(host, host);
    HIP(hipFree(host));
}

static void stream_ordered()
{
    std::vector<int> out(N);
    hipStream_t stream;
    int *data;
    HIP(hipStreamCreate(&stream));
    for (int round = 0; round < 3; round++) {
        HIP(hipMallocAsync((void **)&data, N * sizeof(int), stream));
        HIP(hipMemsetAsync(data, 0, N * sizeof(int), stream));
        launch(data, stream);
        HIP(hipMemcpyAsync(out.data(), data, N * sizeof(int), hipMemcpyDeviceToHost, stream));
        HIP(hipFreeAsync(data, stream));
        HIP(hipStreamSynchronize(stream));
        for (int i = 0; i < N; i++)
            CHECK(out[i] == 1);
    }
    HIP(hipStreamDestroy(stream));
}

static void many()
{
    std::vector<void *> blocks;
    for (int i = 0; i < 400; i++) {
        void *block;
        HIP(hipMalloc(&block, 1000 + 4099 * (size_t)(i % 50)));
        blocks.push_back(block);
        if (i % 3 == 2) {
            HIP(hipFree(blocks[(size_t)i / 2]));
            blocks[(size_t)i / 2] = nullptr;
        }
    }
    for (void *block : blocks)
        HIP(hipFree(block));
}

static void exhaustion()
{
    size_t free_before, free_after, total;
    void *big, *more;
    HIP(hipMemGetInfo(&free_before, &total));
    CHECK(total == 206141652992ull);
    CHECK(hipMalloc(&more, total + (1ull << 30)) == hipErrorOutOfMemory);
    HIP(hipMalloc(&big, 180ull << 30));
    CHECK(hipMalloc(&more, 20ull << 30) == hipErrorOutOfMemory);
    HIP(hipMemset((char *)big + (170ull << 30), 1, 4096)); // sparse: only this page is there
    HIP(hipFree(big));
    HIP(hipMemGetInfo(&free_after, &total));
    CHECK(free_after >= free_before); // more: now and then HIP gives back 4 MiB of its own meanwhile
}

int main()
{
    host_memory();
    stream_ordered();
    many();
    exhaustion();
}
