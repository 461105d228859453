/*
 * A dispatch from launch to end: the threads that work on it, which slices it is executed in and in
 * which order, and what the driver asks of it.
 */
#include "device/exec/dispatch.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
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
#include "device/exec/code_cache.h"
#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"

/* ---- the executor's services to instruction handlers ---- */

static _Atomic bool clock_read;

bool rp_clock_read_take(void)
{
    return atomic_exchange(&clock_read, false);
}

static int read_clock(struct rp_wave *w)
{
    atomic_store_explicit(&clock_read, true, memory_order_relaxed);
    bool told = false;
    const int step = w->record ? rp_observer_of(w)->on_clock(w, &told) : RP_STEP_NEXT;
    if (step == RP_STEP_NEXT && !told && !w->fast_clock) {
        w->fast_clock = true;
        w->group->env->counts.fast_clock_waves++;
    }
    return step;
}

/* Returns the shader clocks since the start of the dispatch, as modelled for this wave. */
static uint64_t clock_cycles(const struct rp_wave *w)
{
    return w->group->start_cycles + w->cycles + (uint64_t)w->clock_lead;
}

static uint64_t clock_ticks(const struct rp_wave *w)
{
    const struct rp_dispatch *d = w->group->dispatch;
    return d->start_ticks + clock_cycles(w) * d->arch->timestamp_mhz / d->arch->engine_clock_mhz;
}

static uint64_t memtime_cycles(const struct rp_wave *w)
{
    const struct rp_dispatch *d = w->group->dispatch;
    return d->start_ticks * d->arch->engine_clock_mhz / d->arch->timestamp_mhz + clock_cycles(w);
}

static uint32_t xcc_of(const struct rp_wave *w)
{
    const struct rp_arch *arch = w->group->dispatch->arch;
    return arch && arch->xcc_count ? (uint32_t)(w->group->linear_id % arch->xcc_count) : 0;
}

static void wave_host_flush(struct rp_dispatch *d);

static void interrupt(struct rp_wave *w, uint32_t m0)
{
    struct rp_dispatch *d = w->group->dispatch;
    if (d->interrupt_count == RP_INTERRUPTS)
        wave_host_flush(d);
    d->interrupt[d->interrupt_count++] = m0;
}

/** Passes on what interrupt has kept. */
static void wave_host_flush(struct rp_dispatch *d)
{
    for (unsigned i = 0; i < d->interrupt_count; i++)
        if (d->host->send_interrupt)
            d->host->send_interrupt(d->host->ctx, d->interrupt[i]);
    d->interrupt_count = 0;
}

const struct rp_wave_services rp_exec_services = {.read_clock = read_clock,
                                                  .clock_ticks = clock_ticks,
                                                  .memtime_cycles = memtime_cycles,
                                                  .xcc = xcc_of,
                                                  .interrupt = interrupt};

/* ---- a thread's own part of a dispatch ---- */

/** A slice in which all wavefronts wait counts as this much work, so that what waits for ever ends;
 * one that executes something counts as a few instructions more, also where it sleeps then. */
enum { RP_BOUND_SLICE_WORK = 1024, RP_BOUND_PIECE_WORK = 16 };

/* This is the only context of the file: all workers, for rp_exec_settle(). */
static struct {
    pthread_mutex_t lock;
    struct rp_exec_worker *head;
    uint64_t dma_turns; /**< odd while the DMA engine uses host addresses */
} all_workers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Runs in a forked child, whose other threads do not exist. */
static void forget_parent(void)
{
    pthread_mutex_init(&all_workers.lock, NULL);
    all_workers.head = NULL;
    all_workers.dma_turns = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

/* Returns NULL when the host is out of memory. */
static struct rp_exec_worker *worker_new(struct rp_dispatch *d)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct rp_exec_worker *h = rp_cache_lines_new(1, sizeof *h);
    if (!h)
        return NULL;
    h->dispatch = d;
    h->env.host = d->host;
    h->env.lanes = rp_mem_lanes_best();
    h->env.services = &rp_exec_services;
    rp_mem_init(&h->env.mem, d->host);
    h->env.mem.counts = &h->env.counts;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&all_workers.lock);
    h->next = all_workers.head;
    if (h->next)
        h->next->link = &h->next;
    h->link = &all_workers.head;
    all_workers.head = h;
    pthread_mutex_unlock(&all_workers.lock);
    return h;
}

static void worker_free(struct rp_exec_worker *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&all_workers.lock);
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    pthread_mutex_unlock(&all_workers.lock);
    for (unsigned i = 0; i < RP_CODE_WAYS; i++)
        rp_code_page_put(h->code[i]);
    rp_page_counters_release(h);
    free(h->run_log.observer_data);
    rp_resident_group_give(h->spare);
    free(h);
}

/* Every thread of the process has executed a full barrier when this returns. */
static void barrier_everywhere(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    usleep(1000); /* This host has no such call, but no store stays unseen for that long. */
}

