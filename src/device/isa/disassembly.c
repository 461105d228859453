/* The text of a decoded instruction follows the style of LLVM's AMDGPU disassembler, so that
 * messages read like the listings that people know and tests can compare with it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"

struct out {
    char *buf;
    size_t size, len;
    bool first; /* the next operand is the first */
};

static void put(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct out *o, const char *fmt, ...)
{
    if (o->len + 1 >= o->size)
        return;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(o->buf + o->len, o->size - o->len, fmt, ap);
    va_end(ap);
    if (n > 0)
        o->len += (size_t)n;
    if (o->len >= o->size)
        o->len = o->size - 1;
}

/* Writes " " before the first operand and ", " before the others. */
static void separate(struct out *o)
{
    put(o, o->first ? " " : ", ");
    o->first = false;
}

/* ---- operands ---- */

static void put_sgpr(struct out *o, unsigned index, unsigned n)
{
    static const struct {
        uint8_t index;
        char name[14];
    } special[] = {
        {RP_SGPR_FLAT_SCRATCH_LO, "flat_scratch"},
        {RP_SGPR_XNACK_LO, "xnack_mask"},
        {RP_SGPR_VCC_LO, "vcc"},
        {RP_SGPR_EXEC_LO, "exec"},
    };
    if (index == RP_SGPR_M0) {
        put(o, "m0");
        return;
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (index - special[i].index > 1u)
            continue;
        put(o, "%s%s", special[i].name, n == 2 ? "" : index == special[i].index ? "_lo" : "_hi");
        return;
    }
    bool ttmp = index >= RP_SGPR_TTMP0 && index < RP_SGPR_M0;
    const char *file = ttmp ? "ttmp" : "s";
    unsigned i = ttmp ? index - RP_SGPR_TTMP0 : index;
    if (n == 1)
        put(o, "%s%u", file, i);
    else
        put(o, "%s[%u:%u]", file, i, i + n - 1);
}

/* Would the assembler have encoded this 32-bit literal inline? Then it prints as lit(). */
static bool could_be_inline(uint32_t v)
{
    static const uint32_t floats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                      0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    if ((int32_t)v >= -16 && (int32_t)v <= 64)
        return true;
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        if (v == floats[i])
            return true;
    return false;
}

/* Writes a literal. @p long_k prints 32 bits even for a 16-bit operand. */
static void put_literal(struct out *o, const struct rp_opnd *c, bool long_k)
{
    uint32_t v = (uint32_t)(c->type == RP_T_F64 ? c->imm >> 32 : c->imm);
    if (rp_type_is_16bit(c->type) && c->type != RP_T_B8 && !long_k)
        v &= 0xffff;
    put(o, c->dwords == 1 && could_be_inline(v) ? "lit(0x%x)" : "0x%x", v);
}

static void put_const(struct out *o, const struct rp_opnd *c)
{
    static const char *const floats[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                         "-2.0", "4.0",  "-4.0", "0.15915494"};
    static const uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                      0xc000, 0x4400, 0xc400, 0x3118};
    unsigned enc = c->index;
    if (enc == 255)
        put_literal(o, c, false);
    else if (enc == 248 && c->dwords == 2 && c->type != RP_T_PKF32)
        put(o, "0.15915494309189532");
    else if (enc >= 240 && (c->type == RP_T_U16 || c->type == RP_T_I16 || c->type == RP_T_B16))
        put(o, "0x%x", halves[enc - 240]);
    else if (enc >= 240)
        put(o, "%s", floats[enc - 240]);
    else if (enc >= 128)
        put(o, "%d", enc <= 192 ? (int)enc - 128 : 192 - (int)enc);
    else
        put(o, "0x%x", (unsigned)c->imm & 0xffff);
}

static void put_special(struct out *o, unsigned enc)
{
    static const char *const low[] = {"src_shared_base", "src_shared_limit", "src_private_base",
                                      "src_private_limit", "src_pops_exiting_wave_id"};
    static const char *const high[] = {"src_vccz", "src_execz", "src_scc", "src_lds_direct"};
    put(o, "%s", enc < 240 ? low[enc - 235] : high[enc - 251]);
}

