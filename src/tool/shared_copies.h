/**
 * @file shared_copies.h
 * @brief Asynchronous copies whose completion signal several operations share: HIP copies an area
 *        with odd pitches row by row, all with one signal that starts at the number of rows.
 *
 * Such a signal has no times of its own to be recorded, but its value says when all of them are
 * over. Followed only where a dispatch is to be captured.
 */
#ifndef RP_TOOL_SHARED_COPIES_H
#define RP_TOOL_SHARED_COPIES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/hsa_abi.h"

struct rp_tool;

struct rp_shared_copy {
    rp_hsa_signal signal;
    int64_t end;  /**< its value when all that share it are over, or below */
    bool unknown; /**< the program has changed the value while they ran */
};

struct rp_shared_copies {
    pthread_mutex_t lock;
    struct rp_shared_copy *entries;
    size_t count; /**< atomic */
    size_t capacity;
};

void rp_shared_copies_init(struct rp_shared_copies *copies);

/**
 * One more copy, before it is handed over.
 * @param pending  operations with this signal that are followed elsewhere and have not ended
 * @return false: no memory to follow it
 */
bool rp_shared_copies_add(struct rp_tool *tool, rp_hsa_signal signal, unsigned pending);
/** The runtime refused the copy that was added last with this signal. */
void rp_shared_copies_withdraw(struct rp_tool *tool, rp_hsa_signal signal);

/** The program is about to change the value. @param anew  whatever it was before */
void rp_shared_copies_before_change(struct rp_tool *tool, rp_hsa_signal signal, bool anew);
/** The program is about to destroy the signal: it must not be looked at afterwards. */
void rp_shared_copies_before_destroy(struct rp_tool *tool, rp_hsa_signal signal);

/** Whether all of them are over. */
bool rp_shared_copies_are_over(struct rp_tool *tool);

#endif
