#include "doubts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "delays.h"
#include "scenario.h"

/* --- what is guessed ------------------------------------------------------------------------ */

static bool is_guess(const struct rp_dag_graph *g, uint32_t e)
{
    return rp_dag_grade_of(g, e) >= RP_DAG_PARTIAL && rp_dag_class_of(g, e) != RP_DAG_DURATION &&
           rp_dag_class_of(g, e) != RP_DAG_COLLECTIVE;
}

static bool holds_guess(const struct rp_dag_graph *g, uint32_t p)
{
    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
        if (is_guess(g, e))
            return true;
    return false;
}

/* Processes with guessed dependencies: any operation, and any call that waited, may have waited for
 * something else than the graph says. Returns whether there are any. */
static bool find_guesses(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                         bool *of_process)
{
    const struct rp_dag_graph *g = &dag->graph;
    bool any = false;

    for (uint32_t p = 0; p < g->point_count; p++) {
        if (!holds_guess(g, p))
            continue;
        any = true;
        if (dag->owner[p] != RP_DAG_NONE)
            of_process[rp_dag_process_of(trace, dag->owner[p])] = true;
    }
    return any;
}

/* Only what is certain holds the point back, by the shortest delays. */
static void relax(struct rp_dag *dag, uint32_t p)
{
    struct rp_dag_graph *g = &dag->graph;

    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
        int64_t delay_ns = rp_dag_delay(dag, rp_dag_class_of(g, e), p);
        switch (rp_dag_class_of(g, e)) {
        case RP_DAG_EVENT:
        case RP_DAG_SYNC:
            if (rp_dag_grade_of(g, e) == RP_DAG_INFERRED)
                delay_ns = RP_DAG_DROPPED_NS;
            break;
        case RP_DAG_COLLECTIVE:
        case RP_DAG_HOST_GAP:
        case RP_DAG_DURATION: /* of a call that waited: what it costs by itself */
        case RP_DAG_CLASS_COUNT:
            continue;
        case RP_DAG_STREAM:
        case RP_DAG_QUEUE:
        case RP_DAG_NULL_STREAM:
        case RP_DAG_LAUNCH:
            break;
        case RP_DAG_UNKNOWN: /* not before the trace begins; but where the GPU was busy tells
                                nothing */
            if (g->from[e] != 0)
                delay_ns = RP_DAG_DROPPED_NS;
            break;
        }
        if (delay_ns < rp_dag_weight(g, e))
            rp_dag_set_weight(g, e, delay_ns);
    }
}

static void relax_all(struct rp_dag *dag, const struct rp_dag_trace *trace, const bool *of_process)
{
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        uint32_t owner = dag->owner[p];
        if (owner != RP_DAG_NONE && of_process[rp_dag_process_of(trace, owner)] &&
            (dag->flags[p] & (RP_DAG_OP_START | RP_DAG_BLOCKED)))
            relax(dag, p);
    }
}

/* --- both ends ------------------------------------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int scenarios_of(const struct rp_dag_trace *trace, const struct rp_dag_result *r,
                        struct rp_dag_scenario **ret, struct rp_err *err)
{
    struct rp_dag_scenario *s = malloc((r->what_if_count + 1) * sizeof *s);

    if (!s)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < r->what_if_count; i++) {
        const struct rp_dag_what_if *w = &r->what_ifs[i];
        const char **symbol = bsearch(&w->symbol, trace->symbols, trace->symbol_count,
                                      sizeof *trace->symbols, by_text);
        s[i] = (struct rp_dag_scenario){
            .symbol = (uint32_t)(symbol - trace->symbols), .num = w->num, .den = w->den};
    }
    *ret = s;
    return 0;
}

static int put_most(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_scenario *s,
                    struct rp_dag_result *r, struct rp_err *err)
{
    int rc;

    for (size_t i = 0; i < dag->unsure_count; i++)
        rp_dag_set_weight(&dag->graph, dag->unsure[i].edge, dag->unsure[i].most_ns);
    rc = rp_dag_scenarios(dag, trace, s, r->what_if_count, NULL, err);
    for (size_t i = 0; i < r->what_if_count && rc == 0; i++) {
        struct rp_dag_what_if *w = &r->what_ifs[i];
        int64_t most_ns = s[i].end_ns - dag->start_ns;
        /* Not all of them lasted so long: with the true ones the program took what is recorded, and
         * nothing gets slower when a kernel gets faster. */
        most_ns = most_ns < r->makespan_ns ? most_ns : r->makespan_ns;
        w->most_ns = most_ns > w->most_ns ? most_ns : w->most_ns;
    }
    return rc;
}

static int put_least(struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct rp_dag_scenario *s, struct rp_dag_result *r, struct rp_err *err)
{
    int rc;

    for (size_t i = 0; i < dag->unsure_count; i++)
        rp_dag_set_weight(&dag->graph, dag->unsure[i].edge, 0);
    rc = rp_dag_scenarios(dag, trace, s, r->what_if_count, NULL, err);
    for (size_t i = 0; i < r->what_if_count && rc == 0; i++)
        if (s[i].end_ns - dag->start_ns < r->what_ifs[i].least_ns)
            r->what_ifs[i].least_ns = s[i].end_ns - dag->start_ns;
    return rc;
}

int rp_dag_doubts(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_result *ret,
                  struct rp_err *err)
{
    rp_autofree bool *of_process = calloc(trace->process_count + 1, sizeof *of_process);
    rp_autofree struct rp_dag_scenario *s = NULL;
    bool any;
    int rc;

    if (!of_process)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    any = find_guesses(dag, trace, of_process);
    for (size_t i = 0; i < ret->what_if_count; i++) {
        struct rp_dag_what_if *w = &ret->what_ifs[i];
        w->least_ns = w->makespan_ns;
        w->most_ns = any ? ret->makespan_ns : w->makespan_ns;
    }
    if (!any && !dag->unsure_count)
        return 0;
    rc = scenarios_of(trace, ret, &s, err);
    if (rc == 0 && !any)
        rc = put_most(dag, trace, s, ret, err);
    if (rc == 0 && any)
        relax_all(dag, trace, of_process);
    return rc < 0 ? rc : put_least(dag, trace, s, ret, err);
}
