/* Applies what MODE says beyond the default.
 *
 * Directed rounding computes again, toward +infinity, -infinity or zero, what lane kernels compute
 * to nearest even. Rounding twice in one direction equals rounding once, so f32 and f16 results
 * are computed in f64 in that direction and then narrowed in it. The file is compiled with
 * -frounding-math (CMakeLists.txt). A NaN result stays as the lane kernel made it.
 */
#include <fenv.h>
#include <float.h>
#include <math.h>

#include "device/isa/valu.h"

/* Sets the CPU's rounding to a MODE field; returns what to restore. */
static int enter(unsigned round)
{
    static const int modes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const int old = fegetround();
    fesetround(modes[round]);
    return old;
}

/* ---- values ---- */

static double of_f64(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double of_f32(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static double of_f16(uint32_t half)
{
    const int exp = (int)(half >> 10 & 31), mant = (int)(half & 0x3ff);
    const double mag = exp == 31  ? (mant ? (double)NAN : HUGE_VAL)
                       : exp == 0 ? ldexp(mant, -24)
                                  : ldexp(mant + 1024, exp - 25);
    return half & 0x8000 ? -mag : mag;
}

/* Rounds @p v as MODE says; NaN is quiet and has no payload. */
uint32_t rp_round_f16(double v, unsigned round)
{
    const uint32_t sign = signbit(v) ? 0x8000 : 0;
    const double mag = fabs(v);
    if (mag != mag)
        return sign | 0x7e00;
    if (mag == HUGE_VAL || mag == 0)
        return sign | (mag == 0 ? 0 : 0x7c00);
    int exp;
    frexp(mag, &exp); /* mag is in [2^(exp-1), 2^exp). */
    const int step = exp - 1 < -14 ? -24 : exp - 1 - 10;
    const double units = ldexp(mag, -step); /* The value is below 2^11 and exact. */
    uint32_t whole = (uint32_t)units;
    const double rest = units - whole;
    const bool away = round == 1 ? !sign : round == 2 ? sign != 0 : false;
    if (round == 0 ? rest > 0.5 || (rest == 0.5 && whole & 1) : away && rest > 0)
        whole++;
    if (ldexp(whole, step) > 65504) /* This is the largest f16. */
        return sign | (round == 0 || away ? 0x7c00 : 0x7bff);
    return sign | (step == -24 ? whole : whole + ((uint32_t)(step + 24) << 10));
}

/* ---- operations ---- */

enum kind {
    NOTHING,
    ADD,
    SUB,
    SUBREV,
    MUL,
    MUL_LEGACY,
    FMA,
    MAD,        /**< f16, product and sum rounded and flushed */
    MAD_F32,    /**< the same of f32 */
    MAD_LEGACY, /**< and zero times anything is zero */
    LDEXP,
    FRACT,
    CONVERT,
    DIV_FMAS,
    U8,
    SNORM,
    UNORM,
};

static enum kind kind_of(unsigned op)
{
    static const uint8_t kinds[RP_OP_ALL] = {
        [RP_OP_v_add_f16] = ADD,
        [RP_OP_v_add_f32] = ADD,
        [RP_OP_v_add_f64] = ADD,
        [RP_OP_v_pk_add_f16] = ADD,
        [RP_OP_v_pk_add_f32] = ADD,
        [RP_OP_v_sub_f16] = SUB,
        [RP_OP_v_sub_f32] = SUB,
        [RP_OP_v_subrev_f16] = SUBREV,
        [RP_OP_v_subrev_f32] = SUBREV,
        [RP_OP_v_mul_f16] = MUL,
        [RP_OP_v_mul_f32] = MUL,
        [RP_OP_v_mul_f64] = MUL,
        [RP_OP_v_pk_mul_f16] = MUL,
        [RP_OP_v_pk_mul_f32] = MUL,
        [RP_OP_v_mul_legacy_f32] = MUL_LEGACY,
        [RP_OP_v_fma_f16] = FMA,
        [RP_OP_v_fma_legacy_f16] = FMA,
        [RP_OP_v_fma_f32] = FMA,
        [RP_OP_v_fma_f64] = FMA,
        [RP_OP_v_fmac_f32] = FMA,
        [RP_OP_v_fmac_f64] = FMA,
        [RP_OP_v_fmamk_f32] = FMA,
        [RP_OP_v_fmaak_f32] = FMA,
        [RP_OP_v_pk_fma_f16] = FMA,
        [RP_OP_v_pk_fmac_f16] = FMA,
        [RP_OP_v_pk_fma_f32] = FMA,
        [RP_OP_v_mad_f16] = MAD,
        [RP_OP_v_mad_f32] = MAD_F32,
        [RP_OP_v_mac_f32] = MAD_F32,
        [RP_OP_v_madmk_f32] = MAD_F32,
        [RP_OP_v_madak_f32] = MAD_F32,
        [RP_OP_v_mad_legacy_f32] = MAD_LEGACY,
        [RP_OP_v_mad_legacy_f16] = MAD,
        [RP_OP_v_mac_f16] = MAD,
        [RP_OP_v_madmk_f16] = MAD,
        [RP_OP_v_madak_f16] = MAD,
        [RP_OP_v_ldexp_f16] = LDEXP,
        [RP_OP_v_ldexp_f32] = LDEXP,
        [RP_OP_v_ldexp_f64] = LDEXP,
        [RP_OP_v_fract_f16] = FRACT,
        [RP_OP_v_fract_f32] = FRACT,
        [RP_OP_v_fract_f64] = FRACT,
        [RP_OP_v_cvt_f32_i32] = CONVERT,
        [RP_OP_v_cvt_f32_u32] = CONVERT,
        [RP_OP_v_cvt_f32_f64] = CONVERT,
        [RP_OP_v_cvt_f16_f32] = CONVERT,
        [RP_OP_v_cvt_f16_u16] = CONVERT,
        [RP_OP_v_cvt_f16_i16] = CONVERT,
        [RP_OP_v_div_fmas_f32] = DIV_FMAS,
        [RP_OP_v_div_fmas_f64] = DIV_FMAS,
        [RP_OP_v_cvt_pk_u8_f32] = U8,
        [RP_OP_v_cvt_pkaccum_u8_f32] = U8,
        [RP_OP_v_cvt_norm_i16_f16] = SNORM,
        [RP_OP_v_cvt_norm_u16_f16] = UNORM,
    };
    return kinds[op];
}

static double flushed(double v)
{
    return fabs(v) < 0x1p-14 ? copysign(0, v) : v;
}

/* Scales in steps of 2^-1000 at most, so that nothing underflows in between that the end result
 * does not.
 */
static double scaled(double v, int by)
{
    for (; by > 1000; by -= 1000)
        v *= 0x1p1000;
    for (; by < -900; by += 900)
        v *= 0x1p-900;
    return v * ldexp(1, by);
}

static double div_fmas(double a, double b, double c, unsigned type, bool scale)
{
    const double v = fma(a, b, c), up = type == RP_T_F64 ? 0x1p128 : 0x1p64;
    /* As in the lane kernels, a result that overflows (perhaps to the largest number) is not
     * scaled.
     */
    const bool overflows = type == RP_T_F64 ? fabs(v) >= DBL_MAX : fabsf((float)v) >= FLT_MAX;
    if (!scale || overflows)
        return v;
    return fabs(c) >= 2 ? v * up : v / up;
}

static double mad_f16(double a, double b, double c, unsigned round)
{
    const double p = flushed(of_f16(rp_round_f16(flushed(a) * flushed(b), round)));
    return p + flushed(c);
}

static double flushed_f32(double v)
{
    return fabs(v) < 0x1p-126 ? copysign(0, v) : v;
}

/* The product of two f32 is exact here; then it is narrowed as the CPU's mode says. */
static double mad_f32(double a, double b, double c, bool legacy)
{
    const double x = flushed_f32(a), y = flushed_f32(b);
    const float p = (float)(x * y);
    return (legacy && (x == 0 || y == 0) ? 0 : flushed_f32((double)p)) + flushed_f32(c);
}

struct operands {
    double a, b, c;
    int n; /**< ldexp's exponent */
    bool scale;
};

static double compute(enum kind kind, const struct operands *o, unsigned type, unsigned round)
{
    switch (kind) {
    case ADD:
        return o->a + o->b;
    case SUB:
        return o->a - o->b;
    case SUBREV:
        return o->b - o->a;
    case MUL:
        return o->a * o->b;
    case MUL_LEGACY:
        return o->a == 0 || o->b == 0 ? 0 : o->a * o->b;
    case FMA:
        return fma(o->a, o->b, o->c);
    case MAD:
        return mad_f16(o->a, o->b, o->c, round);
    case MAD_F32:
    case MAD_LEGACY:
        return mad_f32(o->a, o->b, o->c, kind == MAD_LEGACY);
    case LDEXP:
        return scaled(o->a, o->n < -3000 ? -3000 : o->n > 3000 ? 3000 : o->n);
    case FRACT:
        return o->a - floor(o->a);
    case DIV_FMAS:
        return div_fmas(o->a, o->b, o->c, type, o->scale);
    default:
        return o->a;
    }
}

/* Returns source @p rows of lane @p lane; part is the half or row of a packed one. */
static double value(unsigned type, const uint32_t *rows, unsigned lane, unsigned part)
{
    switch (type) {
    case RP_T_F16:
    case RP_T_PKF16:
        return of_f16(rows[lane] >> (16 * part) & 0xffff);
    case RP_T_F32:
    case RP_T_PKF32:
        return of_f32(rows[part * RP_LANES + lane]);
    case RP_T_F64:
        return of_f64((uint64_t)rows[RP_LANES + lane] << 32 | rows[lane]);
    case RP_T_I16:
        return (int16_t)rows[lane];
    case RP_T_U16:
        return (uint16_t)rows[lane];
    case RP_T_I32:
        return (int32_t)rows[lane];
    default:
        return rows[lane];
    }
}

/* Rounds @p v as the type needs and stores it; the largest fraction is below 1. */
static void store(enum kind kind, unsigned type, unsigned round, double v, struct rp_rows *r,
                  unsigned lane, unsigned part)
{
    uint32_t *dword = &r->row[type == RP_T_PKF32 ? part : 0][lane];
    if (type == RP_T_F64) {
        uint64_t bits;
        v = kind == FRACT && v >= 1 ? 0x1.fffffffffffffp-1 : v;
        memcpy(&bits, &v, sizeof bits);
        r->row[0][lane] = (uint32_t)bits;
        r->row[1][lane] = (uint32_t)(bits >> 32);
    } else if (type == RP_T_F32 || type == RP_T_PKF32) {
        const float narrow = kind == MAD_F32 || kind == MAD_LEGACY
                                 ? (float)flushed_f32((double)(float)v)
                                 : (float)v,
                    kept = kind == FRACT && narrow >= 1 ? 0x1.fffffep-1f : narrow;
        memcpy(dword, &kept, sizeof kept);
    } else {
        uint32_t half = rp_round_f16(v, round);
        half = kind == FRACT && half == 0x3c00 ? 0x3bff : half;
        half = kind == MAD && (half & 0x7c00) == 0 ? half & 0x8000 : half;
        const uint32_t keep = type == RP_T_PKF16 ? ~(0xffffu << (16 * part)) : 0;
        *dword = (*dword & keep) | half << (16 * part);
    }
}

/* ---- conversions to integers that heed the rounding mode ---- */

static double limited(double v, double lo, double hi)
{
    return v > lo ? (v < hi ? v : hi) : v == v ? lo : 0; /* NaN becomes 0. */
}

static void integer_lane(enum kind kind, const struct rp_insn *in, const struct rp_lane_args *args,
                         struct rp_rows *r, unsigned lane)
{
    const double a = value(in->src[0].type, args->s0, lane, 0);
    if (kind == U8) {
        const unsigned shift = 8 * (args->s1[lane] & 3);
        const uint32_t byte = (uint32_t)nearbyint(limited(a, 0, 255));
        r->row[0][lane] = (args->s2[lane] & ~(0xffu << shift)) | byte << shift;
    } else {
        const double hi = kind == SNORM ? 32767 : 65535, lo = kind == SNORM ? -hi : 0;
        r->row[0][lane] = (uint32_t)(int32_t)nearbyint(limited(a * hi, lo, hi)) & 0xffff;
    }
}

/* This runs between the changes of the CPU's mode. It is not inlined, so that nothing is moved
 * across them.
 */
static __attribute__((noinline)) void round_lanes(enum kind kind, const struct rp_insn *in,
                                                  const struct rp_lane_args *args, unsigned round,
                                                  struct rp_rows *r)
{
    const unsigned type = in->dst.type;
    const unsigned parts = type == RP_T_PKF16 || type == RP_T_PKF32 ? 2 : 1;
    const bool binary = in->src[1].kind != RP_OPND_NONE, ternary = in->src[2].kind != RP_OPND_NONE;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        if (kind >= U8) {
            integer_lane(kind, in, args, r, lane);
            continue;
        }
        for (unsigned p = 0; p < parts; p++) {
            struct operands o = {.a = value(in->src[0].type, args->s0, lane, p),
                                 .scale = args->mask_in >> lane & 1};
            o.b = binary ? value(in->src[1].type, args->s1, lane, p) : 0;
            o.c = ternary ? value(in->src[2].type, args->s2, lane, p) : 0;
            o.n = kind == LDEXP ? (int)o.b : 0;
            const double v = compute(kind, &o, type, round);
            if (v == v)
                store(kind, type, round, v, r, lane, p);
        }
    }
}

/** This is the part of rp_mode_result() that rounds. */
static void round_result(const struct rp_insn *in, const struct rp_lane_args *args,
                         struct rp_rows *r)
{
    const enum kind kind = kind_of(in->op);
    /* Conversions to integers round as their source's format does. */
    const unsigned round = rp_mode_round(args->mode, kind >= U8 ? in->src[0].type : in->dst.type);
    if (kind == NOTHING || round == 0)
        return;
    const int old = enter(round);
    round_lanes(kind, in, args, round, r);
    fesetround(old);
}

static __attribute__((noinline)) void scale_lanes(unsigned type, unsigned round, double scale,
                                                  struct rp_rows *r)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const double v = value(type, r->row[0], lane, 0) * scale;
        if (v == v)
            store(NOTHING, type, round, v, r, lane, 0);
    }
}

