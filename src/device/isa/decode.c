/*
 * Decoder of every gfx9-family format that gfx942 and gfx950 have.
 *
 * Field positions are those of the AMD CDNA3 ISA guide, chapter "Microcode formats", with the
 * gfx942 changes to FLAT and MUBUF (sc0, sc1, nt, acc) confirmed against LLVM's assembler.
 */
#include <string.h>

#include "../timing/cost.h"
#include "decode.h"

/* ---- scalar ALU ---- */

/* The second source. Two literal operands share one literal dword. */
static struct rp_opnd second_source(struct rp_dec *d, uint32_t w)
{
    const unsigned type = d->row->src[1];
    if (bits(w, 0, 8) == SRC_LITERAL && bits(w, 8, 8) == SRC_LITERAL)
        return rp_dec_const(type, SRC_LITERAL, rp_dec_literal(d->in->raw[1], type));
    return rp_dec_scalar(d, bits(w, 8, 8), type, true);
}

static void decode_sop2(struct rp_dec *d, uint32_t w)
{
    if (!rp_dec_row(d, RP_FMT_SOP2, 0, bits(w, 23, 7)))
        return;
    d->in->dst = rp_dec_sgpr(d, bits(w, 16, 7), d->row->dst);
    d->in->src[0] = rp_dec_scalar(d, bits(w, 0, 8), d->row->src[0], true);
    d->in->src[1] = second_source(d, w);
}

static void decode_sop1(struct rp_dec *d, uint32_t w)
{
    if (!rp_dec_row(d, RP_FMT_SOP1, 0, bits(w, 8, 8)))
        return;
    d->in->dst = rp_dec_sgpr(d, bits(w, 16, 7), d->row->dst);
    d->in->src[0] = rp_dec_scalar(d, bits(w, 0, 8), d->row->src[0], true);
}

static void decode_sopc(struct rp_dec *d, uint32_t w)
{
    if (!rp_dec_row(d, RP_FMT_SOPC, 0, bits(w, 16, 7)))
        return;
    d->in->src[0] = rp_dec_scalar(d, bits(w, 0, 8), d->row->src[0], true);
    if (d->in->op == RP_OP_s_set_gpr_idx_on) {
        d->in->src[1] =
            rp_dec_const(RP_T_B32, 0, bits(w, 8, 8)); /* an enable mask, not a register */
        d->bad |= bits(w, 8, 8) > 15;
    } else {
        d->in->src[1] = second_source(d, w);
    }
}

