// What a kernel's own accesses to host memory and to another GPU's cost in modelled time: their
// bytes over the link. Expected values from the links' rates: PCIe 5.0 x16 with its packets'
// overhead 57.6 GB/s, xGMI 48 GB/s, each direction by itself.
#include "check.h"

static const size_t N = 4 << 20; // floats
static const double BYTES = N * 4.0, HOST_BYTES_PER_US = 57.6e3, PEER_BYTES_PER_US = 48e3;

__global__ void read(const float *data, float *out)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (data[i] == 1.5f)
        *out = 1;
}

__global__ void write(float *data)
{
    data[blockIdx.x * (size_t)blockDim.x + threadIdx.x] = 2;
}

__global__ void scale(float *data)
{
    data[blockIdx.x * (size_t)blockDim.x + threadIdx.x] *= 3;
}

// A dword for each lane, none of them in the same 64 bytes.
__global__ void scattered(const float *data, float *out)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (data[i * 16] == 1.5f)
        *out = 1;
}

__global__ void same(const float *data, float *out)
{
    if (data[(threadIdx.x >> 6) + (blockIdx.x & 1)] == 1.5f) // a vector load
        *out = 1;
}

template <typename F> static double microseconds(F launch)
{
    hipEvent_t begin, end;
    float ms;
    HIP(hipEventCreate(&begin));
    HIP(hipEventCreate(&end));
    HIP(hipEventRecord(begin));
    launch();
    HIP(hipGetLastError());
    HIP(hipEventRecord(end));
    HIP(hipEventSynchronize(end));
    HIP(hipEventElapsedTime(&ms, begin, end));
    HIP(hipEventDestroy(begin));
    HIP(hipEventDestroy(end));
    return ms * 1e3;
}

static bool near(const char *what, double us, double expected_us)
{
    printf("%s: %.2f us, expected %.2f\n", what, us, expected_us);
    return us > expected_us * 0.99 && us < expected_us * 1.01 + 2; // and the latency
}

static void all(const char *where, float *data, float *out, double rate)
{
    const unsigned groups = N / 256;
    printf("%s\n", where);
    CHECK(near("read", microseconds([&] { read<<<groups, 256>>>(data, out); }), BYTES / rate));
    CHECK(near("write", microseconds([&] { write<<<groups, 256>>>(data); }), BYTES / rate));
    CHECK(near("both", microseconds([&] { scale<<<groups, 256>>>(data); }), BYTES / rate));
    CHECK(near("scattered", microseconds([&] { scattered<<<groups / 16, 256>>>(data, out); }),
               N / 16 / 64 * (63 * 64 + 4) / rate)); // from the first lane's dword to the last one's
}

int main()
{
    float *local, *host, *peer, *managed, *out;
    HIP(hipMalloc(&out, 4));
    HIP(hipMalloc(&local, N * 4));
    HIP(hipHostMalloc(&host, N * 4));
    HIP(hipMallocManaged(&managed, N * 4));
    HIP(hipSetDevice(1));
    HIP(hipMalloc(&peer, N * 4));
    HIP(hipSetDevice(0));
    HIP(hipDeviceEnablePeerAccess(1, 0));
    double near_us = microseconds([&] { read<<<N / 256, 256>>>(local, out); });
    CHECK(near_us < BYTES / HOST_BYTES_PER_US / 10);
    all("host", host, out, HOST_BYTES_PER_US);
    all("peer", peer, out, PEER_BYTES_PER_US);
    // All lanes of a wave at one address ask for it once; groups are of one wave.
    CHECK(near("same", microseconds([&] { same<<<64 << 10, 64>>>(host, out); }),
               (64 << 10) * 4 / HOST_BYTES_PER_US));
    // Managed memory is the host's until it is prefetched.
    CHECK(near("managed", microseconds([&] { read<<<N / 256, 256>>>(managed, out); }),
               BYTES / HOST_BYTES_PER_US));
    HIP(hipMemPrefetchAsync(managed, N * 4, 0, 0));
    HIP(hipStreamSynchronize(0));
    double prefetched_us = microseconds([&] { read<<<N / 256, 256>>>(managed, out); });
    printf("prefetched: %.2f us, local: %.2f us\n", prefetched_us, near_us);
    CHECK(prefetched_us == near_us);
    return 0;
}
