#include "device/driver/signal_hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/blocked_thread.h"
#include "base/process.h"
#include "device/driver/command_processor.h"
#include "device/driver/device_context.h"
#include "device/driver/libc_hooks.h"

/** From here to the end this thread is in a callback that came because of an end at @p ticks. */
struct rp_host_view_callback {
    bool inside;
    uint64_t known;
};

/* Finds a function of a library that is loaded. A library that was loaded by dlopen() is not among
 * those that RTLD_NEXT searches. A program that closes it again gets it back as it was, because the
 * function is still called then, by the thread that serves the queues, and by the library itself as
 * it ends.
 */
static void *function_of(const char *library, const char *name)
{
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    void *found = loaded ? dlsym(loaded, name) : NULL;
    if (loaded)
        dlclose(loaded);
    return found;
}

void *rp_runtime_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : function_of("libhsa-runtime64.so.1", name);
}

void *rp_hip_function(const char *name)
{
    static const char *const libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                            "libamdhip64.so"};
    void *found = dlsym(RTLD_NEXT, name);
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries && !found; i++)
        found = function_of(libraries[i], name);
    return found;
}

/* The number is that of hsa_system_get_info in hsa.h. */
enum { SYSTEM_INFO_TIMESTAMP_FREQUENCY = 3 };

uint64_t rp_runtime_hz(void)
{
    static uint64_t known; /* The runtime does not change its frequency, so it is asked once. */
    uint64_t hz = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (hz)
        return hz;
    union {
        void *data;
        int (*call)(int attribute, void *value);
    } get = {.data = rp_runtime_function("hsa_system_get_info")};
    if (!get.data || get.call(SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz) != 0)
        return 0;
    __atomic_store_n(&known, hz, __ATOMIC_RELAXED);
    return hz;
}

enum {
    PUT_OFF_MS = 1000,
    PATIENCE_MS = 10000, /**< for one that gets no processor: see blocked_thread.h for others */
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

static struct rp_host_view_callback host_view_callback_begin(uint64_t ticks);
static void host_view_callback_end(struct rp_host_view_callback before);

static bool make(struct rp_device *device, struct callback *c)
{
    if (c->ticks > rp_happens_before_known(&device->causal))
        rp_log("callback of signal 0x%llx: the host learns by it that work has ended",
               (unsigned long long)c->signal.handle);
    /* If it could not wait, the host is going to know by it. */
    rp_host_view_learn(device, c->ticks);
    struct rp_host_view_callback before = host_view_callback_begin(c->ticks);
    bool again = c->handler(c->value, c->data);
    host_view_callback_end(before);
    return again;
}

static void *make_forever(void *arg)
{
    struct rp_device *device = arg;
    struct rp_callbacks *all = device->callbacks;
    prctl(PR_SET_NAME, "rp-callbacks");
    pthread_mutex_lock(&all->lock);
    all->tid = (uint32_t)rp_gettid();
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

/** Returns the callbacks of a device with their thread, or NULL if there can be none. */
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
        return none; /* Another thread was first. */
    }
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &old);
    bool started = pthread_create(&thread, NULL, make_forever, device) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (started)
        pthread_detach(thread);
    else /* No thread can make the callbacks, so none is put off. */
        all->all_below = UINT64_MAX;
    pthread_mutex_unlock(&all->lock);
    return all;
}

/**
 * Notes the end; the caller holds the lock. The callbacks' thread walks the list each time that it
 * is woken.
 */
static void learn(struct rp_callbacks *all, uint64_t known_ticks)
{
    if (known_ticks <= all->known)
        return;
    all->known = known_ticks;
    if (all->first)
        pthread_cond_broadcast(&all->changed);
}

