/* The scalar ALU executes SOP1, SOP2, SOPC and SOPK arithmetic with its SCC results. Program
 * control (SOPP, jumps, hardware registers) is in scalar_control.c.
 *
 * The SCC rules are those of the CDNA3 ISA guide's opcode descriptions: logic, shifts, bit fields
 * and counts set "result is not zero"; unsigned add and subtract set carry or borrow, and signed
 * ones overflow; min and max set "first operand was chosen"; moves, selects, multiplies, bit sets
 * and reversals leave SCC alone.
 */
#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"

/* Every handler sees: a, b (sources, as typed), w (wave), d (result to be stored). */
#define HANDLER(name) int name(struct rp_wave *w, const struct rp_insn *in)

#define A32 const uint32_t a = rp_opnd_u32(w, &in->src[0])
#define B32 const uint32_t b = rp_opnd_u32(w, &in->src[1])
#define A64 const uint64_t a = rp_opnd_u64(w, &in->src[0])
#define B64 const uint64_t b = rp_opnd_u64(w, &in->src[1])

static inline void set32(struct rp_wave *w, const struct rp_insn *in, uint32_t value)
{
    w->sgpr[in->dst.index] = value;
}

static inline void set64(struct rp_wave *w, const struct rp_insn *in, uint64_t value)
{
    rp_sgpr64_set(w, in->dst.index, value);
}

/* X_Y means sources of width X and a result of width Y. SCC stays, or becomes result != 0 in the
 * _NZ forms.
 */
#define OP1_32_32(name, expr)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A32;                                                                                       \
        set32(w, in, (uint32_t)(expr));                                                            \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP1_64_64(name, expr)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        set64(w, in, (expr));                                                                      \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP1_64_32(name, expr)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        set32(w, in, (uint32_t)(expr));                                                            \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP1_32_NZ(name, expr)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A32;                                                                                       \
        const uint32_t d = (uint32_t)(expr);                                                       \
        set32(w, in, d);                                                                           \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP1_64_NZ(name, expr)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        const uint64_t d = (expr);                                                                 \
        set64(w, in, d);                                                                           \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP1_64_32_NZ(name, expr)                                                                   \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        const uint32_t d = (uint32_t)(expr);                                                       \
        set32(w, in, d);                                                                           \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP2_32(name, expr)                                                                         \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A32;                                                                                       \
        B32;                                                                                       \
        set32(w, in, (uint32_t)(expr));                                                            \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP2_32_NZ(name, expr)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A32;                                                                                       \
        B32;                                                                                       \
        const uint32_t d = (uint32_t)(expr);                                                       \
        set32(w, in, d);                                                                           \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
#define OP2_64_NZ(name, expr)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        B64;                                                                                       \
        const uint64_t d = (expr);                                                                 \
        set64(w, in, d);                                                                           \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
/* The first operand has 64 bits and the second one (shift count, bit field) 32. */
#define OP2_64_BY_32_NZ(name, expr)                                                                \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        B32;                                                                                       \
        const uint64_t d = (uint64_t)(expr);                                                       \
        set64(w, in, d);                                                                           \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
/* The row gives both result and SCC. */
#define OP2_32_SCC(name, expr, scc_expr)                                                           \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A32;                                                                                       \
        B32;                                                                                       \
        const uint32_t scc = (scc_expr);                                                           \
        set32(w, in, (uint32_t)(expr));                                                            \
        w->scc = scc;                                                                              \
        return RP_STEP_NEXT;                                                                       \
    }

/* ---- moves and bits ---- */

OP1_32_32(rp_s_mov_b32, a)
OP1_64_64(rp_s_mov_b64, a)
OP1_32_NZ(rp_s_not_b32, ~a)
OP1_64_NZ(rp_s_not_b64, ~a)
OP1_32_32(rp_s_sext_i32_i8, (int32_t)(int8_t)a)
OP1_32_32(rp_s_sext_i32_i16, (int32_t)(int16_t)a)

