/**
 * @file oracle_num.c
 * @brief Formats, exact values and rounding by integer arithmetic.
 */
#include "oracle.h"

#include <string.h>

const struct fmt fmt_f16 = {5, 10}, fmt_f32 = {8, 23}, fmt_f64 = {11, 52};

static uint64_t ones(int n)
{
    return ((uint64_t)1 << n) - 1;
}

static uint64_t mant_of(struct fmt f, uint64_t bits)
{
    return bits & ones(f.mant_bits);
}

static int exp_of(struct fmt f, uint64_t bits)
{
    return (int)(bits >> f.mant_bits & ones(f.exp_bits));
}

int fmt_is_nan(struct fmt f, uint64_t bits)
{
    return exp_of(f, bits) == (int)ones(f.exp_bits) && mant_of(f, bits) != 0;
}

int fmt_is_snan(struct fmt f, uint64_t bits)
{
    return fmt_is_nan(f, bits) && !(bits >> (f.mant_bits - 1) & 1);
}

int fmt_is_inf(struct fmt f, uint64_t bits)
{
    return exp_of(f, bits) == (int)ones(f.exp_bits) && mant_of(f, bits) == 0;
}

uint64_t fmt_quiet(struct fmt f, uint64_t bits)
{
    return bits | (uint64_t)1 << (f.mant_bits - 1);
}

uint64_t fmt_inf(struct fmt f, int negative)
{
    return (uint64_t)negative << (f.exp_bits + f.mant_bits) | ones(f.exp_bits) << f.mant_bits;
}

uint64_t fmt_default_nan(struct fmt f)
{
    return fmt_quiet(f, fmt_inf(f, 1));
}

/* 2^n by repeated squaring of exact values. */
static __float128 pow2(int n)
{
    __float128 r = 1, base = n < 0 ? 0.5 : 2.0;
    for (int k = n < 0 ? -n : n; k; k >>= 1, base *= base)
        if (k & 1)
            r *= base;
    return r;
}

__float128 fmt_value(struct fmt f, uint64_t bits)
{
    const int bias = (1 << (f.exp_bits - 1)) - 1, e = exp_of(f, bits);
    const int negative = (int)(bits >> (f.exp_bits + f.mant_bits) & 1);
    __float128 v;
    if (e == (int)ones(f.exp_bits))
        v = mant_of(f, bits) ? __builtin_nan("") : __builtin_inf();
    else if (e == 0)
        v = (__float128)mant_of(f, bits) * pow2(1 - bias - f.mant_bits);
    else
        v = (__float128)(mant_of(f, bits) | (uint64_t)1 << f.mant_bits) *
            pow2(e - bias - f.mant_bits);
    return negative ? -v : v;
}

uint64_t fmt_round_to(struct fmt f, __float128 v, int mode)
{
    unsigned __int128 q;
    memcpy(&q, &v, sizeof q);
    const int negative = (int)(q >> 127), e = (int)(q >> 112 & 0x7fff);
    unsigned __int128 m = q & (((unsigned __int128)1 << 112) - 1);
    const uint64_t sign = (uint64_t)negative << (f.exp_bits + f.mant_bits);
    const int bias = (1 << (f.exp_bits - 1)) - 1, max_exp = (int)ones(f.exp_bits);
    if (e == 0x7fff)
        return m ? fmt_default_nan(f) : fmt_inf(f, negative);
    /* Whether what is cut off makes the magnitude grow, apart from nearest even. */
    const int away = mode == 1 ? !negative : mode == 2 ? negative : 0;
    if (e == 0)
        return sign; /* zero: smaller numbers do not occur */
    m |= (unsigned __int128)1 << 112;
    int out_exp = e - 16383 + bias, drop = 112 - f.mant_bits;
    if (out_exp < 1) {
        drop += 1 - out_exp;
        out_exp = 0;
    }
    if (drop > 126)
        return sign | (uint64_t)away;
    uint64_t r = (uint64_t)(m >> drop);
    const unsigned __int128 rest = m & (((unsigned __int128)1 << drop) - 1);
    const unsigned __int128 half = (unsigned __int128)1 << (drop - 1);
    if (mode == 0 ? rest > half || (rest == half && (r & 1)) : away && rest != 0)
        r++;
    /* r has its leading one at mant_bits, so the exponent below it is one less. */
    const uint64_t bits = out_exp ? r + ((uint64_t)(out_exp - 1) << f.mant_bits) : r;
    if (out_exp >= max_exp || bits >= (uint64_t)max_exp << f.mant_bits)
        return mode == 0 || away ? fmt_inf(f, negative) : fmt_inf(f, negative) - 1;
    return sign | bits;
}

uint64_t fmt_round(struct fmt f, __float128 v)
{
    return fmt_round_to(f, v, 0);
}

uint64_t fmt_round_rtz(struct fmt f, __float128 v)
{
    return fmt_round_to(f, v, 3);
}

__float128 quad_fma(__float128 x, __float128 y, __float128 z)
{
    const __float128 p = x * y; /* exact: at most 53 bits each */
    __float128 s = p + z;
    if (!(s - s == 0) || s == 0)
        return s;
    const __float128 t = s - p, err = (p - (s - t)) + (z - t);
    unsigned __int128 q;
    memcpy(&q, &s, sizeof q);
    if (err != 0 && !(q & 1)) {
        if ((err > 0) != (s > 0))
            q--;
        q |= 1;
        memcpy(&s, &q, sizeof s);
    }
    return s;
}
