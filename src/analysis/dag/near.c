#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "names.h"
#include "slack.h"

/* Less slack than this is none in practice, and so is less than a thousandth of the whole. */
enum { LEAST_EPSILON_NS = 1000, EPSILON_PARTS = 1000 };

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

/* One operation. */
static void count_slack(const struct rp_dag_trace *trace, const struct rp_dag_op *op,
                        int64_t slack_ns, struct rp_dag_result *r)
{
    struct rp_dag_critical *critical = &r->critical[op->symbol];
    struct rp_dag_slack_bin *bin = r->slack_bins;
    int64_t took_ns = op->end_ns - op->start_ns;

    while (slack_ns > bin->up_to_ns)
        bin++;
    bin->count++;
    bin->time_ns += took_ns;
    critical->name = trace->symbols[op->symbol];
    critical->count++;
    critical->time_ns += took_ns;
    if (slack_ns <= r->epsilon_ns)
        critical->near_ns += took_ns;
}

static int put_slack(const struct rp_dag_trace *trace, const int64_t *slack_ns,
                     struct rp_dag_result *r, struct rp_err *err)
{
    size_t kept = 0;

    r->critical = calloc(trace->symbol_count + 1, sizeof *r->critical);
    if (!r->critical)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct rp_dag_process *p = &trace->processes[i];
        for (size_t k = 0; k < p->op_count; k++)
            count_slack(trace, &p->ops[k], slack_ns[p->op_base + k], r);
    }
    for (size_t k = 0; k < trace->symbol_count; k++)
        if (r->critical[k].name)
            r->critical[kept++] = r->critical[k];
    r->critical_count = kept;
    qsort(r->critical, kept, sizeof *r->critical, by_critical);
    return 0;
}

/* --- the next paths -------------------------------------------------------------------------- */

/* Starts of calls and operations that are on one of these paths: a bit per point. */
struct taken {
    const struct rp_dag *dag;
    uint64_t *bits;
};

static void take(struct taken *taken, uint32_t start)
{
    taken->bits[start / 64] |= (uint64_t)1 << start % 64;
}

/* Also on the critical path. */
static bool is_taken(const struct taken *taken, uint32_t start)
{
    return (taken->dag->flags[start] & RP_DAG_ON_PATH) ||
           (taken->bits[start / 64] >> start % 64 & 1);
}

/* Starts of all operations that have no more slack than some: those that others have less of need
 * not be looked at again for every path. */
struct candidates {
    uint32_t *starts; /* ascending; NULL: too many */
    size_t count;
};

enum { ENOUGH_CANDIDATES = 1 << 12, MOST_CANDIDATES = 1 << 20, SLACK_BITS = 64 };

/* Binary digits of it. */
static unsigned size_of_slack(int64_t slack_ns)
{
    return slack_ns > 0 ? SLACK_BITS - (unsigned)__builtin_clzll((uint64_t)slack_ns) : 0;
}

static bool is_open(const struct taken *taken, uint32_t p)
{
    return (taken->dag->flags[p] & RP_DAG_OP_START) && !is_taken(taken, p);
}

static int find_candidates(const struct taken *taken, const int64_t *slack_ns,
                           struct candidates *ret, struct rp_err *err)
{
    const struct rp_dag *dag = taken->dag;
    size_t sizes[SLACK_BITS + 1] = {0}, count = 0;
    unsigned most = 0;

    *ret = (struct candidates){0};
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (is_open(taken, p))
            sizes[size_of_slack(rp_dag_slack_of(slack_ns, dag->owner[p]))]++;
    for (count = sizes[0]; most < SLACK_BITS && count < ENOUGH_CANDIDATES; most++)
        count += sizes[most + 1];
    if (count > MOST_CANDIDATES)
        return 0;
    ret->starts = malloc((count + 1) * sizeof *ret->starts);
    if (!ret->starts)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (is_open(taken, p) && size_of_slack(rp_dag_slack_of(slack_ns, dag->owner[p])) <= most)
            ret->starts[ret->count++] = p;
    return 0;
}

/* An operation. */
struct min_slack_op {
    uint32_t start;
    int64_t slack_ns, end_ns;
};

static void compare(const struct taken *taken, const struct rp_dag_trace *trace,
                    const int64_t *slack_ns, uint32_t p, struct min_slack_op *least)
{
    const struct rp_dag *dag = taken->dag;
    int64_t this_ns;

    if (!is_open(taken, p))
        return;
    this_ns = rp_dag_slack_of(slack_ns, dag->owner[p]);
    if (least->start != RP_DAG_NONE &&
        (this_ns > least->slack_ns || (this_ns == least->slack_ns &&
                                       rp_dag_op_of(trace, dag->owner[p])->end_ns < least->end_ns)))
        return;
    *least = (struct min_slack_op){p, this_ns, rp_dag_op_of(trace, dag->owner[p])->end_ns};
}

