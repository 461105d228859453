/**
 * @file completions.c
 * @brief Collects the times of what completed and writes the records.
 */
#include "tracer/completions.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracer/tracer.h"

enum {
    MISSES_PER_LINE = 16, /**< queues finish nearly in order, so a scan stops after this many */
    SCAN_PER_LINE = 1024, /**< a scan never goes further than this behind the oldest */
    BATCH_PER_LINE = 64,  /**< entries finished per hold of the lock, which program threads need */
};

static struct rp_amd_signal *raw_signal(rp_hsa_signal signal)
{
    return (struct rp_amd_signal *)signal;
}

/* --- signals that entries wait for --------------------------------------------------------- */

static uint32_t bucket_of(rp_hsa_signal signal)
{
    return (uint32_t)((signal >> 6) * 0x9e3779b97f4a7c15u >> 32) % RP_COMPLETION_BUCKETS;
}

static pthread_mutex_t *stripe_of(struct rp_completion_reader *h, uint32_t bucket)
{
    return &h->stripes[bucket % RP_COMPLETION_STRIPES];
}

static void watch(struct rp_completion_reader *h, struct rp_pending *entry)
{
    uint32_t bucket = bucket_of(entry->signal);

    pthread_mutex_lock(stripe_of(h, bucket));
    entry->hash_next = h->buckets[bucket];
    __atomic_store_n(&h->buckets[bucket], entry, __ATOMIC_RELEASE);
    pthread_mutex_unlock(stripe_of(h, bucket));
}

static void unwatch(struct rp_completion_reader *h, struct rp_pending *entry)
{
    uint32_t bucket = bucket_of(entry->signal);

    pthread_mutex_lock(stripe_of(h, bucket));
    for (struct rp_pending **at = &h->buckets[bucket]; *at; at = &(*at)->hash_next) {
        if (*at == entry) {
            __atomic_store_n(at, entry->hash_next, __ATOMIC_RELEASE);
            break;
        }
    }
    pthread_mutex_unlock(stripe_of(h, bucket));
}

/* The entry stays valid for the caller only if it holds harvest.lock. */
static struct rp_pending *watched(struct rp_completion_reader *h, rp_hsa_signal signal)
{
    uint32_t bucket = bucket_of(signal);
    struct rp_pending *entry;

    if (!__atomic_load_n(&h->buckets[bucket], __ATOMIC_ACQUIRE))
        return NULL;
    pthread_mutex_lock(stripe_of(h, bucket));
    for (entry = h->buckets[bucket]; entry && entry->signal != signal; entry = entry->hash_next)
        ;
    pthread_mutex_unlock(stripe_of(h, bucket));
    return entry;
}

/* --- finishing one entry, under harvest.lock ----------------------------------------------- */

static void settle(struct rp_tool *tool, struct rp_pending *entry)
{
    uint64_t *pending = entry->way == RP_PENDING_COPY ? &tool->harvest.pending_copies
                                                      : &tool->harvest.pending_dispatches;

    if (entry->way == RP_PENDING_WATCH || entry->way == RP_PENDING_COPY)
        unwatch(&tool->harvest, entry);
    entry->done = true;
    /* The counter is written only here, under harvest.lock. */
    if (entry->position > entry->line->passed)
        __atomic_store_n(&entry->line->passed, entry->position, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->line->finished, entry->line->finished + 1, __ATOMIC_RELEASE);
    __atomic_fetch_sub(pending, 1, __ATOMIC_RELEASE);
}

static bool times_written(const struct rp_pending *entry)
{
    const struct rp_amd_signal *raw = raw_signal(entry->signal);
    uint64_t start = __atomic_load_n(&raw->start_ts, __ATOMIC_RELAXED);
    uint64_t end = __atomic_load_n(&raw->end_ts, __ATOMIC_RELAXED);

    return end != 0 && (start != entry->start0 || end != entry->end0);
}

/* Reads start and end in nanoseconds. @return false when they were never written
 *
 * The runtime relates the device's clock to the host's when it is asked for the time, which reads
 * the driver's counter. On hardware that keeps the two clocks together. On the software device
 * every such read moves the modelled clock by a tick, and later kernels with it, so times would
 * depend on when the collector looks. That clock needs no relation to the host's, so raw ticks are
 * the time.
 */
