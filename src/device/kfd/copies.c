/**
 * @file dispatches.c
 * @brief The runtime's copies, as far as it decides by what the device has done.
 *
 * It leaves out what a copy has to wait for when that is over. So the copy's packets are held while
 * it decides (causal.h), and do not start before the end of what was over then.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "export.h"
#include "runtime.h"
#include "seen.h"

typedef struct {
    uint64_t handle;
} hsa_agent_t;

RP_EXPORT int hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from,
                                        hsa_agent_t from_agent, size_t bytes, uint32_t wait_count,
                                        const hsa_signal_t *waits, hsa_signal_t completion);
RP_EXPORT int hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
                                                  hsa_agent_t from_agent, size_t bytes,
                                                  uint32_t wait_count, const hsa_signal_t *waits,
                                                  hsa_signal_t completion, int engine, bool force);
RP_EXPORT int hsa_amd_memory_async_copy_rect(const void *to, const void *to_offset,
                                             const void *from, const void *from_offset,
                                             const void *range, hsa_agent_t agent, int direction,
                                             uint32_t wait_count, const hsa_signal_t *waits,
                                             hsa_signal_t completion);
RP_EXPORT int hsa_memory_copy(void *to, const void *from, size_t bytes);
RP_EXPORT int hsa_amd_memory_fill(void *to, uint32_t value, size_t count);

static struct rp_device *begin(void)
{
    struct rp_device *device = rp_device_get();
    if (!device || !rp_causal_active(&device->causal))
        return NULL;
    rp_causal_open(&device->causal);
    return device;
}

/** The latest end of those that are over. */
static uint64_t over(struct rp_device *device, uint32_t count, const hsa_signal_t *signals)
{
    uint64_t latest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct rp_amd_signal *raw = (const void *)(uintptr_t)signals[i].handle;
        uint64_t ticks;
        if (!raw || __atomic_load_n(&raw->value, __ATOMIC_ACQUIRE) > 0)
            continue;
        if (!rp_seen_end(device, signals[i].handle, &ticks))
            ticks = rp_clock_now(&device->clock);
        if (ticks > latest)
            latest = ticks;
    }
    return latest;
}

static void end(struct rp_device *device, uint32_t count, const hsa_signal_t *signals)
{
    if (!device)
        return;
    rp_causal_close(&device->causal, over(device, count, signals));
    rp_queues_kick(&device->queues);
}

int hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from,
                              hsa_agent_t from_agent, size_t bytes, uint32_t wait_count,
                              const hsa_signal_t *waits, hsa_signal_t completion)
{
    struct rp_device *device = begin();
    int status = RP_RUNTIME(hsa_amd_memory_async_copy)(to, to_agent, from, from_agent, bytes,
                                                       wait_count, waits, completion);
    end(device, wait_count, waits);
    return status;
}

int hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
                                        hsa_agent_t from_agent, size_t bytes, uint32_t wait_count,
                                        const hsa_signal_t *waits, hsa_signal_t completion,
                                        int engine, bool force)
{
    struct rp_device *device = begin();
    int status = RP_RUNTIME(hsa_amd_memory_async_copy_on_engine)(
        to, to_agent, from, from_agent, bytes, wait_count, waits, completion, engine, force);
    end(device, wait_count, waits);
    return status;
}

int hsa_amd_memory_async_copy_rect(const void *to, const void *to_offset, const void *from,
                                   const void *from_offset, const void *range, hsa_agent_t agent,
                                   int direction, uint32_t wait_count, const hsa_signal_t *waits,
                                   hsa_signal_t completion)
{
    struct rp_device *device = begin();
    int status = RP_RUNTIME(hsa_amd_memory_async_copy_rect)(
        to, to_offset, from, from_offset, range, agent, direction, wait_count, waits, completion);
    end(device, wait_count, waits);
    return status;
}

/** The runtime has waited inside, for what nobody sees: at the latest end there is. */
static int over_now(int status)
{
    struct rp_device *device = rp_device_get();
    if (device && rp_causal_active(&device->causal))
        rp_seen_learn(device, rp_clock_now(&device->clock));
    return status;
}

int hsa_memory_copy(void *to, const void *from, size_t bytes)
{
    return over_now(RP_RUNTIME(hsa_memory_copy)(to, from, bytes));
}

int hsa_amd_memory_fill(void *to, uint32_t value, size_t count)
{
    return over_now(RP_RUNTIME(hsa_amd_memory_fill)(to, value, count));
}
