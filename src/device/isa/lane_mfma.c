/* What the matrix kernels share: vectors of this CPU level, widening of operands, one step
 * of accumulation.
 *
 * A matrix kernel is a lane kernel (lane.h): s0, s1 and s2 are the register rows of A, B and C, d
 * those of D. The caller has applied CBSZ, ABID and BLGP. D may be the rows of A or B, and of C
 * when it is exactly C's.
 *
 * Layouts (AMD matrix instruction calculator, gfx9; G = 64 / (M blocks) groups of lanes):
 * - A[i][k] of block b: value k mod p of lane i + M (b + blocks (k div p)); B[k][j] the same with
 * j.
 * - D[i][j] of block b, 32 bits, M = 16 or 32: lane j + M (i div 4 mod 64/M) of register
 *   b M M/64 + 4 (i div (4 * 64/M)) + i mod 4. M = 4: lane j + 4 b of register i.
 *
 * Numerics. What order and precision the hardware accumulates in is not documented. Here: starting
 * from C, the products are added in the order of k, each product and sum rounded once to f32
 * (nearest even, denormals kept): a chain of fused multiply-adds. f64 is the same in f64, i32
 * wraps. xf32 drops the low 13 bits of its inputs, as AMD's libraries do in their references. A NaN
 * result is always 0x7fc00000 (f64: 0x7ff8000000000000), so that it does not depend on the order of
 * a CPU instruction's operands. MODE has no say.
 */
/* Dense matrix kernels have f32 or i32 results. Operands are widened to one row of f32 (or pairs
 * of integers) per value. A tile of D then stays in CPU registers while k runs; each step takes
 * one row of B, and one broadcast of A per row of the tile.
 */
#include "device/isa/lane.h"

/*
 * Dense matrix kernels with f32 and i32 results. Operands are widened to one row of f32 (or pairs
 * of integers) per value; then a tile of D stays in CPU registers while k runs: per step one row of
 * B, and one broadcast of A per row of the tile.
 */
#include "device/isa/lane_mfma.h"

/* Computes M x M results per block, with @p p values per lane. All parameters from m on are
 * constants at every use.
 */
RP_MFMA_INLINE void dense(uint32_t *d, const uint32_t *c, size_t c_stride, const rp_wide *a,
                          const rp_wide *b, unsigned m, unsigned blocks, unsigned p,
                          enum rp_mac how)
{
    /* The tile is two vectors wide where there are two, because each broadcast then serves both. */
    const unsigned groups = RP_LANES / (m * blocks), wide = m > RP_VEC ? 2 : 1;
    const unsigned high = RP_TILE / wide, last = wide - 1;
    for (unsigned block = 0; block < blocks; block++)
        for (unsigned i0 = 0; i0 < m; i0 += high)
            for (unsigned j0 = 0; j0 < m; j0 += wide * RP_VEC) {
                const float *column = a[0] + m * block + i0, *row = b[0] + m * block + j0;
                rp_vec acc[RP_TILE];
#pragma GCC unroll 16
                for (unsigned t = 0; t < RP_TILE; t++)
                    acc[t] = rp_vec_load(c + RP_D_REGISTER(m, block, i0 + t / wide) * c_stride +
                                         RP_D_LANE(m, i0 + t / wide) + j0 + t % wide * RP_VEC);
                for (unsigned group = 0; group < groups; group++) {
                    /* Two pointers move here rather than an index, because with an index register
                     * every multiply-add from memory is two micro-operations (Intel's optimization
                     * manual, "micro-fusion").
                     */
                    __asm__("" : "+r"(column), "+r"(row));
#pragma GCC unroll 8
                    for (unsigned e = 0; e < p; e++) {
                        const float *const from = row + e * RP_LANES;
                        const rp_vec part[2] = {rp_vec_load(from),
                                                rp_vec_load(from + last * RP_VEC)};
#pragma GCC unroll 16
                        for (unsigned t = 0; t < RP_TILE; t++)
                            acc[t] = rp_vec_mac(how, acc[t],
                                                rp_vec_all(column + e * RP_LANES + t / wide),
                                                part[t % wide]);
                    }
                    column += m * blocks;
                    row += m * blocks;
                }
                rp_tile_quiet(how, acc);
#pragma GCC unroll 16
                for (unsigned t = 0; t < RP_TILE; t++)
                    rp_vec_store(d + RP_D_REGISTER(m, block, i0 + t / wide) * RP_LANES +
                                     RP_D_LANE(m, i0 + t / wide) + j0 + t % wide * RP_VEC,
                                 acc[t]);
            }
}

