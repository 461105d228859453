#include "analysis/bottleneck/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "trace/kernel_stats.h"

#include <stdlib.h>
#include <string.h>

/* --- which kernels ------------------------------------------------------------------------- */

/* A name may be a symbol for one source and demangled for another: the trace knows both. Where
 * kernels of several names have the symbol, it says of none of them that it is meant. */
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

/* The kernels of thread traces, of which there are few. */
static bool add_traced(const struct rp_bottleneck_inputs *in,
                       const struct rp_bottleneck_index *index, struct rp_bottlenecks *b)
{
    bool ok = true;

    for (size_t i = 0; ok && in->traces && i < in->traces->count; i++) {
        const struct rp_thread_trace *t = &in->traces->traces[i];
        bool found = t->kernel >= t->kernel_count;
        const char *name = found ? NULL : known_name(in, index, t->kernels[t->kernel].name);

        for (size_t n = 0; n < b->kernel_count && !found; n++) /* by its symbol? */
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

/* Each kernel once, by the name that came first. */
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

/* --- headroom ------------------------------------------------------------------------------ */

static void set_headroom(struct rp_bottleneck_kernel *k, double part, const char *assumption)
{
    k->headroom = (struct rp_quantity){.known = true, .value = part < 0 ? 0 : part};
    k->assumption = assumption;
}

static void find_headroom(struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *f = k->features.of;

    if (f[RP_FEATURE_BOUND_SHARE].known)
        set_headroom(k, 1 - f[RP_FEATURE_BOUND_SHARE].value,
                     "the same FLOPs and bytes, with the resource that needs most time at its "
                     "ceiling all the time");
    else if (k->label == RP_BOTTLENECK_LDS && f[RP_FEATURE_STALL_LDS].known)
        set_headroom(k, f[RP_FEATURE_STALL_LDS].value,
                     "waves no longer stall for the LDS, and nothing else takes that time");
    else if (k->label == RP_BOTTLENECK_COMPUTE && f[RP_FEATURE_STALL_MATH].known)
        set_headroom(k, f[RP_FEATURE_STALL_MATH].value,
                     "waves no longer stall for operands and units, and nothing else takes that "
                     "time");
    else if (f[RP_FEATURE_STALL].known)
        set_headroom(k, f[RP_FEATURE_STALL].value,
                     "waves no longer stall, and nothing else takes that time");
}

/* --- weight and bounds --------------------------------------------------------------------- */

static struct rp_quantity quotient(double a, double b)
{
    return (struct rp_quantity){.known = b > 0, .value = b > 0 ? a / b : 0};
}

static double path_ns(const struct rp_dag_result *dag, const struct rp_bottleneck_index *index,
                      const char *name)
{
    double sum = 0;
    size_t count;
    const struct rp_indexed_name *found = rp_name_index_find(&index->shares, name, &count);

    for (size_t i = 0; i < count; i++)
        sum += (double)dag->shares[found[i].at].path_ns;
    return sum;
}

/* End-to-end time without the kernel; it is 0 only for a trace that asks no such question. */
static double free_ns(const struct rp_dag_result *dag, const struct rp_bottleneck_index *index,
                      const char *name, double otherwise)
{
    size_t count;
    const struct rp_indexed_name *found = rp_name_index_find(&index->what_ifs, name, &count);

    return found ? (double)dag->what_ifs[found->at].makespan_ns : otherwise;
}

/* A path that is as long as the program gets shorter by what the kernel's part of it does, and the
 * program takes at least as long as without the kernel: the longer one bounds the speed-up. */
static void weigh_by_path(const struct rp_dag_result *dag, const struct rp_bottleneck_index *index,
                          struct rp_bottleneck_kernel *k)
{
    double all = (double)dag->makespan_ns, mine = path_ns(dag, index, k->name);
    double without = free_ns(dag, index, k->name, all - mine), left;

    k->weight = quotient(mine, all);
    k->free_bound = quotient(all, without);
    if (!k->headroom.known)
        return;
    left = all - k->headroom.value * mine;
    k->end_to_end_bound = quotient(all, left > without ? left : without);
}

static void weigh_by_time(double all, struct rp_bottleneck_kernel *k)
{
    const double mine = k->time_ns.value;

    if (!k->time_ns.known)
        return;
    k->weight = quotient(mine, all);
    k->free_bound = quotient(all, all - mine);
    if (k->headroom.known)
        k->end_to_end_bound = quotient(all, all - k->headroom.value * mine);
}

/* Without HIP calls and recorded dependencies the path is a guess from times alone: kernels count
 * by what they take. */
static bool knows_dependencies(const struct rp_dag_result *dag)
{
    const uint64_t *of = dag->grade_dependencies;

    return of[RP_DAG_RECORDED] + of[RP_DAG_DERIVED] + of[RP_DAG_PARTIAL] > 0;
}

static void weigh(const struct rp_bottleneck_inputs *in, const struct rp_bottleneck_index *index,
                  struct rp_bottlenecks *b)
{
    double all = 0;
    bool every = b->kernel_count > 0;

    for (size_t i = 0; i < b->kernel_count; i++) {
        every &= b->kernels[i].time_ns.known;
        all += b->kernels[i].time_ns.value;
    }
    if (in->dag && in->dag->makespan_ns > 0 &&
        (knows_dependencies(in->dag) || !every || all <= 0)) {
        b->basis = RP_RANK_CRITICAL_PATH;
        all = (double)in->dag->makespan_ns;
    } else if (every && all > 0) {
        b->basis = RP_RANK_KERNEL_TIME;
    }
    b->total_ns = (struct rp_quantity){.known = b->basis != RP_RANK_NOTHING, .value = all};
    for (size_t i = 0; i < b->kernel_count; i++) {
        struct rp_bottleneck_kernel *k = &b->kernels[i];

        if (b->basis == RP_RANK_CRITICAL_PATH)
            weigh_by_path(in->dag, index, k);
        else if (b->basis == RP_RANK_KERNEL_TIME)
            weigh_by_time(all, k);
        k->priority.known = k->weight.known && k->headroom.known;
        k->priority.value = k->weight.value * k->headroom.value;
    }
}

/* --- order --------------------------------------------------------------------------------- */

/* As long as nobody knows the headroom, all of the weight may be to gain. */
static struct rp_quantity promise(const struct rp_bottleneck_kernel *k)
{
    return k->priority.known ? k->priority : k->weight;
}

/* More first; what is not known last. */
static int compare_quantities(struct rp_quantity a, struct rp_quantity b)
{
    if (a.known != b.known)
        return a.known ? -1 : 1;
    if (!a.known || a.value == b.value)
        return 0;
    return a.value > b.value ? -1 : 1;
}

static int compare_kernels(const void *a, const void *b)
{
    const struct rp_bottleneck_kernel *l = a, *r = b;
    int order = compare_quantities(promise(l), promise(r));

    if (order == 0)
        order = compare_quantities(l->weight, r->weight);
    if (order == 0)
        order = compare_quantities(l->time_ns, r->time_ns);
    return order ? order : strcmp(l->name, r->name);
}

int rp_bottlenecks_find(const struct rp_bottleneck_inputs *in, struct rp_bottlenecks *ret,
                        struct rp_err *err)
{
    rp_autofree struct rp_asked_sums *sums = in->counters ? rp_ask_counters(in->counters) : NULL;
    rp_cleanup(rp_bottleneck_index_free) struct rp_bottleneck_index index = {0};
    struct rp_bottlenecks b = {.origin = in->origin};

    if ((in->counters && !sums) || !rp_bottleneck_index_make(&index, in) ||
        !add_names(in, &index, &b)) {
        rp_bottlenecks_free(&b);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    for (size_t i = 0; i < b.kernel_count; i++) {
        struct rp_bottleneck_kernel *k = &b.kernels[i];

        rp_features_of_profile(in, &index, k);
        rp_features_of_roofline(in, &index, k);
        rp_features_of_dag(in, k);
        rp_features_of_traces(in, k);
        if (sums)
            rp_features_of_counters(sums, &index, k);
        k->label = rp_rules_judge(&k->features, k->points);
        find_headroom(k);
    }
    weigh(in, &index, &b);
    for (size_t i = 0; in->traces && i < in->traces->count; i++)
        b.modelled_waves |= in->traces->traces[i].software;
    if (b.modelled_waves && !b.origin.device)
        b.origin.device = "software"; /* thread traces alone */
    if (b.kernel_count)
        qsort(b.kernels, b.kernel_count, sizeof *b.kernels, compare_kernels);
    *ret = b;
    return 0;
}

void rp_bottlenecks_free(struct rp_bottlenecks *b)
{
    for (size_t i = 0; i < b->kernel_count; i++)
        free(b->kernels[i].name);
    free(b->kernels);
    *b = (struct rp_bottlenecks){0};
}
