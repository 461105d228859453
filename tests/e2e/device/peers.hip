// Several GPUs in one process: who is there, whose memory is whose, and who may see it.
// peers COUNT: all checks for so many visible devices. peers stray: GPU 1 touches memory of GPU 0
// that was never opened to it, which is a fault.
#include "check.h"

#include <cstring>
#include <set>
#include <string>
#include <vector>

enum { N = 10000 };

__global__ void fill(int *out, int first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        out[i] = first + 3 * i;
}

__global__ void add(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}

static int *filled(int device, int first)
{
    int *p;
    HIP(hipSetDevice(device));
    HIP(hipMalloc(&p, N * sizeof *p));
    fill<<<(N + 255) / 256, 256>>>(p, first);
    HIP(hipGetLastError());
    HIP(hipDeviceSynchronize());
    return p;
}

static std::vector<int> fetch(const int *p)
{
    std::vector<int> host(N);
    HIP(hipMemcpy(host.data(), p, N * sizeof(int), hipMemcpyDefault));
    return host;
}

static void check(const int *p, int first, int step)
{
    std::vector<int> host = fetch(p);
    for (int i = 0; i < N; i++)
        CHECK(host[i] == first + step * i);
}

static void identities(int count)
{
    std::set<std::string> buses, uuids;
    for (int d = 0; d < count; d++) {
        hipDeviceProp_t prop;
        hipUUID uuid;
        char bus[32];
        int current = -1;
        HIP(hipGetDeviceProperties(&prop, d));
        CHECK(prop.totalGlobalMem > 0);
        HIP(hipDeviceGetPCIBusId(bus, sizeof bus, d));
        int found = -1;
        HIP(hipDeviceGetByPCIBusId(&found, bus));
        CHECK(found == d);
        buses.insert(bus);
        HIP(hipDeviceGetUuid(&uuid, d));
        uuids.insert(std::string(uuid.bytes, sizeof uuid.bytes));
        HIP(hipSetDevice(d));
        HIP(hipGetDevice(&current));
        CHECK(current == d);
    }
    CHECK((int)buses.size() == count && (int)uuids.size() == count);
    CHECK(hipSetDevice(count) == hipErrorInvalidDevice);
    CHECK(hipGetLastError() == hipErrorInvalidDevice);
}

// What one GPU's memory holds says nothing about another's.
static void memories(int count)
{
    const size_t big = 1ull << 33;
    for (int d = 0; d < count; d++) {
        size_t before[8], after[8], total;
        void *p;
        for (int i = 0; i < count; i++) {
            HIP(hipSetDevice(i));
            HIP(hipMemGetInfo(&before[i], &total));
        }
        HIP(hipSetDevice(d));
        HIP(hipMalloc(&p, big));
        hipPointerAttribute_t attributes;
        HIP(hipPointerGetAttributes(&attributes, p));
        CHECK(attributes.device == d);
        for (int i = 0; i < count; i++) {
            HIP(hipSetDevice(i));
            HIP(hipMemGetInfo(&after[i], &total));
            CHECK(before[i] - after[i] == (i == d ? big : 0));
        }
        HIP(hipFree(p));
    }
}

static void copies(int count)
{
    for (int from = 0; from < count; from++) {
        int to = (from + 1) % count;
        int *a = filled(from, 100 * from), *b = filled(to, -1);
        HIP(hipMemcpyPeer(b, to, a, from, N * sizeof(int)));
        check(b, 100 * from, 3);
        int *c = filled(to, 7);
        HIP(hipMemcpy(c, a, N * sizeof(int), hipMemcpyDeviceToDevice));
        check(c, 100 * from, 3);
        hipStream_t stream;
        HIP(hipSetDevice(from));
        HIP(hipStreamCreate(&stream));
        int *d = filled(to, 8);
        HIP(hipSetDevice(from));
        HIP(hipMemcpyPeerAsync(d, to, a, from, N * sizeof(int), stream));
        HIP(hipStreamSynchronize(stream));
        check(d, 100 * from, 3);
        HIP(hipStreamDestroy(stream));
        HIP(hipFree(a));
        HIP(hipFree(b));
        HIP(hipFree(c));
        HIP(hipFree(d));
    }
}

