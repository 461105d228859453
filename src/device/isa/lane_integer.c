/**
 * @file lane_integer.c
 * @brief This file implements integer and bit kernels: rows of lane.def, carries, selects, wide
 * multiplies, SAD.
 */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "device/isa/lane.h"
#include "device/isa/lane_level.h"

/* Expands a mask to 64 dwords, each all ones or zero. */
static inline void lane_expand(uint64_t mask, uint32_t *t)
{
#if RP_LANE_LEVEL == 2
    for (unsigned j = 0; j < 4; j++)
        _mm512_storeu_si512(t + 16 * j, _mm512_movm_epi32((__mmask16)(mask >> (16 * j))));
#else
    static const uint32_t bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    for (unsigned j = 0; j < 8; j++) {
        const uint32_t byte = (uint32_t)(mask >> (8 * j)) & 0xffu;
        for (unsigned k = 0; k < 8; k++)
            t[8 * j + k] = (byte & bit[k]) != 0 ? ~0u : 0u;
    }
#endif
}

static inline uint32_t rp_u24(uint32_t x)
{
    return x & 0xffffffu;
}

/* The values are sign-extended but kept unsigned, so that products wrap. */
static inline uint32_t rp_i24(uint32_t x)
{
    return (uint32_t)((int32_t)(x << 8) >> 8);
}

static inline uint32_t rp_bitrev32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}

static inline uint32_t rp_popcount(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    /* This avoids a multiply, because compilers recognise that form and replace it by a scalar
     * popcnt.
     */
    x += x >> 8;
    return (x + (x >> 16)) & 0x3fu;
}

/* Counts the zeros above the first one by counting what a smear to the right leaves; it is -1
 * without ones.
 */
static inline uint32_t rp_ffbh(uint32_t x)
{
    uint32_t s = x;
    s |= s >> 1;
    s |= s >> 2;
    s |= s >> 4;
    s |= s >> 8;
    s |= s >> 16;
    return x == 0 ? ~0u : 32 - rp_popcount(s);
}

static inline uint32_t rp_ffbl(uint32_t x)
{
    return x == 0 ? ~0u : rp_popcount((x & -x) - 1);
}

static inline uint32_t rp_lanes_below_lo(unsigned lane)
{
    return lane < 32 ? (1u << (lane & 31)) - 1 : ~0u;
}

static inline uint32_t rp_lanes_below_hi(unsigned lane)
{
    return lane < 32 ? 0 : (1u << (lane & 31)) - 1;
}

static inline int32_t rp_bfe_signed(int32_t x, uint32_t width)
{
    const uint32_t drop = (32 - width) & 31; /* Width 0 is handled below. */
    return width == 0 ? 0 : (int32_t)((uint32_t)x << drop) >> drop;
}

/* Selectors 0..3 pick a byte of b, 4..7 a byte of a, 8..11 the sign of bytes 1, 3, 5 and 7; 12
 * gives zero, and larger ones give ones.
 */
static inline uint32_t perm_byte(uint64_t data, uint32_t sel)
{
    const uint32_t sign = (uint32_t)(data >> ((sel & 3) * 16 + 15) & 1) * 0xffu;
    const uint32_t plain = (uint32_t)(data >> ((sel & 7) * 8)) & 0xffu;
    const uint32_t special = sel >= 13 ? 0xffu : sel == 12 ? 0 : sign;
    return sel < 8 ? plain : special;
}

static inline uint32_t rp_perm(uint32_t a, uint32_t b, uint32_t sel)
{
    const uint64_t data = (uint64_t)a << 32 | b;
    return perm_byte(data, sel & 0xff) | perm_byte(data, sel >> 8 & 0xff) << 8 |
           perm_byte(data, sel >> 16 & 0xff) << 16 | perm_byte(data, sel >> 24) << 24;
}

static inline uint32_t absdiff(uint32_t x, uint32_t y)
{
    return x > y ? x - y : y - x;
}

static inline uint32_t rp_byte(uint32_t x, unsigned i)
{
    return x >> (8 * i) & 0xffu;
}

static inline uint32_t rp_sad_u8(uint32_t a, uint32_t b)
{
    return absdiff(rp_byte(a, 0), rp_byte(b, 0)) + absdiff(rp_byte(a, 1), rp_byte(b, 1)) +
           absdiff(rp_byte(a, 2), rp_byte(b, 2)) + absdiff(rp_byte(a, 3), rp_byte(b, 3));
}

static inline uint32_t rp_sad_u16(uint32_t a, uint32_t b)
{
    return absdiff(a & 0xffffu, b & 0xffffu) + absdiff(a >> 16, b >> 16);
}