static void put_opnd(struct out *o, const struct rp_opnd *r)
{
    char file = r->kind == RP_OPND_AGPR ? 'a' : 'v';
    switch (r->kind) {
    case RP_OPND_SGPR:
        put_sgpr(o, r->index, r->dwords);
        break;
    case RP_OPND_VGPR:
    case RP_OPND_AGPR:
        if (r->dwords == 1)
            put(o, "%c%u", file, r->index);
        else
            put(o, "%c[%u:%u]", file, r->index, r->index + r->dwords - 1u);
        break;
    case RP_OPND_CONST:
        put_const(o, r);
        break;
    case RP_OPND_SPECIAL:
        put_special(o, r->index);
        break;
    default:
        put(o, "off");
        break;
    }
}

/* Writes the operand after a separator, or nothing if the instruction has none there. */
static void put_next(struct out *o, const struct rp_opnd *r)
{
    if (r->kind == RP_OPND_NONE)
        return;
    separate(o);
    put_opnd(o, r);
}

static void put_source(struct out *o, const struct rp_insn *in, unsigned i)
{
    const struct rp_opnd *r = &in->src[i];
    if (r->kind == RP_OPND_NONE)
        return;
    bool neg = in->neg >> i & 1, abs = in->abs >> i & 1, sext = in->sdwa_sext >> i & 1;
    /* LLVM reads neg(1) and -1 as different operands. */
    bool word = neg && !abs && r->kind == RP_OPND_CONST;
    separate(o);
    if (i > 0 && r->kind == RP_OPND_CONST && r->index == 255 && in->fmt == RP_FMT_VOP2) {
        put_literal(o, r, true); /* The K of madmk and madak keeps its unused half. */
        return;
    }
    put(o, "%s%s%s", sext ? "sext(" : "", word ? "neg(" : neg ? "-" : "", abs ? "|" : "");
    put_opnd(o, r);
    put(o, "%s%s%s", abs ? "|" : "", word ? ")" : "", sext ? ")" : "");
}

/* ---- scalar ---- */

static void put_hwreg(struct out *o, unsigned simm16)
{
    static const char *const names[64] = {
        [1] = "HW_REG_MODE",
        [2] = "HW_REG_STATUS",
        [3] = "HW_REG_TRAPSTS",
        [4] = "HW_REG_HW_ID",
        [5] = "HW_REG_GPR_ALLOC",
        [6] = "HW_REG_LDS_ALLOC",
        [7] = "HW_REG_IB_STS",
        [15] = "HW_REG_SH_MEM_BASES",
        [16] = "HW_REG_TBA_LO",
        [17] = "HW_REG_TBA_HI",
        [18] = "HW_REG_TMA_LO",
        [19] = "HW_REG_TMA_HI",
        [20] = "HW_REG_XCC_ID",
        [21] = "HW_REG_SQ_PERF_SNAPSHOT_DATA",
        [22] = "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
        [23] = "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
        [24] = "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
    };
    unsigned id = simm16 & 63, offset = simm16 >> 6 & 31, width = (simm16 >> 11 & 31) + 1;
    separate(o);
    if (names[id])
        put(o, "hwreg(%s", names[id]);
    else
        put(o, "hwreg(%u", id);
    if (offset != 0 || width != 32)
        put(o, ", %u, %u", offset, width);
    put(o, ")");
}

static void put_waitcnt(struct out *o, unsigned imm)
{
    unsigned vm = (imm & 15) | (imm >> 10 & 0x30), exp = imm >> 4 & 7, lgkm = imm >> 8 & 15;
    bool all = vm == 63 && exp == 7 && lgkm == 15;
    if (all || vm != 63)
        put(o, " vmcnt(%u)", vm);
    if (all || exp != 7)
        put(o, " expcnt(%u)", exp);
    if (all || lgkm != 15)
        put(o, " lgkmcnt(%u)", lgkm);
}

static void put_gpr_idx(struct out *o, unsigned mask)
{
    static const char *const names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    const char *comma = "";
    separate(o);
    put(o, "gpr_idx(");
    for (unsigned i = 0; i < 4; i++)
        if (mask >> i & 1) {
            put(o, "%s%s", comma, names[i]);
            comma = ",";
        }
    put(o, ")");
}

