// sobel_edges: threadIdx.x counts rows of the image, so each lane of a wave reads another row. The fix lets threadIdx.x count columns.
#include <cmath>
#include <cstddef>
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

enum { LONG_SIDE = 64, SHORT_SIDE = 4 };

__host__ __device__ inline float pixel_at(int x, int y)
{
    return (float)((x * x + 3 * y * y + x * y) / 64 % 256);
}

__global__ void draw(float *image, int width)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    image[(size_t)y * width + x] = pixel_at(x, y);
}

__host__ __device__ inline float edge(const float *p, int width)
{
    const float *up = p - width, *down = p + width;
    const float gx = up[1] - up[-1] + 2 * (p[1] - p[-1]) + down[1] - down[-1]; // planted: uncoalesced_access
    const float gy = down[-1] - up[-1] + 2 * (down[0] - up[0]) + down[1] - up[1];
    return fabsf(gx) + fabsf(gy);
}

__global__ void sobel(const float *image, float *edges, int width, int height)
{
#ifdef FIXED
    const int x = blockIdx.x * LONG_SIDE + threadIdx.x, y = blockIdx.y * SHORT_SIDE + threadIdx.y;
#else
    const int x = blockIdx.x * SHORT_SIDE + threadIdx.y, y = blockIdx.y * LONG_SIDE + threadIdx.x;
#endif
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    edges[(size_t)y * width + x] = edge(image + (size_t)y * width + x, width);
}

int main()
{
    const int width = 2048, height = 1536;
    const size_t n = (size_t)width * height;
    float *image, *edges;
    CHECK(hipMalloc(&image, n * sizeof(float)));
    CHECK(hipMalloc(&edges, n * sizeof(float)));
    CHECK(hipMemset(edges, 0, n * sizeof(float)));
    draw<<<dim3(width / 256, height), 256>>>(image, width);
    CHECK(hipGetLastError());
    const dim3 threads(LONG_SIDE, SHORT_SIDE);
#ifdef FIXED
    const dim3 groups(width / LONG_SIDE, height / SHORT_SIDE);
#else
    const dim3 groups(width / SHORT_SIDE, height / LONG_SIDE);
#endif
    for (int frame = 0; frame < 2; frame++) {
        sobel<<<groups, threads>>>(image, edges, width, height);
        CHECK(hipGetLastError());
    }
    std::vector<float> in(n), got(n);
    CHECK(hipMemcpy(got.data(), edges, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            in[(size_t)y * width + x] = pixel_at(x, y);
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            const size_t at = (size_t)y * width + x;
            if (got[at] != edge(&in[at], width)) {
                fprintf(stderr, "pixel %d, %d: %g, not %g\n", x, y, got[at], edge(&in[at], width));
                return 1;
            }
        }
    CHECK(hipFree(image));
    CHECK(hipFree(edges));
    puts("ok");
    return 0;
}
