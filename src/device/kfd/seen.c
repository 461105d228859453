#include "seen.h"

#include <stddef.h>

#include "callbacks.h"
#include "export.h"
#include "host_ns.h"
#include "runtime.h"

/* Looks that are told "not yet" before the truth, and how long the last of these waits for it: so
 * that the truth comes at the same look whether the device is ahead of the host or behind. */
enum { LOOKS = 64, LAST_LOOK_MS = 100 };
/* What has been over for so long by the host's clock is told at once: a program that sleeps and
 * then looks is not one that polls, and shall not hear "not yet" of what has long ended. Longer
 * than a busy machine keeps a program from looking. */
enum { LONG_OVER_NS = 500 * 1000 * 1000 };

enum { SIGNAL_KIND_USER = 1 }; /* amd_signal_kind64_t of amd_hsa_signal.h; doorbells are others */

static __thread struct rp_seen_callback self __attribute__((tls_model("initial-exec")));

static uint64_t value_va(uint64_t signal)
{
    return signal + offsetof(struct rp_amd_signal, value);
}

static bool is_counted(const struct rp_device *device, uint64_t signal)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)(uintptr_t)signal;
    return raw && rp_causal_active(&device->causal) && raw->kind == SIGNAL_KIND_USER;
}

void rp_seen_learn(struct rp_device *device, uint64_t ticks)
{
    if (rp_causal_learn(&device->causal, ticks))
        rp_callbacks_due(ticks);
}

struct rp_seen_callback rp_seen_callback_begin(uint64_t ticks)
{
    struct rp_seen_callback before = self;
    self.inside = true;
    if (ticks > self.known)
        self.known = ticks;
    return before;
}

void rp_seen_callback_end(struct rp_seen_callback before)
{
    self = before;
}

bool rp_seen_inside_callback(void)
{
    return self.inside;
}

bool rp_seen_end(struct rp_device *device, uint64_t signal, uint64_t *ret_ticks)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)(uintptr_t)signal;
    pthread_mutex_lock(&device->stores.lock);
    const struct rp_store_time *slot = rp_store_time_of(&device->stores, value_va(signal));
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

/** With the table's lock held. */
static enum verdict judge(const struct rp_device *device, struct rp_store_time *slot, int64_t value,
                          uint64_t *ret_ticks)
{
    if (!slot || value > slot->value)
        return AS_IT_IS;
    if (value < slot->value)
        return STRANGE;
    *ret_ticks = slot->ticks;
    bool news = slot->ticks > rp_causal_known(&device->causal);
    if (!news && value <= 0)
        return AS_IT_IS;
    slot->looks++;
    if (!news)
        return slot->looks == LOOKS ? WAIT : AS_IT_IS;
    bool long_over = rp_host_ns() - slot->host_ns > LONG_OVER_NS;
    return slot->looks < LOOKS && !long_over ? NOT_YET : COMPLETE;
}

static int64_t wait_a_moment(uint64_t signal, int64_t value);

int64_t rp_seen_look(struct rp_device *device, uint64_t signal, int64_t value)
{
    uint64_t ticks = 0;
    rp_callbacks_awake();
    if (!is_counted(device, signal))
        return value;
    pthread_mutex_lock(&device->stores.lock);
    struct rp_store_time *slot = rp_store_time_of(&device->stores, value_va(signal));
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
        rp_seen_learn(device, ticks);
        return value;
    case STRANGE:
        rp_seen_learn(device, rp_clock_now(&device->clock));
        return value;
    case WAIT:
        return wait_a_moment(signal, value);
    default:
        return value;
    }
}

void rp_seen_wait(struct rp_device *device, uint64_t signal, int condition, int64_t value)
{
    rp_callbacks_awake();
    if (!is_counted(device, signal))
        return;
    pthread_mutex_lock(&device->stores.lock);
    const struct rp_store_time *slot = rp_store_time_of(&device->stores, value_va(signal));
    bool known = slot && slot->value == value;
    /* Counted down by someone else: by the latest end there can be. Other conditions wait for what
     * kernels and the program store. */
    bool strange =
        slot && value < slot->value && (condition == RP_HSA_EQ || condition == RP_HSA_LT);
    uint64_t ticks = known ? slot->ticks : strange ? rp_clock_now(&device->clock) : 0;
    pthread_mutex_unlock(&device->stores.lock);
    if (self.inside && ticks > self.known)
        self.known = ticks;
    else if (!self.inside && ticks)
        rp_seen_learn(device, ticks);
}

void rp_seen_store(struct rp_device *device, uint64_t signal, int64_t value)
{
    if (!is_counted(device, signal))
        return;
    uint64_t known = rp_causal_known(&device->causal);
    pthread_mutex_lock(&device->stores.lock);
    struct rp_store_time *slot = rp_store_time_make(&device->stores, value_va(signal));
    if (slot) {
        slot->ticks = self.inside && self.known > known ? self.known : known;
        slot->value = value;
        slot->looks = 0;
        slot->host_ns = rp_host_ns();
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
        return device ? rp_seen_look(device, signal.handle, value) : value;                        \
    }
LOAD_HOOK(hsa_signal_load_relaxed)
LOAD_HOOK(hsa_signal_load_scacquire)
LOAD_HOOK(hsa_signal_load_acquire)

/** For a signal that is not complete: what it holds when it changes, or after a moment. */
static int64_t wait_a_moment(uint64_t signal, int64_t value)
{
    uint64_t hz = rp_runtime_hz();
    int64_t now = RP_RUNTIME(hsa_signal_wait_scacquire)((hsa_signal_t){signal}, RP_HSA_LT, value,
                                                        hz / 1000 * LAST_LOOK_MS, 0);
    struct rp_device *device = rp_device_get();
    return now < value && device ? rp_seen_look(device, signal, now) : value;
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
        rp_seen_wait(device, signal.handle, condition, held(signal));
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

/* Before the store, so that whoever sees it finds its time. */
#define STORE_HOOK(name, holds)                                                                    \
    RP_EXPORT void name(hsa_signal_t signal, int64_t value);                                       \
    void name(hsa_signal_t signal, int64_t value)                                                  \
    {                                                                                              \
        struct rp_device *device = rp_device_get();                                                \
        if (device)                                                                                \
            rp_seen_store(device, signal.handle, holds);                                           \
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
    rp_causal_activate(&device->causal);
    __atomic_store_n(&device->settle, rp_callbacks_settle, __ATOMIC_RELEASE);
    rp_seen_store(device, signal.handle, value);
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
