// The programs of tests/e2e/tool, chosen by the first argument. Everything printed is a result that
// must be the same with and without the collector, times of events included: they are modelled.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t error_ = (call);                                                                \
        if (error_ != hipSuccess) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error_));                         \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

__global__ void scale(float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] *= by;
}

__global__ void reverse(const float *from, float *to, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    part[threadIdx.x] = i < n ? from[i] : 0;
    __syncthreads();
    if (i < n)
        to[i] = part[blockDim.x - 1 - threadIdx.x];
}

static const int N = 4096;

static void fill(std::vector<float> &values)
{
    for (int i = 0; i < N; i++)
        values[i] = (float)(i % 97);
}

static double sum(const std::vector<float> &values)
{
    double total = 0;

    for (int i = 0; i < N; i++)
        total += values[i] * (i + 1);
    return total;
}

// One stream's worth of work; returns its checksum.
static double stream_work(hipStream_t stream, int rounds)
{
    std::vector<float> values(N);
    float *a, *b;

    fill(values);
    CHECK(hipMalloc((void **)&a, N * sizeof(float)));
    CHECK(hipMalloc((void **)&b, N * sizeof(float)));
    CHECK(hipMemcpyAsync(a, values.data(), N * sizeof(float), hipMemcpyHostToDevice, stream));
    for (int i = 0; i < rounds; i++) {
        scale<<<N / 256, 256, 0, stream>>>(a, 1.5f, N);
        reverse<<<N / 256, 256, 0, stream>>>(a, b, N);
        std::swap(a, b);
    }
    CHECK(hipMemcpyAsync(values.data(), a, N * sizeof(float), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    return sum(values);
}

// Events around every second kernel of one stream: elapsed times come from the device.
static void events(void)
{
    const int rounds = 20;
    std::vector<hipEvent_t> marks(rounds + 1);
    float *a, total = 0;

    CHECK(hipMalloc((void **)&a, N * sizeof(float)));
    CHECK(hipMemset(a, 0, N * sizeof(float)));
    CHECK(hipDeviceSynchronize());
    for (auto &mark : marks)
        CHECK(hipEventCreate(&mark));
    CHECK(hipEventRecord(marks[0]));
    for (int i = 0; i < rounds; i++) {
        scale<<<N / 256, 256>>>(a, 1.5f, N);
        scale<<<N / 256, 256>>>(a, 0.5f, N);
        CHECK(hipEventRecord(marks[i + 1]));
    }
    CHECK(hipEventSynchronize(marks[rounds]));
    for (int i = 0; i < rounds; i++) {
        float ms = -1;

        CHECK(hipEventElapsedTime(&ms, marks[i], marks[i + 1]));
        printf("event %d: %.6f ms\n", i, ms);
        total += ms;
    }
    printf("events: %.6f ms\n", total);
    CHECK(hipFree(a));
}

// Streams that wait for each other through events, some destroyed and created again.
static void streams(void)
{
    for (int round = 0; round < 3; round++) {
        hipStream_t stream[4];
        hipEvent_t done;
        float *a;
        std::vector<float> values(N);

        fill(values);
        CHECK(hipMalloc((void **)&a, N * sizeof(float)));
        CHECK(hipMemcpy(a, values.data(), N * sizeof(float), hipMemcpyHostToDevice));
        CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
        for (auto &s : stream)
            CHECK(hipStreamCreate(&s));
        for (int i = 0; i < 40; i++) {
            scale<<<N / 256, 256, 0, stream[i % 4]>>>(a, i % 2 ? 0.5f : 2.0f, N);
            CHECK(hipEventRecord(done, stream[i % 4]));
            CHECK(hipStreamWaitEvent(stream[(i + 1) % 4], done, 0));
        }
        CHECK(hipDeviceSynchronize());
        CHECK(hipMemcpy(values.data(), a, N * sizeof(float), hipMemcpyDeviceToHost));
        printf("streams %d: %.3f\n", round, sum(values));
        for (auto &s : stream)
            CHECK(hipStreamDestroy(s));
        CHECK(hipEventDestroy(done));
        CHECK(hipFree(a));
    }
}

// Streams destroyed while they are busy, one by one and with all of the device.
static void destroy(void)
{
    for (int round = 0; round < 60; round++) {
        hipStream_t stream[3];
        hipEvent_t done;
        float *a;

        CHECK(hipMalloc((void **)&a, N * sizeof(float)));
        CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
        for (auto &s : stream)
            CHECK(hipStreamCreate(&s));
        for (int i = 0; i < 6; i++) {
            scale<<<N / 256, 256, 0, stream[i % 3]>>>(a, 2.0f, N);
            CHECK(hipEventRecord(done, stream[i % 3]));
            CHECK(hipStreamWaitEvent(stream[(i + 1) % 3], done, 0));
        }
        if (round % 2)
            CHECK(hipDeviceSynchronize());
        if (round % 20 == 19) {
            CHECK(hipDeviceReset());
            continue;
        }
        for (auto &s : stream)
            CHECK(hipStreamDestroy(s));
        CHECK(hipEventDestroy(done));
        CHECK(hipFree(a));
    }
    printf("destroyed\n");
}

static void threads(void)
{
    const int count = 4;
    double result[count];
    std::vector<std::thread> all;

    for (int t = 0; t < count; t++)
        all.emplace_back([t, &result] {
            hipStream_t stream;

            CHECK(hipStreamCreate(&stream));
            result[t] = stream_work(stream, 50);
            CHECK(hipStreamDestroy(stream));
        });
    for (auto &thread : all)
        thread.join();
    for (int t = 0; t < count; t++)
        printf("thread %d: %.3f\n", t, result[t]);
}

static void many(int count)
{
    float *a;

    CHECK(hipMalloc((void **)&a, N * sizeof(float)));
    CHECK(hipMemset(a, 0, N * sizeof(float)));
    for (int i = 0; i < count; i++)
        scale<<<1, 64>>>(a, 1.5f, 64);
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(a));
    printf("many: %d\n", count);
}

// Copies by the runtime's own engine: pinned memory, larger than what goes through kernels of HIP.
static void copies(void)
{
    const size_t bytes = 8 << 20;
    char *host, *device;
    size_t wrong = 0;

    CHECK(hipHostMalloc((void **)&host, bytes, 0));
    CHECK(hipMalloc((void **)&device, bytes));
    for (int round = 0; round < 3; round++) {
        memset(host, round + 1, bytes);
        CHECK(hipMemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, 0));
        CHECK(hipStreamSynchronize(0));
        memset(host, 0, bytes);
        CHECK(hipMemcpyAsync(host, device, bytes, hipMemcpyDeviceToHost, 0));
        CHECK(hipStreamSynchronize(0));
        for (size_t i = 0; i < bytes; i++)
            wrong += host[i] != round + 1;
    }
    printf("copies: %zu wrong\n", wrong);
    CHECK(hipFree(device));
    CHECK(hipHostFree(host));
}

// Ten kernels, known to be complete, then the end that is asked for.
static void end_with(const char *how)
{
    many(10);
    fflush(stdout);
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "thread") == 0)
        std::thread([] { exit(3); }).join();
}

// The child after fork() uses no GPU; the one after exec is a program like any other.
static void fork_and_exec(const char *self)
{
    int status = 0;
    pid_t child;

    many(10);
    fflush(stdout);
    child = fork();
    if (child == 0)
        exit(0); // runs the exit handlers of a process that the collector must not touch
    waitpid(child, &status, 0);
    printf("forked child: %d\n", WEXITSTATUS(status));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        execl(self, self, "many", "5", (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    printf("executed child: %d\n", WEXITSTATUS(status));
    many(7);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "events") == 0)
        events();
    else if (strcmp(what, "streams") == 0)
        streams();
    else if (strcmp(what, "destroy") == 0)
        destroy();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "copies") == 0)
        copies();
    else if (strcmp(what, "many") == 0)
        many(atoi(argv[2]));
    else if (strcmp(what, "end") == 0)
        end_with(argv[2]);
    else if (strcmp(what, "fork") == 0)
        fork_and_exec(argv[0]);
    else
        return 2;
    return 0;
}
