/**
 * @file jit.h
 * @brief Machine code for hot code: what exec/run.c knows of the translator.
 *
 * Code is translated in regions: what can be reached within its page from an instruction that has
 * been entered often, as far as it has been decoded. A region is made of blocks, straight runs of
 * instructions; a block begins with a look at the wave's budget, and is executed as a whole or not
 * at all. Whatever a block cannot do it leaves to the interpreter, before the instruction, with the
 * wave as the interpreter would have it there.
 */
#ifndef RP_DEVICE_JIT_JIT_H
#define RP_DEVICE_JIT_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../exec/wave.h"

struct rp_code_page;
struct rp_code_recorded;
struct rp_jit_region;

/** What translated code and its caller tell each other. */
struct rp_jit_state {
    uint64_t cycles;          /**< issue cycles: added up */
    const struct rp_insn *in; /**< the instruction that gave another step than NEXT */
    uint32_t left;            /**< instructions of the wave's budget: counted down */
    struct rp_tally *tally;   /**< of the page, when executions are counted (exec/tally.h) */
    int64_t lanes;            /**< active in the present block, less RP_LANES; then, too */
};

/** Beyond enum rp_step: why translated code has returned at rp_wave.pc. */
enum {
    RP_JIT_ELSEWHERE = 0x100, /**< a place that the region has no code for */
    RP_JIT_INTERPRET,         /**< the next instruction is the interpreter's */
};

typedef int rp_jit_enter_fn(struct rp_wave *w, struct rp_jit_state *state, const void *code);

/** A place where translated code may be entered; never changed once it is published. */
struct rp_jit_entry {
    const void *code;
    rp_jit_enter_fn *enter;
    uint32_t insts;    /**< the block's */
    uint16_t vgpr_top; /**< registers the wave must have for anything in the region */
    uint16_t agpr_top;
};

/** Whether this process translates: CPU, system and ROCM_PERF_DEVICE_JIT allow it. */
bool rp_jit_available(void);

/** Switches it off, or on where it is available. Between dispatches. */
void rp_jit_set(bool on);

/** Whether code translated from now on counts its executions. Between dispatches, before any code
 * of theirs has been translated. */
void rp_jit_set_counts(bool on);
bool rp_jit_counts(void);

/** Entries (of branch targets and the like) before a place is translated. */
enum { RP_JIT_HOT = 24 };

/**
 * Translates from instruction @p index of the page. Under the lock of the page's cache; afterwards
 * rp_insn.native of what has been translated is set.
 * @param recorded  NULL; or the page's, for waves with a trail (exec/trail.h): its native is set
 */
void rp_jit_translate(struct rp_code_page *page, unsigned index, struct rp_code_recorded *recorded);

/** Releases a page's translations. Nobody executes them any more. */
void rp_jit_drop(struct rp_code_page *page);

/** Whether the wave can enter there now. */
static inline bool rp_jit_fits(const struct rp_jit_entry *entry, const struct rp_wave *w,
                               uint32_t left)
{
    return left >= entry->insts && !w->gpr_idx && entry->vgpr_top <= w->vgpr_count &&
           entry->agpr_top <= w->agpr_count;
}

#endif
