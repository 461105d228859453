#include "device/driver/pc_sampling.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "device/driver/command_processor.h"
#include "device/timing/timing_model.h"

/* ---- sessions ----------------------------------------------------------------------------- */

enum { QUERY, CREATE, DESTROY, START, STOP };

enum { METHOD_HOST_TRAP = 1, TYPE_MICROSECONDS = 0, QUERY_ALL = 1 };

/* Version 1.2 is the first that has host traps on gfx942, gfx90a and gfx950, and no stochastic
 * sampling yet, which begins with 1.3 (ioctl_adapter.cpp of AMD's rocprofiler-sdk). */
enum { VERSION = 1 << 16 | 2 };

struct info {
    uint64_t interval, least, most, flags;
    uint32_t method, type;
};
static_assert(sizeof(struct info) == 40, "struct kfd_pc_sample_info");

void rp_pc_sampling_init(struct rp_pc_sampling *s)
{
    pthread_mutex_init(&s->lock, NULL);
}

void rp_pc_sampling_set_handler(struct rp_pc_sampling *s, uint64_t va)
{
    pthread_mutex_lock(&s->lock);
    s->handler_va = va;
    pthread_mutex_unlock(&s->lock);
}

struct rp_pc_sampler_times rp_pc_sampling_times(struct rp_pc_sampling *s)
{
    struct rp_pc_sampler_times times = {0};
    if (!__atomic_load_n(&s->started, __ATOMIC_ACQUIRE))
        return times;
    pthread_mutex_lock(&s->lock);
    if (s->started)
        times = s->times;
    pthread_mutex_unlock(&s->lock);
    return times;
}

/* While there is a session, others have to be like it. */
static int query(const struct rp_pc_sampling *s, struct rp_kfd_pc_sample *args)
{
    const struct info info = {.interval =
                                  s->created && args->flags != QUERY_ALL ? s->interval_us : 0,
                              .least = 1,
                              .most = UINT64_MAX,
                              .method = METHOD_HOST_TRAP,
                              .type = TYPE_MICROSECONDS};
    const uint32_t room = args->info_count;
    args->version = VERSION;
    args->info_count = 1;
    if (args->infos_ptr && room)
        memcpy((void *)(uintptr_t)args->infos_ptr, &info, sizeof info);
    return 0;
}

static int create(struct rp_pc_sampling *s, struct rp_kfd_pc_sample *args)
{
    struct info info;
    if (!args->infos_ptr || args->info_count != 1)
        return -EINVAL;
    memcpy(&info, (const void *)(uintptr_t)args->infos_ptr, sizeof info);
    if (info.method != METHOD_HOST_TRAP || info.type != TYPE_MICROSECONDS || !info.interval) {
        rp_log("PC sampling by method %u in units %u every %llu is not supported: only host traps"
               " in microseconds are",
               info.method, info.type, (unsigned long long)info.interval);
        return -EINVAL;
    }
    if (s->created && info.interval != s->interval_us)
        return -EEXIST;
    if (s->created == UINT32_MAX)
        return -ENOMEM;
    const int id = __builtin_ctz(~s->created);
    s->created |= 1u << id;
    s->interval_us = info.interval;
    args->trace_id = (uint32_t)id + 1;
    return 0;
}

static void start(struct rp_pc_sampling *s, const struct rp_arch *arch,
                  const struct rp_clock *clock, uint32_t bit)
{
    /* Three hours at 100 MHz: as good as never, and times stay far from 64 bits. */
    const uint64_t longest = UINT64_C(1) << 40, mhz = arch->timestamp_mhz;
    if (!s->started)
        s->times = (struct rp_pc_sampler_times){
            .epoch_ticks = rp_clock_now(clock),
            .interval_ticks = s->interval_us > longest / mhz ? longest : s->interval_us * mhz};
    rp_log("PC sampling every %llu us, %llu ticks, from %llu", (unsigned long long)s->interval_us,
           (unsigned long long)s->times.interval_ticks, (unsigned long long)s->times.epoch_ticks);
    __atomic_store_n(&s->started, s->started | bit, __ATOMIC_RELEASE);
}

