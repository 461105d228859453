/**
 * @file lane_float.c
 * @brief This file implements arithmetic kernels of f32 and f64, the steps of division, and the
 * 2/pi digits for sin and cos.
 */
#include "device/isa/lane_level.h"

static inline int is_nan_f32(uint32_t x)
{
    return (x & 0x7fffffffu) > 0x7f800000u;
}

static inline float zero_if_denormal(float x)
{
    const uint32_t bits = rp_bits_f32(x);
    return rp_f32_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

/* gfx90a's v_mad_f32 rounds both product and sum (LLVM's FMAD). It treats denormals as zeros
 * whatever the mode (LLVM's FMAD_FTZ), because the instruction does not support them.
 */
static inline float rp_mad_f32(float a, float b, float c)
{
    const float x = zero_if_denormal(a), y = zero_if_denormal(b);
    const float z = zero_if_denormal(c), p = zero_if_denormal(x * y);
    return rp_nan3(a, b, rp_nan1(c, zero_if_denormal(p + z)));
}

/* Zero times anything is zero. */
static inline float rp_mad_legacy_f32(float a, float b, float c)
{
    const float x = zero_if_denormal(a), y = zero_if_denormal(b);
    const float z = zero_if_denormal(c);
    return x == 0 || y == 0 ? rp_nan1(c, 0.0f + z) : rp_mad_f32(a, b, c);
}

/* Maps floats to signed integers of the same order, with -0 below +0. */
static inline int32_t order_f32(uint32_t x)
{
    return (int32_t)(x ^ ((uint32_t)((int32_t)x >> 31) & 0x7fffffffu));
}

/* Returns the span of signalling NaNs as magnitudes: 0x7f800001 and above, none unless IEEE is
 * set.
 */
static inline uint32_t snan_span_f32(uint32_t mode)
{
    return mode & 0x200u ? 0x003fffffu : 0;
}

/* A NaN loses against a number, except that with IEEE set a signalling one wins, quieted. */
static inline uint32_t pick_f32(uint32_t a, uint32_t b, uint32_t r, uint32_t mode)
{
    const uint32_t mag_a = a & 0x7fffffffu, mag_b = b & 0x7fffffffu, inf = 0x7f800000u;
    const uint32_t span = snan_span_f32(mode);
    r = rp_sel32(mag_b > inf, a, r);
    r = rp_sel32(mag_a > inf, b, r);
    r = rp_sel32(mag_b - 0x7f800001u < span, b | 0x00400000u, r);
    return rp_sel32(mag_a - 0x7f800001u < span, a | 0x00400000u, r);
}

static inline uint32_t rp_min_f32(uint32_t a, uint32_t b, uint32_t mode)
{
    return pick_f32(a, b, rp_sel32(order_f32(a) < order_f32(b), a, b), mode);
}

static inline uint32_t rp_max_f32(uint32_t a, uint32_t b, uint32_t mode)
{
    return pick_f32(a, b, rp_sel32(order_f32(a) > order_f32(b), a, b), mode);
}

/* This is IEEE 754-2019 minimum and maximum: a NaN wins and is quieted, the first of two, and -0
 * is below +0.
 */
static inline uint32_t any_nan_f32(uint32_t a, uint32_t b, uint32_t r)
{
    r = rp_sel32(is_nan_f32(b), b | 0x00400000u, r);
    return rp_sel32(is_nan_f32(a), a | 0x00400000u, r);
}

static inline uint32_t rp_minimum_f32(uint32_t a, uint32_t b)
{
    return any_nan_f32(a, b, rp_sel32(order_f32(a) < order_f32(b), a, b));
}

static inline uint32_t rp_maximum_f32(uint32_t a, uint32_t b)
{
    return any_nan_f32(a, b, rp_sel32(order_f32(a) > order_f32(b), a, b));
}

/* The comparisons with the maximum are float ones in the document, so -0 equals +0. */
static inline uint32_t rp_med_f32(uint32_t a, uint32_t b, uint32_t c, uint32_t mode)
{
    const uint32_t max = rp_max_f32(rp_max_f32(a, b, mode), c, mode);
    const uint32_t min = rp_min_f32(rp_min_f32(a, b, mode), c, mode);
    const int any_nan = is_nan_f32(a) | is_nan_f32(b) | is_nan_f32(c);
    const int max_is_a = rp_f32_of(max) == rp_f32_of(a), max_is_b = rp_f32_of(max) == rp_f32_of(b);
    const uint32_t x = rp_sel32(max_is_a, b, a), y = rp_sel32(max_is_a | max_is_b, c, b);
    return rp_sel32(any_nan, min, rp_max_f32(x, y, mode));
}

/* The result stays below 1 even where the subtraction rounds up to it (tiny negative numbers). */
static inline float rp_fract_f32(float a)
{
    const float r = a - __builtin_floorf(a);
    return rp_nan1(a, r >= 1.0f ? 0x1.fffffep-1f : r);
}

/* Denormals are lifted by 2^32, which is exact, before the fields are read. */
static inline float rp_frexp_mant_f32(uint32_t x)
{
    const uint32_t mag = x & 0x7fffffffu;
    const uint32_t lifted = mag < 0x00800000u ? rp_bits_f32(rp_f32_of(x) * 0x1p32f) : x;
    const uint32_t mant = (lifted & 0x807fffffu) | 0x3f000000u;
    const uint32_t quiet = mag > 0x7f800000u ? x | 0x00400000u : x;
    return rp_f32_of(mag == 0 || mag >= 0x7f800000u ? quiet : mant);
}

static inline int32_t rp_frexp_exp_f32(uint32_t x)
{
    const uint32_t mag = x & 0x7fffffffu;
    const int denormal = mag < 0x00800000u;
    const uint32_t lifted = denormal ? rp_bits_f32(rp_f32_of(mag) * 0x1p32f) : mag;
    const int32_t exp = (int32_t)(lifted >> 23) - 126 - (denormal ? 32 : 0);
    return mag == 0 || mag >= 0x7f800000u ? 0 : exp;
}

/* The product is exact in f64 and is rounded once on the way back. */
static inline float rp_ldexp_f32(float a, int32_t n)
{
    const int32_t k = rp_min_i32(rp_max_i32(n, -300), 300);
    const double scale = rp_f64_of((uint64_t)(uint32_t)(k + 1023) << 52);
    return rp_nan1(a, (float)((double)a * scale));
}

/* ---- cube map coordinates ----------------------------------------------------------------- */

static inline int cube_is_z(float x, float y, float z)
{
    return __builtin_fabsf(z) >= __builtin_fabsf(x) && __builtin_fabsf(z) >= __builtin_fabsf(y);
}

static inline int cube_is_y(float x, float y)
{
    return __builtin_fabsf(y) >= __builtin_fabsf(x);
}

static inline float rp_cubeid(float x, float y, float z)
{
    const float base = cube_is_z(x, y, z) ? 4.0f : cube_is_y(x, y) ? 2.0f : 0.0f;
    const float axis = cube_is_z(x, y, z) ? z : cube_is_y(x, y) ? y : x;
    return base + (axis < 0 ? 1.0f : 0.0f);
}

static inline float rp_cubesc(float x, float y, float z)
{
    const float for_z = z < 0 ? -x : x, for_x = x < 0 ? z : -z;
    return cube_is_z(x, y, z) ? for_z : cube_is_y(x, y) ? x : for_x;
}

static inline float rp_cubetc(float x, float y, float z)
{
    const float for_y = y < 0 ? -z : z;
    return cube_is_z(x, y, z) ? -y : cube_is_y(x, y) ? for_y : -y;
}

static inline float rp_cubema(float x, float y, float z)
{
    return 2.0f * (cube_is_z(x, y, z) ? z : cube_is_y(x, y) ? y : x);
}

/* ---- division -----------------------------------------------------------------------------
 * v_div_scale, v_rcp, v_fma..., v_div_fmas and v_div_fixup make a correctly rounded quotient. The
 * document's pseudo code of the first and third contradict each other (2^32 cannot repair a
 * quotient that was scaled by 2^64), and its scaling of huge denominators would overflow. Here
 * v_div_fmas multiplies by 2^64 when the addend (the quotient so far) is 2 or more, else by 2^-64,
 * and v_div_scale scales down where 1/S1 would be denormal. The tests divide with the compiler's
 * sequence over all exponents.
 */

/* q is the quotient estimate; den and num are the bits of the unscaled denominator and numerator.
 */
static inline float rp_div_fixup_f32(uint32_t q, uint32_t den, uint32_t num)
{
    const uint32_t sign = (den ^ num) & 0x80000000u;
    const uint32_t d = den & 0x7fffffffu, n = num & 0x7fffffffu, inf = 0x7f800000u;
    const int32_t exp_diff = (int32_t)(n >> 23) - (int32_t)(d >> 23);
    uint32_t r = (q & 0x7fffffffu) | sign;
    r = is_nan_f32(q) ? inf | sign : r; /* The sequence has overflowed. */
    r = exp_diff < -150 ? sign : r;     /* The quotient is less than half the smallest denormal. */
    r = d == inf || n == 0 ? sign : r;
    r = d == 0 || n == inf ? inf | sign : r;
    r = (d == 0 && n == 0) || (d == inf && n == inf) ? 0xffc00000u : r;
    r = d > inf ? den | 0x00400000u : r;
    return rp_f32_of(n > inf ? num | 0x00400000u : r);
}

#define RP_LANE_F32(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "device/isa/lane.def"

/* The scaled result is rounded once: the product is exact in f64, and the sum is rounded to odd
 * and then to f32.
 */
static inline float scaled_fma_f32(float a, float b, float c)
{
    const double p = (double)a * (double)b, s = p + (double)c;
    const double t = s - p, err = (p - (s - t)) + ((double)c - t);
    const uint64_t bits = rp_bits_f64(s);
    const uint64_t toward = (err > 0) == (s > 0) ? 0 : 1; /* The magnitude was rounded up. */
    const double odd = err != 0 && !(bits & 1) ? rp_f64_of((bits - toward) | 1) : s;
    return (float)(odd * (c >= 2.0f || c <= -2.0f ? 0x1p64 : 0x1p-64));
}

RP_LANE_HEAD(v_div_fmas_f32)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    float plain[RP_LANES];
    RP_LANE_LOOP
    plain[lane] = rp_fma_f32(rp_f32_of(s0[lane]), rp_f32_of(s1[lane]), rp_f32_of(s2[lane]));
    for (uint64_t scaled = args->mask_in; scaled; scaled &= scaled - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(scaled);
        if (__builtin_fabsf(plain[lane]) < HUGE_VALF)
            plain[lane] =
                scaled_fma_f32(rp_f32_of(s0[lane]), rp_f32_of(s1[lane]), rp_f32_of(s2[lane]));
    }
    memcpy(d, plain, sizeof plain);
}

