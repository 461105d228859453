/**
 * @file threads_states.h
 * @brief What a wave does over time, from its instructions; and how many do so at once.
 */
#ifndef RP_COLLECT_THREADS_STATES_H
#define RP_COLLECT_THREADS_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_buf;

/** States of a wave; numbers of decoded thread traces. */
enum rp_wave_state {
    RP_STATE_EMPTY,
    RP_STATE_IDLE,  /**< no instruction to issue */
    RP_STATE_EXEC,  /**< one issues */
    RP_STATE_WAIT,  /**< at one that waits: s_waitcnt, s_barrier, s_sleep ... */
    RP_STATE_STALL, /**< one cannot be issued */
    RP_STATES
};

struct rp_state_change {
    uint64_t clock;
    int change;
};

/** Of all waves. Zero-initialise; release with rp_states_free. */
struct rp_states {
    struct rp_state_change *at[RP_STATES];
    size_t count[RP_STATES], room[RP_STATES];
};

/** Writes [[state, clocks], ...], which fill the wave's time, and remembers them. 0 or -1. */
int rp_states_add(struct rp_states *states, const struct rp_threads_wave *wave,
                  const struct rp_threads_row *rows, struct rp_buf *to);

/** {"name", "state", "time"}: waves in the state from each time on; false: none ever was. */
bool rp_states_put(struct rp_states *states, unsigned state, const char *name, struct rp_buf *to);
void rp_states_free(struct rp_states *states);

#endif
