/**
 * @file instruction_counters.h
 * @brief What executions of an instruction add to hardware counters.
 */
#ifndef RP_DEVICE_ISA_INSTRUCTION_COUNTERS_H
#define RP_DEVICE_ISA_INSTRUCTION_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/isa/instruction.h"

/** Where an instruction is issued to. */
enum rp_unit {
    RP_UNIT_INTERNAL, /**< s_waitcnt, s_nop, s_barrier ...: no unit's */
    RP_UNIT_SALU,
    RP_UNIT_SMEM,
    RP_UNIT_VALU,
    RP_UNIT_FLAT, /**< FLAT, GLOBAL and SCRATCH */
    RP_UNIT_BUFFER,
    RP_UNIT_LDS,
    RP_UNIT_GDS,
    RP_UNIT_BRANCH,
    RP_UNIT_MESSAGE, /**< s_sendmsg, s_endpgm */
};

/**
 * Adds to the counters, indexed by enum rp_device_counter.
 * @param idle_lanes over all executions, lanes that were off; only where lanes count
 */
void rp_insn_add_counters(const struct rp_insn *in, uint64_t times, uint64_t idle_lanes,
                          uint64_t *values);

/** Whether how many lanes are active matters to a counter. */
static inline bool rp_insn_counts_lanes(const struct rp_insn *in)
{
    return in->fmt >= RP_FMT_VOP1 && in->fmt <= RP_FMT_VOP3PX2;
}

#endif
