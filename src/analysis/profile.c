#include "analysis/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

#include <stdlib.h>
#include <string.h>

RP_DEFINE_CLEANUP(struct rp_profile, rp_profile_free)

void *rp_grow(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    size_t wanted;
    void *grown;

    if (count < *capacity)
        return array;
    wanted = *capacity ? *capacity * 2 : 16;
    grown = reallocarray(array, wanted, element_bytes);
    if (grown)
        *capacity = wanted;
    return grown;
}

const char *rp_profile_keep(struct rp_profile_memory *memory, const char *text, size_t len)
{
    char **grown = rp_grow(memory->strings, memory->count, &memory->capacity, sizeof *grown);
    char *copy;

    if (!grown)
        return NULL;
    memory->strings = grown;
    copy = strndup(text, len);
    if (copy)
        grown[memory->count++] = copy;
    return copy;
}

/** Rows of one store and what has been made of them so far. */
struct loaded {
    const struct rp_store *store;
    const struct rp_row_agent *agents;
    const struct rp_row_kernel *kernels;
    struct rp_dispatch_group *groups;
    size_t agent_count, kernel_count, group_count;
    /* Index + 1 into profile->agents / build->identities per row, 0 = not needed yet. */
    size_t *agent_index, *kernel_index;
    struct rp_overlapped overlapped;
    bool built_in;
};

static void loaded_free(struct loaded *l)
{
    free(l->agent_index);
    free(l->kernel_index);
    free(l->groups);
}

static int load(struct rp_store *store, uint32_t number, struct loaded *ret, struct rp_err *err)
{
    int rc = rp_store_agents(store, &ret->agents, &ret->agent_count, err);

    if (rc == 0)
        rc = rp_store_kernels(store, &ret->kernels, &ret->kernel_count, err);
    if (rc == 0)
        rc = rp_profile_read_groups(store, number, &ret->groups, &ret->group_count,
                                    &ret->overlapped, err);
    if (rc < 0)
        return rc;
    ret->agent_index = calloc(ret->agent_count + 1, sizeof *ret->agent_index);
    ret->kernel_index = calloc(ret->kernel_count + 1, sizeof *ret->kernel_index);
    if (!ret->agent_index || !ret->kernel_index)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    ret->store = store;
    ret->built_in = rp_store_metadata(store, "rocm_perf_device") != NULL;
    return 0;
}

/* Ids are unique within one traced process only: a merged database has several of each. */
static int resolve_agent(struct rp_profile_build *build, const struct loaded *l,
                         const struct rp_dispatch_group *group, uint32_t *ret, struct rp_err *err)
{
    int64_t id = group->agent_id;
    const struct rp_row_agent *row = rp_store_find_agent(l->store, group->guid_index, id);
    size_t *known = row ? &l->agent_index[row - l->agents] : NULL;
    int rc;

    if (known && *known) {
        *ret = (uint32_t)(*known - 1);
        return 0;
    }
    rc = rp_profile_agent(build->profile, row, id, ret, err);
    if (rc == 0 && known)
        *known = (size_t)*ret + 1;
    return rc;
}

static int resolve_kernel(struct rp_profile_build *build, const struct loaded *l,
                          const struct rp_dispatch_group *group, size_t *ret, struct rp_err *err)
{
    int64_t id = group->kernel_id;
    const struct rp_row_kernel *row = rp_store_find_kernel(l->store, group->guid_index, id);
    size_t *known = row ? &l->kernel_index[row - l->kernels] : NULL;
    int rc;

    if (known && *known) {
        *ret = *known - 1;
        return 0;
    }
    rc = rp_profile_identity(build, row, id, ret, err);
    if (rc == 0 && known)
        *known = *ret + 1;
    return rc;
}

static int resolve(struct rp_profile_build *build, const struct loaded *l, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    struct rp_dispatch_group *grown =
        reallocarray(build->groups, build->group_count + l->group_count + 1, sizeof *grown);

    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    build->groups = grown;
    for (size_t i = 0; i < l->group_count; i++) {
        struct rp_dispatch_group *group = &build->groups[build->group_count];
        int rc;

        *group = l->groups[i];
        group->counts_are_whole = l->built_in;
        rc = resolve_agent(build, l, group, &group->agent, err);
        if (rc == 0)
            rc = resolve_kernel(build, l, group, &group->identity, err);
        if (rc < 0)
            return rc;
        build->group_count++;
        profile->dispatches += group->count;
        if (!build->identities[group->identity].symbol_known)
            profile->unknown_kernels += group->count;
        profile->repaired_timestamps += group->count - group->timed_count;
    }
    return 0;
}

static int analyse(struct rp_profile_build *build, struct rp_err *err)
{
    int rc = rp_profile_sort_agents(build, err);

    if (rc == 0)
        rc = rp_profile_mend_gfx950(build, err);
    if (rc == 0)
        rc = rp_profile_rank(build, err);
    if (rc == 0)
        rc = rp_profile_group(build, err);
    return rc;
}

static int build_from(struct rp_profile_build *build, struct rp_store *const *stores, size_t count,
                      struct loaded *loaded, struct rp_err *err)
{
    struct rp_losses losses = {0};
    const struct rp_corrected_end *ends;
    size_t end_count;

    for (size_t i = 0; i < count; i++) {
        int rc = load(stores[i], (uint32_t)i, &loaded[i], err);

        if (rc == 0)
            rc = resolve(build, &loaded[i], err);
        if (rc < 0)
            return rc;
        build->profile->overlapped.dispatches += loaded[i].overlapped.dispatches;
        build->profile->overlapped.ns += loaded[i].overlapped.ns;
        if (rp_store_corrected_ends(stores[i], &ends, &end_count))
            build->profile->clipped_ends += end_count;
        rp_losses_add(&losses, stores[i]);
    }
    build->profile->complete = rp_losses_none(&losses);
    int rc = rp_profile_timing(build->profile, stores, count, err);
    if (rc == 0)
        rc = rp_profile_launches(build->profile, stores, count, err);
    return rc < 0 ? rc : analyse(build, err);
}

int rp_profile_compute(struct rp_store *const *stores, size_t base_count, const double *runtime_ms,
                       size_t runs, struct rp_profile **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_profile_free) struct rp_profile *profile = calloc(1, sizeof *profile);
    struct rp_profile_build build = {.profile = profile};
    rp_autofree struct loaded *loaded = calloc(base_count + 1, sizeof *loaded);
    int rc;

    if (!profile || !loaded)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    profile->memory = calloc(1, sizeof *profile->memory);
    if (!profile->memory)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = build_from(&build, stores, base_count, loaded, err);
    for (size_t i = 0; i < base_count; i++)
        loaded_free(&loaded[i]);
    free(build.identities);
    free(build.groups);
    if (rc < 0)
        return rc;
    rp_stability_compute(runtime_ms, runs, &profile->stability);
    *ret = rp_steal(profile);
    return 0;
}

void rp_profile_free(struct rp_profile *profile)
{
    if (!profile)
        return;
    if (profile->memory) {
        for (size_t i = 0; i < profile->memory->count; i++)
            free(profile->memory->strings[i]);
        free(profile->memory->strings);
    }
    free(profile->memory);
    free(profile->agents);
    free(profile->launches.list);
    free(profile->kernels);
    free(profile);
}
