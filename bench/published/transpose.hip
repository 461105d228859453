// Copies and transposes of a square float matrix, tiles of 64 x 64, workgroups of 64 x 16, eight launches of each one behind the
// other. With "spread" behind the name, workgroups that follow one another work on tiles far apart: those of
// one die on neighbours.
#include "common.h"

enum { TILE = 64, ROWS = 16, DIES = 6 };

struct tile {
    int x, y;
};

template <bool SPREAD> static __device__ tile tile_of_group()
{
    if (!SPREAD)
        return {(int)blockIdx.x, (int)blockIdx.y};
    const int group = blockIdx.x + blockIdx.y * gridDim.x, groups = gridDim.x * gridDim.y;
    const int die = group % DIES, rest = groups % DIES;
    const int at = die * (groups / DIES) + min(die, rest) + group / DIES;
    return {at % (int)gridDim.x, at / (int)gridDim.x};
}

template <bool SPREAD> __global__ void copy(float *to, const float *from, int width)
{
    const tile t = tile_of_group<SPREAD>();
    const size_t i = t.x * TILE + threadIdx.x + (size_t)(t.y * TILE + threadIdx.y) * width;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        to[i + k * width] = from[i + k * width];
}

template <bool SPREAD> __global__ void naive(float *to, const float *from, int width)
{
    const tile t = tile_of_group<SPREAD>();
    const size_t x = t.x * TILE + threadIdx.x, y = t.y * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        to[x * width + y + k] = from[x + (y + k) * width];
}

// A tile in LDS, with PAD words behind each row; DIAGONAL: tiles in diagonal order.
template <bool SPREAD, int PAD, bool DIAGONAL> __global__ void tiled(float *to, const float *from, int width)
{
    __shared__ float lds[TILE][TILE + PAD];
    tile t = tile_of_group<SPREAD>();
    if (DIAGONAL)
        t = {(t.x + t.y) % (int)gridDim.x, t.x};
    size_t x = t.x * TILE + threadIdx.x, y = t.y * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        lds[threadIdx.y + k][threadIdx.x] = from[x + (y + k) * width];
    __syncthreads();
    x = t.y * TILE + threadIdx.x;
    y = t.x * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += ROWS)
        to[x + (y + k) * width] = lds[threadIdx.x][threadIdx.y + k];
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("transpose KERNEL WIDTH");
    const struct {
        const char *name;
        void (*kernel)(float *, const float *, int);
    } kernels[] = {{"copy", copy<false>}, {"copy_spread", copy<true>}, {"naive", naive<false>}, {"naive_spread", naive<true>},
                   {"tiled", tiled<false, 0, false>}, {"tiled_spread", tiled<true, 0, false>},
                   {"padded", tiled<false, 1, false>}, {"padded_spread", tiled<true, 1, false>},
                   {"diagonal", tiled<false, 1, true>}, {"diagonal_spread", tiled<true, 1, true>}};
    const int width = atoi(argv[2]);
    float *to = device<float>((size_t)width * width), *from = device<float>((size_t)width * width);
    OK(hipMemset(from, 0, (size_t)width * width * 4));
    for (const auto &k : kernels) {
        for (int launch = 0; launch < 8 && strcmp(k.name, argv[1]) == 0; launch++)
            k.kernel<<<dim3(width / TILE, width / TILE), dim3(TILE, ROWS)>>>(to, from, width);
    }
    finish();
}
