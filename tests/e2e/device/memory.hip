// Features of HIP's memory: registration, managed memory, pools, several mappings of one
// allocation, forks and handles for other processes. What cannot be had must be an error of HIP's,
// never an end.
#include "check.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

__global__ void increment(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += 1;
}

static const int N = 5000;

static void launch(int *data, int n, hipStream_t stream = 0)
{
    increment<<<(n + 255) / 256, 256, 0, stream>>>(data, n);
    HIP(hipGetLastError());
    HIP(hipStreamSynchronize(stream));
}

// A HIP call that must give this error.
#define FAILS(call, error)                                                                         \
    do {                                                                                           \
        hipError_t got_ = (call);                                                                  \
        if (got_ != (error)) {                                                                     \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(got_));           \
            exit(1);                                                                               \
        }                                                                                          \
        (void)hipGetLastError();                                                                   \
    } while (0)

// The kernel reaches what is registered, at an offset too, and also when HIP was asked twice (which
// it accepts and undoes at once).
static void registered()
{
    const unsigned flags[] = {hipHostRegisterDefault, hipHostRegisterPortable,
                              hipHostRegisterMapped};
    std::vector<int> host(4 * N);
    for (unsigned flag : flags) {
        int *base = host.data() + 3, *device; // not at a page's start
        for (int i = 0; i < 4 * N; i++)
            host[i] = i;
        HIP(hipHostRegister(base, 2 * N * sizeof(int), flag));
        HIP(hipHostGetDevicePointer((void **)&device, base, 0));
        launch(device + 100, N);
        for (int i = 0; i < 4 * N; i++)
            CHECK(host[i] == i + (i >= 103 && i < 103 + N));
        hipError_t again = hipHostRegister(base, 2 * N * sizeof(int), flag);
        CHECK(again == hipSuccess || again == hipErrorHostMemoryAlreadyRegistered);
        (void)hipGetLastError();
        launch(device + 100, N);
        CHECK(host[102] == 102 && host[103] == 105 && host[102 + N] == 104 + N);
        HIP(hipHostUnregister(base));
        FAILS(hipHostUnregister(base), hipErrorHostMemoryNotRegistered);
    }
    FAILS(hipHostRegister(nullptr, 4096, 0), hipErrorInvalidValue);
    FAILS(hipHostRegister(host.data(), 0, 0), hipErrorInvalidValue);
}

static void host_flags()
{
    const unsigned flags[] = {hipHostMallocDefault,  hipHostMallocPortable,
                              hipHostMallocMapped,   hipHostMallocWriteCombined,
                              hipHostMallocCoherent, hipHostMallocNonCoherent,
                              hipHostMallocNumaUser};
    for (unsigned flag : flags) {
        int *host;
        HIP(hipHostMalloc(&host, N * sizeof(int), flag));
        memset(host, 0, N * sizeof(int));
        launch(host, N);
        for (int i = 0; i < N; i++)
            CHECK(host[i] == 1);
        HIP(hipHostFree(host));
    }
    void *none;
    FAILS(hipHostMalloc(&none, 4096, hipHostMallocCoherent | hipHostMallocNonCoherent),
          hipErrorInvalidValue);
}

