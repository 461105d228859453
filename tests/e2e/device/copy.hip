// hipMemcpy and hipMemset in every direction, sizes and offsets that no vector width divides.
#include "check.h"

#include <cstring>
#include <vector>

static std::vector<unsigned char> pattern(size_t n, unsigned seed)
{
    std::vector<unsigned char> bytes(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
    return bytes;
}

static void round_trip(size_t n, size_t shift)
{
    auto in = pattern(n, 1);
    std::vector<unsigned char> out(n, 0xee);
    unsigned char *a, *b;
    HIP(hipMalloc(&a, n + 64));
    HIP(hipMalloc(&b, n + 64));
    HIP(hipMemcpy(a + shift, in.data(), n, hipMemcpyHostToDevice));
    HIP(hipMemcpy(b + 3, a + shift, n, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy(out.data(), b + 3, n, hipMemcpyDeviceToHost));
    CHECK(memcmp(in.data(), out.data(), n) == 0);
    HIP(hipFree(a));
    HIP(hipFree(b));
}

static void pinned_and_async(size_t n)
{
    auto in = pattern(n, 2);
    unsigned char *host, *back, *device;
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    HIP(hipHostMalloc(&host, n));
    HIP(hipHostMalloc(&back, n));
    HIP(hipMalloc(&device, n));
    memcpy(host, in.data(), n);
    memset(back, 0, n);
    HIP(hipMemcpyAsync(device, host, n, hipMemcpyHostToDevice, stream));
    HIP(hipMemcpyAsync(back, device, n, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    CHECK(memcmp(back, in.data(), n) == 0);
    HIP(hipMemcpy(host, back, n, hipMemcpyHostToHost));
    HIP(hipFree(device));
    HIP(hipHostFree(host));
    HIP(hipHostFree(back));
    HIP(hipStreamDestroy(stream));
}

static void fills()
{
    const size_t n = 10001;
    std::vector<unsigned char> out(n * 4);
    unsigned char *device;
    HIP(hipMalloc(&device, n * 4));
    HIP(hipMemset(device, 0x5a, n * 4));
    HIP(hipMemset(device + 1, 0xa5, 7));
    HIP(hipMemcpy(out.data(), device, n * 4, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < n * 4; i++)
        CHECK(out[i] == (i >= 1 && i < 8 ? 0xa5 : 0x5a));
    HIP(hipMemsetD32((hipDeviceptr_t)device, 0x12345678, n));
    HIP(hipMemcpy(out.data(), device, n * 4, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        CHECK(((unsigned *)out.data())[i] == 0x12345678);
    HIP(hipMemsetD16((hipDeviceptr_t)device, 0xbeef, n));
    HIP(hipMemcpy(out.data(), device, n * 2, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        CHECK(((unsigned short *)out.data())[i] == 0xbeef);
    HIP(hipFree(device));
}

static void pitched()
{
    const size_t width = 100, height = 37;
    auto in = pattern(width * height, 3);
    std::vector<unsigned char> out(width * height);
    unsigned char *device;
    size_t pitch;
    HIP(hipMallocPitch((void **)&device, &pitch, width, height));
    HIP(hipMemcpy2D(device, pitch, in.data(), width, width, height, hipMemcpyHostToDevice));
    HIP(hipMemcpy2D(out.data(), width, device, pitch, width, height, hipMemcpyDeviceToHost));
    CHECK(in == out);
    HIP(hipFree(device));
}

__device__ int symbol[256];

static void symbols()
{
    int in[256], out[256] = {};
    for (int i = 0; i < 256; i++)
        in[i] = i * i;
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(symbol), in, sizeof in));
    HIP(hipMemcpyFromSymbol(out, HIP_SYMBOL(symbol), sizeof out));
    CHECK(memcmp(in, out, sizeof in) == 0);
}

int main()
{
    for (size_t n : {1, 2, 3, 15, 64, 255, 4096, 65537, 3000001})
        round_trip(n, n % 5);
    pinned_and_async(1 << 20);
    fills();
    pitched();
    symbols();
}
