// simhash_uniform_lookups: a wave looks up one token after another in a big table at a uniform
// address, so that scalar loads miss the small scalar cache. The fix lets 64 lanes look up 64
// tokens with vector loads.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

struct Token {
    unsigned long long hash;
    int weight, unused;
};

// Bit b of a document's fingerprint says whether the tokens with bit b in their hash weigh more
// than the others; one wave to a document, one lane to a bit.
__global__ __launch_bounds__(64) void simhash(const Token *__restrict__ vocabulary,
                                              const int *__restrict__ text, int length,
                                              unsigned long long *__restrict__ fingerprint)
{
    int lane = threadIdx.x, sum = 0;
    const int *document = text + blockIdx.x * length;
#ifdef FIXED
    for (int at = 0; at < length; at += 64) {
        Token mine = vocabulary[document[at + lane]];
        int low = (int)mine.hash, high = (int)(mine.hash >> 32);
#pragma unroll 8
        for (int i = 0; i < 64; i++) {
            unsigned below = __builtin_amdgcn_readlane(low, i);
            unsigned above = __builtin_amdgcn_readlane(high, i);
            int weight = __builtin_amdgcn_readlane(mine.weight, i);
            sum += (lane < 32 ? below : above) >> lane % 32 & 1 ? weight : -weight;
        }
    }
#else
#pragma unroll 1
    for (int at = 0; at < length; at++) {
        Token token = vocabulary[document[at]]; // planted: scalar_cache_misses
        sum += token.hash >> lane & 1 ? token.weight : -token.weight;
    }
#endif
    unsigned long long bits = __ballot(sum > 0);
    if (lane == 0)
        fingerprint[blockIdx.x] = bits;
}

int main()
{
    const int words = 1 << 17, documents = 304 * 16, length = 128;
    std::vector<Token> vocabulary(words);
    std::vector<int> text(documents * length);
    std::vector<unsigned long long> fingerprint(documents);
    unsigned long long state = 1;
    for (int i = 0; i < words; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        vocabulary[i] = {state ^ state >> 29, (int)(1 + i % 9), 0};
    }
    for (size_t i = 0; i < text.size(); i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        text[i] = (int)(state >> 40) % words;
    }
    Token *dvocabulary;
    int *dtext;
    unsigned long long *dfingerprint;
    CHECK(hipMalloc(&dvocabulary, words * sizeof(Token)));
    CHECK(hipMalloc(&dtext, text.size() * sizeof(int)));
    CHECK(hipMalloc(&dfingerprint, documents * 8));
    CHECK(hipMemcpy(dvocabulary, vocabulary.data(), words * sizeof(Token), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dtext, text.data(), text.size() * sizeof(int), hipMemcpyHostToDevice));
    simhash<<<documents, 64>>>(dvocabulary, dtext, length, dfingerprint);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(fingerprint.data(), dfingerprint, documents * 8, hipMemcpyDeviceToHost));
    CHECK(hipFree(dvocabulary));
    CHECK(hipFree(dtext));
    CHECK(hipFree(dfingerprint));
    for (int d = 0; d < documents; d += 7)
        for (int bit = 0; bit < 64; bit++) {
            int sum = 0;
            for (int i = 0; i < length; i++) {
                const Token &token = vocabulary[text[d * length + i]];
                sum += token.hash >> bit & 1 ? token.weight : -token.weight;
            }
            if ((fingerprint[d] >> bit & 1) != (sum > 0)) {
                std::fprintf(stderr, "document %d, bit %d is wrong\n", d, bit);
                return 1;
            }
        }
    std::puts("ok");
    return 0;
}
