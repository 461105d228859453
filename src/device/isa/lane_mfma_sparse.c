/*
 * Matrix kernels with a 4:2 sparse A: of every four values of a row of A two are stored, and a
 * 2-bit index per stored value says which of the four it is. D is the accumulator.
 *
 * The index set of a lane is select bits up in its dword: value e has bits 2e and 2e + 1 of it, and
 * stands for value 4 (e div 2) + index of the same lane group of B.
 */
/*
 * Matrix kernels with a 4:2 sparse A: of every four values of a row of A two are stored, and a
 * 2-bit index per stored value says which of the four it is. D is the accumulator.
 *
 * The index set of a lane is select bits up in its dword: value e has bits 2e and 2e + 1 of it, and
 * stands for value 4 (e div 2) + index of the same lane group of B.
 */
#include "device/isa/lane_mfma.h"

/* @p p stored values of A per lane; all parameters from m on are constants at every use. */
RP_MFMA_INLINE void rp_sparse(const struct rp_lane_args *x, const rp_wide *a, const rp_wide *b,
                              const uint32_t (*at)[RP_LANES], unsigned m, unsigned p,
                              unsigned chunks, enum rp_mac how)
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
        rp_sparse(x, a, b, at, m, p, chunks, RP_MAC_##how);                                        \
    }
RP_CORE(16, FMA)
RP_CORE(32, FMA)
RP_CORE(16, EXACT)
RP_CORE(32, EXACT)
RP_CORE(16, I8)
RP_CORE(32, I8)

/* Which of a lane's values of B each stored value of A meets. */
RP_MFMA_INLINE void rp_sparse_rows(const struct rp_lane_args *x, uint32_t (*at)[RP_LANES],
                                   unsigned p)
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
        rp_sparse_rows(args, at, p);                                                               \
        rp_sparse_##m##_##how(args, (const rp_wide *)a, (const rp_wide *)b,                        \
                              (const uint32_t(*)[RP_LANES])at, p, chunks);                         \
    }
#define RP_MFMA(...)
#define RP_MFMA_F64(name)
#define RP_MFMA_F8F6F4(name, m)
#include "device/isa/lane_mfma.def"
