/* These lane kernels execute integer instructions under CLAMP: they bring the exact result into
 * the range of its type. Integer instructions that cannot leave their range (minima, shifts, and
 * conversions, which always saturate) have none here, because CLAMP does nothing to them.
 */
#include "device/isa/valu.h"

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

/* Clamps to the range of a type of so many bits, unsigned or signed. */
#define U(r, bits) within(r, 0, ((wide)1 << (bits)) - 1)
#define I(r, bits) within(r, -((wide)1 << ((bits)-1)), ((wide)1 << ((bits)-1)) - 1)

/* One dword goes in and one comes out; u and s are a source's low bits, unsigned and signed. */
#define LANES(name, ...)                                                                           \
    static void name(struct rp_lane_args *args)                                                    \
    {                                                                                              \
        const uint32_t *const none = args->s0; /* With two sources, the third is not read. */      \
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

/* This computes both halves. */
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
    args->mask_out = carries; /* The carry is bit 64 of the exact sum, as without CLAMP. */
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
CARRY(add_co, a, b, +) /* mask_in is 0 for the forms without carry-in. */
CARRY(sub_co, a, b, -)
CARRY(subrev_co, b, a, -)

/**
 * Returns lane kernels with saturation for the integer forms of CLAMP, or NULL where CLAMP does
 * nothing.
 */
static rp_lane_fn *rp_saturating_lane(unsigned op)
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

static bool is_float(unsigned type)
{
    return type == RP_T_F16 || type == RP_T_BF16 || type == RP_T_PKBF16 || type == RP_T_F32 ||
           type == RP_T_F64 || type == RP_T_PKF16 || type == RP_T_PKF32;
}

/* Halves named where the opcode has none to choose between, or none in its result: LLVM's assembler
 * writes no such thing, and its disassembler reads over it. */
static bool has_undefined_op_sel(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const unsigned named = in->raw[0] >> 11 & 15;
    /* The instruction has an sdst. */
    const bool carries = row->sdst != RP_T_NONE && row->fmt != RP_FMT_VOPC;
    bool narrow = rp_type_is_16bit(row->dst);
    if (in->fmt != RP_FMT_VOP3 || carries || !named)
        return false;
    if (in->op_sel != 0)
        return (named & 8) && !narrow;
    for (unsigned i = 0; i < 3; i++)
        narrow |= rp_type_is_16bit(row->src[i]);
    return narrow;
}

/* This file would have to guess the result of these modifier combinations: LLVM assembles them,
 * but no public source says what they do. The ISA documents' pseudo code of v_align* has no
 * op_sel. Nobody says whether neg and abs of packed operands outside VOP3P (v_dot2c, SDWA) apply
 * to one half or to both.
 */
static bool is_unsupported(const struct rp_insn *in)
{
    if (in->op_sel != 0 && (in->op == RP_OP_v_alignbit_b32 || in->op == RP_OP_v_alignbyte_b32))
        return true;
    if (has_undefined_op_sel(in))
        return true;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned type = in->src[i].type;
        const bool packed = type == RP_T_PK16 || type == RP_T_PKF16 || type == RP_T_PKBF16;
        if (packed && in->fmt != RP_FMT_VOP3P && ((in->neg | in->abs) >> i & 1))
            return true;
        /* An inline constant has one f32 (the other may be 0 or the same), unless it is 0. */
        const unsigned high =
            in->op == RP_OP_v_pk_mov_b32 ? in->op_sel : in->op_sel | in->op_sel_hi;
        if (type == RP_T_PKF32 && in->src[i].kind == RP_OPND_CONST && in->src[i].imm != 0 &&
            (high >> i & 1))
            return true;
    }
    return false;
}

static void choose_lane(struct rp_insn *in)
{
    if (in->flags & RP_IF_CLAMP && in->dst.kind != RP_OPND_NONE && !is_float(in->dst.type))
        in->lane = rp_saturating_lane(in->op);
    if (!in->lane)
        in->lane = rp_target_lane(in->op);
    if (!in->lane)
        in->fn = rp_fault_unimplemented;
}

/*
 * Inline floats are f16 patterns for the f16 sources of v_fma_mix: Mesa's compiler for this family
 * takes such an operand for 16 bits wide when it looks for a constant.
 */
static void narrow_constants(struct rp_insn *in)
{
    for (unsigned i = 0; i < 3; i++)
        if (in->src[i].kind == RP_OPND_CONST && in->op_sel_hi >> i & 1)
            in->src[i].imm = rp_inline_as_f16(&in->src[i]);
}

void rp_valu_bind(struct rp_insn *in)
{
    if (in->fn == rp_mfma) {
        rp_mfma_bind(in);
        return;
    }
    if (in->fn == rp_v_cvt_scalef32) {
        rp_cvt_scale_bind(in);
        return;
    }
    if (in->fn == rp_valu_mix) {
        narrow_constants(in);
        in->lane = rp_lane_find(rp_isa_mnemonic(in->op));
        return;
    }
    if (in->fn != rp_valu && in->fn != rp_valu_cmp && in->fn != rp_valu_cmpx)
        return;
    if (rp_keeps_other_half(in))
        in->flags |= RP_IF_DSTMOD;
    if (is_unsupported(in)) {
        in->fn = rp_fault_operand;
        return;
    }
    if (in->op == RP_OP_v_pk_mov_b32)
        return; /* Only moves have it, and valu.c executes them. */
    choose_lane(in);
    if (in->lane)
        rp_valu_choose_short_way(in);
}