/** Puts a callback off. @return false: it must be made here and now */
static bool put_off(struct rp_device *device, struct callback *c)
{
    struct rp_callbacks *all = c->may_wait ? callbacks_of(device) : NULL;
    if (!all)
        return false;
    pthread_mutex_lock(&all->lock);
    c->number = all->came;
    c->limit = in_ms(PUT_OFF_MS);
    /* Read again under the lock: who learns of an end later finds it in the list. */
    learn(all, rp_happens_before_known(&device->causal));
    bool wait = !is_due(all, c);
    if (wait) {
        if (!all->first) /* Others have an earlier limit, for which their thread already waits. */
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
    if (!device) /* A forked child has no such thread. */
        return false;
    c->value = value;
    if (!rp_host_view_end(device, c->signal.handle, &c->ticks))
        c->ticks = rp_clock_now(&device->clock);
    if (put_off(device, c))
        return false;
    bool again = make(device, c);
    if (!again)
        free(c);
    return again;
}

/** The host knows of ends up to here: callbacks of these are due. */
static void callbacks_due(uint64_t known_ticks)
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

/**
 * Tests whether a callback is due. A running callback counts. One that waits for a waiter on
 * itself does not count, nor do those behind it.
 */
static bool any_due(const struct rp_callbacks *all)
{
    if (all->running && all->running_number < all->stuck_below)
        return false;
    for (const struct callback *c = all->first; c; c = c->next)
        if (c->number >= all->stuck_below && is_due(all, c))
            return true;
    return all->running;
}

/** Looks once; the caller holds the lock. */
static bool is_blocked(const struct rp_callbacks *all, struct rp_blocked_callback *seen)
{
    return rp_callback_is_blocked(seen, all->running ? all->tid : 0, all->running_number);
}

static bool host_view_inside_callback(void);

void rp_callbacks_settle(bool all_that_came)
{
    int error = errno;
    struct rp_device *device = rp_device_get();
    struct rp_callbacks *all =
        device ? __atomic_load_n(&device->callbacks, __ATOMIC_ACQUIRE) : NULL;
    const struct timespec limit = in_ms(PATIENCE_MS);
    struct rp_blocked_callback seen = {0};
    if (!all || host_view_inside_callback())
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

/* This many yields of a thread in a row are a wait: HIP's locks yield five times before they sleep
 * (55 spins, the first 50 without: rocclr/thread/monitor.hpp). Each takes milliseconds on a busy
 * machine.
 */
enum { YIELDS = 24 };

static __thread struct {
    const void *caller; /* that was looked up last */
    bool is_hip;
    unsigned yields; /* since the thread has called the runtime */
} callbacks_self __attribute__((tls_model("initial-exec")));

static bool is_in_hip(const void *code)
{
    Dl_info info;
    return dladdr(code, &info) != 0 && info.dli_fname && strstr(info.dli_fname, "libamdhip64");
}

/** This thread does something else than to yield until a callback has been made. */
static void callbacks_awake(void)
{
    callbacks_self.yields = 0;
}

/** HIP destroys a stream when the callback of its last command has been made, and yields till then.
 */
static void yielded(const void *caller)
{
    struct rp_device *device = rp_device_get();
    struct rp_callbacks *all =
        device ? __atomic_load_n(&device->callbacks, __ATOMIC_ACQUIRE) : NULL;
    if (!all || host_view_inside_callback())
        return;
    if (caller != callbacks_self.caller) {
        callbacks_self.caller = caller;
        callbacks_self.is_hip = is_in_hip(caller);
    }
    if (!callbacks_self.is_hip || ++callbacks_self.yields < YIELDS)
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
    struct callback *c =
        device && handler && signal.handle && rp_happens_before_is_active(&device->causal)
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

/* Looks that are told "not yet" before the truth, and how long the last of these waits for it: so
 * that the truth comes at the same look whether the device is ahead of the host or behind. */
enum { LOOKS = 64, LAST_LOOK_MS = 100 };

/* Work that has been over for this long by the host's clock is reported at once. A program that
 * sleeps and then looks is not polling, and must not hear "not yet" about work that ended long
 * ago. The limit is longer than a busy machine keeps a program from looking.
 */
enum { LONG_OVER_NS = 500 * 1000 * 1000 };

/* This is an amd_signal_kind64_t of amd_hsa_signal.h, where the other kinds are doorbells. */
enum { SIGNAL_KIND_USER = 1 };

static __thread struct rp_host_view_callback self __attribute__((tls_model("initial-exec")));

static uint64_t value_va(uint64_t signal)
{
    return signal + offsetof(struct rp_amd_signal, value);
}

static bool is_counted(const struct rp_device *device, uint64_t signal)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)(uintptr_t)signal;
    return raw && rp_happens_before_is_active(&device->causal) && raw->kind == SIGNAL_KIND_USER;
}

void rp_host_view_learn(struct rp_device *device, uint64_t ticks)
{
    if (rp_happens_before_learn(&device->causal, ticks))
        callbacks_due(ticks);
}

static struct rp_host_view_callback host_view_callback_begin(uint64_t ticks)
{
    struct rp_host_view_callback before = self;
    self.inside = true;
    if (ticks > self.known)
        self.known = ticks;
    return before;
}

static void host_view_callback_end(struct rp_host_view_callback before)
{
    self = before;
}

static bool host_view_inside_callback(void)
{
    return self.inside;
}

bool rp_host_view_end(struct rp_device *device, uint64_t signal, uint64_t *ret_ticks)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)(uintptr_t)signal;
    pthread_mutex_lock(&device->stores.lock);
    const struct rp_store_time *slot = rp_store_time_of(&device->stores, value_va(signal), false);
    bool known = slot && slot->value == __atomic_load_n(&raw->value, __ATOMIC_ACQUIRE);
    if (known)
        *ret_ticks = slot->ticks;
    pthread_mutex_unlock(&device->stores.lock);
    return known;
}

