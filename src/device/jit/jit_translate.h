/**
 * @file jit_translate.h
 * @brief Machine code for hot code: what wave_run.c knows of the translator.
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
#include <stddef.h>
#include <stdint.h>

#include "device/isa/wave_state.h"

struct rp_code_page;
struct rp_code_recorded;

/** Whether this process translates: CPU, system and ROCM_PERF_DEVICE_JIT allow it. */
bool rp_jit_available(void);

/** Switches it off, or on where it is available. Between dispatches. */
void rp_jit_set(bool on);

/** Whether code translated from now on counts its executions. Between dispatches, before any code
 * of theirs has been translated. */
void rp_jit_set_counts(bool on);
bool rp_jit_counts(void);

/**
 * Translates from instruction @p index of the page. Under the lock of the page's cache; afterwards
 * rp_insn.native of what has been translated is set.
 * @param recorded  NULL; or the page's, for waves with a trail (executor.h): its native is set
 */
void rp_jit_translate(struct rp_code_page *page, unsigned index, struct rp_code_recorded *recorded);

/** Releases a page's translations. Nobody executes them any more. */
void rp_jit_drop(struct rp_code_page *page);

#endif
