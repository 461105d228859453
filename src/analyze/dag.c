#include "analyze/dag.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag_graph.h"
#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/work_progress.h"
#include "trace/records.h"

/* Holds the values of a row that a clip belongs to. */
struct target {
    struct rp_dag_times recorded;
    int64_t dispatch_id, took_ns;
    uint32_t guid_index;
};

static int by_times(const void *a, const void *b)
{
    const struct target *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    if (x->recorded.start_ns != y->recorded.start_ns)
        return x->recorded.start_ns < y->recorded.start_ns ? -1 : 1;
    return (x->recorded.end_ns > y->recorded.end_ns) - (x->recorded.end_ns < y->recorded.end_ns);
}

struct finding {
    struct target *targets;
    size_t target_count;
    struct rp_corrected_end *ends;
    size_t end_count, room;
};

static int find_row(void *ctx, const void *row, struct rp_err *err)
{
    struct finding *f = ctx;
    const struct rp_row_dispatch *d = row;
    const struct target key = {.recorded = {d->start_ns, d->end_ns}, .guid_index = d->guid_index};
    const struct target *found = bsearch(&key, f->targets, f->target_count, sizeof key, by_times);

    if (!found)
        return 0;
    if (f->end_count == f->room) {
        size_t room = f->room ? f->room * 2 : 64;
        struct rp_corrected_end *grown = reallocarray(f->ends, room, sizeof *grown);
        if (!grown)
            return rp_out_of_memory(err);
        f->ends = grown;
        f->room = room;
    }
    f->ends[f->end_count++] = (struct rp_corrected_end){
        .id = d->id,
        .dispatch_id = found->dispatch_id,
        .recorded_ns = d->end_ns - d->start_ns,
        .took_ns = found->took_ns,
        .guid_index = d->guid_index,
    };
    return 0;
}

static int by_row(const void *a, const void *b)
{
    const struct rp_corrected_end *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Lists kernels of the store that are clipped. A kernel without any end takes no time anyway. */
static size_t list_targets(const struct rp_dag_trace *trace, const struct rp_store *store,
                           struct target *list)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->clip_count; i++) {
        const struct rp_dag_clip *clip = &trace->clips[i];
        const struct rp_dag_process *p = &trace->processes[clip->process];
        const struct rp_dag_op *op = &p->ops[clip->op];
        if (p->from.store != store || op->is_copy || op->end_lost || !op->is_wrong)
            continue;
        list[count++] = (struct target){.recorded = clip->recorded,
                                        .dispatch_id = rp_dag_row_id(p, clip->op),
                                        .took_ns = clip->took_ns,
                                        .guid_index = p->from.guid_index};
    }
    qsort(list, count, sizeof *list, by_times);
    return count;
}

static int tell(const struct rp_dag_trace *trace, struct rp_store *store, struct rp_err *err)
{
    rp_autofree struct target *targets = calloc(trace->clip_count + 1, sizeof *targets);
    struct finding f = {.targets = targets};
    int rc = 0;

    if (!targets)
        return rp_out_of_memory(err);
    f.target_count = list_targets(trace, store, targets);
    if (f.target_count)
        rc = rp_store_each_work(store, find_row, &f, err);
    if (rc < 0) {
        free(f.ends);
        return rc;
    }
    if (f.end_count)
        qsort(f.ends, f.end_count, sizeof *f.ends, by_row);
    rp_store_set_corrected_ends(store, f.ends, f.end_count);
    return 0;
}

/** Call it when clips are counted (dag_graph.h): from then on all sums over dispatches of the
 * stores have the assumed times instead of the recorded ones. */
static int dag_store_clips(const struct rp_dag_trace *trace, struct rp_store *const *stores,
                           size_t count, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = tell(trace, stores[i], err);
    return rc;
}

/* --- without the graph ------------------------------------------------------------------------ */

