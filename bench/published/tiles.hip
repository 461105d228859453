// A product of bf16 matrices, C = A B^T, SIZE^3: tiles of 128 x 128 x 64 in LDS, four waves, v_mfma_f32_16x16x16_bf16, nothing
// overlapped by hand. The rows of the tiles in LDS follow one another (plain), have 8 elements between them (padded), or are
// permuted in pieces of 16 bytes (swizzled).
#include "common.h"

enum { TILE = 128, DEPTH = 64, PIECE = 8 };

typedef unsigned short bf16;
typedef short s4 __attribute__((ext_vector_type(4)));
typedef float f4 __attribute__((ext_vector_type(4)));

enum layout { PLAIN, PADDED, SWIZZLED };

template <layout L> static __device__ int place(int row, int column)
{
    if (L == SWIZZLED)
        return row * DEPTH + ((column / PIECE ^ row % 8) * PIECE | column % PIECE);
    return row * (L == PADDED ? DEPTH + PIECE : DEPTH) + column;
}

template <layout L> static __device__ void load(bf16 *tile, const bf16 *from, int k)
{
#pragma unroll
    for (int i = 0; i < TILE * DEPTH / PIECE / 256; i++) {
        const int at = (i * 256 + threadIdx.x) * PIECE, row = at / DEPTH, column = at % DEPTH;
        *(uint4 *)(tile + place<L>(row, column)) = *(const uint4 *)(from + (size_t)row * k + column);
    }
}

template <layout L> __launch_bounds__(256) __global__ void tiles(const bf16 *a, const bf16 *b, bf16 *c, int n, int k)
{
    __shared__ __attribute__((aligned(16))) bf16 left[TILE * (DEPTH + (L == PADDED ? PIECE : 0))], right[TILE * (DEPTH + (L == PADDED ? PIECE : 0))];
    const int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
    const int across = n / TILE, row = blockIdx.x / across * TILE, column = blockIdx.x % across * TILE;
    const int top = wave / 2 * 64, side = wave % 2 * 64;
    a += (size_t)row * k;
    b += (size_t)column * k;
    f4 sum[4][4] = {};
    for (int depth = 0; depth < k; depth += DEPTH) {
        __syncthreads();
        load<L>(left, a + depth, k);
        load<L>(right, b + depth, k);
        __syncthreads();
        s4 x[4][4], y[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                x[i][j] = *(s4 *)(left + place<L>(top + i * 16 + lane % 16, j * 16 + lane / 16 * 4));
                y[i][j] = *(s4 *)(right + place<L>(side + i * 16 + lane % 16, j * 16 + lane / 16 * 4));
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
#pragma unroll
                for (int part = 0; part < 4; part++)
                    sum[i][j] = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x[i][part], y[j][part], sum[i][j], 0, 0, 0);
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            for (int part = 0; part < 4; part++) {
                const unsigned bits = __float_as_uint(sum[i][j][part]);
                c[(size_t)(row + top + i * 16 + lane / 16 * 4 + part) * n + column + side + j * 16 + lane % 16] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("tiles plain|padded|swizzled SIZE");
    const int n = atoi(argv[2]);
    const size_t elements = (size_t)n * n;
    bf16 *a = device<bf16>(elements), *b = device<bf16>(elements), *c = device<bf16>(elements);
    OK(hipMemset(a, 0, elements * 2));
    OK(hipMemset(b, 0, elements * 2));
    const auto kernel = argv[1][0] == 's' ? tiles<SWIZZLED> : argv[1][1] == 'a' ? tiles<PADDED> : tiles<PLAIN>;
    kernel<<<(n / TILE) * (n / TILE), 256>>>(a, b, c, n, n);
    finish();
}
