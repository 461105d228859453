/*
 * What MODE says beyond the default: denormals flushed, OMOD, f16 overflow, NaN under clamp. Only
 * the long way through the VALU comes here, and only while MODE is not the default.
 */
#include "valu.h"

/* ---- types ---- */

struct format {
    uint32_t exp_mask;  /* exponent bits, in the half or the top dword */
    uint32_t sign_mask; /* the sign bit there */
};

static struct format format_of(unsigned type)
{
    switch (type) {
    case RP_T_F16:
    case RP_T_PKF16:
        return (struct format){0x7c00, 0x8000};
    case RP_T_F64:
        return (struct format){0x7ff00000, 0x80000000};
    default:
        return (struct format){0x7f800000, 0x80000000};
    }
}

unsigned rp_mode_round(uint32_t mode, unsigned type)
{
    const bool f32 = type == RP_T_F32 || type == RP_T_PKF32;
    return mode >> (f32 ? RP_MODE_ROUND_F32_SHIFT : RP_MODE_ROUND_F64_SHIFT) & 3;
}

/* Bit 0: denormal inputs are kept; bit 1: denormal results are. */
static unsigned denormals(uint32_t mode, unsigned type)
{
    const bool f32 = type == RP_T_F32 || type == RP_T_PKF32;
    return mode >> (f32 ? RP_MODE_DENORM_F32_SHIFT : RP_MODE_DENORM_F64_SHIFT) & 3;
}

/* ---- denormals ---- */

static uint32_t flush_half(uint32_t v)
{
    return (v & 0x7c00) == 0 ? v & 0x8000 : v;
}

static void flush_row(uint32_t *row, uint32_t exp_mask, uint32_t sign_mask)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        row[lane] = (row[lane] & exp_mask) == 0 ? row[lane] & sign_mask : row[lane];
}

/* Denormals in rows of a float type become zeros of their sign. */
static void flush(unsigned type, struct rp_rows *r)
{
    const struct format f = format_of(type);
    switch (type) {
    case RP_T_F16:
    case RP_T_F32:
        flush_row(r->row[0], f.exp_mask, f.sign_mask);
        break;
    case RP_T_PKF32:
        flush_row(r->row[0], f.exp_mask, f.sign_mask);
        flush_row(r->row[1], f.exp_mask, f.sign_mask);
        break;
    case RP_T_PKF16:
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const uint32_t v = r->row[0][lane];
            r->row[0][lane] = flush_half(v & 0xffff) | flush_half(v >> 16) << 16;
        }
        break;
    case RP_T_F64:
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            if ((r->row[1][lane] & f.exp_mask) == 0) {
                r->row[0][lane] = 0;
                r->row[1][lane] &= f.sign_mask;
            }
        break;
    default:
        break;
    }
}

/* Float operands that are looked at or moved, but not computed with. */
static bool computes(const struct rp_insn *in)
{
    switch (in->op) {
    case RP_OP_v_cmp_class_f16:
    case RP_OP_v_cmp_class_f32:
    case RP_OP_v_cmp_class_f64:
    case RP_OP_v_cmpx_class_f16:
    case RP_OP_v_cmpx_class_f32:
    case RP_OP_v_cmpx_class_f64:
    case RP_OP_v_pk_mov_b32:
        return false;
    default:
        return true;
    }
}

const uint32_t *rp_mode_source(uint32_t mode, const struct rp_insn *in, unsigned type,
                               const uint32_t *src, struct rp_rows *rows)
{
    if (!rp_type_is_float(type) || denormals(mode, type) & 1 || !computes(in))
        return src;
    if (src != rows->row[0])
        memcpy(rows->row, src, rp_type_dwords(type) * sizeof rows->row[0]);
    flush(type, rows);
    return rows->row[0];
}

/* ---- f16 overflow ---- */

static bool is_finite(unsigned type, const uint32_t *src, unsigned lane, unsigned half)
{
    switch (type) {
    case RP_T_F16:
        return (src[lane] & 0x7c00) != 0x7c00;
    case RP_T_PKF16:
        return (src[lane] >> (16 * half) & 0x7c00) != 0x7c00;
    case RP_T_F32:
        return (src[lane] & 0x7f800000) != 0x7f800000;
    default: /* integers */
        return true;
    }
}

