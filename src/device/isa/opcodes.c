#include "device/isa/instruction.h"

#include <stdio.h>
#include <string.h>

const unsigned char rp_cost_cycles[RP_COST_MAX] = {
#define X(name, cycles, what) [RP_COST_##name] = cycles,
    RP_COST_CLASSES(X)
#undef X
};

const struct rp_op_row rp_op_rows[RP_OP_ALL] = {
    [RP_OP_INVALID] = {.mnemonic = "invalid"},
#define RP_OP(...) RP_MEM(__VA_ARGS__, NONE, 0, 0)
#define RP_MEM(fmt_, opcode_, mnemonic_, dst_, sdst_, s0_, s1_, s2_, s3_, handler_, cost_,         \
               access_, bytes_, step_)                                                             \
    [RP_OP_##mnemonic_] = {.mnemonic = #mnemonic_,                                                 \
                           .fn = handler_,                                                         \
                           .opcode = opcode_,                                                      \
                           .fmt = RP_FMT_##fmt_,                                                   \
                           .dst = RP_T_##dst_,                                                     \
                           .sdst = RP_T_##sdst_,                                                   \
                           .src = {RP_T_##s0_, RP_T_##s1_, RP_T_##s2_, RP_T_##s3_},                \
                           .cost = RP_COST_##cost_,                                                \
                           .access = RP_ACCESS_##access_,                                          \
                           .bytes = bytes_,                                                        \
                           .step = step_},
#define RP_OP_NOEXEC(fmt_, opcode_, mnemonic_, dst_, sdst_, s0_, s1_, s2_, s3_)                    \
    [RP_OP_##mnemonic_] = {.mnemonic = #mnemonic_,                                                 \
                           .opcode = opcode_,                                                      \
                           .fmt = RP_FMT_##fmt_,                                                   \
                           .dst = RP_T_##dst_,                                                     \
                           .sdst = RP_T_##sdst_,                                                   \
                           .src = {RP_T_##s0_, RP_T_##s1_, RP_T_##s2_, RP_T_##s3_},                \
                           .cost = RP_COST_MISC},
#include "device/isa/ops_alu.def"
#include "device/isa/ops_gfx90a.def"
#include "device/isa/ops_gfx950.def"
#include "device/isa/ops_mem.def"
#undef RP_OP
#undef RP_MEM
#undef RP_OP_NOEXEC
};

/* The segment of a FLAT row is the first letter of its mnemonic: flat_, scratch_, global_. */
static bool segment_matches(const struct rp_op_row *row, enum rp_seg seg)
{
    static const char letter[] = {
        [RP_SEG_FLAT] = 'f', [RP_SEG_SCRATCH] = 's', [RP_SEG_GLOBAL] = 'g'};
    return row->mnemonic[0] == letter[seg];
}

/* The search is linear: there are about a thousand small rows, searched once per decoded
 * instruction and not per execution.
 */
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

/* The target decides which rows the process's GPUs have, and what they call and charge them. All
 * targets encode what they share alike, except for the few words that isa_decode.c asks about:
 * LLVM's assembler gives the same bytes.
 */

/* There is one target per process, because its GPUs are of one kind and all of them share decoded
 * code.
 */
static enum rp_isa_target target = RP_ISA_GFX942;

static const char *const names[] = {
    [RP_ISA_GFX942] = "gfx942", [RP_ISA_GFX950] = "gfx950", [RP_ISA_GFX90A] = "gfx90a"};

enum rp_isa_target rp_isa_target_get(void)
{
    return __atomic_load_n(&target, __ATOMIC_RELAXED);
}

void rp_isa_target_set(const char *gfx)
{
    const struct rp_arch *arch = rp_arch_find(gfx);
    const enum rp_isa_target wanted = arch ? arch->isa : RP_ISA_GFX942;
    if (rp_isa_target_get() != wanted)
        __atomic_store_n(&target, wanted, __ATOMIC_RELAXED);
}

const char *rp_isa_target_name(void)
{
    return names[rp_isa_target_get()];
}

/* ---- what gfx942 has and gfx90a has not (LLVM's assembler knows them there or not) ---- */

#define NONE(mnemonic) [RP_OP_##mnemonic] = true,
static const bool gfx90a_lacks[RP_OP_ALL] = {
    /* clang-format off */
    NONE(v_mov_b64) NONE(v_lshl_add_u64) NONE(v_fmamk_f32) NONE(v_fmaak_f32)
    NONE(v_cvt_f32_fp8) NONE(v_cvt_f32_bf8) NONE(v_cvt_pk_f32_fp8) NONE(v_cvt_pk_f32_bf8)
    NONE(v_cvt_pk_fp8_f32) NONE(v_cvt_pk_bf8_f32) NONE(v_cvt_sr_fp8_f32) NONE(v_cvt_sr_bf8_f32)
    NONE(v_mfma_f32_16x16x8_xf32) NONE(v_mfma_f32_32x32x4_xf32)
    NONE(v_mfma_i32_32x32x16_i8) NONE(v_mfma_i32_16x16x32_i8)
    NONE(v_mfma_f32_32x32x4_2b_bf16) NONE(v_mfma_f32_16x16x4_4b_bf16)
    NONE(v_mfma_f32_4x4x4_16b_bf16) NONE(v_mfma_f32_32x32x8_bf16) NONE(v_mfma_f32_16x16x16_bf16)
    NONE(v_mfma_f32_16x16x32_bf8_bf8) NONE(v_mfma_f32_16x16x32_bf8_fp8)
    NONE(v_mfma_f32_16x16x32_fp8_bf8) NONE(v_mfma_f32_16x16x32_fp8_fp8)
    NONE(v_mfma_f32_32x32x16_bf8_bf8) NONE(v_mfma_f32_32x32x16_bf8_fp8)
    NONE(v_mfma_f32_32x32x16_fp8_bf8) NONE(v_mfma_f32_32x32x16_fp8_fp8)
    NONE(v_smfmac_f32_16x16x32_f16) NONE(v_smfmac_f32_32x32x16_f16)
    NONE(v_smfmac_f32_16x16x32_bf16) NONE(v_smfmac_f32_32x32x16_bf16)
    NONE(v_smfmac_i32_16x16x64_i8) NONE(v_smfmac_i32_32x32x32_i8)
    NONE(v_smfmac_f32_16x16x64_bf8_bf8) NONE(v_smfmac_f32_16x16x64_bf8_fp8)
    NONE(v_smfmac_f32_16x16x64_fp8_bf8) NONE(v_smfmac_f32_16x16x64_fp8_fp8)
    NONE(v_smfmac_f32_32x32x32_bf8_bf8) NONE(v_smfmac_f32_32x32x32_bf8_fp8)
    NONE(v_smfmac_f32_32x32x32_fp8_bf8) NONE(v_smfmac_f32_32x32x32_fp8_fp8)
    NONE(ds_pk_add_f16) NONE(ds_pk_add_bf16) NONE(ds_pk_add_rtn_f16) NONE(ds_pk_add_rtn_bf16)
    NONE(flat_atomic_add_f32) NONE(flat_atomic_pk_add_f16) NONE(flat_atomic_pk_add_bf16)
    NONE(global_atomic_pk_add_bf16) NONE(buffer_inv)
    NONE(scratch_load_lds_ubyte) NONE(scratch_load_lds_sbyte) NONE(scratch_load_lds_ushort)
    NONE(scratch_load_lds_sshort) NONE(scratch_load_lds_dword)
    NONE(global_load_lds_ubyte) NONE(global_load_lds_sbyte) NONE(global_load_lds_ushort)
    NONE(global_load_lds_sshort) NONE(global_load_lds_dword)
    /* clang-format on */
};
#undef NONE

bool rp_target_has(unsigned op)
{
    switch (rp_isa_target_get()) {
    case RP_ISA_GFX950:
        return op < RP_OP_END_GFX950 && op != RP_OP_v_mfma_f32_16x16x8_xf32 &&
               op != RP_OP_v_mfma_f32_32x32x4_xf32;
    case RP_ISA_GFX90A:
        return op < RP_OP_MAX ? !gfx90a_lacks[op] : op >= RP_OP_END_GFX950;
    default:
        return op < RP_OP_MAX;
    }
}

/* The 8-bit floats of gfx942 are the FNUZ ones, those of gfx950 the OCP ones (LLVM, "FP8
 * conversion"): same encoding, another value for the same bits. */
rp_lane_fn *rp_target_lane(unsigned op)
{
    const char *mnemonic = rp_isa_mnemonic(op);
    char ocp[64];
    if (rp_isa_target_get() != RP_ISA_GFX950 ||
        !(strstr(mnemonic, "fp8") || strstr(mnemonic, "bf8")))
        return rp_lane_find(mnemonic);
    snprintf(ocp, sizeof ocp, "%s_ocp", mnemonic);
    return rp_lane_find(ocp);
}

/* ---- gfx90a's words for what it shares ---- */

static const char *const gfx90a_spelling[RP_OP_ALL] = {
    [RP_OP_v_mfma_f32_32x32x1_2b_f32] = "v_mfma_f32_32x32x1f32",
    [RP_OP_v_mfma_f32_16x16x1_4b_f32] = "v_mfma_f32_16x16x1f32",
    [RP_OP_v_mfma_f32_4x4x1_16b_f32] = "v_mfma_f32_4x4x1f32",
    [RP_OP_v_mfma_f32_32x32x2_f32] = "v_mfma_f32_32x32x2f32",
    [RP_OP_v_mfma_f32_16x16x4_f32] = "v_mfma_f32_16x16x4f32",
    [RP_OP_v_mfma_f32_32x32x4_2b_f16] = "v_mfma_f32_32x32x4f16",
    [RP_OP_v_mfma_f32_16x16x4_4b_f16] = "v_mfma_f32_16x16x4f16",
    [RP_OP_v_mfma_f32_4x4x4_16b_f16] = "v_mfma_f32_4x4x4f16",
    [RP_OP_v_mfma_f32_32x32x8_f16] = "v_mfma_f32_32x32x8f16",
    [RP_OP_v_mfma_f32_16x16x16_f16] = "v_mfma_f32_16x16x16f16",
    [RP_OP_v_mfma_i32_32x32x4_2b_i8] = "v_mfma_i32_32x32x4i8",
    [RP_OP_v_mfma_i32_16x16x4_4b_i8] = "v_mfma_i32_16x16x4i8",
    [RP_OP_v_mfma_i32_4x4x4_16b_i8] = "v_mfma_i32_4x4x4i8",
    [RP_OP_v_mfma_f64_16x16x4_f64] = "v_mfma_f64_16x16x4f64",
    [RP_OP_v_mfma_f64_4x4x4_4b_f64] = "v_mfma_f64_4x4x4f64",
    [RP_OP_global_load_lds_ubyte] = "global_load_ubyte",
    [RP_OP_global_load_lds_sbyte] = "global_load_sbyte",
    [RP_OP_global_load_lds_ushort] = "global_load_ushort",
    [RP_OP_global_load_lds_sshort] = "global_load_sshort",
    [RP_OP_global_load_lds_dword] = "global_load_dword",
};

const char *rp_target_spelling(unsigned op)
{
    const bool other = rp_isa_target_get() == RP_ISA_GFX90A && gfx90a_spelling[op];
    return other ? gfx90a_spelling[op] : rp_isa_mnemonic(op);
}

/* CDNA2 takes 64 and 32 cycles for these, CDNA3 half (AMD matrix instruction calculator). CDNA4 has
 * half of CDNA3's units for doubles (data sheets: 78.6 and 163.4 TFLOP/s). */
uint8_t rp_target_cost(unsigned op)
{
    if (rp_isa_target_get() == RP_ISA_GFX950 && op == RP_OP_v_mfma_f64_16x16x4_f64)
        return RP_COST_MFMA_16;
    if (rp_isa_target_get() == RP_ISA_GFX90A && op == RP_OP_v_mfma_f32_32x32x8_f16)
        return RP_COST_MFMA_16;
    if (rp_isa_target_get() == RP_ISA_GFX90A && op == RP_OP_v_mfma_f32_16x16x16_f16)
        return RP_COST_MFMA_8;
    return rp_op_rows[op].cost;
}

uint64_t rp_inline_float(unsigned enc, unsigned type)
{
    static const uint16_t half[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
    static const uint32_t single[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                      0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    static const uint64_t dbl[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                   0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                   0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
    unsigned i = enc - SRC_FLOAT_FIRST;
    switch (type) {
    case RP_T_BF16: /* bf16 uses the upper half of the f32 pattern. */
    case RP_T_PKBF16:
        return single[i] >> 16;
    case RP_T_F16:
    case RP_T_PKF16:
        return half[i];
    case RP_T_B64:
    case RP_T_U64:
    case RP_T_I64:
    case RP_T_F64:
    case RP_T_B256: /* This is the accumulator of v_mfma_f64. */
        return dbl[i];
    default:
        return single[i];
    }
}
