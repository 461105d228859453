/**
 * @file jit_translate.h
 * @brief The translator makes machine code of hot code.
 *
 * Code is translated in regions: what can be reached within its page from an instruction that has
 * been entered often, as far as it has been decoded. A region is made of blocks, straight runs of
 * instructions; a block begins with a look at the wave's budget, and is executed as a whole or not
 * at all. Whatever a block cannot do it leaves to the interpreter, before the instruction, with the
 * wave as the interpreter would have it there.
 */
#ifndef RP_DEVICE_JIT_JIT_TRANSLATE_H
#define RP_DEVICE_JIT_JIT_TRANSLATE_H

#include <stdbool.h>

#include "device/exec/code_cache.h"

/** ROCM_PERF_DEVICE_JIT, the processor and the system say whether it is available. */
extern const struct rp_translator rp_jit_translator;

/**
 * Switches the translator off, or on where it is available. It may be called between dispatches
 * only.
 */
void rp_jit_set(bool on);

#endif
