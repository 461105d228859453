#include "packet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "counted.h"
#include "fault.h"
#include "host_ns.h"
#include "log.h"
#include "signal.h"
#include "traced.h"

int rp_cp_queue_init(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t ring_va,
                     uint32_t ring_bytes, uint64_t read_pointer_va, uint64_t write_pointer_va)
{
    uint32_t packets = ring_bytes / RP_AQL_PACKET_BYTES;
    uint64_t queue_va = read_pointer_va - offsetof(struct rp_amd_queue, read_dispatch_id);
    if (packets == 0 || (packets & (packets - 1)) || ring_bytes % RP_AQL_PACKET_BYTES ||
        write_pointer_va != queue_va + offsetof(struct rp_amd_queue, write_dispatch_id))
        return -EINVAL;
    const struct rp_exec_host *host = cp->host;
    queue->ring = host->translate(host->ctx, ring_va, ring_bytes, 1);
    queue->shared = host->translate(host->ctx, queue_va, sizeof *queue->shared, 1);
    if (!queue->ring || !queue->shared)
        return -EFAULT;
    queue->cp = cp;
    queue->ring_va = ring_va;
    queue->queue_va = queue_va;
    queue->ring_packets = packets;
    queue->read_index = __atomic_load_n(&queue->shared->read_dispatch_id, __ATOMIC_ACQUIRE);
    if (cp->causal)
        rp_causal_add(cp->causal, &queue->line, &queue->shared->write_dispatch_id,
                      queue->read_index);
    return 0;
}

void rp_cp_queue_release(struct rp_cp_queue *queue)
{
    rp_dispatch_free(queue->dispatch);
    queue->dispatch = NULL;
}

void rp_cp_queue_close(struct rp_cp_queue *queue)
{
    rp_cp_queue_release(queue);
    if (queue->cp && queue->cp->causal)
        rp_causal_remove(queue->cp->causal, &queue->line);
}

static union rp_aql_packet *current(const struct rp_cp_queue *queue)
{
    uint32_t slot = (uint32_t)(queue->read_index & (queue->ring_packets - 1));
    return (union rp_aql_packet *)(queue->ring + (uint64_t)slot * RP_AQL_PACKET_BYTES);
}

/** Gives the slot back, then tells the packet's signal. */
static enum rp_cp_progress retire(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                  uint64_t start_ticks, uint64_t end_ticks)
{
    union rp_aql_packet *packet = current(queue);
    uint64_t completion = packet->dispatch.completion; /* same place in every packet type */
    queue->end_ticks = end_ticks;
    queue->begun = false;
    rp_clock_advance(cp->clock, end_ticks);
    __atomic_store_n(&packet->header, RP_AQL_INVALID, __ATOMIC_RELEASE);
    queue->read_index++;
    __atomic_store_n(&queue->shared->read_dispatch_id, queue->read_index, __ATOMIC_RELEASE);
    if (rp_signal_complete(cp, completion, start_ticks, end_ticks) < 0)
        rp_fault_packet(cp, queue, RP_QUEUE_ERR_PACKET, "completion signal is not GPU memory");
    return RP_CP_PROGRESS;
}

/** When a packet that depends on nothing but its queue and its doorbell may start. */
static uint64_t earliest(const struct rp_cp_queue *queue)
{
    return queue->end_ticks > queue->seen_ticks ? queue->end_ticks : queue->seen_ticks;
}

/* ---- kernel dispatch ---------------------------------------------------------------------- */

static enum rp_cp_progress launch(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                  const union rp_aql_packet *packet)
{
    uint64_t slot = queue->read_index & (queue->ring_packets - 1);
    struct rp_launch launch = {
        .packet_va = queue->ring_va + slot * RP_AQL_PACKET_BYTES,
        .queue_va = queue->queue_va,
        .kernel_object_va = packet->dispatch.kernel_object,
        .kernarg_va = packet->dispatch.kernarg,
        .dispatch_id = queue->read_index,
        .setup_dimensions = packet->dispatch.setup & 3,
        .private_segment_bytes = packet->dispatch.private_bytes,
        .group_segment_bytes = packet->dispatch.group_bytes,
        .start_ticks = earliest(queue),
    };
    for (int i = 0; i < 3; i++) {
        launch.workgroup_size[i] = packet->dispatch.workgroup_size[i];
        launch.grid_size[i] = packet->dispatch.grid_size[i];
    }
    queue->start_ticks = launch.start_ticks;
    queue->traced = cp->traced && rp_traced_is_wanted(cp->traced, packet->dispatch.completion,
                                                      packet->dispatch.kernel_object, &queue->wish);
    queue->dispatch = rp_dispatch_new(cp->host, cp->arch, &launch);
    if (!queue->dispatch) {
        rp_fault_packet(cp, queue, RP_QUEUE_ERR_GROUP_MEMORY, "the host is out of memory");
        return RP_CP_PROGRESS;
    }
    queue->waits_since_ns = 0;
    queue->waits_told = false;
    return RP_CP_PROGRESS;
}