static bool read_times(const struct rp_tool *tool, const struct rp_pending *entry,
                       struct rp_hsa_times *ret)
{
    const struct rp_amd_signal *raw = raw_signal(entry->signal);
    struct rp_hsa_times times = {0};
    uint64_t hz = tool->timestamp_hz;
    rp_hsa_status status = RP_HSA_SUCCESS;

    if (tool->device_hz && times_written(entry)) {
        hz = tool->device_hz;
        times = (struct rp_hsa_times){.start = raw->start_ts, .end = raw->end_ts};
    } else if (entry->way == RP_PENDING_COPY) {
        status = tool->hsa.hsa_amd_profiling_get_async_copy_time(entry->signal, &times);
    } else if (times_written(entry)) {
        status = tool->hsa.hsa_amd_profiling_get_dispatch_time(entry->rec.dispatch.agent,
                                                               entry->signal, &times);
    }
    ret->start = rp_tool_to_ns(times.start, hz);
    ret->end = rp_tool_to_ns(times.end, hz);
    return status == RP_HSA_SUCCESS && times.start != 0 && times.end >= times.start;
}

static void finish_dispatch(struct rp_tool *tool, struct rp_pending *entry)
{
    struct rp_record record = {.kind = RP_REC_DISPATCH, .u.dispatch = entry->rec.dispatch};
    struct rp_rec_dispatch *d = &record.u.dispatch;
    struct rp_hsa_times times;

    if (!read_times(tool, entry, &times)) {
        rp_tool_log(tool, "lost dispatch=%" PRIu64, d->dispatch_id);
        rp_tool_lose_dispatches(tool, 1);
        return;
    }
    d->start_ns = times.start;
    d->end_ns = times.end;
    rp_trace_append(&tool->trace, &record);
    rp_software_device_finish(tool, entry);
    rp_tool_log(tool,
                "dispatch=%" PRIu64 " queue=%u kernel=%u way=%d start=%" PRIu64 " end=%" PRIu64
                " grid=%u,%u,%u workgroup=%u,%u,%u",
                d->dispatch_id, d->queue_index, d->kernel_id, (int)entry->way, d->start_ns,
                d->end_ns, d->grid[0], d->grid[1], d->grid[2], d->workgroup[0], d->workgroup[1],
                d->workgroup[2]);
}

static void finish_copy(struct rp_tool *tool, struct rp_pending *entry)
{
    struct rp_record record = {.kind = RP_REC_COPY, .u.copy = entry->rec.copy};
    struct rp_rec_copy *c = &record.u.copy;
    struct rp_hsa_times times;

    if (!read_times(tool, entry, &times)) {
        rp_tool_log(tool, "lost copy bytes=%" PRIu64, c->bytes);
        rp_trace_count_lost(&tool->trace);
        return;
    }
    c->start_ns = times.start;
    c->end_ns = times.end;
    rp_trace_append(&tool->trace, &record);
    rp_tool_log(tool, "copy bytes=%" PRIu64 " start=%" PRIu64 " end=%" PRIu64, c->bytes,
                c->start_ns, c->end_ns);
}

static void finish(struct rp_tool *tool, struct rp_pending *entry)
{
    if (entry->unrecorded)
        rp_software_device_forget(tool, entry);
    else if (entry->way == RP_PENDING_COPY && rp_tool_records(tool))
        finish_copy(tool, entry);
    else if (rp_tool_records(tool))
        finish_dispatch(tool, entry);
    settle(tool, entry);
    if (entry->way == RP_PENDING_OWN)
        rp_signal_pool_give(&tool->quiet_signals, entry->signal);
}

static bool complete(struct rp_tool *tool, const struct rp_pending *entry)
{
    return tool->hsa.hsa_signal_load_scacquire(entry->signal) < 1;
}