/* Infinities of poles are true ones, and v_div_fixup says itself where they belong. */
static bool has_poles(unsigned op)
{
    return op == RP_OP_v_rcp_f16 || op == RP_OP_v_rsq_f16 || op == RP_OP_v_log_f16 ||
           op == RP_OP_v_div_fixup_f16 || op == RP_OP_v_div_fixup_legacy_f16;
}

uint32_t rp_mode_f16_overflow(uint32_t mode, uint32_t half, bool finite_operands)
{
    const bool overflow = mode & RP_MODE_FP16_OVFL && finite_operands && (half & 0x7fff) == 0x7c00;
    return overflow ? half - 1 : half;
}

static void limit_f16(const struct rp_insn *in, uint32_t mode, const uint32_t *const s[3],
                      struct rp_rows *r)
{
    const unsigned halves = in->dst.type == RP_T_PKF16 ? 2 : 1;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned h = 0; h < halves; h++) {
            /* v_cvt_pkrtz takes its halves from two sources, all others from the same half. */
            const bool apart = halves == 2 && in->src[0].type == RP_T_F32;
            bool finite = true;
            for (unsigned i = 0; i < 3; i++)
                if (s[i] && (!apart || i == h))
                    finite &= is_finite(in->src[i].type, s[i], lane, h);
            const uint32_t v = r->row[0][lane] >> (16 * h) & 0xffff;
            const uint32_t limited = rp_mode_f16_overflow(mode, v, finite);
            r->row[0][lane] ^= (v ^ limited) << (16 * h);
        }
}

/* ---- results ---- */

static double scale_of(unsigned omod)
{
    static const double scale[4] = {1, 2, 4, 0.5};
    return scale[omod];
}

/* OMOD counts only where nothing of IEEE 754 is asked for: IEEE off and denormal results flushed.
 */
static bool has_omod(const struct rp_insn *in, uint32_t mode)
{
    const unsigned type = in->dst.type;
    return in->omod && !(mode & RP_MODE_IEEE) && !(denormals(mode, type) & 2) &&
           (type == RP_T_F16 || type == RP_T_F32 || type == RP_T_F64);
}

/* -0 becomes +0, by definition of OMOD. */
static void plus_zeros(unsigned type, struct rp_rows *r)
{
    const unsigned top = type == RP_T_F64 ? 1 : 0;
    const uint32_t sign = format_of(type).sign_mask;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        if (r->row[top][lane] == sign && (!top || r->row[0][lane] == 0))
            r->row[top][lane] = 0;
}

void rp_mode_result(const struct rp_insn *in, const struct rp_lane_args *args, struct rp_rows *r)
{
    const uint32_t mode = args->mode;
    const unsigned type = in->dst.type;
    const uint32_t *const s[3] = {args->s0, args->s1, args->s2};
    const bool f16 = type == RP_T_F16 || type == RP_T_PKF16;
    rp_round_result(in, args, r);
    if (!rp_type_is_float(type) || !computes(in))
        return;
    if (f16 && mode & RP_MODE_FP16_OVFL && !has_poles(in->op))
        limit_f16(in, mode, s, r);
    if (!(denormals(mode, type) & 2))
        flush(type, r);
    if (has_omod(in, mode)) {
        rp_round_scale(type, rp_mode_round(mode, type), scale_of(in->omod), r);
        flush(type, r);
        plus_zeros(type, r);
    }
}

uint32_t rp_mode_flush_f32(uint32_t mode, bool result, uint32_t v)
{
    const bool keep = denormals(mode, RP_T_F32) >> (result ? 1 : 0) & 1;
    return !keep && (v & 0x7f800000) == 0 ? v & 0x80000000 : v;
}

uint32_t rp_mode_flush_f16(uint32_t mode, bool result, uint32_t v)
{
    return denormals(mode, RP_T_F16) >> (result ? 1 : 0) & 1 ? v : flush_half(v);
}
