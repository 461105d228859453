// Copies as the DMA engines do them, at their limits: packets of just under 4 MiB, unaligned ends,
// rectangles, many copies in flight, addresses nobody mapped.
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <dlfcn.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>
#include <vector>

typedef std::vector<unsigned char> Bytes;

static Bytes pattern(size_t n, unsigned seed)
{
    Bytes bytes(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
    return bytes;
}

static void there_and_back(size_t n, size_t shift, bool pinned)
{
    Bytes in = pattern(n + shift, (unsigned)n), out(n + 64, 0xee);
    unsigned char *from = in.data(), *device, *host = nullptr;
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    HIP(hipMalloc(&device, n + 64));
    if (pinned) {
        HIP(hipHostMalloc(&host, n + 64));
        memcpy(host, in.data(), n + shift);
        from = host;
    }
    HIP(hipMemcpyAsync(device + 2 * shift, from + shift, n, hipMemcpyHostToDevice, stream));
    HIP(hipMemcpyAsync(out.data() + 3, device + 2 * shift, n, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    CHECK(memcmp(out.data() + 3, in.data() + shift, n) == 0);
    CHECK(out[2] == 0xee && out[n + 3] == 0xee);
    HIP(hipFree(device));
    HIP(hipHostFree(host));
    HIP(hipStreamDestroy(stream));
}

static void rectangles(size_t width, size_t rows, size_t host_pitch, size_t x)
{
    size_t pitch;
    unsigned char *device;
    Bytes in = pattern(host_pitch * rows, 7), out(host_pitch * rows, 0xee), wanted = out;
    HIP(hipMallocPitch((void **)&device, &pitch, width + x, rows));
    HIP(hipMemcpy2D(device + x, pitch, in.data() + x, host_pitch, width, rows,
                    hipMemcpyHostToDevice));
    HIP(hipMemcpy2D(out.data() + x, host_pitch, device + x, pitch, width, rows,
                    hipMemcpyDeviceToHost));
    for (size_t y = 0; y < rows; y++)
        memcpy(&wanted[y * host_pitch + x], &in[y * host_pitch + x], width);
    CHECK(out == wanted);
    HIP(hipFree(device));
}

static void boxes()
{
    const size_t w = 52, h = 9, d = 5, big = 64;
    unsigned char *host;
    hipPitchedPtr device;
    hipExtent extent = make_hipExtent(w, h, d);
    HIP(hipMalloc3D(&device, extent));
    HIP(hipHostMalloc(&host, 2 * big * h * d));
    Bytes in = pattern(big * h * d, 8);
    memcpy(host, in.data(), in.size());
    memset(host + in.size(), 0xee, in.size());
    hipMemcpy3DParms there = {}, back = {};
    there.srcPtr = make_hipPitchedPtr(host, big, w, h);
    there.dstPtr = back.srcPtr = device;
    back.dstPtr = make_hipPitchedPtr(host + in.size(), big, w, h);
    there.extent = back.extent = extent;
    there.kind = hipMemcpyHostToDevice;
    back.kind = hipMemcpyDeviceToHost;
    HIP(hipMemcpy3D(&there));
    HIP(hipMemcpy3D(&back));
    for (size_t i = 0; i < in.size(); i++)
        CHECK(host[in.size() + i] == (i % big < w ? in[i] : 0xee));
    HIP(hipFree(device.ptr));
    HIP(hipHostFree(host));
}

__global__ void add_one(unsigned *data, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i]++;
}

// Copies wait for kernels and kernels for copies, on several streams at once.
static void pipelines()
{
    const unsigned n = 300000, streams = 4, rounds = 6;
    unsigned *host, *device;
    hipStream_t stream[streams];
    HIP(hipHostMalloc(&host, n * streams * sizeof *host));
    HIP(hipMalloc(&device, n * streams * sizeof *device));
    for (unsigned i = 0; i < n * streams; i++)
        host[i] = i;
    for (unsigned s = 0; s < streams; s++)
        HIP(hipStreamCreate(&stream[s]));
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned s = 0; s < streams; s++) {
            unsigned *h = host + n * s, *d = device + n * s;
            HIP(hipMemcpyAsync(d, h, n * sizeof *h, hipMemcpyHostToDevice, stream[s]));
            add_one<<<(n + 255) / 256, 256, 0, stream[s]>>>(d, n);
            HIP(hipMemcpyAsync(h, d, n * sizeof *h, hipMemcpyDeviceToHost, stream[s]));
        }
    }
    HIP(hipDeviceSynchronize());
    for (unsigned i = 0; i < n * streams; i++)
        CHECK(host[i] == i + rounds);
    for (unsigned s = 0; s < streams; s++)
        HIP(hipStreamDestroy(stream[s]));
    HIP(hipFree(device));
    HIP(hipHostFree(host));
}

static hsa_status_t note_agent(hsa_agent_t agent, void *data)
{
    static auto get_info = (decltype(&hsa_agent_get_info))dlsym(RTLD_DEFAULT, "hsa_agent_get_info");
    hsa_device_type_t type;
    get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type == HSA_DEVICE_TYPE_GPU)
        *(hsa_agent_t *)data = agent;
    return HSA_STATUS_SUCCESS;
}

