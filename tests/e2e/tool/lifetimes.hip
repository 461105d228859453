// lifetimes WHAT: the ways in which a program's streams come to an end while HIP may still have
// something to report of them. Prints what a collector must not change.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(status_));        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const int N = 4096, ROUNDS = 40;

__global__ void add(int *a, int x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N)
        a[i] += x;
}

static int *zeros(void)
{
    int *a;

    CHECK(hipMalloc((void **)&a, N * sizeof(int)));
    CHECK(hipMemset(a, 0, N * sizeof(int)));
    CHECK(hipDeviceSynchronize());
    return a;
}

static void print_sum(const char *what, int *a)
{
    std::vector<int> values(N);
    long sum = 0;

    CHECK(hipMemcpy(values.data(), a, N * sizeof(int), hipMemcpyDeviceToHost));
    for (int v : values)
        sum += v;
    printf("%s %ld\n", what, sum);
}

// Kernels with an event after each, which is what HIP reports late.
static void keep_busy(hipStream_t stream, hipEvent_t done, int *a, int launches)
{
    for (int i = 0; i < launches; i++) {
        add<<<N / 256, 256, 0, stream>>>(a, 1);
        CHECK(hipEventRecord(done, stream));
    }
}

// Branches of a graph run on streams of HIP's own, which end with the graph.
static void graphs(void)
{
    int *a[3] = {zeros(), zeros(), zeros()};

    for (int round = 0; round < ROUNDS; round++) {
        hipStream_t stream;
        hipGraph_t graph;
        hipGraphExec_t exec;
        hipGraphNode_t root, node;
        int one = 1;

        CHECK(hipStreamCreate(&stream));
        CHECK(hipGraphCreate(&graph, 0));
        CHECK(hipGraphAddEmptyNode(&root, graph, nullptr, 0));
        for (auto &array : a) {
            void *args[] = {&array, &one};
            hipKernelNodeParams params = {};

            params.func = (void *)add;
            params.gridDim = dim3(N / 256);
            params.blockDim = dim3(256);
            params.kernelParams = args;
            CHECK(hipGraphAddKernelNode(&node, graph, &root, 1, &params));
            CHECK(hipGraphAddKernelNode(&node, graph, &node, 1, &params));
        }
        CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
        for (int i = 0; i < 3; i++)
            CHECK(hipGraphLaunch(exec, stream));
        if (round % 2)
            CHECK(hipStreamSynchronize(stream));
        CHECK(hipGraphExecDestroy(exec));
        CHECK(hipGraphDestroy(graph));
        CHECK(hipStreamDestroy(stream));
    }
    CHECK(hipDeviceSynchronize());
    for (auto array : a)
        print_sum("graphs", array);
}

static void other_thread(void)
{
    hipEvent_t done;
    int *a = zeros();

    CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
    for (int round = 0; round < ROUNDS; round++) {
        std::vector<std::thread> all;

        for (int i = 0; i < 3; i++) {
            hipStream_t stream;

            CHECK(hipStreamCreate(&stream));
            keep_busy(stream, done, a, 3);
            if (round % 2)
                CHECK(hipStreamSynchronize(stream));
            all.emplace_back([stream] { CHECK(hipStreamDestroy(stream)); });
        }
        for (auto &t : all)
            t.join();
    }
    CHECK(hipDeviceSynchronize());
    printf("other thread\n");
}

static void reset(void)
{
    for (int round = 0; round < ROUNDS / 4; round++) {
        hipStream_t stream[3];
        hipEvent_t done;
        int *a = zeros();

        CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
        for (auto &s : stream) {
            CHECK(hipStreamCreate(&s));
            keep_busy(s, done, a, 3);
        }
        keep_busy(hipStreamPerThread, done, a, 3);
        if (round % 2)
            CHECK(hipDeviceSynchronize());
        CHECK(hipDeviceReset());
    }
    printf("reset\n");
}

// Ends with streams that are busy.
static void live(void)
{
    hipEvent_t done;
    int *a = zeros();

    CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
    for (int i = 0; i < 4; i++) {
        hipStream_t stream;

        CHECK(hipStreamCreate(&stream));
        keep_busy(stream, done, a, 10);
    }
    printf("live\n");
}

