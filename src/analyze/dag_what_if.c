/* Computes the end-to-end time of changed DAGs, several at a time. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag_graph.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/work_progress.h"

/* One sweep has a few or many scenarios, because the edges are read once for all of them. */
enum { WORDS = RP_DAG_SCENARIOS_PER_SYMBOL, FEW = 3, MANY = 9 };

/* It is written with vectors because the compiler does not see that slots do not overlap. */
typedef int64_t vector __attribute__((vector_size(WORDS * sizeof(int64_t)), aligned(8)));

/* Scenarios of a symbol follow each other. */
struct range {
    uint8_t first, count;
};

static int64_t scaled(int64_t duration_ns, const struct rp_dag_scenario *s)
{
    /* No trace is longer than a year (dag_build.c), so the product fits. */
    return s->num ? (duration_ns * s->den + s->num / 2) / s->num : 0;
}

/* Returns the symbol of the kernel whose duration an edge from this point is, or RP_DAG_NONE. */
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

/* Computes the weights of a kernel's duration in two vectors, from that of its symbol's first
 * scenario on; a symbol has no more than WORDS of them. */
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

/* touched says per symbol which scenarios of this sweep change it, and time has vectors per slot.
 */
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
        return rp_out_of_memory(err);
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

/** Says what an edge stands for, finer than its class. */
enum rp_dag_kind {
    RP_DAG_KIND_STREAM,
    RP_DAG_KIND_EVENT,
    RP_DAG_KIND_NULL_STREAM,
    RP_DAG_KIND_COLLECTIVE,
    RP_DAG_KIND_QUEUE,
    RP_DAG_KIND_SYNC,
    RP_DAG_KIND_LAUNCH,
    RP_DAG_KIND_HOST_GAP,
    RP_DAG_KIND_KERNEL,
    RP_DAG_KIND_COPY,
    RP_DAG_KIND_CALL,
    RP_DAG_KIND_UNKNOWN,
    RP_DAG_KIND_CAPTURED_GAP,  /**< before a call that a graph would save: RP_DAG_CAPTURED */
    RP_DAG_KIND_CAPTURED_CALL, /**< of such a call */
    RP_DAG_KIND_MARKED,        /**< this and those behind it: edges that the caller lists */
    RP_DAG_KIND_COUNT = RP_DAG_KIND_MARKED + 8
};

enum { RP_DAG_VARIANTS = 8 };

/** Kinds are bits: 1 << enum rp_dag_kind. */
struct rp_dag_variant {
    uint32_t without_time; /**< weigh nothing */
    uint32_t without;      /**< do not hold */
    int64_t end_ns;        /**< result: the last time of all points */
};

/** These edges have a kind of their own instead of their class's, in ascending order. */
struct rp_dag_marked {
    uint32_t edge;
    uint32_t kind; /**< RP_DAG_KIND_MARKED and up */
};

/* It is written with vectors because the compiler does not see that slots do not overlap. */
typedef int64_t lanes_vector
    __attribute__((vector_size(RP_DAG_VARIANTS * sizeof(int64_t)), aligned(8)));

/* Says per kind and lane which bits of the weight count, and what is added to it. */
struct table {
    lanes_vector mask[RP_DAG_KIND_COUNT];
    lanes_vector bias[RP_DAG_KIND_COUNT];
};

static enum rp_dag_kind kind_of_duration(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                         uint32_t from)
{
    uint32_t owner = dag->owner[from];

    if (owner == RP_DAG_NONE)
        return RP_DAG_KIND_UNKNOWN;
    if (rp_dag_is_call(owner))
        return dag->flags[from] & RP_DAG_CAPTURED ? RP_DAG_KIND_CAPTURED_CALL : RP_DAG_KIND_CALL;
    return rp_dag_op_of(trace, owner)->is_copy ? RP_DAG_KIND_COPY : RP_DAG_KIND_KERNEL;
}

