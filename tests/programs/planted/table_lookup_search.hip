// table_lookup_search: each query finds its place in a table of 4 million keys by a binary search,
// 22 loads that wait for each other. The fix finds the first 11 levels in LDS and waits for 11
// loads.
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

enum { LEVELS = 22, KEYS = 1 << LEVELS, TOP = 11, QUERIES = 311296, THREADS = 512 };

__host__ __device__ inline uint32_t key_of(uint32_t i)
{
    return i * 1000 + i * 2654435761u % 1000;
}

__host__ __device__ inline uint32_t query_of(uint32_t i)
{
    return (uint32_t)((uint64_t)(i * 2654435761u ^ i << 7) * KEYS * 1000 >> 32);
}

__global__ void fill(uint32_t *keys)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    keys[i] = key_of(i);
}

// The number of the last key that is not above the query, or 0.
__global__ void __launch_bounds__(THREADS) search(const uint32_t *keys, uint32_t *places)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x, query = query_of(i);
    uint32_t place = 0;
    int level = LEVELS - 1;
#ifdef FIXED
    __shared__ uint32_t top[1 << TOP];
    for (int t = threadIdx.x; t < 1 << TOP; t += THREADS)
        top[t] = keys[(size_t)t << (LEVELS - TOP)];
    __syncthreads();
    for (; level >= LEVELS - TOP; level--)
        if (top[(place | 1u << level) >> (LEVELS - TOP)] <= query)
            place |= 1u << level;
#endif
    for (; level >= 0; level--)
        if (keys[place | 1u << level] <= query) // planted: memory_latency
            place |= 1u << level;
    places[i] = place;
}

int main()
{
    uint32_t *keys, *places;
    CHECK(hipMalloc(&keys, sizeof(uint32_t) * KEYS));
    CHECK(hipMalloc(&places, sizeof(uint32_t) * QUERIES));
    fill<<<KEYS / THREADS, THREADS>>>(keys);
    CHECK(hipGetLastError());
    search<<<QUERIES / THREADS, THREADS>>>(keys, places);
    CHECK(hipGetLastError());
    std::vector<uint32_t> got(QUERIES);
    CHECK(hipMemcpy(got.data(), places, sizeof(uint32_t) * QUERIES, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < QUERIES; i++) {
        const uint32_t query = query_of(i), place = got[i];
        const bool low = place == 0 || key_of(place) <= query;
        const bool high = place == KEYS - 1 || key_of(place + 1) > query;
        if (!low || !high) {
            fprintf(stderr, "query %u: place %u is wrong\n", i, place);
            return 1;
        }
    }
    CHECK(hipFree(keys));
    CHECK(hipFree(places));
    puts("ok");
    return 0;
}
