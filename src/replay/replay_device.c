/**
 * @file replay_device.c
 * @brief The addresses of a capture, taken before anything else can; the runtime, the GPU, its
 * memory pools; and the ranges, which become memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "replay/replay.h"

enum { /* tests/unit/tracer/check_abi.cpp compares these with the headers. */
       AGENT_NAME = 0,
       AGENT_DEVICE = 17, /* 0 CPU, 1 GPU */
       AMD_AGENT_DRIVER_NODE_ID = 0xA004,
       AMD_AGENT_PRODUCT_NAME = 0xA009,
       POOL_SEGMENT = 0,
       POOL_GLOBAL_FLAGS = 1,
       POOL_ALLOC_ALLOWED = 5,
       SYSTEM_TIMESTAMP_FREQUENCY = 3,
};

static int load_runtime(struct rp_replay *r, const char *library, struct rp_err *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    uint32_t status;

    if (!handle)
        return rp_fail(err, RP_ENVIRONMENT, "cannot load the HSA runtime: %s", dlerror());
#define RP_HSA(ret, name, args)                                                                    \
    do {                                                                                           \
        void *symbol = dlsym(handle, #name);                                                       \
        if (!symbol)                                                                               \
            return rp_fail(err, RP_ENVIRONMENT, "%s has no %s", library, #name);                   \
        memcpy(&r->hsa.name, &symbol, sizeof symbol);                                              \
    } while (0);
#include "replay/replay_hsa.def"
    status = r->hsa.hsa_init();
    if (status)
        return rp_fail(err, RP_ENVIRONMENT, "the HSA runtime does not start (status 0x%x)", status);
    r->hsa.hsa_system_get_info(SYSTEM_TIMESTAMP_FREQUENCY, &r->ticks_hz);
    return 0;
}

const struct rp_device_table *rp_replay_software(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, RP_DEVICE_TABLE_SYMBOL);
    const struct rp_device_table *table;
    rp_device_table_fn *find;

    memcpy(&find, &symbol, sizeof find);
    table = find ? find() : NULL;
    return table && table->version == RP_DEVICE_TABLE_VERSION ? table : NULL;
}

/* --- pools --------------------------------------------------------------------------------- */

struct pool_search {
    const struct rp_replay *r;
    struct rp_replay_pools found;
    uint64_t extended_fine;
};

static void note(uint64_t *pool, uint64_t found)
{
    *pool = *pool ? *pool : found;
}

static uint32_t visit_pool(uint64_t pool, void *data)
{
    struct pool_search *search = data;
    const struct rp_replay_hsa *hsa = &search->r->hsa;
    uint32_t segment = UINT32_MAX, flags = 0;
    bool allowed = false;

    hsa->hsa_amd_memory_pool_get_info(pool, POOL_SEGMENT, &segment);
    hsa->hsa_amd_memory_pool_get_info(pool, POOL_GLOBAL_FLAGS, &flags);
    hsa->hsa_amd_memory_pool_get_info(pool, POOL_ALLOC_ALLOWED, &allowed);
    if (segment != 0 || !allowed)
        return 0;
    if (flags & RP_REPLAY_POOL_KERNARG)
        note(&search->found.kernarg, pool);
    else if (flags & RP_REPLAY_POOL_COARSE)
        note(&search->found.coarse, pool);
    else if (flags & RP_REPLAY_POOL_FINE)
        note(&search->found.fine, pool);
    else if (flags & RP_REPLAY_POOL_EXTENDED_FINE)
        note(&search->extended_fine, pool);
    return 0;
}

static struct rp_replay_pools find_pools(const struct rp_replay *r, uint64_t agent)
{
    struct pool_search search = {.r = r};

    r->hsa.hsa_amd_agent_iterate_memory_pools(agent, visit_pool, &search);
    note(&search.found.fine, search.extended_fine);
    return search.found;
}

/* --- agents -------------------------------------------------------------------------------- */

static uint32_t visit_agent(uint64_t agent, void *data)
{
    struct rp_replay *r = data;
    char name[64] = {0};
    uint32_t type = 2, node = UINT32_MAX;

    r->hsa.hsa_agent_get_info(agent, AGENT_DEVICE, &type);
    r->hsa.hsa_agent_get_info(agent, AGENT_NAME, name);
    r->hsa.hsa_agent_get_info(agent, AMD_AGENT_DRIVER_NODE_ID, &node);
    if (type == 0 && !r->cpu)
        r->cpu = agent;
    if (type == 1 && r->gpu_count < RP_REPLAY_GPUS)
        r->gpus[r->gpu_count++] =
            (struct rp_replay_gpu){.agent = agent,
                                   .node = node,
                                   .pools = find_pools(r, agent),
                                   .same = strncmp(name, r->facts->isa, sizeof name) == 0};
    return 0;
}

/* Chooses the GPU that the kernel ran on, or else the first one like it. */
static const struct rp_replay_gpu *choose_gpu(const struct rp_replay *r)
{
    const struct rp_replay_gpu *any = NULL;

    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct rp_replay_gpu *gpu = &r->gpus[i];

        if (gpu->same && gpu->node == r->facts->dispatch.node)
            return gpu;
        if (gpu->same && !any)
            any = gpu;
    }
    return any;
}

