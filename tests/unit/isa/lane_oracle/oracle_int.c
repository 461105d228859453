/**
 * @file oracle_int.c
 * @brief Integer rows, computed bit by bit.
 */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

static unsigned bit(uint64_t x, unsigned i)
{
    return (unsigned)(x >> i) & 1u;
}

/* Bits first.. of x, n of them. */
static uint64_t field(uint64_t x, unsigned first, unsigned n)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++)
        r |= (uint64_t)bit(x, first + i) << i;
    return r;
}

static uint64_t flip(uint64_t x, unsigned n)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++)
        r |= (uint64_t)!bit(x, i) << i;
    return r;
}

/* The document's table, copied a second time, as digits. */
static uint64_t listed(uint64_t a)
{
    static const char digits[] = "137f5fff7ffffffff26efafffbffffffdf4cff5fffdfffff9bf8fffafffeffff"
                                 "ffff4cdf6fffeffffffff89bf99ffdffffff7f13ff9fffbfffff6ef26ff6fff7"
                                 "bfffffff23bfaffff7fffffff19df5ffffefffffef8cffaffffdffff67f4fff5"
                                 "9fffdfffffff8ceff66ffefffffff467ff6fff7fffffbf239ff9fffbffff9df1";
    const char digit[2] = {digits[a % 256], 0};
    return strtoul(digit, NULL, 16);
}

static unsigned last_carry;

/* Ripple-carry adder; the carry out stays in last_carry. */
static uint64_t sum(uint64_t x, uint64_t y, unsigned carry, unsigned n)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++) {
        const unsigned ones = bit(x, i) + bit(y, i) + carry;
        r |= (uint64_t)(ones & 1) << i;
        carry = ones >> 1;
    }
    last_carry = carry;
    return r;
}

/* last_carry becomes the borrow. */
static uint64_t diff(uint64_t x, uint64_t y, unsigned borrow, unsigned n)
{
    const uint64_t r = sum(x, flip(y, n), !borrow, n);
    last_carry = !last_carry;
    return r;
}

/* Truth table: bit 2x+y of table. */
static uint64_t logic(uint64_t x, uint64_t y, unsigned table)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i++)
        r |= (uint64_t)bit(table, 2 * bit(x, i) + bit(y, i)) << i;
    return r;
}

static uint64_t left(uint64_t x, uint64_t by, unsigned n)
{
    uint64_t r = 0;
    for (unsigned i = (unsigned)by; i < n; i++)
        r |= (uint64_t)bit(x, i - (unsigned)by) << i;
    return r;
}

static uint64_t right(uint64_t x, uint64_t by, unsigned n, unsigned fill)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++)
        r |= (uint64_t)(i + by < n ? bit(x, i + (unsigned)by) : fill) << i;
    return r;
}

/* Sign-extends the low n bits. */
static int64_t widen(uint64_t x, uint64_t n)
{
    int64_t r = 0;
    for (unsigned i = 0; i < n; i++)
        r += bit(x, i) ? (i == n - 1 ? -((int64_t)1 << i) : (int64_t)1 << i) : 0;
    return r;
}

/* Bits first.. of the product, by shift and add modulo 2^64 (operands already extended). */
static uint64_t product(uint64_t x, uint64_t y, unsigned n, unsigned first, unsigned bits)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++)
        if (bit(y, i))
            r = sum(r, left(x, i, 64), 0, 64);
    return field(r, first, bits);
}

static uint64_t reversed(uint64_t x)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i++)
        r |= (uint64_t)bit(x, i) << (31 - i);
    return r;
}

static uint64_t first_from_top(uint64_t x, unsigned value)
{
    for (unsigned i = 0; i < 32; i++)
        if (bit(x, 31 - i) == value)
            return i;
    return 0xffffffff;
}

static uint64_t trailing(uint64_t x)
{
    unsigned n = 0;
    while (!bit(x, n))
        n++;
    return n;
}

