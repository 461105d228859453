/**
 * @file oracle_float.c
 * @brief Float rows: exact 113-bit values and one rounding; transcendental ones by libm's long
 * double functions.
 */
#include "oracle.h"

#include <math.h>
#include <string.h>

/* First NaN operand, quieted, else v rounded. */
static uint64_t result(struct fmt f, __float128 v, unsigned n, const uint64_t *operands)
{
    for (unsigned i = 0; i < n; i++)
        if (fmt_is_nan(f, operands[i]))
            return fmt_quiet(f, operands[i]);
    return fmt_round(f, v);
}

static uint64_t result1(struct fmt f, __float128 v, uint64_t a)
{
    return result(f, v, 1, &a);
}

static uint64_t result2(struct fmt f, __float128 v, uint64_t a, uint64_t b)
{
    return result(f, v, 2, (const uint64_t[]){a, b});
}

static uint64_t fused(struct fmt f, uint64_t a, uint64_t b, uint64_t c)
{
    const __float128 v = quad_fma(fmt_value(f, a), fmt_value(f, b), fmt_value(f, c));
    return result(f, v, 3, (const uint64_t[]){a, b, c});
}

static uint64_t added(struct fmt f, uint64_t a, uint64_t b)
{
    return result2(f, fmt_value(f, a) + fmt_value(f, b), a, b);
}

static uint64_t times(struct fmt f, uint64_t a, uint64_t b)
{
    return result2(f, fmt_value(f, a) * fmt_value(f, b), a, b);
}

static int sign_of(struct fmt f, uint64_t x)
{
    return (int)(x >> (f.exp_bits + f.mant_bits) & 1);
}

static uint64_t with_sign(struct fmt f, uint64_t x, int negative)
{
    const uint64_t top = (uint64_t)1 << (f.exp_bits + f.mant_bits);
    return (x & (top - 1)) | (negative ? top : 0);
}

/* The document's text, case by case. */
static uint64_t extreme(struct fmt f, uint64_t a, uint64_t b, int want_max, uint32_t mode)
{
    const int ieee = (mode & 0x200) != 0;
    if (ieee && fmt_is_snan(f, a))
        return fmt_quiet(f, a);
    if (ieee && fmt_is_snan(f, b))
        return fmt_quiet(f, b);
    if (fmt_is_nan(f, a))
        return b;
    if (fmt_is_nan(f, b))
        return a;
    const __float128 x = fmt_value(f, a), y = fmt_value(f, b);
    if (x == 0 && y == 0)
        return with_sign(
            f, a, want_max ? sign_of(f, a) && sign_of(f, b) : sign_of(f, a) || sign_of(f, b));
    return (x < y) == !want_max ? a : b;
}

static uint64_t extreme3(struct fmt f, const struct lane_in *in, int want_max)
{
    return extreme(f, extreme(f, in->a, in->b, want_max, in->mode), in->c, want_max, in->mode);
}

static uint64_t median(struct fmt f, const struct lane_in *in)
{
    const uint64_t a = in->a, b = in->b, c = in->c;
    if (fmt_is_nan(f, a) || fmt_is_nan(f, b) || fmt_is_nan(f, c))
        return extreme3(f, in, 0);
    const __float128 top = fmt_value(f, extreme3(f, in, 1));
    if (top == fmt_value(f, a))
        return extreme(f, b, c, 1, in->mode);
    if (top == fmt_value(f, b))
        return extreme(f, a, c, 1, in->mode);
    return extreme(f, a, b, 1, in->mode);
}