static int no_gpu(const struct rp_replay *r, struct rp_err *err)
{
    const struct rp_arch *arch = rp_arch_find(r->facts->isa);
    const bool modelled = arch && !arch->software_refusal;

    return rp_fail(err, RP_ENVIRONMENT, "there is no GPU like the captured one here: %s%s%s",
                   r->facts->isa,
                   modelled ? "; the software device can be one: --device software:" : "",
                   modelled ? arch->name : "");
}

int rp_replay_find_device(struct rp_replay *r, const char *library, struct rp_err *err)
{
    const struct rp_replay_gpu *gpu;
    uint64_t stage_pool;
    void *stage = NULL;
    const int rc = load_runtime(r, library, err);

    if (rc < 0)
        return rc;
    r->hsa.hsa_iterate_agents(visit_agent, r);
    gpu = choose_gpu(r);
    if (!gpu || !r->cpu)
        return no_gpu(r, err);
    r->gpu = gpu->agent;
    r->gpu_pool = gpu->pools.coarse;
    r->hsa.hsa_agent_get_info(r->gpu, AGENT_NAME, r->gpu_name);
    r->hsa.hsa_agent_get_info(r->gpu, AMD_AGENT_PRODUCT_NAME, r->product);
    r->host_pools = find_pools(r, r->cpu);
    stage_pool = r->host_pools.fine ? r->host_pools.fine : r->host_pools.coarse;
    if (!r->gpu_pool || !r->host_pools.kernarg || !stage_pool)
        return rp_fail(err, RP_ENVIRONMENT, "the runtime offers no memory of the GPU or the host");
    if (r->hsa.hsa_signal_create(1, 0, NULL, &r->copied))
        return rp_fail(err, RP_ENVIRONMENT, "the runtime gives no signal");
    if (r->hsa.hsa_amd_memory_pool_allocate(stage_pool, RP_REPLAY_STAGE_BYTES, 0, &stage) ||
        r->hsa.hsa_amd_agents_allow_access(1, &r->gpu, NULL, stage))
        return rp_fail(err, RP_ENVIRONMENT, "the runtime gives no host memory");
    r->stage = stage;
    return 0;
}

/* These functions decide what the caches of the GPU hold when a timed run begins. */

/* All of them once might leave something that is replaced by chance; twice leaves next to nothing.
 */
enum { TIMES = 2 };

int rp_replay_prepare_cache(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_arch *arch = rp_arch_find(r->gpu_name);

    if (r->cache == RP_CACHE_WARM && r->software)
        return rp_fail(err, RP_ENVIRONMENT,
                       "--cache warm: on the software device the caches of a modelled dispatch are "
                       "empty when it begins, whatever ran before; use a GPU, or leave it out");
    if (r->cache != RP_CACHE_COLD || r->software)
        return 0;
    if (!arch || !arch->l2_bytes)
        return rp_fail(err, RP_ENVIRONMENT,
                       "--cache cold: how large the caches of %s are is not "
                       "known here",
                       r->gpu_name);
    r->flush_bytes = TIMES * ((uint64_t)arch->l2_bytes * arch->xcc_count + arch->mall_bytes);
    if (r->hsa.hsa_amd_memory_pool_allocate(r->gpu_pool, r->flush_bytes, 0, &r->flush))
        return rp_fail(err, RP_ENVIRONMENT,
                       "--cache cold: no %llu bytes of device memory are left "
                       "to displace what the caches hold",
                       (unsigned long long)r->flush_bytes);
    return 0;
}

