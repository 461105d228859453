/**
 * @file mem_scalar.h
 * @brief Addresses of scalar memory instructions.
 */
#ifndef RP_DEVICE_ISA_MEM_SCALAR_H
#define RP_DEVICE_ISA_MEM_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "device/isa/instruction.h"
#include "device/isa/mem_access.h"
#include "device/isa/wave_state.h"

/** What a scalar buffer instruction reaches: only base, stride and size of the V# count. */
struct rp_smem_buffer {
    uint64_t va;          /**< of the first dword */
    uint64_t offset;      /**< of the same, from the start of the buffer */
    uint64_t limit_bytes; /**< size of the buffer */
};

/** Address of s_load, s_store and s_atomic. The two low bits are ignored by the hardware. */
uint64_t rp_smem_address(const struct rp_wave *w, const struct rp_insn *in);

/** The same for the s_buffer forms. The resource operand must be in range. */
struct rp_smem_buffer rp_smem_buffer(const struct rp_wave *w, const struct rp_insn *in);

/** Register numbers are 7 bits; a wide access at the top would leave the file. */
static inline bool rp_sgprs_fit(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_SGPR && o->index + o->dwords <= RP_SGPR_COUNT;
}

/** Whether dword @p i of the access is inside the buffer. */
static inline bool rp_smem_inside(const struct rp_smem_buffer *b, unsigned i)
{
    uint64_t at = b->offset + 4ull * i;
    return at + 4 > at && at + 4 <= b->limit_bytes;
}

#endif
