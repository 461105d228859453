// ising_idle_lanes: a sweep of an Ising model starts a thread for each site and half of the lanes,
// those of the other colour, have nothing to do. The fix starts a thread for each site of the
// colour.
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

enum { SIDE = 1024, N = SIDE * SIDE, SWEEPS = 2, THREADS = 256 };

__host__ __device__ inline int start_of(uint32_t site)
{
    return (site * 2654435761u >> 20 & 1) ? 1 : -1;
}

// Ten rounds of a keyed permutation, as counter-based generators have them.
__host__ __device__ inline uint32_t random_of(uint32_t site, uint32_t step)
{
    uint32_t a = site, b = step;
    for (int round = 0; round < 10; round++) {
        const uint64_t product = (uint64_t)a * 0xd256d193u;
        a = (uint32_t)(product >> 32) ^ b ^ (0x9e3779b9u * (round + 1));
        b = (uint32_t)product;
    }
    return a;
}

// Flips the spin of a site by the chances of each field, in 2^-32.
__host__ __device__ inline void update(int8_t *spins, uint32_t x, uint32_t y, uint32_t step)
{
    const uint32_t left = (x + SIDE - 1) % SIDE, right = (x + 1) % SIDE;
    const uint32_t up = (y + SIDE - 1) % SIDE, down = (y + 1) % SIDE, site = y * SIDE + x;
    const int field = spins[y * SIDE + left] + spins[y * SIDE + right] + spins[up * SIDE + x] +
                      spins[down * SIDE + x];
    const int cost = spins[site] * field;
    const uint32_t chance = cost <= 0 ? 0xffffffffu : cost == 2 ? 0x2bad0000u : 0x07800000u;
    if (random_of(site, step) <= chance)
        spins[site] = (int8_t)-spins[site];
}

__global__ void fill(int8_t *spins)
{
    const uint32_t site = blockIdx.x * THREADS + threadIdx.x;
    spins[site] = (int8_t)start_of(site);
}

__global__ void __launch_bounds__(THREADS) sweep(int8_t *spins, uint32_t colour, uint32_t step)
{
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
#ifdef FIXED
    const uint32_t y = thread / (SIDE / 2), x = thread % (SIDE / 2) * 2 + (y + colour) % 2;
    update(spins, x, y, step);
#else
    const uint32_t y = thread / SIDE, x = thread % SIDE;
    if ((x + y) % 2 == colour) // planted: divergence
        update(spins, x, y, step);
#endif
}

int main()
{
    int8_t *spins;
    CHECK(hipMalloc(&spins, N));
    fill<<<N / THREADS, THREADS>>>(spins);
    CHECK(hipGetLastError());
#ifdef FIXED
    const int sites = N / 2;
#else
    const int sites = N;
#endif
    std::vector<int8_t> want(N), got(N);
    for (uint32_t i = 0; i < N; i++)
        want[i] = (int8_t)start_of(i);
    for (uint32_t step = 0; step < 2 * SWEEPS; step++) {
        sweep<<<sites / THREADS, THREADS>>>(spins, step % 2, step);
        CHECK(hipGetLastError());
        for (uint32_t i = 0; i < N; i++)
            if ((i % SIDE + i / SIDE) % 2 == step % 2)
                update(want.data(), i % SIDE, i / SIDE, step);
    }
    CHECK(hipMemcpy(got.data(), spins, N, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < N; i++)
        if (got[i] != want[i]) {
            fprintf(stderr, "site %u: %d, not %d\n", i, got[i], want[i]);
            return 1;
        }
    CHECK(hipFree(spins));
    puts("ok");
    return 0;
}
