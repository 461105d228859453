/**
 * @file dispatches.c
 * @brief Queues of the program: created as intercept queues, their packets watched.
 *
 * The packet callback runs under the queue's lock. It must hand over all packets with one call of
 * the writer (a second call could overtake packets that ROCr has put aside because the hardware
 * queue was full), and it never adds or removes any: but for the dispatch that is captured.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/tracer.h"

enum {
    RP_HSA_HOST_TO_DEVICE = 1,
    RP_HSA_DEVICE_TO_HOST = 2,
    RP_HSA_DEVICE_TO_DEVICE = 3,
};

enum {
    FIRST_BUFFER_PACKETS = 64,
    DESTROY_PATIENCE_MS = 1000, /**< a queue destroyed with kernels still running on it */
    FREE_SLOTS = 8,             /**< of the hardware queue: ROCr's retry packet and some to spare */
    YIELDS = 20,                /**< a full queue: then sleep between looks */
    FULL_SLEEP_NS = 20 * 1000,
    SILENT_SIGNALS = 32,
};

static const size_t GIVEN_BACK = SIZE_MAX; /**< in place of .quiet_count */

struct rp_queue {
    struct rp_queue *next;
    struct rp_hsa_queue *handle;
    rp_hsa_agent agent;
    uint32_t index;
    struct rp_pending_list line;
    struct rp_hsa_packet *buffer;            /**< copies of the packets of one callback */
    struct rp_packet_origin *buffer_origins; /**< of the packets */
    uint64_t buffer_packets;
    struct rp_packet_origins *origins; /**< NULL: not known */
    uint64_t submitted;                /**< packets handed over */
    uint64_t passed;                   /**< .line.passed when it was looked at last */
    rp_hsa_signal
        quiet[SILENT_SIGNALS];    /**< .quiet_count of them are free, for packets without one */
    size_t quiet_count;           /**< atomic; see silent_signal */
    struct rp_hsa_queue *beneath; /**< of a cooperative queue, see share_cooperative */
    unsigned users;               /**< likewise: how often the program has created it */
    rp_hsa_queue_error on_error;  /**< the program's */
    void *on_error_data;
};

/* --- packets ------------------------------------------------------------------------------- */

static bool is_dispatch(const struct rp_hsa_packet *packet)
{
    return (packet->header & RP_AQL_TYPE_MASK) == RP_AQL_KERNEL_DISPATCH;
}

static void describe_dispatch(struct rp_queue *queue, const struct rp_hsa_packet *packet,
                              const struct rp_packet_origin *origin, struct rp_rec_dispatch *d)
{
    struct rp_tool *tool = &rp_the_tool;

    d->dispatch_id = __atomic_add_fetch(&tool->dispatch_count, 1, __ATOMIC_RELAXED);
    d->correlation_id = rp_hip_correlation(tool, origin->correlation_id);
    d->kernel_id = rp_kernel_map_get(&tool->kernels, packet->kernel_object);
    d->queue_index = queue->index;
    d->agent = queue->agent;
    d->submit_ns = origin->submit_ns;
    d->tid = origin->tid;
    d->private_bytes = packet->private_bytes;
    d->group_bytes = packet->group_bytes;
    memcpy(d->grid, packet->grid, sizeof(d->grid));
    memcpy(d->workgroup, packet->workgroup, sizeof(d->workgroup));
    d->barrier_bit = (packet->header & RP_AQL_BARRIER_BIT) != 0;
    d->match = rp_isolate_scan(tool, queue->agent, queue->index, origin->stream, packet);
}

static bool on_forwarded(int64_t value, void *data)
{
    (void)value;
    if (rp_tool_active(&rp_the_tool))
        rp_completions_forwarded(&rp_the_tool, data);
    return false; /* The handler runs once. */
}

/* Takes a signal under the queue's lock, so that most launches take no lock of the pool. At the
 * end of the program another thread returns the signals: the thread that exchanges a count that is
 * not 0 owns the array. That thread then finds 0 and has none to return; this one finds
 * GIVEN_BACK, and takes from the pool.
 */
