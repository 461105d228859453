/* The time of each kernel in further runs of the same program. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

/* Runs that use other GPUs number them in another way. */
static int64_t gpu_of(const struct rp_profile *p, const struct rp_kernel_summary *k)
{
    return k->agent < p->agent_count ? p->agents[k->agent].trace_id : -1 - (int64_t)k->agent;
}

/* As rp_profile_compute makes kernels apart: name, symbol and registers; GPUs are compared before.
 */
static bool is_same(const struct rp_kernel_summary *a, const struct rp_kernel_summary *b)
{
    return a->symbol_known == b->symbol_known && a->runtime_internal == b->runtime_internal &&
           a->resources.arch_vgpr == b->resources.arch_vgpr &&
           a->resources.accum_vgpr == b->resources.accum_vgpr &&
           a->resources.sgpr == b->resources.sgpr && strcmp(a->name, b->name) == 0 &&
           strcmp(a->symbol, b->symbol) == 0;
}

/* @return NULL: the run does not have it */
static const struct rp_kernel_summary *find(const struct rp_profile *run, size_t guess,
                                            const struct rp_kernel_summary *k, int64_t gpu)
{
    /* Runs of a program mostly have their kernels in the same order. */
    for (size_t n = 0; n < run->kernel_count; n++) {
        const struct rp_kernel_summary *other = &run->kernels[(guess + n) % run->kernel_count];

        if (gpu_of(run, other) == gpu && is_same(other, k))
            return other;
    }
    return NULL;
}

static double ms_of(const struct rp_kernel_summary *k)
{
    return k && k->timed_calls ? (double)k->total_ns / 1e6 : NAN;
}

void rp_profile_kernel_ms(const struct rp_profile *base, const struct rp_profile *run,
                          double *ret_ms)
{
    for (size_t i = 0; i < base->kernel_count; i++)
        ret_ms[i] = ms_of(find(run, i, &base->kernels[i], gpu_of(base, &base->kernels[i])));
}

/* --- kernels that the base run did not launch ----------------------------------------------------
 */

static uint32_t agent_in(const struct rp_profile *base, int64_t gpu)
{
    for (size_t i = 0; i < base->agent_count; i++)
        if (base->agents[i].trace_id == gpu)
            return (uint32_t)i;
    return (uint32_t)base->agent_count;
}

/* One that was not seen before, with what each run says of it. */
static int add(const struct rp_profile *base, struct rp_profile *const *repeats, size_t runs,
               size_t first, const struct rp_kernel_summary *k, struct rp_repeat_kernels *to,
               struct rp_err *err)
{
    const int64_t gpu = gpu_of(repeats[first], k);
    struct rp_repeat_kernel *grown = reallocarray(to->list, to->count + 1, sizeof *grown), *added;

    if (!grown)
        return rp_out_of_memory(err);
    to->list = grown;
    added = &grown[to->count];
    *added = (struct rp_repeat_kernel){.summary = *k,
                                       .calls = calloc(runs, sizeof *added->calls),
                                       .ms = calloc(runs, sizeof *added->ms)};
    to->count++;
    if (!added->calls || !added->ms)
        return rp_out_of_memory(err);
    added->summary.agent = agent_in(base, gpu);
    for (size_t run = 0; run < runs; run++) {
        const struct rp_kernel_summary *there =
            run < first ? NULL : find(repeats[run], (size_t)(k - repeats[first]->kernels), k, gpu);

        added->calls[run] = there ? there->calls : 0;
        added->ms[run] = ms_of(there);
        added->total_ms += isnan(added->ms[run]) ? 0 : added->ms[run];
    }
    return 0;
}

/* Neither the base run nor one before @p run has it. */
static bool is_new(const struct rp_profile *base, struct rp_profile *const *repeats, size_t run,
                   size_t at)
{
    const struct rp_kernel_summary *k = &repeats[run]->kernels[at];
    const int64_t gpu = gpu_of(repeats[run], k);

    if (find(base, at, k, gpu))
        return false;
    for (size_t before = 1; before < run; before++)
        if (find(repeats[before], at, k, gpu))
            return false;
    return true;
}

static int by_class_time_name(const void *left, const void *right)
{
    const struct rp_repeat_kernel *a = left, *b = right;
    const struct rp_kernel_summary *x = &a->summary, *y = &b->summary;
    int order;

    if (x->runtime_internal != y->runtime_internal)
        return x->runtime_internal ? 1 : -1;
    if (a->total_ms != b->total_ms)
        return a->total_ms > b->total_ms ? -1 : 1;
    order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->symbol, y->symbol);
    if (order == 0 && x->agent != y->agent)
        order = x->agent < y->agent ? -1 : 1;
    if (order == 0 && x->resources.arch_vgpr != y->resources.arch_vgpr)
        order = x->resources.arch_vgpr < y->resources.arch_vgpr ? -1 : 1;
    return order;
}

int rp_profile_repeat_kernels(const struct rp_profile *base, struct rp_profile *const *repeats,
                              size_t runs, struct rp_repeat_kernels *ret, struct rp_err *err)
{
    struct rp_repeat_kernels found = {0};
    int rc = 0;

    for (size_t run = 1; rc == 0 && run < runs; run++)
        for (size_t i = 0; rc == 0 && i < repeats[run]->kernel_count; i++)
            if (is_new(base, repeats, run, i))
                rc = add(base, repeats, runs, run, &repeats[run]->kernels[i], &found, err);
    if (rc < 0) {
        rp_repeat_kernels_free(&found);
        return rc;
    }
    if (found.count)
        qsort(found.list, found.count, sizeof *found.list, by_class_time_name);
    *ret = found;
    return 0;
}

/* --- kernels that were launched differently ------------------------------------------------ */