static int find(struct rp_store *store, struct rp_err *err)
{
    struct rp_dag_trace trace = {0};
    struct rp_dag_result facts = {0};
    int rc = rp_dag_trace_load(&store, 1, NULL, &trace, err);

    if (rc == 0) {
        facts.processes = calloc(trace.process_count + 1, sizeof *facts.processes);
        rc = facts.processes ? rp_dag_clip_in_queues(&trace, err) : rp_out_of_memory(err);
    }
    if (rc == 0)
        rc = rp_dag_fix_skew(&trace, &facts, err);
    if (rc == 0)
        rc = rp_dag_count_clips(&trace, err);
    if (rc == 0)
        rc = dag_store_clips(&trace, &store, 1, err);
    free(facts.processes);
    rp_dag_trace_free(&trace);
    return rc;
}

int rp_clip_late_ends(struct rp_store *const *stores, size_t count, struct rp_err *err)
{
    const struct rp_corrected_end *ends;
    size_t end_count;

    for (size_t i = 0; i < count; i++) {
        struct rp_err why = RP_ERR_INIT;
        int rc;

        if (rp_store_corrected_ends(stores[i], &ends, &end_count))
            continue;
        /* A model stamps no end late. */
        if (rp_store_metadata(stores[i], RP_STORE_TIMING_TAG)) {
            rp_store_set_corrected_ends(stores[i], NULL, 0);
            continue;
        }
        rc = find(stores[i], &why);
        if (rc == -(int)RP_ENVIRONMENT) {
            *err = why;
            return rc;
        }
        if (rc < 0) /* Calls that cannot be read are no reason to refuse the trace's kernels. */
            rp_store_set_corrected_ends(stores[i], NULL, 0);
    }
    return 0;
}

/* Speed-ups are tried for the first kernels on the path, and then for the first in total. */
enum { PATH_SYMBOLS = 8, TOTAL_SYMBOLS = 4 };

static const struct {
    uint32_t num, den;
} factors[] = {{11, 10}, {5, 4}, {3, 2}, {2, 1}, {4, 1}, {0, 0}};
static_assert(sizeof factors / sizeof factors[0] <= RP_DAG_SCENARIOS_PER_SYMBOL, "one sweep");

const char *const rp_dag_part_names[RP_DAG_PART_COUNT] = {
    [RP_DAG_PART_KERNEL] = "kernel",
    [RP_DAG_PART_COPY] = "copy",
    [RP_DAG_PART_HOST_API] = "host_api",
    [RP_DAG_PART_HOST_GAP] = "host_gap",
    [RP_DAG_PART_LAUNCH] = "launch",
    [RP_DAG_PART_STREAM] = "stream",
    [RP_DAG_PART_QUEUE] = "queue",
    [RP_DAG_PART_EVENT] = "event",
    [RP_DAG_PART_NULL_STREAM] = "null_stream",
    [RP_DAG_PART_SYNC] = "sync",
    [RP_DAG_PART_COLLECTIVE] = "collective",
    [RP_DAG_PART_UNKNOWN] = "unknown",
};

const char *const rp_dag_grade_names[RP_DAG_GRADE_COUNT] = {"recorded", "derived", "partial",
                                                            "inferred"};

const char *const rp_dag_class_names[RP_DAG_CLASS_COUNT] = {
    [RP_DAG_STREAM] = "stream",
    [RP_DAG_EVENT] = "event",
    [RP_DAG_NULL_STREAM] = "null_stream",
    [RP_DAG_COLLECTIVE] = "collective",
    [RP_DAG_QUEUE] = "queue",
    [RP_DAG_SYNC] = "sync",
    [RP_DAG_LAUNCH] = "launch",
    [RP_DAG_HOST_GAP] = "host_gap",
    [RP_DAG_DURATION] = "duration",
    [RP_DAG_UNKNOWN] = "unknown",
};

/* --- the path ------------------------------------------------------------------------------- */

static struct rp_dag_step step_of(const struct rp_dag_trace *trace, uint32_t item, int64_t slack_ns,
                                  bool on_path)
{
    const uint32_t process = rp_dag_process_of(trace, item);
    const struct rp_dag_process *p = &trace->processes[process];
    const uint32_t i = (item & ~(uint32_t)RP_DAG_OP_BIT) - p->op_base;
    const struct rp_dag_op *op = &p->ops[i];

    return (struct rp_dag_step){
        .guid = p->guid,
        .name = trace->symbols[op->symbol],
        .id = rp_dag_row_id(p, i),
        .start_ns = op->start_ns,
        .duration_ns = op->end_ns - op->start_ns,
        .slack_ns = slack_ns,
        .process = process,
        .agent = op->agent,
        .waited_for = RP_DAG_NO_STEP,
        .range = RP_DAG_NO_STEP,
        .via = RP_DAG_UNKNOWN,
        .is_copy = op->is_copy,
        .on_path = on_path,
    };
}

