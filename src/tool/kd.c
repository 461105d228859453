/**
 * @file kd.c
 * @brief Register counts out of a kernel descriptor.
 *
 * Layout and granularities: AMDGPU code object v3+ "Kernel Descriptor", compute_pgm_rsrc1 and 3.
 * What is reported is what was allocated, not what the compiler used, because that is what
 * rocprofv3 stores (facts/rocm-formats.md 4.4).
 */
#include "tool/kd.h"

#include <stdlib.h>
#include <string.h>

enum {
    KD_RSRC3 = 44,
    KD_RSRC1 = 48,
    KD_PROPERTIES = 56,

    RSRC1_VGPR_MASK = 0x3f, /* bits 5:0, granulated work-item VGPR count */
    RSRC1_SGPR_SHIFT = 6,   /* bits 9:6, granulated wavefront SGPR count */
    RSRC1_SGPR_MASK = 0xf,
    RSRC3_ACCUM_MASK = 0x3f, /* bits 5:0 on gfx90a+: where the AccVGPRs begin, in fours */
    PROPERTY_WAVE32 = 1 << 10,

    SGPR_FIXED_GFX10 = 128, /* gfx10+ gives every wave the same number */
};

static uint32_t load_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static int gfx_major(const char *digits)
{
    /* gfx942, gfx90a: one digit of major; gfx1030, gfx1100: two. */
    size_t length = strspn(digits, "0123456789abcdef");

    if (length == 3)
        return digits[0] - '0';
    if (length == 4)
        return (digits[0] - '0') * 10 + digits[1] - '0';
    return -1;
}

int rp_kd_registers(const char *gfx, const uint8_t kd[RP_KD_BYTES], struct rp_kd_registers *ret)
{
    uint32_t rsrc1 = load_u32(kd + KD_RSRC1);
    uint32_t rsrc3 = load_u32(kd + KD_RSRC3);
    uint32_t vgpr = rsrc1 & RSRC1_VGPR_MASK;
    uint32_t sgpr = (rsrc1 >> RSRC1_SGPR_SHIFT) & RSRC1_SGPR_MASK;
    uint16_t properties;
    const char *name;
    int major;

    memcpy(&properties, kd + KD_PROPERTIES, sizeof(properties));
    if (strncmp(gfx, "gfx", 3) != 0)
        return -1;
    name = gfx + 3;
    major = gfx_major(name);
    if (major < 7)
        return -1;

    if (major >= 10) {
        ret->wave_size = properties & PROPERTY_WAVE32 ? 32 : 64;
        ret->arch_vgpr_count = (vgpr + 1) * (ret->wave_size == 32 ? 8 : 4);
        ret->accum_vgpr_count = 0;
        ret->sgpr_count = SGPR_FIXED_GFX10;
        return 0;
    }
    ret->wave_size = 64;
    /* Two granules of 8: gfx9 always allocates an even number of them. */
    ret->sgpr_count = 16 * (sgpr / 2 + 1);
    if (strncmp(name, "90a", 3) == 0 || strncmp(name, "94", 2) == 0 ||
        strncmp(name, "95", 2) == 0) {
        uint32_t unified = 8 * (vgpr + 1);
        uint32_t arch = 4 * ((rsrc3 & RSRC3_ACCUM_MASK) + 1);

        /* One file holds both; a descriptor that says otherwise is not believed. */
        ret->arch_vgpr_count = arch < unified ? arch : unified;
        ret->accum_vgpr_count = unified - ret->arch_vgpr_count;
    } else {
        ret->arch_vgpr_count = 4 * (vgpr + 1);
        ret->accum_vgpr_count = strncmp(name, "908", 3) == 0 ? ret->arch_vgpr_count : 0;
    }
    return 0;
}
