// orders: in which order waves and workgroups are executed; and kernels for which that does and does
// not matter. -DCANDIDATE: others in their place.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

#define RACE  1 // barriers side by side, then what they should lie between
#define PLAIN 2 // adds up without atomics, in LDS
#define OTHER 3 // right, and sums in another order
#ifndef CANDIDATE
#define CANDIDATE 0
#endif

// Which of the four waves was the n-th, and which workgroup.
extern "C" __global__ void places(int *out, int *count)
{
    __shared__ int waves;

    if (threadIdx.x == 0)
        waves = 0;
    __syncthreads();
    if (threadIdx.x % 64 == 0)
        out[blockIdx.x * 4 + atomicAdd(&waves, 1)] = threadIdx.x / 64;
    if (threadIdx.x == 0)
        out[gridDim.x * 4 + atomicAdd(count, 1)] = blockIdx.x;
}

// Each round takes what the wave before has left in the round before.
extern "C" __global__ void rounds(const int *in, int *out, int n)
{
    __shared__ int tile[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    int x = in[i];

    for (int round = 0; round < n; round++) {
        tile[t] = x;
        __syncthreads();
#if CANDIDATE == RACE
        __syncthreads();
        x += tile[(t + 64) % 256] * 3 + round;
#else
        x += tile[(t + 64) % 256] * 3 + round;
        __syncthreads();
#endif
    }
    out[i] = x;
}

// A histogram that is the same in any order.
extern "C" __global__ void counts(const int *in, int *out, int n)
{
    __shared__ int bins[16];
    const int t = threadIdx.x;

    if (t < 16)
        bins[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += 256) {
#if CANDIDATE == PLAIN
        if (t % 64 == 0) { // a wave at a time, as it seems
            for (int lane = 0; lane < 64 && i + lane < n; lane++)
                bins[in[i + lane] & 15] += 1;
        }
#elif CANDIDATE == OTHER
        const int j = n - 1 - i;
        atomicAdd(&bins[in[j] & 15], 1);
#else
        atomicAdd(&bins[in[i] & 15], 1);
#endif
    }
    __syncthreads();
    if (t < 16)
        out[blockIdx.x * 16 + t] = bins[t];
}

// A row for each workgroup. With a smaller width than the captured one rows overlap.
extern "C" __global__ void rows(const int *in, int *out, int width)
{
    out[blockIdx.x * width + threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x] * 3;
}

// Sums that are off by rounding in another order.
extern "C" __global__ void sums(const float *in, float *out)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
#if CANDIDATE == OTHER
    const float x = in[i] * 0.5f;

    atomicAdd(&out[i % 8], x);
    atomicAdd(&out[i % 8], x);
#else
    atomicAdd(&out[i % 8], in[i]);
#endif
}

// As many workgroups as add 1, if none comes between the load and the store of another.
extern "C" __global__ void plain_sum(int *out)
{
    if (threadIdx.x == 0)
        *out += 1;
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess)                                                                  \
            return 1;                                                                              \
    } while (0)

static int print_plain_sum()
{
    int *out, sum;

    CHECK(hipMalloc(&out, 4));
    CHECK(hipMemset(out, 0, 4));
    plain_sum<<<40, 256>>>(out);
    CHECK(hipMemcpy(&sum, out, 4, hipMemcpyDeviceToHost));
    printf("%d\n", sum);
    return 0;
}

int main(int argc, char **)
{
    if (argc > 1)
        return print_plain_sum();
    const int blocks = 6, n = blocks * 256;
    std::vector<int> in(n), out(blocks * 5);
    std::vector<float> numbers(n);
    int *a, *b, *count;
    float *x, *y;

    for (int i = 0; i < n; i++) {
        in[i] = i * 7919 % 1000 + 1;
        numbers[i] = 1 + (float)(i * 7919 % 1009) / 1009;
    }
    CHECK(hipMalloc(&a, n * 4));
    CHECK(hipMalloc(&b, n * 4));
    CHECK(hipMalloc(&x, n * 4));
    CHECK(hipMalloc(&y, 4096));
    CHECK(hipMalloc(&count, 4));
    CHECK(hipMemset(count, 0, 4));
    CHECK(hipMemset(y, 0, 4096));
    CHECK(hipMemcpy(a, in.data(), n * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(x, numbers.data(), n * 4, hipMemcpyHostToDevice));
    places<<<blocks, 256>>>(b, count);
    CHECK(hipMemcpy(out.data(), b, out.size() * 4, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < out.size(); i++)
        printf("%d%c", out[i], i % 4 == 3 || i + 1 == out.size() ? '\n' : ' ');
    rounds<<<blocks, 256>>>(a, b, 5);
    counts<<<2, 256>>>(a, b, 256);
    rows<<<blocks, 256>>>(a, b, 256);
    sums<<<blocks, 256>>>(x, y);
    CHECK(hipDeviceSynchronize());
    return 0;
}
