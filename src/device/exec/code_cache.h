/**
 * @file code_cache.h
 * @brief All dispatches of the process share decoded instructions, which are found by address.
 *
 * The unit is a page of 4 KiB of GPU code. A page remembers the bytes it was decoded from; every
 * dispatch compares them with memory when it first enters the page, so rewritten code is noticed
 * even when nobody announced it.
 */
#ifndef RP_DEVICE_EXEC_CODE_CACHE_H
#define RP_DEVICE_EXEC_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/exec/dispatch.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"

struct rp_code_page;
struct rp_code_recorded;
struct rp_exec_worker;
struct rp_jit_entry;
struct rp_jit_state;

/** rp_jit_translator makes machine code of hot code with this interface. */
struct rp_translator {
    bool (*available)(void);
    /**
     * Translates from instruction @p index of the page, under the lock of the cache; afterwards
     * rp_insn.native of what has been translated is set.
     * @param recorded  NULL; or the page's, for waves with a run log (executor.h): its native is
     *         set
     */
    void (*translate)(struct rp_code_page *page, unsigned index, struct rp_code_recorded *recorded);
    /** Releases a page's translations. Nobody executes them any more. */
    void (*drop)(struct rp_code_page *page);
};

enum {
    RP_CODE_PAGE_BYTES = 4096,
    RP_CODE_PAGE_INSNS = RP_CODE_PAGE_BYTES / 4,
    RP_CODE_REACH = 12, /**< how far an instruction that begins in a page may go beyond it */
};

/** These are translations of a page for waves that are recorded (executor.h). */
struct rp_code_recorded {
    const struct rp_jit_entry *native[RP_CODE_PAGE_INSNS]; /**< as rp_insn.native; atomic */
    uint8_t heat[RP_CODE_PAGE_INSNS];
};

struct rp_code_page {
    uint64_t base_va;
    const struct rp_translator *translator; /**< or NULL */
    unsigned refs;             /**< the cache's own and one per dispatch using it; atomic */
    struct rp_code_page *next; /**< hash chain */
    uint8_t bytes[RP_CODE_PAGE_BYTES +
                  RP_CODE_REACH]; /**< as decoded; the last instruction may reach beyond */
    uint32_t valid_bytes;         /**< how many of them are mapped */
    bool counts;                  /**< its translations count executions */
    struct rp_jit_region
        *regions; /**< its translations (jit_translate.c), and how large they are */
    size_t region_bytes;
    uint8_t heat[RP_CODE_PAGE_INSNS];  /**< how often an instruction has been entered; atomic */
    struct rp_code_recorded *recorded; /**< NULL until a recorded wave has come by; atomic */
    /** There is one instruction per dword. fn is NULL until it is decoded, and is written last. */
    struct rp_insn insn[RP_CODE_PAGE_INSNS];
};

/**
 * Returns the page that holds @p va, with a reference for the caller.
 * @param counts  executions are counted: translations of such pages are others
 * @return NULL with *ret_kind MEMORY (code not mapped) or NO_MEMORY
 */
struct rp_code_page *rp_code_page_get(struct rp_mem *mem, uint64_t va, bool counts,
                                      enum rp_fault_kind *ret_kind);

/** Drops a reference; NULL is accepted. */
void rp_code_page_put(struct rp_code_page *page);

/** Translates hot code of @p page from slot @p index on. */
void rp_code_translate(struct rp_code_page *page, unsigned index);

/** Returns the page's struct, which is made when there is none. NULL: the host is out of memory */
struct rp_code_recorded *rp_code_recorded_new(struct rp_code_page *page);

/** Does the same for recorded waves of a page that has rp_code_page.recorded. */
void rp_code_translate_recorded(struct rp_code_page *page, unsigned index);

/** Returns what is counted of all dispatches. */
enum rp_counting rp_exec_counts(void);

/** Decodes the instruction of @p page at slot @p index. */
void rp_code_decode(struct rp_code_page *page, unsigned index);

/* These counters say how often each instruction of a dispatch has been executed. Executions are
 * noted as runs of consecutive instructions: a run adds 1 where it begins and subtracts 1 behind
 * its end, so that it costs the same however long it is. In the end the differences are summed up
 * to executions. Each thread notes its own runs, and sums do not depend on who did what.
 */

/** A run may end behind the page, with an instruction that reaches beyond it. */
enum { RP_PAGE_COUNTER_SLOTS = RP_CODE_PAGE_INSNS + RP_CODE_REACH / 4 + 1 };

/** These are the counters of one page of code. */
struct rp_page_counters {
    struct rp_page_counters *next;
    struct rp_code_page *page;           /**< a reference */
    int64_t runs[RP_PAGE_COUNTER_SLOTS]; /**< differences of executions */
    int64_t
        lanes[RP_PAGE_COUNTER_SLOTS]; /**< of active lanes, less RP_LANES, over all executions */
};

/**
 * Returns the worker's counters of a page, which are made when there are none. NULL: the host is
 * out of memory
 */
struct rp_page_counters *rp_page_counters_of(struct rp_exec_worker *h, struct rp_code_page *page);

/** Adds what the worker has executed to the counters, indexed by enum rp_device_counter. */
void rp_page_counters_sum(const struct rp_exec_worker *h, uint64_t *values);

void rp_page_counters_release(struct rp_exec_worker *h);

/* Hot code gets machine code; this is what wave_run.c knows of the translator.
 *
 * Code is translated in regions. A region starts at an instruction that has been entered often,
 * and has what can be reached from there within its page, as far as it has been decoded. It is
 * made of blocks, which are straight runs of instructions. A block begins with a check of the
 * wave's budget, and is executed as a whole or not at all. It leaves whatever it cannot do to the
 * interpreter, before the instruction, with the wave in the state that the interpreter would have
 * there.
 */

typedef int rp_jit_enter_fn(struct rp_wave *w, struct rp_jit_state *state, const void *code);

/** This is a place where translated code may be entered. It never changes once it is published. */
struct rp_jit_entry {
    const void *code;
    rp_jit_enter_fn *enter;
    uint32_t insts;    /**< the block's */
    uint16_t vgpr_top; /**< registers the wave must have for anything in the region */
    uint16_t agpr_top;
};

/* This is one decoded gfx9-family instruction, and the decoder that makes it. An instruction is
 * decoded once, on its first execution, into this structure. Everything that does not depend on a
 * wave's state is resolved here: constants become immediates, register numbers become indices, the
 * handler becomes a pointer.
 */

/** Translated code and its caller exchange these values. */
struct rp_jit_state {
    uint64_t cycles;                /**< issue cycles: added up */
    const struct rp_insn *in;       /**< the instruction that gave another step than NEXT */
    uint32_t left;                  /**< instructions of the wave's budget: counted down */
    struct rp_page_counters *tally; /**< of the page, when executions are counted */
    int64_t lanes;                  /**< active in the present block, less RP_LANES; then, too */
};

/** These values extend enum rp_step: they say why translated code has returned at rp_wave.pc. */
enum {
    RP_JIT_ELSEWHERE = 0x100, /**< a place that the region has no code for */
    RP_JIT_INTERPRET,         /**< the next instruction is the interpreter's */
};

/** Tests whether the wave can enter there now. */
static inline bool rp_jit_fits(const struct rp_jit_entry *entry, const struct rp_wave *w,
                               uint32_t left)
{
    return left >= entry->insts && !w->gpr_idx && entry->vgpr_top <= w->vgpr_count &&
           entry->agpr_top <= w->agpr_count;
}

#endif