static void decode_sopk(struct rp_dec *d, uint32_t w)
{
    if (!rp_dec_row(d, RP_FMT_SOPK, 0, bits(w, 23, 5)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned sdst = bits(w, 16, 7);
    in->offset = sign_extend(w, 16);
    struct rp_opnd imm =
        rp_dec_const(RP_T_I32, 0, row->src[1] == RP_T_U32 ? bits(w, 0, 16) : (uint32_t)in->offset);
    in->dst = rp_dec_sgpr(d, sdst, row->dst);
    if (in->op == RP_OP_s_setreg_imm32_b32) {
        in->src[0] = rp_dec_const(RP_T_B32, SRC_LITERAL, rp_dec_dword(d));
    } else if (row->src[1] != RP_T_NONE) {
        in->src[0] = rp_dec_sgpr(d, sdst, row->src[0]);
        in->src[1] = imm;
    } else if (row->dst != RP_T_NONE && row->src[0] != RP_T_NONE) {
        in->src[0] = imm;
    } else {
        in->src[0] = rp_dec_sgpr(d, sdst, row->src[0]);
    }
}

static void decode_sopp(struct rp_dec *d, uint32_t w)
{
    if (rp_dec_row(d, RP_FMT_SOPP, 0, bits(w, 16, 7)))
        d->in->offset = sign_extend(w, 16);
}

static void decode_scalar(struct rp_dec *d, uint32_t w)
{
    switch (bits(w, 23, 7)) { /* below [30]: 0x7d.. are the formats without a destination */
    case 0x7d:
        decode_sop1(d, w);
        break;
    case 0x7e:
        decode_sopc(d, w);
        break;
    case 0x7f:
        decode_sopp(d, w);
        break;
    default:
        if (bits(w, 28, 4) == 0xb)
            decode_sopk(d, w);
        else
            decode_sop2(d, w);
        break;
    }
}

/* ---- vector ALU ---- */

/* Opcodes with op_sel: those gfx9 added with a 16-bit operand, not the "legacy" ones. */
static bool has_op_sel(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    switch (in->op) {
    case RP_OP_v_mad_legacy_f16:
    case RP_OP_v_mad_legacy_u16:
    case RP_OP_v_mad_legacy_i16:
    case RP_OP_v_fma_legacy_f16:
    case RP_OP_v_div_fixup_legacy_f16:
        return false;
    case RP_OP_v_alignbit_b32:
    case RP_OP_v_alignbyte_b32:
        return true; /* it prints; executing it is refused (valu.c) */
    default:
        return row->fmt == RP_FMT_VOP3 &&
               (rp_type_is_16bit(row->dst) || rp_type_is_16bit(row->src[0]));
    }
}

/* neg and abs mean something for floats, and for the halves of a select. */
static unsigned float_sources(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    unsigned mask = in->op == RP_OP_v_cndmask_b32 ? 3 : 0;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned t = row->src[i];
        if (t == RP_T_F16 || t == RP_T_BF16 || t == RP_T_PKBF16 || t == RP_T_F32 || t == RP_T_F64 ||
            t == RP_T_PKF16 || t == RP_T_PKF32)
            mask |= 1u << i;
    }
    return mask;
}

/* Second dword of an SDWA instruction; @p src1 is the VGPR field of the first. */
static void decode_sdwa(struct rp_dec *d, unsigned src1, bool compare)
{
    struct rp_insn *in = d->in;
    uint32_t w = rp_dec_dword(d);
    in->flags |= RP_IF_SDWA | RP_IF_SRCMOD;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t b = w >> (16 + 8 * i);
        unsigned enc = i == 0 ? bits(w, 0, 8) : src1;
        in->src_sel[i] = (uint8_t)bits(b, 0, 3);
        in->sdwa_sext |= (uint8_t)(bits(b, 3, 1) << i);
        in->neg |= (uint8_t)((bits(b, 4, 1) << i) & float_sources(in));
        in->abs |= (uint8_t)((bits(b, 5, 1) << i) & float_sources(in));
        d->bad |= d->row->src[i] != RP_T_NONE && in->src_sel[i] > 6;
        in->src[i] = bits(b, 7, 1) ? rp_dec_scalar(d, enc, d->row->src[i], false)
                                   : rp_dec_vgpr(d, enc, d->row->src[i]);
    }
    if (compare) {
        if (bits(w, 15, 1))
            in->sdst = rp_dec_sgpr(d, bits(w, 8, 7), RP_T_MASK);
        return;
    }
    in->dst_sel = (uint8_t)bits(w, 8, 3);
    in->dst_unused = (uint8_t)bits(w, 11, 2);
    d->bad |= in->dst_sel > 6 || in->dst_unused > 2;
    in->omod = (uint8_t)bits(w, 14, 2);
    in->flags |= RP_IF_DSTMOD | (bits(w, 13, 1) ? RP_IF_CLAMP : 0);
}

static void decode_dpp(struct rp_dec *d, unsigned src1)
{
    struct rp_insn *in = d->in;
    uint32_t w = rp_dec_dword(d);
    in->flags |= RP_IF_DPP | RP_IF_SRCMOD;
    in->src[0] = rp_dec_vgpr(d, bits(w, 0, 8), d->row->src[0]);
    in->src[1] = rp_dec_vgpr(d, src1, d->row->src[1]);
    in->dpp_ctrl = (uint16_t)bits(w, 8, 9);
    in->bound_ctrl = (uint8_t)bits(w, 19, 1);
    in->neg = (uint8_t)((bits(w, 20, 1) | bits(w, 22, 1) << 1) & float_sources(in));
    in->abs = (uint8_t)((bits(w, 21, 1) | bits(w, 23, 1) << 1) & float_sources(in));
    in->bank_mask = (uint8_t)bits(w, 24, 4);
    in->row_mask = (uint8_t)bits(w, 28, 4);
}

/* Sources of VOP1, VOP2 and VOPC: src0 may be a literal, SDWA or DPP. */
static void decode_vop_sources(struct rp_dec *d, uint32_t w, bool has_src1, bool compare)
{
    unsigned enc = bits(w, 0, 9);
    unsigned src1 = has_src1 ? bits(w, 9, 8) : 0;
    if (enc == SRC_SDWA) {
        decode_sdwa(d, src1, compare);
        return;
    }
    if (enc == SRC_DPP) {
        decode_dpp(d, src1);
        return;
    }
    d->in->src[0] = rp_dec_source(d, enc, d->row->src[0], true);
    d->in->src[1] = rp_dec_vgpr(d, src1, d->row->src[1]);
}

