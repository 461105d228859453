// batched_solve_f64: each lane owns a row of 16 doubles (32 words) of a matrix in LDS, so all lanes of a wave work on the same two banks. The fix makes rows of 17 doubles.
#include <cmath>
#include <cstddef>
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

enum { N = 16, MATRICES = 4 }; // a wave solves four systems, a lane holds a row

__host__ __device__ inline double element(uint32_t system, int row, int column)
{
    const uint32_t h = (system * 31 + row * 17 + column * 5) * 2654435761u;
    return (double)(h >> 16) / 65536 + (row == column ? N : 0);
}

__global__ void assemble(double *a)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = element(i / (N * N), i / N % N, i % N);
}

// Gauss-Jordan without pivoting (the matrices are dominated by their diagonals): a x = b.
__global__ void __launch_bounds__(64) gauss_jordan(const double *a, const double *b, double *x)
{
#ifdef FIXED
    __shared__ double m[MATRICES * N][N + 1];
#else
    __shared__ double m[MATRICES * N][N];
#endif
    const int lane = threadIdx.x, row = lane % N, first = lane - row;
    a += (size_t)blockIdx.x * MATRICES * N * N;
    for (int i = lane; i < MATRICES * N * N; i += 64)
        m[i / N][i % N] = a[i];
    double right = b[(size_t)blockIdx.x * 64 + lane];
    __syncthreads();
    for (int k = 0; k < N; k++) {
        const double pivot = 1 / m[first + k][k], factor = row == k ? 0 : m[lane][k] * pivot;
        right -= factor * __shfl(right, first + k);
#pragma unroll 1
        for (int j = k + 1; j < N; j++)
            m[lane][j] -= factor * m[first + k][j]; // planted: lds_bank_conflicts
        __syncthreads();
    }
    x[(size_t)blockIdx.x * 64 + lane] = right / m[lane][row];
}

int main()
{
    const uint32_t systems = 8192, rows = systems * N;
    double *a, *b, *x;
    CHECK(hipMalloc(&a, (size_t)rows * N * sizeof(double)));
    CHECK(hipMalloc(&b, rows * sizeof(double)));
    CHECK(hipMalloc(&x, rows * sizeof(double)));
    std::vector<double> right(rows), got(rows);
    for (uint32_t i = 0; i < rows; i++)
        right[i] = i % 19 + 1;
    CHECK(hipMemcpy(b, right.data(), rows * sizeof(double), hipMemcpyHostToDevice));
    assemble<<<rows * N / 256, 256>>>(a);
    CHECK(hipGetLastError());
    for (int newton = 0; newton < 2; newton++) {
        gauss_jordan<<<systems / MATRICES, 64>>>(a, b, x);
        CHECK(hipGetLastError());
    }
    CHECK(hipMemcpy(got.data(), x, rows * sizeof(double), hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++)
            sum += element(i / N, i % N, j) * got[i / N * N + j];
        if (!(fabs(sum - right[i]) < 1e-9)) {
            fprintf(stderr, "system %u, row %u: %g, not %g\n", i / N, i % N, sum, right[i]);
            return 1;
        }
    }
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    CHECK(hipFree(x));
    puts("ok");
    return 0;
}
