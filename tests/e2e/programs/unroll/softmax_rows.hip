// Softmax, a row for each thread as small models have it: a maximum, a sum of exponentials, and
// what is written, each its own loop over the row. The tolerance is that of examples/softmax.hip.
#include "check.h"

#include <algorithm>
#include <cmath>
#include <vector>

__global__ void softmax_rows(const float *in, float *out, int columns, int rows)
{
    const int row = blockIdx.x * 64 + threadIdx.x;
    float largest = -INFINITY, sum = 0;
    for (int i = 0; i < columns; i++)
        largest = fmaxf(largest, in[i * rows + row]);
    for (int i = 0; i < columns; i++)
        sum += expf(in[i * rows + row] - largest);
    for (int i = 0; i < columns; i++)
        out[i * rows + row] = expf(in[i * rows + row] - largest) / sum;
}

int main()
{
    constexpr int rows = 256, columns = 40;
    std::vector<float> in(rows * columns), out(rows * columns);
    Random random;
    for (float &value : in)
        value = 20 * random.unit() - 10;
    float *din, *dout;
    HIP_CHECK(hipMalloc(&din, in.size() * sizeof(float)));
    HIP_CHECK(hipMalloc(&dout, out.size() * sizeof(float)));
    HIP_CHECK(hipMemcpy(din, in.data(), in.size() * sizeof(float), hipMemcpyHostToDevice));
    softmax_rows<<<rows / 64, 64>>>(din, dout, columns, rows);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(out.data(), dout, out.size() * sizeof(float), hipMemcpyDeviceToHost));
    double worst = 0;
    bool ok = true;
    for (int r = 0; r < rows; r++) {
        double largest = -INFINITY, sum = 0;
        for (int i = 0; i < columns; i++)
            largest = std::max(largest, static_cast<double>(in[i * rows + r]));
        for (int i = 0; i < columns; i++)
            sum += std::exp(in[i * rows + r] - largest);
        for (int i = 0; i < columns; i++) {
            const double exact = std::exp(in[i * rows + r] - largest) / sum;
            const double error = std::fabs(exact - out[i * rows + r]) * sum;
            ok = ok && error < 2e-6; // false for a NaN too
            worst = std::max(worst, error);
        }
    }
    return report("softmax_rows", ok, worst);
}