/* Integers of a quad by cutting mantissa bits; mode 't'runc 'f'loor 'c'eil 'n'earest even. */
static __float128 integral(__float128 v, int mode)
{
    if (!(v - v == 0) || v == 0)
        return v;
    const __float128 mag = v < 0 ? -v : v;
    if (mag >= 0x1p63)
        return v;
    const uint64_t whole = (uint64_t)mag;
    const __float128 rest = mag - whole;
    int up = 0;
    if (mode == 'f')
        up = v < 0 && rest != 0;
    else if (mode == 'c')
        up = v > 0 && rest != 0;
    else if (mode == 'n')
        up = rest > 0.5 || (rest == 0.5 && whole % 2);
    const __float128 r = (__float128)(whole + (uint64_t)up);
    return v < 0 ? -r : r;
}

static uint64_t rounded(struct fmt f, uint64_t a, int mode)
{
    return result1(f, integral(fmt_value(f, a), mode), a);
}

static uint64_t fraction(struct fmt f, uint64_t a)
{
    const __float128 v = fmt_value(f, a);
    const uint64_t one = (((uint64_t)1 << (f.exp_bits - 1)) - 1) << f.mant_bits;
    const uint64_t r = result1(f, v - integral(v, 'f'), a);
    return r == one ? one - 1 : r;
}

static __float128 scaled(__float128 v, int n)
{
    for (; n > 0; n--)
        v *= 2;
    for (; n < 0; n++)
        v *= 0.5;
    return v;
}

/* Exponent with the mantissa in [1/2, 1), by counting. */
static int exponent_of(__float128 v)
{
    int n = 0;
    if (v == 0 || !(v - v == 0))
        return 0;
    for (v = v < 0 ? -v : v; v >= 1; v *= 0.5)
        n++;
    for (; v < 0.5; v *= 2)
        n--;
    return n;
}

static uint64_t mantissa(struct fmt f, uint64_t a)
{
    const __float128 v = fmt_value(f, a);
    return result1(f, scaled(v, -exponent_of(v)), a);
}

static uint64_t ldexped(struct fmt f, uint64_t a, int64_t n)
{
    return result1(f, scaled(fmt_value(f, a), (int)(n > 5000 ? 5000 : n < -5000 ? -5000 : n)), a);
}

/* ---- conversions -------------------------------------------------------------------------- */

static uint64_t to_int(__float128 v, int64_t min, int64_t max)
{
    if (v != v)
        return 0;
    if (v <= min)
        return (uint64_t)min;
    if (v >= max)
        return (uint64_t)max;
    return (uint64_t)(int64_t)integral(v, 't');
}

static uint64_t u32_of(uint64_t x)
{
    return x & 0xffffffffu;
}

/* A NaN keeps the top of its payload, quieted. */
static uint64_t convert(struct fmt from, struct fmt to, uint64_t a)
{
    if (!fmt_is_nan(from, a))
        return fmt_round(to, fmt_value(from, a));
    const uint64_t mant = a & (((uint64_t)1 << from.mant_bits) - 1);
    const int up = to.mant_bits - from.mant_bits;
    return fmt_quiet(to, fmt_inf(to, sign_of(from, a)) | (up > 0 ? mant << up : mant >> -up));
}

static uint64_t rtz16(uint64_t a)
{
    if (fmt_is_nan(fmt_f32, a) || fmt_is_inf(fmt_f32, a))
        return convert(fmt_f32, fmt_f16, a);
    return fmt_round_rtz(fmt_f16, fmt_value(fmt_f32, a));
}

/* FNUZ formats by definition: value of code v, and the code nearest to a value by search. */
static __float128 fnuz_value(unsigned v, int mant_bits, int bias)
{
    const int e = (int)(v & 0x7f) >> mant_bits, m = (int)(v & ((1u << mant_bits) - 1));
    const __float128 mag =
        e ? scaled((1 << mant_bits) + m, e - bias - mant_bits) : scaled(m, 1 - bias - mant_bits);
    return v & 0x80 ? -mag : mag;
}

static uint64_t fnuz_decode(unsigned v, int mant_bits, int bias)
{
    return v == 0x80 ? 0x7fc00000u : fmt_round(fmt_f32, fnuz_value(v, mant_bits, bias));
}