/* There are sixteen 4 x 4 blocks, and register i has row i of all of them. */
RP_MFMA_INLINE void dense_4x4(uint32_t *d, const uint32_t *c, size_t c_stride, const rp_wide *a,
                              const rp_wide *b, unsigned p, enum rp_mac how)
{
    for (unsigned lane = 0; lane < RP_LANES; lane += RP_VEC) {
        rp_vec acc[4];
        for (unsigned i = 0; i < 4; i++)
            acc[i] = rp_vec_load(c + i * c_stride + lane);
        for (unsigned e = 0; e < p; e++) {
            const rp_vec column = rp_vec_load(a[e] + lane), row = rp_vec_load(b[e] + lane);
            acc[0] = rp_vec_mac(how, acc[0], RP_VEC_QUAD(column, 0), row);
            acc[1] = rp_vec_mac(how, acc[1], RP_VEC_QUAD(column, 1), row);
            acc[2] = rp_vec_mac(how, acc[2], RP_VEC_QUAD(column, 2), row);
            acc[3] = rp_vec_mac(how, acc[3], RP_VEC_QUAD(column, 3), row);
        }
        for (unsigned i = 0; i < 4; i++)
            rp_vec_put(how, d + i * RP_LANES + lane, acc[i]);
    }
}

/* There is one function per shape, number of values per lane and way to accumulate. The operand
 * types share them, and no type has all of them.
 */
#define RP_CORE_HEAD(m, blocks, p, how)                                                            \
    static __attribute__((noinline, unused)) void rp_core_##m##_##blocks##_##p##_##how(            \
        uint32_t *d, const uint32_t *c, size_t c_stride, const rp_wide *a, const rp_wide *b)
#define RP_CORE(m, blocks, p, how)                                                                 \
    RP_CORE_HEAD(m, blocks, p, how)                                                                \
    {                                                                                              \
        dense(d, c, c_stride, a, b, m, blocks, p, RP_MAC_##how);                                   \
    }
#define RP_CORES(p, how)                                                                           \
    RP_CORE(16, 1, p, how)                                                                         \
    RP_CORE(32, 1, p, how)                                                                         \
    RP_CORE(16, 4, p, how)                                                                         \
    RP_CORE(32, 2, p, how)                                                                         \
    RP_CORE_HEAD(4, 16, p, how)                                                                    \
    {                                                                                              \
        dense_4x4(d, c, c_stride, a, b, p, RP_MAC_##how);                                          \
    }
#define RP_CORES_ALL(how) RP_CORES(1, how) RP_CORES(2, how) RP_CORES(4, how) RP_CORES(8, how)
RP_CORES_ALL(FMA)
RP_CORES_ALL(EXACT)
RP_CORES_ALL(I8)

#define RP_WIDE(type)                                                                              \
    static __attribute__((noinline)) void rp_wide_##type(rp_wide *to, const uint32_t *rows,        \
                                                         unsigned values)                          \
    {                                                                                              \
        rp_widen_##type(to, rows, values);                                                         \
    }
RP_WIDE(f32)
RP_WIDE(xf32)
RP_WIDE(f16)
RP_WIDE(bf16)
RP_WIDE(fp8)
RP_WIDE(bf8)
RP_WIDE(ocp_fp8)
RP_WIDE(ocp_bf8)
RP_WIDE(i8pair)

#define RP_MFMA(name, m, blocks, p, type_a, type_b, how)                                           \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        rp_wide a[p] __attribute__((aligned(64))), b[p] __attribute__((aligned(64)));              \
        rp_wide_##type_a(a, args->s0, p);                                                          \
        rp_wide_##type_b(b, args->s1, p);                                                          \
        rp_core_##m##_##blocks##_##p##_##how(args->d, args->s2, args->c_stride,                    \
                                             (const rp_wide *)a, (const rp_wide *)b);              \
    }
#define RP_SMFMAC(...)
#define RP_MFMA_F64(name)
#define RP_MFMA_F8F6F4(name, m)
#include "device/isa/lane_mfma.def"