/* ---- looks -------------------------------------------------------------------------------- */

enum verdict {
    AS_IT_IS, /**< nothing to hide, or not known what it means */
    NOT_YET,  /**< complete, but the host cannot know */
    COMPLETE, /**< and now the host knows */
    STRANGE,  /**< something else completed it: the collector in the device's place, the runtime */
    WAIT,     /**< not complete, at the last look before the truth */
};

/** Judges a look; the caller holds the table's lock. */
static enum verdict judge(const struct rp_device *device, struct rp_store_time *slot, int64_t value,
                          uint64_t *ret_ticks)
{
    if (!slot || value > slot->value)
        return AS_IT_IS;
    if (value < slot->value)
        return STRANGE;
    *ret_ticks = slot->ticks;
    bool news = slot->ticks > rp_happens_before_known(&device->causal);
    if (!news && value <= 0)
        return AS_IT_IS;
    slot->looks++;
    if (!news)
        return slot->looks == LOOKS ? WAIT : AS_IT_IS;
    bool long_over = rp_now_ns() - slot->host_ns > LONG_OVER_NS;
    return slot->looks < LOOKS && !long_over ? NOT_YET : COMPLETE;
}

static int64_t wait_a_moment(uint64_t signal, int64_t value);

int64_t rp_host_view_look(struct rp_device *device, uint64_t signal, int64_t value)
{
    uint64_t ticks = 0;
    callbacks_awake();
    if (!is_counted(device, signal))
        return value;
    pthread_mutex_lock(&device->stores.lock);
    struct rp_store_time *slot = rp_store_time_of(&device->stores, value_va(signal), false);
    if (self.inside) {
        if (slot && slot->value == value && slot->ticks > self.known)
            self.known = slot->ticks;
        pthread_mutex_unlock(&device->stores.lock);
        return value;
    }
    enum verdict verdict = judge(device, slot, value, &ticks);
    pthread_mutex_unlock(&device->stores.lock);
    switch (verdict) {
    case NOT_YET:
        return value + 1;
    case COMPLETE:
        rp_host_view_learn(device, ticks);
        return value;
    case STRANGE:
        rp_host_view_learn(device, rp_clock_now(&device->clock));
        return value;
    case WAIT:
        return wait_a_moment(signal, value);
    default:
        return value;
    }
}