static void print_sopk(struct out *o, const struct rp_insn *in)
{
    unsigned imm = (uint16_t)in->offset;
    switch (in->op) {
    case RP_OP_s_getreg_b32:
        put_next(o, &in->dst);
        put_hwreg(o, imm);
        return;
    case RP_OP_s_setreg_b32:
        put_hwreg(o, imm);
        put_next(o, &in->src[0]);
        return;
    case RP_OP_s_setreg_imm32_b32:
        put_hwreg(o, imm);
        separate(o);
        if ((int32_t)in->raw[1] >= -16 && (int32_t)in->raw[1] <= 64)
            put(o, "%d", (int)in->raw[1]);
        else
            put(o, "0x%x", (unsigned)in->raw[1]);
        return;
    case RP_OP_s_call_b64:
        put_next(o, &in->dst);
        put(o, ", %u", imm);
        return;
    case RP_OP_s_cbranch_i_fork:
        put_next(o, &in->src[0]);
        put(o, ", %u", imm);
        return;
    default:
        put_next(o, in->dst.kind != RP_OPND_NONE ? &in->dst : &in->src[0]);
        put(o, ", 0x%x", imm);
        return;
    }
}

static void print_sopp(struct out *o, const struct rp_insn *in)
{
    unsigned imm = (uint16_t)in->offset;
    switch (in->op) {
    case RP_OP_s_waitcnt:
        put_waitcnt(o, imm);
        return;
    case RP_OP_s_sendmsg:
    case RP_OP_s_sendmsghalt:
        if (imm == 1)
            put(o, " sendmsg(MSG_INTERRUPT)");
        else
            put(o, " sendmsg(%u, %u, %u)", imm & 15, imm >> 4 & 7, imm >> 8 & 3);
        return;
    case RP_OP_s_set_gpr_idx_mode:
        if (imm > 15)
            put(o, " 0x%x", imm);
        else
            put_gpr_idx(o, imm);
        return;
    case RP_OP_s_endpgm:
    case RP_OP_s_endpgm_saved:
    case RP_OP_s_endpgm_ordered_ps_done:
    case RP_OP_s_barrier:
    case RP_OP_s_wakeup:
    case RP_OP_s_icache_inv:
    case RP_OP_s_ttracedata:
    case RP_OP_s_set_gpr_idx_off:
        if (imm != 0)
            put(o, " %u", imm);
        return;
    case RP_OP_s_nop:
    case RP_OP_s_setkill:
    case RP_OP_s_sethalt:
    case RP_OP_s_sleep:
    case RP_OP_s_setprio:
    case RP_OP_s_trap:
    case RP_OP_s_incperflevel:
    case RP_OP_s_decperflevel:
        put(o, imm > 64 ? " 0x%x" : " %u", imm);
        return;
    default:
        put(o, " %u", imm);
        return;
    }
}

static void print_sop(struct out *o, const struct rp_insn *in)
{
    put_next(o, &in->dst);
    put_next(o, &in->src[0]);
    if (in->op == RP_OP_s_set_gpr_idx_on)
        put_gpr_idx(o, (unsigned)in->src[1].imm);
    else
        put_next(o, &in->src[1]);
}

/* ---- vector ALU ---- */

/* Tests whether assembly names the source, which it does not for tied accumulators and an implied
 * VCC.
 */
static bool source_is_shown(const struct rp_insn *in, unsigned i)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    if (row->fmt == RP_FMT_VOP2 && i == 2)
        return in->op == RP_OP_v_fmamk_f32 || in->op == RP_OP_v_fmaak_f32 ||
               in->op == RP_OP_v_madmk_f32 || in->op == RP_OP_v_madak_f32 ||
               in->op == RP_OP_v_madmk_f16 || in->op == RP_OP_v_madak_f16;
    if (in->op == RP_OP_v_cvt_pkaccum_u8_f32 && i == 2)
        return false;
    return i != 3 || row->src[2] == RP_T_NONE;
}

