#include "analysis/parts.h"

#include "arch/arch.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GEOMETRY_COLUMNS = 8 };

/** Grid, block, LDS, scratch: what one launch chose. */
static void geometry_of(const struct rp_row_dispatch *row, int64_t column[GEOMETRY_COLUMNS])
{
    memcpy(column, row->grid, 3 * sizeof *column);
    memcpy(column + 3, row->workgroup, 3 * sizeof *column);
    column[6] = row->group_bytes;
    column[7] = row->private_bytes;
}

static int compare_geometries(const struct rp_row_dispatch *a, const struct rp_row_dispatch *b)
{
    int64_t left[GEOMETRY_COLUMNS], right[GEOMETRY_COLUMNS];

    geometry_of(a, left);
    geometry_of(b, right);
    for (size_t i = 0; i < GEOMETRY_COLUMNS; i++) {
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

static int by_kernel_and_geometry(const void *left, const void *right, void *identities)
{
    const struct rp_dispatch_ref *a = left, *b = right;
    const struct rp_kernel_identity *ids = identities;
    uint32_t rank_a = ids[a->identity].rank, rank_b = ids[b->identity].rank;
    int order;

    if (a->agent != b->agent)
        return a->agent < b->agent ? -1 : 1;
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    order = compare_geometries(a->row, b->row);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static bool same_kernel(const struct rp_profile_build *build, const struct rp_dispatch_ref *a,
                        const struct rp_dispatch_ref *b)
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

/** Takes grid, block, LDS and scratch from one launch, the registers from the symbol. */
static void set_geometry(const struct rp_profile *profile, const struct rp_kernel_identity *id,
                         const struct rp_row_dispatch *row, struct rp_kernel_summary *kernel)
{
    const struct rp_agent_summary *agent = &profile->agents[kernel->agent];
    struct rp_kernel_resources *res = &kernel->resources;

    for (int i = 0; i < 3; i++) {
        kernel->grid[i] = row->grid[i] > 0 ? (uint64_t)row->grid[i] : 0;
        kernel->block[i] = rp_column_u32(row->workgroup[i]);
    }
    *res = (struct rp_kernel_resources){
        .arch_vgpr = id->arch_vgpr,
        .accum_vgpr = id->accum_vgpr,
        .sgpr = id->sgpr,
        .lds_bytes = rp_column_u32(row->group_bytes),
        .scratch_bytes = rp_column_u32(row->private_bytes),
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

static int add_time(struct rp_kernel_summary *kernel, const struct rp_row_dispatch *row,
                    struct rp_err *err)
{
    uint64_t ns;

    kernel->calls++;
    if (!rp_dispatch_duration_ns(row, &ns))
        return 0;
    if (__builtin_add_overflow(kernel->total_ns, ns, &kernel->total_ns))
        return rp_fail(err, RP_BAD_INPUT, "the sum of the dispatch times is not a time");
    if (kernel->timed_calls == 0 || ns < kernel->min_ns)
        kernel->min_ns = ns;
    if (ns > kernel->max_ns)
        kernel->max_ns = ns;
    kernel->timed_calls++;
    return 0;
}

/** Summarises refs[0..count), all of one kernel, equal geometries side by side. */
static int summarise(const struct rp_profile_build *build, const struct rp_dispatch_ref *refs,
                     size_t count, struct rp_kernel_summary *kernel, struct rp_err *err)
{
    const struct rp_kernel_identity *id = &build->identities[refs[0].identity];
    const struct rp_dispatch_ref *frequent = refs;
    size_t most = 0, first = 0;

    *kernel = (struct rp_kernel_summary){
        .name = id->name,
        .symbol = id->symbol,
        .symbol_known = id->symbol_known,
        .runtime_internal = id->runtime_internal,
        .agent = refs[0].agent,
    };
    for (size_t i = 0; i < count; i++) {
        int rc = add_time(kernel, refs[i].row, err);

        if (rc < 0)
            return rc;
        if (i + 1 < count && compare_geometries(refs[i].row, refs[i + 1].row) == 0)
            continue;
        /* refs[first..i] are one geometry, refs[first] launched before the rest of them. */
        kernel->geometries++;
        if (i + 1 - first > most ||
            (i + 1 - first == most && refs[first].order < frequent->order)) {
            most = i + 1 - first;
            frequent = &refs[first];
        }
        first = i + 1;
    }
    set_geometry(build->profile, id, frequent->row, kernel);
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
            return rp_fail(err, RP_BAD_INPUT, "the sum of the dispatch times is not a time");
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
    struct rp_dispatch_ref *refs = build->refs;
    size_t capacity = 0;

    if (build->ref_count) /* without any the array is NULL */
        qsort_r(refs, build->ref_count, sizeof *refs, by_kernel_and_geometry, build->identities);
    for (size_t first = 0, next; first < build->ref_count; first = next) {
        struct rp_kernel_summary *grown =
            rp_grow(profile->kernels, profile->kernel_count, &capacity, sizeof *grown);
        int rc;

        if (!grown)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        profile->kernels = grown;
        for (next = first + 1; next < build->ref_count; next++) {
            if (!same_kernel(build, &refs[first], &refs[next]))
                break;
        }
        rc = summarise(build, refs + first, next - first, &grown[profile->kernel_count], err);
        if (rc < 0)
            return rc;
        grown[profile->kernel_count].rank = build->identities[refs[first].identity].rank;
        profile->kernel_count++;
    }
    if (profile->kernel_count)
        qsort(profile->kernels, profile->kernel_count, sizeof *profile->kernels,
              by_class_time_name);
    return set_totals(profile, err);
}