/* The most frequent launch and how many kinds there are; runs are not asked for more. */
static bool has_same_launch(const struct rp_kernel_summary *a, const struct rp_kernel_summary *b)
{
    return a->geometries == b->geometries && memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 &&
           a->resources.lds_bytes == b->resources.lds_bytes &&
           a->resources.scratch_bytes == b->resources.scratch_bytes;
}

/* @return whether it differs; < 0: no memory */
static int compare_runs(const struct rp_profile *base, struct rp_profile *const *repeats,
                        size_t runs, size_t at, struct rp_run_difference *ret)
{
    const struct rp_kernel_summary *k = &base->kernels[at];
    bool differs = false;

    *ret = (struct rp_run_difference){.name = k->name,
                                      .symbol = k->symbol,
                                      .agent = k->agent,
                                      .calls = calloc(runs + 1, sizeof *ret->calls)};
    if (!ret->calls)
        return -1;
    ret->calls[0] = k->calls;
    for (size_t run = 1; run < runs; run++) {
        const struct rp_kernel_summary *there = find(repeats[run], at, k, gpu_of(base, k));

        ret->calls[run] = there ? there->calls : 0;
        ret->geometry |= there && !has_same_launch(k, there);
        differs |= ret->calls[run] != k->calls;
    }
    return differs || ret->geometry;
}

/* What only further runs launched: none of it is the base run's. */
static int add_repeat_kernels(const struct rp_profile *base, struct rp_profile *const *repeats,
                              size_t runs, struct rp_run_differences *to, struct rp_err *err)
{
    rp_cleanup(rp_repeat_kernels_free) struct rp_repeat_kernels others = {0};
    struct rp_run_difference *grown;
    int rc = rp_profile_repeat_kernels(base, repeats, runs, &others, err);

    if (rc < 0)
        return rc;
    grown = reallocarray(to->list, to->count + others.count + 1, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    to->list = grown;
    for (size_t i = 0; i < others.count; i++) {
        struct rp_repeat_kernel *k = &others.list[i];

        if (!k->summary.runtime_internal)
            grown[to->count++] = (struct rp_run_difference){.name = k->summary.name,
                                                            .symbol = k->summary.symbol,
                                                            .agent = k->summary.agent,
                                                            .calls = rp_steal(k->calls)};
    }
    return 0;
}

int rp_profile_run_differences(const struct rp_profile *base, struct rp_profile *const *repeats,
                               size_t runs, struct rp_run_differences *ret, struct rp_err *err)
{
    struct rp_run_differences found = {.list = calloc(base->kernel_count + 1, sizeof *found.list)};
    int differs = found.list ? 0 : -1, rc;

    for (size_t run = 1; run < runs; run++)
        found.failed |= repeats[run]->launches.failed != base->launches.failed;
    for (size_t i = 0; differs >= 0 && i < base->kernel_count; i++) {
        struct rp_run_difference *one = &found.list[found.count];

        if (base->kernels[i].runtime_internal)
            continue;
        differs = compare_runs(base, repeats, runs, i, one);
        if (differs > 0)
            found.count++;
        else
            free(rp_steal(one->calls));
    }
    rc = differs < 0 ? rp_out_of_memory(err) : add_repeat_kernels(base, repeats, runs, &found, err);
    if (rc < 0) {
        rp_run_differences_free(&found);
        return rc;
    }
    *ret = found;
    return 0;
}

void rp_run_differences_free(struct rp_run_differences *differences)
{
    for (size_t i = 0; i < differences->count; i++)
        free(differences->list[i].calls);
    free(differences->list);
    *differences = (struct rp_run_differences){0};
}

void rp_repeat_kernels_free(struct rp_repeat_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++) {
        free(kernels->list[i].calls);
        free(kernels->list[i].ms);
    }
    free(kernels->list);
    *kernels = (struct rp_repeat_kernels){0};
}

static struct rp_indexed_name key_of(const char *name, size_t at)
{
    return (struct rp_indexed_name){.name = name, .length = rp_kernel_name_length(name), .at = at};
}

static int compare_names(const struct rp_indexed_name *x, const struct rp_indexed_name *y)
{
    size_t both = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->name, y->name, both);

    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int compare(const void *a, const void *b)
{
    const struct rp_indexed_name *x = a, *y = b;
    int order = compare_names(x, y);

    return order ? order : (x->at > y->at) - (x->at < y->at);
}

bool rp_name_index_make(struct rp_name_index *ret, const void *list, size_t count, rp_name_of name)
{
    struct rp_name_index index = {.list = malloc((count + 1) * sizeof *index.list)};

    if (!index.list)
        return false;
    for (size_t i = 0; i < count; i++)
        if (name(list, i))
            index.list[index.count++] = key_of(name(list, i), i);
    qsort(index.list, index.count, sizeof *index.list, compare);
    *ret = index;
    return true;
}

/* First name that is not below the key, or, with @p after 1, the first above it. */
static size_t first_at(const struct rp_name_index *index, const struct rp_indexed_name *key,
                       int after)
{
    size_t low = 0, high = index->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(&index->list[middle], key) < after)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct rp_indexed_name *rp_name_index_find(const struct rp_name_index *index,
                                                 const char *name, size_t *ret_count)
{
    struct rp_indexed_name key;
    size_t low, end;

    *ret_count = 0;
    if (!name)
        return NULL;
    key = key_of(name, 0);
    low = first_at(index, &key, 0);
    end = first_at(index, &key, 1);
    *ret_count = end - low;
    return end > low ? &index->list[low] : NULL;
}

void rp_name_index_free(struct rp_name_index *index)
{
    free(index->list);
    *index = (struct rp_name_index){0};
}