static const char *encoding_suffix(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    if (row->fmt != RP_FMT_VOP1 && row->fmt != RP_FMT_VOP2 && row->fmt != RP_FMT_VOPC)
        return "";
    if (in->flags & RP_IF_SDWA)
        return "_sdwa";
    if (in->flags & RP_IF_DPP)
        return "_dpp";
    if (in->fmt == RP_FMT_VOP3)
        return "_e64";
    switch (in->op) {
    case RP_OP_v_nop:
    case RP_OP_v_clrexcp:
    case RP_OP_v_readfirstlane_b32:
    case RP_OP_v_swap_b32:
    case RP_OP_v_accvgpr_mov_b32:
    case RP_OP_v_fmamk_f32:
    case RP_OP_v_fmaak_f32:
    case RP_OP_v_madmk_f32:
    case RP_OP_v_madak_f32:
    case RP_OP_v_madmk_f16:
    case RP_OP_v_madak_f16:
        return "";
    default:
        return "_e32";
    }
}

static void put_array(struct out *o, const char *name, unsigned bits, unsigned n)
{
    put(o, " %s:[", name);
    for (unsigned i = 0; i < n; i++)
        put(o, "%s%u", i ? "," : "", bits >> i & 1);
    put(o, "]");
}

static unsigned source_count(const struct rp_insn *in)
{
    unsigned n = 0;
    while (n < 3 && in->src[n].kind != RP_OPND_NONE)
        n++;
    return n;
}

static void put_clamp_omod(struct out *o, const struct rp_insn *in)
{
    static const char *const omod[] = {"", " mul:2", " mul:4", " div:2"};
    put(o, "%s%s", in->flags & RP_IF_CLAMP ? " clamp" : "", omod[in->omod & 3]);
}

/* The SDWA forms of these instructions select a source byte only. */
static bool converts_fp8(const struct rp_insn *in)
{
    return in->op == RP_OP_v_cvt_f32_fp8 || in->op == RP_OP_v_cvt_f32_bf8 ||
           in->op == RP_OP_v_cvt_pk_f32_fp8 || in->op == RP_OP_v_cvt_pk_f32_bf8;
}

static void put_sdwa(struct out *o, const struct rp_insn *in)
{
    static const char *const sel[8] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                       "WORD_0", "WORD_1", "DWORD",  "?"};
    static const char *const unused[4] = {"PAD", "SEXT", "PRESERVE", "?"};
    put_clamp_omod(o, in);
    if (in->dst.kind != RP_OPND_NONE && !converts_fp8(in))
        put(o, " dst_sel:%s dst_unused:UNUSED_%s", sel[in->dst_sel & 7],
            unused[in->dst_unused & 3]);
    for (unsigned i = 0; i < 2; i++)
        if (in->src[i].kind != RP_OPND_NONE)
            put(o, " src%u_sel:%s", i, sel[in->src_sel[i] & 7]);
}

static void put_dpp(struct out *o, const struct rp_insn *in)
{
    static const char *const row_shifts[] = {"row_shl", "row_shr", "row_ror"};
    unsigned c = in->dpp_ctrl, n = c & 15;
    if (c < 0x100)
        put(o, " quad_perm:[%u,%u,%u,%u]", c & 3, c >> 2 & 3, c >> 4 & 3, c >> 6 & 3);
    else if (c < 0x130)
        put(o, " %s:%u", row_shifts[(c >> 4) - 0x10], n);
    else if (c >= 0x150 && c < 0x160)
        put(o, " row_newbcast:%u", n);
    else
        switch (c) {
        case 0x130:
            put(o, " wave_shl:1");
            break;
        case 0x134:
            put(o, " wave_rol:1");
            break;
        case 0x138:
            put(o, " wave_shr:1");
            break;
        case 0x13c:
            put(o, " wave_ror:1");
            break;
        case 0x140:
            put(o, " row_mirror");
            break;
        case 0x141:
            put(o, " row_half_mirror");
            break;
        case 0x142:
            put(o, " row_bcast:15");
            break;
        case 0x143:
            put(o, " row_bcast:31");
            break;
        default:
            put(o, " dpp_ctrl:0x%x", c);
            break;
        }
    put(o, " row_mask:0x%x bank_mask:0x%x%s", in->row_mask, in->bank_mask,
        in->bound_ctrl ? " bound_ctrl:1" : "");
}

