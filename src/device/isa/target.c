/*
 * Which rows the process's GPUs have, and what they call and charge them. All three encode what
 * they share alike, but for the few words that decode_mem.c asks about: LLVM's assembler gives the
 * same bytes.
 */
#include <stdio.h>
#include <string.h>

#include "../timing/cost.h"
#include "ops.h"

/* One target per process: its GPUs are of one kind, and decoded code is shared by them all. */
static int target = RP_ISA_GFX942;

static const char *const names[] = {
    [RP_ISA_GFX942] = "gfx942", [RP_ISA_GFX950] = "gfx950", [RP_ISA_GFX90A] = "gfx90a"};

enum rp_isa_target rp_isa_target_get(void)
{
    return (enum rp_isa_target)__atomic_load_n(&target, __ATOMIC_RELAXED);
}

void rp_isa_target_set(const char *gfx)
{
    int wanted = RP_ISA_GFX942;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(gfx, names[i]) == 0)
            wanted = (int)i;
    if (rp_isa_target_get() != (enum rp_isa_target)wanted)
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

/* CDNA2 takes 64 and 32 cycles for these, CDNA3 half (AMD matrix instruction calculator). */
uint8_t rp_target_cost(unsigned op)
{
    if (rp_isa_target_get() == RP_ISA_GFX90A && op == RP_OP_v_mfma_f32_32x32x8_f16)
        return RP_COST_MFMA_16;
    if (rp_isa_target_get() == RP_ISA_GFX90A && op == RP_OP_v_mfma_f32_16x16x16_f16)
        return RP_COST_MFMA_8;
    return rp_op_rows[op].cost;
}
