/*
 * Vector ALU around lane kernels: the short ways. An instruction without modifiers runs here with
 * nothing but a register check, the fetch of its rows and the kernel; all others go to rp_valu in
 * valu_mod.c.
 */
#include "valu.h"
#include "valu_fast.h"

const uint32_t *rp_fetch_scalar(const struct rp_wave *w, const struct rp_opnd *o,
                                struct rp_rows *rows)
{
    if (o->kind == RP_OPND_SGPR) {
        for (unsigned i = 0; i < o->dwords; i++)
            rp_row_fill(rows->row[i], w->sgpr[o->index + i]);
        return rows->row[0];
    }
    const uint64_t value = rp_opnd_u64(w, o);
    rp_row_fill(rows->row[0], (uint32_t)value);
    if (o->dwords > 1)
        rp_row_fill(rows->row[1], (uint32_t)(value >> 32));
    for (unsigned i = 2; i < o->dwords; i++)
        rp_row_fill(rows->row[i], 0);
    return rows->row[0];
}

int rp_fault_register(struct rp_wave *w, const struct rp_insn *in)
{
    return rp_wave_fault(w, in, RP_FAULT_ILLEGAL_OPCODE,
                         "a vector register beyond the %u allocated ones", w->vgpr_count);
}

/* Things that need the long way whatever the instruction: index mode, missing registers. */
static inline bool is_plain(const struct rp_wave *w, const struct rp_insn *in)
{
    return __builtin_expect(!w->gpr_idx && in->vgpr_top <= w->vgpr_count, 1);
}

/* A 32- or 64-bit float source with its abs and neg. */
static inline const uint32_t *fetch_signed(const struct rp_wave *w, const struct rp_insn *in,
                                           unsigned i, struct rp_rows *b)
{
    const struct rp_opnd *o = &in->src[i];
    const uint32_t *src = rp_fetch(w, o, b);
    const bool neg = in->neg >> i & 1, abs = in->abs >> i & 1;
    const unsigned top = o->dwords - 1u;
    if (!neg && !abs)
        return src;
    if (top)
        rp_row_mask(b->row[0], src, ~0u, 0);
    rp_row_mask(b->row[top], src + top * RP_LANES, abs ? 0x7fffffffu : ~0u, neg ? 0x80000000u : 0);
    return b->row[0];
}

/* d = f(sources), no masks. @p n sources, @p rows result rows, @p sign with neg and abs: all
 * constants at every use. */
