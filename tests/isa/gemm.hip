// Matrix products as libraries compute them on gfx942, for the timing model: tiles through the LDS,
// matrix instructions on accumulators in registers, the next tiles under way meanwhile. They are
// this project's own kernels; whose choice of tile sizes they follow stands at each.
#include <hip/hip_runtime.h>
#include <stdint.h>

typedef float f16v __attribute__((ext_vector_type(16)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef int i4v __attribute__((ext_vector_type(4)));
typedef int i2v __attribute__((ext_vector_type(2)));
typedef float f2v __attribute__((ext_vector_type(2)));
typedef _Float16 h4v __attribute__((ext_vector_type(4)));
typedef short s4v __attribute__((ext_vector_type(4)));

// Word 3 of a buffer descriptor without structure: LLVM AMDGPU usage, as its own tests have it.
enum { RAW_BUFFER = 0x00027000 };

// All of the workgroup have done with the LDS what stands above; loads stay under way.
static __device__ void lds_barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// Products into accumulation (a) or vector registers (v), in the order of the program: memory
// instructions stay between the ones where they stand. The result of the last is there ten slots
// later.
#define PRODUCT(name, op, type, file)                                                              \
    static __device__ __forceinline__ void name(type a, type b, f16v &c)                           \
    {                                                                                              \
        asm volatile("v_mfma_" op " %0, %1, %2, %0" : "+" file(c) : "v"(a), "v"(b) : "memory");    \
    }
#define PRODUCTS_DONE() asm volatile("s_nop 15\n\ts_nop 15" ::: "memory")

// Zeros that are made here, not earlier: registers for them are scarce.
#define CLEAR(name, file)                                                                          \
    static __device__ __forceinline__ void name(f16v &c)                                           \
    {                                                                                              \
        asm volatile("v_mfma_f32_32x32x8_f16 %0, %1, %1, 0"                                        \
                     : "=" file(c)                                                                 \
                     : "v"(i2v{0, 0})                                                              \
                     : "memory");                                                                  \
    }

PRODUCT(product_f16, "f32_32x32x8_f16", i2v, "a")
PRODUCT(product_bf16, "f32_32x32x8_bf16", i2v, "a")
PRODUCT(product_fp8, "f32_32x32x16_fp8_fp8", i2v, "a")
PRODUCT(product_f32_v, "f32_32x32x2_f32", float, "v")
PRODUCT(product_f16_v, "f32_32x32x8_f16", i2v, "v")
CLEAR(clear, "a")
CLEAR(clear_v, "v")

// ---- both operands with k innermost: 256 x 256 (or 192), as hipBLASLt's largest -----------------

struct op_f16 {
    typedef _Float16 out;
    static __device__ void multiply(i2v a, i2v b, f16v &c)
    {
        product_f16(a, b, c);
    }
};

struct op_bf16 {
    typedef __bf16 out;
    static __device__ void multiply(i2v a, i2v b, f16v &c)
    {
        product_bf16(a, b, c);
    }
};

struct op_fp8 {
    typedef _Float16 out;
    static __device__ void multiply(i2v a, i2v b, f16v &c)
    {
        product_fp8(a, b, c);
    }
};

/*
 * C = A B', rows of A and B side by side in memory. Four waves with 128 x 32 WIDE of C each. A step
 * takes 64 bytes of each row of the operands, in the order in which lanes load them, not in that of
 * k: it is the same for both. Lines have 128 bytes, so two steps are loaded at once. While one half
 * of a step is multiplied, the other is read from the LDS; there the 16-byte pieces of rows change
 * places so that the lanes of a clock find them in different banks.
 */
template <class OP, int WIDE> struct gemm_tn {
    enum { TALL = 4, COLUMNS = 64 * WIDE, A_BYTES = 256 * 64, STEP_BYTES = A_BYTES + COLUMNS * 64 };
    enum { PIECES = 4 + WIDE, PRODUCTS = 2 * TALL * WIDE };
    struct half {
        i4v a[TALL], b[WIDE];
    };
    struct pieces {
        i4v of[PIECES];
    };
    f16v sum[TALL][WIDE];
    half now, next;
    uint8_t *lds;
    __amdgpu_buffer_rsrc_t a, b;
    uint32_t from_a, from_b, row_bytes, k; // what the thread loads: its first row, from where in it
    uint32_t to, at_a, at_b;               // where it writes them, and what its lane reads

    // Which row of B stands in a row of the LDS: with four accumulators side by side a lane has
    // four neighbours of C, and can store them at once.
    static __device__ uint32_t row_of_b(uint32_t at)
    {
        return WIDE == 4 ? at / 128 * 128 + at % 32 * 4 + at / 32 % 4 : at;
    }

    __device__ void load(pieces &p, int i, unsigned step)
    {
        p.of[i] = __builtin_bit_cast(i4v, __builtin_amdgcn_raw_buffer_load_b128(
                                              i < 4 ? a : b,
                                              i < 4 ? from_a + 64 * i * row_bytes
                                                    : from_b + row_of_b(64 * (i - 4)) * row_bytes,
                                              k + 64 * step, 0));
    }

    __device__ void write(const pieces &p, int i, unsigned buffer)
    {
        *(i4v *)(lds + to + 4096 * i + STEP_BYTES * buffer) = p.of[i];
    }

    __device__ void read(half &h, int i, unsigned buffer, unsigned which)
    {
        const uint32_t at = (i < TALL ? at_a : at_b) ^ 32 * which;
        const i4v piece =
            *(const i4v *)(lds + at + 2048 * (i < TALL ? i : i - TALL) + STEP_BYTES * buffer);
        if (i < TALL)
            h.a[i] = piece;
        else
            h.b[i - TALL] = piece;
    }

    // Product number p of a half: those that follow each other go to different accumulators.
    __device__ void multiply(const half &h, int p)
    {
        const int i = p % TALL, j = p / TALL % WIDE, k = p / (TALL * WIDE);
        OP::multiply(k ? h.a[i].zw : h.a[i].xy, k ? h.b[j].zw : h.b[j].xy, sum[i][j]);
    }

    // A step: its second half is read, and the next step written, while the first is multiplied.
    // Then every wave has read all of it. What is loaded comes all the time, so that no queue
    // fills.
    template <bool LAST>
    __device__ void step(unsigned buffer, const pieces &written, pieces &first, pieces &second)
    {
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++) {
            multiply(now, p);
            if (p % 2 == 0 && p / 2 < PIECES)
                read(next, p / 2, buffer, 1);
            if (p % 2 == 1 && p / 2 < PIECES)
                write(written, p / 2, !buffer);
            if (LAST)
                load_turn(p, 3, 5, first, second);
        }
        lds_barrier();
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++) {
            multiply(next, p);
            if (p % 3 == 0 && p / 3 < PIECES)
                read(now, p / 3, !buffer, 0);
            load_turn(p, LAST ? 5 : 0, LAST ? PIECES : 3, first, second);
        }
    }

    __device__ void load_turn(int p, int begin, int end, pieces &first, pieces &second)
    {
        const int every = PRODUCTS / 2 / (end - begin), i = begin + p / 2 / every;
        if (p / 2 % every == 0 && i < end) {
            if (p % 2)
                load(second, i, 1);
            else
                load(first, i, 0);
        }
    }

    // Two steps; meanwhile the first of the next two is written, and the two after that are loaded.
    __device__ void two_steps(pieces &first, pieces &second, pieces &next_first, int left)
    {
        k += left > 2 ? 128 : 0; // the last are loaded again, for nothing
        step<false>(0, second, first, second);
        step<true>(1, next_first, first, second);
    }

    __device__ void start(const uint8_t *a0, const uint8_t *b0, uint32_t bytes, uint8_t *shared)
    {
        const uint32_t t = threadIdx.x, row = t / 4, lane = t % 64, wave = t / 64;
        lds = shared;
        a = __builtin_amdgcn_make_buffer_rsrc((void *)a0, 0, 256 * bytes, RAW_BUFFER);
        b = __builtin_amdgcn_make_buffer_rsrc((void *)b0, 0, COLUMNS * bytes, RAW_BUFFER);
        row_bytes = bytes;
        from_a = row * row_bytes + t % 4 * 16;
        from_b = row_of_b(row) * row_bytes + t % 4 * 16;
        k = 0;
        to = row * 64 + (t % 4 ^ (row / 2 & 3)) * 16;
        at_a = wave % 2 * 128 * 64 + lane % 32 * 64 + (lane / 32 ^ (lane / 2 & 3)) * 16;
        at_b =
            A_BYTES + wave / 2 * WIDE * 2048 + lane % 32 * 64 + (lane / 32 ^ (lane / 2 & 3)) * 16;
    }

    __device__ void store(typename OP::out *c, int n)
    {
        typedef typename OP::out out;
        typedef out out4 __attribute__((ext_vector_type(4)));
        const uint32_t lane = threadIdx.x % 64, wave = threadIdx.x / 64;
        c += (size_t)(wave % 2 * 128 + lane / 32 * 4) * n + wave / 2 * 32 * WIDE;
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int r = 0; r < 16; r++) {
                out *row = c + (32 * i + r / 4 * 8 + r % 4) * n;
                out v[WIDE];
#pragma unroll
                for (int j = 0; j < WIDE; j++) {
                    asm volatile("" : "+a"(sum[i][j])); // stays where it is until now
                    v[j] = (out)sum[i][j][r];
                    if (WIDE != 4)
                        row[32 * j + lane % 32] = v[j];
                }
                if (WIDE == 4)
                    *(out4 *)(row + lane % 32 * 4) = out4{v[0], v[1], v[2], v[WIDE - 1]};
            }
    }

    // Tiles with the same rows of A belong to the same dies: tile i is on die i % 8.
    __device__ void run(const uint8_t *a_all, const uint8_t *b_all, typename OP::out *c, int m,
                        int n, int row_bytes, uint8_t *shared)
    {
        const uint32_t row = blockIdx.x % (m / 256) * 256,
                       column = blockIdx.x / (m / 256) * COLUMNS;
        pieces first, second, third, fourth;
        int left = row_bytes / 128; // pairs of steps, at least one
        start(a_all + (size_t)row * row_bytes, b_all + (size_t)column * row_bytes, row_bytes,
              shared);
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            load(first, i, 0), load(second, i, 1);
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            write(first, i, 0);
        k = left > 1 ? 128 : 0;
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            load(third, i, 0), load(fourth, i, 1);
        lds_barrier();
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            read(now, i, 0, 0);
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int j = 0; j < WIDE; j++)
                clear(sum[i][j]);
