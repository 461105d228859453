/* Groups the dispatches of a trace by kernel, and finds the same kernels in further runs of the
 * program. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/records.h"
#include "trace/rocpd.h"

/* Runs that use other GPUs number them in another way. */
static int64_t gpu_of(const struct rp_profile *p, const struct rp_kernel_summary *k)
{
    return k->agent < p->agent_count ? p->agents[k->agent].trace_id : -1 - (int64_t)k->agent;
}

/* Distinguishes kernels as rp_profile_compute does: by name, symbol and registers. GPUs are
 * compared before. */
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
    /* Runs of a program mostly have their kernels in the same order, so the next one is tried
     * first. */
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

/* --- kernels that the base run did not launch ---------------------------------------------- */

static uint32_t agent_in(const struct rp_profile *base, int64_t gpu)
{
    for (size_t i = 0; i < base->agent_count; i++)
        if (base->agents[i].trace_id == gpu)
            return (uint32_t)i;
    return (uint32_t)base->agent_count;
}

/* Adds a kernel that was not seen before, with the times of each run. */
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

/* Compares the most frequent launch and how many kinds there are; runs do not record more. */
static bool has_same_launch(const struct rp_kernel_summary *a, const struct rp_kernel_summary *b)
{
    return a->geometries == b->geometries && memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 &&
           a->resources.lds_bytes == b->resources.lds_bytes &&
           a->resources.scratch_bytes == b->resources.scratch_bytes;
}

/* @return whether it differs; < 0: memory has ended */
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

/* Adds kernels that only further runs launched, none of which belongs to the base run. */
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

/* Finds the first name that is not below the key, or, with @p after 1, the first above it. */
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

/** Holds simulations of one trace, by dispatch. */
struct rp_simulations {
    struct rp_row_simulation *rows;
    size_t count, capacity;
};

/** Holds dispatches of one trace with their times. */
struct rp_overlaps {
    struct rp_overlaps_row {
        int64_t agent_id, start_ns, end_ns;
        uint32_t guid_index;
    } * rows;
    size_t count, capacity;
};

bool rp_dispatch_duration_ns(const struct rp_store *store, const struct rp_row_dispatch *row,
                             uint64_t *ret_ns)
{
    const struct rp_corrected_end *end;

    if (row->start_ns <= 0 || row->end_ns < row->start_ns)
        return false;
    end = rp_store_find_corrected_end(store, row->guid_index, row->id);
    *ret_ns = (uint64_t)(end ? end->took_ns : row->end_ns - row->start_ns);
    return true;
}

uint32_t rp_column_u32(int64_t value)
{
    if (value < 0)
        return 0;
    return value > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

int rp_refuse_sum(const struct rp_store *store, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "%s%sthe times of the kernels add up to more than 584 years: they are damaged. "
                   "Record the program again",
                   store ? rp_store_path(store) : "", store ? ": " : "");
}

struct sum {
    const struct rp_store *store;
    uint64_t total_ns, count, bad;
};

static int dispatch_groups_add(void *ctx, const void *row, struct rp_err *err)
{
    struct sum *sum = ctx;
    uint64_t ns;

    sum->count++;
    if (!rp_dispatch_duration_ns(sum->store, row, &ns))
        sum->bad++;
    else if (__builtin_add_overflow(sum->total_ns, ns, &sum->total_ns))
        return rp_refuse_sum(sum->store, err);
    return 0;
}

int rp_store_runtime_ns(struct rp_store *store, uint64_t *ret_total_ns, uint64_t *ret_dispatches,
                        uint64_t *ret_bad, struct rp_err *err)
{
    struct sum sum = {.store = store};
    int rc = rp_store_each_work(store, dispatch_groups_add, &sum, err);

    if (rc < 0)
        return rc;
    *ret_total_ns = sum.total_ns;
    *ret_dispatches = sum.count;
    *ret_bad = sum.bad;
    return 0;
}

/* This section says how the software device found its times. */