HANDLER(rp_s_cmov_b32)
{
    A32;
    if (w->scc)
        set32(w, in, a);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_cmov_b64)
{
    A64;
    if (w->scc)
        set64(w, in, a);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_cselect_b32)
{
    set32(w, in, rp_opnd_u32(w, &in->src[w->scc ? 0 : 1]));
    return RP_STEP_NEXT;
}

HANDLER(rp_s_cselect_b64)
{
    set64(w, in, rp_opnd_u64(w, &in->src[w->scc ? 0 : 1]));
    return RP_STEP_NEXT;
}

static uint32_t reverse32(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}

OP1_32_32(rp_s_brev_b32, reverse32(a))
OP1_64_64(rp_s_brev_b64, (uint64_t)reverse32((uint32_t)a) << 32 | reverse32((uint32_t)(a >> 32)))

OP1_32_NZ(rp_s_bcnt0_i32_b32, __builtin_popcount(~a))
OP1_64_32_NZ(rp_s_bcnt0_i32_b64, __builtin_popcountll(~a))
OP1_32_NZ(rp_s_bcnt1_i32_b32, __builtin_popcount(a))
OP1_64_32_NZ(rp_s_bcnt1_i32_b64, __builtin_popcountll(a))

/* These find positions, which are -1 when there is none. */
static uint32_t first_one(uint64_t v)
{
    return v ? (uint32_t)__builtin_ctzll(v) : ~0u;
}

/* Counts the leading zeros within @p width bits. */
static uint32_t leading_zeros(uint64_t v, unsigned width)
{
    return v ? (uint32_t)__builtin_clzll(v) - (64 - width) : ~0u;
}

OP1_32_32(rp_s_ff0_i32_b32, first_one(~a))
OP1_64_32(rp_s_ff0_i32_b64, first_one(~a))
OP1_32_32(rp_s_ff1_i32_b32, first_one(a))
OP1_64_32(rp_s_ff1_i32_b64, first_one(a))
OP1_32_32(rp_s_flbit_i32_b32, leading_zeros(a, 32))
OP1_64_32(rp_s_flbit_i32_b64, leading_zeros(a, 64))

/* The signed form counts how many bits from the top equal the sign bit, and is -1 when all do. */
OP1_32_32(rp_s_flbit_i32, leading_zeros(a ^ (uint32_t)((int32_t)a >> 31), 32))
OP1_64_32(rp_s_flbit_i32_i64, leading_zeros(a ^ (uint64_t)((int64_t)a >> 63), 64))

/* The destination is also read. */
HANDLER(rp_s_bitset0_b32)
{
    A32;
    w->sgpr[in->dst.index] &= ~(1u << (a & 31));
    return RP_STEP_NEXT;
}

HANDLER(rp_s_bitset1_b32)
{
    A32;
    w->sgpr[in->dst.index] |= 1u << (a & 31);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_bitset0_b64)
{
    A32;
    set64(w, in, rp_sgpr64(w, in->dst.index) & ~(1ull << (a & 63)));
    return RP_STEP_NEXT;
}

HANDLER(rp_s_bitset1_b64)
{
    A32;
    set64(w, in, rp_sgpr64(w, in->dst.index) | 1ull << (a & 63));
    return RP_STEP_NEXT;
}

/* Bit i of the result says whether any of bits 4i..4i+3 is set. */
static uint64_t quad_any(uint64_t v)
{
    uint64_t d = 0;
    for (unsigned i = 0; i < 16; i++)
        d |= (uint64_t)((v >> (4 * i) & 15) != 0) << i;
    return d;
}

static uint64_t double_bits(uint32_t v)
{
    uint64_t d = 0;
    for (unsigned i = 0; i < 32; i++)
        d |= (uint64_t)(v >> i & 1) * 3 << (2 * i);
    return d;
}

OP1_32_NZ(rp_s_quadmask_b32, quad_any(a))
OP1_64_NZ(rp_s_quadmask_b64, quad_any(a))

/* Fills every group of four bits that has one set. */
static uint64_t whole_quads(uint64_t v)
{
    v |= v >> 1;
    v = (v | v >> 2) & 0x1111111111111111u;
    return v * 15;
}