static void print_vop(struct out *o, const struct rp_insn *in)
{
    put_next(o, &in->dst);
    if (in->sdst.kind != RP_OPND_NONE)
        put_next(o, &in->sdst);
    for (unsigned i = 0; i < 4; i++)
        if (source_is_shown(in, i))
            put_source(o, in, i);
    if (in->flags & RP_IF_SDWA) {
        put_sdwa(o, in);
        return;
    }
    if (in->flags & RP_IF_DPP) {
        put_dpp(o, in);
        return;
    }
    if ((in->op == RP_OP_v_bitop3_b16 || in->op == RP_OP_v_bitop3_b32) && in->cbsz)
        put(o, " bitop3:0x%x", in->cbsz);
    if (in->op == RP_OP_v_permlane16_swap_b32 || in->op == RP_OP_v_permlane32_swap_b32) {
        put(o, "%s%s", in->op_sel & 2 ? " bound_ctrl:1" : "", in->op_sel & 1 ? " fi:1" : "");
        return;
    }
    if (in->op_sel != 0) {
        /* The byte select of v_cvt_sr_* uses two of four bits. */
        unsigned n = in->dst.type == RP_T_B8 ? 3 : source_count(in);
        put_array(o, "op_sel", (in->op_sel & ((1u << n) - 1)) | (in->op_sel >> 3 & 1u) << n, n + 1);
    }
    put_clamp_omod(o, in);
}

static bool is_mix(const struct rp_insn *in)
{
    return in->op == RP_OP_v_fma_mix_f32 || in->op == RP_OP_v_fma_mixlo_f16 ||
           in->op == RP_OP_v_fma_mixhi_f16;
}

static bool is_f64_matrix(const struct rp_insn *in)
{
    return in->op == RP_OP_v_mfma_f64_16x16x4_f64 || in->op == RP_OP_v_mfma_f64_4x4x4_4b_f64;
}

static void put_scales(struct out *o, const struct rp_insn *in)
{
    put_next(o, &in->src[3]);
    put_next(o, &in->sdst);
    if (in->op_sel)
        put_array(o, "op_sel", in->op_sel, 3);
    put_array(o, "op_sel_hi", in->op_sel_hi, 3);
}

static void print_vop3p(struct out *o, const struct rp_insn *in)
{
    unsigned n = source_count(in), all = (1u << n) - 1;
    bool mix = is_mix(in), packed = !mix && !rp_op_is_mai(in->op);
    bool selects = in->src[0].type == RP_T_PK16 || in->src[0].type == RP_T_PKF16 ||
                   in->src[0].type == RP_T_PKBF16 || in->src[0].type == RP_T_PKF32;
    put_next(o, &in->dst);
    for (unsigned i = 0; i < n; i++) {
        if (mix)
            put_source(o, in, i);
        else
            put_next(o, &in->src[i]);
    }
    if (in->fmt == RP_FMT_VOP3PX2)
        put_scales(o, in);
    if ((mix || selects) && in->op_sel & all)
        put_array(o, "op_sel", in->op_sel, n);
    if (mix ? (in->op_sel_hi & all) != 0 : selects && (in->op_sel_hi & all) != all)
        put_array(o, "op_sel_hi", in->op_sel_hi, n);
    if (packed && in->neg & all)
        put_array(o, "neg_lo", in->neg, n);
    if (packed && in->abs & all)
        put_array(o, "neg_hi", in->abs, n);
    if (in->cbsz)
        put(o, " cbsz:%u", in->cbsz);
    /* In a VOP3PX2, ABID only says that the scales count. */
    if (in->abid && in->fmt != RP_FMT_VOP3PX2)
        put(o, " abid:%u", in->abid);
    if (in->blgp && is_f64_matrix(in) && rp_isa_target_get() != RP_ISA_GFX90A)
        put_array(o, "neg", in->blgp, 3);
    else if (in->blgp)
        put(o, " blgp:%u", in->blgp);
    put_clamp_omod(o, in);
}

/* ---- memory ---- */

