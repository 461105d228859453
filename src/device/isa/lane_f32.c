/**
 * @file lane_f32.c
 * @brief f32 arithmetic kernels and the three steps of f32 division.
 */
#include "lane_level.h"
#include "lane_num.h"

static inline int rp_is_nan_f32(uint32_t x)
{
    return (x & 0x7fffffffu) > 0x7f800000u;
}

static inline float rp_zero_if_denormal(float x)
{
    const uint32_t bits = rp_bits_f32(x);
    return rp_f32_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

/*
 * gfx90a's v_mad_f32: product and sum rounded each (LLVM's FMAD), denormals zeros whatever the mode
 * (LLVM's FMAD_FTZ: the instruction does not support them).
 */
static inline float rp_mad_f32(float a, float b, float c)
{
    const float x = rp_zero_if_denormal(a), y = rp_zero_if_denormal(b);
    const float z = rp_zero_if_denormal(c), p = rp_zero_if_denormal(x * y);
    return rp_nan3(a, b, rp_nan1(c, rp_zero_if_denormal(p + z)));
}

/* Zero times anything is zero. */
static inline float rp_mad_legacy_f32(float a, float b, float c)
{
    const float x = rp_zero_if_denormal(a), y = rp_zero_if_denormal(b);
    const float z = rp_zero_if_denormal(c);
    return x == 0 || y == 0 ? rp_nan1(c, 0.0f + z) : rp_mad_f32(a, b, c);
}

/* Signed integers in the order of the floats, -0 below +0. */
static inline int32_t rp_order_f32(uint32_t x)
{
    return (int32_t)(x ^ ((uint32_t)((int32_t)x >> 31) & 0x7fffffffu));
}

/* Signalling NaNs as magnitudes: 0x7f800001 and the span above it, none unless IEEE is set. */
static inline uint32_t rp_snan_span_f32(uint32_t mode)
{
    return mode & 0x200u ? 0x003fffffu : 0;
}

/* A NaN loses against a number, except that with IEEE set a signalling one wins, quieted. */
static inline uint32_t rp_pick_f32(uint32_t a, uint32_t b, uint32_t r, uint32_t mode)
{
    const uint32_t mag_a = a & 0x7fffffffu, mag_b = b & 0x7fffffffu, inf = 0x7f800000u;
    const uint32_t span = rp_snan_span_f32(mode);
    r = rp_sel32(mag_b > inf, a, r);
    r = rp_sel32(mag_a > inf, b, r);
    r = rp_sel32(mag_b - 0x7f800001u < span, b | 0x00400000u, r);
    return rp_sel32(mag_a - 0x7f800001u < span, a | 0x00400000u, r);
}

static inline uint32_t rp_min_f32(uint32_t a, uint32_t b, uint32_t mode)
{
    return rp_pick_f32(a, b, rp_sel32(rp_order_f32(a) < rp_order_f32(b), a, b), mode);
}

static inline uint32_t rp_max_f32(uint32_t a, uint32_t b, uint32_t mode)
{
    return rp_pick_f32(a, b, rp_sel32(rp_order_f32(a) > rp_order_f32(b), a, b), mode);
}

/* IEEE 754-2019 minimum and maximum: a NaN wins, quieted, the first of two; -0 is below +0. */
static inline uint32_t rp_any_nan_f32(uint32_t a, uint32_t b, uint32_t r)
{
    r = rp_sel32(rp_is_nan_f32(b), b | 0x00400000u, r);
    return rp_sel32(rp_is_nan_f32(a), a | 0x00400000u, r);
}

static inline uint32_t rp_minimum_f32(uint32_t a, uint32_t b)
{
    return rp_any_nan_f32(a, b, rp_sel32(rp_order_f32(a) < rp_order_f32(b), a, b));
}

static inline uint32_t rp_maximum_f32(uint32_t a, uint32_t b)
{
    return rp_any_nan_f32(a, b, rp_sel32(rp_order_f32(a) > rp_order_f32(b), a, b));
}

/* The comparisons with the maximum are float ones in the document, so -0 equals +0. */
static inline uint32_t rp_med_f32(uint32_t a, uint32_t b, uint32_t c, uint32_t mode)
{
    const uint32_t max = rp_max_f32(rp_max_f32(a, b, mode), c, mode);
    const uint32_t min = rp_min_f32(rp_min_f32(a, b, mode), c, mode);
    const int any_nan = rp_is_nan_f32(a) | rp_is_nan_f32(b) | rp_is_nan_f32(c);
    const int max_is_a = rp_f32_of(max) == rp_f32_of(a), max_is_b = rp_f32_of(max) == rp_f32_of(b);
    const uint32_t x = rp_sel32(max_is_a, b, a), y = rp_sel32(max_is_a | max_is_b, c, b);
    return rp_sel32(any_nan, min, rp_max_f32(x, y, mode));
}

/* Below 1 even where the subtraction rounds up to it (tiny negative numbers). */
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

/* Exact in f64, rounded once on the way back. */
static inline float rp_ldexp_f32(float a, int32_t n)
{
    const int32_t k = rp_min_i32(rp_max_i32(n, -300), 300);
    const double scale = rp_f64_of((uint64_t)(uint32_t)(k + 1023) << 52);
    return rp_nan1(a, (float)((double)a * scale));
}

/* ---- cube map coordinates ----------------------------------------------------------------- */

static inline int rp_cube_is_z(float x, float y, float z)
{
    return __builtin_fabsf(z) >= __builtin_fabsf(x) && __builtin_fabsf(z) >= __builtin_fabsf(y);
}

static inline int rp_cube_is_y(float x, float y)
{
    return __builtin_fabsf(y) >= __builtin_fabsf(x);
}

static inline float rp_cubeid(float x, float y, float z)
{
    const float base = rp_cube_is_z(x, y, z) ? 4.0f : rp_cube_is_y(x, y) ? 2.0f : 0.0f;
    const float axis = rp_cube_is_z(x, y, z) ? z : rp_cube_is_y(x, y) ? y : x;
    return base + (axis < 0 ? 1.0f : 0.0f);
}

static inline float rp_cubesc(float x, float y, float z)
{
    const float for_z = z < 0 ? -x : x, for_x = x < 0 ? z : -z;
    return rp_cube_is_z(x, y, z) ? for_z : rp_cube_is_y(x, y) ? x : for_x;
}

static inline float rp_cubetc(float x, float y, float z)
{
    const float for_y = y < 0 ? -z : z;
    return rp_cube_is_z(x, y, z) ? -y : rp_cube_is_y(x, y) ? for_y : -y;
}

static inline float rp_cubema(float x, float y, float z)
{
    return 2.0f * (rp_cube_is_z(x, y, z) ? z : rp_cube_is_y(x, y) ? y : x);
}

/* ---- division ----------------------------------------------------------------------------- *
 * v_div_scale, v_rcp, v_fma..., v_div_fmas, v_div_fixup make a correctly rounded quotient. The
 * document's pseudo code of the first and third contradict one another (a quotient scaled by 2^64
 * cannot be mended by 2^32) and its scaling of huge denominators would overflow. Taken instead:
 * v_div_fmas multiplies by 2^64 when the addend (the quotient so far) is 2 or more, else by 2^-64;
 * v_div_scale scales down where 1/S1 would be denormal. The tests divide with the compiler's
 * sequence over all exponents. */

/* q: quotient estimate, den and num: bits of the unscaled denominator and numerator. */
static inline float rp_div_fixup_f32(uint32_t q, uint32_t den, uint32_t num)
{
    const uint32_t sign = (den ^ num) & 0x80000000u;
    const uint32_t d = den & 0x7fffffffu, n = num & 0x7fffffffu, inf = 0x7f800000u;
    const int32_t exp_diff = (int32_t)(n >> 23) - (int32_t)(d >> 23);
    uint32_t r = (q & 0x7fffffffu) | sign;
    r = rp_is_nan_f32(q) ? inf | sign : r; /* overflow inside the sequence */
    r = exp_diff < -150 ? sign : r;        /* less than half the smallest denormal */
    r = d == inf || n == 0 ? sign : r;
    r = d == 0 || n == inf ? inf | sign : r;
    r = (d == 0 && n == 0) || (d == inf && n == inf) ? 0xffc00000u : r;
    r = d > inf ? den | 0x00400000u : r;
    return rp_f32_of(n > inf ? num | 0x00400000u : r);
}

#define RP_LANE_F32(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "lane.def"

/* The scaled result is rounded once. Exact product in f64, sum rounded to odd, then to f32. */
static inline float rp_scaled_fma_f32(float a, float b, float c)
{
    const double p = (double)a * (double)b, s = p + (double)c;
    const double t = s - p, err = (p - (s - t)) + ((double)c - t);
    const uint64_t bits = rp_bits_f64(s);
    const uint64_t toward = (err > 0) == (s > 0) ? 0 : 1; /* magnitude was rounded up */
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
                rp_scaled_fma_f32(rp_f32_of(s0[lane]), rp_f32_of(s1[lane]), rp_f32_of(s2[lane]));
    }
    memcpy(d, plain, sizeof plain);
}

