// bond_energy: each bond adds its energy to one float of global memory. The fix adds within the workgroup first, over many bonds for each thread, and then adds once for each workgroup.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_));                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { THREADS = 256 };

struct Bond {
    float length, rest, stiffness;
};

__host__ __device__ inline Bond bond_of(uint32_t i)
{
    const float rest = 1 + 0.125f * (float)(i % 4);
    return {rest + ((float)(i * 37 % 101) - 50) / 200, rest, 20 + (float)(i % 7)};
}

__host__ __device__ inline float energy_of(const Bond &bond)
{
    const float stretch = bond.length - bond.rest;
    return 0.5f * bond.stiffness * stretch * stretch;
}

__global__ void build(Bond *bonds, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        bonds[i] = bond_of(i);
}

__global__ void __launch_bounds__(THREADS) bond_energy(const Bond *bonds, float *energy, uint32_t n)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
#ifdef FIXED
    __shared__ float wave_sum[THREADS / 64];
    float sum = 0;
    for (uint32_t bond = i; bond < n; bond += gridDim.x * THREADS)
        sum += energy_of(bonds[bond]);
    for (int distance = 32; distance > 0; distance /= 2)
        sum += __shfl_xor(sum, distance);
    if (threadIdx.x % 64 == 0)
        wave_sum[threadIdx.x / 64] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        unsafeAtomicAdd(energy, wave_sum[0] + wave_sum[1] + wave_sum[2] + wave_sum[3]);
#else
    if (i < n)
        unsafeAtomicAdd(energy, energy_of(bonds[i])); // planted: atomic_contention
#endif
}

int main()
{
    const uint32_t n = 1500000;
    Bond *bonds;
    float *energy, got;
    CHECK(hipMalloc(&bonds, n * sizeof(Bond)));
    CHECK(hipMalloc(&energy, sizeof(float)));
    build<<<(n + 255) / 256, 256>>>(bonds, n);
    CHECK(hipGetLastError());
    double want = 0;
    for (uint32_t i = 0; i < n; i++)
        want += energy_of(bond_of(i));
#ifdef FIXED
    const uint32_t groups = 608;
#else
    const uint32_t groups = (n + THREADS - 1) / THREADS;
#endif
    for (int step = 0; step < 3; step++) {
        CHECK(hipMemset(energy, 0, sizeof(float)));
        bond_energy<<<groups, THREADS>>>(bonds, energy, n);
        CHECK(hipGetLastError());
        CHECK(hipMemcpy(&got, energy, sizeof(float), hipMemcpyDeviceToHost));
        if (!(fabs(got - want) < 5e-3 * want)) { // a sum in single precision
            fprintf(stderr, "step %d: %g, not %g\n", step, got, want);
            return 1;
        }
    }
    CHECK(hipFree(bonds));
    CHECK(hipFree(energy));
    puts("ok");
    return 0;
}
