// Kernels of two Jacobi solvers for the Poisson equation on SIZE x SIZE doubles, three rounds: "flat" goes through the
// grid in one dimension, stores the Laplacian past the caches, and sums in 256 workgroups of 512; "square" uses workgroups
// of 16 x 16, and sums in 128 workgroups of 128.
#include "common.h"

__global__ void flat_laplacian(int n, double factor, const double *u, double *au)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n + 1 || i > (n - 2) * (n + 1))
        return;
    __builtin_nontemporal_store((2 * u[i] - u[i - 1] - u[i + 1] + 2 * u[i] - u[i - n] - u[i + n]) * factor, au + i);
}

__global__ void square_laplacian(int n, double width, const double *u, double *au)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n - 2 || y >= n - 2)
        return;
    const int i = x + 1 + (y + 1) * n;
    au[i] = (2 * u[i] - u[i - 1] - u[i + 1]) / (width * width) + (2 * u[i] - u[i - n] - u[i + n]) / (width * width);
}

__global__ void edges(int n, double width, const double *u, const double *halo, double *au)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= 4 * n - 2)
        return;
    int x = id, y = 0;
    if (id >= n && id < 2 * n)
        x = id - n, y = n - 1;
    else if (id >= 2 * n)
        x = id < 3 * n - 1 ? 0 : n - 1, y = (id - 2 * n) % (n - 1) + 1;
    y = min(y, n - 1);
    const int i = x + y * n;
    const double down = y ? u[i - n] : halo[x], up = y < n - 1 ? u[i + n] : halo[x + n];
    const double left = x ? u[i - 1] : halo[y + 2 * n], right = x < n - 1 ? u[i + 1] : halo[y + 3 * n];
    au[i] = (2 * u[i] - left - right) / (width * width) + (2 * u[i] - down - up) / (width * width);
}

__global__ void flat_update(int all, double factor, const double *rhs, const double *au, double *residual, double *u)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= all)
        return;
    const double r = rhs[i] - au[i];
    residual[i] = r;
    u[i] += r * factor;
}

__global__ void square_update(int all, double width, const double *rhs, const double *au, double *residual, double *u)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= all)
        return;
    const double r = rhs[i] - au[i];
    residual[i] = r;
    u[i] += r / (2.0 / (width * width) + 2.0 / (width * width));
}

template <int SIZE> static __device__ void sum_group(double *part, double *out)
{
    for (int k = SIZE / 2; k; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

__global__ void flat_norm(int all, const double *u, double *out)
{
    __shared__ double part[512];
    part[threadIdx.x] = 0;
    for (int i = blockIdx.x * 512 + threadIdx.x; i < all; i += 256 * 512)
        part[threadIdx.x] += u[i] * u[i];
    sum_group<512>(part, out);
}

__global__ void square_norm(int all, double area, const double *u, double *out)
{
    __shared__ double part[128];
    part[threadIdx.x] = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < all; i += gridDim.x * 128)
        part[threadIdx.x] += u[i] * u[i] * area;
    sum_group<128>(part, out);
}

__global__ void last_norm(int count, const double *in, double *out)
{
    __shared__ double part[128];
    part[threadIdx.x] = 0;
    for (int i = threadIdx.x; i < count; i += 128)
        part[threadIdx.x] += in[i];
    sum_group<128>(part, out);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("jacobi flat|square SIZE");
    const int n = atoi(argv[2]), all = n * n;
    double *u = device<double>(all), *au = device<double>(all), *rhs = device<double>(all), *residual = device<double>(all);
    double *halo = device<double>(4 * n), *sums = device<double>(512);
    for (double *each : {u, au, rhs, residual})
        OK(hipMemset(each, 0, (size_t)all * 8));
    OK(hipMemset(halo, 0, 4 * n * 8));
    for (int round = 0; round < 3; round++) {
        if (argv[1][0] == 'f') {
            flat_laplacian<<<all / 256, 256>>>(n, 0.5, u, au);
            flat_update<<<all / 256, 256>>>(all, 0.25, rhs, au, residual, u);
            flat_norm<<<256, 512>>>(all, residual, sums);
        } else {
            square_laplacian<<<dim3((n + 13) / 16, (n + 13) / 16), dim3(16, 16)>>>(n, 0.5, u, au);
            edges<<<(4 * n + 125) / 128, 128>>>(n, 0.5, u, halo, au);
            square_update<<<all / 512, 512>>>(all, 0.5, rhs, au, residual, u);
            square_norm<<<128, 128>>>(all, 0.25, residual, sums);
            last_norm<<<1, 128>>>(128, sums, sums + 256);
        }
    }
    finish();
}