static unsigned fnuz_special(uint64_t a, uint32_t mode, int finite)
{
    if (!finite || !(mode >> 23 & 1))
        return 0x80;
    return a >> 31 ? 0xff : 0x7f;
}

static unsigned fnuz_encode(uint64_t a, uint32_t mode, int mant_bits, int bias)
{
    const __float128 v = fmt_value(fmt_f32, a), mag = v < 0 ? -v : v;
    const __float128 top = fnuz_value(0x7f, mant_bits, bias),
                     below = fnuz_value(0x7e, mant_bits, bias);
    if (!(v - v == 0))
        return fnuz_special(a, mode, 0);
    if (mag >= top + (top - below) / 2) /* the tie would go to the next, even, code */
        return fnuz_special(a, mode, 1);
    unsigned best = 0;
    for (unsigned code = 1; code < 0x80; code++) {
        const __float128 d = fnuz_value(code, mant_bits, bias) - mag,
                         e = mag - fnuz_value(best, mant_bits, bias);
        const __float128 dist = d < 0 ? -d : d, best_dist = e < 0 ? -e : e;
        if (dist < best_dist || (dist == best_dist && code % 2 == 0))
            best = code;
    }
    return best == 0 ? 0 : best | (a >> 31 ? 0x80u : 0);
}

/* floor(|v| / step + random / 2^32) codes, the random number cut to the dropped bits. */
static unsigned fnuz_random(uint64_t a, uint64_t random, uint32_t mode, int mant_bits, int bias)
{
    const __float128 v = fmt_value(fmt_f32, a), mag = v < 0 ? -v : v;
    if (!(v - v == 0))
        return fnuz_special(a, mode, 0);
    if (mag >= scaled(1, 20))
        return fnuz_special(a, mode, 1);
    unsigned code = 0;
    while (code < 0x7f && fnuz_value(code + 1, mant_bits, bias) <= mag)
        code++;
    const int e = (int)(code >> mant_bits) ? (int)(code >> mant_bits) : 1;
    const __float128 step = scaled(1, e - bias - mant_bits);
    /* f32 spacing of a in units of the step tells how many bits are dropped. */
    const int raw = (int)(a >> 23 & 0xff) ? (int)(a >> 23 & 0xff) : 1;
    const int drop = (e - bias - mant_bits) - (raw - 127 - 23);
    const __float128 part = (mag - fnuz_value(code, mant_bits, bias)) / step;
    const __float128 add = drop < 32 ? scaled((__float128)(random >> (32 - drop)), -drop)
                                     : scaled((__float128)random, -32);
    if (part + add >= 1)
        code++;
    if (code > 0x7f)
        return fnuz_special(a, mode, 1);
    return code == 0 ? 0 : code | (a >> 31 ? 0x80u : 0);
}

/* OCP formats: the largest number's code, and behind it what is larger. */
struct ocp {
    int mant_bits, bias;
    unsigned last;
};
static const struct ocp ocp_fp8 = {3, 7, 0x7e}, ocp_bf8 = {2, 15, 0x7b};

static __float128 ocp_value(const struct ocp *f, unsigned code)
{
    return fnuz_value(code & 0x7f, f->mant_bits, f->bias);
}

static uint64_t ocp_decode(const struct ocp *f, unsigned v)
{
    const uint64_t sign = v & 0x80 ? 0x80000000u : 0;
    if ((v & 0x7f) <= f->last)
        return fmt_round(fmt_f32, ocp_value(f, v)) | sign;
    return sign | (f == &ocp_bf8 && (v & 0x7f) == 0x7c ? 0x7f800000u : 0x7fc00000u);
}