#pragma nounroll
        for (;;) {
            two_steps(first, second, third, left);
            if (--left == 0)
                break;
            two_steps(third, fourth, first, left);
            if (--left == 0)
                break;
        }
        PRODUCTS_DONE();
        store(c + (size_t)row * n + column, n);
    }
};

#define GEMM_TN(name, op, wide)                                                                    \
    extern "C" __global__ __launch_bounds__(256) __attribute__((amdgpu_waves_per_eu(1, 1))) void   \
    name(const uint8_t *a, const uint8_t *b, op::out *c, int m, int n, int row_bytes)              \
    {                                                                                              \
        __shared__ __attribute__((aligned(16))) uint8_t lds[2 * gemm_tn<op, wide>::STEP_BYTES];    \
        gemm_tn<op, wide> g;                                                                       \
        g.run(a, b, c, m, n, row_bytes, lds);                                                      \
    }

GEMM_TN(gemm_f16, op_f16, 4)
GEMM_TN(gemm_bf16, op_bf16, 4)
GEMM_TN(gemm_fp8, op_fp8, 3)

// ---- both operands with k outermost: the tiles that rocBLAS's tables for gfx942 choose
// -----------

// Work-items of a wave, and where it stands in its workgroup.
struct place {
    uint32_t thread = threadIdx.x, lane = thread % 32, half = thread / 32 % 2, wave = thread / 64;
};