/* value is the operand to scale, a copy of den or of num. The function returns it scaled, and *vcc
 * asks v_div_fmas to undo that later. The classes are told apart by exponents, as tests that
 * others ran on this family's hardware show: a quotient that may be denormal counts as denormal,
 * and zero operands set VCC.
 */
static inline float div_scale_f32(float value, float den, float num, uint32_t *vcc)
{
    const uint32_t d = rp_bits_f32(den) & 0x7fffffffu, n = rp_bits_f32(num) & 0x7fffffffu;
    const int32_t exp_d = (int32_t)(d >> 23), exp_n = (int32_t)(n >> 23), diff = exp_n - exp_d;
    const int zero = (d == 0) | (n == 0);
    const int q_large = diff >= 96,
              q_small = diff <= -126; /* The quotient is near the largest or the smallest float. */
    const int rcp_small = (exp_d >= 253) & (exp_d < 255);
    const uint32_t up = (127 + 64) << 23, same = 127 << 23, down = (127 - 64) << 23;
    const uint32_t den_up = rp_sel32(value == den, up, same),
                   num_up = rp_sel32(value == num, up, same);
    const uint32_t den_down = rp_sel32(value == den, down, same);
    /* The bottom line has the highest priority. */
    uint32_t scale = rp_sel32(exp_n <= 23, up, same);
    scale = rp_sel32(q_small, num_up, scale);
    scale = rp_sel32(rcp_small, rp_sel32(q_small, den_down, down), scale);
    scale = rp_sel32(exp_d == 0, up, scale);
    scale = rp_sel32(q_large, den_up, scale);
    *vcc = -(uint32_t)(zero | q_large | (q_small & (exp_d != 0)));
    const float r = rp_nan1(value, value * rp_f32_of(scale));
    return rp_f32_of(rp_sel32(zero, 0x7fc00000u, rp_bits_f32(r)));
}

