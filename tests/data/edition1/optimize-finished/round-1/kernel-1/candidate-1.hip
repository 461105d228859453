// A hand-sized program: two kernels, one of them launched several times, and a result that is checked.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void scale(float *x, float by, int block, int n)
{
    int i = __builtin_amdgcn_workgroup_id_x() * block + __builtin_amdgcn_workitem_id_x();
    if (i < n)
        x[i] *= by;
}

__global__ void row_sums(const float *x, float *sums, int block, int columns, int rows)
{
    int row = __builtin_amdgcn_workgroup_id_x() * block + __builtin_amdgcn_workitem_id_x();
    if (row >= rows)
        return;
    float sum = 0;
    #pragma unroll 4
    for (int i = 0; i < columns; i++)
        sum += x[row * columns + i];
    sums[row] = sum;
}

int main(int argc, char **argv)
{
    const int columns = 512, rows = 64, n = columns * rows;
    int block = argc > 1 ? std::atoi(argv[1]) : 64;
    std::vector<float> x(n, 1.0f), sums(rows);
    float *dx, *dsums;
    if (hipMalloc(&dx, n * sizeof(float)) || hipMalloc(&dsums, rows * sizeof(float)))
        return 2;
    (void)hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice);
    for (int i = 0; i < 3; i++)
        scale<<<(n + block - 1) / block, block>>>(dx, 2.0f, block, n);
    row_sums<<<(rows + block - 1) / block, block>>>(dx, dsums, block, columns, rows);
    (void)hipMemcpy(sums.data(), dsums, rows * sizeof(float), hipMemcpyDeviceToHost);
    bool ok = hipGetLastError() == hipSuccess;
    for (float sum : sums)
        ok = ok && sum == 8.0f * columns;
    std::printf("tiny: %s\n", ok ? "PASS" : "FAIL");
    if (argc > 2)
        std::abort();
    return ok ? 0 : 1;
}
