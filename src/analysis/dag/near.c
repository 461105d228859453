#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "names.h"

/* Less slack than this is none in practice, and so is less than a thousandth of the whole. */
enum { LEAST_EPSILON_NS = 1000, EPSILON_PARTS = 1000 };

int64_t rp_dag_slack(const struct rp_dag *dag, const struct rp_dag_activity *a,
                     const int64_t *latest_ns)
{
    const struct rp_dag_graph *g = &dag->graph;

    /* Of a collective only the rank that comes last has none to spare. */
    return latest_ns[a->finish] - g->time_ns[a->start] - g->weight_ns[a->duration];
}

static const struct rp_dag_op *op_of(const struct rp_dag_trace *trace,
                                     const struct rp_dag_activity *a)
{
    return &trace->processes[a->process].ops[a->index];
}

/* --- histogram and criticality --------------------------------------------------------------- */

static int by_bound(const void *a, const void *b)
{
    const struct rp_dag_slack_bin *x = a, *y = b;

    if (x->up_to_ns != y->up_to_ns)
        return x->up_to_ns < y->up_to_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void name_bins(int64_t makespan_ns, struct rp_dag_slack_bin *bins)
{
    const struct rp_dag_slack_bin all[RP_DAG_SLACK_BINS] = {
        {.name = "0"},
        {.name = "1us", .up_to_ns = 1000},
        {.name = "0.1%", .up_to_ns = makespan_ns / 1000},
        {.name = "1%", .up_to_ns = makespan_ns / 100},
        {.name = "10%", .up_to_ns = makespan_ns / 10},
        {.name = "more", .up_to_ns = INT64_MAX},
    };

    memcpy(bins, all, sizeof all);
    qsort(bins, RP_DAG_SLACK_BINS, sizeof *bins, by_bound);
}

static int by_critical(const void *a, const void *b)
{
    const struct rp_dag_critical *x = a, *y = b;

    if (x->near_ns != y->near_ns)
        return x->near_ns > y->near_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int put_slack(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     const int64_t *latest_ns, struct rp_dag_result *r, struct rp_err *err)
{
    size_t kept = 0;

    r->critical = calloc(trace->symbol_count + 1, sizeof *r->critical);
    if (!r->critical)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < dag->activity_count; i++) {
        const struct rp_dag_activity *a = &dag->activities[i];
        const struct rp_dag_op *op = a->is_op ? op_of(trace, a) : NULL;
        struct rp_dag_slack_bin *bin = r->slack_bins;
        int64_t slack_ns;

        if (!op)
            continue;
        slack_ns = rp_dag_slack(dag, a, latest_ns);
        while (slack_ns > bin->up_to_ns)
            bin++;
        bin->count++;
        bin->time_ns += op->end_ns - op->start_ns;
        r->critical[op->symbol].name = trace->symbols[op->symbol];
        r->critical[op->symbol].count++;
        r->critical[op->symbol].time_ns += op->end_ns - op->start_ns;
        if (slack_ns <= r->epsilon_ns)
            r->critical[op->symbol].near_ns += op->end_ns - op->start_ns;
    }
    for (size_t k = 0; k < trace->symbol_count; k++)
        if (r->critical[k].name)
            r->critical[kept++] = r->critical[k];
    r->critical_count = kept;
    qsort(r->critical, kept, sizeof *r->critical, by_critical);
    return 0;
}

/* --- the next paths -------------------------------------------------------------------------- */

static bool is_taken(const struct rp_dag_activity *a)
{
    return a->on_path || a->on_near_path;
}

/* Of the operations that are on no path yet, one with the least slack; of those the last. */
static struct rp_dag_activity *least_slack(const struct rp_dag *dag,
                                           const struct rp_dag_trace *trace,
                                           const int64_t *latest_ns, int64_t *ret_ns)
{
    struct rp_dag_activity *best = NULL;
    int64_t least_ns = 0, end_ns = 0;

    for (size_t i = 0; i < dag->activity_count; i++) {
        struct rp_dag_activity *a = &dag->activities[i];
        int64_t slack_ns;

        if (!a->is_op || is_taken(a))
            continue;
        slack_ns = rp_dag_slack(dag, a, latest_ns);
        if (best &&
            (slack_ns > least_ns || (slack_ns == least_ns && op_of(trace, a)->end_ns < end_ns)))
            continue;
        best = a;
        least_ns = slack_ns;
        end_ns = op_of(trace, a)->end_ns;
    }
    *ret_ns = least_ns;
    return best;
}

static int add_op(const struct rp_dag_trace *trace, const struct rp_dag_activity *a,
                  struct rp_dag_near_path *path, struct rp_dag_names *names)
{
    const struct rp_dag_op *op = op_of(trace, a);

    path->op_count++;
    path->start_ns = op->start_ns;
    *(op->is_copy ? &path->copy_ns : &path->kernel_ns) += op->end_ns - op->start_ns;
    return rp_dag_names_add(names, trace->symbols[op->symbol], op->end_ns - op->start_ns);
}

/* Back from an operation along the edges that bind, to where another path is met or the trace
 * begins: what binds has no more slack than what it binds, so this is a chain of equal slack. */
static int follow(struct rp_dag *dag, const struct rp_dag_trace *trace,
                  struct rp_dag_activity *last, struct rp_dag_near_path *path,
                  struct rp_dag_names *names, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    uint32_t point = last->start, e;
    int rc = add_op(trace, last, path, names);

    path->end_ns = op_of(trace, last)->end_ns;
    last->on_near_path = true;
    while (rc == 0 && (e = rp_dag_binding(g, g->time_ns, g->weight_ns, point)) != RP_DAG_NO_POINT) {
        const struct rp_dag_activity *found = rp_dag_activity_of(dag, e);
        struct rp_dag_activity *a = found ? &dag->activities[found - dag->activities] : NULL;
        if (a && is_taken(a))
            break;
        if (a && a->is_op)
            rc = add_op(trace, a, path, names);
        if (a)
            a->on_near_path = true;
        point = g->from[e];
    }
    return rc < 0 ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

static int put_paths(struct rp_dag *dag, const struct rp_dag_trace *trace, const int64_t *latest_ns,
                     struct rp_dag_result *r, struct rp_err *err)
{
    for (size_t k = 0; k < RP_DAG_NEAR_PATHS; k++) {
        struct rp_dag_near_path *path = &r->near_paths[k];
        struct rp_dag_names names = {0};
        struct rp_dag_activity *last = least_slack(dag, trace, latest_ns, &path->slack_ns);
        int rc;

        if (!last)
            break;
        rc = follow(dag, trace, last, path, &names, err);
        if (rc == 0)
            rc = rp_dag_names_take(&names, &path->shares, &path->share_count, err);
        rp_dag_names_free(&names);
        if (rc < 0)
            return rc;
        r->near_path_count++;
    }
    return 0;
}

int rp_dag_near(struct rp_dag *dag, const struct rp_dag_trace *trace, const int64_t *latest_ns,
                struct rp_dag_result *ret, struct rp_err *err)
{
    int64_t makespan_ns = dag->end_ns - dag->start_ns;
    int rc;

    ret->epsilon_ns = makespan_ns / EPSILON_PARTS;
    if (ret->epsilon_ns < LEAST_EPSILON_NS)
        ret->epsilon_ns = LEAST_EPSILON_NS;
    name_bins(makespan_ns, ret->slack_bins);
    rc = put_slack(dag, trace, latest_ns, ret, err);
    return rc < 0 ? rc : put_paths(dag, trace, latest_ns, ret, err);
}
