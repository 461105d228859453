#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck_steps.h"
#include "analyze/dag.h"
#include "analyze/dag_graph.h"
#include "analyze/profile.h"

const char *const rp_rank_basis_names[] = {NULL, "kernel_time", "critical_path"};

/* --- headroom ------------------------------------------------------------------------------ */

static void set_headroom(struct rp_bottleneck_kernel *k, double part, const char *assumption)
{
    k->headroom = (struct rp_quantity){.known = true, .value = part < 0 ? 0 : part};
    k->assumption = assumption;
}

void rp_kernel_headroom(struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *f = k->features.of;
    const struct rp_finding *finding = &k->finding;

    if (finding->rule && finding->rule->gain == RP_GAIN_LESS_WORK)
        set_headroom(k, 1 - rp_limit_nearness(finding->rule, &k->features),
                     "the same work, with the unit that limits it at the rate that well-tuned "
                     "programs reach");
    else if (finding->gain.known)
        set_headroom(k, 1 - 1 / finding->gain.middle,
                     "the cause is gone, and the next unit limits");
    else if (finding->cause == RP_CAUSE_MEMORY)
        return; /* A full memory leaves none, a slow one most. */
    else if (f[RP_FEATURE_BOUND_SHARE].known)
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

/* Returns the end-to-end time without the kernel. It is 0 only for a trace that asks no such
 * question. */
static double free_ns(const struct rp_dag_result *dag, const struct rp_bottleneck_index *index,
                      const char *name, double otherwise)
{
    size_t count;
    const struct rp_indexed_name *found = rp_name_index_find(&index->what_ifs, name, &count);

    return found ? (double)dag->what_ifs[found->at].makespan_ns : otherwise;
}

/* A path that is as long as the program becomes shorter by the time of the kernel's part of it, and
 * the program takes at least as long as without the kernel. The longer one bounds the speed-up. */
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

/* Without HIP calls and recorded dependencies the path is a guess from times alone, so kernels are
 * weighed by their time. */
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

/* --- the program --------------------------------------------------------------------------- */

static double path_share(const struct rp_dag_result *dag, enum rp_dag_part part)
{
    return (double)dag->path_ns[part] / (double)dag->makespan_ns;
}

/* Returns the part of a launch that it takes to start and end any kernel: 2.2 us is what a kernel
 * without work takes between two others (tests/programs/planted/string_step_launches). */
static double start_share(const struct rp_bottleneck_kernel *k)
{
    const double start_ns = 2200;
    double share = start_ns / k->features.of[RP_FEATURE_DURATION_NS].value;

    return share < 1 ? share : 1;
}

/* Returns what starts and ends of short kernels have of the path. Weights by the kernels' time are
 * of what kernels have of it. */
static double short_kernels(const struct rp_dag_result *dag, const struct rp_bottlenecks *b)
{
    const double kernels =
        b->basis == RP_RANK_CRITICAL_PATH ? 1 : path_share(dag, RP_DAG_PART_KERNEL);
    double sum = 0;

    for (size_t i = 0; i < b->kernel_count; i++)
        sum += rp_kernel_is_short(&b->kernels[i])
                   ? b->kernels[i].weight.value * start_share(&b->kernels[i])
                   : 0;
    return kernels * sum;
}

static double gain_of_program(const struct rp_bottleneck_kernel *k)
{
    return k->finding.program_gain.known ? k->finding.program_gain.middle : 1;
}

/* The kernel that takes most limits the program, unless there is clearly more to gain elsewhere. */
static size_t kernel_of_program(const struct rp_bottlenecks *b)
{
    const double clearly = 1.05;
    size_t found = 0;

    for (size_t i = 1; i < b->kernel_count; i++)
        if (b->kernels[i].weight.known &&
            (!b->kernels[found].weight.known ||
             b->kernels[i].weight.value > b->kernels[found].weight.value))
            found = i;
    for (size_t i = 0; i < b->kernel_count; i++)
        if (gain_of_program(&b->kernels[i]) > clearly * gain_of_program(&b->kernels[found]))
            found = i;
    return found;
}

/* Kernels of collectives move data, and wait for other ranks. */
static double communication_share(const struct rp_dag_result *dag)
{
    double share = path_share(dag, RP_DAG_PART_COLLECTIVE);

    for (size_t i = 0; i < dag->share_count && dag->makespan_ns > 0; i++)
        if (rp_dag_is_collective(dag->shares[i].name))
            share += (double)dag->shares[i].path_ns / (double)dag->makespan_ns;
    return share;
}

/* Returns what starts and ends of short kernels have of the time of all kernels. */
static double starts_of_kernels(const struct rp_bottlenecks *b)
{
    double all = 0, starts = 0;

    for (size_t i = 0; i < b->kernel_count; i++) {
        const struct rp_bottleneck_kernel *k = &b->kernels[i];
        all += k->time_ns.known ? k->time_ns.value : 0;
        starts += k->time_ns.known && rp_kernel_is_short(k) ? k->time_ns.value * start_share(k) : 0;
    }
    return all > 0 ? starts / all : 0;
}

/* Returns the part of the end-to-end time below which it cannot get when a cause is gone: what the
 * GPU does beside the path does not go with it. */
static double left_at_best(const struct rp_dag_result *dag, const struct rp_bottlenecks *b,
                           enum rp_cause cause)
{
    const double all = (double)dag->makespan_ns;

    switch (cause) {
    case RP_CAUSE_COPY:
        return (double)dag->limit_ns[RP_DAG_LIMIT_no_copies] / all;
    case RP_CAUSE_HOST:
        return (double)(dag->limit_ns[RP_DAG_LIMIT_no_host_time] - dag->path_ns[RP_DAG_PART_SYNC]) /
               all;
    case RP_CAUSE_LAUNCH: /* Kernels that are fused start once. */
        return (double)dag->kernel_span_ns * (1 - starts_of_kernels(b)) / all;
    default:
        return 0;
    }
}

static struct rp_factor_range without(const struct rp_dag_result *dag,
                                      const struct rp_bottlenecks *b, enum rp_cause cause,
                                      double left)
{
    const double least = left_at_best(dag, b, cause), most = least > 0 && least < 1 ? 1 / least : 1;
    struct rp_factor_range r = rp_factor_range(left > least ? left : least);

    if (least > 0 && r.high > most)
        r.high = most > r.middle ? most : r.middle;
    return r;
}

/* Chooses the largest part of the end-to-end time that is none of a kernel's own. */
static void judge_program(const struct rp_dag_result *dag, struct rp_bottlenecks *b)
{
    struct {
        enum rp_cause cause;
        double share, least, gone;
    } parts[] = {
        {RP_CAUSE_COPY, dag ? path_share(dag, RP_DAG_PART_COPY) : 0, 0.5, 0.82},
        {RP_CAUSE_HOST,
         dag ? path_share(dag, RP_DAG_PART_HOST_API) + path_share(dag, RP_DAG_PART_HOST_GAP) +
                   path_share(dag, RP_DAG_PART_SYNC)
             : 0,
         0.5, 0.75},
        {RP_CAUSE_COMMUNICATION, dag ? communication_share(dag) : 0, 0.4, 0.75},
        {RP_CAUSE_LAUNCH, dag ? short_kernels(dag, b) + path_share(dag, RP_DAG_PART_LAUNCH) : 0,
         0.5, 0.94},
    };
    double most = 0;

    b->program_is_kernel = b->kernel_count > 0;
    if (b->kernel_count > 0) {
        b->program_kernel = kernel_of_program(b);
        b->program = b->kernels[b->program_kernel].finding;
        b->program_share = b->kernels[b->program_kernel].weight;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].share < parts[i].least || parts[i].share <= most)
            continue;
        most = parts[i].share;
        b->program_is_kernel = false;
        b->program_share = (struct rp_quantity){.known = true, .value = most > 1 ? 1 : most};
        b->program = (struct rp_finding){
            .cause = parts[i].cause,
            .program_gain =
                without(dag, b, parts[i].cause, 1 - parts[i].gone * b->program_share.value)};
    }
}

