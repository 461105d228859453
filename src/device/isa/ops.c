/* The instruction table and its lookup. */
#include "ops.h"

#include "../timing/cost.h"

const struct rp_op_row rp_op_rows[RP_OP_ALL] = {
    [RP_OP_INVALID] = {.mnemonic = "invalid"},
#define RP_OP(fmt_, opcode_, mnemonic_, dst_, sdst_, s0_, s1_, s2_, s3_, handler_, cost_)          \
    [RP_OP_##mnemonic_] = {.mnemonic = #mnemonic_,                                                 \
                           .fn = handler_,                                                         \
                           .opcode = opcode_,                                                      \
                           .fmt = RP_FMT_##fmt_,                                                   \
                           .dst = RP_T_##dst_,                                                     \
                           .sdst = RP_T_##sdst_,                                                   \
                           .src = {RP_T_##s0_, RP_T_##s1_, RP_T_##s2_, RP_T_##s3_},                \
                           .cost = RP_COST_##cost_},
#define RP_OP_NOEXEC(fmt_, opcode_, mnemonic_, dst_, sdst_, s0_, s1_, s2_, s3_)                    \
    [RP_OP_##mnemonic_] = {.mnemonic = #mnemonic_,                                                 \
                           .opcode = opcode_,                                                      \
                           .fmt = RP_FMT_##fmt_,                                                   \
                           .dst = RP_T_##dst_,                                                     \
                           .sdst = RP_T_##sdst_,                                                   \
                           .src = {RP_T_##s0_, RP_T_##s1_, RP_T_##s2_, RP_T_##s3_},                \
                           .cost = RP_COST_MISC},
#include "ops_alu.def"
#include "ops_gfx90a.def"
#include "ops_gfx950.def"
#include "ops_mem.def"
#undef RP_OP
#undef RP_OP_NOEXEC
};

/* The segment of a FLAT row is the first letter of its mnemonic: flat_, scratch_, global_. */
static bool segment_matches(const struct rp_op_row *row, enum rp_seg seg)
{
    static const char letter[] = {
        [RP_SEG_FLAT] = 'f', [RP_SEG_SCRATCH] = 's', [RP_SEG_GLOBAL] = 'g'};
    return row->mnemonic[0] == letter[seg];
}

/* Linear: about a thousand small rows, searched once per decoded instruction, not per execution. */
static unsigned find_row(unsigned fmt, enum rp_seg seg, unsigned opcode)
{
    for (unsigned i = 1; i < RP_OP_ALL; i++) {
        const struct rp_op_row *row = &rp_op_rows[i];
        if (row->opcode == opcode && row->fmt == fmt && rp_target_has(i) &&
            (fmt != RP_FMT_FLAT || segment_matches(row, seg)))
            return i;
    }
    return RP_OP_INVALID;
}

/* These VOP1 and VOP2 rows have no VOP3 form. */
static bool has_vop3_twin(unsigned op)
{
    switch (op) {
    case RP_OP_v_readfirstlane_b32:
    case RP_OP_v_swap_b32:
    case RP_OP_v_accvgpr_mov_b32:
    case RP_OP_v_fmamk_f32:
    case RP_OP_v_fmaak_f32:
    case RP_OP_v_madmk_f32:
    case RP_OP_v_madak_f32:
    case RP_OP_v_madmk_f16:
    case RP_OP_v_madak_f16:
        return false;
    default:
        return true;
    }
}

unsigned rp_op_find(enum rp_fmt fmt, enum rp_seg seg, unsigned opcode)
{
    if (fmt != RP_FMT_VOP3 || opcode >= 0x1c0)
        return find_row(fmt, seg, opcode);
    if (opcode < 0x100)
        return find_row(RP_FMT_VOPC, seg, opcode);
    unsigned op = opcode < 0x140 ? find_row(RP_FMT_VOP2, seg, opcode - 0x100)
                                 : find_row(RP_FMT_VOP1, seg, opcode - 0x140);
    return has_vop3_twin(op) ? op : (unsigned)RP_OP_INVALID;
}

unsigned rp_type_dwords(unsigned type)
{
    static const uint8_t dwords[RP_T_MAX] = {
        [RP_T_B8] = 1,     [RP_T_U8] = 1,   [RP_T_I8] = 1,    [RP_T_B16] = 1,    [RP_T_U16] = 1,
        [RP_T_I16] = 1,    [RP_T_F16] = 1,  [RP_T_BF16] = 1,  [RP_T_B32] = 1,    [RP_T_U32] = 1,
        [RP_T_I32] = 1,    [RP_T_F32] = 1,  [RP_T_B64] = 2,   [RP_T_U64] = 2,    [RP_T_I64] = 2,
        [RP_T_F64] = 2,    [RP_T_PK16] = 1, [RP_T_PKF16] = 1, [RP_T_PKF32] = 2,  [RP_T_B96] = 3,
        [RP_T_B128] = 4,   [RP_T_B256] = 8, [RP_T_B192] = 6,  [RP_T_PKBF16] = 1, [RP_T_B512] = 16,
        [RP_T_B1024] = 32, [RP_T_MASK] = 2,
    };
    return type < RP_T_MAX ? dwords[type] : 0;
}

bool rp_type_is_float(unsigned type)
{
    return type == RP_T_F16 || type == RP_T_BF16 || type == RP_T_F32 || type == RP_T_F64 ||
           type == RP_T_PKF16 || type == RP_T_PKF32;
}

bool rp_type_is_16bit(unsigned type)
{
    return type >= RP_T_B8 && type <= RP_T_BF16;
}

bool rp_op_is_mai(unsigned op)
{
    return rp_op_rows[op].fn == rp_mfma || op == RP_OP_v_accvgpr_read_b32 ||
           op == RP_OP_v_accvgpr_write_b32;
}

const char *rp_isa_mnemonic(unsigned op)
{
    return rp_op_rows[op < RP_OP_ALL ? op : (unsigned)RP_OP_INVALID].mnemonic;
}