/* The critical path has a bit per edge, because its edges follow each other in the order of the
 * graph. */
struct path {
    uint64_t *bits;
};

static bool is_on(const struct path *path, uint32_t e)
{
    return path->bits[e / 64] >> e % 64 & 1;
}

static int find_path(const struct rp_dag *dag, struct path *ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    uint64_t *bits = calloc(g->edge_count / 64 + 1, sizeof *bits);
    uint32_t p = dag->end_point, e;

    if (!bits)
        return rp_out_of_memory(err);
    while ((e = rp_dag_binding(g, p)) != RP_DAG_NO_POINT) {
        bits[e / 64] |= (uint64_t)1 << e % 64;
        p = g->from[e];
    }
    *ret = (struct path){bits};
    return 0;
}

/* On the path only ranks in collectives have slack. */
struct chain_slack {
    size_t link;
    int64_t slack_ns;
};

/* Keeps what is needed of the path's operations until the graph is freed: there may be millions. */
struct chain {
    uint32_t *links; /**< operations */
    size_t count, room;
    struct chain_slack *slacks; /**< where it is not 0, by link */
    size_t slack_count, slack_room;
};

static bool add_link(struct chain *chain, uint32_t item, int64_t slack_ns)
{
    if (!rp_dag_room(&chain->links, chain->count, &chain->room, sizeof *chain->links) ||
        !rp_dag_room(&chain->slacks, chain->slack_count, &chain->slack_room, sizeof *chain->slacks))
        return false;
    if (slack_ns)
        chain->slacks[chain->slack_count++] = (struct chain_slack){chain->count, slack_ns};
    chain->links[chain->count++] = item;
    return true;
}

/* Holds the path's parts, grades and names with their times. */
struct sums {
    struct rp_dag_names names, in_ranges;
    struct rp_dag_ranges *ranges;
    bool *is_kernel; /**< per symbol */
    struct chain *chain;
    bool failed;
};

static void add_to_range(struct sums *sums, uint32_t place, int64_t ns)
{
    const char *range = rp_dag_range_name(sums->ranges, place);

    rp_dag_range_add_path(sums->ranges, place, ns);
    if (range)
        sums->failed |= rp_dag_names_add(&sums->in_ranges, range, ns) < 0;
}

/* Gives each range its part of a stretch of the host, which may begin in one and end in another. */
static void share_stretch(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t e,
                          uint32_t to, struct sums *sums)
{
    const struct rp_dag_graph *g = &dag->graph;
    const int64_t end_ns = g->time_ns[to];

    for (int64_t at_ns = end_ns - rp_dag_weight(g, e); at_ns < end_ns && !sums->failed;) {
        int64_t until_ns = end_ns;
        const uint32_t place = rp_dag_range_of(sums->ranges, dag, trace, e, to, at_ns, &until_ns);

        add_to_range(sums, place, until_ns - at_ns);
        at_ns = until_ns;
    }
}

/* Counts one edge of the path: its time goes to a part, a name and a grade. */
static void count_edge(struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t e,
                       uint32_t to, const int64_t *slack_ns, struct sums *sums,
                       struct rp_dag_result *r)
{
    const struct rp_dag_graph *g = &dag->graph;
    uint32_t item = rp_dag_item_of(dag, e);
    const char *name;
    enum rp_dag_part part = rp_dag_part_of(dag, trace, e, &name);

