/**
 * @file lane_f64.c
 * @brief f64 arithmetic, the three steps of f64 division, and the 2/pi digits for sin and cos.
 *
 * v_rcp_f64 and v_rsq_f64 give low-precision seeds in hardware; here they are one and two correctly
 * rounded operations. Code that refines them works with either.
 */
#include "lane_level.h"
#include "lane_num.h"

#define RP_INF64   0x7ff0000000000000u
#define RP_MAG64   0x7fffffffffffffffu
#define RP_QUIET64 0x0008000000000000u

static inline int64_t rp_order_f64(uint64_t x)
{
    return (int64_t)(x ^ ((uint64_t)((int64_t)x >> 63) & RP_MAG64));
}

/* A NaN loses against a number, except that with IEEE set a signalling one wins, quieted. */
static inline uint64_t rp_pick_f64(uint64_t a, uint64_t b, uint64_t r, uint32_t mode)
{
    const uint64_t mag_a = a & RP_MAG64, mag_b = b & RP_MAG64;
    const uint64_t span = mode & 0x200u ? RP_QUIET64 - 1 : 0;
    r = rp_sel64(mag_b > RP_INF64, a, r);
    r = rp_sel64(mag_a > RP_INF64, b, r);
    r = rp_sel64(mag_b - (RP_INF64 + 1) < span, b | RP_QUIET64, r);
    return rp_sel64(mag_a - (RP_INF64 + 1) < span, a | RP_QUIET64, r);
}

static inline uint64_t rp_min_f64(uint64_t a, uint64_t b, uint32_t mode)
{
    return rp_pick_f64(a, b, rp_sel64(rp_order_f64(a) < rp_order_f64(b), a, b), mode);
}

static inline uint64_t rp_max_f64(uint64_t a, uint64_t b, uint32_t mode)
{
    return rp_pick_f64(a, b, rp_sel64(rp_order_f64(a) > rp_order_f64(b), a, b), mode);
}

static inline double rp_fract_f64(double a)
{
    const double r = a - __builtin_floor(a);
    return rp_nan1_f64(a, r >= 1.0 ? 0x1.fffffffffffffp-1 : r);
}

static inline double rp_frexp_mant_f64(uint64_t x)
{
    const uint64_t mag = x & RP_MAG64;
    const uint64_t lifted = mag < 0x0010000000000000u ? rp_bits_f64(rp_f64_of(x) * 0x1p64) : x;
    const uint64_t mant = (lifted & 0x800fffffffffffffu) | 0x3fe0000000000000u;
    const uint64_t quiet = mag > RP_INF64 ? x | RP_QUIET64 : x;
    return rp_f64_of(mag == 0 || mag >= RP_INF64 ? quiet : mant);
}

static inline int32_t rp_frexp_exp_f64(uint64_t x)
{
    const uint64_t mag = x & RP_MAG64;
    const int denormal = mag < 0x0010000000000000u;
    const uint64_t lifted = denormal ? rp_bits_f64(rp_f64_of(mag) * 0x1p64) : mag;
    const int32_t exp = (int32_t)(lifted >> 52) - 1022 - (denormal ? 64 : 0);
    return mag == 0 || mag >= RP_INF64 ? 0 : exp;
}

static inline double rp_pow2(int32_t n) /* -1022 ... 1023 */
{
    return rp_f64_of((uint64_t)(uint32_t)(n + 1023) << 52);
}

/* Three factors; only the last one may round. Going down, the first two are 2^-969 each, whose
 * results are still normal unless the end result is far below the smallest denormal. */
static inline double rp_ldexp_f64(double a, int32_t n)
{
    int32_t k = rp_min_i32(rp_max_i32(n, -2200), 2200);
    double r = a;
    for (int i = 0; i < 2; i++) {
        const int32_t step = k > 1023 ? 1023 : k < -1022 ? -969 : 0;
        r *= rp_pow2(step);
        k -= step;
    }
    k = rp_min_i32(rp_max_i32(k, -1022), 1023);
    return rp_nan1_f64(a, r * rp_pow2(k));
}

/* ---- division: see lane_f32.c for what is taken where the document is wrong ---------------- */

static inline double rp_div_fixup_f64(uint64_t q, uint64_t den, uint64_t num)
{
    const uint64_t sign = (den ^ num) & ~RP_MAG64;
    const uint64_t d = den & RP_MAG64, n = num & RP_MAG64, inf = RP_INF64;
    const int32_t exp_diff = (int32_t)(n >> 52) - (int32_t)(d >> 52);
    uint64_t r = (q & RP_MAG64) | sign;
    r = (q & RP_MAG64) > inf ? inf | sign : r;
    r = exp_diff < -1075 ? sign : r;
    r = d == inf || n == 0 ? sign : r;
    r = d == 0 || n == inf ? inf | sign : r;
    r = (d == 0 && n == 0) || (d == inf && n == inf) ? 0xfff8000000000000u : r;
    r = d > inf ? den | RP_QUIET64 : r;
    return rp_f64_of(n > inf ? num | RP_QUIET64 : r);
}

/* (2/pi) * 2^1216, most significant word first: the 1201 fraction bits the hardware knows. */
static const uint64_t rp_two_over_pi[19] = {
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu,
    0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b0000u,
};

