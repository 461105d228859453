// barcode_distance: the row of the dynamic programme of each thread is 16 words of LDS side by side, so the lanes of a wave fall on two banks. The fix turns the array, so that neighbouring lanes use neighbouring words.
#include <algorithm>
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

enum { THREADS = 256, LENGTH = 16 };

// A cell barcode: 16 bases of two bits.
__host__ __device__ inline uint32_t barcode(uint32_t i)
{
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return i ^ i >> 16;
}

// The edit distance of each read's barcode and the one it is held to be.
__global__ void edit_distance(const uint32_t *reads, const uint32_t *known, int *distance,
                              int length)
{
#ifdef FIXED
    __shared__ int row[LENGTH][THREADS];
#define ROW(j) row[j][threadIdx.x]
#else
    __shared__ int row[THREADS][LENGTH];
#define ROW(j) row[threadIdx.x][j]
#endif
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    const uint32_t a = reads[i], b = known[i];
    for (int j = 0; j < length; j++)
        ROW(j) = j + 1;
    int last = 0;
    for (int k = 0; k < length; k++) {
        const uint32_t base = a >> 2 * k & 3;
        int diagonal = k;
        last = k + 1;
#pragma unroll 1
        for (int j = 0; j < length; j++) {
            const int above = ROW(j); // planted: lds_bank_conflicts
            const int swap = diagonal + (base != (b >> 2 * j & 3));
            last = min(min(above, last) + 1, swap);
            ROW(j) = last;
            diagonal = above;
        }
    }
    distance[i] = last;
}

static int expected(uint32_t a, uint32_t b)
{
    int row[LENGTH], last = 0;
    for (int j = 0; j < LENGTH; j++)
        row[j] = j + 1;
    for (int k = 0; k < LENGTH; k++) {
        int diagonal = k;
        last = k + 1;
        for (int j = 0; j < LENGTH; j++) {
            const int above = row[j], swap = diagonal + ((a >> 2 * k & 3) != (b >> 2 * j & 3));
            last = std::min(std::min(above, last) + 1, swap);
            row[j] = last;
            diagonal = above;
        }
    }
    return last;
}

int main()
{
    const uint32_t n = 512 * THREADS;
    std::vector<uint32_t> reads(n), known(n);
    std::vector<int> got(n);
    for (uint32_t i = 0; i < n; i++) {
        known[i] = barcode(i);
        reads[i] =
            i % 3 ? barcode(i) ^ 1u << i % 31 : barcode(i) << 2; // a wrong base, or one too many
    }
    uint32_t *a, *b;
    int *distance;
    CHECK(hipMalloc(&a, n * sizeof(uint32_t)));
    CHECK(hipMalloc(&b, n * sizeof(uint32_t)));
    CHECK(hipMalloc(&distance, n * sizeof(int)));
    CHECK(hipMemcpy(a, reads.data(), n * sizeof(uint32_t), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(b, known.data(), n * sizeof(uint32_t), hipMemcpyHostToDevice));
    edit_distance<<<n / THREADS, THREADS>>>(a, b, distance, LENGTH);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), distance, n * sizeof(int), hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < n; i++) {
        const int want = expected(reads[i], known[i]);
        if (got[i] != want) {
            fprintf(stderr, "read %u: %d, not %d\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    CHECK(hipFree(distance));
    puts("ok");
    return 0;
}
