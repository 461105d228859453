// jacobi_checked_on_host: after each sweep of a solver the host waits and sorts the errors of all
// groups to decide whether to go on. The fix decides once in 64 sweeps.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

#include <algorithm>

const int width = 512, height = 256, most = 128;
#ifdef FIXED
const int sweeps_per_check = 64;
#else
const int sweeps_per_check = 1;
#endif

// One sweep of Jacobi's method for Poisson's equation, and the largest change in each wave.
__global__ __launch_bounds__(256) void sweep(const float *__restrict__ from,
                                             const float *__restrict__ right,
                                             float *__restrict__ to, float *__restrict__ change)
{
    int x = blockIdx.x * 64 + threadIdx.x % 64, y = blockIdx.y * 4 + threadIdx.x / 64;
    int i = y * width + x;
    bool edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    float value = 0, largest;
    if (!edge)
        value = 0.25f * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width] + right[i]);
    to[i] = value;
    largest = edge ? 0 : fabsf(value - from[i]);
    for (int step = 32; step > 0; step /= 2)
        largest = fmaxf(largest, __shfl_xor(largest, step));
    if (threadIdx.x % 64 == 0)
        change[y * gridDim.x + blockIdx.x] = largest;
}

// Whether 95 of 100 waves have changed by less than the tolerance.
static bool settled(const float *change, int waves, float tolerance)
{
    std::vector<float> sorted(change, change + waves);
    std::sort(sorted.begin(), sorted.end()); // planted: host_bound
    return sorted[waves * 95 / 100] < tolerance;
}

int main()
{
    const int n = width * height, waves = n / 64;
    std::vector<float> right(n), result(n);
    for (int i = 0; i < n; i++)
        right[i] = (float)(i * 2654435761u >> 24) / 256;
    float *d[2], *dright, *change;
    for (int i = 0; i < 2; i++) {
        CHECK(hipMalloc(&d[i], n * sizeof(float)));
        CHECK(hipMemset(d[i], 0, n * sizeof(float)));
    }
    CHECK(hipMalloc(&dright, n * sizeof(float)));
    CHECK(hipMemcpy(dright, right.data(), n * sizeof(float), hipMemcpyHostToDevice));
    // The kernel writes its changes into memory of the host, so that no copy is needed.
    CHECK(hipHostMalloc((void **)&change, waves * sizeof(float)));
    int sweeps = 0;
    do {
        for (int i = 0; i < sweeps_per_check; i++, sweeps++) {
            sweep<<<dim3(width / 64, height / 4), 256>>>(d[sweeps % 2], dright, d[1 - sweeps % 2],
                                                         change);
            CHECK(hipGetLastError());
        }
        CHECK(hipDeviceSynchronize());
    } while (!settled(change, waves, 1e-5f) && sweeps < most);
    CHECK(hipMemcpy(result.data(), d[sweeps % 2], n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < 2; i++)
        CHECK(hipFree(d[i]));
    CHECK(hipFree(dright));
    CHECK(hipHostFree(change));
    std::vector<float> want(n, 0.0f), before(n);
    for (int i = 0; i < sweeps; i++) {
        before = want;
        for (int y = 1; y < height - 1; y++)
            for (int x = 1; x < width - 1; x++) {
                const float *p = &before[y * width + x];
                want[y * width + x] =
                    0.25f * (p[-1] + p[1] + p[-width] + p[width] + right[y * width + x]);
            }
    }
    for (int i = 0; i < n; i++)
        if (sweeps != most || std::fabs(result[i] - want[i]) > 1e-2f) {
            std::fprintf(stderr, "after %d sweeps, cell %d: %g, not %g\n", sweeps, i, result[i],
                         want[i]);
            return 1;
        }
    std::puts("ok");
    return 0;
}
