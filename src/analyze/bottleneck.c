#include "analyze/bottleneck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck_steps.h"
#include "analyze/dag.h"
#include "analyze/dag_graph.h"
#include "analyze/profile.h"
#include "analyze/thread_trace.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/counter_set.h"
#include "trace/csv_read.h"
#include "trace/rocpd.h"

static const char *name_in_profile(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].name;
}

static const char *symbol_in_profile(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].symbol;
}

static const char *name_in_roofline(const void *list, size_t at)
{
    return ((const struct rp_roofline_kernel *)list)[at].name;
}

static const char *name_in_counters(const void *list, size_t at)
{
    return ((const char *const *)list)[at];
}

static const char *name_of_share(const void *list, size_t at)
{
    const struct rp_dag_share *share = &((const struct rp_dag_share *)list)[at];

    return share->is_kernel ? share->name : NULL;
}

/* The question is what the program takes without the kernel. */
static const char *name_of_what_if(const void *list, size_t at)
{
    const struct rp_dag_what_if *w = &((const struct rp_dag_what_if *)list)[at];

    return w->num == 0 ? w->symbol : NULL;
}

static void bottleneck_index_free(struct rp_bottleneck_index *index);

/** @return false: memory has ended */
static bool bottleneck_index_make(struct rp_bottleneck_index *ret,
                                  const struct rp_bottleneck_inputs *in)
{
    struct rp_bottleneck_index x = {0};
    bool ok = true;

    if (in->profile) {
        size_t count = in->profile->kernel_count;
        ok = rp_name_index_make(&x.names, in->profile->kernels, count, name_in_profile) &&
             rp_name_index_make(&x.symbols, in->profile->kernels, count, symbol_in_profile);
    }
    if (ok && in->roofline)
        ok = rp_name_index_make(&x.roofline, in->roofline->kernels, in->roofline->kernel_count,
                                name_in_roofline);
    if (ok && in->counters)
        ok = rp_name_index_make(&x.counters, in->counters->kernels, in->counters->kernel_count,
                                name_in_counters);
    if (ok && in->dag)
        ok = rp_name_index_make(&x.shares, in->dag->shares, in->dag->share_count, name_of_share) &&
             rp_name_index_make(&x.what_ifs, in->dag->what_ifs, in->dag->what_if_count,
                                name_of_what_if);
    if (ok)
        *ret = x;
    else
        bottleneck_index_free(&x);
    return ok;
}

static void bottleneck_index_free(struct rp_bottleneck_index *index)
{
    rp_name_index_free(&index->names);
    rp_name_index_free(&index->symbols);
    rp_name_index_free(&index->roofline);
    rp_name_index_free(&index->counters);
    rp_name_index_free(&index->shares);
    rp_name_index_free(&index->what_ifs);
}

/* --- which kernels ------------------------------------------------------------------------- */

/* A name may be a symbol for one source and demangled for another, and the trace knows both. Where
 * kernels of several names have the symbol, nobody knows which of them is meant. */
static const char *known_name(const struct rp_bottleneck_inputs *in,
                              const struct rp_bottleneck_index *index, const char *name)
{
    size_t count;
    const struct rp_indexed_name *found = rp_name_index_find(&index->symbols, name, &count);

    for (size_t i = 1; i < count; i++)
        if (strcmp(in->profile->kernels[found[i].at].name, in->profile->kernels[found->at].name) !=
            0)
            return name;
    return found ? in->profile->kernels[found->at].name : name;
}

static bool add_name(const char *name, struct rp_bottlenecks *b)
{
    struct rp_bottleneck_kernel *grown =
        realloc(b->kernels, (b->kernel_count + 1) * sizeof *b->kernels);

    if (!grown)
        return false;
    b->kernels = grown;
    grown[b->kernel_count] = (struct rp_bottleneck_kernel){.name = strdup(name)};
    return grown[b->kernel_count++].name != NULL;
}

/* Thread traces have few kernels, so these are searched one by one. */
static bool add_traced(const struct rp_bottleneck_inputs *in,
                       const struct rp_bottleneck_index *index, struct rp_bottlenecks *b)
{
    bool ok = true;

    for (size_t i = 0; ok && in->traces && i < in->traces->count; i++) {
        const struct rp_thread_trace *t = &in->traces->traces[i];
        bool found = t->kernel >= t->kernel_count;
        const char *name = found ? NULL : known_name(in, index, t->kernels[t->kernel].name);

        /* The kernel may be found by its symbol. */
        for (size_t n = 0; n < b->kernel_count && !found; n++)
            found = rp_same_kernel(b->kernels[n].name, t->kernels[t->kernel].symbol) ||
                    rp_same_kernel(b->kernels[n].name, name);
        if (!found)
            ok = add_name(name, b);
    }
    return ok;
}

static const char *name_in(const void *list, size_t at)
{
    return ((const char *const *)list)[at];
}

