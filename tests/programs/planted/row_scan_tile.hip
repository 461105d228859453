// row_scan_tile: each lane sums along its own row of 64 words of a tile in LDS, so all lanes of a
// wave are on one bank. The fix makes the rows 65 words long.
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

#ifdef FIXED
enum { PITCH = 65 };
#else
enum { PITCH = 64 };
#endif
enum { SIDE = 64, TILES = 1216 };

__host__ __device__ inline int pixel_of(uint32_t tile, uint32_t i)
{
    return (int)((tile * 5 + i * 13) % 251);
}

__global__ void fill(int *image)
{
    for (int i = threadIdx.x; i < SIDE * SIDE; i += blockDim.x)
        image[(size_t)blockIdx.x * SIDE * SIDE + i] = pixel_of(blockIdx.x, i);
}

// The prefix sums of the rows of each tile, as a step of a summed-area table.
__global__ void __launch_bounds__(SIDE) scan_rows(const int *image, int *out)
{
    __shared__ int tile[SIDE * PITCH];
    const int lane = threadIdx.x;
    image += (size_t)blockIdx.x * SIDE * SIDE;
    out += (size_t)blockIdx.x * SIDE * SIDE;
    for (int y = 0; y < SIDE; y++)
        tile[y * PITCH + lane] = image[y * SIDE + lane];
    __syncthreads();
    int sum = 0;
    for (int x = 0; x < SIDE; x++) {
        sum += tile[lane * PITCH + x]; // planted: lds_bank_conflicts
        tile[lane * PITCH + x] = sum;
    }
    __syncthreads();
    for (int y = 0; y < SIDE; y++)
        out[y * SIDE + lane] = tile[y * PITCH + lane];
}

int main()
{
    const size_t n = (size_t)TILES * SIDE * SIDE;
    int *image, *out;
    CHECK(hipMalloc(&image, sizeof(int) * n));
    CHECK(hipMalloc(&out, sizeof(int) * n));
    fill<<<TILES, 256>>>(image);
    CHECK(hipGetLastError());
    scan_rows<<<TILES, SIDE>>>(image, out);
    CHECK(hipGetLastError());
    std::vector<int> got(n);
    CHECK(hipMemcpy(got.data(), out, sizeof(int) * n, hipMemcpyDeviceToHost));
    int want = 0;
    for (size_t i = 0; i < n; i++) {
        want = (i % SIDE ? want : 0) + pixel_of(i / (SIDE * SIDE), i % (SIDE * SIDE));
        if (got[i] != want) {
            fprintf(stderr, "pixel %zu: %d, not %d\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(image));
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}