static void decode_vopc(struct rp_dec *d, uint32_t w)
{
    if (!rp_dec_row(d, RP_FMT_VOPC, 0, bits(w, 17, 8)))
        return;
    d->in->sdst = rp_dec_sgpr(d, RP_SGPR_VCC_LO, d->row->sdst);
    decode_vop_sources(d, w, true, true);
}

static void decode_vop1(struct rp_dec *d, uint32_t w)
{
    if (!rp_dec_row(d, RP_FMT_VOP1, 0, bits(w, 9, 8)))
        return;
    unsigned vdst = bits(w, 17, 8);
    decode_vop_sources(d, w, false, false);
    if (d->in->op == RP_OP_v_readfirstlane_b32) {
        d->in->dst = rp_dec_sgpr(d, vdst, d->row->dst);
    } else if (d->in->op == RP_OP_v_accvgpr_mov_b32) {
        d->bad |= d->in->src[0].kind != RP_OPND_VGPR;
        d->in->dst = rp_dec_vector(d, true, vdst, d->row->dst);
        d->in->src[0] = rp_dec_vector(d, true, d->in->src[0].index, d->row->src[0]);
    } else {
        d->in->dst = rp_dec_vgpr(d, vdst, d->row->dst);
    }
}

static void decode_vop2(struct rp_dec *d, uint32_t w)
{
    if (!rp_dec_row(d, RP_FMT_VOP2, 0, bits(w, 25, 6)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    in->dst = rp_dec_vgpr(d, bits(w, 17, 8), row->dst);
    in->sdst = rp_dec_sgpr(d, RP_SGPR_VCC_LO, row->sdst);
    in->src[3] = rp_dec_sgpr(d, RP_SGPR_VCC_LO, row->src[3]);
    switch (in->op) {
    case RP_OP_v_fmamk_f32:
    case RP_OP_v_madmk_f32:
    case RP_OP_v_madmk_f16: /* d = s0 * K + s1: K becomes src[1] */
    case RP_OP_v_fmaak_f32:
    case RP_OP_v_madak_f32:
    case RP_OP_v_madak_f16: { /* d = s0 * s1 + K: K becomes src[2] */
        bool k_last = in->op == RP_OP_v_fmaak_f32 || in->op == RP_OP_v_madak_f16 ||
                      in->op == RP_OP_v_madak_f32;
        unsigned enc = bits(w, 0, 9);
        uint32_t k = rp_dec_dword(d);
        d->bad |= enc == SRC_SDWA || enc == SRC_DPP;
        in->src[0] = enc == SRC_LITERAL ? rp_dec_const(row->src[0], SRC_LITERAL, k)
                                        : rp_dec_source(d, enc, row->src[0], false);
        in->src[k_last ? 1 : 2] = rp_dec_vgpr(d, bits(w, 9, 8), row->src[1]);
        in->src[k_last ? 2 : 1] = rp_dec_const(row->src[2], SRC_LITERAL, k);
        break;
    }
    default:
        decode_vop_sources(d, w, true, false);
        if (row->src[2] != RP_T_NONE) /* accumulates into its destination */
            in->src[2] = rp_dec_vgpr(d, in->dst.index, row->src[2]);
        break;
    }
}

static void vop3_modifiers(struct rp_dec *d, uint32_t w0, uint32_t w1, bool b_form)
{
    struct rp_insn *in = d->in;
    const unsigned floats = float_sources(in);
    in->neg = (uint8_t)(bits(w1, 29, 3) & floats);
    in->omod = (uint8_t)bits(w1, 27, 2);
    if (bits(w0, 15, 1))
        in->flags |= RP_IF_CLAMP | RP_IF_DSTMOD;
    if (!b_form) {
        in->abs = (uint8_t)(bits(w0, 8, 3) & floats);
        in->op_sel = has_op_sel(in) ? (uint8_t)bits(w0, 11, 4) : 0;
    }
    if (in->neg | in->abs | (in->op_sel & 7))
        in->flags |= RP_IF_SRCMOD;
    if (in->omod != 0 || in->op_sel & 8)
        in->flags |= RP_IF_DSTMOD;
}

/* What the 8-bit destination field of VOP3 names depends on the row. */
static void vop3_destination(struct rp_dec *d, uint32_t w0, bool b_form)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned vdst = bits(w0, 0, 8);
    if (row->fmt == RP_FMT_VOPC) {
        in->sdst = rp_dec_sgpr(d, vdst, row->sdst);
    } else if (in->op == RP_OP_v_readlane_b32) {
        in->dst = rp_dec_sgpr(d, vdst, row->dst);
    } else {
        in->dst = rp_dec_vgpr(d, vdst, row->dst);
        if (b_form)
            in->sdst = rp_dec_sgpr(d, bits(w0, 8, 7), row->sdst);
    }
}

/* The truth table sits where abs, neg and omod are otherwise. */
static void bitop3_modifiers(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    struct rp_insn *in = d->in;
    in->cbsz = (uint8_t)(bits(w1, 27, 2) << 6 | bits(w0, 8, 3) << 3 | bits(w1, 29, 3));
    in->op_sel = (uint8_t)bits(w0, 11, 4);
    d->bad |= bits(w0, 15, 1) || (in->op == RP_OP_v_bitop3_b32 && in->op_sel);
}

static void decode_vop3(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = rp_dec_dword(d);
    if (d->bad || !rp_dec_row(d, RP_FMT_VOP3, 0, bits(w0, 16, 10)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool b_form = row->sdst != RP_T_NONE && row->fmt != RP_FMT_VOPC;
    bool accumulates = (row->fmt == RP_FMT_VOP2 || in->op == RP_OP_v_cvt_pkaccum_u8_f32) &&
                       row->src[2] != RP_T_NONE;
    vop3_destination(d, w0, b_form);
    for (unsigned i = 0; i < 3; i++)
        if (!(accumulates && i == 2))
            in->src[i] = rp_dec_source(d, bits(w1, 9 * i, 9), row->src[i], false);
    for (unsigned i = 0; i < 3; i++) /* more than a 64-bit pair, and not of v_mqsad: vectors only */
        d->bad |= in->src[i].dwords > 4 && in->src[i].kind != RP_OPND_VGPR;
    if (accumulates)
        in->src[2] = rp_dec_vgpr(d, in->dst.index, row->src[2]);
    if (row->src[3] == RP_T_MASK)
        in->src[3] = row->src[2] != RP_T_NONE ? rp_dec_sgpr(d, RP_SGPR_VCC_LO, RP_T_MASK)
                                              : rp_dec_scalar(d, bits(w1, 18, 9), RP_T_MASK, false);
    d->bad |= row->src[3] == RP_T_MASK && bits(w1, 18, 9) >= SRC_VGPR && row->src[2] == RP_T_NONE;
    if (in->op == RP_OP_v_bitop3_b16 || in->op == RP_OP_v_bitop3_b32)
        bitop3_modifiers(d, w0, w1);
    else if (in->op == RP_OP_v_permlane16_swap_b32 || in->op == RP_OP_v_permlane32_swap_b32)
        in->op_sel = (uint8_t)bits(w0, 11, 2); /* FI and BOUND_CTRL, in place of op_sel */
    else
        vop3_modifiers(d, w0, w1, b_form);
}

static void decode_vop3p(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = rp_dec_dword(d);
    unsigned opcode = bits(w0, 16, 7);
    if (opcode == LOAD_SCALES) {
        rp_dec_mfma_scaled(d, w0, w1);
        return;
    }
    if (d->bad || !rp_dec_row(d, RP_FMT_VOP3P, 0, opcode))
        return;
    if (rp_op_is_mai(d->in->op)) {
        rp_dec_mfma(d, w0, w1);
        return;
    }
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned used = 0;
    in->dst = rp_dec_vgpr(d, bits(w0, 0, 8), row->dst);
    for (unsigned i = 0; i < 3; i++) {
        in->src[i] = rp_dec_source(d, bits(w1, 9 * i, 9), row->src[i], false);
        used |= (row->src[i] != RP_T_NONE) << i;
    }
    in->op_sel = (uint8_t)bits(w0, 11, 3);
    in->op_sel_hi = (uint8_t)(bits(w1, 27, 2) | bits(w0, 14, 1) << 2);
    in->neg = (uint8_t)bits(w1, 29, 3);
    in->abs = (uint8_t)bits(w0, 8, 3);
    if (used & (in->op_sel | (in->op_sel_hi ^ 7) | in->neg | in->abs))
        in->flags |= RP_IF_SRCMOD;
    if (bits(w0, 15, 1))
        in->flags |= RP_IF_CLAMP | RP_IF_DSTMOD;
}

/* ---- the whole ---- */

static void decode_format(struct rp_dec *d, uint32_t w)
{
    if (!(w >> 31)) {
        switch (bits(w, 25, 6)) {
        case 0x3e:
            decode_vopc(d, w);
            break;
        case 0x3f:
            decode_vop1(d, w);
            break;
        default:
            decode_vop2(d, w);
            break;
        }
        return;
    }
    if (bits(w, 30, 2) == 2) {
        decode_scalar(d, w);
        return;
    }
    switch (bits(w, 26, 6)) {
    case 0x30:
        rp_dec_smem(d, w);
        break;
    case 0x34:
        if (bits(w, 23, 3) == 7)
            decode_vop3p(d, w);
        else
            decode_vop3(d, w);
        break;
    case 0x36:
        rp_dec_ds(d, w);
        break;
    case 0x37:
        rp_dec_flat(d, w);
        break;
    case 0x38:
        rp_dec_mubuf(d, w);
        break;
    case 0x3a:
        rp_dec_mtbuf(d, w);
        break;
    default: /* MIMG, EXP, VINTRP: gfx942 has no use for them and the table no rows */
        d->bad = true;
        break;
    }
}

static bool ends_block(const struct rp_insn *in)
{
    switch (in->op) {
    case RP_OP_s_endpgm:
    case RP_OP_s_endpgm_saved:
    case RP_OP_s_barrier:
    case RP_OP_s_sleep:
    case RP_OP_s_sethalt:
    case RP_OP_s_trap:
    case RP_OP_s_sendmsg:
    case RP_OP_s_icache_inv:
    case RP_OP_s_setpc_b64:
    case RP_OP_s_swappc_b64:
    case RP_OP_s_call_b64:
        return true;
    default:
        return rp_op_rows[in->op].cost == RP_COST_BRANCH;
    }
}

static void note_registers(struct rp_insn *in, const struct rp_opnd *o)
{
    uint16_t top = (uint16_t)(o->index + o->dwords);
    if (o->kind == RP_OPND_VGPR && top > in->vgpr_top)
        in->vgpr_top = top;
    else if (o->kind == RP_OPND_AGPR && top > in->agpr_top)
        in->agpr_top = top;
}

/* pops_exiting_wave_id and LDS direct access are for graphics. */
static bool special_is_supported(unsigned enc)
{
    return enc != SRC_APERTURE_LAST && enc != SRC_LDS_DIRECT;
}

static void finish(struct rp_dec *d)
{
    struct rp_insn *in = d->in;
    in->fn = d->row->fn ? d->row->fn : rp_fault_unimplemented;
    in->cost_class = rp_target_cost(in->op);
    if (in->flags & RP_IF_GDS && in->op != RP_OP_ds_gws_init && in->op != RP_OP_ds_gws_barrier)
        in->fn = rp_fault_unimplemented; /* gfx942 has no global data share, only wave sync */
    if (ends_block(in))
        in->flags |= RP_IF_ENDS_BLOCK;
    note_registers(in, &in->dst);
    note_registers(in, &in->sdst);
    for (unsigned i = 0; i < 4; i++) {
        note_registers(in, &in->src[i]);
        if (in->src[i].kind == RP_OPND_SPECIAL && !special_is_supported(in->src[i].index))
            in->fn = rp_fault_operand;
    }
    if (in->fn == d->row->fn)
        rp_valu_bind(in);
}

unsigned rp_isa_decode(const uint32_t *code, size_t dwords, struct rp_insn *ret)
{
    struct rp_dec d = {.code = code, .dwords = dwords, .in = ret};
    memset(ret, 0, sizeof *ret);
    ret->fn = rp_fault_illegal;
    uint32_t w = rp_dec_dword(&d);
    if (!d.bad)
        decode_format(&d, w);
    if (d.bad) {
        uint32_t first = ret->raw[0];
        memset(ret, 0, sizeof *ret);
        ret->fn = rp_fault_illegal;
        ret->raw[0] = first;
        ret->cost_class = RP_COST_MISC;
        return 0;
    }
    finish(&d);
    return ret->size_bytes;
}
