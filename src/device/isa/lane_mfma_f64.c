/*
 * Matrix kernels in f64. Their layouts differ from the others' (AMD matrix instruction calculator):
 * a register pair holds one row of a block per group of lanes, not four.
 */
/*
 * Matrix kernels in f64. Their layouts differ from the others' (AMD matrix instruction calculator):
 * a register pair holds one row of a block per group of lanes, not four.
 */
#include "device/isa/lane_mfma.h"

#define RP_NAN_F64 0x7ff8000000000000u

/* A pair of rows to doubles; bit @p n of BLGP negates operand n. */
static inline void rp_take_f64(const struct rp_lane_args *x, double *to, const uint32_t *rows,
                               unsigned n)
{
    const uint64_t flip = (uint64_t)(x->select >> n & 1) << 63;
    RP_LANE_LOOP
    {
        to[lane] = rp_f64_of(rp_row_u64(rows, lane) ^ flip);
    }
}

static inline void rp_put_f64(uint32_t *rows, const double *from)
{
    RP_LANE_LOOP
    {
        const double v = from[lane];
        RP_ST_u64(rows, lane, rp_sel64(v != v, RP_NAN_F64, rp_bits_f64(v)));
    }
}

/* Sixteen results of one row: every 16th value of @p a times a row of @p b, four times. */
static inline void rp_row_f64(double *sum, const double *a, const double *b)
{
    double s[16];
    memcpy(s, sum, sizeof s);
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        for (unsigned j = 0; j < 16; j++)
            s[j] = __builtin_fma(a[16 * k], b[16 * k + j], s[j]);
    memcpy(sum, s, sizeof s);
}

/* D[i][j] in lane j + 16 (i mod 4) of pair i div 4; A[i][k] in lane i + 16 k, B[k][j] in j + 16 k.
 */
RP_LANE_HEAD(v_mfma_f64_16x16x4_f64)
{
    double a[RP_LANES], b[RP_LANES], acc[RP_LANES];
    rp_take_f64(args, a, args->s0, 0);
    rp_take_f64(args, b, args->s1, 1);
    for (unsigned pair = 0; pair < 4; pair++) {
        rp_take_f64(args, acc, args->s2 + 2 * pair * args->c_stride, 2);
        for (unsigned row = 0; row < 4; row++)
            rp_row_f64(acc + 16 * row, a + 4 * pair + row, b);
        rp_put_f64(args->d + 2 * pair * RP_LANES, acc);
    }
}

/* Four blocks: D[i][j] in lane j + 4 b + 16 i; A[i][k] in i + 4 b + 16 k, B[k][j] in j + 4 b + 16
 * k.
 */
RP_LANE_HEAD(v_mfma_f64_4x4x4_4b_f64)
{
    double a[RP_LANES], b[RP_LANES], acc[RP_LANES];
    rp_take_f64(args, a, args->s0, 0);
    rp_take_f64(args, b, args->s1, 1);
    rp_take_f64(args, acc, args->s2, 2);
    for (unsigned k = 0; k < 4; k++)
        for (unsigned i = 0; i < 4; i++)
            for (unsigned j = 0; j < 16; j++) {
                const double x = a[16 * k + (j & 12) + i];
                acc[16 * i + j] = __builtin_fma(x, b[16 * k + j], acc[16 * i + j]);
            }
    rp_put_f64(args->d, acc);
}