/*
 * 128 x 128, 16 of k at a time, four waves with 64 x 64 each: solution 3 of the table of rocBLAS
 * for f32, column-major C = A B'. Tiles at the edge are moved inwards, so that some of C is
 * computed twice.
 */

struct gemm_f32_tile {
    enum { TILE = 128, DEPTH = 16, LOADS = 4 };
    const float *a, *b;
    size_t m, n;
    float (*lds)[DEPTH][TILE];
    place at;
    f2v from_a[LOADS], from_b[LOADS];
    f16v sum[2][2];

    __device__ void load(int i)
    {
        const uint32_t row = at.thread / 64 + 4 * i, column = at.thread % 64 * 2;
        from_a[i] = *(const f2v *)(a + row * m + column);
        from_b[i] = *(const f2v *)(b + row * n + column);
    }

    __device__ void write(int i)
    {
        const uint32_t row = at.thread / 64 + 4 * i, column = at.thread % 64 * 2;
        *(f2v *)&lds[0][row][column] = from_a[i];
        *(f2v *)&lds[1][row][column] = from_b[i];
    }

    __device__ void step()
    {
        f2v x[DEPTH / 2], y[DEPTH / 2];
#pragma unroll
        for (int s = 0; s < DEPTH / 2; s++) {
            x[s] = *(const f2v *)&lds[0][2 * s + at.half][at.wave % 2 * 64 + at.lane * 2];
            y[s] = *(const f2v *)&lds[1][2 * s + at.half][at.wave / 2 * 64 + at.lane * 2];
        }
        lds_barrier();
#pragma unroll
        for (int s = 0; s < DEPTH / 2; s++) {
#pragma unroll
            for (int p = 0; p < 4; p++)
                product_f32_v(y[s][p / 2], x[s][p % 2], sum[p % 2][p / 2]);
            if (s < LOADS)
                write(s);
            else
                load(s - LOADS);
        }
        lds_barrier();
    }