static enum rp_dag_kind kind_of(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                uint32_t e, uint32_t to)
{
    switch (rp_dag_class_of(&dag->graph, e)) {
    case RP_DAG_STREAM:
        return RP_DAG_KIND_STREAM;
    case RP_DAG_EVENT:
        return RP_DAG_KIND_EVENT;
    case RP_DAG_NULL_STREAM:
        return RP_DAG_KIND_NULL_STREAM;
    case RP_DAG_COLLECTIVE:
        return RP_DAG_KIND_COLLECTIVE;
    case RP_DAG_QUEUE:
        return RP_DAG_KIND_QUEUE;
    case RP_DAG_SYNC:
        return RP_DAG_KIND_SYNC;
    case RP_DAG_LAUNCH:
        return RP_DAG_KIND_LAUNCH;
    case RP_DAG_HOST_GAP:
        return dag->flags[to] & RP_DAG_CAPTURED ? RP_DAG_KIND_CAPTURED_GAP : RP_DAG_KIND_HOST_GAP;
    case RP_DAG_DURATION:
        return kind_of_duration(dag, trace, dag->graph.from[e]);
    case RP_DAG_UNKNOWN:
    case RP_DAG_CLASS_COUNT:
        break;
    }
    return RP_DAG_KIND_UNKNOWN;
}

static void fill_table(const struct rp_dag_variant *lanes, size_t count, struct table *ret)
{
    for (size_t kind = 0; kind < RP_DAG_KIND_COUNT; kind++)
        for (size_t k = 0; k < RP_DAG_VARIANTS; k++) {
            bool timed = k >= count || !(lanes[k].without_time >> kind & 1);
            bool holds = k >= count || !(lanes[k].without >> kind & 1);
            ret->mask[kind][k] = timed && holds ? -1 : 0;
            ret->bias[kind][k] = holds ? 0 : RP_DAG_DROPPED_NS;
        }
}

/* time has an entry per slot. */
static CPU_LEVELS void lanes_sweep(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                   const struct table *table, const struct rp_dag_marked *marked,
                                   size_t marked_count, lanes_vector *time, lanes_vector *ret_end)
{
    const struct rp_dag_graph *g = &dag->graph;
    size_t next = 0;
    lanes_vector end = (lanes_vector){0} + dag->start_ns;

    for (uint32_t p = 0; p < g->point_count; p++) {
        lanes_vector at = (lanes_vector){0} + dag->start_ns, is_later;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            int64_t weight_ns = rp_dag_weight(g, e);
            uint32_t kind;
            lanes_vector t;
            if (weight_ns == RP_DAG_DROPPED_NS)
                continue;
            kind = kind_of(dag, trace, e, p);
            while (next < marked_count && marked[next].edge < e)
                next++;
            if (next < marked_count && marked[next].edge == e)
                kind = marked[next].kind;
            t = time[rp_dag_slot(&dag->slots, g->from[e])] + (weight_ns & table->mask[kind]) +
                table->bias[kind];
            is_later = t > at;
            at = (t & is_later) | (at & ~is_later);
        }
        time[rp_dag_slot(&dag->slots, p)] = at;
        is_later = at > end;
        end = (at & is_later) | (end & ~is_later);
    }
    *ret_end = end;
}

/** Computes at most RP_DAG_VARIANTS lanes. Nothing comes before the start of the trace, whatever is
 * left out. */
static int dag_variants(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                        struct rp_dag_variant *lanes, size_t lane_count,
                        const struct rp_dag_marked *marked, size_t marked_count, struct rp_err *err)
{
    rp_autofree lanes_vector *time = calloc(dag->slots.count + 1, sizeof *time);
    rp_autofree struct table *table = malloc(sizeof *table);
    lanes_vector end;

    if (!time || !table)
        return rp_out_of_memory(err);
    fill_table(lanes, lane_count, table);
    lanes_sweep(dag, trace, table, marked, marked_count, time, &end);
    for (size_t k = 0; k < lane_count; k++)
        lanes[k].end_ns = end[k];
    return 0;
}