/* A magnitude's code, with NaN, infinity and what is too large seen to. */
static unsigned ocp_code(const struct ocp *f, uint64_t a, uint32_t mode, unsigned code)
{
    const unsigned sign = a >> 31 ? 0x80 : 0;
    if (fmt_is_nan(fmt_f32, a))
        return sign | 0x7f;
    if (fmt_is_inf(fmt_f32, a) || code > f->last)
        code = mode >> 23 & 1 ? f->last : f->last + 1;
    return sign | code;
}

static __float128 magnitude(uint64_t a)
{
    return fmt_value(fmt_f32, a & 0x7fffffff);
}

/* The code whose value is nearest, of two the even one, by trying all. */
static unsigned ocp_nearest(const struct ocp *f, uint64_t a, uint32_t mode)
{
    const __float128 mag = magnitude(a);
    unsigned best = 0;
    if (mag >= scaled(1, 20)) /* far away, where 113 bits do not tell the distances apart */
        return ocp_code(f, a, mode, f->last + 1);
    for (unsigned code = 1; code <= f->last + 1 && mag - mag == 0; code++) {
        const __float128 d = ocp_value(f, code) - mag, e = mag - ocp_value(f, best);
        const __float128 dist = d < 0 ? -d : d, best_dist = e < 0 ? -e : e;
        if (dist < best_dist || (dist == best_dist && code % 2 == 0))
            best = code;
    }
    return ocp_code(f, a, mode, best);
}

/* Up with the probability of what is cut off: if it and random / 2^32 make one. */
static unsigned ocp_random(const struct ocp *f, uint64_t a, uint64_t random, uint32_t mode)
{
    const __float128 mag = magnitude(a);
    unsigned code = 0;
    while (code <= f->last && ocp_value(f, code + 1) <= mag)
        code++;
    const __float128 low = ocp_value(f, code), step = ocp_value(f, code + 1) - low;
    if (code <= f->last && (mag - low) / step + scaled((__float128)random, -32) >= 1)
        code++;
    return ocp_code(f, a, mode, code);
}

static const struct fmt fmt_bf16 = {8, 7};

/* The same to f16 and bf16. */
static uint64_t random16(struct fmt f, uint64_t a, uint64_t random)
{
    if (fmt_is_nan(fmt_f32, a) || fmt_is_inf(fmt_f32, a))
        return convert(fmt_f32, f, a);
    const __float128 mag = magnitude(a);
    uint64_t code = fmt_round_rtz(f, mag);
    const int exp = (int)(code >> f.mant_bits), bias = (1 << (f.exp_bits - 1)) - 1;
    const __float128 step = scaled(1, (exp ? exp : 1) - bias - f.mant_bits);
    if ((mag - fmt_value(f, code)) / step + scaled((__float128)random, -32) >= 1)
        code++;
    return code | (a >> 31) << 15;
}

/* minimum and maximum of IEEE 754-2019. */
static uint64_t strict(struct fmt f, uint64_t a, uint64_t b, int want_max)
{
    if (fmt_is_nan(f, a) || fmt_is_nan(f, b))
        return fmt_quiet(f, fmt_is_nan(f, a) ? a : b);
    return extreme(f, a, b, want_max, 0);
}

static uint64_t strict3(struct fmt f, uint64_t a, uint64_t b, uint64_t c, int want_max)
{
    return strict(f, strict(f, a, b, want_max), c, want_max);
}

/* ---- transcendental ----------------------------------------------------------------------- */

static long double ld(struct fmt f, uint64_t a)
{
    return (long double)fmt_value(f, a);
}

/* sin(2 pi x), the argument brought into the first eighth of a turn exactly. */
static long double sin_turn(long double x)
{
    long double f = x - rintl(x);
    const int negative = f < 0;
    f = fabsl(f);
    if (f > 0.25L)
        f = 0.5L - f;
    const long double tau = 8 * atanl(1);
    const long double r = f <= 0.125L ? sinl(tau * f) : cosl(tau * (0.25L - f));
    return r == 0 ? 0 : negative ? -r : r;
}