static inline __attribute__((always_inline)) int arith(struct rp_wave *w, const struct rp_insn *in,
                                                       unsigned n, unsigned rows, bool sign)
{
    if (!is_plain(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    if (exec == 0)
        return RP_STEP_NEXT;
    struct rp_rows b[3];
    struct rp_lane_args a;
    a.mode = w->mode;
    a.s0 = sign ? fetch_signed(w, in, 0, &b[0]) : rp_fetch(w, &in->src[0], &b[0]);
    if (n > 1)
        a.s1 = sign ? fetch_signed(w, in, 1, &b[1]) : rp_fetch(w, &in->src[1], &b[1]);
    if (n > 2)
        a.s2 = sign ? fetch_signed(w, in, 2, &b[2]) : rp_fetch(w, &in->src[2], &b[2]);
    uint32_t *dst = w->vgpr[in->dst.index];
    if (__builtin_expect(exec == ~0ull, 1)) {
        a.d = dst;
        in->lane(&a);
        return RP_STEP_NEXT;
    }
    struct rp_rows result;
    a.d = result.row[0];
    in->lane(&a);
    for (unsigned i = 0; i < rows; i++)
        rp_row_blend(dst + i * RP_LANES, result.row[i], exec);
    return RP_STEP_NEXT;
}

#define ARITH(n, rows)                                                                             \
    static int arith_##n##_##rows(struct rp_wave *w, const struct rp_insn *in)                     \
    {                                                                                              \
        return arith(w, in, n, rows, false);                                                       \
    }                                                                                              \
    static int signed_##n##_##rows(struct rp_wave *w, const struct rp_insn *in)                    \
    {                                                                                              \
        return arith(w, in, n, rows, true);                                                        \
    }
ARITH(1, 1)
ARITH(2, 1)
ARITH(3, 1)
ARITH(1, 2)
ARITH(2, 2)
ARITH(3, 2)

int rp_valu_signed(struct rp_wave *w, const struct rp_insn *in)
{
    return in->src[2].kind != RP_OPND_NONE ? signed_3_1(w, in) : signed_2_1(w, in);
}

/* Arithmetic with a lane mask going in or out: carries, selects, division helpers. */
static int arith_masked(struct rp_wave *w, const struct rp_insn *in)
{
    if (!is_plain(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    struct rp_rows b[3], result;
    struct rp_lane_args a = {.mode = w->mode, .d = w->vgpr[in->dst.index]};
    a.s0 = rp_fetch(w, &in->src[0], &b[0]);
    a.s1 = rp_fetch(w, &in->src[1], &b[1]);
    if (in->src[2].kind != RP_OPND_NONE)
        a.s2 = rp_fetch(w, &in->src[2], &b[2]);
    if (in->src[3].kind != RP_OPND_NONE)
        a.mask_in = rp_opnd_u64(w, &in->src[3]);
    if (exec != ~0ull)
        a.d = result.row[0];
    in->lane(&a);
    if (exec != ~0ull)
        for (unsigned i = 0; i < in->dst.dwords; i++)
            rp_row_blend(w->vgpr[in->dst.index + i], result.row[i], exec);
    if (in->sdst.kind != RP_OPND_NONE)
        rp_sgpr64_set(w, in->sdst.index, a.mask_out & exec);
    return RP_STEP_NEXT;
}

/* Compares write 0 for inactive lanes. */
static int compare(struct rp_wave *w, const struct rp_insn *in)
{
    if (!is_plain(w, in))
        return rp_valu_cmp(w, in);
    struct rp_rows b[2];
    struct rp_lane_args a;
    a.mode = w->mode;
    a.s0 = rp_fetch(w, &in->src[0], &b[0]);
    a.s1 = rp_fetch(w, &in->src[1], &b[1]);
    in->lane(&a);
    rp_sgpr64_set(w, in->sdst.index, a.mask_out & RP_EXEC(w));
    return RP_STEP_NEXT;
}

/* ---- choosing a handler at decode time ---- */

static bool is_float(unsigned type)
{
    return type == RP_T_F16 || type == RP_T_BF16 || type == RP_T_PKBF16 || type == RP_T_F32 ||
           type == RP_T_F64 || type == RP_T_PKF16 || type == RP_T_PKF32;
}

/*
 * 16-bit results of the gfx9 VOP3 opcodes go to the half op_sel names and keep the other half; the
 * older opcodes (VOP1, VOP2 and the "legacy" forms) clear the upper half.
 */
bool rp_keeps_other_half(const struct rp_insn *in)
{
    if (rp_op_rows[in->op].fmt != RP_FMT_VOP3 || !rp_type_is_16bit(in->dst.type))
        return false;
    switch (in->op) {
    case RP_OP_v_mad_legacy_f16:
    case RP_OP_v_mad_legacy_u16:
    case RP_OP_v_mad_legacy_i16:
    case RP_OP_v_fma_legacy_f16:
    case RP_OP_v_div_fixup_legacy_f16:
        return false;
    default:
        return true;
    }
}

/* Halves named where the opcode has none to choose between, or none in its result: LLVM's assembler
 * writes no such thing, and its disassembler reads over it. */
static bool has_undefined_op_sel(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const unsigned named = in->raw[0] >> 11 & 15;
    const bool carries = row->sdst != RP_T_NONE && row->fmt != RP_FMT_VOPC; /* sdst is there */
    bool narrow = rp_type_is_16bit(row->dst);
    if (in->fmt != RP_FMT_VOP3 || carries || !named)
        return false;
    if (in->op_sel != 0)
        return (named & 8) && !narrow;
    for (unsigned i = 0; i < 3; i++)
        narrow |= rp_type_is_16bit(row->src[i]);
    return narrow;
}

/*
 * Modifier combinations whose result this file would have to guess: LLVM assembles them, but no
 * public source says what they do. op_sel of v_align*: the ISA documents' pseudo code has none.
 * neg and abs of packed operands outside VOP3P (v_dot2c, SDWA): of one half, or of both?
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

/* Nothing but neg and abs, on plain 32- and 64-bit floats. */
static bool only_signs(const struct rp_insn *in)
{
    if (in->flags & (RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA) || in->fmt != RP_FMT_VOP3 ||
        in->op_sel != 0)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (((in->neg | in->abs) >> i & 1) && in->src[i].type != RP_T_F32 &&
            in->src[i].type != RP_T_F64)
            return false;
    return true;
}

static bool only_packed_f32(const struct rp_insn *in)
{
    return in->fmt == RP_FMT_VOP3P && in->dst.type == RP_T_PKF32 && !(in->flags & RP_IF_DSTMOD);
}

static bool only_packed_f16(const struct rp_insn *in)
{
    return in->fmt == RP_FMT_VOP3P && in->dst.type == RP_T_PKF16 && !(in->flags & RP_IF_DSTMOD);
}

/* For the fast handlers, which have no other use for it. */
static void note_row(struct rp_opnd *o)
{
    if (o->kind == RP_OPND_VGPR)
        o->imm = o->index * sizeof(uint32_t[RP_LANES]);
}

/* The handler with the arithmetic inside, where there is one and the CPU can. */
static void choose_fast_way(struct rp_insn *in)
{
    const bool modified = in->flags & (RP_IF_SRCMOD | RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA);
    if (!rp_lane_find_level("v_mov_b32", RP_LANE_V4) || in->fn == rp_valu_cmpx)
        return;
    rp_insn_fn *fast = NULL;
    if (in->fn == rp_valu_mix)
        fast = rp_valu_fast_mix(in);
    else if (!modified)
        fast = rp_valu_fast_find(in, false);
    else if (only_packed_f32(in))
        fast = rp_valu_fast_find(in, in->neg || in->abs);
    else if (only_packed_f16(in) || only_signs(in))
        fast = rp_valu_fast_find(in, true);
    if (!fast)
        return;
    in->fn = fast;
    in->flags |= RP_IF_FAST;
    note_row(&in->dst);
    for (unsigned i = 0; i < 3; i++)
        note_row(&in->src[i]);
}

static void choose_short_way(struct rp_insn *in)
{
    static rp_insn_fn *const plain[3][2] = {
        {arith_1_1, arith_1_2}, {arith_2_1, arith_2_2}, {arith_3_1, arith_3_2}};
    static rp_insn_fn *const with_signs[3][2] = {
        {signed_1_1, signed_1_2}, {signed_2_1, signed_2_2}, {signed_3_1, signed_3_2}};
    const bool modified = in->flags & (RP_IF_SRCMOD | RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA);
    const bool masked = in->sdst.kind != RP_OPND_NONE || in->src[3].kind != RP_OPND_NONE;
    unsigned n = 0;
    while (n < 3 && in->src[n].kind != RP_OPND_NONE)
        n++;
    if (in->fn == rp_valu_cmp && !modified)
        in->fn = compare;
    if (in->fn != rp_valu || n == 0 || in->dst.dwords > 2)
        return;
    if (!modified)
        in->fn = masked ? arith_masked : plain[n - 1][in->dst.dwords - 1];
    else if (!masked && only_packed_f32(in))
        in->fn = rp_valu_packed_f32;
    else if (!masked && only_signs(in))
        in->fn = with_signs[n - 1][in->dst.dwords - 1];
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
        choose_fast_way(in);
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
        return; /* moves only: valu_mod.c */
    choose_lane(in);
    if (in->lane) {
        choose_short_way(in);
        choose_fast_way(in);
    }
}
