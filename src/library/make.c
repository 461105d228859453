#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
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

static int choose(const struct rp_inputs *in, struct counted *counted, struct rp_store **ret,
                  size_t *ret_count, struct rp_err *err)
{
    size_t first = 0;

    for (size_t i = 0; i < in->store_count && in->store_count > 1; i++) {
        const char *prefix = in->csv_prefixes ? in->csv_prefixes[i] : NULL;
        int rc = prefix ? counted_beside(prefix, &counted[i], err)
                        : first_counted(in->stores[i], &counted[i], err);
        if (rc < 0)
            return rc;
    }
    for (size_t i = in->store_count; i-- > 0;)
        if (counted[i].count == 0)
            first = i;
    *ret_count = 0;
    for (size_t i = 0; i < in->store_count; i++)
        if (same_counters(&counted[i], &counted[first]))
            ret[(*ret_count)++] = in->stores[i];
    return 0;
}

int rp_inputs_choose_run(const struct rp_inputs *in, struct rp_store **ret, size_t *ret_count,
                         struct rp_err *err)
{
    struct counted *counted = calloc(in->store_count + 1, sizeof *counted);
    int rc = counted ? choose(in, counted, ret, ret_count, err) : rp_out_of_memory(err);

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
                "%zu of %zu traces are of further runs that collected other counters: they are"
                " left out of the graph",
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
