#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/work_progress.h"

/* Scenarios of one sweep, of few and of many: the edges are read once for all of them. */
enum { WORDS = RP_DAG_SCENARIOS_PER_SYMBOL, FEW = 3, MANY = 9 };

/* Written as vectors because the compiler does not see that slots are apart. */
typedef int64_t vector __attribute__((vector_size(WORDS * sizeof(int64_t)), aligned(8)));

/* Scenarios of a symbol follow each other. */
struct range {
    uint8_t first, count;
};

static int64_t scaled(int64_t duration_ns, const struct rp_dag_scenario *s)
{
    /* No trace is longer than a year (build.c): the product fits. */
    return s->num ? (duration_ns * s->den + s->num / 2) / s->num : 0;
}

/* Symbol of the kernel whose duration an edge from this point is, or RP_DAG_NONE. */
static uint32_t symbol_from(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                            uint32_t point)
{
    const struct rp_dag_op *op;

    if (!rp_dag_is_op(dag->owner[point]))
        return RP_DAG_NONE;
    op = rp_dag_op_of(trace, dag->owner[point]);
    return op->is_copy ? RP_DAG_NONE : op->symbol;
}

/* ThreadSanitizer is not ready yet when the program chooses among the clones. */
#if defined(__SANITIZE_THREAD__) || defined(__clang__)
#define CPU_LEVELS
#else
#define CPU_LEVELS __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

static inline __attribute__((always_inline)) void raise_to(vector *at, const vector *time)
{
    vector is_later = *time > *at;

    *at = (*time & is_later) | (*at & ~is_later);
}

/* The weights of a kernel's duration in the two vectors from the one on that its symbol's first
 * scenario is in; a symbol has no more than WORDS of them. */
static inline __attribute__((always_inline)) void
scale(int64_t weight_ns, const struct rp_dag_scenario *s, struct range touched, vector ret[2])
{
    int64_t weights[2 * WORDS];

    for (size_t k = 0; k < 2 * WORDS; k++)
        weights[k] = weight_ns;
    for (size_t k = 0; k < touched.count; k++)
        weights[touched.first % WORDS + k] = scaled(weight_ns, &s[touched.first + k]);
    memcpy(ret, weights, sizeof weights);
}

/* touched: per symbol, which scenarios of this sweep change it. time: vectors per slot. */
static inline __attribute__((always_inline)) void
sweep(const struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_scenario *s,
      size_t count, const struct range *touched, vector *time, const int vectors)
{
    const struct rp_dag_graph *g = &dag->graph;
    vector end[MANY];

    for (int v = 0; v < vectors; v++)
        end[v] = (vector){0} + INT64_MIN;
    for (uint32_t p = 0, e = 0; p < g->point_count; p++) {
        const uint32_t last = rp_dag_first(g, p + 1);
        int64_t none = e == last ? g->time_ns[p] : INT64_MIN;
        vector at[MANY];
        for (int v = 0; v < vectors; v++)
            at[v] = (vector){0} + none;
        for (; e < last; e++) {
            const vector *from = time + (size_t)rp_dag_slot(&dag->slots, g->from[e]) * vectors;
            int64_t weight_ns = rp_dag_weight(g, e);
            uint32_t symbol = RP_DAG_NONE;
            if (rp_dag_class_of(g, e) == RP_DAG_DURATION)
                symbol = symbol_from(dag, trace, g->from[e]);
            if (symbol != RP_DAG_NONE && touched[symbol].count) {
                int first = touched[symbol].first / WORDS;
                vector weights[2];
                scale(weight_ns, s, touched[symbol], weights);
                for (int v = 0; v < vectors; v++) {
                    vector t = from[v] + weight_ns;
                    if (v == first || v == first + 1)
                        t = from[v] + weights[v - first];
                    raise_to(&at[v], &t);
                }
                continue;
            }
            for (int v = 0; v < vectors; v++) {
                vector t = from[v] + weight_ns;
                raise_to(&at[v], &t);
            }
        }
        for (int v = 0; v < vectors; v++) {
            time[(size_t)rp_dag_slot(&dag->slots, p) * vectors + v] = at[v];
            raise_to(&end[v], &at[v]);
        }
    }
    for (size_t k = 0; k < count; k++)
        s[k].end_ns = end[k / WORDS][k % WORDS];
}

static CPU_LEVELS void sweep_few(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                 struct rp_dag_scenario *s, size_t count,
                                 const struct range *touched, vector *time)
{
    sweep(dag, trace, s, count, touched, time, FEW);
}

static CPU_LEVELS void sweep_many(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                  struct rp_dag_scenario *s, size_t count,
                                  const struct range *touched, vector *time)
{
    sweep(dag, trace, s, count, touched, time, MANY);
}

int rp_dag_scenarios(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct rp_dag_scenario *scenarios, size_t count, const struct rp_work *work,
                     struct rp_err *err)
{
    const size_t vectors = count > FEW * WORDS ? MANY : FEW, lanes = vectors * WORDS;
    rp_autofree vector *time = calloc((dag->slots.count + 1) * vectors, sizeof *time);
    rp_autofree struct range *touched = malloc((trace->symbol_count + 1) * sizeof *touched);

    if (!time || !touched)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i += lanes) {
        size_t here = count - i < lanes ? count - i : lanes;

        rp_work_at(work, RP_WORK_WHAT_IFS, (double)i / (double)count);
        memset(touched, 0, trace->symbol_count * sizeof *touched);
        for (size_t k = 0; k < here; k++) {
            struct range *range = &touched[scenarios[i + k].symbol];
            if (!range->count)
                range->first = (uint8_t)k;
            range->count++;
        }
        (vectors == MANY ? sweep_many : sweep_few)(dag, trace, scenarios + i, here, touched, time);
    }
    return 0;
}