static rp_hsa_signal silent_signal(struct rp_queue *queue)
{
    size_t count = __atomic_exchange_n(&queue->quiet_count, 0, __ATOMIC_ACQUIRE);
    rp_hsa_signal signal;

    if (count == GIVEN_BACK) { /* The other thread may still be reading the array. */
        __atomic_store_n(&queue->quiet_count, GIVEN_BACK, __ATOMIC_RELEASE);
        return rp_signal_pool_take(&rp_the_tool.quiet_signals);
    }
    if (count == 0)
        count = rp_signal_pool_take_some(&rp_the_tool.quiet_signals, queue->quiet, SILENT_SIGNALS);
    if (count == 0)
        return 0;
    signal = queue->quiet[--count];
    __atomic_store_n(&queue->quiet_count, count, __ATOMIC_RELEASE);
    return signal;
}

static void give_back(struct rp_queue *queue)
{
    const size_t count = __atomic_exchange_n(&queue->quiet_count, GIVEN_BACK, __ATOMIC_ACQUIRE);

    if (count != GIVEN_BACK)
        rp_signal_pool_give_unused(&rp_the_tool.quiet_signals, queue->quiet, count);
}

void rp_queues_give_back(struct rp_tool *tool)
{
    for (struct rp_queue *queue = tool->queues; queue; queue = queue->next)
        give_back(queue);
}

/* Chooses how the entry completes (completions.h) and puts our signal into the packet if one is
 * needed. @return false: there is no signal, and the packet is unchanged
 */
static bool choose_path(struct rp_queue *queue, struct rp_pending *entry,
                        struct rp_hsa_packet *packet)
{
    struct rp_tool *tool = &rp_the_tool;
    rp_hsa_signal program = packet->completion;
    const struct rp_amd_signal *raw;

    if (!program) {
        entry->way = RP_PENDING_OWN;
        entry->signal = silent_signal(queue);
    } else if (tool->hsa.hsa_signal_load_relaxed(program) == 1 &&
               !rp_completions_is_pending(tool, program)) {
        entry->way = RP_PENDING_WATCH;
        entry->signal = program;
    } else {
        entry->way = RP_PENDING_FORWARD;
        entry->program = program;
        entry->signal = rp_signal_pool_take(&tool->waking_signals);
        if (entry->signal && rp_handlers_register(entry->signal, RP_HSA_CONDITION_LT, 1,
                                                  on_forwarded, entry) != RP_HSA_SUCCESS) {
            rp_signal_pool_give(&tool->waking_signals, entry->signal);
            entry->signal = 0;
        }
    }
    if (!entry->signal)
        return false;
    if (entry->way == RP_PENDING_WATCH) { /* Our signals have the times 0, and so does the entry. */
        raw = (const struct rp_amd_signal *)program;
        entry->start0 = __atomic_load_n(&raw->start_ts, __ATOMIC_RELAXED);
        entry->end0 = __atomic_load_n(&raw->end_ts, __ATOMIC_RELAXED);
    }
    packet->completion = entry->signal;
    return true;
}

/* Fills the record of a dispatch except for its times. */
static void note(struct rp_queue *queue, const struct rp_hsa_packet *packet,
                 const struct rp_packet_origin *origin, rp_hsa_signal program,
                 struct rp_pending *entry)
{
    struct rp_tool *tool = &rp_the_tool;
    const uint64_t order = rp_submitters_order(&tool->producers);

    if (program)
        rp_submitters_set(&tool->producers, program, order, entry->way == RP_PENDING_WATCH);
    entry->rec.dispatch = (struct rp_rec_dispatch){0};
    describe_dispatch(queue, packet, origin, &entry->rec.dispatch);
    entry->rec.dispatch.order = order;
    rp_threads_submit(tool, entry, packet);
}

/* Others that wait for it wait for something that nothing is known of. */
static void pass_unrecorded(struct rp_tool *tool, rp_hsa_signal program)
{
    if (program)
        rp_submitters_forget(&tool->producers, program);
    rp_trace_note(&tool->trace, RP_TRACE_UNRECORDED, 1);
    __atomic_add_fetch(&tool->dispatch_count, 1, __ATOMIC_RELAXED);
}