OP1_32_NZ(rp_s_wqm_b32, whole_quads(a))
OP1_64_NZ(rp_s_wqm_b64, whole_quads(a))
OP1_32_NZ(rp_s_abs_i32, (int32_t)a < 0 ? 0u - a : a)

HANDLER(rp_s_bitreplicate_b64_b32)
{
    A32;
    set64(w, in, double_bits(a));
    return RP_STEP_NEXT;
}

/* ---- moves with M0 added to a register number ---- *
 * A source beyond the last register reads s0, a destination beyond it is not written (ISA guide,
 * "Scalar ALU operands"). VCC ends the file of a wave. */

enum { LAST_SGPR = RP_SGPR_VCC_LO + 1 };

static unsigned relative_source(const struct rp_wave *w, const struct rp_opnd *o)
{
    const uint64_t index = (uint64_t)o->index + w->sgpr[RP_SGPR_M0];
    return index + o->dwords <= LAST_SGPR + 1 ? (unsigned)index : 0;
}

static bool relative_target(const struct rp_wave *w, const struct rp_opnd *o, unsigned *ret_index)
{
    const uint64_t index = (uint64_t)o->index + w->sgpr[RP_SGPR_M0];
    if (index + o->dwords > LAST_SGPR + 1)
        return false;
    *ret_index = (unsigned)index;
    return true;
}

HANDLER(rp_s_movrels_b32)
{
    if (in->src[0].kind != RP_OPND_SGPR)
        return rp_fault_operand(w, in);
    set32(w, in, w->sgpr[relative_source(w, &in->src[0])]);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_movrels_b64)
{
    if (in->src[0].kind != RP_OPND_SGPR)
        return rp_fault_operand(w, in);
    set64(w, in, rp_sgpr64(w, relative_source(w, &in->src[0])));
    return RP_STEP_NEXT;
}

HANDLER(rp_s_movreld_b32)
{
    unsigned index;
    if (relative_target(w, &in->dst, &index))
        w->sgpr[index] = rp_opnd_u32(w, &in->src[0]);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_movreld_b64)
{
    unsigned index;
    if (relative_target(w, &in->dst, &index))
        rp_sgpr64_set(w, index, rp_opnd_u64(w, &in->src[0]));
    return RP_STEP_NEXT;
}

/* ---- logic ---- */

OP2_32_NZ(rp_s_and_b32, a &b)
OP2_64_NZ(rp_s_and_b64, a &b)
OP2_32_NZ(rp_s_or_b32, a | b)
OP2_64_NZ(rp_s_or_b64, a | b)
OP2_32_NZ(rp_s_xor_b32, a ^ b)
OP2_64_NZ(rp_s_xor_b64, a ^ b)
OP2_32_NZ(rp_s_andn2_b32, a & ~b)
OP2_64_NZ(rp_s_andn2_b64, a & ~b)
OP2_32_NZ(rp_s_orn2_b32, a | ~b)
OP2_64_NZ(rp_s_orn2_b64, a | ~b)
OP2_32_NZ(rp_s_nand_b32, ~(a &b))
OP2_64_NZ(rp_s_nand_b64, ~(a &b))
OP2_32_NZ(rp_s_nor_b32, ~(a | b))
OP2_64_NZ(rp_s_nor_b64, ~(a | b))
OP2_32_NZ(rp_s_xnor_b32, ~(a ^ b))
OP2_64_NZ(rp_s_xnor_b64, ~(a ^ b))

/* saveexec sets dst = EXEC, EXEC = expr and SCC = EXEC != 0; wrexec sets dst = EXEC = expr. a is
 * read before dst is written, because they may be the same pair.
 */
#define SAVEEXEC(name, expr)                                                                       \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        const uint64_t e = RP_EXEC(w);                                                             \
        const uint64_t d = (expr);                                                                 \
        set64(w, in, e);                                                                           \
        rp_sgpr64_set(w, RP_SGPR_EXEC_LO, d);                                                      \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
#define WREXEC(name, expr)                                                                         \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        A64;                                                                                       \
        const uint64_t e = RP_EXEC(w);                                                             \
        const uint64_t d = (expr);                                                                 \
        set64(w, in, d);                                                                           \
        rp_sgpr64_set(w, RP_SGPR_EXEC_LO, d);                                                      \
        w->scc = d != 0;                                                                           \
        return RP_STEP_NEXT;                                                                       \
    }