#define KIND(k) (1u << RP_DAG_KIND_##k)

static const struct rp_dag_variant rules[RP_DAG_LIMIT_COUNT] = {
#define RP_DAG_LIMIT(id, no_time, not_there)                                                       \
    [RP_DAG_LIMIT_##id] = {.without_time = (no_time), .without = (not_there)},
#include "analyze/dag_limits.def"
#undef RP_DAG_LIMIT
};

static const struct rp_dag_variant true_span = {
    .without_time = ((1u << RP_DAG_KIND_COUNT) - 1) & ~(KIND(KERNEL) | KIND(COPY)),
    .without = KIND(QUEUE),
};

static_assert((int)RP_DAG_LIMIT_COUNT < (int)RP_DAG_VARIANTS, "limits and true span are one sweep");

const char *const rp_dag_limit_names[RP_DAG_LIMIT_COUNT] = {
#define RP_DAG_LIMIT(id, no_time, not_there) [RP_DAG_LIMIT_##id] = #id,
#include "analyze/dag_limits.def"
#undef RP_DAG_LIMIT
};

/* --- graph capture -------------------------------------------------------------------------- */

enum chain { NO_CHAIN, IN_CHAIN };

/* Says whether the call ends the chain of calls that one graph could hold, is one of them, or
 * neither. */
enum role { ENDS_CHAIN, CAPTURED, NEUTRAL };

static enum role role_of(const struct rp_dag *dag, uint32_t end, const struct rp_dag_call *call)
{
    if (dag->flags[end] & RP_DAG_BLOCKED)
        return ENDS_CHAIN;
    switch ((enum rp_dag_call_kind)call->kind) {
    case RP_DAG_CALL_EVENT_RECORD:
    case RP_DAG_CALL_STREAM_WAIT:
        return CAPTURED;
    case RP_DAG_CALL_NEUTRAL:
        return NEUTRAL;
    case RP_DAG_CALL_OTHER:
        return call->op_count ? CAPTURED : ENDS_CHAIN;
    case RP_DAG_CALL_EVENT_QUERY:
    case RP_DAG_CALL_STREAM_QUERY:
    case RP_DAG_CALL_EVENT_POLL:
    case RP_DAG_CALL_STREAM_POLL:
    case RP_DAG_CALL_EVENT_SYNC:
    case RP_DAG_CALL_STREAM_SYNC:
    case RP_DAG_CALL_DEVICE_SYNC:
    case RP_DAG_CALL_STREAM_CREATE:
    case RP_DAG_CALL_OWN_SYNC:
    case RP_DAG_CALL_MAYBE_SYNC:
        return ENDS_CHAIN;
    }
    return ENDS_CHAIN;
}

/* Marks each thread's calls between two that wait, except the first that starts something. */
static int mark_captured(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_err *err)
{
    rp_autofree size_t *first = malloc((trace->process_count + 1) * sizeof *first);
    rp_autofree uint8_t *chains = NULL;
    size_t threads = 0;

    for (size_t i = 0; first && i < trace->process_count; i++) {
        first[i] = threads;
        threads += trace->processes[i].thread_count;
    }
    chains = calloc(threads + 1, sizeof *chains);
    if (!first || !chains)
        return rp_out_of_memory(err);
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        const struct rp_dag_call *call;
        enum role role;
        uint8_t *chain;

        /* Calls of one thread end in the order in which they began. */
        if (!rp_dag_is_call(dag->owner[p]) || !rp_dag_is_end(dag, p))
            continue;
        call = rp_dag_call_of(trace, dag->owner[p]);
        chain = &chains[first[rp_dag_process_of(trace, dag->owner[p])] + call->thread];
        role = role_of(dag, p, call);
        if (*chain == IN_CHAIN && role != ENDS_CHAIN)
            dag->flags[dag->graph.from[rp_dag_first(&dag->graph, p)]] |= RP_DAG_CAPTURED;
        if (role != NEUTRAL)
            *chain = role == CAPTURED ? IN_CHAIN : NO_CHAIN;
    }
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

int rp_dag_limits(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_result *ret,
                  struct rp_err *err)
{
    struct rp_dag_variant lanes[RP_DAG_LIMIT_COUNT + 1];
    int rc = mark_captured(dag, trace, err);

    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++)
        lanes[i] = rules[i];
    lanes[RP_DAG_LIMIT_COUNT] = true_span;
    if (rc == 0)
        rc = dag_variants(dag, trace, lanes, RP_DAG_LIMIT_COUNT + 1, NULL, 0, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++)
        ret->limit_ns[i] = lanes[i].end_ns - dag->start_ns;
    ret->true_span_ns = lanes[RP_DAG_LIMIT_COUNT].end_ns - dag->start_ns;
    return 0;
}