/** Multiplies rows of a float type by a power of two. */
static void round_scale(unsigned type, unsigned round, double scale, struct rp_rows *r)
{
    const int old = enter(round);
    scale_lanes(type, round, scale, r);
    fesetround(old);
}

static __attribute__((noinline)) float narrow_fma(double a, double b, double c)
{
    return (float)fma(a, b, c);
}

float rp_round_fma_f32(float a, float b, float c, unsigned round)
{
    const int old = enter(round);
    const float r = round ? narrow_fma((double)a, (double)b, (double)c) : fmaf(a, b, c);
    fesetround(old);
    return r;
}

/* This part applies what MODE says beyond the default: denormals flushed, OMOD, f16 overflow, NaN
 * under clamp. Only the long way through the VALU comes here, and only while MODE is not the
 * default.
 */

/* ---- types ---- */

struct format {
    uint32_t exp_mask;  /**< exponent bits, in the half or the top dword */
    uint32_t sign_mask; /**< the sign bit there */
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

/* Bit 0 means that denormal inputs are kept, and bit 1 that denormal results are. */
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

/* Tests whether the instruction computes with its float operands, and does not only compare or
 * move them.
 */
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
    default: /* These are integers. */
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

/* OMOD turns -0 into +0 by definition. */
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
    round_result(in, args, r);
    if (!rp_type_is_float(type) || !computes(in))
        return;
    if (f16 && mode & RP_MODE_FP16_OVFL && !has_poles(in->op))
        limit_f16(in, mode, s, r);
    if (!(denormals(mode, type) & 2))
        flush(type, r);
    if (has_omod(in, mode)) {
        round_scale(type, rp_mode_round(mode, type), scale_of(in->omod), r);
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
