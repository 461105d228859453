/**
 * @file disposition.h
 * @brief What the program wants done with a signal whose handler is ours.
 *
 * sigaction() and signal() may be called from signal handlers, by several threads, and in a child
 * that was forked while another thread was in the middle of it. So nothing here waits for anybody:
 * an action is written into a cell of its own and becomes the present one by one exchange.
 */
#ifndef RP_DEVICE_EXEC_DISPOSITION_H
#define RP_DEVICE_EXEC_DISPOSITION_H

#include <assert.h>
#include <signal.h>
#include <stdint.h>

enum {
    /* Calls under way at the same time, a cell each. One that a fork cut short keeps its cell. */
    RP_DISPOSITION_CELLS = 64,
    RP_DISPOSITION_WORDS = sizeof(struct sigaction) / sizeof(uint64_t),
};

static_assert(sizeof(struct sigaction) % sizeof(uint64_t) == 0, "copied by the word");

/** All zero: the default action, in cell 0. */
struct rp_disposition {
    uint32_t present; /**< cell in the low byte; above it, how often it has changed */
    uint32_t taken[RP_DISPOSITION_CELLS];
    uint64_t words[RP_DISPOSITION_CELLS][RP_DISPOSITION_WORDS];
};

void rp_disposition_get(const struct rp_disposition *d, struct sigaction *ret);

/** Replaces it. @p fresh and @p ret_old may be the same object. */
void rp_disposition_set(struct rp_disposition *d, const struct sigaction *fresh,
                        struct sigaction *ret_old);

#endif