/* Of the operations that are on no path yet, one with the least slack; of those the last. Its start
 * or RP_DAG_NONE. */
static uint32_t least_slack(const struct taken *taken, const struct rp_dag_trace *trace,
                            const int64_t *slack_ns, const struct candidates *candidates,
                            int64_t *ret_ns)
{
    struct min_slack_op least = {.start = RP_DAG_NONE};

    for (size_t i = 0; i < candidates->count; i++)
        compare(taken, trace, slack_ns, candidates->starts[i], &least);
    if (least.start == RP_DAG_NONE) /* they are all taken */
        for (uint32_t p = 0; p < taken->dag->graph.point_count; p++)
            compare(taken, trace, slack_ns, p, &least);
    *ret_ns = least.slack_ns;
    return least.start;
}

static int add_op(const struct rp_dag_trace *trace, const struct rp_dag_op *op,
                  struct rp_dag_near_path *path, struct rp_dag_names *names)
{
    path->op_count++;
    path->start_ns = op->start_ns;
    *(op->is_copy ? &path->copy_ns : &path->kernel_ns) += op->end_ns - op->start_ns;
    return rp_dag_names_add(names, trace->symbols[op->symbol], op->end_ns - op->start_ns);
}

/* Back from an operation along the edges that bind, to where another path is met or the trace
 * begins: what binds has no more slack than what it binds, so this is a chain of equal slack. */
static int follow(struct taken *taken, const struct rp_dag_trace *trace, uint32_t last,
                  struct rp_dag_near_path *path, struct rp_dag_names *names, struct rp_err *err)
{
    const struct rp_dag *dag = taken->dag;
    const struct rp_dag_graph *g = &dag->graph;
    const struct rp_dag_op *op = rp_dag_op_of(trace, dag->owner[last]);
    uint32_t point = last, e;
    int rc = add_op(trace, op, path, names);

    path->end_ns = op->end_ns;
    take(taken, last);
    while (rc == 0 && (e = rp_dag_binding(g, point)) != RP_DAG_NO_POINT) {
        uint32_t item = rp_dag_item_of(dag, e);
        if (item != RP_DAG_NONE && is_taken(taken, g->from[e]))
            break;
        if (rp_dag_is_op(item))
            rc = add_op(trace, rp_dag_op_of(trace, item), path, names);
        if (item != RP_DAG_NONE)
            take(taken, g->from[e]);
        point = g->from[e];
    }
    return rc < 0 ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

static int put_paths(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     const int64_t *slack_ns, struct rp_dag_result *r, struct rp_err *err)
{
    rp_autofree uint64_t *bits = calloc(dag->graph.point_count / 64 + 1, sizeof *bits);
    rp_autofree uint32_t *starts = NULL;
    struct taken taken = {dag, bits};
    struct candidates candidates = {0};
    int found = bits ? find_candidates(&taken, slack_ns, &candidates, err)
                     : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (found < 0)
        return found;
    starts = candidates.starts;
    for (size_t k = 0; k < RP_DAG_NEAR_PATHS; k++) {
        struct rp_dag_near_path *path = &r->near_paths[k];
        struct rp_dag_names names = {0};
        uint32_t last = least_slack(&taken, trace, slack_ns, &candidates, &path->slack_ns);
        int rc;

        if (last == RP_DAG_NONE)
            break;
        rc = follow(&taken, trace, last, path, &names, err);
        if (rc == 0)
            rc = rp_dag_names_take(&names, &path->shares, &path->share_count, err);
        rp_dag_names_free(&names);
        if (rc < 0)
            return rc;
        r->near_path_count++;
    }
    return 0;
}

int rp_dag_near(const struct rp_dag *dag, const struct rp_dag_trace *trace, const int64_t *slack_ns,
                struct rp_dag_result *ret, struct rp_err *err)
{
    int64_t makespan_ns = dag->end_ns - dag->start_ns;
    int rc;

    ret->epsilon_ns = makespan_ns / EPSILON_PARTS;
    if (ret->epsilon_ns < LEAST_EPSILON_NS)
        ret->epsilon_ns = LEAST_EPSILON_NS;
    name_bins(makespan_ns, ret->slack_bins);
    rc = put_slack(trace, slack_ns, ret, err);
    return rc < 0 ? rc : put_paths(dag, trace, slack_ns, ret, err);
}