/** Says once if a dispatch does nothing but wait: perhaps for something that will never come. */
static void watch_waiting(const struct rp_cp *cp, struct rp_cp_queue *queue)
{
    int64_t now_ns = rp_host_ns();
    if (!rp_dispatch_waits(queue->dispatch)) {
        queue->waits_since_ns = 0;
    } else if (!queue->waits_since_ns) {
        queue->waits_since_ns = now_ns;
    } else if (!queue->waits_told && now_ns - queue->waits_since_ns >= cp->patience_ns) {
        queue->waits_told = true;
        rp_fault_waits(cp, current(queue)->dispatch.kernel_object);
    }
}

/**
 * Says once if a dispatch goes on and on: perhaps a loop without an end. Processor time, because
 * the machine may have other things to do; and once for launches of the same kernel in a row.
 */
static void watch_running(const struct rp_cp *cp, struct rp_cp_queue *queue)
{
    uint64_t kernel = current(queue)->dispatch.kernel_object;
    if (queue->busy_told != kernel && !queue->waits_told &&
        rp_dispatch_busy_ns(queue->dispatch) >= cp->patience_ns) {
        queue->busy_told = kernel;
        rp_fault_long(cp, kernel, rp_dispatch_counts(queue->dispatch));
    }
}

static enum rp_cp_progress run(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t budget)
{
    enum rp_run_state state = rp_dispatch_run(queue->dispatch, budget);
    if (state == RP_RUN_MORE) {
        watch_waiting(cp, queue);
        watch_running(cp, queue);
        return RP_CP_PROGRESS;
    }
    struct rp_arch part; /* what the queue's CU mask leaves of the GPU */
    const struct rp_arch *arch = cp->arch;
    if (queue->compute_units && queue->compute_units < arch->compute_units) {
        part = *arch;
        part.compute_units = queue->compute_units;
        arch = &part;
    }
    uint64_t ticks;
    if (state == RP_RUN_FAULT && rp_dispatch_fault(queue->dispatch)->kind == RP_FAULT_BOUND) {
        /* Who has set the bound asks whether it was exceeded: the queue can go on. */
        rp_cp_queue_release(queue);
        return retire(cp, queue, queue->start_ticks, queue->start_ticks + 1);
    }
    if (queue->traced && state != RP_RUN_FAULT)
        rp_traced_begin(arch, queue->dispatch, &queue->wish);
    if (state == RP_RUN_FAULT || rp_dispatch_ticks(queue->dispatch, arch, &ticks) < 0) {
        rp_fault_kernel(cp, queue, current(queue)->dispatch.kernel_object,
                        rp_dispatch_fault(queue->dispatch));
        rp_cp_queue_release(queue);
        return RP_CP_PROGRESS;
    }
    if (cp->counted)
        rp_counted_note(cp->counted, arch, queue->dispatch, current(queue)->dispatch.completion,
                        queue->start_ticks, queue->start_ticks + ticks);
    if (queue->traced)
        rp_traced_note(cp->traced, arch, queue->dispatch, &queue->wish,
                       current(queue)->dispatch.completion, queue->start_ticks,
                       queue->start_ticks + ticks);
    rp_cp_queue_release(queue);
    return retire(cp, queue, queue->start_ticks, queue->start_ticks + ticks);
}

/* ---- barriers ----------------------------------------------------------------------------- */

/** Reads a dependency. Its end time counts when this device wrote it. 0 or -EFAULT. */
static int read_signal(const struct rp_cp *cp, uint64_t va, int64_t *ret_value, uint64_t *end_ticks)
{
    const struct rp_amd_signal *signal = rp_signal_at(cp->host, va);
    if (!signal)
        return -EFAULT;
    *ret_value = __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
    uint64_t end = rp_signal_end_ticks(cp, va + offsetof(struct rp_amd_signal, value));
    if (end > *end_ticks)
        *end_ticks = end;
    return 0;
}

static enum rp_cp_progress bad_dependency(const struct rp_cp *cp, struct rp_cp_queue *queue)
{
    rp_fault_packet(cp, queue, RP_QUEUE_ERR_PACKET, "barrier on a signal that is not GPU memory");
    return RP_CP_PROGRESS;
}

static enum rp_cp_progress barrier(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                   const union rp_aql_packet *packet, bool all)
{
    uint64_t ticks = earliest(queue);
    unsigned present = 0, satisfied = 0;
    for (int i = 0; i < 5; i++) {
        int64_t value;
        uint64_t end = ticks;
        if (packet->barrier.dependency[i] == 0)
            continue;
        if (read_signal(cp, packet->barrier.dependency[i], &value, &end) < 0)
            return bad_dependency(cp, queue);
        present++;
        if (value == 0) {
            satisfied++;
            ticks = end;
        }
    }
    bool open = present == 0 || (all ? satisfied == present : satisfied > 0);
    return open ? retire(cp, queue, ticks, ticks) : RP_CP_WAITING;
}

/** hsa_signal_condition_t */
static bool holds(uint32_t condition, int64_t value, int64_t reference)
{
    switch (condition) {
    case 0:
        return value == reference;
    case 1:
        return value != reference;
    case 2:
        return value < reference;
    default:
        return value >= reference;
    }
}

