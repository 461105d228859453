// With HSA_XNACK=1 kernels reach the program's own memory: heap, stack, globals, files. Without it
// they fault, as they do with it where the program itself could not go.
#include "check.h"

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <numeric>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const int N = 100000;

__global__ void add(const int *a, const int *b, int *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = a[i] + b[i];
}

__global__ void count(int *total, int n)
{
    if (int(blockIdx.x * blockDim.x + threadIdx.x) < n)
        atomicAdd(total, 1);
}

static void launch_add(const int *a, const int *b, int *sum, int n)
{
    add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
    HIP(hipGetLastError());
    HIP(hipDeviceSynchronize());
}

static int global_a[1000], global_sum[1000];
static const int constant_b[4] = {10, 20, 30, 40};

static void attributes(int expected)
{
    hipDeviceProp_t props;
    int value = -1;
    HIP(hipGetDeviceProperties(&props, 0));
    printf("%s\n", props.gcnArchName);
    CHECK(std::string(props.gcnArchName).find(expected ? ":xnack+" : ":xnack-") !=
          std::string::npos);
    CHECK(props.pageableMemoryAccess == expected);
    HIP(hipDeviceGetAttribute(&value, hipDeviceAttributePageableMemoryAccess, 0));
    CHECK(value == expected);
    HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeManagedMemory, 0));
    CHECK(value == 1);
    HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeConcurrentManagedAccess, 0));
    CHECK(value == 1);
    // Page tables are the GPU's own: an MI300X is not of the kind that walks the host's.
    HIP(hipDeviceGetAttribute(&value, hipDeviceAttributePageableMemoryAccessUsesHostPageTables, 0));
    CHECK(value == 0);
}

static void heap()
{
    int *a = (int *)malloc(N * sizeof(int)); // large: a mapping of its own
    auto b = std::make_unique<int[]>(N);
    std::vector<int> sum(N + 1, -1), small_a(50, 3), small_b(50, 4), small_sum(51, -1);
    for (int i = 0; i < N; i++)
        a[i] = i, b[i] = 7 * i;
    launch_add(a, b.get(), sum.data(), N);
    for (int i = 0; i < N; i++)
        CHECK(sum[i] == 8 * i);
    CHECK(sum[N] == -1);
    launch_add(small_a.data(), small_b.data(), small_sum.data(), 50);
    for (int i = 0; i < 50; i++)
        CHECK(small_sum[i] == 7);
    CHECK(small_sum[50] == -1);
    free(a);
    // What comes next from the heap may lie where a was, or not: the GPU sees what the host does.
    for (int round = 0; round < 5; round++) {
        std::vector<int> again(N + 1000 * round, round);
        launch_add(again.data(), again.data(), again.data(), N);
        CHECK(again[0] == 2 * round && again[N - 1] == 2 * round);
    }
}

static void stack_and_globals()
{
    int a[300], sum[1000];
    for (int i = 0; i < 300; i++)
        a[i] = i;
    launch_add(a, a, sum, 300);
    for (int i = 0; i < 300; i++)
        CHECK(sum[i] == 2 * i);
    for (int i = 0; i < 1000; i++)
        global_a[i] = 5 * i;
    launch_add(global_a, global_a, global_sum, 1000);
    CHECK(global_sum[999] == 9990 && global_sum[1] == 10);
    launch_add(constant_b, constant_b, sum, 4);
    CHECK(sum[0] == 20 && sum[3] == 80);
}

// A file: the kernel reads what is in it, and what it writes arrives there.
static void file()
{
    char path[] = "/tmp/rp-xnack-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    std::vector<int> numbers(4096), back(4096);
    std::iota(numbers.begin(), numbers.end(), 1);
    CHECK(write(fd, numbers.data(), 16384) == 16384);
    int *shared = (int *)mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int *read_only = (const int *)mmap(nullptr, 16384, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(shared != MAP_FAILED && read_only != MAP_FAILED);
    launch_add(read_only, shared, shared, 2048);
    CHECK(pread(fd, back.data(), 16384, 0) == 16384);
    CHECK(back[0] == 2 && back[2047] == 4096 && back[2048] == 2049);
    munmap(shared, 16384);
    close(fd);
}

// Copies and fills whose both ends, or one, are the program's own.
static void copies()
{
    std::vector<int> from(N), to(N, 0);
    std::iota(from.begin(), from.end(), 0);
    int *device;
    HIP(hipMalloc(&device, N * sizeof(int)));
    HIP(hipMemcpy(device, from.data(), N * sizeof(int), hipMemcpyDefault));
    launch_add(device, from.data(), device, N);
    HIP(hipMemcpyAsync(to.data(), device, N * sizeof(int), hipMemcpyDeviceToHost, 0));
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < N; i++)
        CHECK(to[i] == 2 * i);
    HIP(hipFree(device));
}

