/**
 * @file kd.h
 * @brief Register counts out of an AMDGPU kernel descriptor, as rocpd reports them.
 */
#ifndef RP_TOOL_KD_H
#define RP_TOOL_KD_H

#include <stdint.h>

enum { RP_KD_BYTES = 64 };

struct rp_kd_registers {
    uint32_t sgpr_count;
    uint32_t arch_vgpr_count;
    uint32_t accum_vgpr_count;
    uint32_t wave_size;
};

/**
 * Decodes a 64-byte kernel descriptor.
 * @param gfx the agent's name: "gfx942"; decides which encoding the bits have
 * @return 0, or -1 when @p gfx names no AMD GPU: nothing is written then
 */
int rp_kd_registers(const char *gfx, const uint8_t kd[RP_KD_BYTES], struct rp_kd_registers *ret);

#endif