#if RP_LANE_LEVEL == 2
/* Rows of f32 are wide already. */
static rp_mfma_widen_fn *or_none(rp_mfma_widen_fn *widen)
{
    return widen == rp_wide_f32 ? NULL : widen;
}

bool rp_mfma_parts(rp_lane_fn *kernel, struct rp_mfma_parts *ret)
{
    static const struct {
        rp_lane_fn *kernel;
        struct rp_mfma_parts parts;
    } rows[] = {
#define RP_MFMA(name, m, blocks, p, type_a, type_b, how)                                           \
    {RP_LANE_SYM(name),                                                                            \
     {rp_wide_##type_a, rp_wide_##type_b, rp_core_##m##_##blocks##_##p##_##how, p}},
#define RP_SMFMAC(...)
#define RP_MFMA_F64(name)
#define RP_MFMA_F8F6F4(name, m)
#include "device/isa/lane_mfma.def"
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].kernel == kernel) {
            *ret = rows[i].parts;
            ret->widen_a = or_none(ret->widen_a);
            ret->widen_b = or_none(ret->widen_b);
            return true;
        }
    return false;
}
#endif

/* ---- sparse ---- */

#undef RP_CORE

/* These matrix kernels have a 4:2 sparse A: of every four values of a row of A two are stored, and
 * a 2-bit index per stored value says which of the four it is. D is the accumulator. The index set
 * of a lane is select bits up in its dword: value e has bits 2e and 2e + 1 of it, and stands for
 * value 4 (e div 2) + index of the same lane group of B.
 */
/* Computes with @p p stored values of A per lane. All parameters from m on are constants at every
 * use.
 */
RP_MFMA_INLINE void sparse(const struct rp_lane_args *x, const rp_wide *a, const rp_wide *b,
                           const uint32_t (*at)[RP_LANES], unsigned m, unsigned p, unsigned chunks,
                           enum rp_mac how)
{
    for (unsigned i0 = 0; i0 < m; i0 += RP_TILE)
        for (unsigned j0 = 0; j0 < m; j0 += RP_VEC) {
            rp_vec acc[RP_TILE];
#pragma GCC unroll 16
            for (unsigned i = 0; i < RP_TILE; i++)
                acc[i] = rp_vec_load(x->s2 + RP_D_REGISTER(m, 0, i0 + i) * x->c_stride +
                                     RP_D_LANE(m, i0 + i) + j0);
            for (unsigned part = 0; part < chunks * (RP_LANES / m); part++)
                for (unsigned n = 0; n < p / chunks; n++) {
                    const unsigned e = part / (RP_LANES / m) * (p / chunks) + n;
                    const unsigned first = m * (part % (RP_LANES / m));
                    const float *const column = a[e] + first + i0;
                    const uint32_t *const rows = at[e] + first + i0;
#pragma GCC unroll 16
                    for (unsigned i = 0; i < RP_TILE; i++)
                        acc[i] = rp_vec_mac(how, acc[i], rp_vec_all(column + i),
                                            rp_vec_load(b[rows[i]] + first + j0));
                }
            rp_tile_quiet(how, acc);
#pragma GCC unroll 16
            for (unsigned i = 0; i < RP_TILE; i++)
                rp_vec_store(x->d + RP_D_REGISTER(m, 0, i0 + i) * RP_LANES + RP_D_LANE(m, i0 + i) +
                                 j0,
                             acc[i]);
        }
}

#define RP_CORE(m, how)                                                                            \
    static __attribute__((noinline)) void rp_sparse_##m##_##how(                                   \
        const struct rp_lane_args *x, const rp_wide *a, const rp_wide *b,                          \
        const uint32_t(*at)[RP_LANES], unsigned p, unsigned chunks)                                \
    {                                                                                              \
        sparse(x, a, b, at, m, p, chunks, RP_MAC_##how);                                           \
    }
RP_CORE(16, FMA)
RP_CORE(32, FMA)
RP_CORE(16, EXACT)
RP_CORE(32, EXACT)
RP_CORE(16, I8)
RP_CORE(32, I8)

/* Finds which of a lane's values of B each stored value of A meets. */
RP_MFMA_INLINE void sparse_rows(const struct rp_lane_args *x, uint32_t (*at)[RP_LANES], unsigned p)
{
    const uint32_t *const index = x->s3;
    for (unsigned e = 0; e < p; e++) {
        const unsigned shift = x->select + 2 * e, base = e / 2 * 4;
        uint32_t *const row = at[e];
        RP_LANE_LOOP
        {
            row[lane] = base + (index[lane] >> shift & 3);
        }
    }
}

#define RP_SMFMAC(name, m, p, chunks, type_a, type_b, how)                                         \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        rp_wide a[p] __attribute__((aligned(64))), b[2 * (p)] __attribute__((aligned(64)));        \
        uint32_t at[p][RP_LANES] __attribute__((aligned(64)));                                     \
        rp_widen_##type_a(a, args->s0, p);                                                         \
        rp_widen_##type_b(b, args->s1, 2 * (p));                                                   \
        sparse_rows(args, at, p);                                                                  \
        rp_sparse_##m##_##how(args, (const rp_wide *)a, (const rp_wide *)b,                        \
                              (const uint32_t(*)[RP_LANES])at, p, chunks);                         \
    }
