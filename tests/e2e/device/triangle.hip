// Workgroups that wait for earlier ones, as triangular solves do: row i waits for some rows before it, whatever the
// order in which workgroups become resident. All of them fit on the GPU at the same time.
#include "check.h"

#include <vector>

enum { ROWS = 152, MOST = 6, GRAPHS = 300 };

__global__ void solve(const int *count, const int *rows, int *done, int *level)
{
    const int row = blockIdx.x;
    int deepest = 0;
    for (int i = 0; i < count[row]; i++) {
        const int before = rows[row * MOST + i];
        if (threadIdx.x == 0)
            while (!__hip_atomic_load(&done[before], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
            }
        __syncthreads();
        __threadfence();
        deepest = max(deepest, __hip_atomic_load(&level[before], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_store(&level[row], deepest + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_store(&done[row], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

int main()
{
    int *count, *rows, *done, *level;
    HIP(hipMalloc(&count, ROWS * sizeof(int)));
    HIP(hipMalloc(&rows, ROWS * MOST * sizeof(int)));
    HIP(hipMalloc(&done, ROWS * sizeof(int)));
    HIP(hipMalloc(&level, ROWS * sizeof(int)));
    unsigned state = 1;
    for (int graph = 0; graph < GRAPHS; graph++) {
        std::vector<int> counts(ROWS), befores(ROWS * MOST), wanted(ROWS), got(ROWS);
        // The first third waits for nothing, the others for rows that are not far away.
        const int free = 1 + draw(&state, ROWS / 3), reach = 2 + draw(&state, 24);
        for (int row = 0; row < ROWS; row++) {
            counts[row] = row < free ? 0 : 1 + draw(&state, MOST);
            for (int i = 0; i < counts[row]; i++) {
                const int before = row - 1 - (int)draw(&state, row < reach ? row : reach);
                befores[row * MOST + i] = before;
                wanted[row] = std::max(wanted[row], wanted[before]);
            }
            wanted[row]++;
        }
        HIP(hipMemcpy(count, counts.data(), ROWS * sizeof(int), hipMemcpyHostToDevice));
        HIP(hipMemcpy(rows, befores.data(), ROWS * MOST * sizeof(int), hipMemcpyHostToDevice));
        HIP(hipMemset(done, 0, ROWS * sizeof(int)));
        solve<<<ROWS, 64>>>(count, rows, done, level);
        HIP(hipMemcpy(got.data(), level, ROWS * sizeof(int), hipMemcpyDeviceToHost));
        for (int row = 0; row < ROWS; row++)
            CHECK(got[row] == wanted[row]);
    }
    return 0;
}
