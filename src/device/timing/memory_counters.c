#include "memory_counters.h"

#include <errno.h>

#include "arch/arch.h"
#include "arch/hardware_counters.h"

/* How much more was executed than replayed. */
struct factors {
    double of[RP_CACHE_KINDS];
    double writes; /* of stores and atomics, whose lines nobody can tell apart any more */
};

static int find_factors(const struct rp_cache_result *r, const uint64_t *values, struct factors *f)
{
    const uint64_t loads =
        values[RP_COUNTER_TA_FLAT_READ_WAVEFRONTS] + values[RP_COUNTER_TA_BUFFER_READ_WAVEFRONTS];
    const uint64_t stores =
        values[RP_COUNTER_TA_FLAT_WRITE_WAVEFRONTS] + values[RP_COUNTER_TA_BUFFER_WRITE_WAVEFRONTS];
    const uint64_t executed[RP_CACHE_KINDS] = {
        [RP_CACHE_LOAD] = loads,
        [RP_CACHE_STORE] = stores,
        [RP_CACHE_ATOMIC] = values[RP_COUNTER_SQ_INSTS_VMEM_WR] - stores,
        [RP_CACHE_FETCH] = values[RP_COUNTER_SQ_INSTS_VMEM_RD] - loads,
        [RP_CACHE_SCALAR] = values[RP_COUNTER_SQC_DCACHE_REQ],
        [RP_CACHE_LDS] = values[RP_COUNTER_SQ_INSTS_LDS],
    };
    uint64_t writes = 0, replayed_writes = 0;

    for (unsigned k = 0; k < RP_CACHE_KINDS; k++) {
        const uint64_t replayed = r->of[k].insts;
        if (executed[k] && !replayed)
            return -ENODATA;
        f->of[k] = replayed ? (double)executed[k] / (double)replayed : 0;
        if (k == RP_CACHE_STORE || k == RP_CACHE_ATOMIC || k == RP_CACHE_FETCH) {
            writes += executed[k];
            replayed_writes += replayed;
        }
    }
    f->writes = replayed_writes ? (double)writes / (double)replayed_writes : 0;
    return 0;
}

static uint64_t scaled(uint64_t value, double factor)
{
    return (uint64_t)((double)value * factor + 0.5);
}

static void count_requests(const struct rp_cache_result *r, const struct factors *f,
                           uint64_t *values)
{
    static const int lanes[] = {[RP_CACHE_LOAD] = RP_COUNTER_TCP_TOTAL_READ,
                                [RP_CACHE_STORE] = RP_COUNTER_TCP_TOTAL_WRITE,
                                [RP_CACHE_ATOMIC] = RP_COUNTER_TCP_TOTAL_ATOMIC_WITHOUT_RET,
                                [RP_CACHE_FETCH] = RP_COUNTER_TCP_TOTAL_ATOMIC_WITH_RET};
    static const int from_l1[] = {[RP_CACHE_LOAD] = RP_COUNTER_TCP_TCC_READ_REQ,
                                  [RP_CACHE_STORE] = RP_COUNTER_TCP_TCC_WRITE_REQ,
                                  [RP_CACHE_ATOMIC] = RP_COUNTER_TCP_TCC_ATOMIC_WITHOUT_RET_REQ,
                                  [RP_CACHE_FETCH] = RP_COUNTER_TCP_TCC_ATOMIC_WITH_RET_REQ,
                                  [RP_CACHE_SCALAR] = RP_COUNTER_SQC_TC_DATA_READ_REQ};
    static const int in_l2[] = {[RP_CACHE_LOAD] = RP_COUNTER_TCC_READ,
                                [RP_CACHE_STORE] = RP_COUNTER_TCC_WRITE,
                                [RP_CACHE_ATOMIC] = RP_COUNTER_TCC_ATOMIC,
                                [RP_CACHE_FETCH] = RP_COUNTER_TCC_ATOMIC,
                                [RP_CACHE_SCALAR] = RP_COUNTER_TCC_READ};

    for (unsigned k = RP_CACHE_LOAD; k <= RP_CACHE_SCALAR; k++) {
        const struct rp_cache_sums *s = &r->of[k];
        const uint64_t requests = scaled(s->requests, f->of[k]);
        const uint64_t hits = scaled(s->hits, f->of[k]);
        values[from_l1[k]] += requests;
        values[in_l2[k]] += requests;
        values[RP_COUNTER_TCC_REQ] += requests;
        values[RP_COUNTER_TCC_STREAMING_REQ] += scaled(s->streaming, f->of[k]);
        values[RP_COUNTER_TCC_HIT] += hits;
        values[RP_COUNTER_TCC_MISS] += requests - hits;
        values[RP_COUNTER_TCC_EA0_RDREQ_64B] += scaled(s->reads_64, f->of[k]);
        values[RP_COUNTER_TCC_EA0_RDREQ_128B] += scaled(s->reads_128, f->of[k]);
        if (k == RP_CACHE_SCALAR)
            continue;
        values[lanes[k]] += scaled(s->lanes, f->of[k]);
        values[RP_COUNTER_TCP_TOTAL_ACCESSES] += scaled(s->lanes, f->of[k]);
        values[RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES] += scaled(s->lookups, f->of[k]);
        values[RP_COUNTER_TCP_UTCL1_REQUEST] += scaled(s->lookups, f->of[k]);
    }
    values[RP_COUNTER_SQC_DCACHE_MISSES] =
        scaled(r->of[RP_CACHE_SCALAR].scalar_misses, f->of[RP_CACHE_SCALAR]);
}

