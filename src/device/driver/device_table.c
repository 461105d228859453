/**
 * @file device_table.c
 * @brief This file says what the collector finds by name: that a software device answers, so that
 * it marks times as modelled, how they are, and where counters are.
 */
#include <stddef.h>

#include "device/driver/device_context.h"
#include "device/driver/libc_hooks.h"
#include "device/driver/signal_hooks.h"
#include "device/exec/exec_settings.h"
#include "device/timing/timing_model.h"
#include "trace/records.h"

/**
 * Returns the version of what the device library offers to others by name, or NULL while it is
 * switched off.
 */
RP_EXPORT const char *rocm_perf_device_abi(void);
RP_EXPORT rp_device_table_fn rocm_perf_device_table;

const char *rocm_perf_device_abi(void)
{
    return rp_device_wanted() ? "1" : NULL;
}

/* A child of fork has no device until it opens one. */
static uint32_t counter_count(void)
{
    const struct rp_device *device = rp_device_get();

    return device ? device->counted.count : 0;
}

static const char *counter_name(uint32_t index)
{
    return rp_device_get()->counted.name[index];
}

static bool take(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks, double *ret_values,
                 struct rp_rec_simulation *ret_replay)
{
    struct rp_device *device = rp_device_get();

    return device && rp_counter_results_take(&device->counted, signal, start_ticks, end_ticks,
                                             ret_values, ret_replay);
}

static uint32_t timing(uint32_t *ret_version)
{
    const struct rp_arch arch = rp_device_arch();

    switch (rp_timing_mode_for(&arch)) {
    case RP_TIMING_OFF:
        *ret_version = RP_TIMING_OFF_VERSION;
        return RP_TRACE_TIMING_OFF;
    case RP_TIMING_DETAILED:
        *ret_version = RP_TIMING_DETAILED_VERSION;
        return RP_TRACE_TIMING_DETAILED;
    default:
        *ret_version = RP_TIMING_FAST_VERSION;
        return RP_TRACE_TIMING_FAST;
    }
}

static bool trace_threads(uint64_t signal, uint64_t kernel_object,
                          const struct rp_threads_request *wish)
{
    struct rp_device *device = rp_device_get();

    return device && rp_timing_mode_for(&device->arch) == RP_TIMING_DETAILED &&
           rp_trace_requests_add(&device->traced, signal, kernel_object, wish);
}

static bool take_threads(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks,
                         void **ret_bytes, size_t *ret_count)
{
    struct rp_device *device = rp_device_get();

    return device && rp_trace_requests_take(&device->traced, signal, start_ticks, end_ticks,
                                            ret_bytes, ret_count);
}

static void hold_nothing(bool begins)
{
    struct rp_device *device = rp_device_get();

    if (!device)
        return;
    rp_happens_before_hold_nothing(&device->causal, begins);
    rp_queues_kick(&device->queues);
}

static int64_t only_waits_ns(void)
{
    struct rp_device *device = rp_device_get();

    return device ? rp_queues_only_wait_ns(&device->queues) : 0;
}

const struct rp_device_table *rocm_perf_device_table(void)
{
    static const struct rp_device_table table = {
        .version = RP_DEVICE_TABLE_VERSION,
        .counter_count = counter_count,
        .counter_name = counter_name,
        .take = take,
        .timing = timing,
        .trace_threads = trace_threads,
        .take_threads = take_threads,
        .settle_callbacks = rp_callbacks_settle,
        .hold_nothing = hold_nothing,
        .set_poison = rp_exec_poison_set,
        .set_order = rp_wave_order_set,
        .set_bound = rp_bound_set,
        .last_work = rp_bound_last,
        .only_waits_ns = only_waits_ns,
    };

    return rp_device_wanted() ? &table : NULL;
}