    __device__ void run(float *c, int k)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            load(i);
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            write(i);
        const size_t ahead_a = DEPTH * m, ahead_b = DEPTH * n;
        a += ahead_a, b += ahead_b;
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            load(i);
        lds_barrier();
#pragma unroll
        for (int i = 0; i < 4; i++)
            clear_v(sum[i / 2][i % 2]);
        int left = k / DEPTH; // at least 2
#pragma nounroll
        do {
            a += left > 2 ? ahead_a : 0;
            b += left > 2 ? ahead_b : 0;
            step();
        } while (--left > 0);
        PRODUCTS_DONE();
#pragma unroll
        for (int j = 0; j < 2; j++)
#pragma unroll
            for (int r = 0; r < 16; r++) {
                const uint32_t row = r / 4 * 8 + at.half * 4 + r % 4;
                asm volatile("" : "+v"(sum[0][j]), "+v"(sum[1][j]));
                *(f2v *)(c + (at.wave / 2 * 64 + row * 2 + j) * m + at.wave % 2 * 64 +
                         at.lane * 2) = f2v{sum[0][j][r], sum[1][j][r]};
            }
    }
};

extern "C" __global__ __launch_bounds__(256, 2) void gemm_f32(const float *a, const float *b,
                                                              float *c, int m, int n, int k)
{
    __shared__ float lds[2][gemm_f32_tile::DEPTH][gemm_f32_tile::TILE];
    const int tall = (m + 127) / 128, tile_m = blockIdx.x % tall, tile_n = blockIdx.x / tall;
    const int row = tile_m * 128 < m - 128 ? tile_m * 128 : m - 128;
    const int column = tile_n * 128 < n - 128 ? tile_n * 128 : n - 128;
    gemm_f32_tile g;
    g.a = a + row;
    g.b = b + column;
    g.m = m;
    g.n = n;
    g.lds = lds;
    g.run(c + (size_t)column * m + row, k);
}

/*
 * 256 x 128, 16 of k at a time, four waves with 64 x 128 each: all solutions of the table of
 * rocBLAS for f16 to f32; C = alpha A B' + beta C of many matrices, C in batches of four elements.
 * Pairs of k are put together on the way to the LDS, so that a lane finds four of them in two
 * words.
 */
struct gemm_f16_tile {
    enum { TALL = 256, WIDE = 128, DEPTH = 16 };
    const _Float16 *a, *b;
    size_t m, n;
    uint32_t (*lds_a)[TALL], (*lds_b)[WIDE];
    place at;
    i2v from[3][2]; // 4 elements of two rows of k: two of A, one of B
    f16v sum[2][4];

    __device__ void load(int i)
    {
        const uint32_t row = at.thread / 32 * 2, column = at.lane * 4 + i % 2 * 128;
        const _Float16 *p = i < 2 ? a + row * m + column : b + row * n + column;
        from[i][0] = *(const i2v *)p;
        from[i][1] = *(const i2v *)(p + (i < 2 ? m : n));
    }

