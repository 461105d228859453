/**
 * @file signal_hooks.h
 * @brief This header says what the hooks of the runtimes share: the functions behind them, what the
 * host learns from signals, and when callbacks of signals are made.
 */
#ifndef RP_DEVICE_DRIVER_SIGNAL_HOOKS_H
#define RP_DEVICE_DRIVER_SIGNAL_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/driver/device_context.h"

/* The conditions are those of hsa.h. */
enum { RP_HSA_EQ, RP_HSA_NE, RP_HSA_LT, RP_HSA_GTE }; /**< hsa_signal_condition_t */
typedef struct {
    uint64_t handle;
} hsa_signal_t;

/**
 * Returns the runtime's function, or NULL. It is found by name, because the runtime may have been
 * opened later than this library and out of the global scope. The runtime's place in the search is
 * that of the program.
 */
void *rp_runtime_function(const char *name);

/** Does the same for HIP. */
void *rp_hip_function(const char *name);

/**
 * Returns the ticks per second of the clock in which the runtime takes timeouts, or 0 before
 * hsa_init().
 */
uint64_t rp_runtime_hz(void);

/** Looks up the runtime's function of the same name once; a program that can call it has it. */
#define RP_RUNTIME(name)                                                                           \
    __extension__({                                                                                \
        static void *known_;                                                                       \
        union {                                                                                    \
            void *data;                                                                            \
            __typeof__(name) *call;                                                                \
        } found_ = {.data = __atomic_load_n(&known_, __ATOMIC_RELAXED)};                           \
        if (!found_.data) {                                                                        \
            found_.data = rp_runtime_function(#name);                                              \
            __atomic_store_n(&known_, found_.data, __ATOMIC_RELAXED);                              \
        }                                                                                          \
        found_.call;                                                                               \
    })

/* The host view is what the host learns from signals, and so when in modelled time it submits
 * (command_processor.h).
 *
 * A thread that waits for a signal knows of its end when the wait returns. A thread that only
 * looks at a signal sees what it would at the modelled time that the host has reached: the work is
 * not over until something that ended later has been waited for. How far the device has really
 * come, which depends on the machine's load, does not show. So a runtime that leaves out a
 * dependency because the work is over does so in every run or in none.
 *
 * A program that only looks again and again is told the truth at the 64th look, which is its wait.
 * The same holds for one that looks when the work has been over for half a second by the host's
 * clock. Callbacks are told everything, and the host learns nothing by that.
 */

/**
 * Is called when a thread looked at a signal, which holds @p value. It returns what the thread is
 * told.
 */
int64_t rp_host_view_look(struct rp_device *device, uint64_t signal, int64_t value);

/**
 * Is called when a thread waited for a signal to hold @p value, or to hold none that the condition
 * excludes.
 */
void rp_host_view_wait(struct rp_device *device, uint64_t signal, int condition, int64_t value);

/** The end that the signal's value stands for, if it is known to be that of work of the device. */
bool rp_host_view_end(struct rp_device *device, uint64_t signal, uint64_t *ret_ticks);

/** All of the host knows. */
void rp_host_view_learn(struct rp_device *device, uint64_t ticks);

/* The HSA runtime's own thread makes the callbacks of signals as soon as they complete. HIP uses
 * them to mark events as complete, and then leaves out dependencies on these events, which must
 * not depend on how busy the machine is. A callback that nothing waits for is therefore put off
 * until the host knows of that end by a wait, at most for a second of the host's time. HIP's own
 * wait for callbacks, in which it yields again and again, makes all that have come. A callback for
 * which the signal is held back (the program's own: hipLaunchHostFunc, hipStreamAddCallback) is
 * made at once. The host then knows of that end, because the callback may report it in any way.
 */

/**
 * Returns when those that are due have been made, or all that have come. One that sleeps for a
 * second, or uses a second of processor time, waits for who waits for it: it is given up, and so is
 * what takes ten seconds.
 */
void rp_callbacks_settle(bool all);

#endif
