// pollard_rho_records: a search for factors of 30-bit numbers reduces each product with a 64-bit
// remainder. The fix reduces with a reciprocal of the number, made once, and a multiplication.
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

typedef unsigned long long u64;

// Records of 32 bytes look badly laid out, for a wave uses a few words of each; but it does so once
// for thousands of instructions.
struct Search {
    unsigned number, start, offset, product, unused[4];
};

// x mod n, for x below n * n and n of 30 bits.
__device__ inline u64 remainder(u64 x, unsigned n, unsigned inverse)
{
#ifdef FIXED
    unsigned r = (unsigned)x - (unsigned)((x >> 29) * inverse >> 31) * n;
    r = min(r, r - n);
    return min(r, r - n);
#else
    (void)inverse;
    return x % n; // planted: valu_throughput
#endif
}

// Brent's form of Pollard's method: the product of differences along x -> x * x + offset, which
// later shares a factor with the number.
__global__ __launch_bounds__(256) void pollard_rho(Search *searches, int steps)
{
    Search &search = searches[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned n = search.number, inverse = (unsigned)((1ull << 60) / n);
    u64 x = search.start, y = x, product = 1;
    for (int step = 0; step < steps; step++) {
        x = remainder(x * x + search.offset, n, inverse);
        product = remainder(product * (x > y ? x - y : y - x), n, inverse);
        y = (step & (step - 1)) == 0 ? x : y;
    }
    search.product = (unsigned)product;
}

int main()
{
    const int count = 304 * 512, steps = 30;
    std::vector<Search> searches(count), result(count);
    for (int i = 0; i < count; i++) {
        unsigned number = 0x3fffffffu - 2 * (unsigned)(i * 97 % count);
        searches[i] = {number, 0x1fffffffu - i, (unsigned)(1 + i % 7), 0, {0, 0, 0, 0}};
    }
    Search *d;
    CHECK(hipMalloc(&d, count * sizeof(Search)));
    CHECK(hipMemcpy(d, searches.data(), count * sizeof(Search), hipMemcpyHostToDevice));
    pollard_rho<<<count / 256, 256>>>(d, steps);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(result.data(), d, count * sizeof(Search), hipMemcpyDeviceToHost));
    CHECK(hipFree(d));
    for (int i = 0; i < count; i += 17) {
        u64 n = searches[i].number, x = searches[i].start, y = x, product = 1;
        for (int step = 0; step < steps; step++) {
            x = (x * x + searches[i].offset) % n;
            product = product * (x > y ? x - y : y - x) % n;
            y = (step & (step - 1)) == 0 ? x : y;
        }
        if (result[i].product != product) {
            std::fprintf(stderr, "search %d: %u, not %llu\n", i, result[i].product, product);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
