/**
 * @file wait.c
 * @brief Waits for HSA signals that leave the processor to the device.
 *
 * The HIP runtime waits actively, and the HSA runtime polls a signal without an interrupt in any
 * case: on a GPU that costs a processor that has nothing else to do. Here the processors are the
 * device, and the poll would take one of them from the kernel it waits for. So the wait of the
 * runtime gets the first moments, in which short kernels end, and after it the thread sleeps until
 * the device stores to a signal. A signal that something else stores to (another thread, a kernel)
 * is looked at every SLICE_NS.
 *
 * While it sleeps the runtime does not know of the wait, and a signal may be destroyed meanwhile:
 * its handle must not be used again. So destruction is seen here first, and ends such waits as the
 * runtime ends its own, with 0.
 *
 * What the host learns by a wait is in seen.h.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "bell.h"
#include "callbacks.h"
#include "device.h"
#include "export.h"
#include "host_ns.h"
#include "runtime.h"
#include "seen.h"

/* A wait that is shorter than LOOK_NS is not one: whether it succeeds says how fast this host is.
 */
enum { SPIN_NS = 100 * 1000, SLICE_NS = 1000 * 1000, LOOK_NS = 50 * 1000 };

typedef int64_t (*wait_fn)(hsa_signal_t signal, int condition, int64_t compare, uint64_t timeout,
                           int hint);

RP_EXPORT int64_t hsa_signal_wait_scacquire(hsa_signal_t signal, int condition, int64_t compare,
                                            uint64_t timeout, int hint);
RP_EXPORT int64_t hsa_signal_wait_acquire(hsa_signal_t signal, int condition, int64_t compare,
                                          uint64_t timeout, int hint);
RP_EXPORT int64_t hsa_signal_wait_relaxed(hsa_signal_t signal, int condition, int64_t compare,
                                          uint64_t timeout, int hint);

RP_EXPORT int hsa_signal_destroy(hsa_signal_t signal);

/* Threads that sleep in a wait; one that finds no place leaves all of the wait to the runtime. */
enum { SLEEPERS = 256, YIELDS = 100000 };

struct sleeper {
    uint64_t signal; /**< 0 = free */
    uint32_t destroyed;
    uint32_t looking; /**< it is in the runtime with the handle, for a short time */
};

static struct sleeper sleepers[SLEEPERS];