    __device__ void write(int i)
    {
        const i2v x = from[i][0], y = from[i][1];
        i4v pairs;
#pragma unroll
        for (int q = 0; q < 4; q++)
            pairs[q] = __builtin_amdgcn_perm(y[q / 2], x[q / 2], q % 2 ? 0x07060302 : 0x05040100);
        uint32_t *to = i < 2 ? lds_a[at.thread / 32] : lds_b[at.thread / 32];
        *(i4v *)(to + at.lane * 4 + i % 2 * 128) = pairs;
    }

    __device__ void step()
    {
        i2v x[2][2], y[2][4];
#pragma unroll
        for (int s = 0; s < 2; s++) {
            const uint32_t pair = 4 * s + 2 * at.half;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const uint32_t column = at.wave * 64 + 32 * i + at.lane;
                x[s][i] = i2v{(int)lds_a[pair][column], (int)lds_a[pair + 1][column]};
            }
#pragma unroll
            for (int j = 0; j < 4; j++)
                y[s][j] =
                    i2v{(int)lds_b[pair][32 * j + at.lane], (int)lds_b[pair + 1][32 * j + at.lane]};
        }
        lds_barrier();
#pragma unroll
        for (int p = 0; p < 16; p++) {
            product_f16_v(y[p / 8][p % 4], x[p / 8][p / 4 % 2], sum[p / 4 % 2][p % 4]);
            if (p < 9 && p % 3 == 2)
                write(p / 3);
            if (p >= 9 && p < 12)
                load(p - 9);
        }
        lds_barrier();
    }

    __device__ void combine(float *c, float alpha, float beta)
    {
        c += (size_t)(at.half * 4) * m + at.wave * 64 + at.lane;
#pragma unroll
        for (int batch = 0; batch < 32; batch++) {
            const int i = batch / 16, j = batch / 4 % 4, r = batch % 4 * 4;
            float *to = c + (32 * j + 2 * r) * m + 32 * i, old[4];
            asm volatile("" : "+v"(sum[i][j])::"memory"); // one batch after the other
#pragma unroll
            for (int q = 0; q < 4; q++)
                old[q] = __builtin_nontemporal_load(to + q * m);
#pragma unroll
            for (int q = 0; q < 4; q++)
                __builtin_nontemporal_store(alpha * sum[i][j][r + q] + beta * old[q], to + q * m);
        }
    }

    __device__ void run(float *c, int k, float alpha, float beta)
    {
        const size_t ahead_a = DEPTH * m, ahead_b = DEPTH * n;
        load(0), load(1), load(2);
        write(0), write(1), write(2);
        a += ahead_a, b += ahead_b;
        load(0), load(1), load(2);
        lds_barrier();
#pragma unroll
        for (int i = 0; i < 8; i++)
            clear_v(sum[i / 4][i % 4]);
        int left = k / DEPTH; // at least 2
#pragma nounroll
        do {
            a += left > 2 ? ahead_a : 0;
            b += left > 2 ? ahead_b : 0;
            step();
        } while (--left > 0);
        PRODUCTS_DONE();
        combine(c, alpha, beta);
    }
};

extern "C" __global__
    __launch_bounds__(256, 2) void gemm_f16_batched(const _Float16 *a, const _Float16 *b, float *c,
                                                    int m, int n, int k, int stride_a, int stride_b,
                                                    int stride_c, float alpha, float beta)
{
    __shared__ __attribute__((aligned(16))) uint32_t lds_a[8][256], lds_b[8][128];
    const int tall = m / 256, tiles = tall * (n / 128), batch = blockIdx.x / tiles;
    const int tile = blockIdx.x % tiles, row = tile % tall * 256, column = tile / tall * 128;
    gemm_f16_tile g;
    g.a = a + (size_t)batch * stride_a + row;
    g.b = b + (size_t)batch * stride_b + column;
    g.m = m;
    g.n = n;
    g.lds_a = lds_a;
    g.lds_b = lds_b;
    g.run(c + (size_t)batch * stride_c + (size_t)column * m + row, k, alpha, beta);
}

/*
 * 64 x 64, 64 of k at a time, four waves with 32 x 32 each, the next tile under way: solution 10 of
 * the table of rocBLAS for bytes, which is the nearest to small matrices; 25,600 bytes of LDS as
 * there. Four rows of k are put together on the way to the LDS.
 */