RP_LANE_HEAD(v_div_scale_f32)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    uint32_t vcc[RP_LANES];
    RP_LANE_LOOP
    d[lane] = rp_bits_f32(
        div_scale_f32(rp_f32_of(s0[lane]), rp_f32_of(s1[lane]), rp_f32_of(s2[lane]), &vcc[lane]));
    args->mask_out = rp_lane_collect(vcc);
}

/* ---- packed: two rows; both are read before either is written, as they may overlap --------- */

static inline float add_f32(float a, float b)
{
    return rp_nan1(a, a + b);
}

static inline float mul_f32(float a, float b)
{
    return rp_nan1(a, a * b);
}

#define RP_PAIR_ROW(name, f)                                                                       \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        uint32_t *const d = args->d;                                                               \
        const uint32_t *const s0 = args->s0, *const s1 = args->s1;                                 \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const unsigned next = RP_LANES + lane;                                                 \
            const float lo = f(rp_f32_of(s0[lane]), rp_f32_of(s1[lane]));                          \
            const float hi = f(rp_f32_of(s0[next]), rp_f32_of(s1[next]));                          \
            d[lane] = rp_bits_f32(lo);                                                             \
            d[next] = rp_bits_f32(hi);                                                             \
        }                                                                                          \
    }

RP_PAIR_ROW(v_pk_add_f32, add_f32)
RP_PAIR_ROW(v_pk_mul_f32, mul_f32)