static_assert((int)RP_DAG_KIND_COUNT - (int)RP_DAG_KIND_MARKED == (int)RP_DAG_VARIANTS,
              "a kind for each pair");

/* This is an edge of class queue that held back an operation which would have run at the same time.
 */
struct wait {
    uint32_t edge, pair;
};

/* Holds all waits of two symbols. */
struct pair {
    uint32_t first, second;
    uint32_t number; /**< in the order in which they were found */
    uint64_t count;
    int64_t waited_ns;
};

struct waits {
    struct wait *list;
    size_t count, room;
    struct rp_idmap symbols; /**< the pairs' */
    struct pair *pairs;      /**< by number */
    size_t pair_room;
};

/* Returns the pair of two symbols, or NULL when memory has ended. */
static struct pair *pair_of(struct waits *w, uint32_t first, uint32_t second)
{
    uint32_t before = w->symbols.count;
    uint32_t number = rp_idmap_add(&w->symbols, (uint64_t)first << 32 | second);

    if (number == RP_NO_NUMBER)
        return NULL;
    if (number == before) {
        if (!rp_dag_room(&w->pairs, number, &w->pair_room, sizeof *w->pairs))
            return NULL;
        w->pairs[number] = (struct pair){.first = first, .second = second, .number = number};
    }
    return &w->pairs[number];
}

static bool add_wait(struct waits *w, uint32_t first, uint32_t second, uint32_t edge, int64_t ns)
{
    struct pair *pair = pair_of(w, first, second);

    if (!pair || !rp_dag_room(&w->list, w->count, &w->room, sizeof *w->list))
        return false;
    pair->count++;
    pair->waited_ns += ns;
    w->list[w->count++] = (struct wait){edge, pair->number};
    return true;
}

static const struct rp_dag_op *op_at(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                     uint32_t point)
{
    return rp_dag_is_op(dag->owner[point]) ? rp_dag_op_of(trace, dag->owner[point]) : NULL;
}

/* Returns the end of the operation that a packet is behind, because markers wait for something
 * themselves. There is none when that is the host. */
static uint32_t blocker(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t point)
{
    const struct rp_dag_graph *g = &dag->graph;

    while (dag->owner[point] == RP_DAG_NONE) {
        uint32_t e = rp_dag_binding(g, point);
        if (e == RP_DAG_NO_POINT)
            return RP_DAG_NONE;
        point = g->from[e];
    }
    return op_at(dag, trace, point) ? point : RP_DAG_NONE;
}

/* Returns how much earlier a point could be without one of its edges. */
static int64_t held_back(const struct rp_dag_graph *g, uint32_t point, uint32_t edge)
{
    int64_t latest = INT64_MIN;

    for (uint32_t e = rp_dag_first(g, point); e < rp_dag_first(g, point + 1); e++) {
        int64_t t = g->time_ns[g->from[e]] + rp_dag_weight(g, e);
        if (e != edge && t > latest)
            latest = t;
    }
    return latest < g->time_ns[point] ? g->time_ns[point] - latest : 0;
}

