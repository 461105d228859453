/**
 * @file handlers.h
 * @brief The runtime's callbacks of signals, so that what they look at is taken apart after them.
 *
 * hip_quiet.h says why. Ends of streams for which there is no call (of a thread that has one of its
 * own) are covered, too: they destroy their signals first, which waits for callbacks that are due.
 */
#ifndef RP_TOOL_HANDLERS_H
#define RP_TOOL_HANDLERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/hsa_abi.h"

struct rp_tool;
struct rp_handler;

struct rp_handlers {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct rp_handler *first; /**< not yet over, newest first */
    uint32_t count;           /**< atomic: of these */
    uint32_t waiting;         /**< threads that wait for .ended */
    uint64_t registered;      /**< in all */
    bool made;
};

void rp_handlers_init(struct rp_handlers *handlers);

/** Whether this thread is in a callback: waiting for another one would be for ever. */
bool rp_handlers_inside(void);

/** hsa_amd_signal_async_handler for the tool's own callbacks that the program's depend on. */
rp_hsa_status rp_handlers_register(rp_hsa_signal signal, uint32_t condition, int64_t value,
                                   bool (*callback)(int64_t value, void *data), void *data);

void rp_handlers_hook(const struct rp_hsa_tables *tables);

/** Callbacks that this thread registers from now on belong to @p graph; NULL: to none. */
void rp_handlers_set_graph(void *graph);

/**
 * Waits for the callbacks that run or whose signals have come. One that has slept for a second, or
 * has used a second of processor time, because it waits for this thread or for something else of
 * the program, is not waited for again, nor are those behind it until it ends; likewise what has
 * not ended after ten seconds. Does nothing inside a callback.
 */
void rp_handlers_settle(struct rp_tool *tool);

/** Waits for all callbacks of a graph's launches, a minute at most. Does nothing inside one. */
void rp_handlers_settle_graph(struct rp_tool *tool, const void *graph);

/** The program gives up a signal: it is not read any more. */
void rp_handlers_forget(struct rp_tool *tool, rp_hsa_signal signal);

#endif