/* The 53 bits of 2/pi behind the first shift bits, at their place value (times 2^128 for huge a, so
 * that the products of the reduction stay away from the denormals). b selects the segment. */
static inline double rp_trig_preop(uint64_t a, uint32_t b)
{
    const int32_t exp = (int32_t)(a >> 52 & 0x7ff);
    const int32_t shift = (int32_t)(b & 31) * 53 + (exp > 1077 ? exp - 1077 : 0);
    const uint32_t word = (uint32_t)shift / 64, bit = (uint32_t)shift % 64;
    const uint64_t hi = word < 19 ? rp_two_over_pi[word] : 0;
    const uint64_t lo = word + 1 < 19 ? rp_two_over_pi[word + 1] : 0;
    const uint64_t window = bit ? hi << bit | lo >> (64 - bit) : hi;
    return rp_ldexp_f64((double)(int64_t)(window >> 11), -53 - shift + (exp >= 1968 ? 128 : 0));
}

#define RP_LANE_F64(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "lane.def"

/* 2^-128 (a*b + c), rounded once also where the result is denormal: the sum as a rounded value
 * and its error, then the value rounded to the denormals' grid with the error breaking ties. */
static double rp_fma_down_f64(double a, double b, double c)
{
    const double s = __builtin_fma(a, b, c);
    const double p = a * b, p_err = __builtin_fma(a, b, -p);
    const double t = p + c, t_part = t - p, t_err = (p - (t - t_part)) + (c - t_part);
    const double err = (t - s) + (t_err + p_err);
    if (__builtin_fabs(s) >= 0x1p-894)
        return s * 0x1p-128; /* stays normal: exact */
    /* Magnitude plus 2^-894 is spaced by 2^-946, which becomes the 2^-1074 of the denormals. */
    const double mag = __builtin_fabs(s), mag_err = s < 0 ? -err : err;
    const double rounded = (mag + 0x1p-894) - 0x1p-894, rest = mag - rounded;
    double grid = rounded;
    if (rest == 0x1p-947 && mag_err > 0)
        grid = rounded + 0x1p-946;
    else if (rest == -0x1p-947 && mag_err < 0)
        grid = rounded - 0x1p-946;
    return __builtin_copysign(grid * 0x1p-128, s);
}

RP_LANE_HEAD(v_div_fmas_f64)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    double plain[RP_LANES];
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        plain[lane] = rp_fma_f64(RP_LD_f64(s0, lane), RP_LD_f64(s1, lane), RP_LD_f64(s2, lane));
    for (uint64_t scaled = args->mask_in; scaled; scaled &= scaled - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(scaled);
        const double c = RP_LD_f64(s2, lane);
        if (!(__builtin_fabs(plain[lane]) < HUGE_VAL))
            continue;
        plain[lane] = c >= 2.0 || c <= -2.0
                          ? plain[lane] * 0x1p128
                          : rp_fma_down_f64(RP_LD_f64(s0, lane), RP_LD_f64(s1, lane), c);
    }
    RP_LANE_LOOP
    RP_ST_f64(d, lane, plain[lane]);
}

/* As rp_div_scale_f32; vcc in all bits. */
static inline double rp_div_scale_f64(double value, double den, double num, uint64_t *vcc)
{
    const uint64_t d = rp_bits_f64(den) & RP_MAG64, n = rp_bits_f64(num) & RP_MAG64;
    const int64_t exp_d = (int64_t)(d >> 52), exp_n = (int64_t)(n >> 52), diff = exp_n - exp_d;
    const int zero = (d == 0) | (n == 0);
    const int q_large = diff >= 768, q_small = diff <= -1022;
    const int rcp_small = (exp_d >= 2045) & (exp_d < 2047);
    const uint64_t up = (1023ull + 128) << 52, same = 1023ull << 52, down = (1023ull - 128) << 52;
    const uint64_t den_up = rp_sel64(value == den, up, same),
                   num_up = rp_sel64(value == num, up, same);
    const uint64_t den_down = rp_sel64(value == den, down, same);
    /* In falling priority from the bottom line up. */
    uint64_t scale = rp_sel64(exp_n <= 53, up, same);
    scale = rp_sel64(q_small, num_up, scale);
    scale = rp_sel64(rcp_small, rp_sel64(q_small, den_down, down), scale);
    scale = rp_sel64(exp_d == 0, up, scale);
    scale = rp_sel64(q_large, den_up, scale);
    *vcc = -(uint64_t)(zero | q_large | (q_small & (exp_d != 0)));
    const double r = rp_nan1_f64(value, value * rp_f64_of(scale));
    return rp_f64_of(rp_sel64(zero, 0x7ff8000000000000u, rp_bits_f64(r)));
}

RP_LANE_HEAD(v_div_scale_f64)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    uint64_t wide[RP_LANES];
    uint32_t vcc[RP_LANES];
    RP_LANE_LOOP
    {
        const double r = rp_div_scale_f64(RP_LD_f64(s0, lane), RP_LD_f64(s1, lane),
                                          RP_LD_f64(s2, lane), &wide[lane]);
        RP_ST_f64(d, lane, r);
    }
    RP_LANE_LOOP
    vcc[lane] = (uint32_t)wide[lane];
    args->mask_out = rp_lane_collect(vcc);
}
