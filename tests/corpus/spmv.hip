#include "host.h"
__global__ void spmv(const int *start, const int *col, const int *val, const int *x, int *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        int sum = 0;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += val[i] * x[col[i]];
        y[row] = sum;
    }
}

int main()
{
    int rows = 1024;
    std::vector<int> start(rows + 1), col, val, x(rows);
    for (int r = 0; r < rows; r++) {
        start[r] = col.size();
        for (int k = 0; k < 4 + r % 5; k++) { col.push_back((r * 17 + k * 31) % rows); val.push_back(k + 1 + r % 3); }
        x[r] = r % 11 + 1;
    }
    start[rows] = col.size();
    int *ds = up(start), *dc = up(col), *dv = up(val), *dx = up(x), *y = up(std::vector<int>(rows));
    spmv<<<4, 256>>>(ds, dc, dv, dx, y, rows);
    OK(hipDeviceSynchronize());
    sum("spmv", y, rows);
}
