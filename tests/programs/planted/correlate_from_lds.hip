// correlate_from_lds: a filter of 9 x 9 taps reads a word of LDS for each tap of each pixel. The
// fix makes eight pixels of a column in each thread, which keep the words that they share in
// registers.
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

const int taps = 9, height_of_tile = 32;

struct Filter {
    float tap[taps][taps];
};

// Each group filters a tile of 64 x 32 pixels; the image has a border of four pixels all around.
__global__ __launch_bounds__(256) void correlate(const float *__restrict__ image,
                                                 float *__restrict__ out, int width, int pitch,
                                                 Filter filter)
{
    __shared__ float tile[height_of_tile + taps - 1][64 + taps - 1];
    int x0 = blockIdx.x * 64, y0 = blockIdx.y * height_of_tile;
    const int words = (height_of_tile + taps - 1) * 72, loads = (words + 255) / 256;
    float *flat = &tile[0][0], word[loads];
#pragma unroll
    for (int i = 0; i < loads; i++) {
        int at = min((int)threadIdx.x + i * 256, words - 1);
        word[i] = image[(size_t)(y0 + at / 72) * pitch + x0 + at % 72];
    }
#pragma unroll
    for (int i = 0; i < loads; i++)
        flat[min((int)threadIdx.x + i * 256, words - 1)] = word[i];
    __syncthreads();
    int x = threadIdx.x % 64, y = threadIdx.x / 64 * 8;
    float *p = out + (size_t)(y0 + y) * width + x0 + x;
#ifdef FIXED
    float sum[8] = {};
    for (int dx = 0; dx < taps; dx++) {
        float column[8 + taps - 1];
#pragma unroll
        for (int i = 0; i < 8 + taps - 1; i++)
            column[i] = tile[y + i][x + dx];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int dy = 0; dy < taps; dy++)
                sum[i] += column[i + dy] * filter.tap[dy][dx];
    }
    for (int i = 0; i < 8; i++)
        p[(size_t)i * width] = sum[i];
#else
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
        float sum = 0;
#pragma unroll
        for (int dy = 0; dy < taps; dy++)
#pragma unroll
            for (int dx = 0; dx < taps; dx++)
                sum += tile[y + i + dy][x + dx] * filter.tap[dy][dx]; // planted: lds_bandwidth
        p[(size_t)i * width] = sum;
    }
#endif
}

int main()
{
    const int width = 64 * 38, height = 32 * 64, pitch = width + taps - 1;
    std::vector<float> image((size_t)pitch * (height + taps - 1)), out((size_t)width * height);
    for (size_t i = 0; i < image.size(); i++)
        image[i] = (float)(i * 2654435761u >> 7 & 255);
    Filter filter;
    for (int i = 0; i < taps * taps; i++)
        filter.tap[i / taps][i % taps] = (float)(i * 5 % 7 - 3);
    float *dimage, *dout;
    CHECK(hipMalloc(&dimage, image.size() * sizeof(float)));
    CHECK(hipMalloc(&dout, out.size() * sizeof(float)));
    CHECK(hipMemcpy(dimage, image.data(), image.size() * sizeof(float), hipMemcpyHostToDevice));
    correlate<<<dim3(width / 64, height / height_of_tile), 256>>>(dimage, dout, width, pitch,
                                                                  filter);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(out.data(), dout, out.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dimage));
    CHECK(hipFree(dout));
    for (size_t i = 0; i < out.size(); i += 101) {
        float want = 0;
        for (int t = 0; t < taps * taps; t++)
            want += image[(i / width + t / taps) * pitch + i % width + t % taps] *
                    filter.tap[t / taps][t % taps];
        if (out[i] != want) {
            std::fprintf(stderr, "pixel %zu: %g, not %g\n", i, out[i], want);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