static int call_session(struct rp_pc_sampling *s, const struct rp_arch *arch,
                        const struct rp_clock *clock, const struct rp_kfd_pc_sample *args)
{
    const uint32_t bit = args->trace_id && args->trace_id <= RP_PC_SAMPLING_SESSIONS
                             ? 1u << (args->trace_id - 1)
                             : 0;
    if (!(s->created & bit))
        return -EINVAL;
    switch (args->operation) {
    case DESTROY:
        if (s->started & bit)
            return -EBUSY;
        s->created &= ~bit;
        return 0;
    case START:
        if (s->started & bit)
            return -EALREADY;
        start(s, arch, clock, bit);
        return 0;
    case STOP:
        if (!(s->started & bit))
            return -EALREADY;
        __atomic_store_n(&s->started, s->started & ~bit, __ATOMIC_RELEASE);
        return 0;
    default:
        return -EINVAL;
    }
}

/* Samples are of the simulation, so there are none without it. */
static int refuse(struct rp_pc_sampling *s)
{
    if (!s->told)
        dprintf(STDERR_FILENO, "rocm-perf-device: PC sampling needs detailed timing: use --timing"
                               " detailed\n");
    s->told = true;
    return -EOPNOTSUPP;
}

int rp_pc_sampling_call(struct rp_pc_sampling *s, const struct rp_arch *arch,
                        const struct rp_clock *clock, struct rp_kfd_pc_sample *args)
{
    int status;
    pthread_mutex_lock(&s->lock);
    if (rp_timing_mode_for(arch) != RP_TIMING_DETAILED)
        status = refuse(s);
    else if (args->operation == QUERY)
        status = query(s, args);
    else if (args->operation == CREATE)
        status = create(s, args);
    else
        status = call_session(s, arch, clock, args);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* ---- the trap handler ---------------------------------------------------------------------- */

/** Counts records in one of the two buffers. */
struct buffer_use {
    uint32_t written, watermark;
    uint64_t signal_va; /**< completed when so many are written */
};

/** This leads to the buffers, which follow it. */
struct buffers {
    uint64_t next;            /**< bit 63: which buffer; below: its next record */
    uint32_t size, reserved0; /**< records of a buffer */
    struct buffer_use use[2];
    uint64_t reserved1[2];
};
static_assert(sizeof(struct buffers) == 64, "pcs_sampling_data_t");

/** This is perf_sample_hosttrap_v1_t. */
struct record {
    uint64_t pc, exec;
    uint32_t group_id[3];
    uint32_t wave_and_xcc; /**< wave: [5:0], XCC: [10:8] */
    uint32_t hw_id, reserved0;
    uint64_t reserved1;
    uint64_t ticks;
    uint64_t correlation; /**< packet: [24:0], doorbell: [41:32] */
};
static_assert(sizeof(struct record) == 64, "perf_sample_hosttrap_v1_t");

/* The register HW_ID of gfx9: the process's first VMID is 8, and compute is engine 1. */
static uint32_t hw_id_of(const struct rp_pc_sample *sample, const struct rp_cp_queue *queue)
{
    enum { FIRST_VMID = 8, COMPUTE = 1 };
    return (sample->slot & 15u) | (sample->simd & 3u) << 4 | (sample->cu & 15u) << 8 |
           (sample->engine & 7u) << 13 | FIRST_VMID << 20 | (queue->id & 7u) << 24 |
           (uint32_t)COMPUTE << 30;
}

static struct record record_of(const struct rp_pc_sample *sample, const struct rp_cp_queue *queue)
{
    const uint64_t packet = queue->read_index & (queue->ring_packets - 1);
    return (struct record){
        .pc = sample->pc,
        .exec = sample->exec,
        .group_id = {sample->group_id[0], sample->group_id[1], sample->group_id[2]},
        .wave_and_xcc = (sample->wave & 63u) | (sample->xcc & 7u) << 8,
        .hw_id = hw_id_of(sample, queue),
        .ticks = sample->ticks,
        .correlation = (packet & 0x1ffffff) | (uint64_t)(queue->id & 1023) << 32,
    };
}

static void *at(const struct rp_cp *cp, uint64_t va, uint64_t bytes)
{
    return va ? cp->host->translate(cp->host->ctx, va, bytes, 1) : NULL;
}

enum outcome { WRITTEN, FULL, UNREACHABLE };

/* Writes a record, as the handler does. */
static enum outcome trap(const struct rp_cp *cp, uint64_t buffers_va, const struct record *record)
{
    struct buffers *b = at(cp, buffers_va, sizeof *b);
    if (!b)
        return UNREACHABLE;
    const uint64_t next = __atomic_load_n(&b->next, __ATOMIC_ACQUIRE);
    const uint64_t entry = next & (UINT64_MAX >> 1), which = next >> 63;
    const uint32_t size = b->size;
    struct buffer_use *f = &b->use[which];
    if (entry >= size)
        return FULL;
    struct record *to =
        at(cp, buffers_va + sizeof *b + (which * size + entry) * sizeof *to, sizeof *to);
    if (!to)
        return UNREACHABLE;
    *to = *record;
    __atomic_fetch_add(&b->next, 1, __ATOMIC_ACQ_REL);
    if (__atomic_fetch_add(&f->written, 1, __ATOMIC_ACQ_REL) == f->watermark)
        rp_signal_store(cp, f->signal_va, 0);
    return WRITTEN;
}

/* The buffer is full: the runtime takes what is beyond its size for lost. */
static void lose(const struct rp_cp *cp, uint64_t buffers_va, uint64_t count)
{
    struct buffers *b = at(cp, buffers_va, sizeof *b);
    if (b)
        __atomic_fetch_add(&b->next, count, __ATOMIC_ACQ_REL);
}

/* Finds the buffers of host traps. 0: there are none, or nobody samples any more. */
static uint64_t buffers_of(struct rp_pc_sampling *s, const struct rp_cp *cp)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t handler_va = s->started ? s->handler_va : 0;
    pthread_mutex_unlock(&s->lock);
    const uint64_t *of_host_traps = at(cp, handler_va, sizeof *of_host_traps);
    return of_host_traps ? __atomic_load_n(of_host_traps, __ATOMIC_ACQUIRE) : 0;
}