static uint64_t population(uint64_t x)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < 64; i++)
        n += bit(x, i);
    return n;
}

static uint64_t run(uint64_t n)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++)
        r |= (uint64_t)1 << i;
    return r;
}

static int by_value(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* which 0 smallest, 1 middle, 2 largest */
static uint64_t nth(uint64_t x, uint64_t y, uint64_t z, unsigned n, int which)
{
    int64_t v[3] = {(int64_t)field(x, 0, n), (int64_t)field(y, 0, n), (int64_t)field(z, 0, n)};
    qsort(v, 3, sizeof v[0], by_value);
    return (uint64_t)v[which];
}

static uint64_t nth_signed(uint64_t x, uint64_t y, uint64_t z, unsigned n, int which)
{
    int64_t v[3] = {widen(x, n), widen(y, n), widen(z, n)};
    qsort(v, 3, sizeof v[0], by_value);
    return field((uint64_t)v[which], 0, n);
}

static uint64_t limited(int64_t x, int64_t min, int64_t max)
{
    return (uint64_t)(x < min ? min : x > max ? max : x);
}

static uint64_t shifted_bytes(uint64_t a, uint64_t b, uint64_t c, int64_t min, int64_t max)
{
    const int64_t x = widen(right(a, c % 32, 32, bit(a, 31)), 32);
    const int64_t y = widen(right(b, c % 32, 32, bit(b, 31)), 32);
    return field(limited(x, min, max), 0, 8) + 256 * field(limited(y, min, max), 0, 8);
}

static uint64_t aligned(uint64_t high, uint64_t low, uint64_t by)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i++) {
        const unsigned from = i + (unsigned)by;
        r |= (uint64_t)(from < 32 ? bit(low, from) : bit(high, from - 32)) << i;
    }
    return r;
}

static uint64_t permuted(uint64_t s0, uint64_t s1, uint64_t selectors)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned sel = (unsigned)field(selectors, 8 * i, 8);
        uint64_t byte;
        if (sel < 4)
            byte = field(s1, 8 * sel, 8);
        else if (sel < 8)
            byte = field(s0, 8 * (sel - 4), 8);
        else if (sel < 12)
            byte = bit(sel < 10 ? s1 : s0, sel % 2 ? 31 : 15) ? 255 : 0;
        else
            byte = sel == 12 ? 0 : 255;
        r += byte << (8 * i);
    }
    return r;
}

static uint64_t sad(uint64_t x, uint64_t y, unsigned width, int masked)
{
    int64_t r = 0;
    for (unsigned i = 0; i < 32; i += width) {
        const int64_t p = (int64_t)field(x, i, width), q = (int64_t)field(y, i, width);
        r += masked && q == 0 ? 0 : llabs(p - q);
    }
    return (uint64_t)r;
}

static uint64_t lerp(uint64_t x, uint64_t y, uint64_t round_up)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i += 8)
        r += (field(x, i, 8) + field(y, i, 8) + bit(round_up, i)) / 2 << i;
    return r;
}

static uint64_t dot(uint64_t x, uint64_t y, uint64_t z, unsigned width, int is_signed)
{
    int64_t r = (int64_t)z;
    for (unsigned i = 0; i < 32; i += width)
        r += is_signed ? widen(x >> i, width) * widen(y >> i, width)
                       : (int64_t)(field(x, i, width) * field(y, i, width));
    return field((uint64_t)r, 0, 32);
}

static uint64_t quad_sad(uint64_t x, uint64_t y, uint64_t z, int masked)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 4; i++)
        r |= sum(sad(field(x, 8 * i, 32), y, 8, masked), field(z, 16 * i, 16), 0, 16) << (16 * i);
    return r;
}

static uint64_t pair(uint64_t lo, uint64_t hi)
{
    return field(lo, 0, 16) | field(hi, 0, 16) << 16;
}

