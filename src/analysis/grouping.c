#include "analysis/parts.h"

#include "arch/arch.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_geometries(const struct rp_dispatch_group *a, const struct rp_dispatch_group *b)
{
    for (size_t i = 0; i < RP_GEOMETRY_COLUMNS; i++) {
        if (a->geometry[i] != b->geometry[i])
            return a->geometry[i] < b->geometry[i] ? -1 : 1;
    }
    return 0;
}

static int by_kernel_and_geometry(const void *left, const void *right, void *identities)
{
    const struct rp_dispatch_group *a = left, *b = right;
    const struct rp_kernel_identity *ids = identities;
    uint32_t rank_a = ids[a->identity].rank, rank_b = ids[b->identity].rank;
    int order;

    if (a->agent != b->agent)
        return a->agent < b->agent ? -1 : 1;
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    order = compare_geometries(a, b);
    return order ? order : rp_profile_by_first(a, b);
}

static bool same_kernel(const struct rp_profile_build *build, const struct rp_dispatch_group *a,
                        const struct rp_dispatch_group *b)
{
    return a->agent == b->agent &&
           build->identities[a->identity].rank == build->identities[b->identity].rank;
}

static uint32_t work_items(const uint32_t block[3])
{
    uint64_t n = (uint64_t)block[0] * block[1];

    if (n > UINT32_MAX)
        return UINT32_MAX;
    n *= block[2];
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/** Takes grid, block, LDS and scratch from the launches, the registers from the symbol. */
static void set_geometry(const struct rp_profile *profile, const struct rp_kernel_identity *id,
                         const int64_t *geometry, struct rp_kernel_summary *kernel)
{
    const struct rp_agent_summary *agent = &profile->agents[kernel->agent];
    struct rp_kernel_resources *res = &kernel->resources;

    for (int i = 0; i < 3; i++) {
        kernel->grid[i] = geometry[i] > 0 ? (uint64_t)geometry[i] : 0;
        kernel->block[i] = rp_column_u32(geometry[3 + i]);
    }
    *res = (struct rp_kernel_resources){
        .arch_vgpr = id->arch_vgpr,
        .accum_vgpr = id->accum_vgpr,
        .sgpr = id->sgpr,
        .lds_bytes = rp_column_u32(geometry[6]),
        .scratch_bytes = rp_column_u32(geometry[7]),
        .workgroup_size = work_items(kernel->block),
        .wave_size = id->wave_size ? id->wave_size : agent->wave_size,
    };
    if (agent->vgprs_doubled && res->arch_vgpr <= UINT32_MAX / 2)
        res->arch_vgpr *= 2;
    if (id->symbol_known)
        rp_occupancy_compute(agent->arch, res, &kernel->occupancy);
    else
        snprintf(kernel->occupancy.reason, sizeof kernel->occupancy.reason,
                 "the trace has no symbol of this kernel");
}

static int add_times(struct rp_kernel_summary *kernel, const struct rp_dispatch_group *group,
                     uint64_t *replayed_ns, struct rp_err *err)
{
    kernel->calls += group->count;
    rp_replayed_add(&kernel->replayed, replayed_ns, &group->replayed, group->replayed_ns);
    if (group->timed_count == 0)
        return 0;
    if (__builtin_add_overflow(kernel->total_ns, group->total_ns, &kernel->total_ns))
        return rp_refuse_sum(NULL, err);
    if (kernel->timed_calls == 0 || group->min_ns < kernel->min_ns)
        kernel->min_ns = group->min_ns;
    if (group->max_ns > kernel->max_ns)
        kernel->max_ns = group->max_ns;
    kernel->timed_calls += group->timed_count;
    return 0;
}

/** Summarises groups[0..count), all of one kernel, equal geometries side by side. */
static int summarise(const struct rp_profile_build *build, const struct rp_dispatch_group *groups,
                     size_t count, struct rp_kernel_summary *kernel, struct rp_err *err)
{
    const struct rp_kernel_identity *id = &build->identities[groups[0].identity];
    const struct rp_dispatch_group *frequent = groups;
    uint64_t most = 0, calls = 0, replayed_ns = 0;
    size_t first = 0;

    *kernel = (struct rp_kernel_summary){
        .name = id->name,
        .symbol = id->symbol,
        .code_hash = id->code_hash,
        .symbol_known = id->symbol_known,
        .runtime_internal = id->runtime_internal,
        .agent = groups[0].agent,
    };
    for (size_t i = 0; i < count; i++) {
        int rc = add_times(kernel, &groups[i], &replayed_ns, err);

        if (rc < 0)
            return rc;
        calls += groups[i].count;
        if (i + 1 < count && compare_geometries(&groups[i], &groups[i + 1]) == 0)
            continue;
        /* groups[first..i] are one geometry, groups[first] launched before the rest of them. */
        kernel->geometries++;
        if (calls > most || (calls == most && rp_profile_by_first(&groups[first], frequent) < 0)) {
            most = calls;
            frequent = &groups[first];
        }
        first = i + 1;
        calls = 0;
    }
    set_geometry(build->profile, id, frequent->geometry, kernel);
    return 0;
}

static int by_class_time_name(const void *left, const void *right)
{
    const struct rp_kernel_summary *a = left, *b = right;
    int order;

    if (a->runtime_internal != b->runtime_internal)
        return a->runtime_internal ? 1 : -1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    order = strcmp(a->name, b->name);
    if (!order)
        order = (a->agent > b->agent) - (a->agent < b->agent);
    if (!order)
        order = strcmp(a->symbol, b->symbol);
    /* What is left was made apart by its registers, in this order. */
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static int set_totals(struct rp_profile *profile, struct rp_err *err)
{
    for (size_t i = 0; i < profile->kernel_count; i++) {
        const struct rp_kernel_summary *k = &profile->kernels[i];
        uint64_t *total = k->runtime_internal ? &profile->runtime_internal_ns : &profile->user_ns;

        if (__builtin_add_overflow(*total, k->total_ns, total))
            return rp_refuse_sum(NULL, err);
    }
    for (size_t i = 0; i < profile->kernel_count; i++) {
        struct rp_kernel_summary *k = &profile->kernels[i];
        uint64_t total = k->runtime_internal ? profile->runtime_internal_ns : profile->user_ns;

        k->share = total ? (double)k->total_ns / (double)total : 0;
    }
    return 0;
}

int rp_profile_group(struct rp_profile_build *build, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    struct rp_dispatch_group *groups = build->groups;
    size_t capacity = 0;
    uint64_t replayed_ns = 0;

    for (size_t i = 0; i < build->group_count; i++)
        rp_replayed_add(&profile->replayed, &replayed_ns, &groups[i].replayed,
                        groups[i].replayed_ns);
    if (build->group_count) /* without any the array is NULL */
        qsort_r(groups, build->group_count, sizeof *groups, by_kernel_and_geometry,
                build->identities);
    for (size_t first = 0, next; first < build->group_count; first = next) {
        struct rp_kernel_summary *grown =
            rp_grow(profile->kernels, profile->kernel_count, &capacity, sizeof *grown);
        int rc;

        if (!grown)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        profile->kernels = grown;
        for (next = first + 1; next < build->group_count; next++) {
            if (!same_kernel(build, &groups[first], &groups[next]))
                break;
        }
        rc = summarise(build, groups + first, next - first, &grown[profile->kernel_count], err);
        if (rc < 0)
            return rc;
        grown[profile->kernel_count].rank = build->identities[groups[first].identity].rank;
        profile->kernel_count++;
    }
    if (profile->kernel_count)
        qsort(profile->kernels, profile->kernel_count, sizeof *profile->kernels,
              by_class_time_name);
    return set_totals(profile, err);
}
