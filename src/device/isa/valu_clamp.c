/*
 * Lane kernels of integer instructions under CLAMP: the exact result, brought into the range of its
 * type. Integer instructions that cannot leave their range (minima, shifts, conversions, which
 * saturate anyhow) have none here: CLAMP does nothing to them.
 */
#include "valu.h"

typedef __int128 wide;

static uint64_t within(wide r, wide lo, wide hi)
{
    return (uint64_t)(r < lo ? lo : r > hi ? hi : r);
}

static wide sext(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static uint64_t pair(const uint32_t *rows, unsigned lane)
{
    return (uint64_t)rows[RP_LANES + lane] << 32 | rows[lane];
}

/* The range of a type: unsigned or signed, so many bits. */
#define U(r, bits) within(r, 0, ((wide)1 << (bits)) - 1)
#define I(r, bits) within(r, -((wide)1 << ((bits)-1)), ((wide)1 << ((bits)-1)) - 1)

/* One dword in, one out; u and s are a source's low bits, unsigned and signed. */
#define LANES(name, ...)                                                                           \
    static void name(struct rp_lane_args *args)                                                    \
    {                                                                                              \
        const uint32_t *const none = args->s0; /* two sources: the third is not looked at */       \
        const uint32_t *const s2 = args->s2 ? args->s2 : none;                                     \
        for (unsigned lane = 0; lane < RP_LANES; lane++) {                                         \
            const uint32_t a = args->s0[lane], b = args->s1[lane], c = s2[lane];                   \
            (void)c;                                                                               \
            args->d[lane] = (uint32_t)(__VA_ARGS__);                                               \
        }                                                                                          \
    }
#define Z16(x) ((wide)((x)&0xffff))
#define S16(x) sext((x)&0xffff, 16)
#define S32(x) sext(x, 32)
#define Z24(x) ((wide)((x)&0xffffff))
#define S24(x) sext((x)&0xffffff, 24)

LANES(add_u32, U((wide)a + b, 32))
LANES(sub_u32, U((wide)a - b, 32))
LANES(subrev_u32, U((wide)b - a, 32))
LANES(add_i32, I(S32(a) + S32(b), 32))
LANES(sub_i32, I(S32(a) - S32(b), 32))
LANES(add_u16, U(Z16(a) + Z16(b), 16))
LANES(sub_u16, U(Z16(a) - Z16(b), 16))
LANES(subrev_u16, U(Z16(b) - Z16(a), 16))
LANES(add_i16, I(S16(a) + S16(b), 16) & 0xffff)
LANES(sub_i16, I(S16(a) - S16(b), 16) & 0xffff)
LANES(mad_u16, U(Z16(a) * Z16(b) + Z16(c), 16))
LANES(mad_i16, I(S16(a) * S16(b) + S16(c), 16) & 0xffff)
LANES(mad_u32_u16, U(Z16(a) * Z16(b) + c, 32))
LANES(mad_i32_i16, I(S16(a) * S16(b) + S32(c), 32))
LANES(mul_u32_u24, U(Z24(a) * Z24(b), 32))
LANES(mul_i32_i24, I(S24(a) * S24(b), 32))
LANES(mad_u32_u24, U(Z24(a) * Z24(b) + c, 32))
LANES(mad_i32_i24, I(S24(a) * S24(b) + S32(c), 32))

/* Sums over the fields of a and b, @p bits wide. */
static wide dot(uint32_t a, uint32_t b, unsigned bits, bool is_signed)
{
    wide sum = 0;
    for (unsigned i = 0; i < 32; i += bits) {
        const uint64_t x = a >> i & (~0u >> (32 - bits)), y = b >> i & (~0u >> (32 - bits));
        sum += is_signed ? sext(x, bits) * sext(y, bits) : (wide)x * y;
    }
    return sum;
}

static wide sad(uint32_t a, uint32_t b, unsigned bits, bool masked)
{
    wide sum = 0;
    for (unsigned i = 0; i < 32; i += bits) {
        const wide x = a >> i & (~0u >> (32 - bits)), y = b >> i & (~0u >> (32 - bits));
        sum += masked && y == 0 ? 0 : x > y ? x - y : y - x;
    }
    return sum;
}

LANES(dot2_i32, I(dot(a, b, 16, true) + S32(c), 32))
LANES(dot2_u32, U(dot(a, b, 16, false) + c, 32))
LANES(dot4_i32, I(dot(a, b, 8, true) + S32(c), 32))
LANES(dot4_u32, U(dot(a, b, 8, false) + c, 32))
LANES(dot8_i32, I(dot(a, b, 4, true) + S32(c), 32))
LANES(dot8_u32, U(dot(a, b, 4, false) + c, 32))
LANES(sad_u8, U(sad(a, b, 8, false) + c, 32))
LANES(sad_hi_u8, U((sad(a, b, 8, false) << 16) + c, 32))
LANES(sad_u16, U(sad(a, b, 16, false) + c, 32))
LANES(sad_u32, U(sad(a, b, 32, false) + c, 32))
LANES(msad_u8, U(sad(a, b, 8, true) + c, 32))

/* Both halves. */
#define PACKED(name, lo, hi) LANES(name, ((lo)&0xffff) | (hi) << 16)
PACKED(pk_add_u16, U(Z16(a) + Z16(b), 16), U(Z16(a >> 16) + Z16(b >> 16), 16))
PACKED(pk_sub_u16, U(Z16(a) - Z16(b), 16), U(Z16(a >> 16) - Z16(b >> 16), 16))
PACKED(pk_add_i16, I(S16(a) + S16(b), 16), I(S16(a >> 16) + S16(b >> 16), 16))
PACKED(pk_sub_i16, I(S16(a) - S16(b), 16), I(S16(a >> 16) - S16(b >> 16), 16))
PACKED(pk_mul_lo_u16, U(Z16(a) * Z16(b), 16), U(Z16(a >> 16) * Z16(b >> 16), 16))
PACKED(pk_mad_u16, U(Z16(a) * Z16(b) + Z16(c), 16),
       U(Z16(a >> 16) * Z16(b >> 16) + Z16(c >> 16), 16))
PACKED(pk_mad_i16, I(S16(a) * S16(b) + S16(c), 16),
       I(S16(a >> 16) * S16(b >> 16) + S16(c >> 16), 16))

/* ---- 64 bits and more ---- */

static void mad_64(struct rp_lane_args *args, bool is_signed)
{
    uint64_t carries = 0;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint32_t a = args->s0[lane], b = args->s1[lane];
        const uint64_t c = pair(args->s2, lane);
        const wide sum =
            is_signed ? S32(a) * S32(b) + sext(c, 64) : (wide)((uint64_t)a * b) + (wide)c;
        const uint64_t r = is_signed ? I(sum, 64) : U(sum, 64);
        carries |= (uint64_t)(sum >> 64 & 1) << lane;
        args->d[lane] = (uint32_t)r;
        args->d[RP_LANES + lane] = (uint32_t)(r >> 32);
    }
    args->mask_out = carries; /* bit 64 of the exact sum, as without CLAMP */
}