#define ORACLE(name, ...)                                                                          \
    static void o_##name(const struct lane_in *in, struct lane_out *out)                           \
    {                                                                                              \
        const uint64_t a = in->a, b = in->b, c = in->c;                                            \
        const uint64_t lo = a & 0xffff, hi = a >> 16 & 0xffff, lo_b = b & 0xffff,                  \
                       hi_b = b >> 16 & 0xffff, lo_c = c & 0xffff, hi_c = c >> 16 & 0xffff;        \
        (void)b, (void)c, (void)lo, (void)hi, (void)lo_b, (void)hi_b, (void)lo_c, (void)hi_c;      \
        out->d = (uint64_t)(__VA_ARGS__);                                                          \
    }
#include "oracle_int.def"
#undef ORACLE

#define ORACLE_CARRY(name, result)                                                                 \
    static void o_##name(const struct lane_in *in, struct lane_out *out)                           \
    {                                                                                              \
        out->d = (result);                                                                         \
        out->mask = (int)last_carry;                                                               \
    }
ORACLE_CARRY(v_add_co_u32, sum(in->a, in->b, 0, 32))
ORACLE_CARRY(v_sub_co_u32, diff(in->a, in->b, 0, 32))
ORACLE_CARRY(v_subrev_co_u32, diff(in->b, in->a, 0, 32))
ORACLE_CARRY(v_addc_co_u32, sum(in->a, in->b, (unsigned)in->carry_in, 32))
ORACLE_CARRY(v_subb_co_u32, diff(in->a, in->b, (unsigned)in->carry_in, 32))
ORACLE_CARRY(v_subbrev_co_u32, diff(in->b, in->a, (unsigned)in->carry_in, 32))
ORACLE_CARRY(v_mad_u64_u32, sum(product(in->a, in->b, 32, 0, 64), in->c, 0, 64))

static void o_v_mad_i64_i32(const struct lane_in *in, struct lane_out *out)
{
    const __int128 exact = (__int128)widen(in->a, 32) * widen(in->b, 32) + (__int128)(int64_t)in->c;
    out->d = (uint64_t)exact;
    out->mask = (int)(exact >> 64 & 1);
}

static void o_v_mqsad_u32_u8(const struct lane_in *in, struct lane_out *out)
{
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t c = i < 2 ? in->c >> (32 * i) : in->c_high >> (32 * (i - 2));
        const uint64_t r = sum(sad(field(in->a, 8 * i, 32), in->b, 8, 1), c, 0, 32);
        *(i < 2 ? &out->d : &out->d_high) |= r << (32 * (i % 2));
    }
}

const struct lane_oracle lane_oracle_int[] = {
#define ORACLE(name, ...) {#name, o_##name},
#include "oracle_int.def"
    {"v_add_co_u32", o_v_add_co_u32},       {"v_sub_co_u32", o_v_sub_co_u32},
    {"v_subrev_co_u32", o_v_subrev_co_u32}, {"v_addc_co_u32", o_v_addc_co_u32},
    {"v_subb_co_u32", o_v_subb_co_u32},     {"v_subbrev_co_u32", o_v_subbrev_co_u32},
    {"v_mad_u64_u32", o_v_mad_u64_u32},     {"v_mad_i64_i32", o_v_mad_i64_i32},
    {"v_mqsad_u32_u8", o_v_mqsad_u32_u8},
};
const size_t lane_oracle_int_count = sizeof lane_oracle_int / sizeof lane_oracle_int[0];

lane_oracle_fn *lane_oracle_find(const char *mnemonic)
{
    for (size_t i = 0; i < lane_oracle_int_count; i++)
        if (strcmp(lane_oracle_int[i].mnemonic, mnemonic) == 0)
            return lane_oracle_int[i].fn;
    for (size_t i = 0; i < lane_oracle_float_count; i++)
        if (strcmp(lane_oracle_float[i].mnemonic, mnemonic) == 0)
            return lane_oracle_float[i].fn;
    return NULL;
}