// Pageable memory on both sides, and copies of nothing.
static void copies()
{
    std::vector<int> in(N * 100), out(N * 100);
    hipStream_t stream;
    char *device;
    HIP(hipStreamCreate(&stream));
    HIP(hipMalloc(&device, in.size() * 4));
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)(i * 2654435761u);
    HIP(hipMemcpyAsync(device, in.data(), in.size() * 4, hipMemcpyHostToDevice, stream));
    HIP(hipMemcpyAsync(device, out.data(), 0, hipMemcpyHostToDevice, stream));
    HIP(hipMemcpy(device, out.data(), 0, hipMemcpyHostToDevice));
    HIP(hipMemsetAsync(device, 1, 0, stream));
    HIP(hipMemcpyAsync(out.data(), device, in.size() * 4, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    CHECK(in == out);
    HIP(hipStreamDestroy(stream));
    HIP(hipFree(device));
}

static int range_attribute(hipMemRangeAttribute attribute, const void *data, size_t bytes)
{
    int value = 77;
    HIP(hipMemRangeGetAttribute(&value, sizeof value, attribute, data, bytes));
    return value;
}

// What was advised is what is answered, also of parts, and both at once.
static void advice()
{
    char *data;
    const int device = 0, nowhere = hipInvalidDeviceId;
    const size_t page = 4096, bytes = 64 * page;
    HIP(hipMallocManaged(&data, bytes));
    const hipMemRangeAttribute preferred = hipMemRangeAttributePreferredLocation,
                               prefetched = hipMemRangeAttributeLastPrefetchLocation,
                               read_mostly = hipMemRangeAttributeReadMostly,
                               accessed_by = hipMemRangeAttributeAccessedBy;
    CHECK(range_attribute(preferred, data, bytes) == nowhere);
    CHECK(range_attribute(prefetched, data, bytes) == nowhere);
    CHECK(range_attribute(read_mostly, data, bytes) == 0);
    CHECK(range_attribute(accessed_by, data, bytes) == nowhere);
    HIP(hipMemAdvise(data, bytes, hipMemAdviseSetReadMostly, device));
    CHECK(range_attribute(read_mostly, data, bytes) == 1);
    HIP(hipMemAdvise(data + 8 * page, 8 * page, hipMemAdviseUnsetReadMostly, device));
    CHECK(range_attribute(read_mostly, data + 8 * page, 8 * page) == 0);
    CHECK(range_attribute(read_mostly, data, 8 * page) == 1);
    CHECK(range_attribute(read_mostly, data, bytes) == 0);
    HIP(hipMemAdvise(data, bytes, hipMemAdviseSetPreferredLocation, device));
    CHECK(range_attribute(preferred, data, bytes) == device);
    HIP(hipMemAdvise(data, 4 * page, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
    CHECK(range_attribute(preferred, data, 4 * page) == hipCpuDeviceId);
    CHECK(range_attribute(preferred, data + 4 * page, 4 * page) == device);
    CHECK(range_attribute(preferred, data, bytes) == nowhere);
    HIP(hipMemAdvise(data, bytes, hipMemAdviseUnsetPreferredLocation, device));
    CHECK(range_attribute(preferred, data, bytes) == nowhere);
    HIP(hipMemPrefetchAsync(data, bytes, device, 0));
    HIP(hipStreamSynchronize(0));
    CHECK(range_attribute(prefetched, data, bytes) == device);
    HIP(hipMemPrefetchAsync(data, bytes, hipCpuDeviceId, 0));
    HIP(hipStreamSynchronize(0));
    CHECK(range_attribute(prefetched, data, bytes) == hipCpuDeviceId);
    HIP(hipMemAdvise(data, bytes, hipMemAdviseSetAccessedBy, device));
    CHECK(range_attribute(accessed_by, data, bytes) == device);
    HIP(hipMemAdvise(data, bytes, hipMemAdviseSetReadMostly, device));
    // Four, because HIP 7.2 looks at as many places as the first size has bytes.
    int values[4] = {77, 77, 77, 77};
    void *places[4] = {&values[0], &values[1], &values[2], &values[3]};
    size_t sizes[4] = {sizeof(int), sizeof(int), sizeof(int), sizeof(int)};
    hipMemRangeAttribute asked[4] = {read_mostly, prefetched, preferred, read_mostly};
    HIP(hipMemRangeGetAttributes(places, sizes, asked, 4, data, bytes));
    CHECK(values[0] == 1 && values[1] == hipCpuDeviceId && values[2] == nowhere && values[3] == 1);
    HIP(hipFree(data));
    HIP(hipMallocManaged(&data, bytes)); // perhaps at the same address: nothing is left over
    CHECK(range_attribute(read_mostly, data, bytes) == 0);
    CHECK(range_attribute(accessed_by, data, bytes) == nowhere);
    HIP(hipFree(data));
}

static void managed()
{
    int *data;
    const int device = 0;
    const size_t bytes = N * sizeof(int);
    HIP(hipMallocManaged(&data, bytes));
    HIP(hipMemAdvise(data, bytes, hipMemAdviseSetReadMostly, device));
    HIP(hipMemAdvise(data, bytes, hipMemAdviseUnsetReadMostly, device));
    HIP(hipMemAdvise(data, bytes, hipMemAdviseSetPreferredLocation, device));
    HIP(hipMemAdvise(data, bytes, hipMemAdviseSetAccessedBy, device));
    memset(data, 0, bytes);
    HIP(hipMemPrefetchAsync(data, bytes, device, 0));
    launch(data, N);
    HIP(hipMemPrefetchAsync(data, bytes, hipCpuDeviceId, 0));
    HIP(hipStreamSynchronize(0));
    for (int i = 0; i < N; i++)
        CHECK(data[i] == 1);
    FAILS(hipMemPrefetchAsync(data, (size_t)1 << 30, device, 0), hipErrorInvalidValue);
    FAILS(hipMemAdvise(nullptr, bytes, hipMemAdviseSetReadMostly, device), hipErrorInvalidValue);
    HIP(hipFree(data));
}

static void pools()
{
    hipMemPoolProps props = {};
    props.allocType = hipMemAllocationTypePinned;
    props.location.type = hipMemLocationTypeDevice;
    hipMemPool_t pool;
    hipStream_t stream;
    uint64_t keep = ~0ull, value = 0;
    int *data;
    HIP(hipStreamCreate(&stream));
    HIP(hipMemPoolCreate(&pool, &props));
    HIP(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep));
    HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &value));
    CHECK(value == keep);
    HIP(hipMallocFromPoolAsync((void **)&data, N * sizeof(int), pool, stream));
    HIP(hipMemsetAsync(data, 0, N * sizeof(int), stream));
    launch(data, N, stream);
    std::vector<int> out(N);
    HIP(hipMemcpy(out.data(), data, N * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(out == std::vector<int>(N, 1));
    HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &value));
    CHECK(value >= N * sizeof(int));
    HIP(hipFreeAsync(data, stream));
    HIP(hipStreamSynchronize(stream));
    HIP(hipMemPoolTrimTo(pool, 0));
    HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &value));
    CHECK(value == 0);
    hipMemAccessDesc access = {};
    access.location = props.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    HIP(hipMemPoolSetAccess(pool, &access, 1));
    HIP(hipMemPoolDestroy(pool));
    HIP(hipStreamDestroy(stream));
}

