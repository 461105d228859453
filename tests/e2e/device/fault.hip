// A kernel that cannot go on: the program gets HIP's error, every later call returns one too, and
// it ends as usual. It never hangs and never sees a result.
#include "check.h"

#include <cassert>
#include <cstring>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

__global__ void wild_store(int *where)
{
    where[threadIdx.x] = 1;
}

__global__ void wild_load(const int *where, int *out)
{
    *out = where[threadIdx.x];
}

// The last work-item's four dwords begin in the buffer and end behind it.
__global__ void wide_load(const int4 *from, int4 *out)
{
    out[0] = from[threadIdx.x];
}

__global__ void wild_call(void (*target)(int *), int *out)
{
    target(out);
}

__global__ void odd_atomic(char *where)
{
    atomicAdd(reinterpret_cast<unsigned long long *>(where + 4), 1ull);
}

__global__ void bad_opcode(int *out)
{
    asm volatile(".long 0xbfff0000\n"); // SOPP opcode 127 has no meaning on gfx9
    *out = 1;
}

__global__ void trap(int *out)
{
    __builtin_trap();
    *out = 1;
}

__global__ void give_up(int *out)
{
    if (threadIdx.x == 3)
        abort();
    *out = 1;
}

__global__ void claim(const int *value, int *out)
{
    assert(*value == 1);
    *out = 1;
}

__global__ void deep_stack(int *out, int n)
{
    volatile int stack[8000];
    stack[n] = n;
    *out = stack[n];
}

// The compiler does not know how deep this goes: the stack is what hipLimitStackSize says.
__device__ __attribute__((noinline)) int sink(volatile int *above, int depth)
{
    volatile int frame[64];
    frame[depth % 64] = above ? above[0] : depth;
    return depth == 0 ? frame[0] : sink(frame, depth - 1) + frame[depth % 64];
}

__global__ void recursion(int *out, int depth)
{
    *out = sink(nullptr, depth);
}

extern __shared__ int shared[];

// Outside its LDS a group reads zero and writes nothing; through a generic pointer it is a fault.
__global__ void lds_outside(int *out, unsigned offset)
{
    auto *at = reinterpret_cast<__attribute__((address_space(3))) volatile int *>(offset);
    *at = 7;
    out[threadIdx.x] = *at;
}

__global__ void lds_outside_generic(int *out, int n)
{
    volatile int *at = shared;
    *out = at[n];
}

__global__ void group(int *out)
{
    out[threadIdx.x] = shared[0];
}

__global__ void wait_for(const int *flag)
{
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
    }
}

static int *out;

// Memory that the device may only read.
static int *read_only()
{
    constexpr size_t bytes = 2 << 20;
    void *base;
    hipMemAllocationProp prop = {};
    prop.type = hipMemAllocationTypePinned;
    prop.location.type = hipMemLocationTypeDevice;
    hipMemGenericAllocationHandle_t handle;
    hipMemAccessDesc access = {};
    access.location = prop.location;
    access.flags = hipMemAccessFlagsProtRead;
    HIP(hipMemAddressReserve(&base, bytes, 0, nullptr, 0));
    HIP(hipMemCreate(&handle, bytes, &prop, 0));
    HIP(hipMemMap(base, bytes, 0, handle, 0));
    HIP(hipMemSetAccess(base, bytes, &access, 1));
    return static_cast<int *>(base);
}

static bool launch(const char *what)
{
    if (strcmp(what, "store") == 0)
        wild_store<<<1, 64>>>((int *)0x123456789000);
    else if (strcmp(what, "load") == 0)
        wild_load<<<dim3(2, 3), 128>>>((const int *)0x10, out);
    else if (strcmp(what, "fetch") == 0)
        wild_call<<<1, 64>>>((void (*)(int *))0x123456789000, out);
    else if (strcmp(what, "atomic") == 0)
        odd_atomic<<<1, 64>>>((char *)out);
    else if (strcmp(what, "opcode") == 0)
        bad_opcode<<<1, 64>>>(out);
    else if (strcmp(what, "trap") == 0)
        trap<<<1, 64>>>(out);
    else if (strcmp(what, "stack") == 0)
        recursion<<<1, 64>>>(out, 1000);
    else if (strcmp(what, "abort") == 0)
        give_up<<<1, 64>>>(out);
    else if (strcmp(what, "assert") == 0)
        claim<<<1, 64>>>(out, out);
    else if (strcmp(what, "generic-lds") == 0)
        lds_outside_generic<<<1, 64, 1024>>>(out, 1 << 20);
    else if (strcmp(what, "read-only") == 0)
        wild_store<<<1, 64>>>(read_only());
    else if (strcmp(what, "wide") == 0)
        wide_load<<<1, 64>>>((const int4 *)((char *)out + 2097152 - 63 * 16 - 8), (int4 *)out);
    else
        return false;
    return true;
}

// Launches that are refused before anything runs leave the device usable.
static int refused()
{
    group<<<1, 2048>>>(out);
    printf("2048 work-items: %s\n", hipGetErrorName(hipGetLastError()));
    group<<<1, 64, 65536 + 1024>>>(out);
    printf("65 KiB of LDS: %s\n", hipGetErrorName(hipGetLastError()));
    group<<<0, 64>>>(out);
    printf("no workgroups: %s\n", hipGetErrorName(hipGetLastError()));
    deep_stack<<<1, 64>>>(out, 3);
    HIP(hipGetLastError());
    HIP(hipDeviceSynchronize());
    group<<<1, 64, 65536>>>(out);
    HIP(hipGetLastError());
    HIP(hipDeviceSynchronize());
    return 0;
}