    if (item != RP_DAG_NONE)
        dag->flags[g->from[e]] |= RP_DAG_ON_PATH;
    if (rp_dag_is_op(item)) {
        sums->failed |= !add_link(sums->chain, item, rp_dag_slack_of(slack_ns, item));
        rp_dag_range_add_path(sums->ranges, rp_dag_range_of_op(sums->ranges, item),
                              rp_dag_weight(g, e));
    } else {
        share_stretch(dag, trace, e, to, sums);
    }
    if (part == RP_DAG_PART_KERNEL)
        sums->is_kernel[rp_dag_op_of(trace, item)->symbol] = true;
    r->path_ns[part] += rp_dag_weight(g, e);
    r->grade_path_ns[rp_dag_grade_of(g, e)] += rp_dag_weight(g, e);
    sums->failed |= rp_dag_names_add(&sums->names, name, rp_dag_weight(g, e)) < 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Such a kernel may wait most of its time for other ranks that are not in the trace, so there is
 * nothing to speed up. */
static bool is_lone_collective(const struct rp_dag_trace *trace, uint32_t symbol)
{
    return trace->process_count == 1 && rp_dag_is_collective(trace->symbols[symbol]);
}

/* Finds the place of a name among the symbols. It returns NULL when the name is none of them. */
static const char **symbol_of(const struct rp_dag_trace *trace, const char *name)
{
    return bsearch(&name, trace->symbols, trace->symbol_count, sizeof *trace->symbols, by_text);
}

static void put_is_kernel(const struct rp_dag_trace *trace, const struct sums *sums,
                          struct rp_dag_result *r)
{
    for (size_t i = 0; i < r->share_count; i++) {
        const char **symbol = symbol_of(trace, r->shares[i].name);
        r->shares[i].is_kernel = symbol && sums->is_kernel[symbol - trace->symbols] &&
                                 !is_lone_collective(trace, (uint32_t)(symbol - trace->symbols));
    }
}

static int put_path(struct rp_dag *dag, const struct rp_dag_trace *trace,
                    struct rp_dag_ranges *ranges, const int64_t *slack_ns, struct chain *chain,
                    struct rp_dag_result *r, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree bool *is_kernel = calloc(trace->symbol_count + 1, sizeof *is_kernel);
    struct sums sums = {.is_kernel = is_kernel, .ranges = ranges, .chain = chain};
    struct path path = {0};
    int rc = find_path(dag, &path, err);

    if (rc < 0)
        return rc;
    sums.failed = !is_kernel;
    for (uint32_t p = 0, e = 0; p <= dag->end_point && !sums.failed; p++)
        for (uint32_t end = rp_dag_first(g, p + 1); e < end; e++)
            if (is_on(&path, e))
                count_edge(dag, trace, e, p, slack_ns, &sums, r);
    free(path.bits);
    rc = sums.failed ? rp_out_of_memory(err)
                     : rp_dag_names_take(&sums.names, &r->shares, &r->share_count, err);
    if (rc == 0)
        rc = rp_dag_names_take_copies(&sums.in_ranges, &r->path_ranges, &r->path_range_count, err);
    rp_dag_names_free(&sums.names);
    rp_dag_names_free(&sums.in_ranges);
    if (rc == 0)
        put_is_kernel(trace, &sums, r);
    return rc;
}

/* This runs after the graph was freed. */
static int put_chain(const struct rp_dag_trace *trace, const struct chain *chain,
                     struct rp_dag_result *r, struct rp_err *err)
{
    size_t next = 0;

    r->chain = malloc((chain->count + 1) * sizeof *r->chain);
    if (!r->chain)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < chain->count; i++) {
        bool has_slack = next < chain->slack_count && chain->slacks[next].link == i;
        int64_t slack_ns = has_slack ? chain->slacks[next++].slack_ns : 0;
        r->chain[r->chain_count++] = step_of(trace, chain->links[i], slack_ns, true);
    }
    return 0;
}

/* --- every operation -------------------------------------------------------------------------- */

/* The operations that one waited for have steps already, because points are in the order of time.
 */
static int put_steps(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     const struct rp_dag_ranges *ranges, const int64_t *slack_ns,
                     struct rp_dag_result *r, struct rp_err *err)
{
    rp_autofree uint32_t *step_of_op = malloc((dag->op_count + 1) * sizeof *step_of_op);
    rp_autofree struct rp_dag_cause *causes = NULL;
    int rc = rp_dag_causes_find(dag, &causes, err);