void rp_exec_dma_begin(void)
{
    __atomic_add_fetch(&all_workers.dma_turns, 1, __ATOMIC_SEQ_CST);
}

void rp_exec_dma_end(void)
{
    __atomic_add_fetch(&all_workers.dma_turns, 1, __ATOMIC_SEQ_CST);
}

static void wait_for_turn(const uint64_t *counter)
{
    uint64_t turns = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
    while (turns % 2 && __atomic_load_n(counter, __ATOMIC_ACQUIRE) == turns)
        sched_yield();
}

void rp_exec_settle(void)
{
    /* Later turns now see the new generation, and this thread sees earlier turns. */
    barrier_everywhere();
    pthread_mutex_lock(&all_workers.lock);
    for (struct rp_exec_worker *h = all_workers.head; h; h = h->next)
        wait_for_turn(&h->turns);
    pthread_mutex_unlock(&all_workers.lock);
    wait_for_turn(&all_workers.dma_turns);
}

/* ---- threads ---- */

/* These threads help with large dispatches. They are started when first needed and then kept, in
 * one pool per process. A thread looks for work for some microseconds and then sleeps. A forked
 * child has no threads and starts its own.
 */

/* Looks for work before a thread sleeps: some microseconds. */
enum { SPINS = 1000 };

/* This is the only context of the executor's threads. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t posted;    /**< jobs has got a member */
    pthread_cond_t withdrawn; /**< a dispatch has lost its last helper */
    struct rp_dispatch *jobs;
    uint32_t posts; /**< counts them; read without the lock */
    unsigned started;
    unsigned sleepers;
    unsigned wanted;           /**< threads in all, the caller's included; 0 = not yet known */
    uint64_t help_after;       /**< instructions */
} pool = {.help_after = 16384, /* This is 0.2 ms, because waking a thread takes up to 0.1 ms. */
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .withdrawn = PTHREAD_COND_INITIALIZER};

/* In a forked child there are no other threads. */
static void pool_forget_parent(void)
{
    unsigned wanted = pool.wanted;
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.posted, NULL);
    pthread_cond_init(&pool.withdrawn, NULL);
    pool.jobs = NULL;
    pool.posts = pool.started = pool.sleepers = 0;
    pool.wanted = wanted;
}

static void pool_watch_forks(void)
{
    pthread_atfork(NULL, NULL, pool_forget_parent);
}

unsigned rp_exec_threads_of(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    return end != text && !*end && n >= 1 && n <= RP_EXEC_MOST_THREADS ? (unsigned)n : 0;
}

static unsigned default_threads(void)
{
    const char *text = getenv("ROCM_PERF_DEVICE_THREADS");
    unsigned said = text ? rp_exec_threads_of(text) : 0;
    cpu_set_t cpus;
    if (said)
        return said;
    if (sched_getaffinity(0, sizeof cpus, &cpus) < 0)
        return 1;
    int n = CPU_COUNT(&cpus);
    return n < 1 ? 1 : n < RP_EXEC_WORKERS ? (unsigned)n : RP_EXEC_WORKERS;
}

unsigned rp_exec_threads(void)
{
    unsigned wanted = __atomic_load_n(&pool.wanted, __ATOMIC_RELAXED);
    if (!wanted) {
        wanted = default_threads();
        __atomic_store_n(&pool.wanted, wanted, __ATOMIC_RELAXED);
    }
    return wanted;
}

void rp_exec_set_threads(unsigned count)
{
    __atomic_store_n(&pool.wanted, count < RP_EXEC_WORKERS ? count : RP_EXEC_WORKERS,
                     __ATOMIC_RELAXED);
}

void rp_exec_set_help_after(uint64_t wave_insts)
{
    __atomic_store_n(&pool.help_after, wave_insts, __ATOMIC_RELAXED);
}

/** Returns after how many instructions a dispatch is worth waking other threads for. */
static uint64_t help_after(void)
{
    return __atomic_load_n(&pool.help_after, __ATOMIC_RELAXED);
}

/* Finds a dispatch that this thread may help with, which has fewer than the wanted helpers. */
static struct rp_dispatch *find_job(unsigned id)
{
    if (id >= rp_exec_threads())
        return NULL;
    for (struct rp_dispatch *d = pool.jobs; d; d = d->next_job)
        if (!__atomic_load_n(&d->stop, __ATOMIC_RELAXED))
            return d;
    return NULL;
}

static struct rp_dispatch *wait_for_job(unsigned id)
{
    struct rp_dispatch *d;
    while (!(d = find_job(id))) {
        uint32_t seen = pool.posts;
        pthread_mutex_unlock(&pool.lock);
        for (unsigned i = 0; i < SPINS && __atomic_load_n(&pool.posts, __ATOMIC_RELAXED) == seen;
             i++)
            __builtin_ia32_pause();
        pthread_mutex_lock(&pool.lock);
        pool.sleepers++;
        while (pool.posts == seen)
            pthread_cond_wait(&pool.posted, &pool.lock);
        pool.sleepers--;
    }
    return d;
}