static long double cos_turn(long double x)
{
    long double f = fabsl(x - rintl(x));
    int negative = 0;
    if (f > 0.25L) {
        f = 0.5L - f;
        negative = 1;
    }
    const long double tau = 8 * atanl(1);
    const long double r = f <= 0.125L ? cosl(tau * f) : sinl(tau * (0.25L - f));
    return r == 0 ? 0 : negative ? -r : r;
}

static uint64_t transcendental(struct fmt f, uint64_t a, int which)
{
    const long double x = ld(f, a);
    long double r = 0;
    switch (which) {
    case 'r':
        r = 1 / x;
        break;
    case 'q':
        r = sqrtl(x);
        break;
    case 'i':
        r = 1 / sqrtl(x);
        break;
    case 'e':
        r = exp2l(x);
        break;
    case 'l':
        r = x < 0 ? -NAN : log2l(x);
        break;
    case 's':
        r = isinf(x) ? -NAN : x == 0 ? x : sin_turn(x);
        break;
    default:
        r = isinf(x) ? -NAN : cos_turn(x);
        break;
    }
    return result1(f, r, a);
}

/* Zero of the same sign for a denormal. */
static uint64_t flushed(struct fmt f, uint64_t x)
{
    const int denormal = (x >> f.mant_bits & (((uint64_t)1 << f.exp_bits) - 1)) == 0;
    return denormal ? with_sign(f, 0, sign_of(f, x)) : x;
}

static uint64_t flushing(uint64_t a, int which)
{
    return flushed(fmt_f32, transcendental(fmt_f32, flushed(fmt_f32, a), which));
}

/* ---- division ----------------------------------------------------------------------------- */

static uint64_t fixup(struct fmt f, uint64_t q, uint64_t den, uint64_t num)
{
    const int negative = sign_of(f, den) ^ sign_of(f, num);
    const __float128 d = fmt_value(f, den), n = fmt_value(f, num);
    const int den_inf = fmt_is_inf(f, den), num_inf = fmt_is_inf(f, num);
    if (fmt_is_nan(f, num))
        return fmt_quiet(f, num);
    if (fmt_is_nan(f, den))
        return fmt_quiet(f, den);
    if ((d == 0 && n == 0) || (den_inf && num_inf))
        return fmt_default_nan(f);
    if (d == 0 || num_inf)
        return fmt_inf(f, negative);
    if (den_inf || n == 0)
        return with_sign(f, 0, negative);
    const int bits = (1 << f.exp_bits) - 1;
    const int diff =
        (int)(num >> f.mant_bits & (uint64_t)bits) - (int)(den >> f.mant_bits & (uint64_t)bits);
    if ((f.mant_bits == 23 && diff < -150) || (f.mant_bits == 52 && diff < -1075))
        return with_sign(f, 0, negative);
    if (f.mant_bits > 10 && fmt_is_nan(f, q))
        return fmt_inf(f, negative);
    return with_sign(f, q, negative);
}

static uint64_t fmas(struct fmt f, const struct lane_in *in)
{
    const __float128 c = fmt_value(f, in->c), mag = c < 0 ? -c : c;
    const __float128 v = quad_fma(fmt_value(f, in->a), fmt_value(f, in->b), c);
    const int by = f.mant_bits == 23 ? 64 : 128;
    const uint64_t plain = fused(f, in->a, in->b, in->c);
    if (!in->carry_in || fmt_is_inf(f, plain) || fmt_is_nan(f, plain))
        return plain;
    return result(f, scaled(v, mag >= 2 ? by : -by), 3, (const uint64_t[]){in->a, in->b, in->c});
}

