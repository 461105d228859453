#include "pool.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "hand.h"
#include "sched.h"

/* Looks for work before a thread sleeps: some microseconds. */
enum { SPINS = 1000 };

/* The one context of the executor's threads. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t posted;    /* jobs has got a member */
    pthread_cond_t withdrawn; /* a dispatch has lost its last helper */
    struct rp_dispatch *jobs;
    uint32_t posts; /* counts them; read without the lock */
    unsigned started;
    unsigned sleepers;
    unsigned wanted;           /* threads in all, the caller's included; 0 = not yet known */
    uint64_t help_after;       /* instructions */
} pool = {.help_after = 16384, /* 0.2 ms: waking a thread takes up to 0.1 */
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .withdrawn = PTHREAD_COND_INITIALIZER};

/* In a forked child there are no other threads. */
static void forget_parent(void)
{
    unsigned wanted = pool.wanted;
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.posted, NULL);
    pthread_cond_init(&pool.withdrawn, NULL);
    pool.jobs = NULL;
    pool.posts = pool.started = pool.sleepers = 0;
    pool.wanted = wanted;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
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
    return n < 1 ? 1 : n < RP_HANDS ? (unsigned)n : RP_HANDS;
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
    __atomic_store_n(&pool.wanted, count < RP_HANDS ? count : RP_HANDS, __ATOMIC_RELAXED);
}

void rp_exec_set_help_after(uint64_t wave_insts)
{
    __atomic_store_n(&pool.help_after, wave_insts, __ATOMIC_RELAXED);
}

uint64_t rp_pool_help_after(void)
{
    return __atomic_load_n(&pool.help_after, __ATOMIC_RELAXED);
}

/* A dispatch that this thread may help with: one with fewer than the wanted helpers. */
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

int64_t rp_pool_thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

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
        struct rp_hand *hand = d->hands[id];
        int64_t spent_ns = d->timed ? -rp_pool_thread_ns() : 0;
        if (!hand)
            hand = d->hands[id] = rp_hand_new(d);
        if (hand)
            rp_sched_work(d, hand);
        if (d->timed)
            spent_ns += rp_pool_thread_ns();
        pthread_mutex_lock(&pool.lock);
        if (spent_ns > d->longest_ns) /* in one piece: a helper leaves when the run ends */
            d->longest_ns = spent_ns;
        if (!--d->helpers)
            pthread_cond_broadcast(&pool.withdrawn);
        if (!hand) { /* out of memory: others will do it */
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
    pthread_once(&once, watch_forks);
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

void rp_pool_post(struct rp_dispatch *d)
{
    d->posted = true;
    if (rp_exec_threads() < 2 || d->kernel.group_count < 2)
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

void rp_pool_withdraw(struct rp_dispatch *d)
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
