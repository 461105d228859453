/* Adds up what each process of a run did. The processes of the software device have a clock each,
 * so that nothing is said of one's time against another's, except how long its kernels took. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

static const char *keep(struct rp_profile *profile, const char *text, struct rp_err *err)
{
    const char *kept = rp_profile_keep(profile->memory, text ? text : "", text ? strlen(text) : 0);

    if (!kept)
        rp_out_of_memory(err);
    return kept;
}

static const char *hostname_of(const struct rp_row_node *nodes, size_t count, uint32_t guid_index)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].guid_index == guid_index || count == 1)
            return nodes[i].hostname;
    return NULL;
}

static int describe(struct rp_profile *profile, struct rp_store *store, uint32_t guid_index,
                    struct rp_process_summary *ret, struct rp_err *err)
{
    const struct rp_row_process *rows;
    const struct rp_row_node *nodes;
    json_t *environment = NULL;
    size_t count, node_count;
    int rc = rp_store_processes(store, &rows, &count, err);

    if (rc == 0)
        rc = rp_store_nodes(store, &nodes, &node_count, err);
    if (rc < 0)
        return rc;
    ret->hostname = keep(profile, hostname_of(nodes, node_count, guid_index), err);
    ret->command = "";
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (rows[i].guid_index != guid_index)
            continue;
        ret->pid = rows[i].pid;
        ret->command = keep(profile, rows[i].command, err);
        rc = rp_extdata_load(rows[i].environment, &environment, err);
        ret->rank_known = rp_environment_rank(environment, &ret->rank);
        json_decref(environment);
        break;
    }
    return rc < 0 ? rc : ret->hostname && ret->command ? 0 : -(int)RP_ENVIRONMENT;
}

/* Groups of one kernel differ in GPU or geometry: their times are added up before the longest is
 * found.
 * @param sums of each kernel, all 0, as they are afterwards */
static void add_up(const struct rp_dispatch_group *groups, size_t count, uint64_t *sums,
                   struct rp_process_summary *ret)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

    for (size_t i = 0; i < count; i++) {
        const struct rp_dispatch_group *g = &groups[i];

        ret->dispatches += g->count;
        ret->total_ns += g->total_ns;
        sums[g->identity] += g->total_ns;
        if (!g->timed_count)
            continue;
        first_ns = g->first_start_ns < first_ns ? g->first_start_ns : first_ns;
        last_ns = g->last_end_ns > last_ns ? g->last_end_ns : last_ns;
        if (!ret->kernel || sums[g->identity] > ret->kernel_ns) {
            ret->kernel = g->name;
            ret->kernel_ns = sums[g->identity];
        }
    }
    for (size_t i = 0; i < count; i++)
        sums[groups[i].identity] = 0;
    ret->span_ns = last_ns > first_ns ? (uint64_t)(last_ns - first_ns) : 0;
}

static int by_rank(const void *left, const void *right)
{
    const struct rp_process_summary *a = left, *b = right;

    if (a->rank_known != b->rank_known)
        return a->rank_known ? -1 : 1;
    if (a->rank_known && a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (strcmp(a->hostname, b->hostname) != 0)
        return strcmp(a->hostname, b->hostname);
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* The groups of a trace stand together, those of its processes need not. */
static int add_store(struct rp_profile *profile, struct rp_store *store,
                     struct rp_dispatch_group *groups, size_t group_count, uint64_t *sums,
                     struct rp_err *err)
{
    const uint32_t guids = rp_store_guid_count(store);
    struct rp_losses losses = {0};
    struct rp_process_summary *grown =
        reallocarray(profile->processes, profile->process_count + guids + 1, sizeof *grown);
    size_t at = 0;

    if (!grown)
        return rp_out_of_memory(err);
    profile->processes = grown;
    rp_losses_add(&losses, store);
    for (uint32_t guid = 0; guid < guids; guid++) {
        struct rp_process_summary *process = &grown[profile->process_count];
        const size_t begin = at;
        int rc;

        *process = (struct rp_process_summary){.complete = rp_losses_none(&losses),
                                               .order = profile->process_count};
        rc = describe(profile, store, guid, process, err);
        if (rc < 0)
            return rc;
        while (at < group_count && groups[at].guid_index == guid)
            at++;
        add_up(groups + begin, at - begin, sums, process);
        profile->process_count++;
    }
    return 0;
}

static int by_process(const void *left, const void *right)
{
    const struct rp_dispatch_group *a = left, *b = right;

    return a->guid_index != b->guid_index ? (a->guid_index > b->guid_index ? 1 : -1)
                                          : rp_profile_by_first(a, b);
}

static int add_recording(struct rp_profile *profile, const struct rp_store *store,
                         struct rp_err *err)
{
    const char *part = rp_store_metadata(store, RP_STORE_PART_TAG);

    if (part && !profile->part)
        profile->part = keep(profile, part, err);
    return part && !profile->part ? -(int)RP_ENVIRONMENT : 0;
}

/* Sorts the groups of a trace by process, and returns how many there are. */
static size_t take_groups(struct rp_dispatch_group *groups, size_t count, uint32_t store)
{
    size_t n = 0;

    while (n < count && groups[n].store == store)
        n++;
    if (n > 1)
        qsort(groups, n, sizeof *groups, by_process);
    return n;
}

int rp_profile_processes(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                         struct rp_dispatch_group *groups, size_t group_count,
                         size_t identity_count, struct rp_err *err)
{
    rp_autofree uint64_t *sums = calloc(identity_count + 1, sizeof *sums);
    bool software = false;
    size_t at = 0;

    if (!sums)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *device = rp_store_metadata(stores[i], "rocm_perf_device");
        const size_t n = take_groups(groups + at, group_count - at, (uint32_t)i);
        int rc = add_store(profile, stores[i], groups + at, n, sums, err);

        if (rc == 0)
            rc = add_recording(profile, stores[i], err);
        if (rc < 0)
            return rc;
        at += n;
        software |= device && strcmp(device, "software") == 0;
    }
    profile->own_clocks = software && profile->process_count > 1;
    if (profile->process_count > 1)
        qsort(profile->processes, profile->process_count, sizeof *profile->processes, by_rank);
    return 0;
}