    r->steps = malloc((dag->op_count + 1) * sizeof *r->steps);
    if (rc < 0 || !r->steps || !step_of_op)
        return rc < 0 ? rc : rp_out_of_memory(err);
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        const struct rp_dag_cause *cause;
        struct rp_dag_step step;

        if (!(dag->flags[p] & RP_DAG_OP_START))
            continue;
        step = step_of(trace, dag->owner[p], rp_dag_slack_of(slack_ns, dag->owner[p]),
                       dag->flags[p] & RP_DAG_ON_PATH);
        cause = &causes[dag->owner[p] & ~(uint32_t)RP_DAG_OP_BIT];
        step.via = cause->class;
        step.range = rp_dag_range_of_op(ranges, dag->owner[p]);
        if (cause->op != RP_DAG_NONE)
            step.waited_for = step_of_op[cause->op];
        step_of_op[dag->owner[p] & ~(uint32_t)RP_DAG_OP_BIT] = (uint32_t)r->step_count;
        r->steps[r->step_count++] = step;
    }
    return 0;
}

/* --- other weights ------------------------------------------------------------------------- */

/* Finds the longest chain of kernel durations alone. */
static int kernel_span(const struct rp_dag *dag, const struct rp_dag_trace *trace, int64_t *ret_ns,
                       struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree int64_t *time_ns = calloc(dag->slots.count + 1, sizeof *time_ns);
    int64_t longest = 0;

    if (!time_ns)
        return rp_out_of_memory(err);
    for (uint32_t p = 0; p < g->point_count; p++) {
        int64_t latest = 0;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            uint32_t item = rp_dag_item_of(dag, e);
            bool weighs = rp_dag_is_op(item) && !rp_dag_op_of(trace, item)->is_copy;
            int64_t t =
                time_ns[rp_dag_slot(&dag->slots, g->from[e])] + (weighs ? rp_dag_weight(g, e) : 0);
            if (t > latest && rp_dag_weight(g, e) != RP_DAG_DROPPED_NS)
                latest = t;
        }
        time_ns[rp_dag_slot(&dag->slots, p)] = latest;
        longest = latest > longest ? latest : longest;
    }
    *ret_ns = longest;
    return 0;
}

/* --- what if ---------------------------------------------------------------------------------- */

struct total {
    uint32_t symbol;
    int64_t total_ns, path_ns;
    const char *name;
};