RP_LANE_HEAD(v_pk_fma_f32)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    RP_LANE_LOOP
    {
        const unsigned next = RP_LANES + lane;
        const float lo = rp_fma_f32(rp_f32_of(s0[lane]), rp_f32_of(s1[lane]), rp_f32_of(s2[lane]));
        const float hi = rp_fma_f32(rp_f32_of(s0[next]), rp_f32_of(s1[next]), rp_f32_of(s2[next]));
        d[lane] = rp_bits_f32(lo);
        d[next] = rp_bits_f32(hi);
    }
}

RP_LANE_HEAD(v_pk_mov_b32)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1;
    RP_LANE_LOOP
    {
        const uint32_t lo = s0[lane], hi = s1[lane];
        d[lane] = lo;
        d[RP_LANES + lane] = hi;
    }
}

/* ---- f64 ------------------------------------------------------------------------------------ */

/* v_rcp_f64 and v_rsq_f64 give low-precision seeds in hardware; here they are one and two
 * correctly rounded operations. Code that refines them works with either.
 */

#define RP_INF64   0x7ff0000000000000u
#define RP_MAG64   0x7fffffffffffffffu
#define RP_QUIET64 0x0008000000000000u

static inline int64_t order_f64(uint64_t x)
{
    return (int64_t)(x ^ ((uint64_t)((int64_t)x >> 63) & RP_MAG64));
}

/* A NaN loses against a number, except that with IEEE set a signalling one wins, quieted. */
static inline uint64_t pick_f64(uint64_t a, uint64_t b, uint64_t r, uint32_t mode)
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
    return pick_f64(a, b, rp_sel64(order_f64(a) < order_f64(b), a, b), mode);
}

static inline uint64_t rp_max_f64(uint64_t a, uint64_t b, uint32_t mode)
{
    return pick_f64(a, b, rp_sel64(order_f64(a) > order_f64(b), a, b), mode);
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

static inline double pow2(int32_t n) /* -1022 ... 1023 */
{
    return rp_f64_of((uint64_t)(uint32_t)(n + 1023) << 52);
}

/* Multiplies by three factors, of which only the last one may round. Going down, the first two are
 * 2^-969 each; their results are still normal unless the end result is far below the smallest
 * denormal.
 */
static inline double rp_ldexp_f64(double a, int32_t n)
{
    int32_t k = rp_min_i32(rp_max_i32(n, -2200), 2200);
    double r = a;
    for (int i = 0; i < 2; i++) {
        const int32_t step = k > 1023 ? 1023 : k < -1022 ? -969 : 0;
        r *= pow2(step);
        k -= step;
    }
    k = rp_min_i32(rp_max_i32(k, -1022), 1023);
    return rp_nan1_f64(a, r * pow2(k));
}

/* ---- f64 division: the document is corrected as for f32 -------------------------------------- */

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

/* This is (2/pi) * 2^1216 with the most significant word first: the 1201 fraction bits that the
 * hardware knows.
 */
static const uint64_t rp_two_over_pi[19] = {
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu,
    0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b0000u,
};

/* Returns the 53 bits of 2/pi behind the first shift bits at their place value. For huge a it is
 * times 2^128, so that the products of the reduction stay away from the denormals. b selects the
 * segment.
 */
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
#include "device/isa/lane.def"

/* Computes 2^-128 (a*b + c), rounded once even where the result is denormal. The sum is a rounded
 * value and its error; the value is then rounded to the denormals' grid, and the error breaks
 * ties.
 */
static double fma_down_f64(double a, double b, double c)
{
    const double s = __builtin_fma(a, b, c);
    const double p = a * b, p_err = __builtin_fma(a, b, -p);
    const double t = p + c, t_part = t - p, t_err = (p - (t - t_part)) + (c - t_part);
    const double err = (t - s) + (t_err + p_err);
    if (__builtin_fabs(s) >= 0x1p-894)
        return s * 0x1p-128; /* The result stays normal, so this is exact. */
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
                          : fma_down_f64(RP_LD_f64(s0, lane), RP_LD_f64(s1, lane), c);
    }
    RP_LANE_LOOP
    RP_ST_f64(d, lane, plain[lane]);
}