/* value: the operand to scale, a copy of den or of num. Returns it scaled; *vcc: mend later.
 * The classes are told apart by exponents, as the tests that others ran on this family's hardware
 * show: a quotient that may be denormal counts as denormal, and zero operands set VCC. */
static inline float rp_div_scale_f32(float value, float den, float num, uint32_t *vcc)
{
    const uint32_t d = rp_bits_f32(den) & 0x7fffffffu, n = rp_bits_f32(num) & 0x7fffffffu;
    const int32_t exp_d = (int32_t)(d >> 23), exp_n = (int32_t)(n >> 23), diff = exp_n - exp_d;
    const int zero = (d == 0) | (n == 0);
    const int q_large = diff >= 96,
              q_small = diff <= -126; /* near the largest, the smallest float */
    const int rcp_small = (exp_d >= 253) & (exp_d < 255);
    const uint32_t up = (127 + 64) << 23, same = 127 << 23, down = (127 - 64) << 23;
    const uint32_t den_up = rp_sel32(value == den, up, same),
                   num_up = rp_sel32(value == num, up, same);
    const uint32_t den_down = rp_sel32(value == den, down, same);
    /* In falling priority from the bottom line up. */
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
    d[lane] = rp_bits_f32(rp_div_scale_f32(rp_f32_of(s0[lane]), rp_f32_of(s1[lane]),
                                           rp_f32_of(s2[lane]), &vcc[lane]));
    args->mask_out = rp_lane_collect(vcc);
}

/* ---- packed: two rows; both are read before either is written, as they may overlap --------- */

static inline float rp_add_f32(float a, float b)
{
    return rp_nan1(a, a + b);
}

static inline float rp_mul_f32(float a, float b)
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

RP_PAIR_ROW(v_pk_add_f32, rp_add_f32)
RP_PAIR_ROW(v_pk_mul_f32, rp_mul_f32)

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