static int by_path(const void *a, const void *b)
{
    const struct total *x = a, *y = b;

    if (x->path_ns != y->path_ns)
        return x->path_ns > y->path_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_total(const void *a, const void *b)
{
    const struct total *x = a, *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Lists kernels with their times, those that are tried first. It returns how many are tried. */
static size_t choose(const struct rp_dag_trace *trace, const struct rp_dag_result *r,
                     struct total *totals)
{
    size_t count = 0, tried;

    for (uint32_t k = 0; k < trace->symbol_count; k++)
        totals[k] = (struct total){.symbol = k, .name = trace->symbols[k]};
    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < trace->processes[i].op_count; k++) {
            const struct rp_dag_op *op = &trace->processes[i].ops[k];
            if (!op->is_copy && !(op->is_collective && trace->process_count == 1))
                totals[op->symbol].total_ns += op->end_ns - op->start_ns;
        }
    for (size_t i = 0; i < r->share_count; i++)
        if (r->shares[i].is_kernel)
            totals[symbol_of(trace, r->shares[i].name) - trace->symbols].path_ns =
                r->shares[i].path_ns;
    for (uint32_t k = 0; k < trace->symbol_count; k++)
        if (totals[k].total_ns > 0)
            totals[count++] = totals[k];
    qsort(totals, count, sizeof *totals, by_path);
    tried = count < PATH_SYMBOLS ? count : PATH_SYMBOLS;
    while (tried && totals[tried - 1].path_ns == 0)
        tried--;
    qsort(totals + tried, count - tried, sizeof *totals, by_total);
    return count - tried < TOTAL_SYMBOLS ? count : tried + TOTAL_SYMBOLS;
}

static int put_what_ifs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                        struct rp_dag_result *r, struct rp_err *err)
{
    enum { FACTORS = sizeof factors / sizeof factors[0] };
    rp_autofree struct total *totals = malloc(trace->symbol_count * sizeof *totals);
    rp_autofree struct rp_dag_scenario *s = NULL;
    size_t count = totals ? choose(trace, r, totals) * FACTORS : 0;
    int rc;

    s = malloc((count + 1) * sizeof *s);
    r->what_ifs = malloc((count + 1) * sizeof *r->what_ifs);
    if (!totals || !s || !r->what_ifs)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        s[i] = (struct rp_dag_scenario){.symbol = totals[i / FACTORS].symbol,
                                        .num = factors[i % FACTORS].num,
                                        .den = factors[i % FACTORS].den};
    rc = rp_dag_scenarios(dag, trace, s, count, dag->work, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        r->what_ifs[r->what_if_count++] =
            (struct rp_dag_what_if){.symbol = trace->symbols[s[i].symbol],
                                    .num = s[i].num,
                                    .den = s[i].den,
                                    .makespan_ns = s[i].end_ns - dag->start_ns};
    return rc;
}

/* --- the whole ----------------------------------------------------------------------------- */

static const char *first_without_time(const struct rp_dag_trace *trace)
{
    const uint64_t lost = trace->repairs.zero_durations + trace->repairs.negative_durations;

    for (size_t i = 0; lost && i < trace->process_count; i++)
        for (size_t k = 0; k < trace->processes[i].op_count; k++)
            if (trace->processes[i].ops[k].end_lost)
                return trace->symbols[trace->processes[i].ops[k].symbol];
    return NULL;
}

static void put_facts(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      struct rp_dag_result *r)
{
    const struct rp_dag_repairs *repairs = &trace->repairs;

    r->start_ns = dag->start_ns;
    r->makespan_ns = dag->end_ns - dag->start_ns;
    r->launch_ns = dag->delays.launch_ns;
    r->dispatch_ns = dag->delays.dispatch_ns;
    r->event_ns = dag->delays.event_ns;
    r->wake_ns = dag->delays.wake_ns;
    r->mended = (struct rp_dag_fixes){
        .negative_durations = repairs->negative_durations,
        .zero_durations = repairs->zero_durations,
        .never_ended = repairs->never_ended,
        .late_ends = repairs->overlaps,
        .shortened_edges = repairs->clamped_edges,
        .dropped_edges = repairs->dropped_edges,
        .concurrent_packets = repairs->concurrent,
        .early_starts = repairs->early_starts,
        .moved_clocks = repairs->moved_clocks,
        .clipped_ends = repairs->clipped_ends,
        .late_by_ns = repairs->late_by_ns,
        .clipped_by_ns = repairs->clipped_by_ns,
        .unknown_costs = dag->delays.unknown_costs,
        .without_time = first_without_time(trace),
    };
    for (size_t e = 0; e < dag->graph.edge_count; e++) {
        enum rp_dag_class class = rp_dag_class_of(&dag->graph, e);
        enum rp_dag_grade grade = rp_dag_grade_of(&dag->graph, e);
        r->grade_edges[grade]++;
        r->grade_dependencies[grade] +=
            class != RP_DAG_DURATION && class != RP_DAG_HOST_GAP && class != RP_DAG_LAUNCH;
    }
}

static int put_paths(struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct rp_dag_ranges *ranges, bool with_steps, struct chain *chain,
                     struct rp_dag_result *r, struct rp_err *err)
{
    rp_autofree int64_t *slack_ns = NULL;
    int rc = rp_dag_slack_find(dag, &slack_ns, err);

    if (rc == 0)
        rc = put_path(dag, trace, ranges, slack_ns, chain, r, err);
    if (rc == 0)
        rc = rp_dag_next_paths(dag, trace, slack_ns, r, err);
    if (rc == 0 && with_steps)
        rc = put_steps(dag, trace, ranges, slack_ns, r, err);
    return rc;
}

/* Finds what runs at the same time, and where nothing does. */
static int put_device(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      struct rp_dag_ranges *ranges, struct rp_dag_result *r, struct rp_err *err)
{
    rp_autofree uint32_t *starts = NULL;
    int rc = rp_dag_starts_find(dag, &starts, err);

    if (rc == 0)
        rc = rp_dag_overlap(dag, trace, starts, r, err);
    return rc < 0 ? rc : rp_dag_idle(dag, trace, ranges, starts, r, err);
}

static int fill(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_ranges *ranges,
                bool with_steps, struct chain *chain, struct rp_dag_result *r, struct rp_err *err)
{
    int rc;

    rp_work_at(dag->work, RP_WORK_PATHS, 0);
    put_facts(dag, trace, r);
    rc = put_paths(dag, trace, ranges, with_steps, chain, r, err);
    r->kernel_time_ns = trace->kernel_time_ns;
    r->copy_time_ns = trace->copy_time_ns;
    if (rc == 0)
        rc = put_what_ifs(dag, trace, r, err);
    rp_work_at(dag->work, RP_WORK_LIMITS, 0);
    if (rc == 0)
        rc = put_device(dag, trace, ranges, r, err);
    if (rc == 0)
        rc = rp_dag_ranges_sum(ranges, trace, r, err);
    if (rc == 0)
        rc = rp_dag_collectives(dag, trace, r, err);
    if (rc == 0)
        rc = rp_dag_limits(dag, trace, r, err);
    if (rc == 0)
        rc = kernel_span(dag, trace, &r->kernel_span_ns, err);
    if (rc == 0)
        rc = rp_dag_pairs(dag, trace, r, err);
    /* This comes last, because it changes the graph. */
    return rc < 0 ? rc : rp_dag_what_if_bounds(dag, trace, r, err);
}

bool rp_dag_own_clocks(struct rp_store *const *stores, size_t count)
{
    uint32_t processes = 0;
    bool software = count > 0;

    for (size_t i = 0; i < count; i++) {
        const char *device = rp_store_metadata(stores[i], "rocm_perf_device");

        software = software && device && strcmp(device, "software") == 0;
        processes += rp_store_guid_count(stores[i]);
    }
    return software && processes > 1;
}

/* Finds the device that the traces ran on; all must name the same. */
static int find_device(struct rp_store *const *stores, size_t count, const char **ret,
                       struct rp_err *err)
{
    const char *device = count ? rp_store_metadata(stores[0], "rocm_perf_device") : NULL;

    for (size_t i = 1; i < count; i++) {
        const char *other = rp_store_metadata(stores[i], "rocm_perf_device");
        if (!device != !other || (device && strcmp(device, other) != 0))
            return rp_fail(err, RP_BAD_INPUT,
                           "some traces are of the software device and others are not: they are "
                           "not of one run");
    }
    if (rp_dag_own_clocks(stores, count))
        return rp_fail(err, RP_BAD_INPUT,
                       "on the software device every process has a clock of its own, so that "
                       "their times do not compare: analyse one trace at a time");
    *ret = device;
    return 0;
}

/* Finds how the software device found the times, which one trace says for all. */
static void find_timing(struct rp_store *const *stores, size_t count, struct rp_dag_result *r)
{
    if (count != 1)
        return;
    r->timing_model = rp_timing_model_today(rp_store_metadata(stores[0], RP_STORE_TIMING_TAG));
    r->timing_version = rp_store_metadata(stores[0], RP_STORE_TIMING_VERSION_TAG);
    r->clock_mhz = rp_clock_of(rp_store_metadata(stores[0], RP_STORE_CLOCK_TAG));
}

static bool is_incomplete(struct rp_store *const *stores, size_t count)
{
    bool incomplete = false;

    for (size_t i = 0; i < count; i++)
        incomplete |= rp_store_metadata(stores[i], "rocm_perf_incomplete") != NULL;
    return incomplete;
}

/* A trace without anything has no graph, so it is refused. */
static int refuse_empty(struct rp_store *const *stores, size_t count,
                        const struct rp_dag_trace *trace, struct rp_err *err)
{
    const uint64_t left_out = trace->repairs.never_ended;
    char others[40] = "", rows[80] = "";

    for (size_t i = 0; i < trace->process_count; i++)
        if (trace->processes[i].op_count || trace->processes[i].call_count)
            return 0;
    if (count > 1)
        snprintf(others, sizeof others, " and %zu more", count - 1);
    if (left_out)
        snprintf(rows, sizeof rows, " (%" PRIu64 " row%s without a usable time)", left_out,
                 rp_plural(left_out));
    return rp_fail(
        err, RP_BAD_INPUT,
        "%s%s %s neither kernels, copies nor HIP calls%s. Record a program that starts "
        "kernels, with \"rocm-perf profile\" or \"rocprofv3 --hip-trace --kernel-trace\"",
        count ? rp_store_path(stores[0]) : "the trace", others, count > 1 ? "have" : "has", rows);
}

int rp_dag_analyze(struct rp_store *const *stores, size_t store_count, bool with_steps,
                   const struct rp_work *work, struct rp_dag_result *ret, struct rp_err *err)
{
    struct rp_dag_trace trace = {0};
    struct rp_dag dag = {0};
    struct rp_dag_result result = {0};
    struct chain chain = {0};
    rp_cleanup(rp_dag_ranges_free) struct rp_dag_ranges ranges = {0};
    int rc = find_device(stores, store_count, &result.device, err);

    if (rc == 0)
        rc = rp_dag_trace_load(stores, store_count, work, &trace, err);
    if (rc == 0)
        rc = refuse_empty(stores, store_count, &trace, err);
    if (rc == 0)
        rc = rp_dag_machines(&trace, &result, err);
    if (rc == 0)
        rc = rp_dag_refuse_duplicate_processes(&trace, result.processes, err);
    if (rc == 0)
        rc = rp_dag_clip_in_queues(&trace, err);
    if (rc == 0)
        rc = rp_dag_fix_skew(&trace, &result, err);
    if (rc == 0)
        rc = rp_dag_count_clips(&trace, err);
    if (rc == 0)
        rc = dag_store_clips(&trace, stores, store_count, err);
    if (rc == 0)
        rc = rp_dag_clocks(&trace, &result, err);
    if (rc == 0)
        rc = rp_dag_ranges_find(&trace, &ranges, err);
    rp_work_at(work, RP_WORK_GRAPH, 0);
    if (rc == 0)
        rc = rp_dag_build(&trace, &dag, err);
    rp_dag_restore_ends(&trace);
    dag.work = work;
    if (rc == 0)
        rc = fill(&dag, &trace, &ranges, with_steps, &chain, &result, err);
    find_timing(stores, store_count, &result);
    result.incomplete = is_incomplete(stores, store_count);
    rp_dag_free(&dag);
    if (rc == 0)
        rc = put_chain(&trace, &chain, &result, err);
    free(chain.links);
    free(chain.slacks);
    rp_dag_trace_free(&trace);
    if (rc < 0)
        rp_dag_result_free(&result);
    else
        *ret = result;
    return rc;
}

double rp_dag_dependency_share(const struct rp_dag_result *result, enum rp_dag_grade grade)
{
    uint64_t all = 0;

    for (size_t i = 0; i < RP_DAG_GRADE_COUNT; i++)
        all += result->grade_dependencies[i];
    return all ? (double)result->grade_dependencies[grade] / (double)all : 0;
}

double rp_dag_guessed_share(const struct rp_dag_result *result)
{
    return rp_dag_dependency_share(result, RP_DAG_PARTIAL) +
           rp_dag_dependency_share(result, RP_DAG_INFERRED);
}

void rp_dag_result_free(struct rp_dag_result *result)
{
    free(result->shares);
    free(result->chain);
    free(result->what_ifs);
    free(result->steps);
    free(result->pairs);
    free(result->agents);
    free(result->idle_shares);
    free(result->critical);
    rp_dag_owned_shares_free(result->path_ranges, result->path_range_count);
    rp_dag_owned_shares_free(result->idle_ranges, result->idle_range_count);
    rp_dag_range_sums_free(result->ranges, result->range_count);
    free(result->machines);
    free(result->processes);
    free(result->collectives);
    free(result->messages);
    for (size_t i = 0; i < RP_DAG_NEXT_PATHS; i++)
        free(result->near_paths[i].shares);
    memset(result, 0, sizeof *result);
}
