// ell_spmv: an ELLPACK matrix is stored row after row and each thread walks its own row, so the lanes of a load are a row apart. The fix stores it column after column, so the lanes of a wave read neighbours.
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

struct Entry {
    int column;
    float value;
};

// Entry k of a row of a banded matrix: a stencil around the diagonal, wrapped at the ends.
__host__ __device__ inline Entry entry_of(uint32_t row, uint32_t k, uint32_t rows, uint32_t width)
{
    Entry e;
    e.column = (int)((row + rows + 3 * k - 3 * width / 2) % rows);
    e.value = (float)((row * 7 + k * 13) % 17 + 1) / (9.0f * width);
    return e;
}

__global__ void assemble(Entry *matrix, uint32_t rows, uint32_t width)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    matrix[i] = entry_of(i % rows, i / rows, rows, width);
#else
    matrix[i] = entry_of(i / width, i % width, rows, width);
#endif
}

__global__ void ell_multiply(const Entry *matrix, const float *x, float *y, uint32_t rows,
                             uint32_t width)
{
    const uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (uint32_t k = 0; k < width; k++) {
#ifdef FIXED
        const Entry e = matrix[(size_t)k * rows + row];
#else
        const Entry e = matrix[(size_t)row * width + k]; // planted: uncoalesced_access
#endif
        sum += e.value * x[e.column];
    }
    y[row] = sum;
}

int main()
{
    const uint32_t rows = 256 * 1024, width = 24;
    Entry *matrix;
    float *x, *y;
    CHECK(hipMalloc(&matrix, (size_t)rows * width * sizeof(Entry)));
    CHECK(hipMalloc(&x, rows * sizeof(float)));
    CHECK(hipMalloc(&y, rows * sizeof(float)));
    std::vector<float> a(rows), b(rows), got(rows);
    for (uint32_t i = 0; i < rows; i++)
        a[i] = (float)(i % 101) / 50;
    CHECK(hipMemcpy(x, a.data(), rows * sizeof(float), hipMemcpyHostToDevice));
    assemble<<<rows * width / 256, 256>>>(matrix, rows, width);
    CHECK(hipGetLastError());
    // Two steps of a power iteration.
    ell_multiply<<<rows / 256, 256>>>(matrix, x, y, rows, width);
    CHECK(hipGetLastError());
    ell_multiply<<<rows / 256, 256>>>(matrix, y, x, rows, width);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), x, rows * sizeof(float), hipMemcpyDeviceToHost));
    for (int step = 0; step < 2; step++) {
        for (uint32_t row = 0; row < rows; row++) {
            b[row] = 0;
            for (uint32_t k = 0; k < width; k++) {
                const Entry e = entry_of(row, k, rows, width);
                b[row] += e.value * a[e.column];
            }
        }
        a.swap(b);
    }
    for (uint32_t i = 0; i < rows; i++)
        if (fabsf(got[i] - a[i]) > 1e-4f * fabsf(a[i]) + 1e-6f) {
            fprintf(stderr, "row %u: %g, not %g\n", i, got[i], a[i]);
            return 1;
        }
    CHECK(hipFree(matrix));
    CHECK(hipFree(x));
    CHECK(hipFree(y));
    puts("ok");
    return 0;
}
