/**
 * @file map.c
 * @brief The ranges of a capture become memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "replay/replay.h"

enum { PERMISSION_RW = 3 };

/* --- kinds --------------------------------------------------------------------------------- */

/* 0: of no kind that was seen, or this machine has none of it. */
static uint64_t pool_of(const struct rp_replay_pools *pools, uint32_t flags)
{
    if (flags & RP_MEMORY_KERNARG)
        return pools->kernarg;
    if (flags & RP_MEMORY_FINE)
        return pools->fine;
    return flags & RP_MEMORY_COARSE ? pools->coarse : 0;
}

/* --- ranges -------------------------------------------------------------------------------- */

static int map_host(struct rp_replay *r, const struct rp_replay_range *range, struct rp_err *err)
{
    const uint64_t pool = pool_of(&r->host_pools, range->flags);
    void *wanted = (void *)(uintptr_t)range->base, *seen = NULL;
    uint32_t status;

    /* The placeholder is ours: it becomes memory where it is. */
    if (mprotect(wanted, range->bytes, PROT_READ | PROT_WRITE) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "no host memory at 0x%" PRIx64,
                             range->base);
    status =
        pool ? r->hsa.hsa_amd_memory_lock_to_pool(wanted, range->bytes, &r->gpu, 1, pool, 0, &seen)
             : r->hsa.hsa_amd_memory_lock(wanted, range->bytes, &r->gpu, 1, &seen);
    if (status || seen != wanted)
        return rp_fail(err, RP_ENVIRONMENT,
                       "host memory at 0x%" PRIx64 " cannot be given to the GPU at that address "
                       "(status 0x%x)",
                       range->base, status);
    return 0;
}

static int map_device(struct rp_replay *r, const struct rp_replay_range *range,
                      const struct rp_replay_gpu *owner, struct rp_err *err)
{
    const struct rp_replay_access accesses[2] = {
        {.permissions = PERMISSION_RW, .agent = r->gpu},
        {.permissions = PERMISSION_RW, .agent = owner->agent}};
    const uint64_t wished = pool_of(&owner->pools, range->flags);
    const uint64_t pool = wished ? wished : owner->pools.coarse;
    void *wanted = (void *)(uintptr_t)range->base, *got = NULL;
    uint64_t handle = 0;
    uint32_t status;

    if (range->flags & RP_MEMORY_FINE && !wished)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the memory at 0x%" PRIx64 " was fine-grained memory of a GPU: here the "
                       "runtime has none",
                       range->base);
    munmap(wanted, range->bytes);
    status = r->hsa.hsa_amd_vmem_address_reserve(&got, range->bytes, range->base, 0);
    /* The runtime takes another address without a word when it cannot have this one. */
    r->taken = status || got != wanted;
    if (r->taken)
        return rp_fail(err, RP_VERDICT,
                       "the runtime reserved 0x%" PRIxPTR " instead of 0x%" PRIx64 " for %" PRIu64
                       " bytes (status 0x%x)",
                       (uintptr_t)got, range->base, range->bytes, status);
    status = r->hsa.hsa_amd_vmem_handle_create(pool, range->bytes, 0, 0, &handle);
    if (status == 0)
        status = r->hsa.hsa_amd_vmem_map(wanted, range->bytes, 0, handle, 0);
    if (status == 0)
        status = r->hsa.hsa_amd_vmem_set_access(wanted, range->bytes, accesses,
                                                owner->agent == r->gpu ? 1 : 2);
    if (status)
        return rp_fail(err, RP_ENVIRONMENT,
                       "%" PRIu64 " bytes of device memory cannot be mapped at 0x%" PRIx64
                       " (status 0x%x)",
                       range->bytes, range->base, status);
    return 0;
}

/* --- whose --------------------------------------------------------------------------------- */

static size_t index_of(const uint32_t *nodes, size_t count, uint32_t node)
{
    size_t i = 0;

    while (i < count && nodes[i] != node)
        i++;
    return i;
}

/* @param ret  for each node in @p ret_nodes; room for one more than there are ranges */
static size_t assign(const struct rp_replay *r, uint32_t *ret_nodes, size_t *ret)
{
    size_t count = 1, kernel_on = 0;

    ret_nodes[0] = r->facts->dispatch.node;
    for (size_t i = 0; i < r->range_count; i++)
        if (!(r->ranges[i].flags & RP_MEMORY_HOST) &&
            index_of(ret_nodes, count, r->ranges[i].node) == count)
            ret_nodes[count++] = r->ranges[i].node;
    while (kernel_on + 1 < r->gpu_count && r->gpus[kernel_on].agent != r->gpu)
        kernel_on++;
    rp_replay_assign_gpus(ret_nodes, count, r->gpus, r->gpu_count, kernel_on, ret);
    return count;
}

/* Code objects that were loaded for other GPUs are no place of theirs: kernels of this one do not
 * reach for them. */
static int map_range(struct rp_replay *r, const struct rp_replay_range *range, size_t gpu,
                     size_t wanted_gpus, struct rp_err *err)
{
    if (range->flags & RP_MEMORY_HOST)
        return map_host(r, range, err);
    if (gpu != SIZE_MAX)
        return map_device(r, range, &r->gpus[gpu], err);
    for (size_t i = 0; i < r->gpu_count && range->code; i++)
        if (r->gpus[i].agent == r->gpu)
            return map_device(r, range, &r->gpus[i], err);
    return rp_fail(err, RP_VERDICT,
                   "the memory at 0x%" PRIx64
                   " is of another GPU (node %u) than the kernel ran on: the capture is of %zu "
                   "GPUs, and there %s %zu here%s",
                   range->base, range->node, wanted_gpus, r->gpu_count == 1 ? "is" : "are",
                   r->gpu_count,
                   r->software ? "; ROCM_PERF_DEVICE_GPUS says how many software GPUs there are, "
                                 "as many as in the capture where it is not set"
                               : "");
}

int rp_replay_map(struct rp_replay *r, struct rp_err *err)
{
    rp_autofree uint32_t *nodes = calloc(r->range_count + 1, sizeof *nodes);
    rp_autofree size_t *gpus = calloc(r->range_count + 1, sizeof *gpus);
    size_t count;
    int rc = 0;

    if (!nodes || !gpus)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    count = assign(r, nodes, gpus);
    for (size_t i = 0; i < r->range_count && rc == 0; i++) {
        const struct rp_replay_range *range = &r->ranges[i];
        const size_t at = index_of(nodes, count, range->node);

        rc = map_range(r, range, at < count ? gpus[at] : SIZE_MAX, count, err);
    }
    r->fresh = rc == 0;
    return rc;
}
