// fingerprint_bits: the similarity of molecular fingerprints counts common bits one by one in a
// loop. The fix counts the bits of a word with one population count.
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

enum { WORDS = 16, LIBRARY = 155648, QUERIES = 2, THREADS = 256 };

__host__ __device__ inline uint32_t word_of(uint32_t molecule, uint32_t word)
{
    uint32_t h = (molecule * WORDS + word + 1) * 2654435761u;
    h = (h ^ (h >> 15)) * 2246822519u;
    return h ^ (h >> 13);
}

__device__ inline int bits(uint32_t word)
{
#ifdef FIXED
    return __popc(word);
#else
    int n = 0;
    for (int i = 0; i < 32; i++)
        n += word >> i & 1; // planted: valu_throughput
    return n;
#endif
}

// Word w of all molecules lies side by side.
__global__ void fill(uint32_t *prints)
{
    const int molecule = blockIdx.x * THREADS + threadIdx.x;
    for (int w = 0; w < WORDS; w++)
        prints[(size_t)w * LIBRARY + molecule] = word_of(molecule, w);
}

__global__ void __launch_bounds__(THREADS) tanimoto(const uint32_t *prints, float *score)
{
    const int molecule = blockIdx.x * THREADS + threadIdx.x;
    int both[QUERIES] = {}, either[QUERIES] = {};
    for (int w = 0; w < WORDS; w++) {
        const uint32_t mine = prints[(size_t)w * LIBRARY + molecule];
        for (int q = 0; q < QUERIES; q++) {
            const uint32_t query = prints[(size_t)w * LIBRARY + q];
            both[q] += bits(mine & query);
            either[q] += bits(mine | query);
        }
    }
    for (int q = 0; q < QUERIES; q++)
        score[q * LIBRARY + molecule] = (float)both[q] / (float)either[q];
}

int main()
{
    uint32_t *prints;
    float *score;
    CHECK(hipMalloc(&prints, sizeof(uint32_t) * WORDS * LIBRARY));
    CHECK(hipMalloc(&score, sizeof(float) * QUERIES * LIBRARY));
    fill<<<LIBRARY / THREADS, THREADS>>>(prints);
    CHECK(hipGetLastError());
    tanimoto<<<LIBRARY / THREADS, THREADS>>>(prints, score);
    CHECK(hipGetLastError());
    std::vector<float> got(QUERIES * LIBRARY);
    CHECK(hipMemcpy(got.data(), score, sizeof(float) * got.size(), hipMemcpyDeviceToHost));
    for (int i = 0; i < QUERIES * LIBRARY; i += 13) {
        const int q = i / LIBRARY, molecule = i % LIBRARY;
        int both = 0, either = 0;
        for (int w = 0; w < WORDS; w++) {
            both += __builtin_popcount(word_of(molecule, w) & word_of(q, w));
            either += __builtin_popcount(word_of(molecule, w) | word_of(q, w));
        }
        if (!(fabsf(got[i] - (float)both / (float)either) < 1e-5f)) {
            fprintf(stderr, "query %d, molecule %d: %g is wrong\n", q, molecule, got[i]);
            return 1;
        }
    }
    CHECK(hipFree(prints));
    CHECK(hipFree(score));
    puts("ok");
    return 0;
}