/* Does the same as div_scale_f32(), with vcc in all bits. */
static inline double div_scale_f64(double value, double den, double num, uint64_t *vcc)
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
    /* The bottom line has the highest priority. */
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
        const double r = div_scale_f64(RP_LD_f64(s0, lane), RP_LD_f64(s1, lane),
                                       RP_LD_f64(s2, lane), &wide[lane]);
        RP_ST_f64(d, lane, r);
    }
    RP_LANE_LOOP
    vcc[lane] = (uint32_t)wide[lane];
    args->mask_out = rp_lane_collect(vcc);
}

/* These are reciprocals, roots, exponential, logarithm, sine and cosine. The hardware approximates
 * them to about one unit in the last place of f32, and AMD does not specify the bits. Here they
 * are computed in f64 with an error below 2^-50 and rounded once. The f32 and f16 results are
 * therefore correctly rounded, except where the exact value lies within 2^-50 of a rounding
 * boundary; rcp and sqrt are always correctly rounded. Do not expect bit equality with silicon.
 *
 * The ISA document says that the f32 forms of exp, log, rcp, rsq and sqrt flush denormals whatever
 * MODE says; all others keep them. All of it is plain f64 arithmetic in one order, without
 * contraction and without libm, so that every level and every machine gives the same bits.
 */

/* Adding and subtracting this rounds a small f64 to an integer, to nearest even. */
#define RP_ROUND_MAGIC 0x1.8p52

/* Returns x where cond holds, else +0. */
static inline double rp_keep(int cond, double x)
{
    return rp_f64_of(rp_sel64(cond, rp_bits_f64(x), 0));
}

static inline double choose(int cond, double x, double y)
{
    return rp_f64_of(rp_sel64(cond, rp_bits_f64(x), rp_bits_f64(y)));
}

/* Computes 2^x for |x| clamped to 1000: x = n + r, |r| <= 1/2. The Taylor series of e^(r ln 2)
 * goes to degree 13, and its remainder is below 2^-57.
 */
static inline double rp_exp2(double x)
{
    const double c = x > 1000.0 ? 1000.0 : x < -1000.0 ? -1000.0 : x;
    const double shifted = c + RP_ROUND_MAGIC;
    const double t = (c - (shifted - RP_ROUND_MAGIC)) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 6227020800.0;
    p = p * t + 1.0 / 479001600.0;
    p = p * t + 1.0 / 39916800.0;
    p = p * t + 1.0 / 3628800.0;
    p = p * t + 1.0 / 362880.0;
    p = p * t + 1.0 / 40320.0;
    p = p * t + 1.0 / 5040.0;
    p = p * t + 1.0 / 720.0;
    p = p * t + 1.0 / 120.0;
    p = p * t + 1.0 / 24.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.5;
    p = p * t + 1.0;
    p = p * t + 1.0;
    /* The low bits of shifted are n, which makes 2^n when used as an exponent. */
    return p * rp_f64_of((rp_bits_f64(shifted) + 1023) << 52);
}

/* Computes log2 of an f64 that came from f32 or f16 (so never denormal): m in [sqrt(1/2),
 * sqrt(2)), log2 m = 2/ln2 * atanh(s), s = (m-1)/(m+1). The odd series goes to s^21, and its
 * remainder is below 2^-58.
 */