/* A reference byte (of b) that is zero is masked and does not count. */
static inline uint32_t msad_byte(uint32_t a, uint32_t b)
{
    return b == 0 ? 0 : absdiff(a, b);
}

static inline uint32_t rp_msad_u8(uint32_t a, uint32_t b)
{
    return msad_byte(rp_byte(a, 0), rp_byte(b, 0)) + msad_byte(rp_byte(a, 1), rp_byte(b, 1)) +
           msad_byte(rp_byte(a, 2), rp_byte(b, 2)) + msad_byte(rp_byte(a, 3), rp_byte(b, 3));
}

/* Mean of each byte pair, rounded up where the low bit of c's byte is set. */
static inline uint32_t rp_lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 4; i++)
        r |= (rp_byte(a, i) + rp_byte(b, i) + (c >> (8 * i) & 1)) >> 1 << (8 * i);
    return r;
}

static inline uint32_t sext(uint32_t x, unsigned bits)
{
    return (uint32_t)((int32_t)(x << (32 - bits)) >> (32 - bits));
}

static inline uint32_t rp_dot2_i16(uint32_t a, uint32_t b)
{
    return sext(a, 16) * sext(b, 16) + sext(a >> 16, 16) * sext(b >> 16, 16);
}

static inline uint32_t rp_dot2_u16(uint32_t a, uint32_t b)
{
    return (a & 0xffffu) * (b & 0xffffu) + (a >> 16) * (b >> 16);
}

static inline uint32_t rp_dot4_i8(uint32_t a, uint32_t b)
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 32; i += 8)
        r += sext(a >> i, 8) * sext(b >> i, 8);
    return r;
}

static inline uint32_t rp_dot4_u8(uint32_t a, uint32_t b)
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 4; i++)
        r += rp_byte(a, i) * rp_byte(b, i);
    return r;
}

static inline uint32_t rp_dot8_i4(uint32_t a, uint32_t b)
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 32; i += 4)
        r += sext(a >> i, 4) * sext(b >> i, 4);
    return r;
}

static inline uint32_t rp_dot8_u4(uint32_t a, uint32_t b)
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 32; i += 4)
        r += (a >> i & 15) * (b >> i & 15);
    return r;
}

static inline uint32_t rp_sat_u8(int32_t x)
{
    return x < 0 ? 0 : x > 255 ? 255u : (uint32_t)x;
}

/* Clamps to the byte's range and keeps its bits. */
static inline uint32_t rp_sat_i8(int32_t x)
{
    return (uint32_t)rp_min_i32(rp_max_i32(x, INT8_MIN), INT8_MAX) & 0xffu;
}

static inline uint32_t rp_sat_pk_u8_i16(uint32_t x)
{
    return rp_sat_u8((int32_t)(x << 16) >> 16) | rp_sat_u8((int32_t)x >> 16) << 8;
}

/* The look-up table of V_SCREEN_PARTITION_4SE_B32 in AMD's Vega ISA document (the CDNA3 one lists
 * the opcode no more, but LLVM assembles it). */
static const uint8_t rp_screen_partition_4se[256] = {
    1,  3,  7,  15, 5,  15, 15, 15, 7,  15, 15, 15, 15, 15, 15, 15, 15, 2,  6,  14, 15, 10, 15, 15,
    15, 11, 15, 15, 15, 15, 15, 15, 13, 15, 4,  12, 15, 15, 5,  15, 15, 15, 13, 15, 15, 15, 15, 15,
    9,  11, 15, 8,  15, 15, 15, 10, 15, 15, 15, 14, 15, 15, 15, 15, 15, 15, 15, 15, 4,  12, 13, 15,
    6,  15, 15, 15, 14, 15, 15, 15, 15, 15, 15, 15, 15, 8,  9,  11, 15, 9,  9,  15, 15, 13, 15, 15,
    15, 15, 15, 15, 7,  15, 1,  3,  15, 15, 9,  15, 15, 15, 11, 15, 15, 15, 15, 15, 6,  14, 15, 2,
    6,  15, 15, 6,  15, 15, 15, 7,  11, 15, 15, 15, 15, 15, 15, 15, 2,  3,  11, 15, 10, 15, 15, 15,
    15, 7,  15, 15, 15, 15, 15, 15, 15, 1,  9,  13, 15, 5,  15, 15, 15, 15, 14, 15, 15, 15, 15, 15,
    14, 15, 8,  12, 15, 15, 10, 15, 15, 15, 15, 13, 15, 15, 15, 15, 6,  7,  15, 4,  15, 15, 15, 5,
    9,  15, 15, 15, 13, 15, 15, 15, 15, 15, 15, 15, 8,  12, 14, 15, 15, 6,  6,  15, 15, 14, 15, 15,
    15, 15, 15, 15, 15, 4,  6,  7,  15, 15, 6,  15, 15, 15, 7,  15, 15, 15, 15, 15, 11, 15, 2,  3,
    9,  15, 15, 9,  15, 15, 15, 11, 15, 15, 15, 15, 9,  13, 15, 1,
};