void rp_completions_forwarded(struct rp_tool *tool, struct rp_pending *entry)
{
    const struct rp_amd_signal *from = raw_signal(entry->signal);
    struct rp_amd_signal *to = raw_signal(entry->program);
    rp_hsa_signal own = entry->signal, program = entry->program;
    struct rp_pending *direct;

    pthread_mutex_lock(&tool->harvest.lock);
    /* The program's signal is about to get this entry's times: save those that are in it. */
    direct = watched(&tool->harvest, program);
    if (direct && complete(tool, direct))
        finish(tool, direct);
    __atomic_store_n(&to->start_ts, from->start_ts, __ATOMIC_RELAXED);
    __atomic_store_n(&to->end_ts, from->end_ts, __ATOMIC_RELAXED);
    /* Otherwise it was given up and counted, but the program still gets its signal. */
    if (!entry->done)
        finish(tool, entry);
    pthread_mutex_unlock(&tool->harvest.lock);

    rp_signal_pool_give(&tool->waking_signals, own);
    tool->hsa.hsa_signal_subtract_screlease(program, 1);
}

/* --- lines --------------------------------------------------------------------------------- */

static void drop_done(struct rp_pending_list *line)
{
    for (;;) {
        struct rp_pending_chunk *chunk = line->head, *next, *unused;
        uint32_t filled = __atomic_load_n(&chunk->filled, __ATOMIC_ACQUIRE);

        while (line->head_index < filled && chunk->entries[line->head_index].done)
            line->head_index++;
        next = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
        if (line->head_index < RP_PENDING_CHUNK_ENTRIES || !next)
            return;
        line->head = next;
        line->head_index = 0;
        unused = __atomic_exchange_n(&line->spare, chunk, __ATOMIC_ACQ_REL);
        free(unused);
    }
}

/* Finishes complete entries. @return true when it stopped only because the batch was full */
static bool read_pending_list(struct rp_tool *tool, struct rp_pending_list *line)
{
    struct rp_pending_chunk *chunk = line->head;
    uint32_t i = line->head_index;
    unsigned misses = 0, finished = 0;
    bool more = false;

    for (unsigned scanned = 0; scanned < SCAN_PER_LINE && misses < MISSES_PER_LINE; scanned++) {
        struct rp_pending *entry;

        if (i == RP_PENDING_CHUNK_ENTRIES) {
            chunk = __atomic_load_n(&chunk->next, __ATOMIC_ACQUIRE);
            i = 0;
        }
        if (!chunk || i >= __atomic_load_n(&chunk->filled, __ATOMIC_ACQUIRE))
            break;
        entry = &chunk->entries[i++];
        if (entry->done || entry->way == RP_PENDING_FORWARD)
            continue;
        if (!complete(tool, entry)) {
            misses++;
            continue;
        }
        if (finished == BATCH_PER_LINE) {
            more = true;
            break;
        }
        finish(tool, entry);
        finished++;
    }
    drop_done(line);
    return more;
}

void rp_completions_remove_list(struct rp_completion_reader *h, const struct rp_pending_list *line)
{
    struct rp_pending_list **at = &h->lines;

    while (*at && *at != line)
        at = &(*at)->next;
    if (*at)
        *at = line->next;
}

static uint64_t pending(const struct rp_completion_reader *h)
{
    return __atomic_load_n(&h->pending_dispatches, __ATOMIC_ACQUIRE) +
           __atomic_load_n(&h->pending_copies, __ATOMIC_ACQUIRE);
}

void rp_completions_read(struct rp_tool *tool)
{
    struct rp_completion_reader *h = &tool->harvest;
    bool more = true;
    int saved_errno = errno;

    while (more && pending(h) > 0) {
        pthread_mutex_lock(&h->lock);
        more = read_pending_list(tool, &h->copies);
        for (struct rp_pending_list *line = h->lines; line; line = line->next)
            more = read_pending_list(tool, line) || more;
        pthread_mutex_unlock(&h->lock);
    }
    errno = saved_errno;
}

void rp_completions_publish(struct rp_tool *tool, struct rp_pending_list *line,
                            struct rp_pending *entry)
{
    struct rp_completion_reader *h = &tool->harvest;
    struct rp_pending_chunk *chunk = line->tail;
    uint64_t *count = entry->way == RP_PENDING_COPY ? &h->pending_copies : &h->pending_dispatches;