static uint64_t div_scaled(struct fmt f, const struct lane_in *in, int *ret_vcc)
{
    const int by = f.mant_bits == 23 ? 64 : 128, max = (1 << f.exp_bits) - 1;
    const __float128 d = fmt_value(f, in->b), n = fmt_value(f, in->c), s = fmt_value(f, in->a);
    const int exp_d = (int)(in->b >> f.mant_bits) & max, exp_n = (int)(in->c >> f.mant_bits) & max;
    const int near_max = f.mant_bits == 23 ? 96 : 768, lowest = f.mant_bits == 23 ? 126 : 1022;
    const int huge_d = exp_d == max - 1 || exp_d == max - 2, small_q = exp_d - exp_n >= lowest;
    int scale = 0;
    *ret_vcc = 0;
    if (d == 0 || n == 0) {
        *ret_vcc = 1;
        return fmt_quiet(f, fmt_inf(f, 0));
    }
    if (exp_n - exp_d >= near_max) {
        *ret_vcc = 1;
        scale = s == d ? by : 0;
    } else if (exp_d == 0) {
        scale = by;
    } else if (huge_d) {
        *ret_vcc = small_q;
        scale = small_q && s != d ? 0 : -by;
    } else if (small_q) {
        *ret_vcc = 1;
        scale = s == n ? by : 0;
    } else if (exp_n <= f.mant_bits + (f.mant_bits == 52)) {
        scale = by;
    }
    return result1(f, scaled(s, scale), in->a);
}

static uint64_t trig_preop(uint64_t a, uint64_t b)
{
    const int exp = (int)(a >> 52 & 0x7ff);
    int shift = (int)(b % 32) * 53;
    if (exp > 1077)
        shift += exp - 1077;
    __float128 v = 0;
    for (int i = 0; i < 53; i++)
        if (two_over_pi_bit(shift + i))
            v += scaled(1, -(shift + i + 1));
    return fmt_round(fmt_f64, exp >= 1968 ? scaled(v, 128) : v);
}

/* ---- the rest ----------------------------------------------------------------------------- */

static uint64_t cube(const struct lane_in *in, int what)
{
    const uint64_t v[3] = {in->a, in->b, in->c};
    __float128 mag[3];
    for (int i = 0; i < 3; i++)
        mag[i] = fmt_value(fmt_f32, v[i] & 0x7fffffff);
    const int axis = mag[2] >= mag[0] && mag[2] >= mag[1] ? 2 : mag[1] >= mag[0] ? 1 : 0;
    const int negative = fmt_value(fmt_f32, v[axis]) < 0;
    const uint64_t flip = 0x80000000u;
    if (what == 'i')
        return fmt_round(fmt_f32, 2 * axis + negative);
    if (what == 'm')
        return result1(fmt_f32, 2 * fmt_value(fmt_f32, v[axis]), v[axis]);
    if (what == 's')
        return axis == 2   ? v[0] ^ (negative ? flip : 0)
               : axis == 1 ? v[0]
                           : v[2] ^ (negative ? 0 : flip);
    return axis == 1 ? v[2] ^ (negative ? flip : 0) : v[1] ^ flip;
}

static uint64_t dot2(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t acc = flushed(fmt_f32, c);
    for (int half = 0; half < 2; half++) {
        const uint64_t x = flushed(fmt_f16, a >> (16 * half) & 0xffff);
        const uint64_t y = flushed(fmt_f16, b >> (16 * half) & 0xffff);
        acc = added(fmt_f32, acc,
                    times(fmt_f32, convert(fmt_f16, fmt_f32, x), convert(fmt_f16, fmt_f32, y)));
        acc = flushed(fmt_f32, acc);
    }
    return acc;
}

static uint64_t dot2_bf16(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t product[2];
    for (int half = 0; half < 2; half++) {
        const uint64_t x = flushed(fmt_f32, (a >> (16 * half) & 0xffff) << 16);
        const uint64_t y = flushed(fmt_f32, (b >> (16 * half) & 0xffff) << 16);
        product[half] = flushed(fmt_f32, times(fmt_f32, x, y));
    }
    const uint64_t both = flushed(fmt_f32, added(fmt_f32, product[0], product[1]));
    return flushed(fmt_f32, added(fmt_f32, both, flushed(fmt_f32, c)));
}

