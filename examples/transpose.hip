// Transposes a matrix, with a mistake: neighbouring threads write floats that are a row apart, so
// that each store of a wave touches 64 cache lines. `rocm-perf profile --why` finds it;
// tests/e2e/cli/examples.sh holds it to that. A tile in LDS mends it.
#include "check.h"

#include <vector>

__global__ void transpose(const float *in, float *out, int rows, int columns)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;

    if (column < columns)
        out[static_cast<size_t>(column) * rows + row] =
            in[static_cast<size_t>(row) * columns + column];
}

int main()
{
    constexpr int rows = 512, columns = 512, steps = 50;
    std::vector<float> in(rows * columns), out(rows * columns);
    Random random;
    for (float &value : in)
        value = random.unit();
    float *din, *dout;
    HIP_CHECK(hipMalloc(&din, in.size() * sizeof(float)));
    HIP_CHECK(hipMalloc(&dout, out.size() * sizeof(float)));
    HIP_CHECK(hipMemcpy(din, in.data(), in.size() * sizeof(float), hipMemcpyHostToDevice));
    for (int step = 0; step < steps; step++) // as a solver would, in each of its steps
        transpose<<<dim3(columns / 256, rows), 256>>>(din, dout, rows, columns);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(out.data(), dout, out.size() * sizeof(float), hipMemcpyDeviceToHost));
    bool ok = true;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            ok = ok && out[c * rows + r] == in[r * columns + c];
    HIP_CHECK(hipFree(din));
    HIP_CHECK(hipFree(dout));
    return report("transpose", ok);
}
