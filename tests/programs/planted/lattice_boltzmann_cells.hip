// lattice_boltzmann_cells: the nine populations of a cell lie together in a struct of 12 words, so
// one population of 64 cells lies on 24 lines. The fix keeps an array of each population.
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

enum { WIDTH = 1024, HEIGHT = 512, CELLS = WIDTH * HEIGHT, LINKS = 9, FIELDS = 12, THREADS = 256 };
enum { DENSITY = LINKS, FLOW_X, FLOW_Y };

// Where a field of a cell lies.
__host__ __device__ inline int place(int cell, int field)
{
#ifdef FIXED
    return field * CELLS + cell;
#else
    return cell * FIELDS + field;
#endif
}

__host__ __device__ inline int link_x(int link)
{
    return link == 1 || link == 5 || link == 8 ? 1 : link == 3 || link == 6 || link == 7 ? -1 : 0;
}

__host__ __device__ inline int link_y(int link)
{
    return link == 2 || link == 5 || link == 6 ? 1 : link == 4 || link == 7 || link == 8 ? -1 : 0;
}

__host__ __device__ inline int neighbour(int cell, int link)
{
    const int x = cell % WIDTH - link_x(link), y = cell / WIDTH - link_y(link);
    return (x + WIDTH) % WIDTH + (y + HEIGHT) % HEIGHT * WIDTH;
}

// Relaxes the populations of a cell towards their equilibrium and stores them with its moments.
__host__ __device__ inline void collide(float *f, float *cells, int cell)
{
    float density = 0, flow_x = 0, flow_y = 0;
    for (int link = 0; link < LINKS; link++) {
        density += f[link];
        flow_x += (float)link_x(link) * f[link];
        flow_y += (float)link_y(link) * f[link];
    }
    const float energy = 1.5f * (flow_x * flow_x + flow_y * flow_y) / density;
    for (int link = 0; link < LINKS; link++) {
        const float weight = link == 0 ? 4.0f / 9 : link < 5 ? 1.0f / 9 : 1.0f / 36;
        const float along = (float)link_x(link) * flow_x + (float)link_y(link) * flow_y;
        const float rest = density + 3 * along + 4.5f * along * along / density - energy;
        cells[place(cell, link)] = f[link] + 0.6f * (weight * rest - f[link]);
    }
    cells[place(cell, DENSITY)] = density;
    cells[place(cell, FLOW_X)] = flow_x;
    cells[place(cell, FLOW_Y)] = flow_y;
}

__global__ void stream_and_collide(const float *from, float *to)
{
    const int cell = blockIdx.x * THREADS + threadIdx.x;
    float f[LINKS];
#pragma unroll
    for (int link = 0; link < LINKS; link++)
        f[link] = from[place(neighbour(cell, link), link)]; // planted: uncoalesced_access
    collide(f, to, cell);
}

int main()
{
    std::vector<float> start((size_t)CELLS * FIELDS), want(start.size()), got(start.size());
    for (int cell = 0; cell < CELLS; cell++)
        for (int link = 0; link < LINKS; link++)
            start[place(cell, link)] = 0.1f + 0.001f * (float)((cell * 7 + link * 13) % 32);
    const size_t bytes = start.size() * sizeof(float);
    float *from, *to;
    CHECK(hipMalloc(&from, bytes));
    CHECK(hipMalloc(&to, bytes));
    CHECK(hipMemcpy(from, start.data(), bytes, hipMemcpyHostToDevice));
    stream_and_collide<<<CELLS / THREADS, THREADS>>>(from, to);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), to, bytes, hipMemcpyDeviceToHost));
    for (int cell = 0; cell < CELLS; cell++) {
        float f[LINKS];
        for (int link = 0; link < LINKS; link++)
            f[link] = start[place(neighbour(cell, link), link)];
        collide(f, want.data(), cell);
    }
    for (size_t i = 0; i < got.size(); i++)
        if (!(fabsf(got[i] - want[i]) < 1e-4f)) {
            fprintf(stderr, "word %zu: %g, not %g\n", i, got[i], want[i]);
            return 1;
        }
    CHECK(hipFree(from));
    CHECK(hipFree(to));
    puts("ok");
    return 0;
}
