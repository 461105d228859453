/**
 * @file device.c
 * @brief The runtime, the GPU, and its memory pools.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/err.h"
#include "replay/replay.h"

enum { /* tests/unit/tool/check_abi.cpp compares these with the headers */
       AGENT_NAME = 0,
       AGENT_DEVICE = 17, /* 0 CPU, 1 GPU */
       AMD_AGENT_DRIVER_NODE_ID = 0xA004,
       POOL_SEGMENT = 0,
       POOL_GLOBAL_FLAGS = 1,
       POOL_ALLOC_ALLOWED = 5,
       POOL_FLAG_KERNARG = 1,
       POOL_FLAG_COARSE = 4,
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
#include "replay/hsa.def"
    status = r->hsa.hsa_init();
    if (status)
        return rp_fail(err, RP_ENVIRONMENT, "the HSA runtime does not start (status 0x%x)", status);
    r->hsa.hsa_system_get_info(SYSTEM_TIMESTAMP_FREQUENCY, &r->ticks_hz);
    return 0;
}

struct search {
    struct rp_replay *r;
    uint64_t any_gpu;
};

static uint32_t visit_agent(uint64_t agent, void *data)
{
    struct search *search = data;
    struct rp_replay *r = search->r;
    char name[64] = {0};
    uint32_t type = 2, node = UINT32_MAX;

    r->hsa.hsa_agent_get_info(agent, AGENT_DEVICE, &type);
    r->hsa.hsa_agent_get_info(agent, AGENT_NAME, name);
    r->hsa.hsa_agent_get_info(agent, AMD_AGENT_DRIVER_NODE_ID, &node);
    if (type == 0 && !r->cpu)
        r->cpu = agent;
    if (type == 1 && strncmp(name, r->facts->isa, sizeof name) == 0) {
        if (!search->any_gpu)
            search->any_gpu = agent;
        if (node == r->facts->dispatch.node)
            r->gpu = agent;
    }
    return 0;
}

static uint32_t visit_gpu_pool(uint64_t pool, void *data)
{
    struct rp_replay *r = data;
    uint32_t segment = UINT32_MAX, flags = 0;
    bool allowed = false;

    r->hsa.hsa_amd_memory_pool_get_info(pool, POOL_SEGMENT, &segment);
    r->hsa.hsa_amd_memory_pool_get_info(pool, POOL_GLOBAL_FLAGS, &flags);
    r->hsa.hsa_amd_memory_pool_get_info(pool, POOL_ALLOC_ALLOWED, &allowed);
    if (!r->gpu_pool && segment == 0 && allowed && flags & POOL_FLAG_COARSE)
        r->gpu_pool = pool;
    return 0;
}

static uint32_t visit_cpu_pool(uint64_t pool, void *data)
{
    struct rp_replay *r = data;
    uint32_t segment = UINT32_MAX, flags = 0;
    bool allowed = false;

    r->hsa.hsa_amd_memory_pool_get_info(pool, POOL_SEGMENT, &segment);
    r->hsa.hsa_amd_memory_pool_get_info(pool, POOL_GLOBAL_FLAGS, &flags);
    r->hsa.hsa_amd_memory_pool_get_info(pool, POOL_ALLOC_ALLOWED, &allowed);
    if (segment != 0 || !allowed)
        return 0;
    if (flags & POOL_FLAG_KERNARG)
        r->kernarg_pool = r->kernarg_pool ? r->kernarg_pool : pool;
    else
        r->stage_pool = r->stage_pool ? r->stage_pool : pool;
    return 0;
}

int rp_replay_find_device(struct rp_replay *r, struct rp_err *err)
{
    struct search search = {.r = r};
    void *stage = NULL;

    r->hsa.hsa_iterate_agents(visit_agent, &search);
    r->gpu = r->gpu ? r->gpu : search.any_gpu;
    if (!r->gpu || !r->cpu)
        return rp_fail(err, RP_ENVIRONMENT, "there is no GPU like the captured one here: %s",
                       r->facts->isa);
    r->hsa.hsa_agent_get_info(r->gpu, AGENT_NAME, r->gpu_name);
    r->hsa.hsa_amd_agent_iterate_memory_pools(r->gpu, visit_gpu_pool, r);
    r->hsa.hsa_amd_agent_iterate_memory_pools(r->cpu, visit_cpu_pool, r);
    if (!r->gpu_pool || !r->kernarg_pool || !r->stage_pool)
        return rp_fail(err, RP_ENVIRONMENT, "the runtime offers no memory of the GPU or the host");
    if (r->hsa.hsa_signal_create(1, 0, NULL, &r->copied))
        return rp_fail(err, RP_ENVIRONMENT, "the runtime gives no signal");
    if (r->hsa.hsa_amd_memory_pool_allocate(r->stage_pool, RP_REPLAY_STAGE_BYTES, 0, &stage) ||
        r->hsa.hsa_amd_agents_allow_access(1, &r->gpu, NULL, stage))
        return rp_fail(err, RP_ENVIRONMENT, "the runtime gives no host memory");
    r->stage = stage;
    return 0;
}
