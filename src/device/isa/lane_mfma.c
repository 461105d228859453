/*
 * Dense matrix kernels with f32 and i32 results. Operands are widened to one row of f32 (or pairs
 * of integers) per value; then a tile of D stays in CPU registers while k runs: per step one row of
 * B, and one broadcast of A per row of the tile.
 */
#include "lane_mfma.h"

/* M x M results per block, @p p values per lane. All but @p p are constants at every use. */
RP_MFMA_INLINE void rp_dense(const struct rp_lane_args *x, const rp_wide *a, const rp_wide *b,
                             unsigned m, unsigned blocks, unsigned p, enum rp_mac how)
{
    /* Two vectors wide where there are two: each broadcast then serves both. */
    const unsigned groups = RP_LANES / (m * blocks), wide = m > RP_VEC ? 2 : 1;
    const unsigned high = RP_TILE / wide, last = wide - 1;
    uint32_t *const d = x->d; /* a store could change x, for all that the compiler knows */
    for (unsigned block = 0; block < blocks; block++)
        for (unsigned i0 = 0; i0 < m; i0 += high)
            for (unsigned j0 = 0; j0 < m; j0 += wide * RP_VEC) {
                rp_vec acc[RP_TILE];
#pragma GCC unroll 16
                for (unsigned t = 0; t < RP_TILE; t++)
                    acc[t] =
                        rp_vec_load(x->s2 + RP_D_REGISTER(m, block, i0 + t / wide) * x->c_stride +
                                    RP_D_LANE(m, i0 + t / wide) + j0 + t % wide * RP_VEC);
                for (unsigned group = 0; group < groups; group++) {
                    const unsigned first = m * (block + blocks * group);
                    for (unsigned e = 0; e < p; e++) {
                        const float *const row = b[e] + first + j0;
                        const rp_vec part[2] = {rp_vec_load(row), rp_vec_load(row + last * RP_VEC)};
                        const float *const column = a[e] + first + i0;
#pragma GCC unroll 16
                        for (unsigned t = 0; t < RP_TILE; t++)
                            acc[t] = rp_vec_mac(how, acc[t], rp_vec_all(column + t / wide),
                                                part[t % wide]);
                    }
                }
                rp_tile_quiet(how, acc);
#pragma GCC unroll 16
                for (unsigned t = 0; t < RP_TILE; t++)
                    rp_vec_store(d + RP_D_REGISTER(m, block, i0 + t / wide) * RP_LANES +
                                     RP_D_LANE(m, i0 + t / wide) + j0 + t % wide * RP_VEC,
                                 acc[t]);
            }
}

/* Sixteen 4 x 4 blocks: register i has row i of all of them. */
RP_MFMA_INLINE void rp_dense_4x4(const struct rp_lane_args *x, const rp_wide *a, const rp_wide *b,
                                 unsigned p, enum rp_mac how)
{
    for (unsigned lane = 0; lane < RP_LANES; lane += RP_VEC) {
        rp_vec acc[4];
        for (unsigned i = 0; i < 4; i++)
            acc[i] = rp_vec_load(x->s2 + i * x->c_stride + lane);
        for (unsigned e = 0; e < p; e++) {
            const rp_vec column = rp_vec_load(a[e] + lane), row = rp_vec_load(b[e] + lane);
            acc[0] = rp_vec_mac(how, acc[0], RP_VEC_QUAD(column, 0), row);
            acc[1] = rp_vec_mac(how, acc[1], RP_VEC_QUAD(column, 1), row);
            acc[2] = rp_vec_mac(how, acc[2], RP_VEC_QUAD(column, 2), row);
            acc[3] = rp_vec_mac(how, acc[3], RP_VEC_QUAD(column, 3), row);
        }
        for (unsigned i = 0; i < 4; i++)
            rp_vec_put(how, x->d + i * RP_LANES + lane, acc[i]);
    }
}