void rp_simulated_timing_add(struct rp_simulated_timing *sum, uint64_t *sum_ns,
                             const struct rp_simulated_timing *more, uint64_t ns)
{
    sum->bounded_calls += more->bounded_calls;
    sum->shortest_ns += more->shortest_ns;
    sum->longest_ns += more->longest_ns;
    if (!more->calls)
        return;
    const double all_ns = (double)*sum_ns + (double)ns;
    if (!sum->calls)
        sum->error_share = more->error_share;
    else if (all_ns > 0)
        sum->error_share =
            (sum->error_share * (double)*sum_ns + more->error_share * (double)ns) / all_ns;
    sum->fast_clocks_known = more->fast_clocks_known && (!sum->calls || sum->fast_clocks_known);
    sum->fast_clock_waves += more->fast_clock_waves;
    sum->calls += more->calls;
    sum->waves += more->waves;
    sum->replayed_waves += more->replayed_waves;
    *sum_ns += ns;
}

static int replays_take(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_simulation *replay = row;
    struct rp_simulations *r = ctx;
    struct rp_row_simulation *grown;

    if (replay->waves < replay->replayed_waves || replay->replayed_waves < 0 ||
        replay->waves > UINT32_MAX * 4096ll || replay->fast_clock_waves > replay->waves ||
        !(replay->error_share >= 0) || replay->shortest_ns > replay->longest_ns)
        return rp_fail(err, RP_BAD_INPUT, "the replay of dispatch %lld says what cannot be",
                       (long long)replay->id);
    grown = rp_grow(r->rows, r->count, &r->capacity, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    r->rows = grown;
    grown[r->count++] = *replay;
    return 0;
}

static int by_dispatch(const void *a, const void *b)
{
    const struct rp_row_simulation *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/** The caller frees the rows. */
static int simulations_read(struct rp_store *store, struct rp_simulations *ret, struct rp_err *err)
{
    struct rp_simulations r = {0};
    int rc = rp_store_each_simulation(store, replays_take, &r, err);

    if (rc < 0) {
        free(r.rows);
        return rc;
    }
    if (r.count)
        qsort(r.rows, r.count, sizeof *r.rows, by_dispatch);
    *ret = r;
    return 0;
}

/** Returns the simulation of a dispatch, or its bounds; calls is 0 when there is none. */
static struct rp_simulated_timing simulation_of(const struct rp_simulations *r,
                                                const struct rp_row_dispatch *row)
{
    const struct rp_row_simulation key = {.id = row->id, .guid_index = row->guid_index};
    const struct rp_row_simulation *found =
        r->count ? bsearch(&key, r->rows, r->count, sizeof *r->rows, by_dispatch) : NULL;

    if (found && !found->replayed_waves && found->longest_ns > 0)
        return (struct rp_simulated_timing){.bounded_calls = 1,
                                            .shortest_ns = (double)found->shortest_ns,
                                            .longest_ns = (double)found->longest_ns};
    return !found ? (struct rp_simulated_timing){0}
                  : (struct rp_simulated_timing){
                        .calls = 1,
                        .waves = (uint64_t)found->waves,
                        .replayed_waves = (uint64_t)found->replayed_waves,
                        .error_share = found->error_share,
                        .fast_clocks_known = found->fast_clock_waves >= 0,
                        .fast_clock_waves =
                            found->fast_clock_waves > 0 ? (uint64_t)found->fast_clock_waves : 0,
                    };
}

/* Returns a value of the traces' metadata, by today's name where it is a model of time. */
static const char *metadata_of(struct rp_store *store, const char *tag)
{
    const char *said = rp_store_metadata(store, tag);

    return strcmp(tag, RP_STORE_TIMING_TAG) == 0 ? rp_timing_model_today(said) : said;
}

static bool replays_is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int rp_profile_timing(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                      struct rp_err *err)
{
    const char *model = count ? metadata_of(stores[0], RP_STORE_TIMING_TAG) : NULL;
    const char *version = count ? rp_store_metadata(stores[0], RP_STORE_TIMING_VERSION_TAG) : NULL;

    for (size_t i = 1; i < count; i++)
        if (!replays_is_same(metadata_of(stores[i], RP_STORE_TIMING_TAG), model) ||
            !replays_is_same(rp_store_metadata(stores[i], RP_STORE_TIMING_VERSION_TAG), version))
            return rp_fail(err, RP_BAD_INPUT,
                           "the traces are of several models of time, and do not compare");
    if (!model)
        return 0;
    profile->timing_model = rp_profile_keep(profile->memory, model, strlen(model));
    profile->timing_version = version ? (uint32_t)strtoul(version, NULL, 10) : 0;
    return profile->timing_model ? 0 : rp_out_of_memory(err);
}

/* This section finds which dispatches ran at the same time on one device. */

/** @return false: memory has ended; the caller frees the rows */
static bool overlaps_add(struct rp_overlaps *o, const struct rp_row_dispatch *row)
{
    struct rp_overlaps_row *grown = rp_grow(o->rows, o->count, &o->capacity, sizeof *grown);

    if (!grown)
        return false;
    o->rows = grown;
    grown[o->count++] = (struct rp_overlaps_row){
        .agent_id = row->agent_id,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
        .guid_index = row->guid_index,
    };
    return true;
}

static bool is_same_device(const struct rp_overlaps_row *a, const struct rp_overlaps_row *b)
{
    return a->guid_index == b->guid_index && a->agent_id == b->agent_id;
}

static int by_device_and_start(const void *a, const void *b)
{
    const struct rp_overlaps_row *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    if (x->agent_id != y->agent_id)
        return x->agent_id < y->agent_id ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Looks at one device: a dispatch overlaps if it starts before the latest end of those before it,
 * or ends after the next one's start. */
static int add_device(const struct rp_overlaps_row *rows, size_t count, struct rp_overlapped *sum,
                      struct rp_err *err)
{
    /* latest_ns is an end of all, and counted_ns one of those that have been added. */
    int64_t latest_ns = INT64_MIN, counted_ns = INT64_MIN;

    for (size_t i = 0; i < count; i++) {
        const struct rp_overlaps_row *row = &rows[i];
        const bool with_earlier = row->start_ns < latest_ns;
        const bool with_later = i + 1 < count && rows[i + 1].start_ns < row->end_ns;
        const int64_t until_ns = row->end_ns < latest_ns ? row->end_ns : latest_ns;
        const int64_t from_ns = row->start_ns > counted_ns ? row->start_ns : counted_ns;

        sum->dispatches += with_earlier || with_later;
        if (until_ns > from_ns) {
            if (__builtin_add_overflow(sum->ns, (uint64_t)until_ns - (uint64_t)from_ns, &sum->ns))
                return rp_refuse_sum(NULL, err);
            counted_ns = until_ns;
        }
        if (row->end_ns > latest_ns)
            latest_ns = row->end_ns;
    }
    return 0;
}

/* A dispatch that takes no time overlaps nothing. */
static size_t leave_out_empty(struct rp_overlaps_row *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (rows[i].end_ns > rows[i].start_ns)
            rows[kept++] = rows[i];
    return kept;
}

/** Adds to *@p sum, and sorts the rows. */
static int overlaps_sum(struct rp_overlaps *o, struct rp_overlapped *sum, struct rp_err *err)
{
    o->count = leave_out_empty(o->rows, o->count);
    if (o->count)
        qsort(o->rows, o->count, sizeof *o->rows, by_device_and_start);
    for (size_t first = 0, next; first < o->count; first = next) {
        int rc;

        for (next = first + 1; next < o->count; next++)
            if (!is_same_device(&o->rows[first], &o->rows[next]))
                break;
        rc = add_device(&o->rows[first], next - first, sum, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Groups are found by what their dispatches have in common. */
struct reading {
    const struct rp_store *from;
    struct rp_dispatch_group *groups;
    size_t count, capacity;
    uint32_t *slots; /**< index of a group + 1, hashed; 0 = free */
    size_t slot_count;
    uint32_t store;
    struct rp_simulations replays;
    struct rp_overlaps overlaps;
    struct rp_gpu_span span;
    bool is_modelled;
};

int rp_profile_by_first(const struct rp_dispatch_group *a, const struct rp_dispatch_group *b)
{
    if (a->store != b->store)
        return a->store < b->store ? -1 : 1;
    if (a->first_start_ns != b->first_start_ns)
        return a->first_start_ns < b->first_start_ns ? -1 : 1;
    if (a->guid_index != b->guid_index)
        return a->guid_index < b->guid_index ? -1 : 1;
    return (a->first_id > b->first_id) - (a->first_id < b->first_id);
}

static int by_first(const void *a, const void *b)
{
    return rp_profile_by_first(a, b);
}

static uint64_t mix(uint64_t hash, int64_t number)
{
    hash = (hash ^ (uint64_t)number) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct rp_dispatch_group *group)
{
    uint64_t hash = mix(mix(group->guid_index, group->agent_id), group->kernel_id);

    for (size_t i = 0; i < RP_GEOMETRY_COLUMNS; i++)
        hash = mix(hash, group->geometry[i]);
    return hash;
}

static bool dispatch_groups_is_same(const struct rp_dispatch_group *a,
                                    const struct rp_dispatch_group *b)
{
    return a->kernel_id == b->kernel_id && a->agent_id == b->agent_id &&
           a->guid_index == b->guid_index &&
           memcmp(a->geometry, b->geometry, sizeof a->geometry) == 0;
}

static uint32_t *slot_of(const struct reading *r, const struct rp_dispatch_group *group)
{
    size_t at = (size_t)hash_of(group) & (r->slot_count - 1);

    while (r->slots[at] && !dispatch_groups_is_same(&r->groups[r->slots[at] - 1], group))
        at = (at + 1) & (r->slot_count - 1);
    return &r->slots[at];
}

static bool grow_slots(struct reading *r)
{
    size_t count = r->slot_count ? r->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof *slots);

    if (!slots || r->count >= UINT32_MAX) {
        free(slots);
        return false;
    }
    free(r->slots);
    r->slots = slots;
    r->slot_count = count;
    for (size_t i = 0; i < r->count; i++)
        *slot_of(r, &r->groups[i]) = (uint32_t)i + 1;
    return true;
}

/* Returns the dispatch's group, which is made with its first one. It returns NULL when memory has
 * ended. */
static struct rp_dispatch_group *group_of(struct reading *r, const struct rp_row_dispatch *row)
{
    struct rp_dispatch_group group = {
        .agent_id = row->agent_id,
        .kernel_id = row->kernel_id,
        .geometry = {row->grid[0], row->grid[1], row->grid[2], row->workgroup[0], row->workgroup[1],
                     row->workgroup[2], row->group_bytes, row->private_bytes},
        .first_start_ns = row->start_ns,
        .first_id = row->id,
        .guid_index = row->guid_index,
        .store = r->store,
    };
    struct rp_dispatch_group *grown;
    uint32_t *slot;

    if (r->count * 2 >= r->slot_count && !grow_slots(r))
        return NULL;
    slot = slot_of(r, &group);
    if (*slot)
        return &r->groups[*slot - 1];
    grown = rp_grow(r->groups, r->count, &r->capacity, sizeof *grown);
    if (!grown)
        return NULL;
    r->groups = grown;
    grown[r->count++] = group;
    *slot = (uint32_t)r->count;
    return &grown[r->count - 1];
}

static void span_add(struct rp_gpu_span *span, int64_t start_ns, int64_t end_ns)
{
    if (!span->last_ns || start_ns < span->first_ns)
        span->first_ns = start_ns;
    if (end_ns > span->last_ns)
        span->last_ns = end_ns;
}

static int take_copy(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_copy *copy = row;
    struct reading *r = ctx;

    (void)err;
    if (copy->start_ns > 0 && copy->end_ns >= copy->start_ns)
        span_add(&r->span, copy->start_ns, copy->end_ns);
    return 0;
}

static int take(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_dispatch *dispatch = row;
    struct rp_dispatch_group *group = group_of(ctx, dispatch);
    struct reading *r = ctx;
    struct rp_simulated_timing replayed;
    uint64_t ns;

    if (!group)
        return rp_out_of_memory(err);
    if (dispatch->start_ns < group->first_start_ns ||
        (dispatch->start_ns == group->first_start_ns && dispatch->id < group->first_id)) {
        group->first_start_ns = dispatch->start_ns;
        group->first_id = dispatch->id;
    }
    group->count++;
    if (!rp_dispatch_duration_ns(r->from, dispatch, &ns))
        return 0;
    if (__builtin_add_overflow(group->total_ns, ns, &group->total_ns))
        return rp_refuse_sum(r->from, err);
    if (group->timed_count == 0 || ns < group->min_ns)
        group->min_ns = ns;
    if (ns > group->max_ns)
        group->max_ns = ns;
    if (group->timed_count == 0 || dispatch->start_ns + (int64_t)ns > group->last_end_ns)
        group->last_end_ns = dispatch->start_ns + (int64_t)ns;
    group->timed_count++;
    if (r->is_modelled && !overlaps_add(&r->overlaps, dispatch))
        return rp_out_of_memory(err);
    span_add(&r->span, dispatch->start_ns, dispatch->start_ns + (int64_t)ns);
    replayed = simulation_of(&r->replays, dispatch);
    rp_simulated_timing_add(&group->replayed, &group->replayed_ns, &replayed, ns);
    return 0;
}

int rp_profile_read_groups(struct rp_store *store, uint32_t number, struct rp_dispatch_group **ret,
                           size_t *ret_count, struct rp_overlapped *ret_overlapped,
                           struct rp_gpu_span *ret_span, struct rp_err *err)
{
    struct reading r = {.from = store,
                        .store = number,
                        .is_modelled = rp_store_metadata(store, RP_STORE_TIMING_TAG) != NULL};
    struct rp_overlapped overlapped = {0};
    int rc = simulations_read(store, &r.replays, err);

    if (rc == 0)
        rc = rp_store_each_work(store, take, &r, err);
    if (rc == 0)
        rc = rp_store_each_copy(store, take_copy, &r, err);
    if (rc == 0)
        rc = overlaps_sum(&r.overlaps, &overlapped, err);
    free(r.overlaps.rows);
    free(r.replays.rows);
    free(r.slots);
    if (rc < 0) {
        free(r.groups);
        return rc;
    }
    if (r.count)
        qsort(r.groups, r.count, sizeof *r.groups, by_first);
    *ret = r.groups;
    *ret_count = r.count;
    *ret_overlapped = overlapped;
    *ret_span = r.span;
    return 0;
}

/* This section finds the origin of the traces' times. */

static bool origin_is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns the value that all have, or NULL. */
static const char *common(struct rp_store *const *stores, size_t count, const char *tag)
{
    const char *said = count ? metadata_of(stores[0], tag) : NULL;

    for (size_t i = 1; i < count; i++)
        if (!origin_is_same(metadata_of(stores[i], tag), said))
            return NULL;
    return said;
}

uint32_t rp_clock_of(const char *said)
{
    return said ? (uint32_t)strtoul(said, NULL, 10) : 0;
}

struct rp_origin rp_origin_of(struct rp_store *const *stores, size_t count)
{
    const char *version = common(stores, count, RP_STORE_TIMING_VERSION_TAG);
    struct rp_origin ret = {.device = common(stores, count, "rocm_perf_device")};

    for (size_t i = 0; i < count && !ret.device; i++) {
        const char *device = rp_store_metadata(stores[i], "rocm_perf_device");
        if (device && strcmp(device, "software") == 0)
            ret.device = device; /* One modelled time in a sum spoils it. */
    }
    if (version)
        ret.timing_model = common(stores, count, RP_STORE_TIMING_TAG);
    if (ret.timing_model)
        ret.timing_version = (uint32_t)strtoul(version, NULL, 10);
    ret.clock_mhz = rp_clock_of(common(stores, count, RP_STORE_CLOCK_TAG));
    return ret;
}

int rp_extdata_load(const char *text, json_t **ret, struct rp_err *err)
{
    json_error_t error;
    json_t *object = text ? json_loads(text, 0, &error) : NULL;

    if (text && !object) {
        enum json_error_code code = json_error_code(&error);

        /* The parser names every fault of the text. For a failed allocation it reports that, or
         * nothing, or (inside a string) a fault of the text: then only the detail is lost. */
        if (code == json_error_out_of_memory || code == json_error_unknown)
            return rp_out_of_memory(err);
    }
    *ret = object;
    return 0;
}

uint64_t rp_extdata_positive(const json_t *object, const char *key, uint64_t most)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 && (uint64_t)value <= most ? (uint64_t)value : 0;
}

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
