/**
 * @file replay_device.c
 * @brief The runtime, the GPU, and its memory pools.
 */
#include <dlfcn.h>
#include <string.h>

#include "arch/arch.h"
#include "base/err.h"
#include "replay/replay.h"
#include "trace/device_table.h"

enum { /* tests/unit/tool/check_abi.cpp compares these with the headers */
       AGENT_NAME = 0,
       AGENT_DEVICE = 17, /* 0 CPU, 1 GPU */
       AMD_AGENT_DRIVER_NODE_ID = 0xA004,
       AMD_AGENT_PRODUCT_NAME = 0xA009,
       POOL_SEGMENT = 0,
       POOL_GLOBAL_FLAGS = 1,
       POOL_ALLOC_ALLOWED = 5,
       SYSTEM_TIMESTAMP_FREQUENCY = 3,
};

int rp_replay_load_runtime(struct rp_replay *r, const char *library, struct rp_err *err)
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

/* NULL: it is no software device, or one of another version. */
static const struct rp_device_table *find_table(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, RP_DEVICE_TABLE_SYMBOL);
    const struct rp_device_table *table;
    rp_device_table_fn *find;

    memcpy(&find, &symbol, sizeof find);
    table = find ? find() : NULL;
    return table && table->version == RP_DEVICE_TABLE_VERSION ? table : NULL;
}

bool rp_replay_fill_uninitialised(uint32_t seed)
{
    const struct rp_device_table *table = find_table();

    if (table)
        table->set_poison(seed);
    return table != NULL;
}

bool rp_replay_set_wave_order(uint32_t order)
{
    const struct rp_device_table *table = find_table();

    if (table)
        table->set_order(order);
    return table != NULL;
}

bool rp_replay_set_work_limit(uint64_t work)
{
    const struct rp_device_table *table = find_table();

    if (table)
        table->set_bound(work);
    return table != NULL;
}

bool rp_replay_hit_work_limit(uint64_t *ret_work)
{
    const struct rp_device_table *table = find_table();

    *ret_work = 0;
    return table && table->last_work(ret_work);
}

int64_t rp_replay_only_waits_ns(void)
{
    const struct rp_device_table *table = find_table();

    return table ? table->only_waits_ns() : 0;
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

/* The one that the kernel ran on, or the first like it. */
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

int rp_replay_find_device(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_replay_gpu *gpu;
    uint64_t stage_pool;
    void *stage = NULL;

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

/* What the caches of the GPU hold when a timed run begins. */

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
