/* The packet processor consumes the packets of one AQL queue in order. A queue runs one packet at
 * a time, and the caller interleaves several queues. All memory is reached through struct
 * rp_exec_host, so a test can give it any memory.
 */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "arch/arch.h"
#include "device/check/check.h"
#include "device/driver/command_processor.h"
#include "device/driver/device_memory.h"
#include "device/driver/performance_counters.h"
#include "device/driver/thread_trace_registers.h"
#include "device/driver/vfs.h"
#include "device/isa/wave_state.h"
#include "device/timing/cache_history.h"
#include "device/timing/dispatch_timing.h"

enum rp_aql_vendor_format { RP_AQL_VENDOR_PM4_IB = 1, RP_AQL_VENDOR_BARRIER_VALUE = 2 };

/**
 * Binds a queue to its memory. @p queue must be zeroed.
 * @return 0, -EINVAL (sizes, pointers that do not belong to one amd_queue_t), -EFAULT (not mapped)
 */
static int cp_queue_init(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t ring_va,
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
    queue->history = cp->warm_caches ? rp_cache_history_new() : NULL;
    queue->ring_va = ring_va;
    queue->queue_va = queue_va;
    queue->ring_packets = packets;
    queue->read_index = __atomic_load_n(&queue->shared->read_dispatch_id, __ATOMIC_ACQUIRE);
    if (cp->causal)
        rp_happens_before_add(cp->causal, &queue->line, &queue->shared->write_dispatch_id,
                              queue->read_index);
    return 0;
}

/** Undoes rp_sdma_queue_init, also one that failed. */
static void sdma_queue_close(struct rp_sdma_queue *queue)
{
    if (queue->cp && queue->cp->causal)
        rp_happens_before_remove(queue->cp->causal, &queue->line);
}

/** Frees the dispatch in flight. */
static void cp_queue_release(struct rp_cp_queue *queue)
{
    rp_dispatch_free(queue->dispatch);
    queue->dispatch = NULL;
}

/** Undoes cp_queue_init, also one that failed. */
static void cp_queue_close(struct rp_cp_queue *queue)
{
    cp_queue_release(queue);
    free(queue->delivery.samples);
    queue->delivery = (struct rp_pc_delivery){0};
    rp_cache_history_free(queue->history);
    queue->history = NULL;
    if (queue->cp && queue->cp->causal)
        rp_happens_before_remove(queue->cp->causal, &queue->line);
}

static union rp_aql_packet *current(const struct rp_cp_queue *queue)
{
    uint32_t slot = (uint32_t)(queue->read_index & (queue->ring_packets - 1));
    return (union rp_aql_packet *)(queue->ring + (uint64_t)slot * RP_AQL_PACKET_BYTES);
}

static uint64_t packet_va(const struct rp_cp_queue *queue)
{
    const uint64_t slot = queue->read_index & (queue->ring_packets - 1);
    return queue->ring_va + slot * RP_AQL_PACKET_BYTES;
}