static void tell_unread(struct rp_pc_sampling *s, const struct rp_cp *cp)
{
    if (!s->told_unread)
        dprintf(cp->report_fd,
                "rocm-perf-device: PC sampling: the program does not empty its full buffers, so"
                " samples are lost: let its callback return, or choose a longer interval\n");
    s->told_unread = true;
}

/* Tests whether a full buffer may still be emptied. A program that has let the time pass once is
 * not waited for at every kernel, but from when it has emptied a buffer. */
static bool may_wait(struct rp_pc_sampling *s, const struct rp_cp *cp,
                     struct rp_pc_delivery *delivery)
{
    const int64_t now_ns = rp_now_ns();
    if (!delivery->waits_since_ns)
        delivery->waits_since_ns = now_ns;
    s->unread |= now_ns - delivery->waits_since_ns >= cp->patience_ns;
    if (s->unread)
        tell_unread(s, cp);
    return !s->unread;
}

/* What is lost can be counted in a full buffer only, which so many samples find: it has far fewer
 * records than are kept of a dispatch. */
static void lose_rest(const struct rp_cp *cp, uint64_t buffers_va, struct rp_pc_delivery *delivery)
{
    if (delivery->lost)
        lose(cp, buffers_va, delivery->lost);
    delivery->lost = 0;
}

bool rp_pc_sampling_deliver(struct rp_pc_sampling *s, const struct rp_cp *cp,
                            const struct rp_cp_queue *queue, struct rp_pc_delivery *delivery)
{
    const uint64_t buffers_va = delivery->samples ? buffers_of(s, cp) : 0;
    while (buffers_va && delivery->next < delivery->count) {
        const struct record record = record_of(&delivery->samples[delivery->next], queue);
        const enum outcome outcome = trap(cp, buffers_va, &record);
        if (outcome == FULL)
            lose_rest(cp, buffers_va, delivery);
        if (outcome == FULL && may_wait(s, cp, delivery))
            return false;
        if (outcome == UNREACHABLE)
            break;
        if (outcome == FULL) {
            lose(cp, buffers_va, 1);
        } else {
            delivery->waits_since_ns = 0;
            s->unread = false;
        }
        delivery->next++;
    }
    free(delivery->samples);
    *delivery = (struct rp_pc_delivery){.end_ticks = delivery->end_ticks};
    return true;
}