static void mad_u64_u32(struct rp_lane_args *args)
{
    mad_64(args, false);
}

static void mad_i64_i32(struct rp_lane_args *args)
{
    mad_64(args, true);
}

static void quad_sad_pk(struct rp_lane_args *args, bool masked)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t a = pair(args->s0, lane), c = pair(args->s2, lane);
        uint64_t r = 0;
        for (unsigned i = 0; i < 4; i++) {
            const wide sum =
                sad((uint32_t)(a >> (8 * i)), args->s1[lane], 8, masked) + Z16(c >> (16 * i));
            r |= U(sum, 16) << (16 * i);
        }
        args->d[lane] = (uint32_t)r;
        args->d[RP_LANES + lane] = (uint32_t)(r >> 32);
    }
}

static void qsad_pk_u16_u8(struct rp_lane_args *args)
{
    quad_sad_pk(args, false);
}

static void mqsad_pk_u16_u8(struct rp_lane_args *args)
{
    quad_sad_pk(args, true);
}

static void mqsad_u32_u8(struct rp_lane_args *args)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t a = pair(args->s0, lane);
        const uint32_t b = args->s1[lane];
        for (unsigned i = 0; i < 4; i++) {
            const wide sum =
                sad((uint32_t)(a >> (8 * i)), b, 8, true) + args->s2[i * RP_LANES + lane];
            args->d[i * RP_LANES + lane] = (uint32_t)U(sum, 32);
        }
    }
}

/* ---- with a carry: it is the one of the exact result, saturated or not ---- */