/** Gives the slot back, then tells the packet's signal. */
static enum rp_cp_progress retire(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                  uint64_t start_ticks, uint64_t end_ticks)
{
    union rp_aql_packet *packet = current(queue);
    /* The signal is in the same place in every packet type. */
    uint64_t completion = packet->dispatch.completion;
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

/** Returns when a packet that depends on nothing but its queue and its doorbell may start. */
static uint64_t earliest(const struct rp_cp_queue *queue)
{
    return queue->end_ticks > queue->seen_ticks ? queue->end_ticks : queue->seen_ticks;
}

/* ---- kernel dispatch ---------------------------------------------------------------------- */

static enum rp_cp_progress launch(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                  const union rp_aql_packet *packet)
{
    struct rp_launch launch = {
        .packet_va = packet_va(queue),
        .queue_va = queue->queue_va,
        .kernel_object_va = packet->dispatch.kernel_object,
        .kernarg_va = packet->dispatch.kernarg,
        .dispatch_id = queue->read_index,
        .setup_dimensions = packet->dispatch.setup & 3,
        .private_segment_bytes = packet->dispatch.private_bytes,
        .group_segment_bytes = packet->dispatch.group_bytes,
        .start_ticks = earliest(queue),
        .history = queue->history,
    };
    for (int i = 0; i < 3; i++) {
        launch.workgroup_size[i] = packet->dispatch.workgroup_size[i];
        launch.grid_size[i] = packet->dispatch.grid_size[i];
    }
    queue->start_ticks = launch.start_ticks;
    if (cp->sampling)
        queue->traps = rp_pc_sampling_times(cp->sampling);
    launch.keeps_masks = queue->traps.interval_ticks > 0;
    queue->traced =
        cp->traced && rp_trace_requests_has(cp->traced, packet->dispatch.completion,
                                            packet->dispatch.kernel_object, &queue->wish);
    queue->performance_run = rp_performance_counters_run(cp->performance, &launch.counting);
    queue->streamed =
        !queue->traced && rp_thread_trace_wants(cp->thread_trace, &queue->streamed_wish);
    launch.detailed = queue->streamed;
    if (queue->traced)
        rp_thread_trace_leave_out(cp->thread_trace);
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
    int64_t now_ns = rp_now_ns();
    if (!rp_dispatch_waits(queue->dispatch)) {
        queue->waits_since_ns = 0;
    } else if (!queue->waits_since_ns) {
        queue->waits_since_ns = now_ns;
    } else if (!queue->waits_told && now_ns - queue->waits_since_ns >= cp->patience_ns) {
        queue->waits_told = true;
        rp_fault_long(cp, current(queue)->dispatch.kernel_object, NULL);
    }
}

/**
 * Reports once if a dispatch does not end, as it may be an endless loop, and once for launches of
 * the same kernel in a row. It measures processor time, because the machine may have other things
 * to do.
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

/* Without memory there are no samples. */
static void sample(const struct rp_arch *arch, struct rp_cp_queue *queue)
{
    struct rp_pc_delivery *to = &queue->delivery;
    const int status = rp_dispatch_sample(queue->dispatch, arch, &queue->traps, queue->start_ticks,
                                          &to->samples, &to->count, &to->lost);
    if (status < 0)
        rp_log("no PC samples of a dispatch: %d", status);
}

/* The dispatch ends when all samples have found room. */
static enum rp_cp_progress deliver(const struct rp_cp *cp, struct rp_cp_queue *queue)
{
    if (!rp_pc_sampling_deliver(cp->sampling, cp, queue, &queue->delivery))
        return RP_CP_WAITING;
    return retire(cp, queue, queue->start_ticks, queue->delivery.end_ticks);
}

static enum rp_cp_progress run(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t budget)
{
    enum rp_run_state state = rp_dispatch_run(queue->dispatch, budget);
    if (state == RP_RUN_MORE) {
        watch_waiting(cp, queue);
        watch_running(cp, queue);
        return RP_CP_PROGRESS;
    }
    struct rp_arch part; /**< what the queue's CU mask leaves of the GPU */
    const struct rp_arch *arch = cp->arch;
    if (queue->compute_units && queue->compute_units < arch->compute_units) {
        part = *arch;
        part.compute_units = queue->compute_units;
        arch = &part;
    }
    uint64_t ticks;
    if (state == RP_RUN_FAULT && rp_dispatch_is_ended(queue->dispatch)) {
        /* Whoever has asked for that asks what has ended it, so the queue can go on. */
        cp_queue_release(queue);
        return retire(cp, queue, queue->start_ticks, queue->start_ticks + 1);
    }
    if (queue->traced && state != RP_RUN_FAULT)
        rp_trace_requests_begin(arch, queue->dispatch, &queue->wish);
    if (queue->streamed && state != RP_RUN_FAULT)
        rp_trace_requests_begin(arch, queue->dispatch, &queue->streamed_wish);
    if (state == RP_RUN_FAULT || rp_dispatch_ticks(queue->dispatch, arch, &ticks) < 0) {
        rp_fault_kernel(cp, queue, current(queue)->dispatch.kernel_object,
                        rp_dispatch_fault(queue->dispatch));
        cp_queue_release(queue);
        return RP_CP_PROGRESS;
    }
    if (cp->counted)
        rp_counter_results_add(cp->counted, arch, queue->dispatch,
                               current(queue)->dispatch.completion, queue->start_ticks,
                               queue->start_ticks + ticks);
    rp_performance_counters_add(cp->performance, queue->performance_run, arch, queue->dispatch,
                                ticks);
    if (queue->streamed)
        rp_thread_trace_dispatch(cp->thread_trace, arch, queue->dispatch, &queue->streamed_wish,
                                 packet_va(queue), current(queue)->dispatch.kernel_object,
                                 queue->start_ticks);
    if (queue->traced)
        rp_trace_requests_keep(cp->traced, arch, queue->dispatch, &queue->wish,
                               current(queue)->dispatch.completion, queue->start_ticks,
                               queue->start_ticks + ticks);
    queue->delivery.end_ticks = queue->start_ticks + ticks;
    rp_check_dispatch_over(queue->dispatch, queue->queue_va, queue->start_ticks,
                           queue->delivery.end_ticks);
    if (queue->traps.interval_ticks)
        sample(arch, queue);
    cp_queue_release(queue);
    return queue->delivery.samples
               ? deliver(cp, queue)
               : retire(cp, queue, queue->start_ticks, queue->delivery.end_ticks);
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

/** This implements hsa_signal_condition_t. */
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

static enum rp_cp_progress refuse(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error,
                                  const char *what, unsigned number)
{
    char why[80];
    snprintf(why, sizeof why, "%s %u is not supported", what, number);
    rp_fault_packet(cp, queue, error, why);
    return RP_CP_PROGRESS;
}

/* ---- PM4 command buffers ------------------------------------------------------------------ */

/* What a buffer waited for has taken time: mostly another queue's kernel, which has ended by now.
 */
static void take_time_again(const struct rp_cp *cp, struct rp_pm4_walk *walk)
{
    const uint64_t now = rp_clock_now(cp->clock);
    if (walk->waited && walk->ticks < now)
        walk->ticks = now;
    walk->waited = false;
}

static enum rp_cp_progress pm4(const struct rp_cp *cp, struct rp_cp_queue *queue,
                               const union rp_aql_packet *packet)
{
    enum { PM4_INDIRECT_BUFFER = 0x3f };
    struct rp_pm4_walk *walk = &queue->commands;
    const uint32_t *jump = packet->pm4.jump;
    unsigned opcode = jump[0] >> 8 & 0xff;

    if (opcode != PM4_INDIRECT_BUFFER || !cp->registers)
        return refuse(cp, queue, RP_QUEUE_ERR_VENDOR_PACKET, "PM4 jump", opcode);
    if (!walk->depth)
        rp_pm4_begin(walk, cp->host, cp->registers, jump, earliest(queue));
    take_time_again(cp, walk);
    switch (rp_pm4_walk(walk)) {
    case RP_PM4_MORE:
        return RP_CP_PROGRESS;
    case RP_PM4_WAITING:
        return RP_CP_WAITING;
    case RP_PM4_REFUSED:
        rp_fault_packet(cp, queue, RP_QUEUE_ERR_VENDOR_PACKET, walk->why);
        return RP_CP_PROGRESS;
    default:
        return retire(cp, queue, earliest(queue), walk->ticks);
    }
}

/* ---- the loop's body ---------------------------------------------------------------------- */

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

/**
 * Tests whether the queue is empty, disabled or faulted, so that cp_step() would find nothing
 * to do.
 */
static bool cp_queue_idle(const struct rp_cp_queue *queue)
{
    return !queue->enabled || queue->faulted ||
           queue->read_index ==
               __atomic_load_n(&queue->shared->write_dispatch_id, __ATOMIC_ACQUIRE);
}

/** Does a bounded piece of work: at most @p budget wave instructions. */
static enum rp_cp_progress cp_step(const struct rp_cp *cp, struct rp_cp_queue *queue,
                                   uint64_t budget)
{
    if (cp_queue_idle(queue))
        return RP_CP_IDLE;
    if (queue->dispatch)
        return run(cp, queue, budget);
    if (queue->delivery.samples)
        return deliver(cp, queue);
    const union rp_aql_packet *packet = current(queue);
    unsigned type = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) & 0xff;
    if (type == RP_AQL_INVALID)
        return RP_CP_IDLE; /* A producer has reserved the packet and has not written it yet. */
    if (!queue->begun) {
        if (!cp->causal || !rp_happens_before_is_active(cp->causal))
            queue->seen_ticks = rp_clock_now(cp->clock);
        else if (!rp_happens_before_submitted(cp->causal, &queue->line, queue->read_index,
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

/* A turn executes this much, which takes some milliseconds (wave instructions: per thread), so
 * that a queue never waits long for its turn.
 */
enum { SLICE_WAVE_INSTS = 1 << 17, SLICE_COPY_BYTES = 8 << 20 };

enum {
    SPIN_NS = 30 * 1000,      /**< no yield: on a busy machine that gives a whole time slice away */
    MIN_SLEEP_NS = 10 * 1000, /**< then sleep a sixteenth of the time idled so far */
    MAX_SLEEP_NS = 4 * 1000 * 1000,
};

/* ---- the server --------------------------------------------------------------------------- */

static void let_callers_in(struct rp_queues *queues)
{
    while (__atomic_load_n(&queues->callers, __ATOMIC_ACQUIRE)) {
        pthread_mutex_unlock(&queues->lock);
        sched_yield();
        pthread_mutex_lock(&queues->lock);
    }
}

/**
 * A DMA queue has no signal for its errors: the runtime hears of them by the error of compute
 * queues of the same GPU, or without one by a memory exception. Of the compute queues only those
 * with the largest ring: the runtime's internal ones are small, and end the program on an error.
 */
static void tell_of_dma_fault(struct rp_queues *queues, const struct rp_sdma_queue *dma)
{
    uint32_t error = dma->fault_va ? RP_QUEUE_ERR_MEMORY : RP_QUEUE_ERR_PACKET, largest = 0;
    for (uint32_t id = 0; id < queues->used; id++) {
        const struct rp_cp_queue *compute = queues->slots[id].compute;
        if (compute && compute->cp == dma->cp && compute->ring_packets > largest)
            largest = compute->ring_packets;
    }
    for (uint32_t id = 0; id < queues->used; id++) {
        struct rp_cp_queue *compute = queues->slots[id].compute;
        if (compute && compute->cp == dma->cp && compute->ring_packets == largest &&
            !compute->faulted)
            rp_fault_stop(dma->cp, compute, error);
    }
    if (largest == 0) {
        struct rp_kfd_memory_exception what = {
            .not_present = 1,
            .read_only = dma->fault_read_only,
            .va = dma->fault_va ? dma->fault_va : dma->ring_va + dma->read_bytes % dma->ring_bytes,
            .gpu_id = dma->cp->gpu_id,
        };
        rp_events_memory_fault(dma->cp->events, &what);
    }
}

static enum rp_cp_progress serve(struct rp_queues *queues, const struct rp_queue_slot *slot,
                                 uint64_t budget_wave_insts)
{
    if (slot->compute)
        return cp_step(slot->compute->cp, slot->compute, budget_wave_insts);
    if (!slot->dma)
        return RP_CP_IDLE;
    bool faulted = slot->dma->faulted;
    enum rp_cp_progress step = rp_sdma_step(slot->dma->cp, slot->dma, SLICE_COPY_BYTES);
    if (slot->dma->faulted && !faulted)
        tell_of_dma_fault(queues, slot->dma);
    return step;
}

/** Gives every queue one turn. Returns whether any made progress. */
static bool serve_all(struct rp_queues *queues)
{
    bool progress = false;
    uint64_t budget = (uint64_t)SLICE_WAVE_INSTS * rp_exec_threads();
    pthread_mutex_lock(&queues->lock);
    for (uint32_t id = 0; id < queues->used; id++) {
        let_callers_in(queues);
        progress |= serve(queues, &queues->slots[id], budget) == RP_CP_PROGRESS;
    }
    pthread_mutex_unlock(&queues->lock);
    return progress;
}

static bool pause_after(struct rp_queues *queues, int64_t idle_ns)
{
    if (idle_ns < SPIN_NS) {
        __builtin_ia32_pause();
        return false;
    }
    int64_t sleep_ns = idle_ns / 16;
    if (sleep_ns < MIN_SLEEP_NS)
        sleep_ns = MIN_SLEEP_NS;
    if (sleep_ns > MAX_SLEEP_NS)
        sleep_ns = MAX_SLEEP_NS;
    struct timespec timeout = {.tv_nsec = sleep_ns};
    __atomic_store_n(&queues->asleep, 1, __ATOMIC_SEQ_CST);
    long rc = syscall(SYS_futex, &queues->asleep, FUTEX_WAIT_PRIVATE, 1, &timeout, NULL, 0);
    bool kicked = rc == 0 || errno == EAGAIN;
    __atomic_store_n(&queues->asleep, 0, __ATOMIC_SEQ_CST);
    return kicked;
}

static void *serve_forever(void *arg)
{
    struct rp_queues *queues = arg;
    prctl(PR_SET_NAME, "rp-device");
    /* It applies to this thread, so that short sleeps stay short. */
    prctl(PR_SET_TIMERSLACK, 1000);
    /* Modelled time is computed here, so the program's float modes must not apply. */
    _mm_setcsr(0x1f80);
    int64_t idle_since = rp_now_ns();
    for (;;) {
        if (serve_all(queues)) {
            idle_since = rp_now_ns();
            continue;
        }
        if (pause_after(queues, rp_now_ns() - idle_since))
            idle_since = rp_now_ns();
    }
    return NULL;
}

/** The thread is detached and blocks the program's signals. */
static int start_server(struct rp_queues *queues)
{
    if (queues->running)
        return 0;
    sigset_t all, old;
    pthread_attr_t attr;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int rc = pthread_create(&thread, &attr, serve_forever, queues);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    queues->running = rc == 0;
    return -rc;
}

/* ---- the driver's calls ------------------------------------------------------------------- */

static void enter(struct rp_queues *queues)
{
    __atomic_add_fetch(&queues->callers, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_lock(&queues->lock);
    __atomic_sub_fetch(&queues->callers, 1, __ATOMIC_ACQ_REL);
}

static void leave(struct rp_queues *queues)
{
    pthread_mutex_unlock(&queues->lock);
    rp_queues_kick(queues);
}

static void release(struct rp_queue_slot *slot)
{
    if (slot->compute)
        cp_queue_close(slot->compute);
    if (slot->dma)
        sdma_queue_close(slot->dma);
    free(slot->compute);
    free(slot->dma);
    *slot = (struct rp_queue_slot){0};
}

static int open_compute(const struct rp_cp *cp, const struct rp_kfd_create_queue *args, uint32_t id,
                        struct rp_queue_slot *slot)
{
    struct rp_cp_queue *queue = slot->compute = calloc(1, sizeof *queue);
    if (!queue)
        return -ENOMEM;
    queue->id = id;
    queue->enabled = args->percentage > 0;
    queue->save_va = cp->reports_exceptions ? args->save_base : 0;
    return cp_queue_init(cp, queue, args->ring_base, args->ring_bytes, args->read_pointer,
                         args->write_pointer);
}

static int open_dma(const struct rp_cp *cp, const struct rp_kfd_create_queue *args, uint32_t id,
                    struct rp_queue_slot *slot)
{
    if (args->type == RP_KFD_QUEUE_SDMA_BY_ENGINE &&
        args->sdma_engine >= cp->arch->sdma_engines + cp->arch->sdma_xgmi_engines)
        return -EINVAL;
    struct rp_sdma_queue *queue = slot->dma = calloc(1, sizeof *queue);
    if (!queue)
        return -ENOMEM;
    queue->id = id;
    queue->enabled = args->percentage > 0;
    return rp_sdma_queue_init(cp, queue, args->ring_base, args->ring_bytes, args->read_pointer,
                              args->write_pointer);
}

static bool is_free(const struct rp_queue_slot *slot)
{
    return !slot->compute && !slot->dma;
}

static int create_locked(struct rp_queues *queues, const struct rp_cp *cp,
                         struct rp_kfd_create_queue *args)
{
    uint32_t id = 0;
    while (id < RP_QUEUE_LIMIT && !is_free(&queues->slots[id]))
        id++;
    if (id == RP_QUEUE_LIMIT)
        return -ENOSPC;
    struct rp_queue_slot fresh = {0};
    int rc = args->type == RP_KFD_QUEUE_COMPUTE_AQL ? open_compute(cp, args, id, &fresh)
                                                    : open_dma(cp, args, id, &fresh);
    if (rc == 0)
        rc = start_server(queues);
    if (rc < 0) {
        release(&fresh);
        return rc;
    }
    queues->slots[id] = fresh;
    if (id >= queues->used)
        queues->used = id + 1;
    args->queue_id = id;
    args->doorbell_offset = RP_MEMORY_DOORBELL_OFFSET + id * sizeof(uint64_t);
    return 0;
}

static bool is_served(uint32_t type)
{
    return type == RP_KFD_QUEUE_COMPUTE_AQL || type == RP_KFD_QUEUE_SDMA ||
           type == RP_KFD_QUEUE_SDMA_XGMI || type == RP_KFD_QUEUE_SDMA_BY_ENGINE;
}

int rp_queues_create(struct rp_queues *queues, const struct rp_cp *cp,
                     struct rp_kfd_create_queue *args)
{
    if (!is_served(args->type)) {
        rp_log("create queue: type %u is refused, only AQL and SDMA queues exist", args->type);
        return -EINVAL;
    }
    enter(queues);
    int rc = create_locked(queues, cp, args);
    leave(queues);
    return rc;
}

/** Returns the slot of a queue that exists, or NULL. */
static struct rp_queue_slot *find(struct rp_queues *queues, uint32_t id)
{
    return id < RP_QUEUE_LIMIT && !is_free(&queues->slots[id]) ? &queues->slots[id] : NULL;
}

int rp_queues_destroy(struct rp_queues *queues, uint32_t id)
{
    enter(queues);
    struct rp_queue_slot *slot = find(queues, id);
    if (slot)
        release(slot);
    leave(queues);
    return slot ? 0 : -EINVAL;
}

bool rp_queues_exist(struct rp_queues *queues)
{
    bool exist = false;
    enter(queues);
    for (uint32_t id = 0; id < queues->used; id++)
        exist |= !is_free(&queues->slots[id]);
    leave(queues);
    return exist;
}

int rp_queues_change(struct rp_queues *queues, uint32_t id, enum rp_queue_change change,
                     uint32_t value)
{
    int rc = 0;
    enter(queues);
    struct rp_queue_slot *slot = find(queues, id);
    if (slot && slot->compute && change == RP_QUEUE_COMPUTE_UNITS && value > 0)
        slot->compute->compute_units = value;
    else if (!slot || change == RP_QUEUE_COMPUTE_UNITS)
        rc = -EINVAL;
    else if (slot->compute)
        slot->compute->enabled = value > 0;
    else
        slot->dma->enabled = value > 0;
    leave(queues);
    return rc;
}

bool rp_queues_idle(struct rp_queues *queues)
{
    bool idle = true;
    if (pthread_mutex_trylock(&queues->lock) != 0)
        return false;
    for (uint32_t id = 0; idle && id < queues->used; id++)
        idle = queues->slots[id].compute ? cp_queue_idle(queues->slots[id].compute)
               : queues->slots[id].dma   ? rp_sdma_queue_idle(queues->slots[id].dma)
                                         : true;
    leave(queues);
    return idle;
}

int64_t rp_queues_only_wait_ns(struct rp_queues *queues)
{
    int64_t since_ns = 0;
    bool works = false;
    enter(queues);
    for (uint32_t id = 0; id < queues->used && !works; id++) {
        const struct rp_cp_queue *queue = queues->slots[id].compute;
        if (!queue || !queue->dispatch || queue->faulted)
            continue;
        works = queue->waits_since_ns == 0;
        if (queue->waits_since_ns > since_ns)
            since_ns = queue->waits_since_ns;
    }
    leave(queues);
    return works || since_ns == 0 ? 0 : rp_now_ns() - since_ns;
}
