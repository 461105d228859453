/**
 * @file wide.h
 * @brief Matrix instructions in translation: operands that have been widened stay so in scratch
 * memory, for the other instructions of the block that use the same registers.
 */
#ifndef RP_DEVICE_JIT_WIDE_H
#define RP_DEVICE_JIT_WIDE_H

#include "../isa/mfma_parts.h"
#include "translate.h"

enum {
    RP_WIDE_BYTES = RP_MFMA_VALUES_MAX * sizeof(uint32_t[RP_LANES]),
    /* Of the stack, for all operands and for aligning them. */
    RP_WIDE_STACK_BYTES = RP_JIT_WIDES * RP_WIDE_BYTES + 64,
};

/** Nothing is widened. */
void rp_wide_forget(struct rp_jit_translation *t);

/** The instruction has been executed: what it writes is not widened any more. */
void rp_wide_written(struct rp_jit_translation *t, const struct rp_insn *in);

/** Translates a dense matrix instruction; false: nothing written, its handler has to do it. */
bool rp_jit_mfma(struct rp_jit_translation *t, const struct rp_insn *in);

#endif