/* Assumes that the rest of the program stays as it is: what is left of the kernel's time is left of
 * its part of the end-to-end time, but never less than the program takes without the kernel. */
static double left_by_weight(const struct rp_bottleneck_kernel *k, double part)
{
    double left = 1 - k->weight.value * (1 - part);
    double free = k->free_bound.known && k->free_bound.value > 0 ? 1 / k->free_bound.value : 0;

    return left > free ? left : free;
}

static double part_of(const struct rp_dag_what_if *w)
{
    return w->num ? (double)w->den / w->num : 0;
}

/* Computes the end-to-end time with this part of the kernel's time from the exact ones around it,
 * of which @p at is one. Between two of them it is at most what a straight line has, because it is
 * the longest of paths that each shrink evenly. */
static double left_by_what_ifs(const struct rp_dag_result *dag, size_t at, double part)
{
    const char *symbol = dag->what_ifs[at].symbol;
    double all = (double)dag->makespan_ns, below = 0, above = 1, below_ns = -1, above_ns = all;

    while (at > 0 && strcmp(dag->what_ifs[at - 1].symbol, symbol) == 0)
        at--;
    for (; at < dag->what_if_count && strcmp(dag->what_ifs[at].symbol, symbol) == 0; at++) {
        double here = part_of(&dag->what_ifs[at]), ns = (double)dag->what_ifs[at].makespan_ns;

        if (here <= part && (below_ns < 0 || here > below)) {
            below = here;
            below_ns = ns;
        } else if (here > part && here < above) {
            above = here;
            above_ns = ns;
        }
    }
    if (below_ns < 0)
        return above_ns / all;
    return (below_ns + (above_ns - below_ns) * (part - below) / (above - below)) / all;
}