#define RP_LANE_INT(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "device/isa/lane.def"

/* ---- carries ------------------------------------------------------------------------------ */

/* x and y are the operands as rows; the carry of each lane goes to mask_out. */
#define RP_CARRY(name, result, carry)                                                              \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        uint32_t *const d = args->d;                                                               \
        const uint32_t *const s0 = args->s0, *const s1 = args->s1;                                 \
        uint32_t truth[RP_LANES];                                                                  \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const uint32_t a = s0[lane], b = s1[lane];                                             \
            truth[lane] = (carry) ? ~0u : 0u;                                                      \
            d[lane] = (result);                                                                    \
        }                                                                                          \
        args->mask_out = rp_lane_collect(truth);                                                   \
    }

RP_CARRY(v_add_co_u32, a + b, a + b < a)
RP_CARRY(v_sub_co_u32, a - b, b > a)
RP_CARRY(v_subrev_co_u32, b - a, a > b)

/* in is 0 or ~0, which is minus the carry-in. */
#define RP_CARRY_IN(name, result, carry)                                                           \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        uint32_t *const d = args->d;                                                               \
        const uint32_t *const s0 = args->s0, *const s1 = args->s1;                                 \
        uint32_t truth[RP_LANES], carry_in[RP_LANES];                                              \
        lane_expand(args->mask_in, carry_in);                                                      \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const uint32_t a = s0[lane], b = s1[lane], in = carry_in[lane];                        \
            truth[lane] = (carry);                                                                 \
            d[lane] = (result);                                                                    \
        }                                                                                          \
        args->mask_out = rp_lane_collect(truth);                                                   \
    }

static inline uint32_t all_if(int cond)
{
    return -(uint32_t)(cond != 0);
}

RP_CARRY_IN(v_addc_co_u32, a + b - in, all_if(a + b < a) | (all_if(a + b == ~0u) & in))
RP_CARRY_IN(v_subb_co_u32, a - b + in, all_if(b > a) | (all_if(b == a) & in))
RP_CARRY_IN(v_subbrev_co_u32, b - a + in, all_if(a > b) | (all_if(a == b) & in))

/* ---- select ------------------------------------------------------------------------------- */

RP_LANE_HEAD(v_cndmask_b32)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1;
#if RP_LANE_LEVEL == 2
    for (unsigned j = 0; j < 4; j++)
        _mm512_storeu_si512(d + 16 * j,
                            _mm512_mask_blend_epi32((__mmask16)(args->mask_in >> (16 * j)),
                                                    _mm512_loadu_si512(s0 + 16 * j),
                                                    _mm512_loadu_si512(s1 + 16 * j)));
#else
    uint32_t take1[RP_LANES];
    lane_expand(args->mask_in, take1);
    RP_LANE_LOOP
    d[lane] = (s0[lane] & ~take1[lane]) | (s1[lane] & take1[lane]);
#endif
}

/* ---- 64-bit shift and add in 32-bit steps: twice as many lanes per CPU register ------------ */

RP_LANE_HEAD(v_lshl_add_u64)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    RP_LANE_LOOP
    {
        const uint32_t by = s1[lane] & 7, a_lo = s0[lane], a_hi = s0[RP_LANES + lane];
        const uint32_t lo = a_lo << by, hi = a_hi << by | a_lo >> 1 >> (31 - by);
        const uint32_t sum = lo + s2[lane];
        const uint32_t sum_hi = hi + s2[RP_LANES + lane] + (sum < lo ? 1 : 0);
        d[lane] = sum;
        d[RP_LANES + lane] = sum_hi;
    }
}

/* ---- wide multiplies ---------------------------------------------------------------------- */

RP_LANE_HEAD(v_mad_u64_u32)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    uint32_t truth[RP_LANES];
    RP_LANE_LOOP
    {
        const uint64_t c = rp_row_u64(s2, lane);
        const uint64_t sum = (uint64_t)s0[lane] * s1[lane] + c;
        truth[lane] = sum < c ? ~0u : 0u;
        RP_ST_u64(d, lane, sum);
    }
    args->mask_out = rp_lane_collect(truth);
}