// The DMA engine is told, below HIP, to read where nothing is: HIP says that the GPU failed.
static int wild_copy()
{
    unsigned *device;
    HIP(hipMalloc(&device, 1 << 20));
    add_one<<<1, 64>>>(device, 64);
    HIP(hipDeviceSynchronize());
    auto iterate = (decltype(&hsa_iterate_agents))dlsym(RTLD_DEFAULT, "hsa_iterate_agents");
    auto make = (decltype(&hsa_signal_create))dlsym(RTLD_DEFAULT, "hsa_signal_create");
    auto copy = (decltype(&hsa_amd_memory_async_copy_on_engine))dlsym(
        RTLD_DEFAULT, "hsa_amd_memory_async_copy_on_engine");
    CHECK(iterate && make && copy);
    hsa_agent_t gpu = {};
    hsa_signal_t done;
    iterate(note_agent, &gpu);
    CHECK(make(1, 0, nullptr, &done) == HSA_STATUS_SUCCESS);
    CHECK(copy(device, gpu, (void *)0x123456789000, gpu, 4096, 0, nullptr, done,
               HSA_AMD_SDMA_ENGINE_0, true) == HSA_STATUS_SUCCESS);
    hipError_t error = hipSuccess;
    for (int i = 0; i < 1000000 && error == hipSuccess; i++) {
        add_one<<<1, 64>>>(device, 64);
        error = hipDeviceSynchronize();
    }
    printf("%s\n", hipGetErrorName(error));
    fflush(stdout);
    _exit(error == hipErrorIllegalAddress ? 42 : 1);
}

// The program takes memory away while the engine reads it: an error, or the copy was faster.
static int unmapped_copy()
{
    const size_t bytes = 256u << 20;
    char *host = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
    char *device;
    hipStream_t stream;
    CHECK(host != MAP_FAILED);
    HIP(hipMalloc(&device, bytes));
    HIP(hipHostRegister(host, bytes, 0));
    HIP(hipStreamCreate(&stream));
    HIP(hipMemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, stream));
    usleep(2000);
    munmap(host, bytes);
    hipError_t error = hipStreamSynchronize(stream);
    CHECK(error == hipSuccess || error == hipErrorIllegalAddress);
    puts("still here");
    fflush(stdout);
    _exit(0);
}

// More than 2^30 bytes in one call: to the device, to another one, back, and set. The host's side is
// one file of 64 MiB mapped over and over; of the copies, pieces are compared with the pattern.
static int huge_copies()
{
    const size_t piece = (size_t)64 << 20, times = 17, n = times * piece - 12345;
    Bytes in = pattern(piece, 5), out(1 << 20);
    int fd = memfd_create("pattern", 0);
    CHECK(fd >= 0 && write(fd, in.data(), piece) == (ssize_t)piece);
    char *host = (char *)mmap(nullptr, times * piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(host != MAP_FAILED);
    for (size_t i = 0; i < times; i++)
        CHECK(mmap(host + i * piece, piece, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) !=
              MAP_FAILED);
    const size_t places[] = {0, piece - 1000, ((size_t)1 << 30) - 5000, ((size_t)1 << 30) + 4096 * 17,
                             n - out.size()};
    char *near, *far;
    HIP(hipMalloc(&near, n));
    HIP(hipSetDevice(1));
    HIP(hipMalloc(&far, n));
    HIP(hipSetDevice(0));
    HIP(hipMemcpy(near, host, n, hipMemcpyHostToDevice));
    HIP(hipMemcpyPeer(far, 1, near, 0, n));
    HIP(hipDeviceSynchronize());
    for (size_t at : places) {
        HIP(hipMemcpy(out.data(), far + at, out.size(), hipMemcpyDeviceToHost));
        for (size_t i = 0; i < out.size(); i += 61)
            CHECK(out[i] == in[(at + i) % piece]);
    }
    HIP(hipMemset(far, 0x3c, n));
    HIP(hipDeviceSynchronize());
    for (size_t at : places) {
        HIP(hipMemcpy(out.data(), far + at, out.size(), hipMemcpyDeviceToHost));
        CHECK(out == Bytes(out.size(), 0x3c));
    }
    puts("ok");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "huge") == 0)
        return huge_copies();
    if (argc > 1 && strcmp(argv[1], "unmapped") == 0)
        return unmapped_copy();
    if (argc > 1 && strcmp(argv[1], "wild") == 0)
        return wild_copy();
    const size_t limit = 0x3fffff; // most that ROCr puts into one packet for this GPU
    const size_t sizes[] = {1, 3, 4096, limit - 1, limit, limit + 1, 2 * limit + 1, 20000003};
    for (size_t n : sizes)
        for (size_t shift = 0; shift < 2; shift++)
            for (int pinned = 0; pinned < 2; pinned++)
                there_and_back(n, shift, pinned != 0);
    rectangles(1, 1, 16, 0);
    rectangles(100, 50, 128, 4);
    rectangles(77, 33, 100, 3);
    rectangles(70000, 20, 70016, 16);
    rectangles(64, 20000, 64, 0);
    boxes();
    pipelines();
    puts("ok");
    return 0;
}