static inline double rp_log2(double x)
{
    const uint64_t bits = rp_bits_f64(x), sqrt_half = 0x3fe6a09e667f3bcdu;
    /* This is the exponent of m relative to sqrt(1/2), made an f64 by way of the mantissa of 2^52.
     */
    const uint64_t e_bits = (bits - sqrt_half + ((uint64_t)2048 << 52)) >> 52;
    const double e = rp_f64_of(e_bits | 0x4330000000000000u) - (0x1p52 + 2048.0);
    const double m = rp_f64_of(bits - ((e_bits - 2048) << 52));
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    /* This is s + s z p with 2/ln2 in two parts, so that small results keep their bits. */
    const double tail = s * z * p * 0x1.71547652b82fep+1 + s * 0x1.777d0ffda0d24p-55;
    const double r = e + (s * 0x1.71547652b82fep+1 + tail);
    const double special = x == 0 ? -HUGE_VAL : x < 0 ? rp_f64_of(0xfff8000000000000u) : x;
    return x > 0 && x < HUGE_VAL ? r : special;
}

/* Computes 1/sqrt(x) of an f64 that came from f32, several times as fast as division and root. It
 * takes four of Newton's steps from an estimate good to 1/29. The tests show that every f32 gives
 * the same f32 as division and root do.
 */
static inline double rp_rsqrt(double x)
{
    const double half = 0.5 * x;
    double y = rp_f64_of(0x5fe6eb50c7b537a9u - (rp_bits_f64(x) >> 1));
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    const double none = choose(x < 0, rp_f64_of(0xfff8000000000000u), 0.0);
    const double special = choose(x == 0, __builtin_copysign(HUGE_VAL, x), none);
    return choose((x > 0) & (x < HUGE_VAL), y, special);
}

/* Reduces x, which is in turns. f = x - nearest integer is exact, and q counts the quarter turns
 * in it.
 */
static inline double rp_turns(double x, double *ret_q)
{
    /* f32 numbers from 2^24 on are integers. */
    const double big = rp_keep(__builtin_fabs(x) < 0x1p51, x);
    const double f = big - ((big + RP_ROUND_MAGIC) - RP_ROUND_MAGIC);
    const double q = (4.0 * f + RP_ROUND_MAGIC) - RP_ROUND_MAGIC;
    *ret_q = q;
    return (f - 0.25 * q) * 0x1.921fb54442d18p+2; /* The result is in radians, within pi/4. */
}

/* The Taylor series goes to y^17, and its remainder is below 2^-63. */
static inline double sin_poly(double y)
{
    const double z = y * y;
    double p = 1.0 / 355687428096000.0;
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return y + y * (z * p);
}

static inline double cos_poly(double y)
{
    const double z = y * y;
    double p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    return 1.0 + (z * (z * p) - 0.5 * z);
}

/* The document gives sin(2 pi x) for all x; infinities are invalid. Zeros keep their sign, and
 * other multiples of half a turn give +0. q is -2, -1, 0, 1 or 2.
 */
static inline double rp_sin_turns(double x)
{
    double q;
    const double y = rp_turns(x, &q), s = sin_poly(y), c = cos_poly(y);
    const double odd = choose(q > 0, c, -c), even = choose(q == 0, s, -s);
    const double r = choose(q * q == 1.0, odd, even) + 0.0;
    const double finite = choose(x == 0, x, r);
    return choose(x - x == 0, finite, rp_f64_of(0xfff8000000000000u));
}

static inline double rp_cos_turns(double x)
{
    double q;
    const double y = rp_turns(x, &q), s = sin_poly(y), c = cos_poly(y);
    const double odd = choose(q > 0, -s, s), even = choose(q == 0, c, -c);
    const double r = choose(q * q == 1.0, odd, even) + 0.0;
    return choose(x - x == 0, r, rp_f64_of(0xfff8000000000000u));
}

/* The flushing forms read an f32 operand or result like this: denormals are zeros of their sign. */
static inline float rp_flushed(uint32_t bits)
{
    return rp_f32_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

static inline float rp_trans(uint32_t a, float r)
{
    return rp_nan1(rp_f32_of(a), rp_flushed(rp_bits_f32(r)));
}

static inline uint32_t rp_h16_nan(float a, double r)
{
    const uint32_t h = rp_h16_of_f64(r);
    return a != a ? rp_h16_of_f32(a) : h;
}

#define RP_LANE_TRANS(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "device/isa/lane.def"