/* This is the graph without the edges of class queue, as far as the sweep has come. */
struct unshared {
    int64_t *time_ns; /**< per slot */
    int64_t *end_ns;  /**< per operation */
    int64_t first_ns, last_ns;
};

/* Returns when a point is reached at the earliest. A point that only queues hold keeps its time.
 * The remaining edges of other points may all be dropped ones, but nothing is before the first
 * point. */
static int64_t unshared_at(const struct rp_dag *dag, const struct unshared *u, uint32_t p)
{
    const struct rp_dag_graph *g = &dag->graph;
    int64_t latest_ns = INT64_MIN;

    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
        int64_t t = u->time_ns[rp_dag_slot(&dag->slots, g->from[e])] + rp_dag_weight(g, e);
        if (t > latest_ns && rp_dag_class_of(g, e) != RP_DAG_QUEUE)
            latest_ns = t;
    }
    if (latest_ns == INT64_MIN)
        return g->time_ns[p];
    return latest_ns > u->first_ns ? latest_ns : u->first_ns;
}

/* Notes an edge into the start of an operation when it held that operation back, and both would
 * have run at the same time with queues of their own: then no true dependency leads from one to the
 * other. */
static bool note(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 const struct unshared *u, int64_t start_ns, uint32_t to, uint32_t edge,
                 struct waits *waits)
{
    const struct rp_dag_op *second = op_at(dag, trace, to), *first;
    int64_t held_ns = held_back(&dag->graph, to, edge);
    uint32_t from;

    if (!second || held_ns <= 0 ||
        (from = blocker(dag, trace, dag->graph.from[edge])) == RP_DAG_NONE)
        return true;
    first = op_at(dag, trace, from);
    if (first->is_copy || second->is_copy ||
        start_ns >= u->end_ns[dag->owner[from] & ~(uint32_t)RP_DAG_OP_BIT])
        return true;
    return add_wait(waits, first->symbol, second->symbol, edge, held_ns);
}

static bool pairs_sweep(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                        struct unshared *u, struct waits *ret)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = 0; p < g->point_count; p++) {
        int64_t here_ns = unshared_at(dag, u, p);
        u->time_ns[rp_dag_slot(&dag->slots, p)] = here_ns;
        u->last_ns = here_ns > u->last_ns ? here_ns : u->last_ns;
        if (!rp_dag_is_op(dag->owner[p]))
            continue;
        if (!(dag->flags[p] & RP_DAG_OP_START)) {
            u->end_ns[dag->owner[p] & ~(uint32_t)RP_DAG_OP_BIT] = here_ns;
            continue;
        }
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            if (rp_dag_class_of(g, e) == RP_DAG_QUEUE && rp_dag_weight(g, e) != RP_DAG_DROPPED_NS &&
                !note(dag, trace, u, here_ns, p, e, ret))
                return false;
    }
    return true;
}

static int find_waits(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      int64_t *ret_end_ns, struct waits *ret, struct rp_err *err)
{
    rp_autofree int64_t *time_ns = malloc((dag->slots.count + 1) * sizeof *time_ns);
    rp_autofree int64_t *end_ns = malloc((dag->op_count + 1) * sizeof *end_ns);
    struct unshared u = {time_ns, end_ns, dag->graph.time_ns[0], INT64_MIN};

    if (!time_ns || !end_ns || !pairs_sweep(dag, trace, &u, ret))
        return rp_out_of_memory(err);
    *ret_end_ns = u.last_ns;
    return 0;
}

/* --- the pairs that waited longest ---------------------------------------------------------- */

