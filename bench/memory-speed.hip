// c[i] = a[i] + b[i] over 64 Mi floats: kernels on the software device against a plain loop on the
// host, by turns in one run, so that a busy machine slows both. Prints the best of each and the
// ratios. Run by bench/memory-speed.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
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

static double now_s()
{
    timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
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

int main(int argc, char **argv)
{
    const size_t count = 64u << 20, bytes = count * sizeof(float);
    const int repetitions = argc > 1 ? atoi(argv[1]) : 5;
    std::vector<float> a(count), b(count, 1.0f), c(count), got(count);
    float *da, *db, *dc;
    double one_s = 1e30, four_s = 1e30, host_s = 1e30;

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
        time_it(&one_s, [&] {
            add1<<<count / 256, 256>>>(da, db, dc, count);
            check(hipDeviceSynchronize());
        });
        time_it(&four_s, [&] {
            add4<<<count / 1024, 256>>>((float4 *)da, (float4 *)db, (float4 *)dc, count / 4);
            check(hipDeviceSynchronize());
        });
        time_it(&host_s, [&] { add_on_host(a.data(), b.data(), c.data(), count); });
    }
    check(hipMemcpy(got.data(), dc, bytes, hipMemcpyDeviceToHost));
    if (got != c) {
        fprintf(stderr, "memory-speed: wrong sums\n");
        return 1;
    }
    printf("float %.3f s   float4 %.3f s   host loop %.3f s   %.1f and %.1f times the loop\n", one_s,
           four_s, host_s, one_s / host_s, four_s / host_s);
    return 0;
}
