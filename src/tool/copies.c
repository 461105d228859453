/**
 * @file copies.c
 * @brief Asynchronous copies: same way as WATCH, the program's completion signal is left alone.
 */
#include <inttypes.h>
#include <string.h>

#include "tool/tool.h"

/* What a copy waits for; returns its number. */
static uint64_t record_waits(struct rp_tool *tool, uint32_t dep_count, const rp_hsa_signal *deps)
{
    struct rp_record record = {.kind = RP_REC_WAIT};
    struct rp_rec_wait *wait = &record.u.wait;
    struct rp_waits waits = {.orders = wait->waits, .room = RP_REC_WAITS};

    wait->order = rp_producers_order(&tool->producers);
    for (uint32_t i = 0; i < dep_count && deps; i++) {
        /* Each signal has room for all that are kept of it: nothing is cut off. */
        if (waits.count + RP_PRODUCERS_KEPT > waits.room) {
            wait->wait_count = waits.count;
            wait->unknown_count = waits.unknown_count;
            rp_trace_append(&tool->trace, &record);
            waits.count = waits.unknown_count = 0;
        }
        rp_producers_wait(&tool->producers, deps[i], &waits);
    }
    wait->wait_count = waits.count;
    wait->unknown_count = waits.unknown_count;
    if (waits.count + waits.unknown_count > 0)
        rp_trace_append(&tool->trace, &record);
    return wait->order;
}

/** A copy that is being handed over. */
struct begun {
    struct rp_pending *entry; /* NULL: not recorded */
    rp_hsa_signal shared;     /* 0: it is not among the shared copies */
};

/* Not recorded, and counted: times of a signal that several operations share would be mixed. When
 * it ends can be seen all the same. */
static rp_hsa_signal begin_shared(struct rp_tool *tool, rp_hsa_signal signal, bool busy,
                                  uint64_t bytes)
{
    rp_producers_forget(&tool->producers, signal);
    rp_tool_log(tool, "lost copy bytes=%" PRIu64 ": signal is shared", bytes);
    rp_trace_count_lost(&tool->trace);
    if (rp_tool_records(tool)) /* nothing is to be captured */
        return 0;
    if (rp_shared_copies_add(tool, signal, busy))
        return signal;
    __atomic_add_fetch(&tool->isolate.untracked, 1, __ATOMIC_RELEASE);
    return 0;
}

/* Publishes an entry before the copy is handed over, because it may complete at once. */
static struct begun begin_copy(rp_hsa_signal signal, const struct rp_rec_copy *copy,
                               uint32_t dep_count, const rp_hsa_signal *deps)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_pending *entry = NULL;
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)signal;
    struct begun begun = {0};
    bool busy;

    if (!rp_tool_active(tool) || !signal)
        return begun;
    pthread_mutex_lock(&tool->harvest.copies_lock);
    busy = rp_harvest_busy(tool, signal);
    if (!busy && tool->hsa.hsa_signal_load_relaxed(signal) == 1)
        entry = rp_line_next(&tool->harvest.copies);
    if (entry) {
        entry->way = RP_PENDING_COPY;
        entry->signal = signal;
        entry->start0 = raw->start_ts;
        entry->end0 = raw->end_ts;
        entry->rec.copy = *copy;
        entry->rec.copy.tid = rp_tool_tid();
        entry->rec.copy.order = record_waits(tool, dep_count, deps);
        rp_producers_set(&tool->producers, signal, entry->rec.copy.order, true);
        entry->rec.copy.copy_id = ++tool->copy_count;
        entry->rec.copy.correlation_id = rp_hip_correlation(tool);
        rp_harvest_publish(tool, &tool->harvest.copies, entry);
        begun.entry = entry;
    } else {
        begun.shared = begin_shared(tool, signal, busy, copy->bytes);
    }
    pthread_mutex_unlock(&tool->harvest.copies_lock);
    return begun;
}