static int by_wait(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

/* Marks the edges of the first pairs, each with its pair's kind. Edges were found in ascending
 * order. */
static size_t mark(const struct waits *waits, size_t count, struct rp_dag_marked *ret)
{
    size_t marked = 0;

    for (size_t i = 0; i < waits->count; i++)
        for (size_t k = 0; k < count; k++)
            if (waits->list[i].pair == waits->pairs[k].number)
                ret[marked++] =
                    (struct rp_dag_marked){waits->list[i].edge, RP_DAG_KIND_MARKED + (uint32_t)k};
    return marked;
}

static int by_gain(const void *a, const void *b)
{
    const struct rp_dag_pair *x = a, *y = b;
    int order;

    if (x->gain_ns != y->gain_ns)
        return x->gain_ns > y->gain_ns ? -1 : 1;
    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    order = strcmp(x->first, y->first);
    return order ? order : strcmp(x->second, y->second);
}

static int put_pairs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct waits *waits, struct rp_dag_result *ret, struct rp_err *err)
{
    rp_autofree struct rp_dag_marked *marked = malloc((waits->count + 1) * sizeof *marked);
    size_t count = waits->symbols.count < RP_DAG_VARIANTS ? waits->symbols.count : RP_DAG_VARIANTS;
    struct rp_dag_variant lanes[RP_DAG_VARIANTS] = {0};
    const struct pair *pairs = waits->pairs;
    size_t marked_count;
    int rc;

    ret->pairs = malloc((count + 1) * sizeof *ret->pairs);
    if (!marked || !ret->pairs)
        return rp_out_of_memory(err);
    qsort(waits->pairs, waits->symbols.count, sizeof *waits->pairs, by_wait);
    marked_count = mark(waits, count, marked);
    for (size_t k = 0; k < count; k++)
        lanes[k].without = 1u << (RP_DAG_KIND_MARKED + k);
    rc = dag_variants(dag, trace, lanes, count, marked, marked_count, err);
    if (rc < 0)
        return rc;
    for (size_t k = 0; k < count; k++)
        ret->pairs[k] = (struct rp_dag_pair){
            .first = trace->symbols[pairs[k].first],
            .second = trace->symbols[pairs[k].second],
            .count = pairs[k].count,
            .waited_ns = pairs[k].waited_ns,
            .gain_ns = dag->end_ns - lanes[k].end_ns,
        };
    ret->pair_count = count;
    qsort(ret->pairs, count, sizeof *ret->pairs, by_gain);
    return 0;
}

int rp_dag_pairs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 struct rp_dag_result *ret, struct rp_err *err)
{
    struct waits waits = {0};
    int64_t end_ns = 0;
    int rc = find_waits(dag, trace, &end_ns, &waits, err);

    if (rc == 0)
        ret->unshared_queues_ns = end_ns - dag->start_ns;
    if (rc == 0 && waits.count)
        rc = put_pairs(dag, trace, &waits, ret, err);
    free(waits.list);
    free(waits.pairs);
    rp_idmap_free(&waits.symbols);
    return rc;
}

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

/* In processes with guessed dependencies, any operation, and any call that waited, may have waited
 * for something else than the graph says.
 * @return whether there are any */
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
        case RP_DAG_DURATION: /* A call that waited keeps the cost that it has by itself. */
        case RP_DAG_CLASS_COUNT:
            continue;
        case RP_DAG_STREAM:
        case RP_DAG_QUEUE:
        case RP_DAG_NULL_STREAM:
        case RP_DAG_LAUNCH:
            break;
        /* It is not before the trace begins, but where the GPU was busy tells nothing. */
        case RP_DAG_UNKNOWN:
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
        return rp_out_of_memory(err);
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
        /* Not all of them lasted so long: with the true durations the program took the recorded
         * time, and nothing gets slower when a kernel gets faster. */
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

int rp_dag_what_if_bounds(struct rp_dag *dag, const struct rp_dag_trace *trace,
                          struct rp_dag_result *ret, struct rp_err *err)
{
    rp_autofree bool *of_process = calloc(trace->process_count + 1, sizeof *of_process);
    rp_autofree struct rp_dag_scenario *s = NULL;
    bool any;
    int rc;

    if (!of_process)
        return rp_out_of_memory(err);
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
