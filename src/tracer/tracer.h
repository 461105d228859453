/**
 * @file tracer.h
 * @brief This header has the one context of librocm-perf-tool.so, and what its files offer each
 * other.
 *
 * Locks, outermost first; nobody calls into the runtime's queues with any of them held:
 *   ROCr's queue lock (held around packet callbacks) > harvest.lock > bucket or pool lock > trace
 * lock. handlers.lock: nothing is called with it but the load of a signal. The gate (quiesce.h) is
 * within ROCr's queue lock and outside of all others.
 */
#ifndef RP_TRACER_TRACER_H
#define RP_TRACER_TRACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "tracer/completions.h"
#include "tracer/hip_hooks.h"
#include "tracer/hsa_abi.h"
#include "tracer/isolate.h"
#include "tracer/memory_map.h"
#include "tracer/record_file.h"
#include "tracer/signals.h"
#include "tracer/software_device.h"

struct rp_queue;

enum rp_tool_state {
    RP_TOOL_OFF = 0, /**< not loaded, unloaded, or in a forked child: every hook is a plain call */
    RP_TOOL_ON = 1,
};

/** This is an agent of the runtime's list, which does not change: CPUs and GPUs, in its order. */
struct rp_agent {
    rp_hsa_agent handle;
    bool gpu;
};

enum { RP_TOOL_MOST_AGENTS = 256 };

struct rp_tool {
    uint32_t state; /**< atomic, enum rp_tool_state */
    struct rp_hsa hsa;
    struct rp_hsa_loader loader;
    bool loader_known;
    struct rp_trace trace;
    int log_fd; /**< raw log, -1 = none */

    bool drained;       /**< the end has begun, and was waited for */
    int32_t init_count; /**< atomic: hsa_init calls not yet undone */

    bool software;                        /**< the software device answers */
    const struct rp_device_table *device; /**< and what it offers; NULL: nothing */
    struct rp_thread_choice threads;
    uint64_t
        device_hz; /**< of its raw times, see read_times in completions.c; 0 = ask the runtime */
    uint64_t timestamp_hz;
    clockid_t clock; /**< host clock in the domain of HSA timestamps */
    bool clock_known;

    struct rp_handlers handlers;
    struct rp_completion_reader harvest;
    struct rp_submitters producers;
    struct rp_signal_pool quiet_signals;  /**< no interrupt: for packets that had no signal */
    struct rp_signal_pool waking_signals; /**< with interrupt: forwarded to the program's signal */

    struct rp_queue *queues;  /**< under harvest.lock */
    struct rp_queue *retired; /**< kept for late callbacks: existed at OnUnload, or had forwards */
    uint32_t queue_count;
    uint64_t dispatch_count;    /**< atomic */
    uint64_t correlation_count; /**< atomic */
    uint64_t copy_count;        /**< under copies_lock */
    uint64_t lost_dispatches;   /**< atomic: certainly lost, not counting those still pending */

    pthread_mutex_t code_lock; /**< agents and code objects */
    struct rp_agent agents[RP_TOOL_MOST_AGENTS];
    uint32_t agent_count; /**< atomic; 0: not yet recorded */
    uint32_t code_object_count;
    uint32_t kernel_count;
    struct rp_kernel_map kernels;

    struct rp_hip hip;

    struct rp_isolate isolate;
    struct rp_memory memory;
};

extern struct rp_tool rp_the_tool;

/** Finds which of the kernel's clocks agrees with the runtime's. */
void rp_tool_find_clock(struct rp_tool *tool);
/** Reads the runtime's own clock. */
uint64_t rp_tool_runtime_ns(const struct rp_tool *tool);
/** Returns the host's time in the domain of the dispatch times. */
uint64_t rp_tool_now_ns(struct rp_tool *tool);
/** Converts ticks of a counter to nanoseconds. */
static inline uint64_t rp_tool_to_ns(uint64_t ticks, uint64_t hz)
{
    const uint64_t ns_per_s = 1000000000;

    return hz == ns_per_s ? ticks : ticks / hz * ns_per_s + ticks % hz * ns_per_s / hz;
}

/** Writes one line of the raw log. Without ROCM_PERF_TOOL_DEBUG it does nothing. */
void rp_tool_log(const struct rp_tool *tool, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rp_tool_lose_dispatches(struct rp_tool *tool, uint64_t count);
uint32_t rp_tool_tid(void);

/** Replaces one entry of a table; the name gives the index. */
#define RP_TOOL_REPLACE(table, name, hook)                                                         \
    do {                                                                                           \
        __typeof__(rp_the_tool.hsa.name) checked_ = (hook);                                        \
        if (rp_the_tool.hsa.name)                                                                  \
            (table)->fn[RP_SLOT_##name] = (void *)checked_;                                        \
    } while (0)

enum rp_hsa_slot {
#define RP_HSA(table, index, need, ret, name, args) RP_SLOT_##name = (index),
#include "tracer/hsa_entries.def"
};

/**
 * Returns signals that queues keep for packets to come, which may be in use. The caller holds
 * harvest.lock.
 */
void rp_queues_give_back(struct rp_tool *tool);
/** Is called when the runtime ends: what is still pending on any queue is lost. */
void rp_queues_retire(struct rp_tool *tool);

/* Each file puts its hooks into the tables. */
void rp_dispatches_hook(const struct rp_hsa_tables *tables);
void rp_signals_hook(const struct rp_hsa_tables *tables);
void rp_code_hook(const struct rp_hsa_tables *tables);

/** Writes the agents once; later calls do nothing. Returns whether any agent was found. */
bool rp_agents_record(struct rp_tool *tool);

/** Returns the number of a GPU among all of them. UINT32_MAX: it is none */
static inline uint32_t rp_agent_gpu_number(const struct rp_tool *tool, rp_hsa_agent agent)
{
    const uint32_t count = __atomic_load_n(&tool->agent_count, __ATOMIC_ACQUIRE);
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; number += tool->agents[i++].gpu)
        if (tool->agents[i].gpu && tool->agents[i].handle == agent)
            return number;
    return UINT32_MAX;
}

/** Writes the name of an agent, or "" when it has none. */
void rp_agent_name(const struct rp_tool *tool, rp_hsa_agent agent, char ret[64]);

/** Tests whether somebody listens who wants a dispatch, or asks which dispatches exist. */
static inline bool rp_isolate_is_on(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->isolate.on, __ATOMIC_ACQUIRE) != 0;
}

/**
 * Tests whether dispatches are recorded. Otherwise they are only followed to their ends, because a
 * captured dispatch must run alone.
 */
static inline bool rp_tool_records(const struct rp_tool *tool)
{
    return !tool->trace.discards;
}

static inline bool rp_tool_active(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->state, __ATOMIC_ACQUIRE) == RP_TOOL_ON;
}

#endif