static void track(struct rp_queue *queue, struct rp_hsa_packet *packet,
                  const struct rp_packet_origin *origin, uint64_t position)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_pending *entry = rp_pending_list_next(&queue->line);
    rp_hsa_signal program = packet->completion;

    if (!entry || !choose_path(queue, entry, packet)) {
        rp_tool_lose_dispatches(tool, 1);
        if (program)
            rp_submitters_forget(&tool->producers, program);
        return;
    }
    entry->position = position;
    entry->unrecorded = rp_tool_records(tool) && !origin->recorded;
    if (entry->unrecorded)
        pass_unrecorded(tool, program);
    else if (rp_tool_records(tool))
        note(queue, packet, origin, program, entry);
    else
        __atomic_add_fetch(&tool->dispatch_count, 1, __ATOMIC_RELAXED);
    rp_completions_publish(tool, &queue->line, entry);
}

/* Returns the type of a packet that orders others, or -1. */
static int barrier_type(const struct rp_hsa_packet *packet)
{
    const struct rp_hsa_barrier_packet *barrier = (const void *)packet;

    switch (packet->header & RP_AQL_TYPE_MASK) {
    case RP_AQL_BARRIER_AND:
        return RP_BARRIER_AND;
    case RP_AQL_BARRIER_OR:
        return RP_BARRIER_OR;
    case RP_AQL_VENDOR:
        return barrier->amd_format == RP_AMD_FORMAT_BARRIER_VALUE ? RP_BARRIER_VALUE
                                                                  : RP_BARRIER_OTHER;
    default:
        return -1;
    }
}

/* Records what the barrier waits for, and that others may wait for it. The packet itself stays
 * unchanged.
 */
static void record_barrier(struct rp_queue *queue, const struct rp_hsa_packet *packet,
                           const struct rp_packet_origin *origin, int type)
{
    static const unsigned signals[] = {
        [RP_BARRIER_AND] = 5, [RP_BARRIER_OR] = 5, [RP_BARRIER_VALUE] = 1, [RP_BARRIER_OTHER] = 0};
    struct rp_tool *tool = &rp_the_tool;
    const struct rp_hsa_barrier_packet *in = (const void *)packet;
    struct rp_record record = {.kind = RP_REC_BARRIER};
    struct rp_rec_barrier *out = &record.u.barrier;
    struct rp_signal_dependencies waits = {.orders = out->waits, .room = RP_REC_BARRIER_WAITS};

    for (unsigned i = 0; i < signals[type]; i++)
        rp_submitters_wait(&tool->producers, in->waits[i], &waits);
    out->order = rp_submitters_order(&tool->producers);
    out->correlation_id = origin->correlation_id;
    out->queue_index = queue->index;
    out->tid = origin->tid;
    out->type = (uint16_t)type;
    out->barrier_bit = (packet->header & RP_AQL_BARRIER_BIT) != 0;
    out->wait_count = (uint16_t)waits.count;
    /* The count must not become 0 by overflow, because that would say that all is known. */
    out->unknown_count =
        waits.unknown_count < UINT16_MAX ? (uint16_t)waits.unknown_count : UINT16_MAX;
    if (in->completion && type != RP_BARRIER_OTHER) /* Not every format has its signal there. */
        rp_submitters_set(&tool->producers, in->completion, out->order,
                          tool->hsa.hsa_signal_load_relaxed(in->completion) == 1);
    rp_trace_append(&tool->trace, &record);
}

static void forget_barrier(const struct rp_hsa_packet *packet, int type)
{
    const struct rp_hsa_barrier_packet *in = (const void *)packet;

    if (in->completion && type != RP_BARRIER_OTHER)
        rp_submitters_forget(&rp_the_tool.producers, in->completion);
}

/* Waits so that the hardware queue never becomes full. Without the tool, a program that submits
 * faster than the device works waits for a free slot. An intercept queue takes its packets at
 * once, and ROCr puts aside what the hardware queue cannot hold. The packets that pile up are then
 * handed over in one piece. Where that piece wraps around the ring, ROCr 7.2 copies it into a
 * buffer of 256 packets, whatever its length, and corrupts the heap. So the program waits here as
 * it would have there.
 *
 * Packets are launched in order, so a finished dispatch means that all slots before its own are
 * free. With no dispatch pending nothing is known of the barriers behind the last one, so they may
 * pass.
 */
