// Prefix sums of the rows of tiles. Each lane goes along its own row of a tile in LDS, so all lanes
// of a wave are on one bank.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <vector>

enum { SIDE = 64, TILES = 304 };

__global__ void fill(int *image)
{
    for (int i = threadIdx.x; i < SIDE * SIDE; i += blockDim.x)
        image[(size_t)blockIdx.x * SIDE * SIDE + i] = (i * 13 + blockIdx.x) % 251;
}

__global__ void __launch_bounds__(SIDE) scan_rows(const int *image, int *out)
{
    __shared__ int tile[SIDE][SIDE];
    const int lane = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * SIDE * SIDE;

    for (int y = 0; y < SIDE; y++)
        tile[y][lane] = image[first + y * SIDE + lane];
    __syncthreads();
    int sum = 0;
    for (int x = 0; x < SIDE; x++) {
        sum += tile[lane][x];
        tile[lane][x] = sum;
    }
    __syncthreads();
    for (int y = 0; y < SIDE; y++)
        out[first + y * SIDE + lane] = tile[y][lane];
}

int main()
{
    const size_t n = (size_t)TILES * SIDE * SIDE;
    std::vector<int> got(n);
    int *image, *out, wrong = 0, want = 0;

    if (hipMalloc(&image, n * sizeof(int)) != hipSuccess ||
        hipMalloc(&out, n * sizeof(int)) != hipSuccess)
        return 1;
    fill<<<TILES, 256>>>(image);
    for (int frame = 0; frame < 10; frame++)
        scan_rows<<<TILES, SIDE>>>(image, out);
    if (hipMemcpy(got.data(), out, n * sizeof(int), hipMemcpyDeviceToHost) != hipSuccess)
        return 1;
    for (size_t i = 0; i < n; i++) {
        const int pixel = (int)((i % (SIDE * SIDE) * 13 + i / (SIDE * SIDE)) % 251);

        want = (i % SIDE ? want : 0) + pixel;
        wrong += got[i] != want;
    }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
