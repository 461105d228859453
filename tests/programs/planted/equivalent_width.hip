// equivalent_width: waves with spectral lines of very different breadth meet at a barrier after every line, to write 16 results at once. The fix lets each wave write its own result and go on.
#include <cmath>
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

enum { THREADS = 1024, WAVES = THREADS / 64, LINES_PER_WAVE = 6 };

struct Line {
    float depth, width; // optical depth at the centre, half width in points
    int points;         // how many points its wings reach, a multiple of 64
};

__host__ __device__ inline float absorbed(const Line &line, int point)
{
    const float x = ((float)point - 0.5f * (float)line.points) / line.width;
    return 1 - expf(-line.depth / (1 + x * x));
}

// The equivalent width of each line: a wave sums what is absorbed at the points of a line.
__global__ void __launch_bounds__(THREADS) equivalent_width(const Line *lines, float *width)
{
    const int lane = threadIdx.x % 64, wave = threadIdx.x / 64;
#ifndef FIXED
    __shared__ float result[WAVES];
#endif
    for (int i = 0; i < LINES_PER_WAVE; i++) {
        const int first = (blockIdx.x * LINES_PER_WAVE + i) * WAVES;
        const Line line = lines[first + wave];
        float sum = 0;
        for (int point = lane; point < line.points; point += 64)
            sum += absorbed(line, point);
        for (int distance = 32; distance > 0; distance /= 2)
            sum += __shfl_xor(sum, distance);
#ifdef FIXED
        if (lane == 0)
            width[first + wave] = sum;
#else
        if (lane == 0)
            result[wave] = sum;
        __syncthreads(); // planted: barrier
        if (threadIdx.x < WAVES)
            width[first + threadIdx.x] = result[threadIdx.x];
        __syncthreads();
#endif
    }
}

int main()
{
    const int groups = 608, n = groups * WAVES * LINES_PER_WAVE;
    std::vector<Line> lines(n);
    std::vector<float> got(n);
    for (int i = 0; i < n; i++) {
        const uint32_t h = (uint32_t)i * 2654435761u;
        const float strength = (float)((h ^ h >> 15) & 0xffff) / 65536; // few are strong
        const float width = 2 + 60 * strength * strength * strength * strength * strength;
        lines[i] = {0.2f + 4 * strength, width, 64 * (1 + (int)(width * 40 / 64))};
    }
    Line *in;
    float *out;
    CHECK(hipMalloc(&in, n * sizeof(Line)));
    CHECK(hipMalloc(&out, n * sizeof(float)));
    CHECK(hipMemcpy(in, lines.data(), n * sizeof(Line), hipMemcpyHostToDevice));
    equivalent_width<<<groups, THREADS>>>(in, out);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), out, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i += 7) {
        float want = 0;
        for (int point = 0; point < lines[i].points; point++)
            want += absorbed(lines[i], point);
        if (!(fabsf(got[i] - want) < 1e-3f * want)) {
            fprintf(stderr, "line %d: %g, not %g\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(in));
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}