#define RP_MFMA(...)
#define RP_MFMA_F64(name)
#define RP_MFMA_F8F6F4(name, m)
#include "device/isa/lane_mfma.def"

/* ---- f64 ---- */

/* These matrix kernels compute in f64. Their layouts differ from the others' (AMD matrix
 * instruction calculator): a register pair holds one row of a block per group of lanes, not four.
 */
#define RP_NAN_F64 0x7ff8000000000000u

/* Converts a pair of rows to doubles; bit @p n of BLGP negates operand n. */
static inline void take_f64(const struct rp_lane_args *x, double *to, const uint32_t *rows,
                            unsigned n)
{
    const uint64_t flip = (uint64_t)(x->select >> n & 1) << 63;
    RP_LANE_LOOP
    {
        to[lane] = rp_f64_of(rp_row_u64(rows, lane) ^ flip);
    }
}

static inline void put_f64(uint32_t *rows, const double *from)
{
    RP_LANE_LOOP
    {
        const double v = from[lane];
        RP_ST_u64(rows, lane, rp_sel64(v != v, RP_NAN_F64, rp_bits_f64(v)));
    }
}

/* Computes sixteen results of one row: every 16th value of @p a times a row of @p b, four times. */
static inline void row_f64(double *sum, const double *a, const double *b)
{
    double s[16];
    memcpy(s, sum, sizeof s);
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        for (unsigned j = 0; j < 16; j++)
            s[j] = __builtin_fma(a[16 * k], b[16 * k + j], s[j]);
    memcpy(sum, s, sizeof s);
}

/* D[i][j] is in lane j + 16 (i mod 4) of pair i div 4; A[i][k] is in lane i + 16 k, and B[k][j] in
 * j + 16 k.
 */
RP_LANE_HEAD(v_mfma_f64_16x16x4_f64)
{
    double a[RP_LANES], b[RP_LANES], acc[RP_LANES];
    take_f64(args, a, args->s0, 0);
    take_f64(args, b, args->s1, 1);
    for (unsigned pair = 0; pair < 4; pair++) {
        take_f64(args, acc, args->s2 + 2 * pair * args->c_stride, 2);
        for (unsigned row = 0; row < 4; row++)
            row_f64(acc + 16 * row, a + 4 * pair + row, b);
        put_f64(args->d + 2 * pair * RP_LANES, acc);
    }
}

/* There are four blocks: D[i][j] is in lane j + 4 b + 16 i; A[i][k] is in i + 4 b + 16 k, and
 * B[k][j] in j + 4 b + 16 k.
 */
RP_LANE_HEAD(v_mfma_f64_4x4x4_4b_f64)
{
    double a[RP_LANES], b[RP_LANES], acc[RP_LANES];
    take_f64(args, a, args->s0, 0);
    take_f64(args, b, args->s1, 1);
    take_f64(args, acc, args->s2, 2);
    for (unsigned k = 0; k < 4; k++)
        for (unsigned i = 0; i < 4; i++)
            for (unsigned j = 0; j < 16; j++) {
                const double x = a[16 * k + (j & 12) + i];
                acc[16 * i + j] = __builtin_fma(x, b[16 * k + j], acc[16 * i + j]);
            }
    put_f64(args->d, acc);
}