static enum rp_cp_progress barrier_value(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                         const union rp_aql_packet *packet)
{
    uint64_t ticks = earliest(queue);
    if (packet->barrier_value.signal) {
        int64_t value;
        if (read_signal(cp, packet->barrier_value.signal, &value, &ticks) < 0)
            return bad_dependency(cp, queue);
        if (!holds(packet->barrier_value.condition, value & packet->barrier_value.mask,
                   packet->barrier_value.value))
            return RP_CP_WAITING;
    }
    return retire(cp, queue, ticks, ticks);
}

/* ---- PM4 command buffers ------------------------------------------------------------------ */

enum { PM4_TYPE3 = 3, PM4_NOP = 0x10, PM4_INDIRECT_BUFFER = 0x3f, PM4_ACQUIRE_MEM = 0x58 };

/** Walks the commands; only cache maintenance is known. 0, or -ENOTSUP with *ret_opcode. */
static int walk_pm4(const uint32_t *dwords, uint32_t count, uint32_t *ret_opcode)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t head = dwords[i];
        *ret_opcode = head >> 8 & 0xff;
        if (head >> 30 != PM4_TYPE3 || (*ret_opcode != PM4_NOP && *ret_opcode != PM4_ACQUIRE_MEM))
            return -ENOTSUP;
        i += (head >> 16 & 0x3fff) + 2;
    }
    return 0;
}

static enum rp_cp_progress pm4(const struct rp_cp *cp, struct rp_cp_queue *queue,
                               const union rp_aql_packet *packet)
{
    const uint32_t *jump = packet->pm4.jump;
    uint64_t va = (uint64_t)(jump[2] & 0xffff) << 32 | (jump[1] & ~3u);
    uint32_t count = jump[3] & 0xfffff, opcode = jump[0] >> 8 & 0xff;
    const uint32_t *dwords = opcode == PM4_INDIRECT_BUFFER && count
                                 ? cp->host->translate(cp->host->ctx, va, (uint64_t)count * 4, 0)
                                 : NULL;
    if (!dwords || walk_pm4(dwords, count, &opcode) < 0) {
        char why[80];
        snprintf(why, sizeof why, "PM4 command 0x%02x is not supported", opcode);
        rp_fault_packet(cp, queue, RP_QUEUE_ERR_VENDOR_PACKET, why);
        return RP_CP_PROGRESS;
    }
    /* ACQUIRE_MEM is how the runtime announces new code. */
    rp_exec_invalidate_code(0, UINT64_MAX);
    return retire(cp, queue, earliest(queue), earliest(queue));
}

/* ---- the loop's body ---------------------------------------------------------------------- */

static enum rp_cp_progress refuse(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error,
                                  const char *what, unsigned number)
{
    char why[80];
    snprintf(why, sizeof why, "%s %u is not supported", what, number);
    rp_fault_packet(cp, queue, error, why);
    return RP_CP_PROGRESS;
}

static enum rp_cp_progress vendor(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                  const union rp_aql_packet *packet)
{
    switch (packet->pm4.format) {
    case RP_AQL_VENDOR_PM4_IB:
        return pm4(cp, queue, packet);
    case RP_AQL_VENDOR_BARRIER_VALUE:
        return barrier_value(cp, queue, packet);
    default:
        return refuse(cp, queue, RP_QUEUE_ERR_VENDOR_PACKET, "AMD vendor packet format",
                      packet->pm4.format);
    }
}

bool rp_cp_queue_idle(const struct rp_cp_queue *queue)
{
    return !queue->enabled || queue->faulted ||
           queue->read_index ==
               __atomic_load_n(&queue->shared->write_dispatch_id, __ATOMIC_ACQUIRE);
}

enum rp_cp_progress rp_cp_step(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t budget)
{
    if (rp_cp_queue_idle(queue))
        return RP_CP_IDLE;
    if (queue->dispatch)
        return run(cp, queue, budget);
    const union rp_aql_packet *packet = current(queue);
    unsigned type = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) & 0xff;
    if (type == RP_AQL_INVALID)
        return RP_CP_IDLE; /* reserved by a producer that has not written it yet */
    if (!queue->begun) {
        if (!cp->causal || !rp_causal_active(cp->causal))
            queue->seen_ticks = rp_clock_now(cp->clock);
        else if (!rp_causal_submitted(cp->causal, &queue->line, queue->read_index,
                                      &queue->seen_ticks))
            return RP_CP_WAITING;
        queue->begun = true;
    }
    switch (type) {
    case RP_AQL_VENDOR:
        return vendor(cp, queue, packet);
    case RP_AQL_DISPATCH:
        return launch(cp, queue, packet);
    case RP_AQL_BARRIER_AND:
        return barrier(cp, queue, packet, true);
    case RP_AQL_BARRIER_OR:
        return barrier(cp, queue, packet, false);
    default:
        return refuse(cp, queue, RP_QUEUE_ERR_PACKET, "AQL packet type", type);
    }
}
