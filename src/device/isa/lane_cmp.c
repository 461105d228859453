/**
 * @file lane_cmp.c
 * @brief Compares and class tests: all lanes into mask_out.
 */
#include "lane_f16.h"
#include "lane_level.h"
#include "lane_num.h"

/* One bit per class, in the order of the class mask operand: 0 signalling NaN, 1 quiet NaN,
 * 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf. */
static inline uint32_t rp_class_bit(int nan, int quiet, int inf, int normal, int zero, int negative)
{
    const uint32_t pos = inf ? 1u << 9 : normal ? 1u << 8 : zero ? 1u << 6 : 1u << 7;
    const uint32_t neg = inf ? 1u << 2 : normal ? 1u << 3 : zero ? 1u << 5 : 1u << 4;
    return nan ? (quiet ? 2u : 1u) : negative ? neg : pos;
}

static inline uint32_t rp_class_f32(uint32_t x)
{
    const uint32_t m = x & 0x7fffffffu;
    return rp_class_bit(m > 0x7f800000u, (m & 0x00400000u) != 0, m == 0x7f800000u, m >= 0x00800000u,
                        m == 0, x >> 31 != 0);
}

static inline uint32_t rp_class_f16(uint32_t x)
{
    const uint32_t m = x & 0x7fffu;
    return rp_class_bit(m > 0x7c00u, (m & 0x0200u) != 0, m == 0x7c00u, m >= 0x0400u, m == 0,
                        x >> 15 != 0);
}

static inline uint32_t rp_class_f64(uint64_t x)
{
    const uint64_t m = x & 0x7fffffffffffffffu, inf = 0x7ff0000000000000u;
    return rp_class_bit(m > inf, (m & 0x0008000000000000u) != 0, m == inf, m >= 0x0010000000000000u,
                        m == 0, x >> 63 != 0);
}

struct rp_wide {
    uint32_t lo, hi;
};

static inline struct rp_wide rp_row_wide(const uint32_t *p, unsigned lane)
{
    return (struct rp_wide){.lo = p[lane], .hi = p[RP_LANES + lane]};
}

#define RP_C_w64        struct rp_wide
#define RP_LD_w64(p, l) rp_row_wide(p, l)

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
#include "lane.def"
