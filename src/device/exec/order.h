/**
 * @file order.h
 * @brief What makes the result independent of the number of threads.
 *
 * Slices are executed at the same time, but an *ordered operation* waits until every earlier slice
 * has retired: a memory atomic that returns a value, any load or store with sc1 (so HIP compiles
 * atomic and volatile accesses; for gfx90a, loads with glc), a message to the host. Everything a
 * program may synchronise with is among them, so a program without data races gets exactly what it
 * would get if slices were executed one after another. Atomics that return nothing do not wait:
 * they are noted, and applied when their slice retires, or before it touches their pages in another
 * way.
 *
 * After an ordered operation a slice ends soon, so that what follows overlaps with other slices.
 */
#ifndef RP_DEVICE_EXEC_ORDER_H
#define RP_DEVICE_EXEC_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch.h"

/** Applies one operation at @p p; returns the value before, and whether it was another one. */
typedef uint64_t rp_atomic_fn(void *p, uint64_t data, uint64_t data2, bool *ret_changed);

struct rp_log_entry {
    rp_atomic_fn *fn;
    uint64_t va;
    uint64_t data;
    uint32_t bytes;
};

enum { RP_LOG_ENTRIES = 8192, RP_LOG_PAGE_WORDS = 16 };

/** Atomics of a slice that are still to be applied, in program order. */
struct rp_atomic_log {
    struct rp_atomic_log *next; /**< list of free ones */
    uint32_t count, applied;
    uint64_t low, high;                /**< GPU addresses: all lie in [low, high) */
    uint64_t pages[RP_LOG_PAGE_WORDS]; /**< a bit per hashed 4 KiB page they may touch */
    struct rp_log_entry entry[RP_LOG_ENTRIES];
};

/**
 * Puts the right gate in front of a decoded instruction's handler. Called once, when it enters the
 * code cache; instructions decoded otherwise execute without gates.
 */
void rp_order_bind(struct rp_insn *in);

/** Whether the gate in front of it is that of a plain access: open unless its slice has noted
 * atomics (rp_hand.log). */
bool rp_order_is_plain(const struct rp_insn *in);

/** Whether the atomics of the instruction in execution are to be noted instead of applied. */
static inline bool rp_order_logging(const struct rp_wave *w)
{
    return w->group->hand->logging;
}

/** Notes an atomic without result on @p bytes of mapped GPU memory. There is always room. */
void rp_order_note(struct rp_wave *w, rp_atomic_fn *fn, uint64_t va, uint32_t bytes, uint64_t data);

/** Applies and empties a log. Memory that has been unmapped meanwhile is left out. */
void rp_log_apply(struct rp_atomic_log *log, struct rp_mem *mem);

/** rp_log_apply outside of a wave's turn, where nothing else guards the accesses. */
void rp_log_retire(struct rp_atomic_log *log, struct rp_mem *mem);

/** Forgets what a log holds. */
void rp_log_clear(struct rp_atomic_log *log);

#endif