__global__ void converse(int *turn, int rounds, int *seen)
{
    for (int i = 0; i < rounds; i++) {
        while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != 2 * i + 1)
            ;
        *seen += 1;
        __hip_atomic_store(turn, 2 * i + 2, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    }
}

// Host and device take turns by an atomic on the stack, and add up in one.
static void atomics()
{
    std::atomic<int> turn{0};
    int seen = 0, total = 0;
    converse<<<1, 1>>>((int *)&turn, 20, &seen);
    HIP(hipGetLastError());
    for (int i = 0; i < 20; i++) {
        turn.store(2 * i + 1);
        while (turn.load() != 2 * i + 2)
            std::this_thread::yield();
        CHECK(__atomic_load_n(&seen, __ATOMIC_SEQ_CST) == i + 1);
    }
    HIP(hipDeviceSynchronize());
    count<<<40, 256>>>(&total, 10000);
    for (int i = 0; i < 1000; i++)
        __atomic_add_fetch(&total, 1, __ATOMIC_SEQ_CST);
    HIP(hipDeviceSynchronize());
    CHECK(total == 11000);
}

__global__ void fill_until(volatile int *data, int n, volatile int *stop, volatile int *started)
{
    *started = 1;
    for (int round = 0; !*stop; round++)
        for (int i = 0; i < n; i++)
            data[i] = round;
}

// The program takes pages away that a kernel is writing to, or the right to write there.
static void vanishing(int protection)
{
    const int n = 1 << 16;
    int *flags;
    int *data = (int *)mmap(nullptr, n * sizeof(int), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(data != MAP_FAILED);
    HIP(hipHostMalloc(&flags, 2 * sizeof(int)));
    flags[0] = flags[1] = 0;
    fill_until<<<1, 1>>>(data, n, &flags[0], &flags[1]);
    while (!*(volatile int *)&flags[1])
        ;
    usleep(2000);
    // As munmap(), but nobody else gets the addresses meanwhile.
    CHECK(mmap(data, n * sizeof(int), protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          data);
    hipError_t error = hipDeviceSynchronize();
    printf("\nhipDeviceSynchronize: %s\n", hipGetErrorName(error));
    exit(error == hipErrorIllegalAddress ? 42 : 1);
}

static void must_fault(const int *a, int *sum)
{
    add<<<1, 64>>>(a, a, sum, 64);
    hipError_t error = hipDeviceSynchronize();
    printf("\nhipDeviceSynchronize: %s\n", hipGetErrorName(error));
    exit(error == hipErrorIllegalAddress ? 42 : 1);
}

static volatile sig_atomic_t caught;

static void on_segv(int)
{
    caught = 1;
    _exit(43);
}

// The program's own handlers are what it has set, and get its own faults.
static void handlers()
{
    struct sigaction action = {}, old;
    HIP(hipSetDevice(0));
    std::vector<int> sum(64, 1);
    launch_add(sum.data(), sum.data(), sum.data(), 64);
    CHECK(sigaction(SIGSEGV, nullptr, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(signal(SIGBUS, SIG_IGN) == SIG_DFL && signal(SIGBUS, SIG_DFL) == SIG_IGN);
    action.sa_handler = on_segv;
    CHECK(sigaction(SIGSEGV, &action, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGSEGV, nullptr, &old) == 0 && old.sa_handler == on_segv);
    launch_add(sum.data(), sum.data(), sum.data(), 64);
    CHECK(sum[63] == 4);
    *(volatile int *)8 = 1;
}

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "";
    static int scratch[64];
    if (what == "off") {
        attributes(0);
        must_fault(scratch, scratch);
    }
    attributes(1);
    if (what == "unmapped")
        must_fault((const int *)0x10000, scratch);
    if (what == "read-only")
        must_fault(constant_b, (int *)constant_b);
    if (what == "no-access") {
        void *p = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must_fault((const int *)p, scratch);
    }
    if (what == "beyond-file") { // mapped, but there is nothing behind it
        char path[] = "/tmp/rp-xnack-XXXXXX";
        int fd = mkstemp(path);
        CHECK(fd >= 0 && unlink(path) == 0);
        must_fault((const int *)mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0), scratch);
    }
    if (what == "vanishing")
        vanishing(PROT_NONE);
    if (what == "protected")
        vanishing(PROT_READ);
    if (what == "handlers")
        handlers();
    heap();
    stack_and_globals();
    file();
    copies();
    atomics();
    puts("ok");
    return 0;
}