/* Returns the processor time of the calling thread. */
static int64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sched_work(struct rp_dispatch *d, struct rp_exec_worker *h);

static void *helper(void *arg)
{
    unsigned id = (unsigned)(uintptr_t)arg;
    char name[16];
    snprintf(name, sizeof name, "rp-device-%u", id);
    prctl(PR_SET_NAME, name);
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct rp_dispatch *d = wait_for_job(id);
        d->helpers++;
        pthread_mutex_unlock(&pool.lock);
        struct rp_exec_worker *worker = d->workers[id];
        int64_t spent_ns = d->timed ? -thread_ns() : 0;
        if (!worker)
            worker = d->workers[id] = worker_new(d);
        if (worker)
            sched_work(d, worker);
        if (d->timed)
            spent_ns += thread_ns();
        pthread_mutex_lock(&pool.lock);
        /* The time is taken in one piece, as a helper leaves when the run ends. */
        if (spent_ns > d->longest_ns)
            d->longest_ns = spent_ns;
        if (!--d->helpers)
            pthread_cond_broadcast(&pool.withdrawn);
        if (!worker) { /* Memory has ended here, so other threads will do the work. */
            pool.sleepers++;
            pthread_cond_wait(&pool.posted, &pool.lock);
            pool.sleepers--;
        }
    }
    return NULL;
}

/* Detached, and deaf to the program's signals. */
static void start_helpers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all, old;
    pthread_attr_t attr;
    unsigned wanted = rp_exec_threads();
    if (pool.started + 1 >= wanted)
        return;
    pthread_once(&once, pool_watch_forks);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool.started + 1 < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, helper, (void *)(uintptr_t)(pool.started + 1)))
            break;
        pool.started++;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/** Lets the pool's threads work on @p d until it is withdrawn. Called with d->lock held. */
static void post(struct rp_dispatch *d)
{
    d->posted = true;
    if (rp_exec_threads() < 2 || d->kernel.group_count < 2 ||
        rp_wave_order_is_interleaved(d->settings.order))
        return;
    pthread_mutex_lock(&pool.lock);
    start_helpers();
    d->next_job = pool.jobs;
    pool.jobs = d;
    __atomic_add_fetch(&pool.posts, 1, __ATOMIC_RELAXED);
    if (pool.sleepers)
        pthread_cond_broadcast(&pool.posted);
    pthread_mutex_unlock(&pool.lock);
}

