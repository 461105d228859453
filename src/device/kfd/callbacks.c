#include "callbacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/blocked_thread.h"
#include "device.h"
#include "export.h"
#include "log.h"
#include "runtime.h"
#include "seen.h"

enum {
    PUT_OFF_MS = 1000,
    PATIENCE_MS = 10000, /* for one that gets no processor: see blocked_thread.h for others */
};

typedef bool (*handler_fn)(int64_t value, void *data);

RP_EXPORT int hsa_amd_signal_async_handler(hsa_signal_t signal, int condition, int64_t compare,
                                           handler_fn handler, void *data);

struct callback {
    struct callback *next;
    handler_fn handler;
    void *data;
    hsa_signal_t signal;
    int condition;
    int64_t compare;
    bool may_wait;  /**< HIP's bookkeeping, which holds nothing up */
    int64_t value;  /**< with which it came, */
    uint64_t ticks; /**< because of work that ended then */
    uint64_t number;
    struct timespec limit; /**< when it is made in any case */
};

struct rp_callbacks {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct callback *first, **last; /**< put off, in the order in which they came */
    uint64_t came, all_below;       /**< numbers; below the second all are due */
    uint64_t known;
    uint64_t stuck_below; /**< were waited for in vain: not again */
    bool running;
    uint64_t running_number;
    uint32_t tid; /**< of their thread, once it runs */
};