    entry->line = line;
    __atomic_store_n(&line->published, line->published + 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
    if (entry->way == RP_PENDING_WATCH || entry->way == RP_PENDING_COPY)
        watch(h, entry);
    __atomic_store_n(&chunk->filled, chunk->filled + 1, __ATOMIC_RELEASE);
    /* Sequentially consistent with the thread's "idle = 1, then look at the counts". */
    if (__atomic_load_n(&h->idle, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&h->idle, 0, __ATOMIC_SEQ_CST))
        sem_post(&h->wake);
}

bool rp_completions_is_pending(struct rp_tool *tool, rp_hsa_signal signal)
{
    struct rp_completion_reader *h = &tool->harvest;
    struct rp_pending *entry;
    bool busy = false;

    if (!watched(h, signal))
        return false;
    pthread_mutex_lock(&h->lock);
    entry = watched(h, signal);
    if (entry) {
        /* New times under an old value mean that the entry completed, and that the program reset
         * the value without our seeing it (through a pointer to the value, for example). Nothing
         * has overwritten the times yet.
         */
        busy = !complete(tool, entry) && !times_written(entry);
        if (!busy)
            finish(tool, entry);
    }
    pthread_mutex_unlock(&h->lock);
    return busy;
}

/** The program is about to change @p signal: takes its times if they are there. */
static void completions_before_change(struct rp_tool *tool, rp_hsa_signal signal)
{
    struct rp_completion_reader *h = &tool->harvest;
    struct rp_pending *entry;
    int saved_errno;

    if (!watched(h, signal))
        return;
    saved_errno = errno;
    pthread_mutex_lock(&h->lock);
    entry = watched(h, signal);
    if (entry && complete(tool, entry))
        finish(tool, entry);
    pthread_mutex_unlock(&h->lock);
    errno = saved_errno;
}

static void give_up(struct rp_tool *tool, struct rp_pending *entry)
{
    if (!entry->unrecorded && entry->way == RP_PENDING_COPY)
        rp_trace_count_lost(&tool->trace);
    else if (!entry->unrecorded)
        rp_tool_lose_dispatches(tool, 1);
    settle(tool, entry);
}

/** The program is about to destroy @p signal: it must not be looked at afterwards. */
static void completions_before_destroy(struct rp_tool *tool, rp_hsa_signal signal)
{
    struct rp_completion_reader *h = &tool->harvest;
    struct rp_pending *entry;

    if (!watched(h, signal))
        return;
    pthread_mutex_lock(&h->lock);
    while ((entry = watched(h, signal))) {
        if (complete(tool, entry))
            finish(tool, entry);
        else
            give_up(tool, entry);
    }
    pthread_mutex_unlock(&h->lock);
}

void rp_completions_withdraw(struct rp_tool *tool, struct rp_pending *entry)
{
    pthread_mutex_lock(&tool->harvest.lock);
    if (!entry->done)
        settle(tool, entry);
    pthread_mutex_unlock(&tool->harvest.lock);
}

bool rp_completions_abandon(struct rp_tool *tool, struct rp_pending_list *line, bool destroyed)
{
    bool held = false;

    pthread_mutex_lock(&tool->harvest.lock);
    while (read_pending_list(tool, line))
        ;
    for (struct rp_pending_chunk *chunk = line->head; chunk; chunk = chunk->next) {
        for (uint32_t i = chunk == line->head ? line->head_index : 0; i < chunk->filled; i++) {
            struct rp_pending *entry = &chunk->entries[i];

            if (entry->done)
                continue;
            give_up(tool, entry);
            held = held || entry->way == RP_PENDING_FORWARD;
            if (destroyed && entry->way == RP_PENDING_OWN)
                rp_signal_pool_give(&tool->quiet_signals, entry->signal);
        }
    }
    if (!held)
        drop_done(line);
    pthread_mutex_unlock(&tool->harvest.lock);
    return held;
}

void rp_completions_init(struct rp_completion_reader *h)
{
    memset(h, 0, sizeof(*h));
    pthread_mutex_init(&h->lock, NULL);
    pthread_mutex_init(&h->copies_lock, NULL);
    for (size_t i = 0; i < RP_COMPLETION_STRIPES; i++)
        pthread_mutex_init(&h->stripes[i], NULL);
    sem_init(&h->wake, 0, 0);
}

/* Pending entries of one queue are in order of submission, in chunks of a list with a single
 * producer.
 */

int rp_pending_list_init(struct rp_pending_list *line)
{
    memset(line, 0, sizeof(*line));
    line->tail = line->head = calloc(1, sizeof(*line->head));
    return line->head ? 0 : -1;
}

void rp_pending_list_free(struct rp_pending_list *line)
{
    while (line->head) {
        struct rp_pending_chunk *next = line->head->next;

        free(line->head);
        line->head = next;
    }
    free(line->spare);
    memset(line, 0, sizeof(*line));
}

/* In steady state the consumer's emptied chunks come back here and nothing is allocated. */
static struct rp_pending_chunk *another_chunk(struct rp_pending_list *line)
{
    struct rp_pending_chunk *chunk = __atomic_exchange_n(&line->spare, NULL, __ATOMIC_ACQUIRE);

