// quality_scores: three in four base qualities are 37, so most lanes of a wave add to the same
// counter in LDS. The fix keeps 32 copies of the counters, one to each bank, and adds them at the
// end.
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

enum { TILES = 1216, THREADS = 256, WORDS = 16, QUALITIES = 64, PER_WORD = 4 };
enum { TILE_WORDS = THREADS * WORDS };

#ifdef FIXED
enum { COPIES = 32 };
#else
enum { COPIES = 1 };
#endif

// A sequencer's qualities: most bases are good, some are fair, few are anything else.
static uint32_t quality(uint32_t base)
{
    base = (base ^ base >> 16) * 0x7feb352du;
    base ^= base >> 15;
    const uint32_t percent = base % 100;
    return percent < 75 ? 37 : percent < 88 ? 25 : percent < 94 ? 11 : 2 + base / 128 % 39;
}

// The histogram of the qualities of a tile of the flow cell.
__global__ void __launch_bounds__(THREADS) histogram(const uint32_t *words, int *counts)
{
    __shared__ int local[QUALITIES * COPIES];
    for (int i = threadIdx.x; i < QUALITIES * COPIES; i += THREADS)
        local[i] = 0;
    __syncthreads();
    for (int i = 0; i < WORDS; i++) {
        const uint32_t word = words[blockIdx.x * TILE_WORDS + i * THREADS + threadIdx.x];
        for (int shift = 0; shift < 32; shift += 8) {
            const int counter = (word >> shift & (QUALITIES - 1)) * COPIES + threadIdx.x % COPIES;
            atomicAdd(&local[counter], 1); // planted: atomic_contention
        }
    }
    __syncthreads();
    if (threadIdx.x >= QUALITIES)
        return;
    int count = 0;
    for (int copy = 0; copy < COPIES; copy++)
        count += local[threadIdx.x * COPIES + (copy + threadIdx.x) % COPIES];
    counts[blockIdx.x * QUALITIES + threadIdx.x] = count;
}

int main()
{
    std::vector<uint32_t> words((size_t)TILES * TILE_WORDS);
    std::vector<int> got(TILES * QUALITIES), want(TILES * QUALITIES, 0);
    for (uint32_t i = 0; i < words.size(); i++)
        for (uint32_t base = 0; base < PER_WORD; base++) {
            const uint32_t value = quality(i * PER_WORD + base);
            words[i] |= value << 8 * base;
            want[i / TILE_WORDS * QUALITIES + value]++;
        }
    uint32_t *words_in;
    int *counts;
    CHECK(hipMalloc(&words_in, words.size() * sizeof(uint32_t)));
    CHECK(hipMalloc(&counts, got.size() * sizeof(int)));
    CHECK(
        hipMemcpy(words_in, words.data(), words.size() * sizeof(uint32_t), hipMemcpyHostToDevice));
    histogram<<<TILES, THREADS>>>(words_in, counts);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), counts, got.size() * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < TILES * QUALITIES; i++)
        if (got[i] != want[i]) {
            fprintf(stderr, "tile %d, quality %d: %d, not %d\n", i / QUALITIES, i % QUALITIES,
                    got[i], want[i]);
            return 1;
        }
    CHECK(hipFree(words_in));
    CHECK(hipFree(counts));
    puts("ok");
    return 0;
}