static void wait_for_slots(struct rp_queue *queue, uint64_t count)
{
    const struct timespec pause = {.tv_nsec = FULL_SLEEP_NS};
    const struct rp_pending_list *line = &queue->line;
    uint64_t slots = queue->handle->size_packets;
    unsigned looks = 0;

    slots = slots > 2 * FREE_SLOTS ? slots - FREE_SLOTS : slots;
    if (queue->submitted + count - queue->passed <= slots)
        return; /* This avoids reading what the tool's thread writes. */
    while (queue->passed = __atomic_load_n(&line->passed, __ATOMIC_ACQUIRE),
           queue->submitted + count - queue->passed > slots &&
               __atomic_load_n(&line->finished, __ATOMIC_ACQUIRE) != line->published &&
               rp_tool_active(&rp_the_tool)) {
        rp_completions_read(&rp_the_tool);
        if (looks++ < YIELDS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

static bool make_room(struct rp_queue *queue, uint64_t count)
{
    struct rp_packet_origin *origins;
    struct rp_hsa_packet *bigger;

    if (count <= queue->buffer_packets)
        return true;
    bigger = realloc(queue->buffer, count * sizeof(*bigger));
    queue->buffer = bigger ? bigger : queue->buffer;
    origins = bigger ? realloc(queue->buffer_origins, count * sizeof(*origins)) : NULL;
    if (!origins)
        return false;
    queue->buffer_origins = origins;
    queue->buffer_packets = count;
    return true;
}

/* Looks who put the packets there. @return false: there is no memory to follow them */
static bool find_origins(struct rp_queue *queue, uint64_t index, uint64_t count)
{
    const bool room = make_room(queue, count);

    for (uint64_t i = 0; i < count; i++) {
        const struct rp_packet_origin origin = rp_packet_origins_take(queue->origins, index + i);

        if (room)
            queue->buffer_origins[i] = origin;
    }
    return room;
}

/* Takes packets in the order of the queue: a packet that waits for a signal names the earlier
 * packet that completes it.
 */
static void take_packets(struct rp_queue *queue, struct rp_hsa_packet *packets,
                         const struct rp_packet_origin *origins, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int type = barrier_type(&packets[i]);

        if (is_dispatch(&packets[i]))
            track(queue, &packets[i], &origins[i], queue->submitted + i + 1);
        else if (type >= 0 && origins[i].recorded)
            record_barrier(queue, &packets[i], &origins[i], type);
        else if (type >= 0 && rp_tool_records(&rp_the_tool))
            forget_barrier(&packets[i], type);
    }
}

/** @param origins  of the packets; NULL: they cannot be followed */
static void pass(struct rp_queue *queue, const void *packets,
                 const struct rp_packet_origin *origins, uint64_t count,
                 rp_hsa_packet_writer writer)
{
    const struct rp_hsa_packet *in = packets;
    uint64_t dispatches = 0;
    int saved_errno = errno;

    wait_for_slots(queue, count);
    for (uint64_t i = 0; i < count; i++)
        dispatches += is_dispatch(&in[i]);
    if (rp_tool_active(&rp_the_tool) && origins) {
        memcpy(queue->buffer, packets, count * sizeof(*in));
        take_packets(queue, queue->buffer, origins, count);
        packets = queue->buffer;
    } else if (dispatches > 0 && rp_tool_active(&rp_the_tool)) {
        rp_tool_lose_dispatches(&rp_the_tool, dispatches);
    }
    queue->submitted += count;
    errno = saved_errno;
    writer(packets, count);
}

/* Submits the packet that is to be captured. More calls of the writer are safe here, because the
 * hardware queue is empty between them.
 */
static void capture(struct rp_queue *queue, struct rp_isolate_place *place,
                    const struct rp_hsa_packet *packet, const struct rp_packet_origin *origin)
{
    enum { PACKETS_AROUND = 4 };
    struct rp_tool *tool = &rp_the_tool;
    bool run;

    place->put = 0;
    place->handed_over = false;
    place->dispatch_id = __atomic_load_n(&tool->dispatch_count, __ATOMIC_RELAXED) + 1;
    wait_for_slots(queue, PACKETS_AROUND);
    run = rp_isolate_run(tool, place, packet);
    queue->submitted += place->put;
    if (run)
        __atomic_add_fetch(&tool->dispatch_count, 1, __ATOMIC_RELAXED);
    else
        pass(queue, packet, origin, 1, place->writer);
}

static void on_packets(const void *packets, uint64_t count, uint64_t user_index, void *data,
                       rp_hsa_packet_writer writer)
{
    struct rp_tool *tool = &rp_the_tool;
    const struct rp_hsa_packet *in = packets;
    struct rp_queue *queue = data;
    struct rp_isolate_place place = {
        .agent = queue->agent, .queue_index = queue->index, .writer = writer};
    const struct rp_packet_origin *origins =
        rp_tool_active(tool) && find_origins(queue, user_index, count) ? queue->buffer_origins
                                                                       : NULL;

    do {
        const bool entered = rp_pause_enter(&tool->isolate.gate);
        const uint64_t before = origins ? rp_isolate_find(tool, &place, in, origins, count) : count;

        if (before > 0)
            pass(queue, in, origins, before, writer);
        rp_pause_leave(&tool->isolate.gate, entered);
        if (before == count)
            return;
        capture(queue, &place, &in[before], &origins[before]);
        in += before + 1;
        origins += before + 1;
        count -= before + 1;
    } while (count > 0);
}

/* --- creation and destruction -------------------------------------------------------------- */

/* The runtime reports errors of the queue beneath; the program knows only the one it was given. */
static void on_queue_error(rp_hsa_status status, struct rp_hsa_queue *source, void *data)
{
    struct rp_queue *queue = data;

    rp_isolate_queue_failed(&rp_the_tool);
    if (queue->on_error)
        queue->on_error(status, queue->handle ? queue->handle : source, queue->on_error_data);
}

static void record_queue(struct rp_tool *tool, const struct rp_queue *queue, uint32_t kind)
{
    struct rp_record record = {
        .kind = kind,
        .u.queue = {.agent = queue->agent,
                    .queue_id = queue->handle->id,
                    .index = queue->index,
                    .size_packets = queue->handle->size_packets,
                    .created_ns = rp_tool_now_ns(tool)},
    };

    rp_trace_append(&tool->trace, &record);
    rp_tool_log(tool, "%s queue=%u id=%" PRIu64 " agent=%" PRIx64,
                kind == RP_REC_QUEUE ? "create" : "destroy", queue->index, queue->handle->id,
                queue->agent);
}

static void free_queue(struct rp_queue *queue)
{
    if (!queue)
        return;
    give_back(queue);
    rp_pending_list_free(&queue->line);
    rp_packet_origins_end(queue->origins);
    free(queue->buffer);
    free(queue->buffer_origins);
    free(queue);
}

static struct rp_queue *new_queue(rp_hsa_agent agent, rp_hsa_queue_error on_error, void *data)
{
    struct rp_queue *queue = calloc(1, sizeof(*queue));

    if (!queue)
        return NULL;
    queue->agent = agent;
    queue->on_error = on_error;
    queue->on_error_data = data;
    queue->buffer = malloc(FIRST_BUFFER_PACKETS * sizeof(*queue->buffer));
    queue->buffer_origins = malloc(FIRST_BUFFER_PACKETS * sizeof(*queue->buffer_origins));
    queue->buffer_packets = FIRST_BUFFER_PACKETS;
    if (!queue->buffer || !queue->buffer_origins || rp_pending_list_init(&queue->line) < 0) {
        free_queue(queue);
        return NULL;
    }
    return queue;
}

/* The queue is recorded under the lock that gives the index, because the file has queues in order
 * of it.
 */
static void adopt(struct rp_tool *tool, struct rp_queue *queue)
{
    pthread_mutex_lock(&tool->harvest.lock);
    queue->index = tool->queue_count++;
    queue->next = tool->queues;
    tool->queues = queue;
    record_queue(tool, queue, RP_REC_QUEUE);
    rp_completions_add_list(tool, &queue->line);
    pthread_mutex_unlock(&tool->harvest.lock);
}

/*
 * A cooperative queue is the agent's: each creation returns the same one and counts it, and the
 * last destruction frees it. An intercept queue around it frees it too when it is destroyed, and
 * ROCr 7.2 does not count that: the program crashes at exit. So the intercept queue is never
 * destroyed. The tool creates the queue beneath once more for itself; when the program has
 * destroyed it as often as it has created it, both counts are given back by that handle. What is
 * left is the empty shell of the intercept queue.
 */
static bool share_cooperative(struct rp_tool *tool, rp_hsa_agent agent, struct rp_hsa_queue **ret)
{
    struct rp_queue *queue;

    pthread_mutex_lock(&tool->harvest.lock);
    for (queue = tool->queues; queue; queue = queue->next)
        /* A queue without users is being destroyed. */
        if (queue->beneath && queue->agent == agent && queue->users)
            break;
    if (queue) {
        queue->users++;
        *ret = queue->handle;
    }
    pthread_mutex_unlock(&tool->harvest.lock);
    return queue != NULL;
}

static bool last_user(struct rp_tool *tool, struct rp_queue *queue)
{
    unsigned left;

    pthread_mutex_lock(&tool->harvest.lock);
    left = --queue->users;
    pthread_mutex_unlock(&tool->harvest.lock);
    return left == 0;
}

/* Undoes what creation counted: once for the tool, once for the intercept queue. */
static rp_hsa_status release_cooperative(struct rp_tool *tool, struct rp_hsa_queue *beneath)
{
    tool->hsa.hsa_queue_destroy(beneath);
    return tool->hsa.hsa_queue_destroy(beneath);
}

/* Creates the intercept queue, and what a cooperative one needs besides. */
static bool wrap(struct rp_tool *tool, struct rp_queue *queue, uint32_t size, uint32_t type,
                 uint32_t private_bytes, uint32_t group_bytes)
{
    const struct rp_hsa *hsa = &tool->hsa;
    struct rp_hsa_queue *handle;

    if (type == RP_HSA_QUEUE_TYPE_COOPERATIVE) {
        if (hsa->hsa_queue_create(queue->agent, size, type, queue->on_error, queue->on_error_data,
                                  private_bytes, group_bytes, &queue->beneath) != RP_HSA_SUCCESS)
            return false;
        queue->users = 1;
    }
    if (hsa->hsa_amd_queue_intercept_create(queue->agent, size, type, on_queue_error, queue,
                                            private_bytes, group_bytes,
                                            &handle) != RP_HSA_SUCCESS) {
        if (queue->beneath)
            hsa->hsa_queue_destroy(queue->beneath);
        queue->beneath = NULL;
        return false;
    }
    queue->handle = handle;
    if (hsa->hsa_amd_profiling_set_profiler_enabled(handle, 1) == RP_HSA_SUCCESS &&
        hsa->hsa_amd_queue_intercept_register(handle, on_packets, queue) == RP_HSA_SUCCESS)
        return true;
    if (queue->beneath)
        release_cooperative(tool, queue->beneath);
    else
        hsa->hsa_queue_destroy(handle);
    return false;
}

static void retire(struct rp_tool *tool, struct rp_queue *queue)
{
    give_back(queue);
    pthread_mutex_lock(&tool->harvest.lock);
    queue->next = tool->retired;
    tool->retired = queue;
    pthread_mutex_unlock(&tool->harvest.lock);
}

/* Discards what wrap() left incomplete. The shell of a cooperative queue lives on and knows the
 * queue, while the program gets another one, which reports errors to it.
 */
static void discard(struct rp_tool *tool, struct rp_queue *queue)
{
    if (queue && queue->beneath) {
        queue->on_error = NULL;
        retire(tool, queue);
    } else {
        free_queue(queue);
    }
}

static rp_hsa_status hook_queue_create(rp_hsa_agent agent, uint32_t size, uint32_t type,
                                       rp_hsa_queue_error on_error, void *data,
                                       uint32_t private_bytes, uint32_t group_bytes,
                                       struct rp_hsa_queue **ret)
{
    struct rp_tool *tool = &rp_the_tool;
    const struct rp_hsa *hsa = &tool->hsa;
    struct rp_queue *queue = NULL;

    if (rp_tool_active(tool) && ret && type == RP_HSA_QUEUE_TYPE_COOPERATIVE &&
        share_cooperative(tool, agent, ret))
        return RP_HSA_SUCCESS;
    if (rp_tool_active(tool) && ret)
        queue = new_queue(agent, on_error, data);
    if (!queue)
        goto plain;
    rp_agents_record(tool);
    rp_hip_attach(tool); /* A program may load HIP after it has used HSA. */
    if (!wrap(tool, queue, size, type, private_bytes, group_bytes))
        goto plain;
    *ret = queue->handle;
    queue->origins = rp_packet_origins_begin(queue->handle);
    adopt(tool, queue);
    return RP_HSA_SUCCESS;

plain:
    /* An untraced queue is better than a failing program, and the trace says that something is
     * missing.
     */
    discard(tool, queue);
    if (rp_tool_active(tool)) {
        rp_trace_note(&tool->trace, RP_TRACE_FLAGS, RP_TRACE_UNTRACED_QUEUE);
        __atomic_add_fetch(&tool->isolate.untracked, 1, __ATOMIC_RELEASE);
        rp_tool_log(tool, "queue of agent %" PRIx64 " is not traced", agent);
    }
    return hsa->hsa_queue_create(agent, size, type, on_error, data, private_bytes, group_bytes,
                                 ret);
}

/* Afterwards the completion reader does not see the queue. */
static void unlink_queue(struct rp_tool *tool, struct rp_queue *queue)
{
    struct rp_queue **at;

    pthread_mutex_lock(&tool->harvest.lock);
    for (at = &tool->queues; *at && *at != queue; at = &(*at)->next)
        ;
    if (*at)
        *at = queue->next;
    rp_completions_remove_list(&tool->harvest, &queue->line);
    pthread_mutex_unlock(&tool->harvest.lock);
}

/* Tests without the lock, because it is used in a forked child, which has one thread, and after
 * the end.
 */
static bool is_shell(const struct rp_tool *tool, const struct rp_hsa_queue *handle)
{
    for (const struct rp_queue *queue = tool->queues; queue; queue = queue->next)
        if (queue->beneath && queue->handle == handle)
            return true;
    for (const struct rp_queue *queue = tool->retired; queue; queue = queue->next)
        if (queue->beneath && queue->handle == handle)
            return true;
    return false;
}

static rp_hsa_status hook_queue_destroy(struct rp_hsa_queue *handle)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_queue *queue;
    rp_hsa_status status;

    if (!rp_tool_active(tool))
        return is_shell(tool, handle) ? RP_HSA_SUCCESS : tool->hsa.hsa_queue_destroy(handle);
    pthread_mutex_lock(&tool->harvest.lock);
    for (queue = tool->queues; queue && queue->handle != handle; queue = queue->next)
        ;
    pthread_mutex_unlock(&tool->harvest.lock);
    if (!queue)
        return tool->hsa.hsa_queue_destroy(handle);

    if (queue->beneath && !last_user(tool, queue))
        return RP_HSA_SUCCESS;
    rp_completions_drain_list(tool, &queue->line, DESTROY_PATIENCE_MS);
    record_queue(tool, queue, RP_REC_QUEUE_END);
    status = queue->beneath ? release_cooperative(tool, queue->beneath)
                            : tool->hsa.hsa_queue_destroy(handle);
    if (status != RP_HSA_SUCCESS)
        return status; /* The queue continues to exist. */
    unlink_queue(tool, queue);
    rp_packet_origins_end(queue->origins);
    queue->origins = NULL;
    /* The runtime's handler of a forwarded signal may be on its way with an entry of the line, and
     * the shell of a cooperative queue knows it. */
    if (rp_completions_abandon(tool, &queue->line, true) || queue->beneath)
        retire(tool, queue);
    else
        free_queue(queue);
    return status;
}

/* Without profiling there would be no times; HIP never turns it off, other programs may. */
static rp_hsa_status hook_set_profiler_enabled(struct rp_hsa_queue *queue, int enable)
{
    return rp_the_tool.hsa.hsa_amd_profiling_set_profiler_enabled(
        queue, enable || rp_tool_active(&rp_the_tool));
}

void rp_queues_retire(struct rp_tool *tool)
{
    while (tool->queues) {
        struct rp_queue *queue = tool->queues;

        unlink_queue(tool, queue);
        rp_completions_abandon(tool, &queue->line, false);
        retire(tool, queue);
    }
}

/* Asynchronous copies take the same way as WATCH, so the program's completion signal is left
 * alone.
 */

/* Records what a copy waits for, and returns its number. */
static uint64_t record_waits(struct rp_tool *tool, uint32_t dep_count, const rp_hsa_signal *deps)
{
    struct rp_record record = {.kind = RP_REC_WAIT};
    struct rp_rec_wait *wait = &record.u.wait;
    struct rp_signal_dependencies waits = {.orders = wait->waits, .room = RP_REC_WAITS};

    wait->order = rp_submitters_order(&tool->producers);
    for (uint32_t i = 0; i < dep_count && deps; i++) {
        /* Each signal has room for all that are kept of it: nothing is cut off. */
        if (waits.count + RP_SUBMITTERS_KEPT > waits.room) {
            wait->wait_count = waits.count;
            wait->unknown_count = waits.unknown_count;
            rp_trace_append(&tool->trace, &record);
            waits.count = waits.unknown_count = 0;
        }
        rp_submitters_wait(&tool->producers, deps[i], &waits);
    }
    wait->wait_count = waits.count;
    wait->unknown_count = waits.unknown_count;
    if (waits.count + waits.unknown_count > 0)
        rp_trace_append(&tool->trace, &record);
    return wait->order;
}

/** A copy that is being handed over. */
struct begun {
    struct rp_pending *entry; /**< NULL: not recorded */
    rp_hsa_signal shared;     /**< 0: it is not among the shared copies */
};

/* Counts the copy without recording it, because times of a signal that several operations share
 * would be mixed. It can still be seen when it ends.
 */
static rp_hsa_signal begin_shared(struct rp_tool *tool, rp_hsa_signal signal, bool busy,
                                  uint64_t bytes)
{
    rp_submitters_forget(&tool->producers, signal);
    rp_tool_log(tool, "lost copy bytes=%" PRIu64 ": signal is shared", bytes);
    if (rp_hip_recorded(tool))
        rp_trace_count_lost(&tool->trace);
    if (rp_tool_records(tool)) /* No dispatch is to be captured. */
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
    busy = rp_completions_is_pending(tool, signal);
    if (!busy && tool->hsa.hsa_signal_load_relaxed(signal) == 1)
        entry = rp_pending_list_next(&tool->harvest.copies);
    if (entry) {
        entry->way = RP_PENDING_COPY;
        entry->signal = signal;
        entry->start0 = raw->start_ts;
        entry->end0 = raw->end_ts;
        entry->rec.copy = *copy;
        entry->rec.copy.tid = rp_tool_tid();
        entry->unrecorded = rp_tool_records(tool) && !rp_hip_recorded(tool);
        if (entry->unrecorded) {
            rp_submitters_forget(&tool->producers, signal);
        } else {
            entry->rec.copy.order = record_waits(tool, dep_count, deps);
            rp_submitters_set(&tool->producers, signal, entry->rec.copy.order, true);
        }
        entry->rec.copy.copy_id = ++tool->copy_count;
        entry->rec.copy.correlation_id = rp_hip_correlation(tool, rp_hip_current());
        rp_completions_publish(tool, &tool->harvest.copies, entry);
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
        rp_completions_withdraw(&rp_the_tool, begun.entry);
    if (status != RP_HSA_SUCCESS && begun.shared)
        rp_shared_copies_withdraw(&rp_the_tool, begun.shared);
    rp_pause_leave(&rp_the_tool.isolate.gate, entered);
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
    const bool entered = rp_pause_enter(&rp_the_tool.isolate.gate);
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
    const bool entered = rp_pause_enter(&rp_the_tool.isolate.gate);
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
    const bool entered = rp_pause_enter(&rp_the_tool.isolate.gate);
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

void rp_dispatches_hook(const struct rp_hsa_tables *tables)
{
    rp_packet_origins_hook(tables);
    RP_TOOL_REPLACE(tables->core, hsa_queue_create, hook_queue_create);
    RP_TOOL_REPLACE(tables->core, hsa_queue_destroy, hook_queue_destroy);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_profiling_set_profiler_enabled, hook_set_profiler_enabled);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_async_copy, hook_async_copy);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_async_copy_on_engine, hook_async_copy_on_engine);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_async_copy_rect, hook_async_copy_rect);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_profiling_async_copy_enable, hook_async_copy_enable);
}