void rp_host_view_wait(struct rp_device *device, uint64_t signal, int condition, int64_t value)
{
    callbacks_awake();
    if (!is_counted(device, signal))
        return;
    pthread_mutex_lock(&device->stores.lock);
    const struct rp_store_time *slot = rp_store_time_of(&device->stores, value_va(signal), false);
    bool known = slot && slot->value == value;
    /* If something else counts the signal down, this is the latest end that is possible. Other
     * conditions wait for what kernels and the program store.
     */
    bool strange =
        slot && value < slot->value && (condition == RP_HSA_EQ || condition == RP_HSA_LT);
    uint64_t ticks = known ? slot->ticks : strange ? rp_clock_now(&device->clock) : 0;
    pthread_mutex_unlock(&device->stores.lock);
    if (self.inside && ticks > self.known)
        self.known = ticks;
    else if (!self.inside && ticks)
        rp_host_view_learn(device, ticks);
}

/** A thread is about to store @p value. */
static void host_view_store(struct rp_device *device, uint64_t signal, int64_t value)
{
    if (!is_counted(device, signal))
        return;
    uint64_t known = rp_happens_before_known(&device->causal);
    pthread_mutex_lock(&device->stores.lock);
    struct rp_store_time *slot = rp_store_time_of(&device->stores, value_va(signal), true);
    if (slot) {
        slot->ticks = self.inside && self.known > known ? self.known : known;
        slot->value = value;
        slot->looks = 0;
        slot->host_ns = rp_now_ns();
    }
    pthread_mutex_unlock(&device->stores.lock);
}

/* ---- the runtime's functions -------------------------------------------------------------- */

RP_EXPORT int64_t hsa_signal_load_relaxed(hsa_signal_t signal);
RP_EXPORT int64_t hsa_signal_load_scacquire(hsa_signal_t signal);
RP_EXPORT int64_t hsa_signal_load_acquire(hsa_signal_t signal);
RP_EXPORT uint32_t hsa_amd_signal_wait_any(uint32_t count, hsa_signal_t *signals, int *conditions,
                                           int64_t *compares, uint64_t timeout, int hint,
                                           int64_t *ret_value);
RP_EXPORT uint32_t hsa_amd_signal_wait_all(uint32_t count, hsa_signal_t *signals, int *conditions,
                                           int64_t *compares, uint64_t timeout, int hint,
                                           int64_t *ret_values);
RP_EXPORT int hsa_signal_create(int64_t value, uint32_t count, const void *consumers,
                                hsa_signal_t *ret_signal);
RP_EXPORT int hsa_amd_signal_create(int64_t value, uint32_t count, const void *consumers,
                                    uint64_t attributes, hsa_signal_t *ret_signal);
int64_t hsa_signal_wait_scacquire(hsa_signal_t signal, int condition, int64_t compare,
                                  uint64_t timeout, int hint);

#define LOAD_HOOK(name)                                                                            \
    int64_t name(hsa_signal_t signal)                                                              \
    {                                                                                              \
        struct rp_device *device = rp_device_get();                                                \
        int64_t value = RP_RUNTIME(name)(signal);                                                  \
        return device ? rp_host_view_look(device, signal.handle, value) : value;                   \
    }
LOAD_HOOK(hsa_signal_load_relaxed)
LOAD_HOOK(hsa_signal_load_scacquire)
LOAD_HOOK(hsa_signal_load_acquire)

/** Returns, for a signal that is not complete, what it holds when it changes, or after a moment. */
static int64_t wait_a_moment(uint64_t signal, int64_t value)
{
    uint64_t hz = rp_runtime_hz();
    int64_t now = RP_RUNTIME(hsa_signal_wait_scacquire)((hsa_signal_t){signal}, RP_HSA_LT, value,
                                                        hz / 1000 * LAST_LOOK_MS, 0);
    struct rp_device *device = rp_device_get();
    return now < value && device ? rp_host_view_look(device, signal, now) : value;
}

