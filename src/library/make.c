#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "library/life.h"
#include "library/parts.h"
#include "rocm-perf/analysis.h"
#include "rocm-perf/counters.h"
#include "rocm-perf/store.h"
#include "store/gzip.h"

/* Counters of one dispatch, the first that has any; of a CSV trace, those of the file beside it. */
struct counted {
    const struct rp_row_counter *rows;
    struct rp_counters *csv;
    size_t count;
    bool has_kernels;
};

/* Passes of rocprofv3 leave a trace of kernels beside what each of them counted. */
static int counted_beside(const char *prefix, struct counted *ret, struct rp_err *err)
{
    rp_autofree char *name = rp_format("%scounter_collection.csv", prefix);
    rp_autofree char *path = name ? rp_plain_find(name) : NULL;
    int rc;

    if (!name)
        return rp_out_of_memory(err);
    rc = path ? rp_counters_open(path, &ret->csv, err) : 0;
    ret->count = rc == 0 && path ? ret->csv->name_count : 0;
    return rc;
}

static const char *name_of(const struct counted *c, size_t i)
{
    return c->csv ? c->csv->names[i] : c->rows[i].name;
}

static int first_counted(struct rp_store *store, struct counted *ret, struct rp_err *err)
{
    size_t count, n = 0;
    int rc = rp_store_counters(store, &ret->rows, &count, err);

    if (rc < 0)
        return rc;
    while (n < count && ret->rows[n].guid_index == ret->rows[0].guid_index &&
           ret->rows[n].event_id == ret->rows[0].event_id)
        n++;
    ret->count = n;
    return 0;
}

static bool same_counters(const struct counted *a, const struct counted *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(name_of(a, i), name_of(b, i)) != 0)
            return false;
    return true;
}

static int one_is_enough(void *ctx, const void *row, struct rp_err *err)
{
    (void)row;
    *(bool *)ctx = true;
    return rp_fail(err, RP_BAD_INPUT, "one is enough");
}

static int find_kernels(struct rp_store *store, bool *ret, struct rp_err *err)
{
    int rc = rp_store_each_launch(store, one_is_enough, ret, err);

    if (*ret)
        *err = (struct rp_err)RP_ERR_INIT;
    return *ret ? 0 : rc;
}

static int look_at(const struct rp_inputs *in, struct counted *counted, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < in->store_count && rc == 0; i++) {
        const char *prefix = in->csv_prefixes ? in->csv_prefixes[i] : NULL;

        rc = prefix ? counted_beside(prefix, &counted[i], err)
                    : first_counted(in->stores[i], &counted[i], err);
        if (rc == 0)
            rc = find_kernels(in->stores[i], &counted[i].has_kernels, err);
    }
    return rc;
}

static bool in_one_folder(const char *a, const char *b)
{
    const char *a_slash = strrchr(a, '/'), *b_slash = strrchr(b, '/');
    const size_t a_length = a_slash ? (size_t)(a_slash - a) : 0;
    const size_t b_length = b_slash ? (size_t)(b_slash - b) : 0;

    return a_length == b_length && !a_slash == !b_slash && strncmp(a, b, a_length) == 0;
}

/* A process without kernels has no counters that would say to which run it belongs: it ran while
 * the others did, or lies beside one of them where its times are not known. */
static int ran_beside(const struct rp_inputs *in, size_t idle, const bool *of_run, bool *ret,
                      struct rp_err *err)
{
    struct rp_life life, other;
    int rc = rp_life_of(in->stores[idle], &life, err);

    for (size_t i = 0; i < in->store_count && rc == 0 && !*ret; i++) {
        if (!of_run[i])
            continue;
        rc = rp_life_of(in->stores[i], &other, err);
        if (rc == 0)
            *ret = life.end_ns && other.end_ns && rp_lives_on_one_machine(&life, &other)
                       ? !rp_lives_apart(&life, &other)
                       : in_one_folder(life.path, other.path);
    }
    return rc;
}

/* The first that has kernels; of those, the first without counters. */
static size_t first_of_run(const struct counted *counted, size_t count)
{
    size_t first = count, plain = count;

    for (size_t i = count; i-- > 0;)
        if (counted[i].has_kernels) {
            first = i;
            plain = counted[i].count == 0 ? i : plain;
        }
    return plain < count ? plain : first;
}