// A kernel of one GPU reads and writes the memory of another.
static void direct(int count)
{
    for (int d = 0; d < count; d++)
        for (int peer = 0; peer < count; peer++) {
            int can = -1;
            HIP(hipDeviceCanAccessPeer(&can, d, peer));
            CHECK(can == (d != peer));
        }
    for (int d = 1; d < count; d++) {
        int *theirs = filled(0, 5), *mine = filled(d, 9);
        HIP(hipSetDevice(d));
        HIP(hipDeviceEnablePeerAccess(0, 0));
        CHECK(hipDeviceEnablePeerAccess(0, 0) == hipErrorPeerAccessAlreadyEnabled);
        (void)hipGetLastError();
        add<<<(N + 255) / 256, 256>>>(theirs, mine, N);
        add<<<(N + 255) / 256, 256>>>(mine, theirs, N);
        HIP(hipDeviceSynchronize());
        check(mine, 14, 6);
        check(theirs, 19, 9);
        HIP(hipDeviceDisablePeerAccess(0));
        CHECK(hipDeviceDisablePeerAccess(0) == hipErrorPeerAccessNotEnabled);
        (void)hipGetLastError();
        HIP(hipFree(theirs));
        HIP(hipFree(mine));
    }
}

// Streams of all devices at once, and an event of one that the next one's stream waits for.
static void streams(int count)
{
    std::vector<hipStream_t> stream(count);
    std::vector<hipEvent_t> done(count);
    std::vector<int *> data(count);
    for (int d = 0; d < count; d++) {
        data[d] = filled(d, 0);
        HIP(hipSetDevice(d));
        HIP(hipStreamCreate(&stream[d]));
        HIP(hipEventCreate(&done[d]));
    }
    for (int d = 0; d < count; d++) {
        HIP(hipSetDevice(d));
        if (d > 0) {
            HIP(hipStreamWaitEvent(stream[d], done[d - 1], 0));
            HIP(hipMemcpyPeerAsync(data[d], d, data[d - 1], d - 1, N * sizeof(int), stream[d]));
        }
        add<<<(N + 255) / 256, 256, 0, stream[d]>>>(data[d], data[d], N); // doubles
        HIP(hipEventRecord(done[d], stream[d]));
    }
    for (int d = 0; d < count; d++) {
        HIP(hipSetDevice(d));
        HIP(hipStreamSynchronize(stream[d]));
        check(data[d], 0, 3 << (d + 1));
        HIP(hipFree(data[d]));
        HIP(hipEventDestroy(done[d]));
        HIP(hipStreamDestroy(stream[d]));
    }
}

// Host memory and managed memory belong to nobody: every GPU works on them in turn.
static void shared(int count)
{
    int *pinned, *managed;
    HIP(hipHostMalloc(&pinned, N * sizeof(int), 0));
    HIP(hipMallocManaged(&managed, N * sizeof(int)));
    memset(pinned, 0, N * sizeof(int));
    memset(managed, 0, N * sizeof(int));
    for (int d = 0; d < count; d++) {
        int *mine = filled(d, d);
        add<<<(N + 255) / 256, 256>>>(mine, pinned, N);
        add<<<(N + 255) / 256, 256>>>(mine, managed, N);
        HIP(hipDeviceSynchronize());
        HIP(hipFree(mine));
    }
    for (int i = 0; i < N; i++) {
        CHECK(pinned[i] == count * (count - 1) / 2 + 3 * i * count);
        CHECK(managed[i] == pinned[i]);
    }
    HIP(hipHostFree(pinned));
    HIP(hipFree(managed));
}

static void stray()
{
    int *theirs = filled(0, 5), *mine = filled(1, 9);
    HIP(hipSetDevice(1));
    add<<<1, 64>>>(theirs, mine, 64);
    hipError_t error = hipDeviceSynchronize();
    printf("%s\n", hipGetErrorName(error));
    fflush(stdout);
    _Exit(error == hipErrorIllegalAddress ? 42 : 1);
}

int main(int argc, char **argv)
{
    int count = 0, wanted = argc > 1 ? atoi(argv[1]) : 1;
    HIP(hipGetDeviceCount(&count));
    if (argc > 1 && strcmp(argv[1], "stray") == 0)
        stray();
    printf("%d devices\n", count);
    CHECK(count == wanted);
    identities(count);
    memories(count);
    copies(count);
    direct(count);
    streams(count);
    shared(count);
    return 0;
}
