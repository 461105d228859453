/*
 * Which rows the process's GPUs have. gfx950 encodes what it shares with gfx942 alike: LLVM's
 * assembler gives the same bytes for every row of gfx942 but the two xf32 matrix instructions,
 * which it does not know there.
 */
#include <stdio.h>
#include <string.h>

#include "ops.h"

/* One target per process: its GPUs are of one kind, and decoded code is shared by them all. */
static int target = RP_ISA_GFX942;

static int now(void)
{
    return __atomic_load_n(&target, __ATOMIC_RELAXED);
}

void rp_isa_target_set(const char *gfx)
{
    int wanted = strcmp(gfx, "gfx950") == 0 ? RP_ISA_GFX950 : RP_ISA_GFX942;
    if (now() != wanted)
        __atomic_store_n(&target, wanted, __ATOMIC_RELAXED);
}

enum rp_isa_target rp_isa_target_get(void)
{
    return (enum rp_isa_target)now();
}

const char *rp_isa_target_name(void)
{
    return now() == RP_ISA_GFX950 ? "gfx950" : "gfx942";
}

bool rp_target_has(unsigned op)
{
    if (now() == RP_ISA_GFX942)
        return op < RP_OP_MAX;
    return op != RP_OP_v_mfma_f32_16x16x8_xf32 && op != RP_OP_v_mfma_f32_32x32x4_xf32;
}

/* The 8-bit floats of gfx942 are the FNUZ ones, those of gfx950 the OCP ones (LLVM, "FP8
 * conversion"): same encoding, another value for the same bits. */
rp_lane_fn *rp_target_lane(unsigned op)
{
    const char *mnemonic = rp_isa_mnemonic(op);
    char ocp[64];
    if (now() == RP_ISA_GFX942 || !(strstr(mnemonic, "fp8") || strstr(mnemonic, "bf8")))
        return rp_lane_find(mnemonic);
    snprintf(ocp, sizeof ocp, "%s_ocp", mnemonic);
    return rp_lane_find(ocp);
}
