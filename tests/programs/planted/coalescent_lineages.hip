// coalescent_lineages: lineages of 16 to 1024 generations come in any order, so the lanes of a wave
// wait for its longest. The fix takes the lineages in order of their length.
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

enum { LINEAGES = 304 * 1024, THREADS = 256, SHORTEST = 16, LENGTHS = 7 };

__host__ __device__ inline uint32_t scramble(uint32_t bits)
{
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    return bits ^ bits >> 16;
}

// Half of the lineages go back 16 generations, a quarter 32, and so on to one in 64 with 1024.
static int length_class(int lineage)
{
    const uint32_t bits = scramble((uint32_t)lineage) | 1u << (LENGTHS - 1);
    return __builtin_ctz(bits);
}

__host__ __device__ inline uint32_t step(uint32_t state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

// Counts the mutations of a lineage, which happen in one of 32 generations.
__global__ void __launch_bounds__(THREADS)
    count_mutations(const int *order, const int *generations, int *mutations)
{
    const int at = blockIdx.x * THREADS + threadIdx.x;
    const int lineage = order ? order[at] : at, length = generations[lineage];
    uint32_t state = scramble((uint32_t)lineage + 0x9e3779b9u) | 1;
    int count = 0;
    for (int i = 0; i < length; i++) { // planted: divergence
        state = step(state);
        count += state >> 27 == 0;
    }
    mutations[lineage] = count;
}

// The lineages by length, the longest first: a counting sort.
static std::vector<int> by_length()
{
    std::vector<int> order;
    for (int length = LENGTHS - 1; length >= 0; length--)
        for (int i = 0; i < LINEAGES; i++)
            if (length_class(i) == length)
                order.push_back(i);
    return order;
}

int main()
{
    const size_t bytes = LINEAGES * sizeof(int);
    std::vector<int> generations(LINEAGES), got(LINEAGES);
    for (int i = 0; i < LINEAGES; i++)
        generations[i] = SHORTEST << length_class(i);
    int *order = NULL, *generations_in, *mutations;
#ifdef FIXED
    CHECK(hipMalloc(&order, bytes));
    CHECK(hipMemcpy(order, by_length().data(), bytes, hipMemcpyHostToDevice));
#else
    (void)by_length;
#endif
    CHECK(hipMalloc(&generations_in, bytes));
    CHECK(hipMalloc(&mutations, bytes));
    CHECK(hipMemcpy(generations_in, generations.data(), bytes, hipMemcpyHostToDevice));
    count_mutations<<<LINEAGES / THREADS, THREADS>>>(order, generations_in, mutations);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), mutations, bytes, hipMemcpyDeviceToHost));
    for (int i = 0; i < LINEAGES; i++) {
        uint32_t state = scramble((uint32_t)i + 0x9e3779b9u) | 1;
        int want = 0;
        for (int generation = 0; generation < generations[i]; generation++) {
            state = step(state);
            want += state >> 27 == 0;
        }
        if (got[i] != want) {
            fprintf(stderr, "lineage %d: %d, not %d\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(order));
    CHECK(hipFree(generations_in));
    CHECK(hipFree(mutations));
    puts("ok");
    return 0;
}