/* A line gives way to one that is missing. */
static double misses_factor(const struct rp_cache_result *r, const uint64_t *values)
{
    uint64_t misses = 0;

    for (unsigned k = RP_CACHE_LOAD; k <= RP_CACHE_SCALAR; k++)
        misses += r->of[k].misses;
    return misses ? (double)values[RP_COUNTER_TCC_MISS] / (double)misses : 0;
}

/* On gfx950 TCC_BUBBLE stays 0: reads of 128 bytes have a counter of their own. */
static void count_memory(const struct rp_arch *arch, const struct rp_cache_result *r,
                         const struct factors *f, uint64_t *values)
{
    const uint64_t reads_64 = values[RP_COUNTER_TCC_EA0_RDREQ_64B];
    const uint64_t reads_128 = values[RP_COUNTER_TCC_EA0_RDREQ_128B];
    const uint64_t writes_64 = scaled(r->writes_64, f->writes);
    const uint64_t writes_32 = scaled(r->writes_32, f->writes);

    values[RP_COUNTER_TCC_EA0_RDREQ] = reads_64 + reads_128;
    values[RP_COUNTER_TCC_BUBBLE] = arch->gfx_target_version >= 90500 ? 0 : reads_128;
    values[RP_COUNTER_TCC_EA0_WRREQ] = writes_64 + writes_32;
    values[RP_COUNTER_TCC_EA0_WRREQ_64B] = writes_64;
    values[RP_COUNTER_TCC_NORMAL_WRITEBACK] = scaled(r->evicted_lines, f->writes);
    values[RP_COUNTER_TCC_ALL_TC_OP_WB_WRITEBACK] = scaled(r->flushed_lines, f->writes);
    values[RP_COUNTER_TCC_WRITEBACK] =
        values[RP_COUNTER_TCC_NORMAL_WRITEBACK] + values[RP_COUNTER_TCC_ALL_TC_OP_WB_WRITEBACK];
    values[RP_COUNTER_TCC_NORMAL_EVICT] = scaled(r->replaced_lines, misses_factor(r, values));
    values[RP_COUNTER_FETCH_SIZE] = 64 * reads_64 + 128 * reads_128;
    values[RP_COUNTER_WRITE_SIZE] = 64 * writes_64 + 32 * writes_32;
}

int rp_memory_counters(const struct rp_arch *arch, const struct rp_cache_result *replayed,
                       uint64_t *values)
{
    struct factors f;
    int rc = find_factors(replayed, values, &f);

    if (rc < 0)
        return rc;
    count_requests(replayed, &f, values);
    count_memory(arch, replayed, &f, values);
    for (unsigned k = 0; k < RP_CACHE_KINDS; k++) { /* FLAT may be to the LDS, too */
        values[RP_COUNTER_SQ_LDS_IDX_ACTIVE] += scaled(replayed->of[k].lds_clocks, f.of[k]);
        values[RP_COUNTER_SQ_LDS_BANK_CONFLICT] +=
            scaled(replayed->of[k].lds_conflict_clocks, f.of[k]);
        values[RP_COUNTER_SQ_LDS_ATOMIC_RETURN] +=
            scaled(replayed->of[k].lds_return_clocks, f.of[k]);
    }
    return 0;
}