static void forks(void)
{
    hipStream_t stream;
    hipEvent_t done;
    int *a = zeros();

    CHECK(hipStreamCreate(&stream));
    CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
    for (int round = 0; round < 8; round++) {
        int status;

        keep_busy(stream, done, a, 3);
        pid_t child = fork();
        if (child == 0)
            _exit(7);
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
            exit(1);
        printf("child %d\n", WEXITSTATUS(status));
        CHECK(hipStreamDestroy(stream));
        CHECK(hipStreamCreate(&stream));
    }
    CHECK(hipDeviceSynchronize());
    print_sum("fork", a);
}

// While one stream is captured others come and go, and the captured one itself.
static void capture(void)
{
    hipEvent_t done;
    int *a = zeros();

    CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
    for (int round = 0; round < ROUNDS / 4; round++) {
        hipStream_t captured, other;
        hipGraph_t graph = nullptr;
        hipGraphExec_t exec;

        CHECK(hipStreamCreateWithFlags(&captured, hipStreamNonBlocking));
        CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
        keep_busy(other, done, a, 3);
        CHECK(hipStreamSynchronize(other));
        CHECK(hipStreamBeginCapture(captured, hipStreamCaptureModeGlobal));
        add<<<N / 256, 256, 0, captured>>>(a, 1);
        CHECK(hipStreamDestroy(other));
        add<<<N / 256, 256, 0, captured>>>(a, 1);
        if (round % 2) {
            hipError_t ended = hipStreamEndCapture(captured, &graph);

            printf("capture %s\n", hipGetErrorName(ended));
            if (ended == hipSuccess) {
                CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
                CHECK(hipGraphLaunch(exec, captured));
                CHECK(hipGraphExecDestroy(exec));
                CHECK(hipGraphDestroy(graph));
            }
        }
        printf("destroy %s\n", hipGetErrorName(hipStreamDestroy(captured)));
        printf("last error %s\n", hipGetErrorName(hipGetLastError()));
    }
    CHECK(hipDeviceSynchronize());
    print_sum("capture", a);
}

// HIP 7.2 uses the stream of an event after that has ended with its thread, and dies of it, without
// a collector, too.
static void wait_for(std::atomic<int> &arrived, int all)
{
    arrived++;
    while (arrived < all)
        std::this_thread::yield();
}

// HIP ends a thread's own stream with the thread, without any call.
static void per_thread(void)
{
    int *a[4] = {zeros(), zeros(), zeros(), zeros()};

    hipEvent_t shared[4];

    for (auto &event : shared)
        CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    for (int round = 0; round < ROUNDS; round++) {
        std::vector<std::thread> all;
        std::atomic<int> recorded{0}, waited{0};

        for (int i = 0; i < 4; i++) {
            all.emplace_back([i, &a, &shared, &recorded, &waited, round] {
                keep_busy(hipStreamPerThread, shared[i], a[i], 3);
                wait_for(recorded, 4);
                CHECK(hipStreamWaitEvent(hipStreamPerThread, shared[(i + 1) % 4], 0));
                wait_for(waited, 4);
                if (round % 2)
                    CHECK(hipStreamSynchronize(hipStreamPerThread));
            });
        }
        for (auto &t : all)
            t.join();
    }
    CHECK(hipDeviceSynchronize());
    for (auto array : a)
        print_sum("per thread", array);
}

// Calls that fail: the collector must not look where the stream's handle would be.
static void refused(void)
{
    hipStream_t kept = nullptr;

    printf("create %d\n", hipStreamCreateWithFlags(&kept, 0x7777));
    printf("destroy null %d\n", hipStreamDestroy(nullptr));
    printf("destroy per thread %d\n", hipStreamDestroy(hipStreamPerThread));
    printf("last error %d\n", hipGetLastError());
}

int main(int argc, char **argv)
{
    setvbuf(stdout, nullptr, _IOLBF, 0);
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"graphs", graphs}, {"other-thread", other_thread}, {"reset", reset},
        {"live", live},     {"forks", forks},               {"capture", capture},
        {"per-thread", per_thread}, {"refused", refused},
    };

    for (const auto &one : all) {
        if (argc == 2 && strcmp(argv[1], one.name) == 0) {
            one.run();
            return 0;
        }
    }
    fprintf(stderr, "usage: lifetimes WHAT\n");
    return 2;
}