static double program_factor(const struct rp_dag_result *dag, const struct rp_indexed_name *found,
                             const struct rp_bottleneck_kernel *k, double factor)
{
    double left =
        found ? left_by_what_ifs(dag, found->at, 1 / factor) : left_by_weight(k, 1 / factor);

    return left > 0 && left < 1 ? 1 / left : 1;
}

/* Sums of kernels know nothing of copies and gaps, so that they say nothing of the time end to end.
 */
static void find_program_gains(const struct rp_dag_result *dag,
                               const struct rp_bottleneck_index *index, struct rp_bottlenecks *b)
{
    if (b->basis != RP_RANK_CRITICAL_PATH)
        return;
    for (size_t i = 0; i < b->kernel_count; i++) {
        struct rp_bottleneck_kernel *k = &b->kernels[i];
        const struct rp_factor_range *gain = &k->finding.gain;
        size_t count;
        const struct rp_indexed_name *found = rp_name_index_find(&index->what_ifs, k->name, &count);

        if (!gain->known || !k->weight.known || k->weight.value >= 1 + 1e-9)
            continue;
        k->finding.program_gain = (struct rp_factor_range){
            .known = true,
            .low = program_factor(dag, found, k, gain->low),
            .middle = program_factor(dag, found, k, gain->middle),
            .high = program_factor(dag, found, k, gain->high),
        };
    }
}

/* --- order --------------------------------------------------------------------------------- */

/* As long as nobody knows the headroom, all of the weight may be to gain. */
static struct rp_quantity promise(const struct rp_bottleneck_kernel *k)
{
    return k->priority.known ? k->priority : k->weight;
}

/* Sorts larger values first, and unknown ones last. */
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

void rp_bottlenecks_rank(const struct rp_bottleneck_inputs *in,
                         const struct rp_bottleneck_index *index, struct rp_bottlenecks *b)
{
    weigh(in, index, b);
    find_program_gains(in->dag, index, b);
    if (b->kernel_count)
        qsort(b->kernels, b->kernel_count, sizeof *b->kernels, compare_kernels);
    rp_bottleneck_lines_of_kernels(in, index, b);
    judge_program(in->dag && in->dag->makespan_ns > 0 ? in->dag : NULL, b);
    rp_bottleneck_line_of_program(in, index, b);
}