static void say(const char *what, hipError_t error)
{
    printf("%s: %s\n", what, hipGetErrorName(error));
}

// Calls with memory that is too large, given back or nobody's, and with code that is none.
static int mistakes()
{
    const size_t huge = (size_t)1 << 50;
    char garbage[256];
    hipModule_t module;
    void *p, *hundred_gib;
    int host[16] = {0};

    say("huge", hipMalloc(&p, huge));
    say("huge host", hipHostMalloc(&p, huge));
    say("huge managed", hipMallocManaged(&p, huge));
    say("huge in order", hipMallocAsync(&p, huge, 0));
    say("100 GiB", hipMalloc(&hundred_gib, (size_t)100 << 30)); // of the 192 of the GPU
    say("100 GiB more", hipMalloc(&p, (size_t)100 << 30));
    say("given back", hipFree(hundred_gib));
    say("100 GiB again", hipMalloc(&hundred_gib, (size_t)100 << 30));
    HIP(hipFree(hundred_gib));
    HIP(hipMalloc(&p, 1 << 20));
    HIP(hipFree(p));
    say("freed twice", hipFree(p));
    say("foreign", hipFree((void *)0x1234));
    say("foreign host", hipHostFree((void *)0x1234));
    say("copied from freed", hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
    say("copied to freed", hipMemcpy(p, host, sizeof host, hipMemcpyHostToDevice));
    say("set freed", hipMemset(p, 0, sizeof host));
    say("set too much", hipMemset(out, 0, 64 << 20));
    memset(garbage, 'g', sizeof garbage);
    say("no code", hipModuleLoadData(&module, garbage));
    say("no arguments", hipLaunchKernel((void *)group, dim3(1), dim3(64), nullptr, 0, 0));
    group<<<1, 64>>>(out); // all this left the device as it was
    HIP(hipDeviceSynchronize());
    return 0;
}

static int forgiven()
{
    int host[64];
    HIP(hipMemset(out, 0xff, sizeof host));
    lds_outside<<<1, 64>>>(out, 60000);
    HIP(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        CHECK(host[i] == 0);
    return 0;
}

// A kernel that never ends, and a user who presses Ctrl-C.
static int interrupted()
{
    int *flag;
    HIP(hipHostMalloc(&flag, sizeof *flag, hipHostMallocCoherent));
    *flag = 0;
    wait_for<<<2, 64>>>(flag);
    HIP(hipGetLastError());
    usleep(100000);
    if (fork() == 0) {
        usleep(200000);
        kill(getppid(), SIGINT);
        _exit(0);
    }
    HIP(hipDeviceSynchronize());
    return 0;
}

// The host takes longer than the device's patience, which says so and goes on waiting.
static int waits()
{
    int *flag;
    HIP(hipHostMalloc(&flag, sizeof *flag, hipHostMallocCoherent));
    *flag = 0;
    wait_for<<<2, 64>>>(flag);
    HIP(hipGetLastError());
    sleep(12);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    HIP(hipDeviceSynchronize());
    return 0;
}

// Goes on until its memory goes away.
__global__ void scribble(int *where, unsigned mask)
{
    for (unsigned i = 0; i < 1u << 30; i++)
        where[(i * 97 + blockIdx.x * blockDim.x + threadIdx.x) & mask] = i;
}

static void unmap_under_kernel()
{
    const size_t bytes = 4 << 20;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    HIP(hipHostRegister(p, bytes, hipHostRegisterDefault));
    scribble<<<32, 256>>>((int *)p, bytes / 4 - 1);
    usleep(100000);
    munmap(p, bytes);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    HIP(hipMalloc(&out, 2 << 20));
    HIP(hipMemset(out, 0, 4096));
    if (strcmp(argv[1], "refused") == 0)
        return refused();
    if (strcmp(argv[1], "mistakes") == 0)
        return mistakes();
    if (strcmp(argv[1], "forgiven") == 0)
        return forgiven();
    if (strcmp(argv[1], "interrupted") == 0)
        return interrupted();
    if (strcmp(argv[1], "waits") == 0)
        return waits();
    if (strcmp(argv[1], "unmap") == 0)
        unmap_under_kernel();
    else
        CHECK(launch(argv[1]));
    hipError_t error = hipDeviceSynchronize();
    printf("hipDeviceSynchronize: %s\n", hipGetErrorName(error));
    if (error == hipSuccess)
        return 0;
    int host = 0;
    printf("hipMemcpy: %s\n",
           hipGetErrorName(hipMemcpy(&host, out, sizeof host, hipMemcpyDeviceToHost)));
    trap<<<1, 64>>>(out);
    printf("next launch: %s\n", hipGetErrorName(hipGetLastError()));
    printf("hipDeviceSynchronize: %s\n", hipGetErrorName(hipDeviceSynchronize()));
    printf("hipFree: %s\n", hipGetErrorName(hipFree(out)));
    return 42;
}
