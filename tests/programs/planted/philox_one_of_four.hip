// philox_one_of_four: each random number runs the whole generator and keeps one word of the four
// that it makes. The fix uses all four words of each block.
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

struct Block {
    unsigned word[4];
};

// Philox 4x32 with ten rounds: four random words for one counter.
__host__ __device__ inline Block philox(unsigned counter, unsigned stream, unsigned key)
{
    Block b = {{counter, stream, 0, 0}};
    unsigned key0 = key, key1 = key ^ 0x5bd1e995u;
    for (int round = 0; round < 10; round++) {
        unsigned long long p = 0xd2511f53ull * b.word[0], q = 0xcd9e8d57ull * b.word[2];
        Block next = {{(unsigned)(q >> 32) ^ b.word[1] ^ key0, (unsigned)q,
                       (unsigned)(p >> 32) ^ b.word[3] ^ key1, (unsigned)p}};
        b = next;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return b;
}

// The pay-off of a knock-out path: a random walk that is worth its end unless it falls below zero.
__host__ __device__ inline void walk(unsigned word, int &value, int &alive)
{
    value += (int)(word >> 24) - 124;
    alive = value < 0 ? 0 : alive;
}

__global__ void price(int *payoff, int steps, unsigned key)
{
    unsigned path = blockIdx.x * blockDim.x + threadIdx.x;
    int value = 300, alive = 1;
#ifdef FIXED
    for (int step = 0; step < steps; step += 4) {
        Block b = philox(step / 4, path, key);
        for (int i = 0; i < 4; i++)
            walk(b.word[i], value, alive);
    }
#else
    for (int step = 0; step < steps; step++) {
        Block b = philox(step / 4, path, key); // planted: valu_throughput
        int i = step % 4;
        walk(i == 0   ? b.word[0]
             : i == 1 ? b.word[1]
             : i == 2 ? b.word[2]
                      : b.word[3],
             value, alive);
    }
#endif
    payoff[path] = alive ? value : 0;
}

int main()
{
    const int paths = 304 * 1024, steps = 32;
    const unsigned key = 20261128;
    std::vector<int> payoff(paths);
    int *d;
    CHECK(hipMalloc(&d, paths * sizeof(int)));
    price<<<paths / 256, 256>>>(d, steps, key);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(payoff.data(), d, paths * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(hipFree(d));
    for (int path = 0; path < paths; path += 97) {
        int value = 300, alive = 1;
        for (int step = 0; step < steps; step++)
            walk(philox(step / 4, path, key).word[step % 4], value, alive);
        if (payoff[path] != (alive ? value : 0)) {
            std::fprintf(stderr, "path %d: %d, not %d\n", path, payoff[path], alive ? value : 0);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