SAVEEXEC(rp_s_and_saveexec_b64, a &e)
SAVEEXEC(rp_s_or_saveexec_b64, a | e)
SAVEEXEC(rp_s_xor_saveexec_b64, a ^ e)
SAVEEXEC(rp_s_andn2_saveexec_b64, a & ~e)
SAVEEXEC(rp_s_orn2_saveexec_b64, a | ~e)
SAVEEXEC(rp_s_nand_saveexec_b64, ~(a &e))
SAVEEXEC(rp_s_nor_saveexec_b64, ~(a | e))
SAVEEXEC(rp_s_xnor_saveexec_b64, ~(a ^ e))
SAVEEXEC(rp_s_andn1_saveexec_b64, ~a &e)
SAVEEXEC(rp_s_orn1_saveexec_b64, ~a | e)
WREXEC(rp_s_andn1_wrexec_b64, ~a &e)
WREXEC(rp_s_andn2_wrexec_b64, a & ~e)

/* ---- shifts and bit fields ---- */

OP2_32_NZ(rp_s_lshl_b32, a << (b & 31))
OP2_64_BY_32_NZ(rp_s_lshl_b64, a << (b & 63))
OP2_32_NZ(rp_s_lshr_b32, a >> (b & 31))
OP2_64_BY_32_NZ(rp_s_lshr_b64, a >> (b & 63))
OP2_32_NZ(rp_s_ashr_i32, (int32_t)a >> (b & 31))
OP2_64_BY_32_NZ(rp_s_ashr_i64, (int64_t)a >> (b & 63))
OP2_32(rp_s_bfm_b32, ((1u << (a & 31)) - 1) << (b & 31))

HANDLER(rp_s_bfm_b64)
{
    A32;
    B32;
    set64(w, in, ((1ull << (a & 63)) - 1) << (b & 63));
    return RP_STEP_NEXT;
}

/* b has the offset in its low bits and the width in bits 22:16. Bits beyond the top read as zero
 * or sign.
 */
static uint64_t field(uint64_t a, unsigned offset, unsigned width)
{
    return width == 0 ? 0 : (a >> offset) & (~0ull >> (64 - (width > 64 ? 64 : width)));
}

static int64_t signed_field(int64_t a, unsigned offset, unsigned width)
{
    if (width == 0)
        return 0;
    int64_t v = a >> offset;
    return width >= 64 ? v : (int64_t)((uint64_t)v << (64 - width)) >> (64 - width);
}

OP2_32_NZ(rp_s_bfe_u32, field(a, b & 31, b >> 16 & 0x7f))
OP2_32_NZ(rp_s_bfe_i32, signed_field((int32_t)a, b & 31, b >> 16 & 0x7f))
OP2_64_BY_32_NZ(rp_s_bfe_u64, field(a, b & 63, b >> 16 & 0x7f))
OP2_64_BY_32_NZ(rp_s_bfe_i64, signed_field((int64_t)a, b & 63, b >> 16 & 0x7f))

OP2_32(rp_s_pack_ll_b32_b16, (a & 0xffff) | b << 16)
OP2_32(rp_s_pack_lh_b32_b16, (a & 0xffff) | (b & 0xffff0000u))
OP2_32(rp_s_pack_hh_b32_b16, a >> 16 | (b & 0xffff0000u))

/* ---- arithmetic ---- */

static uint32_t add_overflows(uint32_t a, uint32_t b)
{
    int32_t r;
    return __builtin_add_overflow((int32_t)a, (int32_t)b, &r);
}

static uint32_t sub_overflows(uint32_t a, uint32_t b)
{
    int32_t r;
    return __builtin_sub_overflow((int32_t)a, (int32_t)b, &r);
}

OP2_32_SCC(rp_s_add_u32, a + b, a + b < a)
OP2_32_SCC(rp_s_sub_u32, a - b, a < b)
OP2_32_SCC(rp_s_add_i32, a + b, add_overflows(a, b))
OP2_32_SCC(rp_s_sub_i32, a - b, sub_overflows(a, b))