static bool is_any_counted(const struct counted *counted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (counted[i].count)
            return true;
    return false;
}

static int choose(const struct rp_inputs *in, struct counted *counted, bool *of_run,
                  struct rp_err *err)
{
    int rc = in->store_count > 1 ? look_at(in, counted, err) : 0;
    const size_t first = first_of_run(counted, in->store_count);
    const bool has_passes = is_any_counted(counted, in->store_count);

    for (size_t i = 0; i < in->store_count; i++)
        of_run[i] = first == in->store_count ||
                    ((counted[i].has_kernels || !has_passes) &&
                     same_counters(&counted[i], &counted[first]) &&
                     !rp_counters_of_two_passes(rp_store_path(in->stores[i]),
                                                rp_store_path(in->stores[first])));
    if (first == in->store_count)
        return rc;
    for (size_t i = 0; i < in->store_count && rc == 0; i++)
        if (!counted[i].has_kernels && has_passes) {
            bool beside = false;

            rc = ran_beside(in, i, of_run, &beside, err);
            of_run[i] = beside;
        }
    return rc;
}

int rp_inputs_choose_run(const struct rp_inputs *in, struct rp_store **ret, size_t *ret_count,
                         struct rp_err *err)
{
    struct counted *counted = calloc(in->store_count + 1, sizeof *counted);
    rp_autofree bool *of_run = calloc(in->store_count + 1, sizeof *of_run);
    int rc = counted && of_run ? choose(in, counted, of_run, err) : rp_out_of_memory(err);

    *ret_count = 0;
    for (size_t i = 0; i < in->store_count && rc == 0; i++)
        if (of_run[i])
            ret[(*ret_count)++] = in->stores[i];
    for (size_t i = 0; counted && i < in->store_count; i++)
        rp_counters_free(counted[i].csv);
    free(counted);
    return rc;
}

int rp_make_dag(const struct rp_inputs *in, bool full, struct rp_dag_result *ret,
                struct rp_err *err)
{
    rp_autofree struct rp_store **run = malloc((in->store_count + 1) * sizeof *run);
    size_t count = 0;
    int rc = run ? rp_inputs_choose_run(in, run, &count, err)
                 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc == 0)
        rc = rp_dag_analyze(run, count, full, &in->work, ret, err);
    if (rc == 0 && count < in->store_count)
        rp_note(&in->notes,
                "%zu of %zu traces are of further runs for counters: only their counters are used",
                in->store_count - count, in->store_count);
    return rc;
}

int rp_make_roofline(const struct rp_inputs *in, const struct rp_roofline_options *options,
                     struct rp_roofline *ret, struct rp_err *err)
{
    struct rp_roofline_options completed = *options;
    int rc;

    completed.origin = rp_origin_of(in->stores, in->store_count);
    rc = rp_roofline_compute(in->counters, &completed, ret, err);
    for (size_t i = 0; rc == 0 && i < ret->device_count; i++)
        if (ret->devices[i].overruled[0])
            rp_note(&in->notes,
                    "--arch %s is used for GPU %lld although the files say %s: leave it out"
                    " unless they are wrong",
                    options->arch, (long long)ret->devices[i].id, ret->devices[i].overruled);
    return rc;
}

void rp_ranking_free(struct rp_ranking *ranking)
{
    rp_bottlenecks_free(&ranking->found);
    rp_profile_free(ranking->profile);
}

int rp_make_ranking(const struct rp_inputs *in, const struct rp_ranking_from *from,
                    struct rp_ranking *ret, struct rp_err *err)
{
    struct rp_bottleneck_inputs inputs = {.dag = from->dag,
                                          .roofline = from->roofline,
                                          .counters = in->counters,
                                          .stats = in->stats,
                                          .traces = &in->waves,
                                          .arch = from->arch,
                                          .origin = rp_origin_of(in->stores, in->store_count)};
    const double no_runtime_ms = 0; /* stability is not asked for */
    int rc = 0;

    if (in->store_count)
        rc = rp_profile_compute(in->stores, in->store_count, &no_runtime_ms, 1, &ret->profile, err);
    inputs.profile = ret->profile;
    return rc < 0 ? rc : rp_bottlenecks_find(&inputs, &ret->found, err);
}