static int64_t held(hsa_signal_t signal)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)(uintptr_t)signal.handle;
    return raw->kind == SIGNAL_KIND_USER ? __atomic_load_n(&raw->value, __ATOMIC_RELAXED) : 0;
}

static void waited(hsa_signal_t signal, int condition)
{
    struct rp_device *device = rp_device_get();
    if (device && is_counted(device, signal.handle))
        rp_host_view_wait(device, signal.handle, condition, held(signal));
}

uint32_t hsa_amd_signal_wait_any(uint32_t count, hsa_signal_t *signals, int *conditions,
                                 int64_t *compares, uint64_t timeout, int hint, int64_t *ret_value)
{
    uint32_t which = RP_RUNTIME(hsa_amd_signal_wait_any)(count, signals, conditions, compares,
                                                         timeout, hint, ret_value);
    if (which < count)
        waited(signals[which], conditions[which]);
    return which;
}

uint32_t hsa_amd_signal_wait_all(uint32_t count, hsa_signal_t *signals, int *conditions,
                                 int64_t *compares, uint64_t timeout, int hint, int64_t *ret_values)
{
    uint32_t status = RP_RUNTIME(hsa_amd_signal_wait_all)(count, signals, conditions, compares,
                                                          timeout, hint, ret_values);
    for (uint32_t i = 0; status == 0 && i < count; i++)
        waited(signals[i], conditions[i]);
    return status;
}

/* The time is noted before the store, so that whoever sees the store finds it. */
#define STORE_HOOK(name, holds)                                                                    \
    RP_EXPORT void name(hsa_signal_t signal, int64_t value);                                       \
    void name(hsa_signal_t signal, int64_t value)                                                  \
    {                                                                                              \
        struct rp_device *device = rp_device_get();                                                \
        if (device)                                                                                \
            host_view_store(device, signal.handle, holds);                                         \
        RP_RUNTIME(name)(signal, value);                                                           \
    }
STORE_HOOK(hsa_signal_store_relaxed, value)
STORE_HOOK(hsa_signal_store_screlease, value)
STORE_HOOK(hsa_signal_store_release, value)
STORE_HOOK(hsa_signal_silent_store_relaxed, value)
STORE_HOOK(hsa_signal_silent_store_screlease, value)
STORE_HOOK(hsa_signal_add_relaxed, held(signal) + value)
STORE_HOOK(hsa_signal_add_screlease, held(signal) + value)
STORE_HOOK(hsa_signal_add_release, held(signal) + value)
STORE_HOOK(hsa_signal_subtract_relaxed, held(signal) - value)
STORE_HOOK(hsa_signal_subtract_screlease, held(signal) - value)
STORE_HOOK(hsa_signal_subtract_release, held(signal) - value)

/** The first call that is seen: those that follow will be, too. */
static void made(int status, hsa_signal_t signal, int64_t value)
{
    struct rp_device *device = rp_device_get();
    if (status != 0 || !device)
        return;
    rp_happens_before_activate(&device->causal);
    __atomic_store_n(&device->settle, rp_callbacks_settle, __ATOMIC_RELEASE);
    host_view_store(device, signal.handle, value);
}

int hsa_signal_create(int64_t value, uint32_t count, const void *consumers,
                      hsa_signal_t *ret_signal)
{
    int status = RP_RUNTIME(hsa_signal_create)(value, count, consumers, ret_signal);
    made(status, status == 0 ? *ret_signal : (hsa_signal_t){0}, value);
    return status;
}

int hsa_amd_signal_create(int64_t value, uint32_t count, const void *consumers, uint64_t attributes,
                          hsa_signal_t *ret_signal)
{
    int status = RP_RUNTIME(hsa_amd_signal_create)(value, count, consumers, attributes, ret_signal);
    made(status, status == 0 ? *ret_signal : (hsa_signal_t){0}, value);
    return status;
}