static struct sleeper *take_sleeper(uint64_t signal)
{
    for (unsigned i = 0; i < SLEEPERS; i++) {
        uint64_t nobody = 0;
        if (__atomic_load_n(&sleepers[i].signal, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&sleepers[i].signal, &nobody, signal, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            return &sleepers[i];
    }
    return NULL;
}

static void give_sleeper(struct sleeper *sleeper)
{
    __atomic_store_n(&sleeper->destroyed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&sleeper->signal, 0, __ATOMIC_RELEASE);
}

static void tell_sleepers(uint64_t signal)
{
    bool any = false;
    for (unsigned i = 0; signal && i < SLEEPERS; i++)
        if (__atomic_load_n(&sleepers[i].signal, __ATOMIC_SEQ_CST) == signal) {
            __atomic_store_n(&sleepers[i].destroyed, 1, __ATOMIC_SEQ_CST);
            any = true;
            /* Not for ever: a forked child has the places of threads that it has not. */
            for (unsigned n = 0; n < YIELDS; n++) {
                if (!__atomic_load_n(&sleepers[i].looking, __ATOMIC_SEQ_CST))
                    break;
                sched_yield();
            }
        }
    if (any)
        rp_bell_ring();
}

static bool holds(int condition, int64_t value, int64_t compare)
{
    switch (condition) {
    case RP_HSA_EQ:
        return value == compare;
    case RP_HSA_NE:
        return value != compare;
    case RP_HSA_LT:
        return value < compare;
    default:
        return value >= compare;
    }
}

struct wait {
    struct sleeper *self;
    wait_fn next;
    hsa_signal_t signal;
    int condition, hint;
    int64_t compare;
};

/** The runtime's wait, for a short time. False when the signal is not there any more. */
static bool look(const struct wait *w, uint64_t timeout, int64_t *ret_value)
{
    __atomic_store_n(&w->self->looking, 1, __ATOMIC_SEQ_CST);
    bool there = !__atomic_load_n(&w->self->destroyed, __ATOMIC_SEQ_CST);
    if (there)
        *ret_value = w->next(w->signal, w->condition, w->compare, timeout, w->hint);
    __atomic_store_n(&w->self->looking, 0, __ATOMIC_SEQ_CST);
    return there;
}

static int64_t sleep_until(const struct wait *w, uint64_t spin, double limit_ns, bool *ret_gone)
{
    int64_t start = rp_host_ns();
    uint64_t timeout = spin;
    int64_t value = 0;
    for (;;) {
        uint32_t seen = rp_bell_count();
        *ret_gone = !look(w, timeout, &value);
        if (*ret_gone)
            return 0;
        double left_ns = limit_ns - (double)(rp_host_ns() - start);
        if (holds(w->condition, value, w->compare) || left_ns <= 0)
            return value;
        if (timeout == 0)
            rp_bell_wait(seen, left_ns < SLICE_NS ? (uint64_t)left_ns : SLICE_NS);
        timeout = 0;
    }
}

static int64_t patient(wait_fn next, hsa_signal_t signal, int condition, int64_t compare,
                       uint64_t timeout, int hint, bool *ret_gone)
{
    uint64_t hz = rp_device_get() ? rp_runtime_hz() : 0, spin = hz / (1000000000 / SPIN_NS);
    if (timeout <= spin || hz == 0) /* without our device nobody rings, and a poll costs nothing */
        return next(signal, condition, compare, timeout, hint);
    struct sleeper *self = take_sleeper(signal.handle);
    if (!self)
        return next(signal, condition, compare, timeout, hint);
    const struct wait w = {self, next, signal, condition, hint, compare};
    int64_t value = sleep_until(&w, spin, (double)timeout * 1e9 / (double)hz, ret_gone);
    give_sleeper(self);
    return value;
}

static int64_t patient_wait(wait_fn next, hsa_signal_t signal, int condition, int64_t compare,
                            uint64_t timeout, int hint)
{
    struct rp_device *device = rp_device_get();
    bool gone = false;
    int64_t value = patient(next, signal, condition, compare, timeout, hint, &gone);
    if (!device || gone || !holds(condition, value, compare))
        return value;
    if (timeout < rp_runtime_hz() / (1000000000 / LOOK_NS))
        return rp_seen_look(device, signal.handle, value);
    rp_seen_wait(device, signal.handle, condition, value);
    return value;
}

int64_t hsa_signal_wait_scacquire(hsa_signal_t signal, int condition, int64_t compare,
                                  uint64_t timeout, int hint)
{
    return patient_wait(RP_RUNTIME(hsa_signal_wait_scacquire), signal, condition, compare, timeout,
                        hint);
}

int64_t hsa_signal_wait_acquire(hsa_signal_t signal, int condition, int64_t compare,
                                uint64_t timeout, int hint)
{
    return patient_wait(RP_RUNTIME(hsa_signal_wait_acquire), signal, condition, compare, timeout,
                        hint);
}

int64_t hsa_signal_wait_relaxed(hsa_signal_t signal, int condition, int64_t compare,
                                uint64_t timeout, int hint)
{
    return patient_wait(RP_RUNTIME(hsa_signal_wait_relaxed), signal, condition, compare, timeout,
                        hint);
}

int hsa_signal_destroy(hsa_signal_t signal)
{
    rp_callbacks_settle(false);
    tell_sleepers(signal.handle);
    return RP_RUNTIME(hsa_signal_destroy)(signal);
}
