/**
 * @file replay_ranges.c
 * @brief Takes the addresses of a capture before anything else can.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "replay/replay.h"

/* Whose memory and of which kind a range of a capture is to be. */

enum { GRAIN = RP_MEMORY_FINE | RP_MEMORY_COARSE | RP_MEMORY_KERNARG };

/* replay_ranges.c */
/* Two regions share a page. Of host memory the kind is that of what both are then: what the runtime
 * makes of memory by default. */
static int rp_replay_add_range(struct rp_replay_range *last, const struct rp_replay_range *range,
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

/**
 * Which GPUs stand for the captured ones: the same as then where they are there and free.
 * @param nodes      of captured GPUs, each once; the first is the one that the kernel ran on
 * @param kernel_on  which of @p gpus that is now
 * @param ret        for each of @p nodes: which of @p gpus; SIZE_MAX: none is left
 */
static void rp_replay_assign_gpus(const uint32_t *nodes, size_t node_count,
                                  const struct rp_replay_gpu *gpus, size_t gpu_count,
                                  size_t kernel_on, size_t *ret)
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

static int by_base(const void *a, const void *b)
{
    const struct rp_replay_range *x = a, *y = b;

    return (x->base > y->base) - (x->base < y->base);
}

int rp_replay_plan(struct rp_replay *r, struct rp_err *err)
{
    size_t kept = 0;
    int rc;

    r->memory = rp_capture_get_memory(r->capture, &r->memory_count);
    r->facts = rp_capture_get_facts(r->capture);
    r->ranges = calloc(r->memory_count + 1, sizeof *r->ranges);
    if (!r->ranges)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < r->memory_count; i++) {
        const struct rp_snapshot_region *region = &r->memory[i].region;
        const uint64_t base = region->base & ~(uint64_t)(RP_PAGE_BYTES - 1);

        r->ranges[r->range_count++] = (struct rp_replay_range){
            .base = base,
            .bytes = rp_pages_of(region->base - base + region->bytes) * RP_PAGE_BYTES,
            .flags = region->flags,
            .node = region->node,
            .code = region->memory_class == RP_MEMORY_CODE};
    }
    if (r->range_count)
        qsort(r->ranges, r->range_count, sizeof *r->ranges, by_base);
    for (size_t i = 0; i < r->range_count; i++) { /* two regions may share a page */
        struct rp_replay_range *last = kept ? &r->ranges[kept - 1] : NULL;
        const struct rp_replay_range range = r->ranges[i];

        if (!last || range.base >= last->base + last->bytes) {
            r->ranges[kept++] = range;
            continue;
        }
        rc = rp_replay_add_range(last, &range, err);
        if (rc < 0)
            return rc;
    }
    r->range_count = kept;
    return 0;
}

/* What stands in the way: the line of /proc/self/maps. */
static void name_conflict(const struct rp_replay_range *range, char *ret, size_t room)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t from, to;
    char line[512];

    snprintf(ret, room, "something that is not listed");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2 || to <= range->base ||
            from >= range->base + range->bytes)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(ret, room, "%s", line);
        break;
    }
    if (maps)
        fclose(maps);
}

int rp_replay_reserve_ranges(struct rp_replay *r, struct rp_err *err)
{
    for (size_t i = 0; i < r->range_count; i++) {
        const struct rp_replay_range *range = &r->ranges[i];
        void *wanted = (void *)(uintptr_t)range->base;
        void *got = mmap(wanted, range->bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        char conflict[512];

        if (got == wanted)
            continue;
        if (got == MAP_FAILED && errno != EEXIST)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                                 "the range 0x%" PRIx64 " with %" PRIu64 " bytes cannot be had",
                                 range->base, range->bytes);
        name_conflict(range, conflict, sizeof conflict);
        return rp_fail(err, RP_VERDICT,
                       "the range 0x%" PRIx64 " with %" PRIu64
                       " bytes is taken in this process: %s",
                       range->base, range->bytes, conflict);
    }
    return 0;
}

/* The ranges of a capture become memory. */

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

struct span {
    uint64_t from, to;
};

static int by_address(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

int rp_redzones_find(const struct rp_replay_range *ranges, size_t range_count,
                     const struct rp_capture_memory *memory, size_t memory_count,
                     struct rp_redzone **ret, size_t *ret_count, struct rp_err *err)
{
    /* Each margin ends at a region or at a range's end. */
    struct rp_redzone *margins = calloc(memory_count + range_count + 1, sizeof *margins);
    rp_autofree struct span *spans = calloc(memory_count + 1, sizeof *spans);
    size_t count = 0, at = 0;

    if (!margins || !spans) {
        free(margins);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    for (size_t i = 0; i < memory_count; i++)
        spans[i] =
            (struct span){memory[i].region.base, memory[i].region.base + memory[i].region.bytes};
    qsort(spans, memory_count, sizeof *spans, by_address);
    for (size_t i = 0; i < range_count; i++) {
        const uint64_t end = ranges[i].base + ranges[i].bytes;
        const bool host = ranges[i].flags & RP_MEMORY_HOST;
        uint64_t done = ranges[i].base;

        for (; at < memory_count && spans[at].from < end; at++) {
            if (spans[at].from > done)
                margins[count++] = (struct rp_redzone){done, spans[at].from - done, host};
            done = spans[at].to > done ? spans[at].to : done;
        }
        if (done < end)
            margins[count++] = (struct rp_redzone){done, end - done, host};
    }
    *ret = margins;
    *ret_count = count;
    return 0;
}
