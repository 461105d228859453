/**
 * @file harvest_thread.c
 * @brief The thread that harvests what the program does not wait for, and the bounded waits.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "tool/tool.h"

enum {
    POLL_NS = 200 * 1000,           /* while entries complete */
    POLL_SLOW_NS = 2 * 1000 * 1000, /* a long kernel runs, or nothing does */
    POLLS_BEFORE_SLOW = 10,
    POLLS_BEFORE_IDLE = 50, /* programs that launch and wait in turns never pay for waking us */
    DRAIN_POLL_NS = 100 * 1000,
    SPARE_SIGNALS = 256, /* kept free, so that packet callbacks rarely create any */
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

static void sleep_until_work(struct rp_tool *tool)
{
    struct rp_harvest *h = &tool->harvest;

    __atomic_store_n(&h->idle, 1, __ATOMIC_SEQ_CST);
    if (still_pending(tool) > 0 || __atomic_load_n(&h->stop, __ATOMIC_SEQ_CST)) {
        if (__atomic_exchange_n(&h->idle, 0, __ATOMIC_SEQ_CST))
            return; /* nobody posted */
    }
    while (sem_wait(&h->wake) < 0 && errno == EINTR)
        ;
}

static void *harvest_main(void *data)
{
    struct rp_tool *tool = data;
    struct rp_harvest *h = &tool->harvest;
    unsigned quiet_polls = 0;

    while (!__atomic_load_n(&h->stop, __ATOMIC_ACQUIRE)) {
        uint64_t before = still_pending(tool);

        rp_harvest_observed(tool);
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

void rp_harvest_start(struct rp_tool *tool)
{
    struct rp_harvest *h = &tool->harvest;
    sigset_t all, before;

    if (h->thread_running)
        return;
    rp_signal_pool_reserve(&tool->quiet_signals, SPARE_SIGNALS);
    /* The program's signals are for the program's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    h->thread_running = pthread_create(&h->thread, NULL, harvest_main, tool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* Without the thread, waits and the final drain still harvest. */
    if (h->thread_running)
        pthread_setname_np(h->thread, "rocm-perf-tool");
}

void rp_harvest_stop(struct rp_tool *tool)
{
    struct rp_harvest *h = &tool->harvest;

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

void rp_harvest_drain(struct rp_tool *tool, unsigned patience_ms)
{
    uint64_t last = UINT64_MAX, since = now_ms();

    for (;;) {
        uint64_t left;

        rp_harvest_observed(tool);
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

static bool line_empty(struct rp_tool *tool, struct rp_pending_list *line)
{
    bool empty;

    pthread_mutex_lock(&tool->harvest.lock);
    empty = line->head_index >= __atomic_load_n(&line->head->filled, __ATOMIC_ACQUIRE) &&
            !__atomic_load_n(&line->head->next, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&tool->harvest.lock);
    return empty;
}

void rp_harvest_drain_line(struct rp_tool *tool, struct rp_pending_list *line, unsigned patience_ms)
{
    uint64_t begin = now_ms();

    rp_harvest_observed(tool);
    while (!line_empty(tool, line) && now_ms() - begin < patience_ms) {
        sleep_ns(DRAIN_POLL_NS);
        rp_harvest_observed(tool);
    }
}
