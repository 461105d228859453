/**
 * @file fake_exec.h
 * @brief An executor that does what a test says, in place of the real one.
 */
#ifndef TESTS_UNIT_KFD_FAKE_EXEC_H
#define TESTS_UNIT_KFD_FAKE_EXEC_H

#include "device/exec/dispatch.h"
#include "device/timing/dispatch_timing.h"

struct fake_exec {
    unsigned turns;          /**< how many runs a dispatch takes */
    uint64_t ticks;          /**< modelled duration of every dispatch */
    int ticks_status;        /**< negative: of none, and fault says why */
    size_t samples;          /**< of each sampled dispatch */
    unsigned watched;        /**< calls of rp_dispatch_watch_threads */
    bool fault_ends;         /**< what rp_dispatch_is_ended says of any fault */
    bool waits;              /**< what rp_dispatch_waits says */
    int64_t busy_ns;         /**< what rp_dispatch_busy_ns says */
    struct rp_counts counts; /**< of every dispatch */
    double between_ns[2];    /**< its bounds; 0: it has none */
    struct rp_fault fault;   /**< kind other than NONE: the last run faults */
    struct rp_launch launch; /**< the last one */
    unsigned launched, freed;
    unsigned invalidated;
    void (*on_settle)(void *ctx); /**< what rp_exec_settle calls, if it is set */
    void *settle_ctx;
    uint64_t lent_begin, lent_end;       /**< the latest rp_trap_borrow */
    const struct rp_trace_rows *rows;    /**< of every dispatch; NULL: none is simulated */
    struct rp_threads_request rows_wish; /**< what was asked for last */
};

extern struct fake_exec fake_exec;

#endif