/* Two roundings, no denormals anywhere. The addend's NaN counts before that of an invalid product.
 */
static uint64_t multiply_add(struct fmt f, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t x = flushed(f, a), y = flushed(f, b), z = flushed(f, c);
    if (!fmt_is_nan(f, x) && !fmt_is_nan(f, y) && fmt_is_nan(f, z))
        return fmt_quiet(f, z);
    return flushed(f, added(f, flushed(f, times(f, x, y)), z));
}

/* Integer steps of 1/scale, ties to even, within the ends; NaN is 0. */
static uint64_t normalised(struct fmt f, uint64_t a, int scale, int least)
{
    const __float128 v = integral(fmt_value(f, a) * scale, 'n');
    const int steps = v != v ? 0 : v < least ? least : v > scale ? scale : (int)v;
    return (uint64_t)(int64_t)steps & 0xffff;
}

static uint64_t with_byte(uint64_t a, uint64_t b, uint64_t c)
{
    const __float128 v = integral(fmt_value(fmt_f32, a), 'n');
    uint64_t bytes[4], r = 0;
    for (int i = 0; i < 4; i++)
        bytes[i] = c >> (8 * i) & 0xff;
    bytes[b % 4] = v > 255 ? 255 : v > 0 ? (uint64_t)v : 0;
    for (int i = 3; i >= 0; i--)
        r = r * 256 + bytes[i];
    return r;
}

static uint64_t mul_legacy(uint64_t a, uint64_t b)
{
    return fmt_value(fmt_f32, a) == 0 || fmt_value(fmt_f32, b) == 0 ? 0 : times(fmt_f32, a, b);
}

/* As multiply_add, but that nothing is left of a product with a zero. */
static uint64_t multiply_add_legacy(uint64_t a, uint64_t b, uint64_t c)
{
    const struct fmt f = fmt_f32;
    if (fmt_value(f, flushed(f, a)) == 0 || fmt_value(f, flushed(f, b)) == 0)
        return added(f, 0, flushed(f, c));
    return multiply_add(f, a, b, c);
}

/* floor(x + 0.5) where the sum is an f32. */
static __float128 nearest_up(uint64_t a)
{
    return integral(fmt_value(fmt_f32, fmt_round(fmt_f32, fmt_value(fmt_f32, a) + 0.5)), 'f');
}

static uint64_t neg(struct fmt f, uint64_t x)
{
    /* A NaN stays as it is: subtraction does not change its sign. */
    return fmt_is_nan(f, x) ? x : x ^ (uint64_t)1 << (f.exp_bits + f.mant_bits);
}

static uint64_t low(uint64_t x)
{
    return x & 0xffff;
}

static uint64_t high(uint64_t x)
{
    return x >> 16 & 0xffff;
}

static const struct lane_in *low_of(const struct lane_in *in)
{
    static struct lane_in cut;
    cut = *in;
    cut.a = low(in->a);
    cut.b = low(in->b);
    cut.c = low(in->c);
    return &cut;
}

/* Newton from the long double root: two steps are more than quad can hold. */
static __float128 quad_sqrt(__float128 v)
{
    __float128 r = sqrtl((long double)v);
    for (int i = 0; i < 2 && r - r == 0 && r != 0; i++)
        r = (r + v / r) / 2;
    return r;
}

/* b - a with a's NaN first. */
static uint64_t reverse_diff(struct fmt f, uint64_t a, uint64_t b)
{
    return fmt_is_nan(f, a) ? fmt_quiet(f, a) : added(f, b, neg(f, a));
}