static void put_cache_bits(struct out *o, const struct rp_insn *in)
{
    static const char *const words[2][3] = {{" sc0", " nt", " sc1"}, {" glc", " slc", " scc"}};
    const char *const *w = words[rp_isa_target_get() == RP_ISA_GFX90A];
    put(o, "%s%s%s", in->flags & RP_IF_SC0 ? w[0] : "", in->flags & RP_IF_NT ? w[1] : "",
        in->flags & RP_IF_SC1 ? w[2] : "");
}

static void print_smem(struct out *o, const struct rp_insn *in)
{
    if (in->op == RP_OP_s_atc_probe || in->op == RP_OP_s_atc_probe_buffer) {
        separate(o);
        /* This operand says what to probe for, and is not a register. */
        put(o, "%u", in->raw[0] >> 6 & 0x7f);
    } else if (in->src[0].kind != RP_OPND_NONE) /* Stores and atomics have a data register here. */
        put_next(o, &in->src[0]);
    else
        put_next(o, &in->dst);
    if (in->src[2].kind == RP_OPND_NONE)
        return;
    put_next(o, &in->src[2]);
    if (in->flags & RP_IF_SOFFSET_EN) {
        put_next(o, &in->src[1]);
        if (in->raw[0] >> 17 & 1) /* IMM */
            put(o, " offset:%s0x%x", in->offset < 0 ? "-" : "",
                (unsigned)(in->offset < 0 ? -in->offset : in->offset));
    } else {
        put(o, ", %s0x%x", in->offset < 0 ? "-" : "",
            (unsigned)(in->offset < 0 ? -in->offset : in->offset));
    }
    put(o, "%s", in->flags & RP_IF_SC0 ? " glc" : "");
}

static void print_flat(struct out *o, const struct rp_insn *in)
{
    put_next(o, &in->dst);
    separate(o);
    put_opnd(o, &in->src[0]);
    put_next(o, &in->src[1]);
    if (in->seg != RP_SEG_FLAT) {
        separate(o);
        put_opnd(o, &in->src[2]);
    }
    if (in->offset)
        put(o, " offset:%d", in->offset);
    put_cache_bits(o, in);
    if (in->flags & RP_IF_LDS && rp_isa_target_get() == RP_ISA_GFX90A)
        put(o, " lds");
}

static void put_swizzle(struct out *o, unsigned imm)
{
    unsigned and_mask = imm & 31, or_mask = imm >> 5 & 31, xor_mask = imm >> 10 & 31;
    if ((imm & 0xff00) == 0x8000) {
        put(o, " offset:swizzle(QUAD_PERM,%u,%u,%u,%u)", imm & 3, imm >> 2 & 3, imm >> 4 & 3,
            imm >> 6 & 3);
        return;
    }
    if ((imm & 0xe000) == 0xc000) {
        put(o, " offset:swizzle(ROTATE,%u,%u)", imm >> 10 & 1, imm >> 5 & 31);
        return;
    }
    if ((imm & 0xffe0) == 0xe000) {
        put(o, " offset:swizzle(FFT,%u)", imm & 31);
        return;
    }
    if (imm & 0x8000) {
        put(o, " offset:%u", imm);
        return;
    }
    bool one_bit = (xor_mask & (xor_mask - 1)) == 0;
    if (or_mask == 0 && and_mask == 31 && xor_mask != 0 && one_bit) {
        put(o, " offset:swizzle(SWAP,%u)", xor_mask);
    } else if (or_mask == 0 && and_mask == 31 && xor_mask > 0 && (xor_mask & (xor_mask + 1)) == 0) {
        put(o, " offset:swizzle(REVERSE,%u)", xor_mask + 1);
    } else if (xor_mask == 0 && and_mask != 31 && and_mask != 0 &&
               ((32 - and_mask) & (31 - and_mask)) == 0 && or_mask < 32 - and_mask) {
        put(o, " offset:swizzle(BROADCAST,%u,%u)", 32 - and_mask, or_mask);
    } else {
        put(o, " offset:swizzle(BITMASK_PERM,\"");
        for (unsigned i = 5; i-- > 0;) {
            unsigned a = and_mask >> i & 1, r = or_mask >> i & 1, x = xor_mask >> i & 1;
            unsigned p0 = (((0 & a) | r) ^ x), p1 = (((1 & a) | r) ^ x);
            put(o, "%c", p0 == p1 ? (p0 ? '1' : '0') : p0 ? 'i' : 'p');
        }
        put(o, "\")");
    }
}

