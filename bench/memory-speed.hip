// c[i] = a[i] + b[i] over 64 Mi floats: kernels on the software device against a plain loop on the
// host, by turns in one run, so that a busy machine slows both; then into memory that nobody has
// touched yet. Prints the best of each and the ratios. "cpu" as an argument: processor time, which
// others on the machine change less; for one thread. Run by bench/memory-speed.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <vector>

__global__ void add1(const float *a, const float *b, float *c, size_t count)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        c[i] = a[i] + b[i];
}

__global__ void add4(const float4 *a, const float4 *b, float4 *c, size_t count)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        c[i] = a[i] + b[i];
}

__attribute__((noinline)) static void add_on_host(const float *a, const float *b, float *c,
                                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        c[i] = a[i] + b[i];
}

static clockid_t watch = CLOCK_MONOTONIC;

static double now_s()
{
    timespec now;

    clock_gettime(watch, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void check(hipError_t error)
{
    if (error != hipSuccess) {
        fprintf(stderr, "memory-speed: %s\n", hipGetErrorString(error));
        exit(1);
    }
}

template <class Work> static void time_it(double *best_s, Work work)
{
    double start_s = now_s();
    work();
    double took_s = now_s() - start_s;
    if (took_s < *best_s)
        *best_s = took_s;
}

struct seconds {
    double one = 1e30, four = 1e30, host = 1e30, first = 1e30, host_first = 1e30;
};

// Into fresh memory each time.
static void first_touch(seconds *best, const float *a, const float *b, const float *da,
                        const float *db, size_t count)
{
    const size_t bytes = count * sizeof(float);
    float *dc;
    check(hipMalloc(&dc, bytes));
    time_it(&best->first, [&] {
        add4<<<count / 1024, 256>>>((const float4 *)da, (const float4 *)db, (float4 *)dc,
                                    count / 4);
        check(hipDeviceSynchronize());
    });
    check(hipFree(dc));
    float *c =
        (float *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED) {
        perror("memory-speed");
        exit(1);
    }
    time_it(&best->host_first, [&] { add_on_host(a, b, c, count); });
    munmap(c, bytes);
}

int main(int argc, char **argv)
{
    const size_t count = 64u << 20, bytes = count * sizeof(float);
    const int repetitions = argc > 1 ? atoi(argv[1]) : 5;
    std::vector<float> a(count), b(count, 1.0f), c(count), got(count);
    float *da, *db, *dc;
    seconds best;

    if (argc > 2 && strcmp(argv[2], "cpu") == 0)
        watch = CLOCK_PROCESS_CPUTIME_ID;
    // HIP otherwise waits on a processor that the device could use.
    check(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
    for (size_t i = 0; i < count; i++)
        a[i] = (float)(i % 1000);
    check(hipMalloc(&da, bytes));
    check(hipMalloc(&db, bytes));
    check(hipMalloc(&dc, bytes));
    check(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
    check(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
    for (int i = 0; i < repetitions; i++) {
        time_it(&best.one, [&] {
            add1<<<count / 256, 256>>>(da, db, dc, count);
            check(hipDeviceSynchronize());
        });
        time_it(&best.four, [&] {
            add4<<<count / 1024, 256>>>((float4 *)da, (float4 *)db, (float4 *)dc, count / 4);
            check(hipDeviceSynchronize());
        });
        time_it(&best.host, [&] { add_on_host(a.data(), b.data(), c.data(), count); });
        first_touch(&best, a.data(), b.data(), da, db, count);
    }
    check(hipMemcpy(got.data(), dc, bytes, hipMemcpyDeviceToHost));
    if (got != c) {
        fprintf(stderr, "memory-speed: wrong sums\n");
        return 1;
    }
    printf("float %.3f s   float4 %.3f s   host loop %.3f s   %.1f and %.1f times the loop\n",
           best.one, best.four, best.host, best.one / best.host, best.four / best.host);
    printf(
        "             into fresh memory: float4 %.3f s   host loop %.3f s   %.1f times the loop\n",
        best.first, best.host_first, best.first / best.host_first);
    return 0;
}
