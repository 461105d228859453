// Two streams of floats with OPERATIONS multiply-additions for each pair, eight workgroups of 256 on each compute unit, POINTS
// pairs a work-item, two launches: gpu-roofline.
#include "common.h"

template <int OPERATIONS> __global__ void balance(const float *a, const float *b, float *out, int points)
{
    const size_t first = threadIdx.x + (size_t)blockIdx.x * 256 * points;
    float sum = 0;
    for (int p = 0; p < points; p += 2) {
        const float a0 = a[first + p * 256], b0 = b[first + p * 256], a1 = a[first + p * 256 + 256], b1 = b[first + p * 256 + 256];
        float v0 = a0 - b0, v1 = a1 - b1;
        for (int k = 0; k < OPERATIONS; k++) {
            v0 = v0 * a0 - b0;
            v1 = v1 * a0 - b0;
        }
        sum += v0 + v1;
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("balance 0|32|212|1012 POINTS");
    const int operations = atoi(argv[1]), points = atoi(argv[2]), groups = compute_units() * 8;
    const size_t all = (size_t)groups * 256 * points;
    float *a = device<float>(all), *b = device<float>(all), *out = device<float>(groups);
    OK(hipMemset(a, 0, all * 4));
    OK(hipMemset(b, 0, all * 4));
    const auto kernel = operations == 0 ? balance<0> : operations == 32 ? balance<32> : operations == 212 ? balance<212> : balance<1012>;
    for (int launch = 0; launch < 2; launch++)
        kernel<<<groups, 256>>>(a, b, out, points);
    finish();
}
