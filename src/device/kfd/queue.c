#include "queue.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "fault.h"
#include "host_ns.h"
#include "log.h"
#include "memory.h"
#include "topology.h"

/* Per turn (wave instructions: and thread): some milliseconds, so that a queue never waits long for
 * its turn. */
enum { SLICE_WAVE_INSTS = 1 << 17, SLICE_COPY_BYTES = 8 << 20 };

enum {
    SPIN_NS = 30 * 1000,      /* no yield: on a busy machine that gives a whole time slice away */
    MIN_SLEEP_NS = 10 * 1000, /* then sleep a sixteenth of the time idled so far */
    MAX_SLEEP_NS = 4 * 1000 * 1000,
};

void rp_queues_init(struct rp_queues *queues)
{
    *queues = (struct rp_queues){0};
    pthread_mutex_init(&queues->lock, NULL);
}

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
        return rp_cp_step(slot->compute->cp, slot->compute, budget_wave_insts);
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
    prctl(PR_SET_TIMERSLACK, 1000); /* of this thread: short sleeps stay short */
    _mm_setcsr(0x1f80); /* not the program's float modes: modelled time is computed here */
    int64_t idle_since = rp_host_ns();
    for (;;) {
        if (serve_all(queues)) {
            idle_since = rp_host_ns();
            continue;
        }
        if (pause_after(queues, rp_host_ns() - idle_since))
            idle_since = rp_host_ns();
    }
    return NULL;
}

void rp_queues_kick(struct rp_queues *queues)
{
    if (__atomic_exchange_n(&queues->asleep, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &queues->asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/** Detached, and deaf to the program's signals. */
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
        rp_cp_queue_close(slot->compute);
    if (slot->dma)
        rp_sdma_queue_close(slot->dma);
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
    return rp_cp_queue_init(cp, queue, args->ring_base, args->ring_bytes, args->read_pointer,
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

/** The slot of a queue that exists, or NULL. */
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

int rp_queues_update(struct rp_queues *queues, uint32_t id, uint32_t percentage)
{
    enter(queues);
    struct rp_queue_slot *slot = find(queues, id);
    if (slot && slot->compute)
        slot->compute->enabled = percentage > 0;
    else if (slot)
        slot->dma->enabled = percentage > 0;
    leave(queues);
    return slot ? 0 : -EINVAL;
}

int rp_queues_set_compute_units(struct rp_queues *queues, uint32_t id, uint32_t count)
{
    enter(queues);
    struct rp_queue_slot *slot = count ? find(queues, id) : NULL;
    struct rp_cp_queue *queue = slot ? slot->compute : NULL;
    if (queue)
        queue->compute_units = count;
    leave(queues);
    return queue ? 0 : -EINVAL;
}

bool rp_queues_idle(struct rp_queues *queues)
{
    bool idle = true;
    if (pthread_mutex_trylock(&queues->lock) != 0)
        return false;
    for (uint32_t id = 0; idle && id < queues->used; id++)
        idle = queues->slots[id].compute ? rp_cp_queue_idle(queues->slots[id].compute)
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
    return works || since_ns == 0 ? 0 : rp_host_ns() - since_ns;
}
