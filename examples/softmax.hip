// Row-wise softmax. exp and the order of the sum differ from the CPU's: the tolerance is 2e-6
// relative to the largest value, about 16 units in the last place of a float near 1.
#include "check.h"

#include <algorithm>
#include <cmath>
#include <vector>

__global__ void softmax(const float *in, float *out, int columns)
{
    __shared__ float shared[256];
    const float *row = in + static_cast<size_t>(blockIdx.x) * columns;
    float *result = out + static_cast<size_t>(blockIdx.x) * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 256)
        largest = fmaxf(largest, row[i]);
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 256)
        sum += expf(row[i] - largest);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < columns; i += 256)
        result[i] = expf(row[i] - largest) / shared[0];
}

int main()
{
    constexpr int rows = 50, columns = 777;
    std::vector<float> in(rows * columns), out(rows * columns);
    Random random;
    for (float &value : in)
        value = 20 * random.unit() - 10;
    float *din, *dout;
    HIP_CHECK(hipMalloc(&din, in.size() * sizeof(float)));
    HIP_CHECK(hipMalloc(&dout, in.size() * sizeof(float)));
    HIP_CHECK(hipMemcpy(din, in.data(), in.size() * sizeof(float), hipMemcpyHostToDevice));
    softmax<<<rows, 256>>>(din, dout, columns);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(out.data(), dout, out.size() * sizeof(float), hipMemcpyDeviceToHost));
    double worst = 0;
    bool ok = true;
    for (int r = 0; r < rows; r++) {
        const float *row = &in[r * columns];
        double largest = *std::max_element(row, row + columns), sum = 0, peak = 0;
        for (int i = 0; i < columns; i++)
            sum += std::exp(row[i] - largest);
        peak = 1 / sum;
        for (int i = 0; i < columns; i++) {
            double exact = std::exp(row[i] - largest) / sum;
            double error = std::fabs(exact - out[r * columns + i]) / peak;
            ok = ok && error < 2e-6; // false for a NaN too
            worst = std::max(worst, error);
        }
    }
    HIP_CHECK(hipFree(din));
    HIP_CHECK(hipFree(dout));
    return report("softmax", ok, worst);
}