/* The runtime fills memory by a kernel: what it writes goes through the L2 of every die and
 * the Infinity Cache behind them. */
int rp_replay_empty_caches(struct rp_replay *r, struct rp_err *err)
{
    uint32_t status = 0;

    if (r->flush)
        status = r->hsa.hsa_amd_memory_fill(r->flush, ++r->flush_value,
                                            r->flush_bytes / sizeof r->flush_value);
    return status ? rp_fail(err, RP_ENVIRONMENT,
                            "--cache cold: the runtime does not fill memory (status 0x%x)", status)
                  : 0;
}

/* --- the addresses, before anything else can take them -------------------------------------- */

/* This says to whom a range of a capture belongs and which kind of memory it must be. */

enum { GRAIN = RP_MEMORY_FINE | RP_MEMORY_COARSE | RP_MEMORY_KERNARG };

/* Two regions share a page. Of host memory the kind is that of what both are then: what the runtime
 * makes of memory by default. */
static int replay_add_range(struct rp_replay_range *last, const struct rp_replay_range *range,
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
 * Chooses which GPUs stand for the captured ones, which are the same GPUs where these exist and
 * are free.
 * @param nodes  of captured GPUs, each once; the first is the one that the kernel ran on
 * @param kernel_on  which of @p gpus that is now
 * @param ret  for each of @p nodes: which of @p gpus; SIZE_MAX: none is left
 */
static void replay_assign_gpus(const uint32_t *nodes, size_t node_count,
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

static int by_base(const void *a, const void *b)
{
    const struct rp_replay_range *x = a, *y = b;

    return (x->base > y->base) - (x->base < y->base);
}

static int plan(struct rp_replay *r, struct rp_err *err)
{
    size_t kept = 0;
    int rc;

    r->memory = rp_capture_contents(r->capture)->memory;
    r->memory_count = rp_capture_contents(r->capture)->memory_count;
    r->facts = &rp_capture_contents(r->capture)->facts;
    for (size_t i = 0; i < r->memory_count; i++)
        if (r->memory[i].region.memory_class == RP_MEMORY_CODE &&
            r->memory[i].region.base == r->facts->dispatch.code_base)
            r->code = &r->memory[i];
    r->ranges = rp_alloc_zero(r->memory_count, sizeof *r->ranges);
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
    /* Two regions may share a page, so this goes by ranges. */
    for (size_t i = 0; i < r->range_count; i++) {
        struct rp_replay_range *last = kept ? &r->ranges[kept - 1] : NULL;
        const struct rp_replay_range range = r->ranges[i];

        if (!last || range.base >= last->base + last->bytes) {
            r->ranges[kept++] = range;
            continue;
        }
        rc = replay_add_range(last, &range, err);
        if (rc < 0)
            return rc;
    }
    r->range_count = kept;
    return 0;
}

/* Names what stands in the way, by its line of /proc/self/maps. */
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
    const int rc = plan(r, err);

    if (rc < 0)
        return rc;
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

/* Returns 0 if the kind was not seen, or this machine has none of it. */
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
    replay_assign_gpus(ret_nodes, count, r->gpus, r->gpu_count, kernel_on, ret);
    return count;
}

/* Code objects that were loaded for other GPUs need no place on them, because kernels of this one
 * do not access them.
 */
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
    rp_autofree uint32_t *nodes = rp_alloc_zero(r->range_count + 1, sizeof *nodes);
    rp_autofree size_t *gpus = rp_alloc_zero(r->range_count + 1, sizeof *gpus);
    const size_t count = assign(r, nodes, gpus);
    int rc = 0;

    for (size_t i = 0; i < r->range_count && rc == 0; i++) {
        const struct rp_replay_range *range = &r->ranges[i];
        const size_t at = index_of(nodes, count, range->node);

        rc = map_range(r, range, at < count ? gpus[at] : SIZE_MAX, count, err);
    }
    r->fresh = rc == 0;
    return rc;
}
