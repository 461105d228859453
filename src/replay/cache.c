/**
 * @file cache.c
 * @brief What the caches of the GPU hold when a timed run begins.
 */
#include "arch/arch.h"
#include "base/err.h"
#include "replay/replay.h"

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
