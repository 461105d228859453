// dtw_antidiagonal: the time-warping matrix in LDS has rows of 33 words, so the 32 cells of an
// antidiagonal are 32 words apart, all on one bank. The fix makes the rows 34 words.
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

enum { LENGTH = 32, PAIRS = 2, LANES = LENGTH * PAIRS, GESTURES = 9728, FAR = 1 << 20 };

#ifdef FIXED
enum { ROW = LENGTH + 2 };
#else
enum { ROW = LENGTH + 1 };
#endif

__host__ __device__ inline int sample_of(int gesture, int template_or_signal, int time)
{
    return (gesture * 31 + template_or_signal * 17 + time * (gesture % 11 + 3)) % 101;
}

// A wave warps two gestures; the matrices are kept, for the way back along the cheapest path.
__global__ void __launch_bounds__(LANES)
    warp(const int *signals, const int *templates, int *matrices)
{
    __shared__ int matrix[PAIRS][(LENGTH + 1) * ROW], reference[PAIRS][LENGTH];
    const int pair = threadIdx.x / LENGTH, row = threadIdx.x % LENGTH;
    const int at = blockIdx.x * LANES + threadIdx.x;
    const int sample = signals[at];
    reference[pair][row] = templates[at];
    matrix[pair][row + 1] = matrix[pair][(row + 1) * ROW] = FAR;
    if (row == 0)
        matrix[pair][0] = 0;
    __syncthreads();
    for (int diagonal = 0; diagonal < 2 * LENGTH - 1; diagonal++) {
        const int column = diagonal - row;
        if (column >= 0 && column < LENGTH) {
            int *cell = &matrix[pair][(row + 1) * ROW + column + 1];
            const int *above = cell - ROW;
            const int best = min(min(above[-1], above[0]), cell[-1]); // planted: lds_bank_conflicts
            cell[0] = best + abs(sample - reference[pair][column]);
        }
        __syncthreads();
    }
    for (int i = 0; i < LENGTH; i++)
        matrices[(at - row) * LENGTH + i * LENGTH + row] = matrix[pair][(i + 1) * ROW + row + 1];
}

static bool matrix_is_right(int gesture, const int *signal, const int *reference, const int *got)
{
    for (int row = 0; row < LENGTH; row++)
        for (int column = 0; column < LENGTH; column++) {
            const int *cell = got + row * LENGTH + column;
            int best = row || column ? FAR : 0;
            if (row && column)
                best = min(best, cell[-LENGTH - 1]);
            if (row)
                best = min(best, cell[-LENGTH]);
            if (column)
                best = min(best, cell[-1]);
            const int want = best + abs(signal[row] - reference[column]);
            if (*cell != want) {
                fprintf(stderr, "gesture %d, row %d, column %d: %d, not %d\n", gesture, row, column,
                        *cell, want);
                return false;
            }
        }
    return true;
}

int main()
{
    const size_t samples = (size_t)GESTURES * LENGTH, bytes = samples * sizeof(int);
    std::vector<int> signals(samples), templates(samples), got(samples * LENGTH);
    for (int i = 0; i < GESTURES * LENGTH; i++) {
        signals[i] = sample_of(i / LENGTH, 0, i % LENGTH);
        templates[i] = sample_of(i / LENGTH, 1, i % LENGTH);
    }
    int *signals_in, *templates_in, *matrices;
    CHECK(hipMalloc(&signals_in, bytes));
    CHECK(hipMalloc(&templates_in, bytes));
    CHECK(hipMalloc(&matrices, bytes * LENGTH));
    CHECK(hipMemcpy(signals_in, signals.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(templates_in, templates.data(), bytes, hipMemcpyHostToDevice));
    warp<<<GESTURES / PAIRS, LANES>>>(signals_in, templates_in, matrices);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), matrices, bytes * LENGTH, hipMemcpyDeviceToHost));
    for (int i = 0; i < GESTURES; i++)
        if (!matrix_is_right(i, &signals[i * LENGTH], &templates[i * LENGTH],
                             &got[(size_t)i * LENGTH * LENGTH]))
            return 1;
    CHECK(hipFree(signals_in));
    CHECK(hipFree(templates_in));
    CHECK(hipFree(matrices));
    puts("ok");
    return 0;
}