/* mask_out is bit 64 of the 65-bit signed sum, as the ISA document's pseudo code has it. */
RP_LANE_HEAD(v_mad_i64_i32)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    uint32_t truth[RP_LANES];
    RP_LANE_LOOP
    {
        const uint64_t c = rp_row_u64(s2, lane);
        const int64_t product = (int64_t)(int32_t)s0[lane] * (int32_t)s1[lane];
        const uint64_t sum = (uint64_t)product + c;
        const uint64_t overflow = ((uint64_t)product ^ sum) & (c ^ sum);
        truth[lane] = (int64_t)(sum ^ overflow) < 0 ? ~0u : 0u;
        RP_ST_u64(d, lane, sum);
    }
    args->mask_out = rp_lane_collect(truth);
}

/* ---- four sums of absolute differences over sliding bytes --------------------------------- */

#define RP_QSAD_PK(name, sad)                                                                      \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        uint32_t *const d = args->d;                                                               \
        const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;           \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const uint64_t a = rp_row_u64(s0, lane), c = rp_row_u64(s2, lane);                     \
            const uint32_t b = s1[lane];                                                           \
            uint64_t r = 0;                                                                        \
            for (unsigned i = 0; i < 4; i++) {                                                     \
                const uint32_t sum = sad((uint32_t)(a >> (8 * i)), b) + (uint32_t)(c >> (16 * i)); \
                r |= (uint64_t)(sum & 0xffffu) << (16 * i);                                        \
            }                                                                                      \
            RP_ST_u64(d, lane, r);                                                                 \
        }                                                                                          \
    }

RP_QSAD_PK(v_qsad_pk_u16_u8, rp_sad_u8)
RP_QSAD_PK(v_mqsad_pk_u16_u8, rp_msad_u8)

RP_LANE_HEAD(v_mqsad_u32_u8)
{
    uint32_t *const d = args->d;
    const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;
    RP_LANE_LOOP
    {
        const uint64_t a = rp_row_u64(s0, lane);
        const uint32_t b = s1[lane];
        uint32_t sum[4];
        for (unsigned i = 0; i < 4; i++)
            sum[i] = rp_msad_u8((uint32_t)(a >> (8 * i)), b) + s2[RP_LANES * i + lane];
        for (unsigned i = 0; i < 4; i++)
            d[RP_LANES * i + lane] = sum[i];
    }
}

/* Compares and class tests: all lanes into mask_out. */

/* The mask operand has one bit per class: 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4
 * -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf. This returns the bit of the value's
 * class.
 */
static inline uint32_t class_bit(int nan, int quiet, int inf, int normal, int zero, int negative)
{
    const uint32_t pos = inf ? 1u << 9 : normal ? 1u << 8 : zero ? 1u << 6 : 1u << 7;
    const uint32_t neg = inf ? 1u << 2 : normal ? 1u << 3 : zero ? 1u << 5 : 1u << 4;
    return nan ? (quiet ? 2u : 1u) : negative ? neg : pos;
}

static inline uint32_t rp_class_f32(uint32_t x)
{
    const uint32_t m = x & 0x7fffffffu;
    return class_bit(m > 0x7f800000u, (m & 0x00400000u) != 0, m == 0x7f800000u, m >= 0x00800000u,
                     m == 0, x >> 31 != 0);
}

static inline uint32_t rp_class_f16(uint32_t x)
{
    const uint32_t m = x & 0x7fffu;
    return class_bit(m > 0x7c00u, (m & 0x0200u) != 0, m == 0x7c00u, m >= 0x0400u, m == 0,
                     x >> 15 != 0);
}

static inline uint32_t rp_class_f64(uint64_t x)
{
    const uint64_t m = x & 0x7fffffffffffffffu, inf = 0x7ff0000000000000u;
    return class_bit(m > inf, (m & 0x0008000000000000u) != 0, m == inf, m >= 0x0010000000000000u,
                     m == 0, x >> 63 != 0);
}

struct rp_wide {
    uint32_t lo, hi;
};

static inline struct rp_wide row_wide(const uint32_t *p, unsigned lane)
{
    return (struct rp_wide){.lo = p[lane], .hi = p[RP_LANES + lane]};
}

#define RP_C_w64        struct rp_wide
#define RP_LD_w64(p, l) row_wide(p, l)

static inline int rp_less_u64(struct rp_wide a, struct rp_wide b)
{
    return (a.hi < b.hi) | ((a.hi == b.hi) & (a.lo < b.lo));
}

static inline int rp_less_i64(struct rp_wide a, struct rp_wide b)
{
    return ((int32_t)a.hi < (int32_t)b.hi) | ((a.hi == b.hi) & (a.lo < b.lo));
}

#define RP_SHAPE_mask_w64_w64(n, ...) RP_LANE_ROWM(n, w64, w64, __VA_ARGS__)
#define RP_LANE_CMP(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "device/isa/lane.def"
