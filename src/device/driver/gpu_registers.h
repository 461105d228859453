/**
 * @file gpu_registers.h
 * @brief The registers of one GPU that command buffers reach: each holds what was last written.
 *
 * A register exists in each die (XCC). Registers of shader engines and of what repeats inside them
 * exist once for each of these; GRBM_GFX_INDEX of a die says which of them a write or a read is
 * for. Addresses are those of the packets, in dwords; registers outside of a die have addresses
 * above 32 bits. A unit of the GPU that does something on a write, or that knows more than what was
 * written, is attached for its range.
 *
 * Register numbers and fields are those of AMD's public gc_9_4_2_offset.h and gc_9_4_2_sh_mask.h.
 */
#ifndef RP_DEVICE_DRIVER_GPU_REGISTERS_H
#define RP_DEVICE_DRIVER_GPU_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

enum {
    RP_REG_SH_BASE = 0x2c00, /**< of SET_SH_REG */
    RP_REG_SH_END = 0x3000,
    RP_REG_UCONFIG_BASE = 0xc000, /**< of SET_UCONFIG_REG */
    RP_REG_UCONFIG_END = 0x10000,
    RP_REG_GRBM_GFX_INDEX = 0xc200,
};

enum { RP_REGISTERS_XCCS = 8, RP_REGISTERS_UNITS = 8 };

/** This is a place of a register, or all places at once. */
struct rp_register_access {
    uint64_t address;
    uint32_t xccs;                   /**< a bit for each die; only one when it is read */
    int16_t engine, array, instance; /**< of the die; RP_REGISTER_ALL: each */
    uint64_t ticks;                  /**< device time */
};

enum { RP_REGISTER_ALL = -1 };

/** A unit answers for the registers from first to last. */
struct rp_register_unit {
    uint64_t first, last;
    void *ctx;
    /** It is called after the value has been kept. May be NULL. */
    void (*write)(void *ctx, const struct rp_register_access *access, uint32_t value);
    /** @return false: the register reads as it was last written. May be NULL. */
    bool (*read)(void *ctx, const struct rp_register_access *access, uint32_t *ret_value);
};

struct rp_register_values;

/** Initialise it with rp_registers_init(), release it with rp_registers_release(). */
struct rp_registers {
    uint32_t xcc_count;
    uint32_t gfx_index[RP_REGISTERS_XCCS]; /**< GRBM_GFX_INDEX of each die */
    struct rp_register_unit units[RP_REGISTERS_UNITS];
    unsigned unit_count;
    struct rp_idmap addresses;
    struct {
        RP_VEC(struct rp_register_values);
    } values; /**< by the number of the address */
};

/** @param xcc_count  0 is taken for 1 */
void rp_registers_init(struct rp_registers *registers, uint32_t xcc_count);
void rp_registers_release(struct rp_registers *registers);

/** @return false: there are too many units */
bool rp_registers_attach(struct rp_registers *registers, const struct rp_register_unit *unit);

/** Writes a register of all dies in @p xccs, each at the place that its GRBM_GFX_INDEX names. */
void rp_registers_write(struct rp_registers *registers, uint32_t xccs, uint64_t address,
                        uint32_t value, uint64_t ticks);

/** Reads a register of the first die in @p xccs. */
uint32_t rp_registers_read(struct rp_registers *registers, uint32_t xccs, uint64_t address,
                           uint64_t ticks);

/**
 * Tells what was last written at a place; no unit is asked.
 * @return false: nothing was, *ret_value is 0
 */
bool rp_registers_written(const struct rp_registers *registers, const struct rp_register_access *at,
                          uint32_t *ret_value);

/** Returns the bits of all dies. */
static inline uint32_t rp_registers_all_xccs(const struct rp_registers *registers)
{
    return (1u << registers->xcc_count) - 1;
}

#endif
