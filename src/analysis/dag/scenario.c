#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Scenarios of one sweep: the edges are read once for all of them. */
enum { LANES = 8 };

static int64_t scaled(int64_t duration_ns, const struct rp_dag_scenario *s)
{
    /* No trace is longer than a year (build.c): the product fits. */
    return s->num ? (duration_ns * s->den + s->num / 2) / s->num : 0;
}

/* Symbol of the kernel whose duration an edge from this point is, or RP_DAG_NONE. */
static uint32_t symbol_from(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                            uint32_t point)
{
    uint32_t owner = dag->owner[point];
    const struct rp_dag_activity *a = owner == RP_DAG_NONE ? NULL : &dag->activities[owner];

    if (!a || !a->is_op || trace->processes[a->process].ops[a->index].is_copy)
        return RP_DAG_NONE;
    return trace->processes[a->process].ops[a->index].symbol;
}

/* ThreadSanitizer is not ready yet when the program chooses among the clones. */
#if defined(__SANITIZE_THREAD__) || defined(__clang__)
#define CPU_LEVELS
#else
#define CPU_LEVELS __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

/* touched: per symbol, whether a scenario of this sweep changes it. */
CPU_LEVELS static void sweep(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                             struct rp_dag_scenario *s, size_t count, const bool *touched,
                             int64_t (*time)[LANES])
{
    const struct rp_dag_graph *g = &dag->graph;
    int64_t end[LANES];

    for (int k = 0; k < LANES; k++)
        end[k] = INT64_MIN;
    for (uint32_t p = 0; p < g->point_count; p++) {
        bool is_root = g->first[p] == g->first[p + 1];
        int64_t latest[LANES];
        for (int k = 0; k < LANES; k++)
            latest[k] = is_root ? g->time_ns[p] : INT64_MIN;
        for (uint32_t e = g->first[p]; e < g->first[p + 1]; e++) {
            const int64_t *from = time[g->from[e]];
            int64_t weight_ns = g->weight_ns[e], t[LANES];
            for (int k = 0; k < LANES; k++)
                t[k] = from[k] + weight_ns;
            if (g->class[e] == RP_DAG_DURATION) {
                uint32_t symbol = symbol_from(dag, trace, g->from[e]);
                for (size_t k = 0; symbol != RP_DAG_NONE && touched[symbol] && k < count; k++)
                    if (s[k].symbol == symbol)
                        t[k] = from[k] + scaled(weight_ns, &s[k]);
            }
            for (int k = 0; k < LANES; k++)
                latest[k] = t[k] > latest[k] ? t[k] : latest[k];
        }
        for (int k = 0; k < LANES; k++) {
            time[p][k] = latest[k];
            end[k] = latest[k] > end[k] ? latest[k] : end[k];
        }
    }
    for (size_t k = 0; k < count; k++)
        s[k].end_ns = end[k];
}

int rp_dag_scenarios(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct rp_dag_scenario *scenarios, size_t count, struct rp_err *err)
{
    rp_autofree int64_t(*time)[LANES] = malloc(dag->graph.point_count * sizeof *time);
    rp_autofree bool *touched = malloc(trace->symbol_count * sizeof *touched);

    if (!time || !touched)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i += LANES) {
        size_t here = count - i < LANES ? count - i : LANES;
        memset(touched, 0, trace->symbol_count * sizeof *touched);
        for (size_t k = 0; k < here; k++)
            touched[scenarios[i + k].symbol] = true;
        sweep(dag, trace, scenarios + i, here, touched, time);
    }
    return 0;
}
