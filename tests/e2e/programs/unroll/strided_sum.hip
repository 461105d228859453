// Sums of columns: loads that nothing depends on but an addition. One wavefront of a group.
#include "check.h"

#include <vector>

__global__ void column_sums(const int *in, int *out, int rows, int stride)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int r = 0; r < rows; r++)
        sum += in[r * stride + column];
    out[column] = sum;
}

int main()
{
    constexpr int columns = 512, rows = 120;
    std::vector<int> in(columns * rows), out(columns);
    Random random;
    for (int &value : in)
        value = static_cast<int>(random.next() % 2001) - 1000;
    int *din, *dout;
    HIP_CHECK(hipMalloc(&din, in.size() * sizeof(int)));
    HIP_CHECK(hipMalloc(&dout, columns * sizeof(int)));
    HIP_CHECK(hipMemcpy(din, in.data(), in.size() * sizeof(int), hipMemcpyHostToDevice));
    column_sums<<<columns / 64, 64>>>(din, dout, rows, columns);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(out.data(), dout, columns * sizeof(int), hipMemcpyDeviceToHost));
    bool ok = true;
    for (int c = 0; c < columns; c++) {
        int sum = 0;
        for (int r = 0; r < rows; r++)
            sum += in[r * columns + c];
        ok = ok && sum == out[c];
    }
    return report("strided_sum", ok);
}