static struct timespec in_ms(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static bool has_passed(const struct timespec *limit)
{
    struct timespec now = in_ms(0);
    return now.tv_sec > limit->tv_sec ||
           (now.tv_sec == limit->tv_sec && now.tv_nsec >= limit->tv_nsec);
}

/* ---- the thread that makes those that were put off ---------------------------------------- */

static bool is_due(const struct rp_callbacks *all, const struct callback *c)
{
    return c->ticks <= all->known || c->number < all->all_below;
}

static struct callback *take(struct rp_callbacks *all)
{
    for (struct callback **at = &all->first; *at; at = &(*at)->next) {
        struct callback *c = *at;
        if (!is_due(all, c) && !has_passed(&c->limit))
            continue;
        *at = c->next;
        if (!c->next)
            all->last = at;
        return c;
    }
    return NULL;
}

static bool on_signal(int64_t value, void *data);

static bool make(struct rp_device *device, struct callback *c)
{
    if (c->ticks > rp_causal_known(&device->causal))
        rp_log("callback of signal 0x%llx: the host learns by it that work has ended",
               (unsigned long long)c->signal.handle);
    /* If it could not wait, the host is going to know by it. */
    rp_seen_learn(device, c->ticks);
    struct rp_seen_callback before = rp_seen_callback_begin(c->ticks);
    bool again = c->handler(c->value, c->data);
    rp_seen_callback_end(before);
    return again;
}

static void *make_forever(void *arg)
{
    struct rp_device *device = arg;
    struct rp_callbacks *all = device->callbacks;
    prctl(PR_SET_NAME, "rp-callbacks");
    pthread_mutex_lock(&all->lock);
    all->tid = (uint32_t)gettid();
    for (;;) {
        struct callback *c = take(all);
        if (!c) {
            all->running = false;
            pthread_cond_broadcast(&all->changed);
            if (all->first)
                pthread_cond_timedwait(&all->changed, &all->lock, &all->first->limit);
            else
                pthread_cond_wait(&all->changed, &all->lock);
            continue;
        }
        all->running = true;
        all->running_number = c->number;
        pthread_mutex_unlock(&all->lock);
        if (!make(device, c))
            free(c);
        else if (RP_RUNTIME(hsa_amd_signal_async_handler)(c->signal, c->condition, c->compare,
                                                          on_signal, c) != 0)
            free(c);
        pthread_mutex_lock(&all->lock);
    }
    return NULL;
}

/** Of a device: its callbacks, with their thread; NULL if there can be none. */
static struct rp_callbacks *callbacks_of(struct rp_device *device)
{
    struct rp_callbacks *all = __atomic_load_n(&device->callbacks, __ATOMIC_ACQUIRE), *none = NULL;
    pthread_condattr_t monotonic;
    pthread_t thread;
    sigset_t every, old;
    if (all || !(all = calloc(1, sizeof *all)))
        return all;
    all->last = &all->first;
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&all->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* Whoever finds it waits until it has its thread, or will never have one. */
    pthread_mutex_lock(&all->lock);
    if (!__atomic_compare_exchange_n(&device->callbacks, &none, all, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        pthread_mutex_unlock(&all->lock);
        free(all);
        return none; /* another thread was first */
    }
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &old);
    bool started = pthread_create(&thread, NULL, make_forever, device) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (started)
        pthread_detach(thread);
    else /* nobody can make them: none is put off */
        all->all_below = UINT64_MAX;
    pthread_mutex_unlock(&all->lock);
    return all;
}

/** With the lock held. Their thread walks the list each time that it is woken. */
static void learn(struct rp_callbacks *all, uint64_t known_ticks)
{
    if (known_ticks <= all->known)
        return;
    all->known = known_ticks;
    if (all->first)
        pthread_cond_broadcast(&all->changed);
}

/** False: it has to be made here and now. */
static bool put_off(struct rp_device *device, struct callback *c)
{
    struct rp_callbacks *all = c->may_wait ? callbacks_of(device) : NULL;
    if (!all)
        return false;
    pthread_mutex_lock(&all->lock);
    c->number = all->came;
    c->limit = in_ms(PUT_OFF_MS);
    /* Read again under the lock: who learns of an end later finds it in the list. */
    learn(all, rp_causal_known(&device->causal));
    bool wait = !is_due(all, c);
    if (wait) {
        if (!all->first) /* others have an earlier limit, for which their thread waits */
            pthread_cond_broadcast(&all->changed);
        all->came++;
        c->next = NULL;
        *all->last = c;
        all->last = &c->next;
    }
    pthread_mutex_unlock(&all->lock);
    return wait;
}

/** Stands before the program's callback, in the runtime's thread. */
static bool on_signal(int64_t value, void *data)
{
    struct callback *c = data;
    struct rp_device *device = rp_device_get();
    if (!device) /* a forked child has no such thread */
        return false;
    c->value = value;
    if (!rp_seen_end(device, c->signal.handle, &c->ticks))
        c->ticks = rp_clock_now(&device->clock);
    if (put_off(device, c))
        return false;
    bool again = make(device, c);
    if (!again)
        free(c);
    return again;
}

void rp_callbacks_due(uint64_t known_ticks)
{
    struct rp_device *device = rp_device_get();
    struct rp_callbacks *all =
        device ? __atomic_load_n(&device->callbacks, __ATOMIC_ACQUIRE) : NULL;
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    learn(all, known_ticks);
    pthread_mutex_unlock(&all->lock);
}

/** Also a callback that runs; not one that waits for who waits for it, nor those behind it. */
static bool any_due(const struct rp_callbacks *all)
{
    if (all->running && all->running_number < all->stuck_below)
        return false;
    for (const struct callback *c = all->first; c; c = c->next)
        if (c->number >= all->stuck_below && is_due(all, c))
            return true;
    return all->running;
}

/** One look, with the lock held. */
static bool is_blocked(const struct rp_callbacks *all, struct rp_blocked_callback *seen)
{
    return rp_callback_is_blocked(seen, all->running ? all->tid : 0, all->running_number);
}

void rp_callbacks_settle(bool all_that_came)
{
    int error = errno;
    struct rp_device *device = rp_device_get();
    struct rp_callbacks *all =
        device ? __atomic_load_n(&device->callbacks, __ATOMIC_ACQUIRE) : NULL;
    const struct timespec limit = in_ms(PATIENCE_MS);
    struct rp_blocked_callback seen = {0};
    if (!all || rp_seen_inside_callback())
        return;
    pthread_mutex_lock(&all->lock);
    if (all_that_came && all->came > all->all_below)
        all->all_below = all->came;
    if (any_due(all))
        pthread_cond_broadcast(&all->changed);
    while (any_due(all)) {
        const struct timespec look = in_ms(RP_BLOCKED_LOOK_MS);
        int status = pthread_cond_timedwait(&all->changed, &all->lock, &look);
        if (has_passed(&limit)) {
            all->stuck_below = all->came;
            break;
        }
        if (status == ETIMEDOUT && is_blocked(all, &seen) && all->stuck_below <= seen.number)
            all->stuck_below = seen.number + 1;
    }
    pthread_mutex_unlock(&all->lock);
    errno = error;
}

/* ---- waits that are no call of the runtime ------------------------------------------------ */

/* So many yields of a thread in a row are a wait: HIP's locks yield five times before they sleep
 * (55 spins, the first 50 without: rocclr/thread/monitor.hpp). Each takes milliseconds on a busy
 * machine.
 */
enum { YIELDS = 24 };

static __thread struct {
    const void *caller; /* that was looked up last */
    bool is_hip;
    unsigned yields; /* since the thread has called the runtime */
} self __attribute__((tls_model("initial-exec")));

static bool is_in_hip(const void *code)
{
    Dl_info info;
    return dladdr(code, &info) != 0 && info.dli_fname && strstr(info.dli_fname, "libamdhip64");
}

void rp_callbacks_awake(void)
{
    self.yields = 0;
}

/** HIP destroys a stream when the callback of its last command has been made, and yields till then.
 */
static void yielded(const void *caller)
{
    struct rp_device *device = rp_device_get();
    struct rp_callbacks *all =
        device ? __atomic_load_n(&device->callbacks, __ATOMIC_ACQUIRE) : NULL;
    if (!all || rp_seen_inside_callback())
        return;
    if (caller != self.caller) {
        self.caller = caller;
        self.is_hip = is_in_hip(caller);
    }
    if (!self.is_hip || ++self.yields < YIELDS)
        return;
    pthread_mutex_lock(&all->lock);
    if (all->came > all->all_below) {
        all->all_below = all->came;
        pthread_cond_broadcast(&all->changed);
    }
    pthread_mutex_unlock(&all->lock);
}

RP_EXPORT int sched_yield(void);
int sched_yield(void)
{
    yielded(__builtin_return_address(0));
    return (int)syscall(SYS_sched_yield);
}

/* ---- the runtime's function --------------------------------------------------------------- */

static bool is_hips(handler_fn handler)
{
    union {
        handler_fn code;
        void *data;
    } address = {.code = handler};
    return is_in_hip(address.data);
}

int hsa_amd_signal_async_handler(hsa_signal_t signal, int condition, int64_t compare,
                                 handler_fn handler, void *data)
{
    struct rp_device *device = rp_device_get();
    struct callback *c = device && handler && signal.handle && rp_causal_active(&device->causal)
                             ? calloc(1, sizeof *c)
                             : NULL;
    if (!c)
        return RP_RUNTIME(hsa_amd_signal_async_handler)(signal, condition, compare, handler, data);
    *c = (struct callback){
        .handler = handler,
        .data = data,
        .signal = signal,
        .condition = condition,
        .compare = compare,
        /* HIP adds one to what a signal waits for to hold it back until the callback is over. */
        .may_wait = condition == RP_HSA_LT && compare == 1 && is_hips(handler),
    };
    int status = RP_RUNTIME(hsa_amd_signal_async_handler)(signal, condition, compare, on_signal, c);
    if (status != 0)
        free(c);
    return status;
}