#define CARRY(name, x, y, sign)                                                                    \
    static void name(struct rp_lane_args *args)                                                    \
    {                                                                                              \
        uint64_t carries = 0;                                                                      \
        for (unsigned lane = 0; lane < RP_LANES; lane++) {                                         \
            const wide a = args->s0[lane], b = args->s1[lane], in = args->mask_in >> lane & 1;     \
            const wide r = (x)sign(y) sign in;                                                     \
            (void)a, (void)b;                                                                      \
            carries |= (uint64_t)(r < 0 || r > UINT32_MAX) << lane;                                \
            args->d[lane] = (uint32_t)U(r, 32);                                                    \
        }                                                                                          \
        args->mask_out = carries;                                                                  \
    }
CARRY(add_co, a, b, +) /* mask_in is 0 for the forms without carry-in */
CARRY(sub_co, a, b, -)
CARRY(subrev_co, b, a, -)

rp_lane_fn *rp_saturating_lane(unsigned op)
{
    static rp_lane_fn *const lanes[RP_OP_ALL] = {
        [RP_OP_v_add_u32] = add_u32,
        [RP_OP_v_sub_u32] = sub_u32,
        [RP_OP_v_subrev_u32] = subrev_u32,
        [RP_OP_v_add_i32] = add_i32,
        [RP_OP_v_sub_i32] = sub_i32,
        [RP_OP_v_add_u16] = add_u16,
        [RP_OP_v_sub_u16] = sub_u16,
        [RP_OP_v_subrev_u16] = subrev_u16,
        [RP_OP_v_add_i16] = add_i16,
        [RP_OP_v_sub_i16] = sub_i16,
        [RP_OP_v_mad_u16] = mad_u16,
        [RP_OP_v_mad_legacy_u16] = mad_u16,
        [RP_OP_v_mad_i16] = mad_i16,
        [RP_OP_v_mad_legacy_i16] = mad_i16,
        [RP_OP_v_mad_u32_u16] = mad_u32_u16,
        [RP_OP_v_mad_i32_i16] = mad_i32_i16,
        [RP_OP_v_mul_u32_u24] = mul_u32_u24,
        [RP_OP_v_mul_i32_i24] = mul_i32_i24,
        [RP_OP_v_mad_u32_u24] = mad_u32_u24,
        [RP_OP_v_mad_i32_i24] = mad_i32_i24,
        [RP_OP_v_mad_u64_u32] = mad_u64_u32,
        [RP_OP_v_mad_i64_i32] = mad_i64_i32,
        [RP_OP_v_dot2_i32_i16] = dot2_i32,
        [RP_OP_v_dot2c_i32_i16] = dot2_i32,
        [RP_OP_v_dot2_u32_u16] = dot2_u32,
        [RP_OP_v_dot4_i32_i8] = dot4_i32,
        [RP_OP_v_dot4c_i32_i8] = dot4_i32,
        [RP_OP_v_dot4_u32_u8] = dot4_u32,
        [RP_OP_v_dot8_i32_i4] = dot8_i32,
        [RP_OP_v_dot8c_i32_i4] = dot8_i32,
        [RP_OP_v_dot8_u32_u4] = dot8_u32,
        [RP_OP_v_sad_u8] = sad_u8,
        [RP_OP_v_sad_hi_u8] = sad_hi_u8,
        [RP_OP_v_sad_u16] = sad_u16,
        [RP_OP_v_sad_u32] = sad_u32,
        [RP_OP_v_msad_u8] = msad_u8,
        [RP_OP_v_qsad_pk_u16_u8] = qsad_pk_u16_u8,
        [RP_OP_v_mqsad_pk_u16_u8] = mqsad_pk_u16_u8,
        [RP_OP_v_mqsad_u32_u8] = mqsad_u32_u8,
        [RP_OP_v_pk_add_u16] = pk_add_u16,
        [RP_OP_v_pk_sub_u16] = pk_sub_u16,
        [RP_OP_v_pk_add_i16] = pk_add_i16,
        [RP_OP_v_pk_sub_i16] = pk_sub_i16,
        [RP_OP_v_pk_mul_lo_u16] = pk_mul_lo_u16,
        [RP_OP_v_pk_mad_u16] = pk_mad_u16,
        [RP_OP_v_pk_mad_i16] = pk_mad_i16,
        [RP_OP_v_add_co_u32] = add_co,
        [RP_OP_v_addc_co_u32] = add_co,
        [RP_OP_v_sub_co_u32] = sub_co,
        [RP_OP_v_subb_co_u32] = sub_co,
        [RP_OP_v_subrev_co_u32] = subrev_co,
        [RP_OP_v_subbrev_co_u32] = subrev_co,
    };
    return lanes[op];
}