static rp_hsa_status end_copy(rp_hsa_status status, struct begun begun, bool entered)
{
    if (status != RP_HSA_SUCCESS && begun.entry)
        rp_harvest_withdraw(&rp_the_tool, begun.entry);
    if (status != RP_HSA_SUCCESS && begun.shared)
        rp_shared_copies_withdraw(&rp_the_tool, begun.shared);
    rp_gate_leave(&rp_the_tool.isolate.gate, entered);
    return status;
}

static struct rp_rec_copy describe_copy(const void *dst, rp_hsa_agent dst_agent, const void *src,
                                        rp_hsa_agent src_agent, uint64_t bytes)
{
    return (struct rp_rec_copy){.bytes = bytes,
                                .dst_agent = dst_agent,
                                .src_agent = src_agent,
                                .dst_address = (uint64_t)(uintptr_t)dst,
                                .src_address = (uint64_t)(uintptr_t)src};
}

static rp_hsa_status hook_async_copy(void *dst, rp_hsa_agent dst_agent, const void *src,
                                     rp_hsa_agent src_agent, size_t bytes, uint32_t dep_count,
                                     const rp_hsa_signal *deps, rp_hsa_signal completion)
{
    const struct rp_rec_copy copy = describe_copy(dst, dst_agent, src, src_agent, bytes);
    const bool entered = rp_gate_enter(&rp_the_tool.isolate.gate);
    const struct begun begun = begin_copy(completion, &copy, dep_count, deps);

    return end_copy(rp_the_tool.hsa.hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, bytes,
                                                              dep_count, deps, completion),
                    begun, entered);
}

static rp_hsa_status hook_async_copy_on_engine(void *dst, rp_hsa_agent dst_agent, const void *src,
                                               rp_hsa_agent src_agent, size_t bytes,
                                               uint32_t dep_count, const rp_hsa_signal *deps,
                                               rp_hsa_signal completion, uint32_t engine,
                                               bool force_sdma)
{
    struct rp_rec_copy copy = describe_copy(dst, dst_agent, src, src_agent, bytes);
    const bool entered = rp_gate_enter(&rp_the_tool.isolate.gate);
    struct begun begun;

    copy.engine = engine;
    begun = begin_copy(completion, &copy, dep_count, deps);
    return end_copy(
        rp_the_tool.hsa.hsa_amd_memory_async_copy_on_engine(
            dst, dst_agent, src, src_agent, bytes, dep_count, deps, completion, engine, force_sdma),
        begun, entered);
}

static rp_hsa_status
hook_async_copy_rect(const struct rp_hsa_pitched *dst, const struct rp_hsa_dim3 *dst_offset,
                     const struct rp_hsa_pitched *src, const struct rp_hsa_dim3 *src_offset,
                     const struct rp_hsa_dim3 *range, rp_hsa_agent copy_agent, uint32_t direction,
                     uint32_t dep_count, const rp_hsa_signal *deps, rp_hsa_signal completion)
{
    const bool entered = rp_gate_enter(&rp_the_tool.isolate.gate);
    struct begun begun = {0};

    if (dst && src && range) {
        /* Only the copying agent is named; agent 0 stands for the host, as the direction says. */
        const struct rp_rec_copy copy =
            describe_copy(dst->base, direction == RP_HSA_DEVICE_TO_HOST ? 0 : copy_agent, src->base,
                          direction == RP_HSA_HOST_TO_DEVICE ? 0 : copy_agent,
                          (uint64_t)range->x * range->y * range->z);

        begun = begin_copy(completion, &copy, dep_count, deps);
    }
    return end_copy(rp_the_tool.hsa.hsa_amd_memory_async_copy_rect(dst, dst_offset, src, src_offset,
                                                                   range, copy_agent, direction,
                                                                   dep_count, deps, completion),
                    begun, entered);
}

static rp_hsa_status hook_async_copy_enable(bool enable)
{
    return rp_the_tool.hsa.hsa_amd_profiling_async_copy_enable(enable ||
                                                               rp_tool_active(&rp_the_tool));
}

void rp_copies_hook(const struct rp_hsa_tables *tables)
{
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_async_copy, hook_async_copy);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_async_copy_on_engine, hook_async_copy_on_engine);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_async_copy_rect, hook_async_copy_rect);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_profiling_async_copy_enable, hook_async_copy_enable);
}