    if (!chunk)
        chunk = malloc(sizeof(*chunk));
    if (chunk) {
        chunk->next = NULL;
        chunk->filled = 0;
    }
    return chunk;
}

struct rp_pending *rp_pending_list_next(struct rp_pending_list *line)
{
    struct rp_pending_chunk *chunk = line->tail;
    uint32_t filled;

    if (!chunk)
        return NULL;
    filled = __atomic_load_n(&chunk->filled, __ATOMIC_RELAXED);
    if (filled == RP_PENDING_CHUNK_ENTRIES) {
        struct rp_pending_chunk *next = another_chunk(line);

        if (!next)
            return NULL;
        __atomic_store_n(&chunk->next, next, __ATOMIC_RELEASE);
        line->tail = chunk = next;
        filled = 0;
    }
    memset(&chunk->entries[filled], 0, offsetof(struct rp_pending, rec));
    return &chunk->entries[filled];
}

/* This part has the thread that reads completions that the program does not wait for, and the
 * bounded waits.
 */

enum {
    POLL_NS = 200 * 1000,           /**< while entries complete */
    POLL_SLOW_NS = 2 * 1000 * 1000, /**< a long kernel runs, or nothing does */
    POLLS_BEFORE_SLOW = 10,
    POLLS_BEFORE_IDLE = 50, /**< programs that launch and wait in turns never pay for waking us */
    DRAIN_POLL_NS = 100 * 1000,
    SWITCH_POLL_NS = 100 * 1000 * 1000,
    SPARE_SIGNALS = 256, /**< kept free, so that packet callbacks rarely create any */
};

static void sleep_ns(long ns)
{
    const struct timespec pause = {.tv_nsec = ns};

    nanosleep(&pause, NULL);
}

static uint64_t still_pending(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->harvest.pending_dispatches, __ATOMIC_SEQ_CST) +
           __atomic_load_n(&tool->harvest.pending_copies, __ATOMIC_SEQ_CST);
}

/* Who ends the program when recording is over wants to know that nothing is missing. */
static void note_settled(struct rp_tool *tool, bool *settled)
{
    const bool now = rp_recording_switched_off() && still_pending(tool) == 0;

    if (now != *settled)
        rp_trace_note(&tool->trace, now ? RP_TRACE_FLAGS : RP_TRACE_NO_FLAGS, RP_TRACE_SETTLED);
    *settled = now;
}

/* Waits for a while where recording may be switched. */
static int wait_for_wake(struct rp_completion_reader *h)
{
    struct timespec until;

    if (!rp_recording_can_be_switched())
        return sem_wait(&h->wake);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += SWITCH_POLL_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(&h->wake, &until);
}

static void sleep_until_work(struct rp_tool *tool)
{
    struct rp_completion_reader *h = &tool->harvest;

    __atomic_store_n(&h->idle, 1, __ATOMIC_SEQ_CST);
    if (still_pending(tool) > 0 || __atomic_load_n(&h->stop, __ATOMIC_SEQ_CST)) {
        if (__atomic_exchange_n(&h->idle, 0, __ATOMIC_SEQ_CST))
            return; /* No thread has posted. */
    }
    while (wait_for_wake(h) < 0) {
        if (errno == EINTR)
            continue;
        if (__atomic_exchange_n(&h->idle, 0, __ATOMIC_SEQ_CST))
            return; /* No thread has posted meanwhile. */
    }
}