/* Statistics name each kernel once. */
static bool add_stats(const struct rp_kernel_stats *stats, struct rp_bottlenecks *b)
{
    bool ok = true;

    for (size_t i = 0; i < stats->count && ok; i++) {
        const struct rp_kernel_stat *s = &stats->kernels[i];
        struct rp_bottleneck_kernel *k;

        ok = add_name(s->name, b);
        if (!ok)
            break;
        k = &b->kernels[b->kernel_count - 1];
        k->calls = s->calls;
        k->time_ns = (struct rp_quantity){.known = true, .value = (double)s->total_ns};
        k->min_ns = (struct rp_quantity){.known = s->extremes_known, .value = s->min_ns};
        k->max_ns = (struct rp_quantity){.known = s->extremes_known, .value = s->max_ns};
        k->deviation_ns =
            (struct rp_quantity){.known = s->deviation_known, .value = s->deviation_ns};
        k->features.of[RP_FEATURE_DURATION_NS] =
            (struct rp_quantity){.known = true, .value = (double)s->total_ns / (double)s->calls};
    }
    b->sums_alone = true;
    return ok;
}

/* Adds each kernel once, by the name that came first. */
static bool add_names(const struct rp_bottleneck_inputs *in,
                      const struct rp_bottleneck_index *index, struct rp_bottlenecks *b)
{
    size_t profiled = in->profile ? in->profile->kernel_count : 0, same;
    size_t counted = in->roofline ? in->roofline->kernel_count : 0, count = profiled + counted;
    rp_autofree const char **names = malloc((count + 1) * sizeof *names);
    struct rp_name_index once = {0};
    bool ok = names != NULL;

    for (size_t i = 0; ok && i < count; i++)
        names[i] = known_name(in, index,
                              i < profiled ? in->profile->kernels[i].name
                                           : in->roofline->kernels[i - profiled].name);
    if (ok && in->stats)
        ok = add_stats(in->stats, b);
    ok = ok && rp_name_index_make(&once, names, count, name_in);
    for (size_t i = 0; ok && i < count; i++)
        if (rp_name_index_find(&once, names[i], &same)->at == i)
            ok = add_name(names[i], b);
    rp_name_index_free(&once);
    return ok && add_traced(in, index, b);
}

/* Where two resources allow no more waves, the LDS is the one to begin with. */
static void name_limiter(const struct rp_residency *r, struct rp_finding *f)
{
    if (f->cause == RP_CAUSE_OCCUPANCY && f->rule->gain == RP_GAIN_WAVES)
        f->limiter = r->second_limiter ? r->second_limiter : r->limiter;
}

/* Kernels of the HIP runtime and of RCCL are not the user's to change, whatever limits them. */
static void judge_kernel(struct rp_bottleneck_kernel *k)
{
    static const char runtime[] = "__amd_rocclr_";

    if (strncmp(k->name, runtime, strlen(runtime)) == 0) {
        k->finding = (struct rp_finding){.cause = RP_CAUSE_RUNTIME};
    } else if (rp_dag_is_collective(k->name)) {
        k->finding = (struct rp_finding){.cause = RP_CAUSE_COMMUNICATION};
    } else {
        k->finding = rp_finding_judge(&k->features, &k->waves);
        k->also_count =
            rp_finding_others(&k->features, &k->waves, &k->finding, k->also, RP_OTHER_FINDINGS);
        name_limiter(&k->residency, &k->finding);
        for (size_t i = 0; i < k->also_count; i++)
            name_limiter(&k->residency, &k->also[i]);
    }
    k->label = rp_cause_facts(k->finding.cause)->label;
}

int rp_bottlenecks_find(const struct rp_bottleneck_inputs *in, struct rp_bottlenecks *ret,
                        struct rp_err *err)
{
    rp_autofree struct rp_asked_sums *sums = in->counters ? rp_asked_sums_make(in->counters) : NULL;
    rp_cleanup(bottleneck_index_free) struct rp_bottleneck_index index = {0};
    struct rp_bottlenecks b = {.origin = in->origin, .profile = in->profile};

    if ((in->counters && !sums) || !bottleneck_index_make(&index, in) ||
        !add_names(in, &index, &b)) {
        rp_bottlenecks_free(&b);
        return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < b.kernel_count; i++) {
        if (!rp_kernel_features(in, &index, sums, &b.kernels[i])) {
            rp_bottlenecks_free(&b);
            return rp_out_of_memory(err);
        }
        judge_kernel(&b.kernels[i]);
        rp_kernel_headroom(&b.kernels[i]);
    }
    for (size_t i = 0; in->traces && i < in->traces->count; i++)
        b.modelled_waves |= in->traces->traces[i].software;
    if (b.modelled_waves && !b.origin.device)
        b.origin.device = "software"; /* There are only thread traces. */
    rp_bottlenecks_rank(in, &index, &b);
    *ret = b;
    return 0;
}

void rp_bottlenecks_free(struct rp_bottlenecks *b)
{
    for (size_t i = 0; i < b->kernel_count; i++) {
        free(b->kernels[i].name);
        rp_wave_time_free(&b->kernels[i].waves);
    }
    free(b->kernels);
    *b = (struct rp_bottlenecks){0};
}
