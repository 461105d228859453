/**
 * @file mem_address.h
 * @brief This header says what buffer and scalar memory instructions address, and whether they may.
 */
#ifndef RP_DEVICE_ISA_MEM_ADDRESS_H
#define RP_DEVICE_ISA_MEM_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/isa/instruction.h"
#include "device/isa/mem_access.h"
#include "device/isa/wave_state.h"

/* Buffer resources (V#) say what MUBUF and MTBUF instructions address, and whether they may.
 * Addressing and range checking are those of the CDNA3 ISA guide, "Buffer Addressing" and "Range
 * Checking". Where the guide leaves room (which offsets the check adds up, what a swizzle needs),
 * this follows AMD's public emulator, which was compared with hardware of this family.
 */

/** This is a V# together with the offsets of one instruction. */
struct rp_buffer {
    uint64_t base;
    uint32_t stride_bytes;
    uint32_t num_records; /**< records if by_record, else bytes */
    uint32_t scalar_offset;
    uint32_t inst_offset;
    uint32_t index_stride; /**< swizzled: this many records are interleaved, dword by dword */
    uint8_t data_format;   /**< BUF_DATA_FORMAT_* */
    uint8_t num_format;    /**< BUF_NUM_FORMAT_* */
    uint16_t dst_sel;      /**< four selectors of 3 bits */
    bool add_lane;         /**< the lane's number is part of the index */
    bool swizzled;
    bool unchecked; /**< every address is in range */
    bool by_record; /**< the index is checked, not the byte offset */
    bool private;   /**< the wave's private memory, at RP_SCRATCH_BASE_VA */
    const uint32_t *index;
    const uint32_t *offset; /**< vector registers, NULL where the instruction has none */
};

/** @return RP_STEP_NEXT, or RP_STEP_FAULT for operands that are no resource */
int rp_buffer_open(struct rp_wave *w, const struct rp_insn *in, struct rp_buffer *ret);

/**
 * Returns the LDS place of a lane in an instruction that loads to LDS, from M0, instruction offset
 * and lane number. M0 counts with 16 bits, and with 18 on gfx950, whose LDS is larger (CDNA4 ISA
 * document, "Memory Buffer Load to LDS"; GLOBAL takes a whole number of dwords). Lanes are a dword
 * apart; in wider loads they are four dwords apart, of which DWORDX3 leaves out the last. It is
 * NULL outside the allocation, where nothing is written.
 * @param bytes  4, 12 or 16
 */
uint8_t *rp_load_lds_at(struct rp_wave *w, const struct rp_insn *in, unsigned lane, unsigned bytes);

/**
 * Tests whether the resource at @p v (four SGPRs) is the one that a wave begins with
 * (kernel_launch.c).
 */
RP_INLINE bool rp_buffer_is_private(const uint32_t *v)
{
    return (v[1] & 0xffff) == RP_SCRATCH_BASE_VA >> 32 && v[1] >> 31 && v[3] >> 23 & 1;
}

/** Returns the index that the range check and the address have in common. */
RP_INLINE uint32_t rp_buffer_index(const struct rp_buffer *b, unsigned lane)
{
    return b->index ? b->index[lane] : 0;
}

RP_INLINE uint32_t rp_buffer_offset(const struct rp_buffer *b, unsigned lane)
{
    return (b->offset ? b->offset[lane] : 0) + b->inst_offset; /* The sum wraps at 32 bits. */
}

/** Returns the GPU address of byte @p extra of the lane's access. */
RP_INLINE uint64_t rp_buffer_at(const struct rp_buffer *b, unsigned lane, uint32_t extra)
{
    uint32_t index = rp_buffer_index(b, lane) + (b->add_lane ? lane : 0);
    uint64_t offset = (uint64_t)rp_buffer_offset(b, lane) + extra;
    uint64_t start = b->base + b->scalar_offset;
    if (!b->swizzled)
        return start + offset + (uint64_t)index * b->stride_bytes;
    uint64_t group = index / b->index_stride, member = index % b->index_stride;
    return start + (group * b->stride_bytes + offset / 4 * 4) * b->index_stride + member * 4 +
           offset % 4;
}

/** Tests whether the @p bytes from byte @p extra of the lane's access are in range. */
RP_INLINE bool rp_buffer_inside(const struct rp_buffer *b, unsigned lane, uint32_t extra,
                                unsigned bytes)
{
    if (b->unchecked)
        return true;
    if (b->by_record)
        return rp_buffer_index(b, lane) < b->num_records;
    return (uint64_t)rp_buffer_offset(b, lane) + b->scalar_offset + extra + bytes <= b->num_records;
}

/**
 * Returns which opening of the barrier of a resource a wave waits for that is at ds_gws_barrier:
 * how many came before.
 */
uint32_t rp_gws_phase(const struct rp_wave *w, const struct rp_insn *in, unsigned *ret_resource);

/* This part is for scalar memory instructions. */

/** A scalar buffer instruction reaches this; only base, stride and size of the V# count. */
struct rp_smem_buffer {
    uint64_t va;          /**< of the first dword */
    uint64_t offset;      /**< of the same, from the start of the buffer */
    uint64_t limit_bytes; /**< size of the buffer */
};

/** Returns the address of s_load, s_store and s_atomic. The hardware ignores the two low bits. */
uint64_t rp_smem_address(const struct rp_wave *w, const struct rp_insn *in);

/** Does the same for the s_buffer forms. The resource operand must be in range. */
struct rp_smem_buffer rp_smem_buffer(const struct rp_wave *w, const struct rp_insn *in);

/** Register numbers are 7 bits; a wide access at the top would leave the file. */
static inline bool rp_sgprs_fit(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_SGPR && o->index + o->dwords <= RP_SGPR_COUNT;
}

/** Tests whether dword @p i of the access is inside the buffer. */
static inline bool rp_smem_inside(const struct rp_smem_buffer *b, unsigned i)
{
    uint64_t at = b->offset + 4ull * i;
    return at + 4 > at && at + 4 <= b->limit_bytes;
}

#endif