#define H fmt_f16
#define S fmt_f32
#define D fmt_f64
#define ORACLE(name, ...)                                                                          \
    static void o_##name(const struct lane_in *in, struct lane_out *out)                           \
    {                                                                                              \
        const uint64_t a = in->a, b = in->b, c = in->c;                                            \
        (void)a, (void)b, (void)c;                                                                 \
        out->d = (uint64_t)(__VA_ARGS__);                                                          \
    }
#include "oracle_float.def"
#undef ORACLE

static void o_v_div_scale_f32(const struct lane_in *in, struct lane_out *out)
{
    out->d = div_scaled(S, in, &out->mask);
}

static void o_v_div_scale_f64(const struct lane_in *in, struct lane_out *out)
{
    out->d = div_scaled(D, in, &out->mask);
}

const struct lane_oracle lane_oracle_float[] = {
#define ORACLE(name, ...) {#name, o_##name},
#include "oracle_float.def"
    {"v_div_scale_f32", o_v_div_scale_f32},
    {"v_div_scale_f64", o_v_div_scale_f64},
};
const size_t lane_oracle_float_count = sizeof lane_oracle_float / sizeof lane_oracle_float[0];

/* ---- compares ----------------------------------------------------------------------------- */

static int class_of(struct fmt f, uint64_t x)
{
    const int negative = sign_of(f, x);
    const uint64_t exp = x >> f.mant_bits & (((uint64_t)1 << f.exp_bits) - 1);
    if (fmt_is_nan(f, x))
        return fmt_is_snan(f, x) ? 0 : 1;
    if (fmt_is_inf(f, x))
        return negative ? 2 : 9;
    if (exp != 0)
        return negative ? 3 : 8;
    if (fmt_value(f, x) != 0)
        return negative ? 4 : 7;
    return negative ? 5 : 6;
}

/* Relation as one of "<", "=", ">" or "u" (unordered), looked up in the predicate's set. */
static int holds(const char *op, char relation)
{
    static const struct {
        const char *op, *set;
    } table[] = {
        {"f", ""},      {"lt", "<"},     {"eq", "="},    {"le", "<="},  {"gt", ">"},
        {"lg", "<>"},   {"ne", "<>"},    {"ge", ">="},   {"o", "<=>"},  {"u", "u"},
        {"nge", "u<"},  {"nlg", "u="},   {"ngt", "u<="}, {"nle", "u>"}, {"neq", "u<>"},
        {"nlt", "u>="}, {"tru", "<=>u"}, {"t", "<=>u"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].op, op) == 0)
            return strchr(table[i].set, relation) != NULL;
    return -1;
}

int lane_oracle_compare(const char *mnemonic, const struct lane_in *in)
{
    char op[16], type[8];
    const char *p = mnemonic + strlen("v_cmp_"), *end = strrchr(mnemonic, '_');
    if (strncmp(mnemonic, "v_cmp_", 6) != 0 || end <= p || (size_t)(end - p) >= sizeof op)
        return -1;
    memcpy(op, p, (size_t)(end - p));
    op[end - p] = '\0';
    strcpy(type, end + 1);
    const int bits = type[1] == '1' ? 16 : type[1] == '3' ? 32 : 64;
    const struct fmt f = bits == 16 ? H : bits == 32 ? S : D;
    const uint64_t keep = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    const uint64_t a = in->a & keep, b = in->b & keep;
    if (strcmp(op, "class") == 0)
        return (int)(in->b >> class_of(f, a) & 1);
    __int128 x = (__int128)a, y = (__int128)b;
    if (type[0] == 'f') {
        const __float128 u = fmt_value(f, a), v = fmt_value(f, b);
        return holds(op, u < v ? '<' : u == v ? '=' : u > v ? '>' : 'u');
    }
    if (type[0] == 'i') {
        x -= a >> (bits - 1) ? (__int128)1 << bits : 0;
        y -= b >> (bits - 1) ? (__int128)1 << bits : 0;
    }
    return holds(op, x < y ? '<' : x == y ? '=' : '>');
}