/* Returns when no thread of the pool works on @p d any more; d->stop must be set. */
static void withdraw(struct rp_dispatch *d)
{
    if (!d->posted)
        return;
    pthread_mutex_lock(&pool.lock);
    for (struct rp_dispatch **link = &pool.jobs; *link; link = &(*link)->next_job)
        if (*link == d) {
            *link = d->next_job;
            break;
        }
    while (d->helpers)
        pthread_cond_wait(&pool.withdrawn, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    d->posted = false;
}

/* ---- slices ---- */

/* This part decides in which slices a dispatch is executed, in which order, and who executes them.
 *
 * Slots are places for resident workgroups and are served round robin. A slot whose previous slice
 * has retired gets the next one, for the workgroup that it holds, or for the next workgroups that
 * nobody holds (short ones by the chunk). A round in which no workgroup ended, while some wait or
 * for the third time in a row, doubles the slots, up to what the hardware would hold, so that
 * workgroups that wait for one another always make progress. Slices grow with every visit: they
 * are short for a workgroup that spins, and long for one that computes.
 *
 * Every decision uses only what is known of slices that must have retired at that point of the
 * sequence, however many threads there are: the slot's own previous slice, and the round before
 * the previous one. Neither host time nor the caller's budgets matter.
 */

/* A workgroup's first slice has this many instructions, and later ones double this often. */
enum { FIRST_SLICE = 32768, SLICE_DOUBLINGS = 5 };

/* In a shuffled order workgroups go on in small pieces, in turn, where that is not too much work,
 * which means for dispatches with few of them.
 */
enum { SHUFFLED_SLICE = 512, SHUFFLED_GROUPS = 4096 };

/* In an interleaved order the pieces are of a few instructions, until there have been so many. */
enum { INTERLEAVED_SLICES = 1 << 14 };

/* Workgroups are given to a lane by the chunk of about so many instructions, and not so many at a
 * time that lanes would run out of work unevenly at the end; but what is not worth a lock (some ten
 * microseconds) is not divided further, once a few have told how long they are. */
enum {
    CHUNK_INSTS = 16384,
    LEAST_CHUNK_INSTS = 2048,
    CHUNK_GROUPS = 256,
    SHARES_LEFT = 2,
    TELLING_GROUPS = 16,
};

enum { FIRST_LANES = 64, LANE_BLOCK = 64 };

/* Rounds without an end of a workgroup before there are more lanes, if nobody visibly waits. */
enum { STUCK_ROUNDS = 3 };

/* Idle rounds before the outside gets a turn: by then each wave has gone round its loop often
 * enough for what it does to be known (see executor.h). */
enum { LOOKS = 4 };

/* Looks at what a waiting thread waits for before it sleeps. */
enum { SCHED_SPINS = 500 };

static void sched_init(struct rp_dispatch *d)
{
    /* Held for a fraction of a microsecond: sleeping for it would take far longer. */
    pthread_mutexattr_t spins;
    pthread_mutexattr_init(&spins);
    pthread_mutexattr_settype(&spins, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&d->lock, &spins);
    pthread_mutexattr_destroy(&spins);
    pthread_cond_init(&d->changed, NULL);
    d->fault_order = UINT64_MAX;
}

/* ---- lanes --------------------------------------------------------------------------------- */

static struct rp_workgroup_slot *new_lane(struct rp_dispatch *d)
{
    if (!d->free_lanes) {
        struct rp_workgroup_slot *block = rp_cache_lines_new(LANE_BLOCK, sizeof *block);
        struct rp_workgroup_slot **blocks =
            realloc(d->lane_blocks, (d->lane_block_count + 1) * sizeof *blocks);
        if (blocks)
            d->lane_blocks = blocks;
        if (!block || !blocks) {
            free(block);
            return NULL;
        }
        blocks[d->lane_block_count++] = block;
        for (unsigned i = LANE_BLOCK; i-- > 0;) {
            block[i].next = d->free_lanes;
            d->free_lanes = &block[i];
        }
    }
    struct rp_workgroup_slot *lane = d->free_lanes;
    d->free_lanes = lane->next;
    *lane = (struct rp_workgroup_slot){.state = RP_WORKGROUP_SLOT_READY};
    return lane;
}

static void append(struct rp_dispatch *d, struct rp_workgroup_slot *lane)
{
    lane->next = NULL;
    if (d->lane_head)
        d->lane_tail->next = lane;
    else
        d->lane_head = lane;
    d->lane_tail = lane;
}

static void add_lanes(struct rp_dispatch *d, uint64_t target, const struct rp_totals *known)
{
    d->lane_target = target;
    while (d->lane_count < target) {
        struct rp_workgroup_slot *lane = new_lane(d);
        if (!lane) {
            d->no_memory = true;
            return;
        }
        lane->known = *known;
        append(d, lane);
        d->lane_count++;
    }
}

/* ---- workgroups ---------------------------------------------------------------------------- */

static bool groups_left(const struct rp_dispatch *d)
{
    return d->next_group < d->kernel.group_count || d->returned_first < d->returned_count;
}

/* Takes back what a lane has not started: it could wait for those very workgroups. */
static void take_back(struct rp_dispatch *d, struct rp_workgroup_slot *lane)
{
    if (lane->chunk_next == lane->chunk_end)
        return;
    if (d->returned_first == d->returned_count)
        d->returned_first = d->returned_count = 0;
    if (d->returned_count == d->returned_capacity) {
        size_t capacity = d->returned_capacity ? 2 * d->returned_capacity : 64;
        struct rp_id_range *grown = realloc(d->returned, capacity * sizeof *grown);
        if (!grown)
            return; /* The slot keeps them. */
        d->returned = grown;
        d->returned_capacity = capacity;
    }
    d->returned[d->returned_count++] = (struct rp_id_range){lane->chunk_next, lane->chunk_end};
    lane->chunk_next = lane->chunk_end = 0;
}

static bool goes_on_in_pieces(const struct rp_dispatch *d)
{
    return rp_wave_order_is_shuffled(d->settings.order) && d->kernel.group_count <= SHUFFLED_GROUPS;
}

/* Returns how many workgroups fill a slice, from the sizes of those that ended. */
static uint64_t chunk_groups(const struct rp_dispatch *d, const struct rp_workgroup_slot *lane)
{
    if (!lane->known.groups || goes_on_in_pieces(d))
        return 1;
    uint64_t each = lane->known.wave_insts / lane->known.groups + 1;
    uint64_t count = CHUNK_INSTS / each;
    uint64_t share = (d->kernel.group_count - d->next_group) / (SHARES_LEFT * d->lane_target);
    if (count > share) {
        /* gfx90a's stores are not ordered (access_order.c). Workgroups that look back at earlier
         * ones see the same with any number of threads only if few are given back and so start
         * late.
         */
        const bool tells = lane->known.groups >= TELLING_GROUPS;
        const bool ordered = rp_isa_target_get() != RP_ISA_GFX90A;
        const uint64_t least = tells && ordered ? LEAST_CHUNK_INSTS / each : 0;
        count = share > least ? share : least;
    }
    if (count > CHUNK_GROUPS)
        count = CHUNK_GROUPS;
    return count ? count : 1;
}

static bool is_interleaved(const struct rp_dispatch *d)
{
    return rp_wave_order_is_interleaved(d->settings.order) && goes_on_in_pieces(d);
}

/* Returns how many instructions the slot's next slice has. */
static uint64_t slice_insts(const struct rp_dispatch *d, struct rp_workgroup_slot *lane)
{
    const unsigned doublings = lane->visits < SLICE_DOUBLINGS ? lane->visits : SLICE_DOUBLINGS;
    if (is_interleaved(d) && lane->visits < INTERLEAVED_SLICES) {
        if (lane->stalled) {
            lane->stalled--;
            return 0;
        }
        return rp_wave_order_slice(d->settings.order, d->next_order);
    }
    return (uint64_t)(goes_on_in_pieces(d) ? SHUFFLED_SLICE : FIRST_SLICE) << doublings;
}

/* Gives the next workgroups to a slot. @return false: none is left */
static bool give_chunk(struct rp_dispatch *d, struct rp_workgroup_slot *lane)
{
    uint64_t count = chunk_groups(d, lane);
    if (d->returned_first < d->returned_count) {
        struct rp_id_range *r = &d->returned[d->returned_first];
        if (count > r->end - r->begin)
            count = r->end - r->begin;
        lane->chunk_next = r->begin;
        r->begin += count;
        if (r->begin == r->end)
            d->returned_first++;
    } else {
        if (count > d->kernel.group_count - d->next_group)
            count = d->kernel.group_count - d->next_group;
        lane->chunk_next = d->next_group;
        d->next_group += count;
    }
    lane->chunk_end = lane->chunk_next + count;
    return count;
}

/* ---- the sequence -------------------------------------------------------------------------- */

/* Decides from the round before the previous one, of which every slice has retired. */
static void begin_round(struct rp_dispatch *d)
{
    const struct rp_round nothing = {0};
    uint64_t limit = d->kernel.resident_groups;
    d->round++;
    if (!d->lane_target)
        add_lanes(d, limit < FIRST_LANES ? limit : FIRST_LANES, &nothing.totals);
    const struct rp_round *last =
        d->round > 2 ? &d->rounds[(d->round - 2) % RP_ROUNDS_KEPT] : &nothing;
    bool more = groups_left(d), all_idle = last->slices && last->idle == last->slices;
    d->stuck_rounds = last->slices && !last->groups_ended ? d->stuck_rounds + 1 : 0;
    d->idle_rounds = all_idle ? d->idle_rounds + 1 : 0;
    /* Slots for which nothing was left have been dropped. If another slot has given back
     * workgroups since then, for which the rest may wait, there must be slots for them again.
     */
    if (more && d->stuck_rounds && (last->idle || d->stuck_rounds >= STUCK_ROUNDS) &&
        d->lane_count < limit && !d->no_memory) {
        add_lanes(d, d->lane_target * 2 < limit ? d->lane_target * 2 : limit, &last->totals);
        d->stuck_rounds = d->idle_rounds = 0;
    }
    if (d->idle_rounds > LOOKS && (!more || d->lane_count == limit || d->no_memory)) {
        d->outside = true;
        d->idle_rounds = 0;
    }
    d->rounds[d->round % RP_ROUNDS_KEPT] = nothing;
    d->round_left = d->lane_count;
}

static void drop_lane(struct rp_dispatch *d, struct rp_workgroup_slot *lane)
{
    d->lane_count--;
    lane->next = d->free_lanes;
    d->free_lanes = lane;
}

static void start_slice(struct rp_dispatch *d, struct rp_workgroup_slot *lane)
{
    lane->left = slice_insts(d, lane);
    lane->order = d->next_order++;
    lane->round = d->round;
    lane->other_die = d->observed ? d->host->observer->on_slice(d, &lane->known) : -1;
    lane->idle = lane->faulted = false;
    lane->counts = (struct rp_counts){0};
    lane->done = (struct rp_totals){0};
    lane->next_issued = NULL;
    if (d->issued_head)
        d->issued_tail->next_issued = lane;
    else
        d->issued_head = lane;
    d->issued_tail = lane;
    append(d, lane);
}

/* The next slice of the sequence, or NULL while it cannot be known, or there is none. */
static struct rp_workgroup_slot *issue(struct rp_dispatch *d)
{
    while (!d->outside && __atomic_load_n(&d->fault_order, __ATOMIC_RELAXED) == UINT64_MAX) {
        struct rp_workgroup_slot *lane = d->lane_head;
        if ((lane && lane->state != RP_WORKGROUP_SLOT_READY) || (!lane && d->lane_target))
            return NULL;
        if (!d->round_left) {
            begin_round(d);
            continue;
        }
        d->round_left--;
        d->lane_head = lane->next;
        take_back(d, lane);
        if (!lane->slot) {
            lane->visits = lane->stalled = 0;
            if (lane->chunk_next == lane->chunk_end && !give_chunk(d, lane)) {
                drop_lane(d, lane);
                continue;
            }
        } else {
            lane->visits++;
            lane->slot->group.idle_turns = 0;
        }
        start_slice(d, lane);
        return lane;
    }
    return NULL;
}

static void add_counts(struct rp_counts *to, const struct rp_counts *c)
{
    to->waves += c->waves;
    to->wave_insts += c->wave_insts;
    to->issue_cycles += c->issue_cycles;
    to->read_bytes += c->read_bytes;
    to->write_bytes += c->write_bytes;
    to->lds_bytes += c->lds_bytes;
    to->fast_clock_waves += c->fast_clock_waves;
    for (unsigned i = 0; i < 2 * RP_PLACES; i++)
        to->link_bytes[i / 2][i % 2] += c->link_bytes[i / 2][i % 2];
    if (c->max_wave_cycles > to->max_wave_cycles)
        to->max_wave_cycles = c->max_wave_cycles;
}

static void exceed(struct rp_dispatch *d)
{
    d->fault = (struct rp_fault){.kind = RP_FAULT_BOUND,
                                 .pc = d->kernel.entry_va,
                                 .lane = -1,
                                 .text = "it is more work than it may be"};
    d->state = RP_RUN_FAULT;
}

/* The oldest slice becomes history. */
static void retire_one(struct rp_dispatch *d, struct rp_workgroup_slot *lane)
{
    add_counts(&d->counts, &lane->counts);
    d->totals.groups += lane->done.groups;
    d->totals.cycles += lane->done.cycles;
    d->totals.wave_insts += lane->counts.wave_insts;
    for (unsigned i = 0; i < RP_EXEC_DIES; i++)
        rp_die_work_add(&d->totals.die[i], &lane->done.die[i]);
    d->work += lane->counts.wave_insts + (lane->idle ? RP_BOUND_SLICE_WORK : RP_BOUND_PIECE_WORK);
    lane->known = d->totals;
    struct rp_round *round = &d->rounds[lane->round % RP_ROUNDS_KEPT];
    round->slices++;
    round->idle += lane->idle && !lane->done.groups;
    round->groups_ended += lane->done.groups;
    round->totals = d->totals;
    if (lane->faulted) {
        d->fault = lane->fault;
        d->state = RP_RUN_FAULT;
        return;
    }
    if (d->settings.bound && d->work > d->settings.bound) {
        exceed(d);
        return;
    }
    lane->state = RP_WORKGROUP_SLOT_READY;
    d->issued_head = lane->next_issued;
    __atomic_store_n(&d->turn, lane->order + 1, __ATOMIC_RELEASE);
}

static void retire(struct rp_dispatch *d, struct rp_exec_worker *h)
{
    struct rp_workgroup_slot *lane;
    while (!d->retiring && d->state == RP_RUN_MORE && (lane = d->issued_head) &&
           lane->state == RP_WORKGROUP_SLOT_EXECUTED) {
        struct rp_atomic_log *log = lane->log;
        lane->log = NULL;
        if (log) {
            d->retiring = true;
            pthread_mutex_unlock(&d->lock);
            rp_exec_worker_enter(h);
            rp_atomic_log_retire(log, &h->env.mem);
            rp_exec_worker_leave(h);
            pthread_mutex_lock(&d->lock);
            d->retiring = false;
            log->next = d->free_logs;
            d->free_logs = log;
        }
        retire_one(d, lane);
    }
}

/* ---- work ---------------------------------------------------------------------------------- */

/* Returns what this thread should do now, or NULL. */
static struct rp_workgroup_slot *pick(struct rp_dispatch *d)
{
    struct rp_workgroup_slot *lane = d->issued_head;
    if (lane && lane->state == RP_WORKGROUP_SLOT_PARKED)
        return lane;
    uint64_t limit = __atomic_load_n(&d->fault_order, __ATOMIC_RELAXED);
    for (; d->suspended && lane && lane->order < limit; lane = lane->next_issued)
        if (lane->state == RP_WORKGROUP_SLOT_SUSPENDED)
            return lane;
    return issue(d);
}

static void finish(struct rp_dispatch *d, struct rp_exec_worker *h, struct rp_workgroup_slot *lane,
                   enum rp_slice_state state)
{
    lane->counts = h->env.counts;
    lane->done = h->done;
    lane->log = h->env.log;
    h->env.log = NULL;
    switch (state) {
    case RP_SLICE_SUSPENDED:
        lane->state = RP_WORKGROUP_SLOT_SUSPENDED;
        d->suspended++;
        break;
    case RP_SLICE_TURN:
        lane->state = RP_WORKGROUP_SLOT_PARKED;
        break;
    case RP_SLICE_FAULT:
        lane->faulted = true;
        if (lane->order < d->fault_order)
            __atomic_store_n(&d->fault_order, lane->order, __ATOMIC_RELAXED);
        /* fallthrough */
    case RP_SLICE_OVER:
        lane->state = RP_WORKGROUP_SLOT_EXECUTED;
        retire(d, h);
        break;
    }
}

static void execute(struct rp_dispatch *d, struct rp_exec_worker *h, struct rp_workgroup_slot *lane)
{
    d->suspended -= lane->state == RP_WORKGROUP_SLOT_SUSPENDED;
    lane->state = RP_WORKGROUP_SLOT_RUNNING;
    d->running++;
    pthread_mutex_unlock(&d->lock);
    h->env.counts = lane->counts;
    h->done = lane->done;
    h->order = lane->order;
    h->other_die = lane->other_die;
    h->env.log = lane->log;
    enum rp_slice_state state = rp_slice_run(h, lane);
    pthread_mutex_lock(&d->lock);
    d->running--;
    finish(d, h, lane, state);
}

/* Others may wait for what has just been done. */
static void tell(struct rp_dispatch *d)
{
    __atomic_add_fetch(&d->events, 1, __ATOMIC_RELEASE);
    if (d->sleepers)
        pthread_cond_broadcast(&d->changed);
}

/* Waits until something has happened. The lock is held before and after. */
static void wait_for_others(struct rp_dispatch *d)
{
    uint32_t seen = d->events;
    pthread_mutex_unlock(&d->lock);
    for (unsigned i = 0; i < SCHED_SPINS && __atomic_load_n(&d->events, __ATOMIC_ACQUIRE) == seen;
         i++)
        __builtin_ia32_pause();
    pthread_mutex_lock(&d->lock);
    d->sleepers++;
    while (d->events == seen)
        pthread_cond_wait(&d->changed, &d->lock);
    d->sleepers--;
}

static bool over(const struct rp_dispatch *d)
{
    return d->state != RP_RUN_MORE || __atomic_load_n(&d->stop, __ATOMIC_RELAXED);
}

static void out_of_memory(struct rp_dispatch *d)
{
    d->fault = (struct rp_fault){.kind = RP_FAULT_NO_MEMORY,
                                 .pc = d->kernel.entry_va,
                                 .lane = -1,
                                 .text = "out of host memory for the state of a workgroup"};
    d->state = RP_RUN_FAULT;
}

/* Tests whether help is worth waking threads: by the work done so far, or by the number of waves,
 * of which the shortest useful ones take some sixteen instructions.
 */
static bool is_large(const struct rp_dispatch *d)
{
    enum { LEAST_WAVE_INSTS = 16 };
    const uint64_t after = help_after();
    return d->totals.wave_insts >= after ||
           d->kernel.group_count >= after / LEAST_WAVE_INSTS / d->kernel.waves_per_group;
}

/*
 * Executes slices with @p h until the dispatch is over, its budget is used up, or it waits for the
 * outside. Several threads may do so at the same time, each with a worker of its own.
 */
static void sched_work(struct rp_dispatch *d, struct rp_exec_worker *h)
{
    /* This thread may have the program's float modes (-ffast-math, fesetround): neither slices nor
     * the atomics applied when they retire are to see them. */
    const unsigned host_modes = _mm_getcsr(), usual = 0x1f80;
    _mm_setcsr(usual);
    pthread_mutex_lock(&d->lock);
    while (!over(d)) {
        if (!d->posted && h == d->workers[0] && is_large(d))
            post(d);
        struct rp_workgroup_slot *lane = pick(d);
        if (lane) {
            execute(d, h, lane);
            tell(d);
        } else if (d->running || d->retiring) {
            wait_for_others(d);
        } else {
            if (!d->lane_count && !d->no_memory)
                d->state = RP_RUN_DONE;
            else if (!d->lane_count)
                out_of_memory(d);
            __atomic_store_n(&d->stop, 1, __ATOMIC_RELAXED);
            tell(d);
        }
    }
    tell(d);
    pthread_mutex_unlock(&d->lock);
    _mm_setcsr(host_modes);
}

/* Frees lanes, logs, and the workgroup memory they hold. Nobody may be at work. */
static void sched_release(struct rp_dispatch *d)
{
    for (size_t b = 0; b < d->lane_block_count; b++) {
        for (unsigned i = 0; i < LANE_BLOCK; i++) {
            rp_resident_group_give(d->lane_blocks[b][i].slot);
            free(d->lane_blocks[b][i].log);
        }
        free(d->lane_blocks[b]);
    }
    free(d->lane_blocks);
    free(d->returned);
    while (d->free_logs) {
        struct rp_atomic_log *log = d->free_logs;
        d->free_logs = log->next;
        free(log);
    }
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
}

/* ---- the dispatch ---- */

struct rp_dispatch *rp_dispatch_new(const struct rp_exec_host *host, const struct rp_arch *arch,
                                    const struct rp_launch *launch)
{
    struct rp_dispatch *d = rp_cache_lines_new(1, sizeof *d);
    if (!d)
        return NULL;
    d->host = host;
    d->arch = arch;
    rp_isa_target_set(arch->name);
    d->launch = *launch;
    d->start_ticks = launch->start_ticks;
    d->translates = host->translator && host->translator->available();
    d->counting = rp_exec_counts() > launch->counting ? rp_exec_counts() : launch->counting;
    d->settings = rp_exec_settings();
    d->workers[0] = worker_new(d);
    if (!d->workers[0]) {
        free(d);
        return NULL;
    }
    sched_init(d);
    if (rp_kernel_resolve(&d->workers[0]->env.mem, arch, launch, &d->kernel, &d->fault) < 0)
        d->state = RP_RUN_FAULT;
    if (d->state != RP_RUN_FAULT && host->observer && host->observer->on_dispatch(d) < 0) {
        rp_dispatch_free(d);
        return NULL;
    }
    if (d->state != RP_RUN_FAULT && rp_exec_checker())
        rp_exec_checker()->on_dispatch(d);
    return d;
}

enum rp_run_state rp_dispatch_run(struct rp_dispatch *d, uint64_t budget)
{
    if (d->state != RP_RUN_MORE)
        return d->state;
    if (!d->started) {
        d->started = true;
        if (d->start_ticks == 0 && d->host->clock_ticks)
            d->start_ticks = d->host->clock_ticks(d->host->ctx);
    }
    d->budget = budget < INT64_MAX ? (int64_t)budget : INT64_MAX;
    d->workers[0]->share_left = d->budget / rp_exec_threads() + 1;
    d->outside = false;
    __atomic_store_n(&d->stop, 0, __ATOMIC_RELAXED);
    int64_t begin_ns = d->timed ? thread_ns() : 0;
    d->longest_ns = 0;
    sched_work(d, d->workers[0]);
    __atomic_store_n(&d->stop, 1, __ATOMIC_RELAXED);
    withdraw(d);
    if (d->timed) {
        int64_t own_ns = thread_ns() - begin_ns;
        d->busy_ns += own_ns > d->longest_ns ? own_ns : d->longest_ns;
    }
    d->timed = true;
    wave_host_flush(d);
    if (d->state != RP_RUN_MORE)
        rp_bound_note(d->work, d->fault.kind == RP_FAULT_BOUND,
                      d->state == RP_RUN_FAULT && d->fault.kind != RP_FAULT_BOUND);
    return d->state;
}

int64_t rp_dispatch_busy_ns(const struct rp_dispatch *d)
{
    return d->busy_ns;
}

const struct rp_counts *rp_dispatch_counts(const struct rp_dispatch *d)
{
    return &d->counts;
}

bool rp_dispatch_waits(const struct rp_dispatch *d)
{
    return d->state == RP_RUN_MORE && d->outside;
}

const struct rp_fault *rp_dispatch_fault(const struct rp_dispatch *d)
{
    return &d->fault;
}

bool rp_dispatch_is_ended(const struct rp_dispatch *d)
{
    return d->fault.kind == RP_FAULT_BOUND || d->settings.fault_ends;
}

void rp_dispatch_free(struct rp_dispatch *d)
{
    if (!d)
        return;
    sched_release(d);
    for (unsigned i = 0; i < RP_EXEC_WORKERS; i++)
        worker_free(d->workers[i]);
    if (d->observed)
        d->host->observer->on_dispatch_end(d);
    if (d->checked)
        rp_exec_checker()->on_dispatch_end(d);
    free(d);
}

/* ---- the instructions before a fault, for its message ---- */

enum { FARTHEST_BYTES = 1 << 20, MOST_LINES = 16 };

/* Decodes the instruction at va; 0 when it is none or not mapped. */
static unsigned decode_at(const struct rp_exec_host *host, uint64_t va, struct rp_insn *ret)
{
    uint32_t words[3] = {0};
    size_t count = 0;
    for (; count < 3; count++) {
        const void *at = host->translate(host->ctx, va + 4 * count, 4, 0);
        if (!at)
            break;
        memcpy(&words[count], at, 4);
    }
    return rp_isa_decode(words, count, ret);
}

static size_t put_line(const struct rp_exec_host *host, uint64_t from_va, uint64_t va, bool last,
                       char *text, size_t room)
{
    struct rp_insn in;
    char insn[160];
    decode_at(host, va, &in);
    rp_isa_print(&in, va, insn, sizeof insn);
    int n = snprintf(text, room, "  %s +0x%04llx  %s\n", last ? "->" : "  ",
                     (unsigned long long)(va - from_va), insn);
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

size_t rp_exec_listing(const struct rp_exec_host *host, uint64_t from_va, uint64_t pc,
                       unsigned lines, char *text, size_t room)
{
    uint64_t latest[MOST_LINES], va = from_va;
    size_t count = 0, used = 0;
    if (lines > MOST_LINES || pc < from_va || pc - from_va > FARTHEST_BYTES || !lines)
        return 0;
    for (;;) {
        struct rp_insn in;
        latest[count++ % lines] = va;
        if (va == pc)
            break;
        unsigned bytes = decode_at(host, va, &in);
        if (!bytes || va > pc)
            return 0;
        va += bytes;
    }
    size_t first = count > lines ? count - lines : 0;
    for (size_t i = first; i < count; i++) {
        size_t n =
            put_line(host, from_va, latest[i % lines], i + 1 == count, text + used, room - used);
        if (!n)
            break;
        used += n;
    }
    return used;
}