/* One loop per shape and way to accumulate, shared by the operand types. */
#define RP_CORE(m, blocks, how)                                                                    \
    static __attribute__((noinline)) void rp_core_##m##_##blocks##_##how(                          \
        const struct rp_lane_args *x, const rp_wide *a, const rp_wide *b, unsigned p)              \
    {                                                                                              \
        rp_dense(x, a, b, m, blocks, p, RP_MAC_##how);                                             \
    }
#define RP_CORE_4(how)                                                                             \
    static __attribute__((noinline)) void rp_core_4_16_##how(                                      \
        const struct rp_lane_args *x, const rp_wide *a, const rp_wide *b, unsigned p)              \
    {                                                                                              \
        rp_dense_4x4(x, a, b, p, RP_MAC_##how);                                                    \
    }
#define RP_CORES(how)                                                                              \
    RP_CORE(16, 1, how)                                                                            \
    RP_CORE(32, 1, how)                                                                            \
    RP_CORE(16, 4, how)                                                                            \
    RP_CORE(32, 2, how)                                                                            \
    RP_CORE_4(how)
RP_CORES(FMA)
RP_CORES(EXACT)
RP_CORES(I8)

/*
 * The most used shape in f16: A stays as it lies, two values of a lane side by side, as broadcasts
 * do not mind; and a row of B, needed once, is converted when it is.
 */
#if RP_LANE_LEVEL == 2
static void rp_f16_16x16x16(const struct rp_lane_args *x)
{
    float a[4 * RP_LANES] __attribute__((aligned(64)));
    __m256i b[2][4][2] __attribute__((aligned(64))); /* register, group of lanes, half */
    uint32_t *const d = x->d;
    rp_vec acc[RP_TILE];
    for (unsigned i = 0; i < 4 * RP_LANES / RP_VEC; i++)
        rp_vec_store(a + RP_VEC * i,
                     _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)x->s0 + i)));
    for (unsigned i = 0; i < 8; i++)
        rp_part_halves(b[i / 4][i % 4], x->s1 + RP_VEC * i);
#pragma GCC unroll 16
    for (unsigned t = 0; t < RP_TILE; t++)
        acc[t] = rp_vec_load(x->s2 + RP_D_REGISTER(16, 0, t) * x->c_stride + RP_D_LANE(16, t));
    for (unsigned group = 0; group < 4; group++)
        for (unsigned e = 0; e < 4; e++) {
            const float *const column = a + 2 * (e / 2 * RP_LANES + 16 * group) + e % 2;
            const rp_vec row = _mm512_cvtph_ps(b[e / 2][group][e % 2]);
#pragma GCC unroll 16
            for (unsigned t = 0; t < RP_TILE; t++)
                acc[t] = rp_vec_mac(RP_MAC_EXACT, acc[t], rp_vec_all(column + 2 * t), row);
        }
    rp_tile_quiet(RP_MAC_EXACT, acc);
#pragma GCC unroll 16
    for (unsigned t = 0; t < RP_TILE; t++)
        rp_vec_store(d + RP_D_REGISTER(16, 0, t) * RP_LANES + RP_D_LANE(16, t), acc[t]);
}
#define RP_MFMA_OWN(args, m, blocks, p, type)                                                      \
    if (m == 16 && blocks == 1 && p == 4 && __builtin_strcmp(#type, "f16") == 0) {                 \
        rp_f16_16x16x16(args);                                                                     \
        return;                                                                                    \
    }
#else
#define RP_MFMA_OWN(args, m, blocks, p, type)
#endif

#define RP_MFMA(name, m, blocks, p, type_a, type_b, how)                                           \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        RP_MFMA_OWN(args, m, blocks, p, type_a)                                                    \
        rp_wide a[p] __attribute__((aligned(64))), b[p] __attribute__((aligned(64)));              \
        rp_widen_##type_a(a, args->s0, p);                                                         \
        rp_widen_##type_b(b, args->s1, p);                                                         \
        rp_core_##m##_##blocks##_##how(args, (const rp_wide *)a, (const rp_wide *)b, p);           \
    }
#define RP_SMFMAC(...)
#define RP_MFMA_F64(name)
#define RP_MFMA_F8F6F4(name, m)
#include "lane_mfma.def"