static void *reader_main(void *data)
{
    struct rp_tool *tool = data;
    struct rp_completion_reader *h = &tool->harvest;
    unsigned quiet_polls = 0;
    bool settled = false;

    while (!__atomic_load_n(&h->stop, __ATOMIC_ACQUIRE)) {
        uint64_t before = still_pending(tool);

        rp_completions_read(tool);
        note_settled(tool, &settled);
        rp_signal_pool_reserve(&tool->quiet_signals, SPARE_SIGNALS);
        rp_trace_prepare(&tool->trace);
        if (before != still_pending(tool))
            quiet_polls = 0;
        else
            quiet_polls++;
        if (quiet_polls > POLLS_BEFORE_IDLE && still_pending(tool) == 0) {
            sleep_until_work(tool);
            quiet_polls = 0;
        } else {
            sleep_ns(quiet_polls > POLLS_BEFORE_SLOW ? POLL_SLOW_NS : POLL_NS);
        }
    }
    return NULL;
}

static void start_reader(struct rp_tool *tool)
{
    struct rp_completion_reader *h = &tool->harvest;
    sigset_t all, before;

    if (h->thread_running)
        return;
    rp_signal_pool_reserve(&tool->quiet_signals, SPARE_SIGNALS);
    /* The program's signals are for the program's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    h->thread_running = pthread_create(&h->thread, NULL, reader_main, tool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* Without the thread, waits and the final drain still read completions. */
    if (h->thread_running)
        pthread_setname_np(h->thread, "rocm-perf-tool");
}

void rp_completions_add_list(struct rp_tool *tool, struct rp_pending_list *line)
{
    line->next = tool->harvest.lines;
    tool->harvest.lines = line;
    start_reader(tool);
}

static void stop_reader(struct rp_tool *tool)
{
    struct rp_completion_reader *h = &tool->harvest;

    if (!h->thread_running)
        return;
    __atomic_store_n(&h->stop, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&h->idle, 0, __ATOMIC_SEQ_CST))
        sem_post(&h->wake);
    pthread_join(h->thread, NULL);
    h->thread_running = false;
    __atomic_store_n(&h->stop, 0, __ATOMIC_SEQ_CST);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void rp_completions_end(struct rp_tool *tool, unsigned patience_ms)
{
    uint64_t last = UINT64_MAX, since;

    stop_reader(tool);
    since = now_ms();
    for (;;) {
        uint64_t left;

        rp_completions_read(tool);
        left = still_pending(tool);
        if (left == 0)
            return;
        if (left != last) {
            last = left;
            since = now_ms();
        } else if (now_ms() - since >= patience_ms) {
            return;
        }
        sleep_ns(DRAIN_POLL_NS);
    }
}

static bool list_is_empty(struct rp_tool *tool, struct rp_pending_list *line)
{
    bool empty;

    pthread_mutex_lock(&tool->harvest.lock);
    empty = line->head_index >= __atomic_load_n(&line->head->filled, __ATOMIC_ACQUIRE) &&
            !__atomic_load_n(&line->head->next, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&tool->harvest.lock);
    return empty;
}

void rp_completions_drain_list(struct rp_tool *tool, struct rp_pending_list *line,
                               unsigned patience_ms)
{
    uint64_t begin = now_ms();

    rp_completions_read(tool);
    while (!list_is_empty(tool, line) && now_ms() - begin < patience_ms) {
        sleep_ns(DRAIN_POLL_NS);
        rp_completions_read(tool);
    }
}

/* Hooks of signal functions read the times before the program overwrites them, and record what
 * completed before the program learns of it.
 */

/* A store says what the value is from now on, whatever it was. */
static bool is_store(int slot)
{
    return slot == RP_SLOT_hsa_signal_store_relaxed || slot == RP_SLOT_hsa_signal_store_screlease ||
           slot == RP_SLOT_hsa_signal_silent_store_relaxed ||
           slot == RP_SLOT_hsa_signal_silent_store_screlease;
}

