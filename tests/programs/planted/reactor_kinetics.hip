// reactor_kinetics: eight waves a SIMD are asked of a kernel that factors a 10 x 10 matrix in its
// registers, so half of the matrix spills to scratch. The fix lets it have the registers it needs.
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

enum { SPECIES = 10, CELLS = 1216 * 256, THREADS = 256, STEPS = 4 };

// One implicit step of the reactions in a cell: solves (1 - dt J) y' = y, without pivots, as the
// matrix is dominated by its diagonal.
__host__ __device__ inline void advance(const float *rates, float *y)
{
    float matrix[SPECIES][SPECIES];
#pragma unroll
    for (int from = 0; from < SPECIES; from++) {
        float loss = 0;
#pragma unroll
        for (int to = 0; to < SPECIES; to++) {
            const float rate = rates[to * SPECIES + from] * y[from];
            matrix[to][from] = -rate;
            loss += to == from ? 0 : rate;
        }
        matrix[from][from] = 1 + loss;
    }
#pragma unroll
    for (int pivot = 0; pivot < SPECIES; pivot++) {
        const float inverse = 1 / matrix[pivot][pivot];
#pragma unroll
        for (int row = pivot + 1; row < SPECIES; row++) {
            const float factor = matrix[row][pivot] * inverse;
#pragma unroll
            for (int column = pivot + 1; column < SPECIES; column++)
                matrix[row][column] -= factor * matrix[pivot][column];
            y[row] -= factor * y[pivot];
        }
    }
#pragma unroll
    for (int row = SPECIES - 1; row >= 0; row--) {
#pragma unroll
        for (int column = row + 1; column < SPECIES; column++)
            y[row] -= matrix[row][column] * y[column];
        y[row] /= matrix[row][row];
    }
}

#ifdef FIXED
__global__ void __launch_bounds__(THREADS)
#else
__global__ void __launch_bounds__(THREADS, 8) // planted: register_spills
#endif
    react(const float *rates, float *species)
{
    const int cell = blockIdx.x * THREADS + threadIdx.x;
    float y[SPECIES];
#pragma unroll
    for (int i = 0; i < SPECIES; i++)
        y[i] = species[i * CELLS + cell];
#pragma unroll 1
    for (int step = 0; step < STEPS; step++)
        advance(rates, y);
#pragma unroll
    for (int i = 0; i < SPECIES; i++)
        species[i * CELLS + cell] = y[i];
}

int main()
{
    std::vector<float> rates(SPECIES * SPECIES), start(SPECIES * CELLS), got(SPECIES * CELLS);
    for (int i = 0; i < SPECIES * SPECIES; i++)
        rates[i] = 0.01f * (float)(i * 37 % 29);
    for (int i = 0; i < SPECIES * CELLS; i++)
        start[i] = 0.1f + 0.01f * (float)(i * 7 % 41);
    const size_t bytes = start.size() * sizeof(float);
    float *rates_in, *species;
    CHECK(hipMalloc(&rates_in, rates.size() * sizeof(float)));
    CHECK(hipMalloc(&species, bytes));
    CHECK(hipMemcpy(rates_in, rates.data(), rates.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(species, start.data(), bytes, hipMemcpyHostToDevice));
    react<<<CELLS / THREADS, THREADS>>>(rates_in, species);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), species, bytes, hipMemcpyDeviceToHost));
    for (int cell = 0; cell < CELLS; cell += 5) {
        float y[SPECIES];
        for (int i = 0; i < SPECIES; i++)
            y[i] = start[i * CELLS + cell];
        for (int step = 0; step < STEPS; step++)
            advance(rates.data(), y);
        for (int i = 0; i < SPECIES; i++)
            if (!(fabsf(got[i * CELLS + cell] - y[i]) < 1e-4f)) {
                fprintf(stderr, "cell %d, species %d: %g, not %g\n", cell, i, got[i * CELLS + cell],
                        y[i]);
                return 1;
            }
    }
    CHECK(hipFree(rates_in));
    CHECK(hipFree(species));
    puts("ok");
    return 0;
}