// One allocation at two addresses; what one writes the other reads, also when one is gone. With
// `fault`, the kernel then writes where it may only read.
static void mapped_twice(bool fault)
{
    const size_t bytes = (size_t)2 << 20;
    hipMemAllocationProp prop = {};
    prop.type = hipMemAllocationTypePinned;
    prop.location.type = hipMemLocationTypeDevice;
    hipMemAccessDesc access = {};
    access.location = prop.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    hipMemGenericAllocationHandle_t handle;
    int *at[2], value;
    HIP(hipMemCreate(&handle, bytes, &prop, 0));
    for (int i = 0; i < 2; i++) {
        HIP(hipMemAddressReserve((void **)&at[i], bytes, 0, nullptr, 0));
        HIP(hipMemMap(at[i], bytes, 0, handle, 0));
        HIP(hipMemSetAccess(at[i], bytes, &access, 1));
    }
    HIP(hipMemset(at[0], 0, bytes));
    launch(at[0], N);
    launch(at[1], N);
    HIP(hipMemcpy(&value, at[0] + N - 1, 4, hipMemcpyDeviceToHost));
    CHECK(value == 2);
    HIP(hipMemUnmap(at[0], bytes));
    launch(at[1], N);
    HIP(hipMemcpy(&value, at[1] + N - 1, 4, hipMemcpyDeviceToHost));
    CHECK(value == 3);
    if (fault) {
        access.flags = hipMemAccessFlagsProtRead;
        HIP(hipMemSetAccess(at[1], bytes, &access, 1));
        increment<<<1, 64>>>(at[1], N);
        hipError_t error = hipDeviceSynchronize();
        printf("\nhipDeviceSynchronize: %s\n", hipGetErrorName(error));
        fflush(stdout);
        _exit(42);
    }
    HIP(hipMemUnmap(at[1], bytes));
    HIP(hipMemRelease(handle));
    for (int *address : at)
        HIP(hipMemAddressFree(address, bytes));
}

