// charge_deposit: particles are sorted by cell, so all lanes of a wave add to the same four nodes
// in memory. The fix adds the particles of a cell in registers and a wave's sums with four atomics.
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

enum { WIDTH = 64, CELLS = WIDTH * WIDTH, THREADS = 256, LANES = 64, UNIT = 128, CORNERS = 4 };

struct Particle {
    float x, y;
};

// The share of a particle's charge that a corner of its cell gets, in fixed point.
__host__ __device__ inline int share(Particle particle, int corner)
{
    const int x = (int)((particle.x - floorf(particle.x)) * UNIT);
    const int y = (int)((particle.y - floorf(particle.y)) * UNIT);
    return (corner % 2 ? x : UNIT - x) * (corner / 2 ? y : UNIT - y);
}

// The node at a corner of a cell; the domain is periodic.
__host__ __device__ inline int node_at(int cell, int corner)
{
    const int x = cell % WIDTH + corner % 2, y = cell / WIDTH + corner / 2;
    return y % WIDTH * WIDTH + x % WIDTH;
}

#ifdef FIXED
__global__ void deposit(const Particle *particles, const int *starts, int *charge)
{
    const int cell = blockIdx.x;
    int sums[CORNERS] = {0, 0, 0, 0};
    for (int i = starts[cell] + (int)threadIdx.x; i < starts[cell + 1]; i += THREADS)
        for (int corner = 0; corner < CORNERS; corner++)
            sums[corner] += share(particles[i], corner);
    for (int corner = 0; corner < CORNERS; corner++) {
        for (int reach = LANES / 2; reach; reach /= 2)
            sums[corner] += __shfl_xor(sums[corner], reach);
        if (threadIdx.x % LANES == 0)
            atomicAdd(&charge[node_at(cell, corner)], sums[corner]);
    }
}
#else
__global__ void deposit(const Particle *particles, int count, int *charge)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    const Particle particle = particles[i];
    const int cell = (int)particle.y * WIDTH + (int)particle.x;
    for (int corner = 0; corner < CORNERS; corner++) {
        const int part = share(particle, corner);
        atomicAdd(&charge[node_at(cell, corner)], part); // planted: atomic_contention
    }
}
#endif

int main()
{
    std::vector<Particle> particles;
    std::vector<int> starts(1, 0), want(CELLS, 0), got(CELLS);
    for (int cell = 0; cell < CELLS; cell++) {
        for (uint32_t i = 0; i < 192 + cell * 37u % 128; i++) {
            const uint32_t bits = (cell * 512 + i) * 2654435761u >> 16;
            const Particle particle = {cell % WIDTH + (float)(bits % 256) / 256,
                                       cell / WIDTH + (float)(bits / 256 % 256) / 256};
            particles.push_back(particle);
            for (int corner = 0; corner < CORNERS; corner++)
                want[node_at(cell, corner)] += share(particle, corner);
        }
        starts.push_back((int)particles.size());
    }
    Particle *particles_in;
    int *starts_in, *charge;
    CHECK(hipMalloc(&particles_in, particles.size() * sizeof(Particle)));
    CHECK(hipMalloc(&starts_in, starts.size() * sizeof(int)));
    CHECK(hipMalloc(&charge, CELLS * sizeof(int)));
    CHECK(hipMemcpy(particles_in, particles.data(), particles.size() * sizeof(Particle),
                    hipMemcpyHostToDevice));
    CHECK(hipMemcpy(starts_in, starts.data(), starts.size() * sizeof(int), hipMemcpyHostToDevice));
    CHECK(hipMemset(charge, 0, CELLS * sizeof(int)));
#ifdef FIXED
    deposit<<<CELLS, THREADS>>>(particles_in, starts_in, charge);
#else
    const int count = (int)particles.size();
    deposit<<<(count + THREADS - 1) / THREADS, THREADS>>>(particles_in, count, charge);
#endif
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), charge, CELLS * sizeof(int), hipMemcpyDeviceToHost));
    for (int node = 0; node < CELLS; node++)
        if (got[node] != want[node]) {
            fprintf(stderr, "node %d: %d, not %d\n", node, got[node], want[node]);
            return 1;
        }
    CHECK(hipFree(particles_in));
    CHECK(hipFree(starts_in));
    CHECK(hipFree(charge));
    puts("ok");
    return 0;
}
