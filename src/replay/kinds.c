/**
 * @file kinds.c
 * @brief Whose memory and of which kind a range of a capture is to be.
 */
#include <inttypes.h>

#include "base/err.h"
#include "replay/replay.h"

enum { GRAIN = RP_MEMORY_FINE | RP_MEMORY_COARSE | RP_MEMORY_KERNARG };

/* Two regions share a page. Of host memory the kind is that of what both are then: what the runtime
 * makes of memory by default. */
int rp_replay_add_range(struct rp_replay_range *last, const struct rp_replay_range *range,
                        struct rp_err *err)
{
    const uint32_t other = last->flags ^ range->flags;
    const bool host = last->flags & RP_MEMORY_HOST;

    if (other & RP_MEMORY_HOST)
        return rp_fail(err, RP_BAD_INPUT,
                       "host and device memory share the page at 0x%" PRIx64
                       ": this cannot be rebuilt",
                       range->base);
    if (!host && (other & GRAIN || last->node != range->node))
        return rp_fail(err, RP_BAD_INPUT,
                       "device memory of two kinds or GPUs shares the page at 0x%" PRIx64
                       ": this cannot be rebuilt",
                       range->base);
    if (host && other & GRAIN)
        last->flags &= ~(uint32_t)GRAIN;
    last->code = last->code && range->code;
    if (range->base + range->bytes > last->base + last->bytes)
        last->bytes = range->base + range->bytes - last->base;
    return 0;
}

static bool is_taken(const size_t *taken, size_t count, size_t gpu)
{
    for (size_t i = 0; i < count; i++)
        if (taken[i] == gpu)
            return true;
    return false;
}

void rp_replay_assign_gpus(const uint32_t *nodes, size_t node_count,
                           const struct rp_replay_gpu *gpus, size_t gpu_count, size_t kernel_on,
                           size_t *ret)
{
    ret[0] = kernel_on;
    for (size_t i = 1; i < node_count; i++) {
        ret[i] = SIZE_MAX;
        for (size_t g = 0; g < gpu_count; g++)
            if (gpus[g].node == nodes[i] && g != kernel_on)
                ret[i] = g;
    }
    for (size_t i = 1; i < node_count; i++)
        for (size_t g = 0; g < gpu_count && ret[i] == SIZE_MAX; g++)
            if (!is_taken(ret, node_count, g))
                ret[i] = g;
}