static void before_change(rp_hsa_signal signal, bool anew)
{
    if (!rp_tool_active(&rp_the_tool))
        return;
    completions_before_change(&rp_the_tool, signal);
    rp_shared_copies_before_change(&rp_the_tool, signal, anew);
}

/* Without records nobody reads what the program can know, so the tool's own thread suffices. */
static void observed(void)
{
    if (rp_tool_active(&rp_the_tool) && rp_tool_records(&rp_the_tool))
        rp_completions_read(&rp_the_tool);
}

/* Each entry of hsa_entries.def that belongs to one of these groups gets one hook. */
#define RP_SIGNAL_SET(index, name)                                                                 \
    static void hook_##name(rp_hsa_signal signal, int64_t value)                                   \
    {                                                                                              \
        before_change(signal, is_store(index));                                                    \
        rp_the_tool.hsa.name(signal, value);                                                       \
    }
#define RP_SIGNAL_EXCHANGE(index, name)                                                            \
    static int64_t hook_##name(rp_hsa_signal signal, int64_t value)                                \
    {                                                                                              \
        before_change(signal, true);                                                               \
        return rp_the_tool.hsa.name(signal, value);                                                \
    }
#define RP_SIGNAL_CAS(index, name)                                                                 \
    static int64_t hook_##name(rp_hsa_signal signal, int64_t expected, int64_t value)              \
    {                                                                                              \
        before_change(signal, false);                                                              \
        return rp_the_tool.hsa.name(signal, expected, value);                                      \
    }
#define RP_SIGNAL_LOAD(index, name)                                                                \
    static int64_t hook_##name(rp_hsa_signal signal)                                               \
    {                                                                                              \
        int64_t value = rp_the_tool.hsa.name(signal);                                              \
                                                                                                   \
        if (value < 1)                                                                             \
            observed();                                                                            \
        return value;                                                                              \
    }
#define RP_SIGNAL_WAIT(index, name)                                                                \
    static int64_t hook_##name(rp_hsa_signal signal, uint32_t condition, int64_t value,            \
                               uint64_t timeout, uint32_t wait_state)                              \
    {                                                                                              \
        int64_t result = rp_the_tool.hsa.name(signal, condition, value, timeout, wait_state);      \
                                                                                                   \
        observed();                                                                                \
        return result;                                                                             \
    }
#include "tracer/hsa_entries.def"

static rp_hsa_status hook_signal_destroy(rp_hsa_signal signal)
{
    if (rp_tool_active(&rp_the_tool)) {
        rp_handlers_wait(&rp_the_tool);
        rp_handlers_forget(&rp_the_tool, signal);
        completions_before_destroy(&rp_the_tool, signal);
        rp_shared_copies_before_change(&rp_the_tool, signal, true);
        rp_submitters_forget(&rp_the_tool.producers, signal);
    }
    return rp_the_tool.hsa.hsa_signal_destroy(signal);
}

static uint32_t hook_wait_any(uint32_t count, rp_hsa_signal *signals, uint32_t *conditions,
                              int64_t *values, uint64_t timeout, uint32_t wait_state,
                              int64_t *ret_value)
{
    uint32_t which = rp_the_tool.hsa.hsa_amd_signal_wait_any(count, signals, conditions, values,
                                                             timeout, wait_state, ret_value);

    observed();
    return which;
}

static uint32_t hook_wait_all(uint32_t count, rp_hsa_signal *signals, uint32_t *conditions,
                              int64_t *values, uint64_t timeout, uint32_t wait_state,
                              int64_t *ret_values)
{
    uint32_t result = rp_the_tool.hsa.hsa_amd_signal_wait_all(count, signals, conditions, values,
                                                              timeout, wait_state, ret_values);

    observed();
    return result;
}

void rp_signals_hook(const struct rp_hsa_tables *tables)
{
#define RP_SIGNAL_SET(index, name)      RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_EXCHANGE(index, name) RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_CAS(index, name)      RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_LOAD(index, name)     RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_WAIT(index, name)     RP_TOOL_REPLACE(tables->core, name, hook_##name);
#include "tracer/hsa_entries.def"
    RP_TOOL_REPLACE(tables->core, hsa_signal_destroy, hook_signal_destroy);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_signal_wait_any, hook_wait_any);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_signal_wait_all, hook_wait_all);
}