HANDLER(rp_s_addc_u32)
{
    A32;
    B32;
    const uint64_t sum = (uint64_t)a + b + w->scc;
    set32(w, in, (uint32_t)sum);
    w->scc = (uint32_t)(sum >> 32);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_subb_u32)
{
    A32;
    B32;
    const uint64_t diff = (uint64_t)a - b - w->scc;
    set32(w, in, (uint32_t)diff);
    w->scc = diff >> 63 & 1;
    return RP_STEP_NEXT;
}

OP2_32_SCC(rp_s_min_i32, (int32_t)a < (int32_t)b ? a : b, (int32_t)a < (int32_t)b)
OP2_32_SCC(rp_s_min_u32, a < b ? a : b, a < b)
OP2_32_SCC(rp_s_max_i32, (int32_t)a > (int32_t)b ? a : b, (int32_t)a > (int32_t)b)
OP2_32_SCC(rp_s_max_u32, a > b ? a : b, a > b)
OP2_32(rp_s_mul_i32, a *b)
OP2_32(rp_s_mul_hi_u32, (uint64_t)a *b >> 32)
OP2_32(rp_s_mul_hi_i32, (int64_t)(int32_t)a *(int32_t)b >> 32)

/* Computes |a - b| in wrapping 32-bit arithmetic, as the guide's pseudo code does. */
static uint32_t absdiff(uint32_t a, uint32_t b)
{
    const uint32_t d = a - b;
    return (int32_t)d < 0 ? 0u - d : d;
}

OP2_32_NZ(rp_s_absdiff_i32, absdiff(a, b))

/* SCC is the carry out of the shift or of the addition. */
#define LSHL_ADD(n)                                                                                \
    OP2_32_SCC(rp_s_lshl##n##_add_u32, (a << n) + b, (((uint64_t)a << n) + b) >> 32 != 0)
LSHL_ADD(1)
LSHL_ADD(2)
LSHL_ADD(3)
LSHL_ADD(4)

/* ---- compares ---- */

#define CMP32(name, type, op)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        w->scc = (type)rp_opnd_u32(w, &in->src[0]) op(type) rp_opnd_u32(w, &in->src[1]);           \
        return RP_STEP_NEXT;                                                                       \
    }
CMP32(rp_s_cmp_eq_i32, int32_t, ==)
CMP32(rp_s_cmp_lg_i32, int32_t, !=)
CMP32(rp_s_cmp_gt_i32, int32_t, >)
CMP32(rp_s_cmp_ge_i32, int32_t, >=)
CMP32(rp_s_cmp_lt_i32, int32_t, <)
CMP32(rp_s_cmp_le_i32, int32_t, <=)
CMP32(rp_s_cmp_eq_u32, uint32_t, ==)
CMP32(rp_s_cmp_lg_u32, uint32_t, !=)
CMP32(rp_s_cmp_gt_u32, uint32_t, >)
CMP32(rp_s_cmp_ge_u32, uint32_t, >=)
CMP32(rp_s_cmp_lt_u32, uint32_t, <)
CMP32(rp_s_cmp_le_u32, uint32_t, <=)

HANDLER(rp_s_cmp_eq_u64)
{
    A64;
    B64;
    w->scc = a == b;
    return RP_STEP_NEXT;
}

HANDLER(rp_s_cmp_lg_u64)
{
    A64;
    B64;
    w->scc = a != b;
    return RP_STEP_NEXT;
}

/* SCC becomes 1 if the addressed bit is 0 (bitcmp0) or 1. */
HANDLER(rp_s_bitcmp0_b32)
{
    A32;
    B32;
    w->scc = !(a >> (b & 31) & 1);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_bitcmp1_b32)
{
    A32;
    B32;
    w->scc = a >> (b & 31) & 1;
    return RP_STEP_NEXT;
}

HANDLER(rp_s_bitcmp0_b64)
{
    A64;
    B32;
    w->scc = !(a >> (b & 63) & 1);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_bitcmp1_b64)
{
    A64;
    B32;
    w->scc = a >> (b & 63) & 1;
    return RP_STEP_NEXT;
}
