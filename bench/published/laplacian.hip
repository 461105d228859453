// The Laplacian of SIZE^3 doubles, workgroups of 256 in x. "plain": a point a work-item, or ROWS points in y with
// loads in the order of the points; "ordered": ROWS points in y, loads in the order of addresses.
#include "common.h"

struct factors {
    double x, y, z, center;
};

template <int ROWS, bool ORDERED> __global__ void laplacian(double *f, const double *u, int n, factors w)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = ROWS * blockIdx.y, z = blockIdx.z;
    if (x == 0 || x >= n - 1 || z == 0 || z >= n - 1)
        return;
    const size_t slice = (size_t)n * n, at = x + (size_t)n * y + slice * z;
    double sum[ROWS] = {};
    if (ORDERED) {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sum[r] += u[at - slice + r * n] * w.z;
        sum[0] += y > 0 ? u[at - n] * w.y : 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            sum[r] += u[at - 1 + r * n] * w.x;
            const double center = u[at + r * n];
            sum[r] += center * w.center + u[at + 1 + r * n] * w.x;
            if (r > 0)
                sum[r - 1] += center * w.y;
            if (r < ROWS - 1)
                sum[r + 1] += center * w.y;
        }
        sum[ROWS - 1] += y < n - ROWS ? u[at + (size_t)ROWS * n] * w.y : 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sum[r] += u[at + slice + r * n] * w.z;
    } else {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const double center = u[at + r * n];
            sum[r] += center * w.center + (u[at - 1 + r * n] + u[at + 1 + r * n]) * w.x;
            if (r == 0)
                sum[r] += u[at - n] * w.y;
            else
                sum[r - 1] += center * w.y;
            if (r < ROWS - 1)
                sum[r + 1] += center * w.y;
            else
                sum[r] += u[at + n + r * n] * w.y;
            sum[r] += (u[at - slice + r * n] + u[at + slice + r * n]) * w.z;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (y + r > 0 && y + r < n - 1)
            f[at + r * n] = sum[r];
    }
}

template <int ROWS> static void run(bool ordered, double *f, const double *u, int n)
{
    const dim3 groups((n + 255) / 256, n / ROWS, n);
    if (ordered)
        laplacian<ROWS, true><<<groups, 256>>>(f, u, n, {1, 2, 3, -12});
    else
        laplacian<ROWS, false><<<groups, 256>>>(f, u, n, {1, 2, 3, -12});
}

int main(int argc, char **argv)
{
    if (argc != 4)
        usage("laplacian plain|ordered ROWS SIZE");
    const bool ordered = argv[1][0] == 'o';
    const int rows = atoi(argv[2]), n = atoi(argv[3]);
    const size_t all = (size_t)n * n * n;
    // A row of points before and behind: the first and the last row read them.
    double *u = device<double>(all + 2 * n) + n, *f = device<double>(all);
    OK(hipMemset(u, 0, all * 8));
    rows == 1 ? run<1>(ordered, f, u, n) : rows == 2 ? run<2>(ordered, f, u, n) : rows == 4 ? run<4>(ordered, f, u, n) : rows == 8 ? run<8>(ordered, f, u, n) : run<16>(ordered, f, u, n);
    finish();
}