struct gemm_i8_tile {
    enum { TILE = 64, DEPTH = 64, BUFFER = 2 * TILE * DEPTH / 4 };
    const int8_t *a, *b;
    size_t m, n;
    uint32_t *lds;
    place at;
    uint32_t from[2][4];

    __device__ void load()
    {
        const uint32_t column = at.thread % 16 * 4, row = at.thread / 16 * 4;
#pragma unroll
        for (int q = 0; q < 4; q++) {
            from[0][q] = *(const uint32_t *)(a + (row + q) * m + column);
            from[1][q] = *(const uint32_t *)(b + (row + q) * n + column);
        }
    }

    // Where eight elements of k of a row are: places change so that lanes find other banks.
    static __device__ uint32_t eight(uint32_t row, uint32_t k8)
    {
        return row * 16 + 2 * (k8 ^ ((row / 4 + row / 2 % 2 * 4) & 7));
    }

    __device__ void write(uint32_t buffer)
    {
        const uint32_t row = at.thread % 16 * 4, k4 = at.thread / 16;
#pragma unroll
        for (int o = 0; o < 2; o++) {
            const uint32_t *x = from[o];
            const uint32_t low[2] = {__builtin_amdgcn_perm(x[1], x[0], 0x05010400),
                                     __builtin_amdgcn_perm(x[1], x[0], 0x07030602)};
            const uint32_t high[2] = {__builtin_amdgcn_perm(x[3], x[2], 0x05010400),
                                      __builtin_amdgcn_perm(x[3], x[2], 0x07030602)};
#pragma unroll
            for (int q = 0; q < 4; q++)
                lds[buffer * BUFFER + o * 1024 + eight(row + q, k4 / 2) + k4 % 2] =
                    __builtin_amdgcn_perm(high[q / 2], low[q / 2], q % 2 ? 0x07060302 : 0x05040100);
        }
    }

    __device__ void multiply(i16v &sum, uint32_t buffer)
    {
        const uint32_t *x = lds + buffer * BUFFER, *y = x + 1024;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const uint32_t k8 = 2 * s + at.half;
            const long one = *(const long *)(x + eight(at.wave % 2 * 32 + at.lane, k8));
            const long other = *(const long *)(y + eight(at.wave / 2 * 32 + at.lane, k8));
            sum = __builtin_amdgcn_mfma_i32_32x32x16_i8(one, other, sum, 0, 0, 0);
        }
    }

    __device__ void run(int *c, int k, int alpha, int beta)
    {
        i16v sum = {};
        load();
        write(0);
        lds_barrier();
        for (int step = 1; step < k / DEPTH; step++) {
            a += DEPTH * m;
            b += DEPTH * n;
            load();
            multiply(sum, (step - 1) % 2);
            write(step % 2);
            lds_barrier();
        }
        multiply(sum, (k / DEPTH - 1) % 2);
        c += (size_t)(at.wave / 2 * 32 + at.lane) * m + at.wave % 2 * 32 + at.half * 4;
        i4v old[4];
#pragma unroll
        for (int r = 0; r < 4; r++)
            old[r] = *(const i4v *)(c + 8 * r);
#pragma unroll
        for (int r = 0; r < 4; r++)
            *(i4v *)(c + 8 * r) =
                alpha * i4v{sum[4 * r], sum[4 * r + 1], sum[4 * r + 2], sum[4 * r + 3]} +
                beta * old[r];
    }
};

extern "C" __global__ __launch_bounds__(256) void gemm_i8_batched(const int8_t *a, const int8_t *b,
                                                                  int *c, int m, int n, int k,
                                                                  int stride_a, int stride_b,
                                                                  int stride_c, int alpha, int beta)
{
    __shared__ __attribute__((aligned(16))) uint32_t lds[25600 / 4];
    const int tall = m / 64, tiles = tall * (n / 64), batch = blockIdx.x / tiles;
    const int tile = blockIdx.x % tiles, row = tile % tall * 64, column = tile / tall * 64;
    gemm_i8_tile g;
    g.a = a + (size_t)batch * stride_a + row;
    g.b = b + (size_t)batch * stride_b + column;
    g.m = m;
    g.n = n;
    g.lds = lds;
    g.run(c + (size_t)batch * stride_c + (size_t)column * m + row, k, alpha, beta);
}
