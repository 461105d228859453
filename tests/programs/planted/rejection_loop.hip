// rejection_loop: each draw is tried until it is accepted, and all lanes wait for the unluckiest
// lane of each draw. The fix lets a lane go on to its next draw as soon as one is accepted.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_));                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { DRAWS = 16, THREADS = 256, GROUPS = 608 };

__host__ __device__ inline uint32_t next_of(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

__host__ __device__ inline uint32_t seed_of(uint32_t thread)
{
    return (thread + 1) * 2654435761u | 1;
}

// A point of a cube is accepted if it lies in the ball of an eighth of its edge or so (one in 15).
__host__ __device__ inline bool attempt(uint32_t *state, int *radius)
{
    const int x = (int)(next_of(state) >> 20) - 2048, y = (int)(next_of(state) >> 20) - 2048,
              z = (int)(next_of(state) >> 20) - 2048;
    *radius = x * x + y * y + z * z;
    return *radius < 1024 * 1024;
}

__global__ void __launch_bounds__(THREADS) sample(uint32_t *sums)
{
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
    uint32_t state = seed_of(thread), sum = 0;
    int radius;
#ifdef FIXED
    for (int draw = 0; draw < DRAWS;)
        if (attempt(&state, &radius)) {
            sum += radius;
            draw++;
        }
#else
    for (int draw = 0; draw < DRAWS; draw++) {
        while (!attempt(&state, &radius)) // planted: divergence
            ;
        sum += radius;
    }
#endif
    sums[thread] = sum;
}

int main()
{
    const int n = THREADS * GROUPS;
    uint32_t *sums;
    CHECK(hipMalloc(&sums, sizeof(uint32_t) * n));
    sample<<<GROUPS, THREADS>>>(sums);
    CHECK(hipGetLastError());
    std::vector<uint32_t> got(n);
    CHECK(hipMemcpy(got.data(), sums, sizeof(uint32_t) * n, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i += 101) {
        uint32_t state = seed_of(i), want = 0;
        int radius;
        for (int draw = 0; draw < DRAWS; draw++) {
            while (!attempt(&state, &radius))
                ;
            want += radius;
        }
        if (got[i] != want) {
            fprintf(stderr, "thread %d: %u, not %u\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(sums));
    puts("ok");
    return 0;
}