static void print_ds(struct out *o, const struct rp_insn *in)
{
    unsigned imm = (uint16_t)in->offset;
    put_next(o, &in->dst);
    put_next(o, &in->src[0]);
    put_next(o, &in->src[1]);
    put_next(o, &in->src[3]);
    if (in->op == RP_OP_ds_swizzle_b32 && imm != 0) {
        put_swizzle(o, imm);
    } else if (rp_op_rows[in->op].step) {
        if (imm & 0xff)
            put(o, " offset0:%u", imm & 0xff);
        if (imm >> 8)
            put(o, " offset1:%u", imm >> 8);
    } else if (imm) {
        put(o, " offset:%u", imm);
    }
    put(o, "%s", in->flags & RP_IF_GDS ? " gds" : "");
}

/* The assembler assumes 8 and UNORM, so these are not shown. */
static void put_format(struct out *o, const struct rp_insn *in)
{
    static const char *const data[16] = {"INVALID",     "8",          "16",          "8_8",
                                         "32",          "16_16",      "10_11_11",    "11_11_10",
                                         "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
                                         "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
    static const char *const number[8] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                          "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
    if (in->cbsz == 1 && in->blgp == 0)
        return;
    put(o, " format:[");
    if (in->cbsz != 1)
        put(o, "BUF_DATA_FORMAT_%s%s", data[in->cbsz & 15], in->blgp ? "," : "");
    if (in->blgp)
        put(o, "BUF_NUM_FORMAT_%s", number[in->blgp & 7]);
    put(o, "]");
}

static void print_mubuf(struct out *o, const struct rp_insn *in)
{
    if (in->src[2].kind != RP_OPND_NONE) {
        put_next(o, in->src[1].kind != RP_OPND_NONE ? &in->src[1] : &in->dst);
        separate(o);
        put_opnd(o, &in->src[0]);
        put_next(o, &in->src[2]);
        put_next(o, &in->src[3]);
        if (in->fmt == RP_FMT_MTBUF)
            put_format(o, in);
        put(o, "%s%s", in->flags & RP_IF_IDXEN ? " idxen" : "",
            in->flags & RP_IF_OFFEN ? " offen" : "");
        if (in->offset)
            put(o, " offset:%d", in->offset);
    }
    put_cache_bits(o, in);
    put(o, "%s", in->flags & RP_IF_LDS ? " lds" : "");
}

void rp_isa_print(const struct rp_insn *in, uint64_t pc, char *buf, size_t buf_bytes)
{
    struct out o = {.buf = buf, .size = buf_bytes, .first = true};
    (void)pc; /* Branch targets print as encoded, as LLVM does without symbols. */
    if (buf_bytes == 0)
        return;
    buf[0] = '\0';
    put(&o, "%s%s", rp_target_spelling(in->op), encoding_suffix(in));
    switch (in->fmt) {
    case RP_FMT_SOP1:
    case RP_FMT_SOP2:
    case RP_FMT_SOPC:
        print_sop(&o, in);
        break;
    case RP_FMT_SOPK:
        print_sopk(&o, in);
        break;
    case RP_FMT_SOPP:
        print_sopp(&o, in);
        break;
    case RP_FMT_SMEM:
        print_smem(&o, in);
        break;
    case RP_FMT_VOP1:
    case RP_FMT_VOP2:
    case RP_FMT_VOPC:
    case RP_FMT_VOP3:
        print_vop(&o, in);
        break;
    case RP_FMT_VOP3P:
    case RP_FMT_VOP3PX2:
        print_vop3p(&o, in);
        break;
    case RP_FMT_DS:
        print_ds(&o, in);
        break;
    case RP_FMT_FLAT:
        print_flat(&o, in);
        break;
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        print_mubuf(&o, in);
        break;
    default:
        put(&o, " 0x%08x", in->raw[0]);
        break;
    }
}