static int wait_for(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

// Before the first use of HIP a child has a device of its own.
static void fork_before()
{
    pid_t pid = fork();
    if (pid == 0) {
        copies();
        _exit(7);
    }
    CHECK(wait_for(pid) == 7);
    managed();
}

// After it, the child's HIP has an error for what it asks of the driver.
static void fork_after()
{
    void *data, *shared;
    HIP(hipMalloc(&data, 4096));
    HIP(hipMallocManaged(&shared, 4096));
    pid_t pid = fork();
    if (pid == 0) {
        static char page[8192];
        void *mine = nullptr;
        hipIpcMemHandle_t handle;
        hipMemAllocationProp prop = {};
        hipMemGenericAllocationHandle_t physical;
        prop.type = hipMemAllocationTypePinned;
        prop.location.type = hipMemLocationTypeDevice;
        alarm(20); // a hang is a failure
        FAILS(hipMalloc(&mine, (size_t)64 << 20), hipErrorOutOfMemory);
        FAILS(hipMallocManaged(&mine, 4096), hipErrorOutOfMemory);
        FAILS(hipHostMalloc(&mine, (size_t)1 << 20), hipErrorOutOfMemory);
        FAILS(hipHostRegister(page, sizeof page, 0), hipErrorInvalidValue);
        FAILS(hipMemAdvise(shared, 4096, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
        FAILS(hipIpcGetMemHandle(&handle, data), hipErrorInvalidValue);
        FAILS(hipMemCreate(&physical, (size_t)2 << 20, &prop, 0), hipErrorOutOfMemory);
        _exit(7);
    }
    CHECK(wait_for(pid) == 7);
    HIP(hipMemset(data, 0, 4096));
    HIP(hipFree(data));
}

// The other process of ipc(): reads what the exporter's kernel wrote, by copy and by kernel, and
// writes back; reads on when the exporter has freed the memory (`1` from it) and has ended.
static int importer(int in, int out)
{
    hipIpcMemHandle_t handle, damaged;
    int *shared, *own;
    std::vector<int> values(N);
    char word;
    CHECK(read(in, &handle, sizeof handle) == (ssize_t)sizeof handle);
    memset(&damaged, 0x5a, sizeof damaged);
    FAILS(hipIpcOpenMemHandle((void **)&shared, damaged, hipIpcMemLazyEnablePeerAccess),
          hipErrorInvalidValue);
    size_t before, after, total;
    HIP(hipMemGetInfo(&before, &total));
    HIP(hipIpcOpenMemHandle((void **)&shared, handle, hipIpcMemLazyEnablePeerAccess));
    HIP(hipMemGetInfo(&after, &total));
    CHECK(after == before); // it is the exporter's memory
    HIP(hipMemcpy(values.data(), shared, N * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        CHECK(values[i] == 3 * i + 1);
    launch(shared, N);
    CHECK(write(out, "w", 1) == 1);
    CHECK(read(in, &word, 1) == 1 && word == 'f'); // freed over there
    CHECK(read(in, &word, 1) == 0);                // and the process is gone
    HIP(hipMalloc(&own, N * sizeof(int)));
    HIP(hipMemcpy(own, shared, N * sizeof(int), hipMemcpyDeviceToDevice));
    launch(own, N);
    HIP(hipMemcpy(values.data(), own, N * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        CHECK(values[i] == 3 * i + 4);
    HIP(hipIpcCloseMemHandle(shared));
    FAILS(hipIpcCloseMemHandle(shared), hipErrorInvalidValue);
    HIP(hipFree(own));
    return 7;
}

static int exporter(int in, int out)
{
    int *data;
    std::vector<int> values(N);
    char word;
    const size_t bytes = (size_t)8 << 20; // more than what ROCr keeps for itself when it is freed
    HIP(hipMalloc(&data, bytes));
    for (int i = 0; i < N; i++)
        values[i] = 3 * i;
    HIP(hipMemcpy(data, values.data(), N * sizeof(int), hipMemcpyHostToDevice));
    launch(data, N);
    hipIpcMemHandle_t handle = {};
    HIP(hipIpcGetMemHandle(&handle, data));
    CHECK(write(out, &handle, sizeof handle) == (ssize_t)sizeof handle);
    CHECK(read(in, &word, 1) == 1);
    launch(data, N); // on what the importer's kernel left
    HIP(hipMemcpy(values.data(), data, N * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        CHECK(values[i] == 3 * i + 3);
    HIP(hipFree(data));
    int *other; // must not be given the same memory
    HIP(hipMalloc(&other, bytes));
    HIP(hipMemset(other, 0x77, bytes));
    HIP(hipDeviceSynchronize());
    CHECK(write(out, "f", 1) == 1);
    return 7;
}

static void ipc()
{
    int there[2], back[2];
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    pid_t first = fork();
    if (first == 0) {
        close(there[0]);
        close(back[1]);
        alarm(60);
        _exit(exporter(back[0], there[1]));
    }
    pid_t second = fork();
    if (second == 0) {
        close(there[1]);
        close(back[0]);
        alarm(60);
        _exit(importer(there[0], back[1]));
    }
    close(there[1]);
    close(back[0]);
    close(back[1]);
    CHECK(wait_for(first) == 7);
    CHECK(wait_for(second) == 7);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } parts[] = {{"registered", registered},
                 {"host_flags", host_flags},
                 {"copies", copies},
                 {"managed", managed},
                 {"advice", advice},
                 {"pools", pools},
                 {"mapped_twice", [] { mapped_twice(false); }},
                 {"read_only", [] { mapped_twice(true); }},
                 {"fork_before", fork_before},
                 {"fork_after", fork_after},
                 {"ipc", ipc}};
    for (const auto &part : parts)
        if (argc == 2 && strcmp(argv[1], part.name) == 0) {
            part.run();
            return 0;
        }
    return 2;
}
