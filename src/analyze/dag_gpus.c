/* Finds when each GPU was busy, and what it waited for when it was not. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "analyze/dag_graph.h"
#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

/* This section finds which GPU an operation ran on, across the processes of a run. */

/** This is a GPU as a process knows it. */
struct rp_dag_process_gpu {
    int32_t agent;  /**< id in the process's trace, -1: operations that name none */
    uint32_t index; /**< into the agents of the result */
};

struct rp_dag_process_gpus {
    struct rp_dag_process_gpu *list; /**< by process, then agent id */
    size_t *first;                   /**< per process and one more */
};

/** Returns when the operation that starts at a point ends in the graph, where no operation ends
 * after the start of its waiter. */
static inline int64_t dag_end_ns(const struct rp_dag *dag, uint32_t start,
                                 const struct rp_dag_op *op)
{
    return start + 1 < dag->graph.point_count && dag->owner[start + 1] == dag->owner[start]
               ? dag->graph.time_ns[start + 1]
               : op->end_ns;
}

/* Says whether two processes mean the same GPU: its UUID is the same, or the driver's number of it
 * on one machine. Numbers that each rank begins anew are of its own GPUs. */
static bool same_agent(const struct rp_dag_agent *a, const struct rp_dag_agent *b)
{
    if (a->uuid[0] && b->uuid[0])
        return strcmp(a->uuid, b->uuid) == 0;
    if (a->rank_known && b->rank_known && a->rank != b->rank)
        return false;
    return a->node_known && b->node_known && a->node == b->node && a->machine == b->machine;
}

static bool is_new(const struct rp_dag_process_gpu *list, size_t first, size_t count, int32_t agent)
{
    for (size_t i = first; i < count; i++)
        if (list[i].agent == agent)
            return false;
    return true;
}

/* Lists agent ids of a process's operations, and extends the list by them. */
static int list_agents(const struct rp_dag_process *p, struct rp_dag_process_gpus *places,
                       size_t *count, struct rp_err *err)
{
    size_t first = *count; /* Agents of earlier processes stand before its own. */
    int32_t last = 0;

    for (size_t i = 0; i < p->op_count; i++) {
        struct rp_dag_process_gpu *grown;
        if ((i && p->ops[i].agent == last) || !is_new(places->list, first, *count, p->ops[i].agent))
            continue;
        last = p->ops[i].agent;
        grown = realloc(places->list, (*count + 1) * sizeof *grown);
        if (!grown)
            return rp_out_of_memory(err);
        places->list = grown;
        places->list[(*count)++] = (struct rp_dag_process_gpu){.agent = last};
    }
    return 0;
}

static int by_agent(const void *a, const void *b)
{
    const struct rp_dag_process_gpu *x = a, *y = b;

    return (x->agent > y->agent) - (x->agent < y->agent);
}

static int describe(const struct rp_dag_process *p, int32_t agent, struct rp_dag_agent *ret,
                    struct rp_err *err)
{
    const struct rp_row_agent *row =
        agent < 0 ? NULL : rp_store_find_agent(p->from.store, p->from.guid_index, agent);
    json_t *extdata = NULL;
    const json_t *rank;
    const char *uuid;
    int rc = row ? rp_extdata_load(row->extdata, &extdata, err) : 0;

    if (rc < 0)
        return rc;
    rank = json_object_get(extdata, "rank");
    uuid = json_string_value(json_object_get(extdata, "gpu_uuid"));
    *ret = (struct rp_dag_agent){
        .guid = p->guid,
        .id = agent,
        .name = row ? row->name : "",
        .node = row ? row->absolute_index : -1,
        .node_known = row && row->absolute_index >= 0,
        .rank_known = json_is_integer(rank),
        .rank = json_integer_value(rank),
        .machine = p->machine,
    };
    snprintf(ret->uuid, sizeof ret->uuid, "%s", uuid ? uuid : "");
    json_decref(extdata);
    return 0;
}

/* Gives the agents of one process their places in the list of all. */
static int merge(const struct rp_dag_process *p, struct rp_dag_process_gpu *places, size_t count,
                 struct rp_dag_agent **agents, size_t *agent_count, struct rp_err *err)
{
    struct rp_dag_agent *grown = realloc(*agents, (*agent_count + count + 1) * sizeof *grown);

    if (!grown)
        return rp_out_of_memory(err);
    *agents = grown;
    for (size_t i = 0; i < count; i++) {
        struct rp_dag_agent agent;
        size_t k = 0;
        int rc = describe(p, places[i].agent, &agent, err);

        if (rc < 0)
            return rc;
        while (k < *agent_count && !same_agent(&grown[k], &agent))
            k++;
        if (k == *agent_count)
            grown[(*agent_count)++] = agent;
        places[i].index = (uint32_t)k;
    }
    return 0;
}

static int add_process(const struct rp_dag_process *p, struct rp_dag_process_gpus *places,
                       size_t *count, struct rp_dag_agent **agents, size_t *agent_count,
                       struct rp_err *err)
{
    const struct rp_row_agent *rows;
    size_t row_count, first = *count;
    int rc = rp_store_agents(p->from.store, &rows, &row_count, err);

    if (rc == 0)
        rc = list_agents(p, places, count, err);
    if (rc < 0 || *count == first)
        return rc;
    qsort(places->list + first, *count - first, sizeof *places->list, by_agent);
    return merge(p, places->list + first, *count - first, agents, agent_count, err);
}

static void dag_process_gpus_free(struct rp_dag_process_gpus *places);

/** Finds the agents that operations ran on; two processes on one GPU share one. */
static int dag_process_gpus_find(const struct rp_dag_trace *trace, struct rp_dag_process_gpus *ret,
                                 struct rp_dag_agent **ret_agents, size_t *ret_count,
                                 struct rp_err *err)
{
    struct rp_dag_process_gpus places = {.first = calloc(trace->process_count + 1, sizeof(size_t))};
    struct rp_dag_agent *agents = NULL;
    size_t count = 0, agent_count = 0;
    int rc = places.first ? 0 : rp_out_of_memory(err);

    for (size_t i = 0; i < trace->process_count && rc == 0; i++) {
        rc = add_process(&trace->processes[i], &places, &count, &agents, &agent_count, err);
        places.first[i + 1] = count;
    }
    if (rc < 0) {
        dag_process_gpus_free(&places);
        free(agents);
        return rc;
    }
    *ret = places;
    *ret_agents = agents;
    *ret_count = agent_count;
    return 0;
}

static void dag_process_gpus_free(struct rp_dag_process_gpus *places)
{
    free(places->list);
    free(places->first);
    memset(places, 0, sizeof *places);
}

/** Returns the index of an operation's agent. */
static uint32_t dag_process_gpu_index(const struct rp_dag_process_gpus *places, uint32_t process,
                                      int32_t agent)
{
    size_t i = places->first[process];

    /* Every operation's agent is among the few of its process. */
    while (places->list[i].agent != agent)
        i++;
    return places->list[i].index;
}

enum { COPY = 1, COLLECTIVE = 2, KERNEL = 4 };

/* Holds points where operations start, each agent's in one piece and by time. */
struct timeline {
    uint32_t *list;
    size_t *first;      /**< per agent and one more */
    uint8_t *is_waiter; /**< per symbol: a collective */
};

static const struct rp_dag_op *op_at(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                     uint32_t start)
{
    return rp_dag_op_of(trace, dag->owner[start]);
}

static uint32_t agent_at(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                         const struct rp_dag_process_gpus *places, uint32_t start)
{
    uint32_t item = dag->owner[start];

    return dag_process_gpu_index(places, rp_dag_process_of(trace, item),
                                 rp_dag_op_of(trace, item)->agent);
}

static int lay_out(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                   const struct rp_dag_process_gpus *places, const uint32_t *starts, size_t agents,
                   struct timeline *ret, struct rp_err *err)
{
    rp_autofree size_t *next = calloc(agents + 1, sizeof *next);
    size_t count = 0;

    ret->first = calloc(agents + 1, sizeof *ret->first);
    ret->is_waiter = calloc(trace->symbol_count + 1, sizeof *ret->is_waiter);
    ret->list = malloc((dag->op_count + 1) * sizeof *ret->list);
    if (!next || !ret->first || !ret->is_waiter || !ret->list)
        return rp_out_of_memory(err);
    for (size_t k = 0; k < trace->symbol_count; k++)
        ret->is_waiter[k] = rp_dag_is_collective(trace->symbols[k]);
    for (size_t i = 0; i < dag->op_count; i++)
        ret->first[agent_at(dag, trace, places, starts[i]) + 1]++;
    for (size_t k = 0; k < agents; k++) {
        next[k] = count;
        count = ret->first[k + 1] += count;
    }
    for (size_t i = 0; i < dag->op_count; i++)
        ret->list[next[agent_at(dag, trace, places, starts[i])]++] = starts[i];
    return 0;
}

/* --- busy ----------------------------------------------------------------------------------- */

/* This is the time during which any operation of the given types runs. */
struct busy {
    unsigned types;
    int64_t sum_ns, until_ns;
};

static void add_busy(struct busy *busy, unsigned type, const struct rp_dag_op *op)
{
    int64_t from_ns = op->start_ns > busy->until_ns ? op->start_ns : busy->until_ns;

    if (!(type & busy->types) || op->end_ns <= from_ns)
        return;
    busy->sum_ns += op->end_ns - from_ns;
    busy->until_ns = op->end_ns;
}

static void put_busy(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     const struct timeline *timeline, size_t k, struct rp_dag_agent *agent)
{
    struct busy compute = {KERNEL, 0, INT64_MIN}, kernels = {KERNEL | COLLECTIVE, 0, INT64_MIN};
    struct busy all = {KERNEL | COLLECTIVE | COPY, 0, INT64_MIN};

    for (size_t i = timeline->first[k]; i < timeline->first[k + 1]; i++) {
        const struct rp_dag_op *op = op_at(dag, trace, timeline->list[i]);
        unsigned type = op->is_copy ? COPY : timeline->is_waiter[op->symbol] ? COLLECTIVE : KERNEL;
        add_busy(&compute, type, op);
        add_busy(&kernels, type, op);
        add_busy(&all, type, op);
    }
    agent->busy_ns = all.sum_ns;
    agent->exposed_copy_ns = all.sum_ns - kernels.sum_ns;
    agent->exposed_collective_ns = kernels.sum_ns - compute.sum_ns;
}

/* --- gaps ----------------------------------------------------------------------------------- */

/* Says where the time of gaps goes. */
struct sums {
    struct rp_dag_agent *agent;
    struct rp_dag_names names, ranges;
    struct rp_dag_ranges *all_ranges;
};

/* Gives each range of the program its part of what an edge explains. */
static int share_explained(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t e,
                           uint32_t to, int64_t since_ns, int64_t until_ns, struct sums *sums)
{
    while (since_ns < until_ns) {
        int64_t end_ns = until_ns;
        const char *range =
            rp_dag_range_name(sums->all_ranges, rp_dag_range_of(sums->all_ranges, dag, trace, e, to,
                                                                since_ns, &end_ns));

        if (range && rp_dag_names_add(&sums->ranges, range, end_ns - since_ns) < 0)
            return -ENOMEM;
        since_ns = end_ns;
    }
    return 0;
}

/* Assigns the time from from_ns to a point to what the point waited for, edge by edge. */
static int explain(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t point,
                   int64_t from_ns, int64_t until_ns, struct sums *sums, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;

    while (until_ns > from_ns) {
        uint32_t e = rp_dag_binding(g, point), to = point;
        enum rp_dag_part part = RP_DAG_PART_UNKNOWN;
        const char *name = rp_dag_part_label(part);
        int64_t since_ns = from_ns;

        if (e != RP_DAG_NO_POINT) {
            part = rp_dag_part_of(dag, trace, e, &name);
            point = g->from[e];
            if (g->time_ns[point] >= until_ns)
                continue;
            if (g->time_ns[point] > from_ns)
                since_ns = g->time_ns[point];
            if (share_explained(dag, trace, e, to, since_ns, until_ns, sums) < 0)
                return rp_out_of_memory(err);
        }
        sums->agent->idle_part_ns[part] += until_ns - since_ns;
        if (rp_dag_names_add(&sums->names, name, until_ns - since_ns) < 0)
            return rp_out_of_memory(err);
        until_ns = since_ns;
    }
    return 0;
}

static int explain_gaps(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                        const uint32_t *list, size_t count, struct sums *sums, struct rp_err *err)
{
    struct rp_dag_agent *agent = sums->agent;
    int64_t until_ns = dag->start_ns;
    int rc = 0;

    for (size_t i = 0; i <= count && rc == 0; i++) {
        const struct rp_dag_op *op = i < count ? op_at(dag, trace, list[i]) : NULL;
        int64_t next_ns = op ? op->start_ns : dag->end_ns;
        if (next_ns > until_ns) {
            agent->idle_ns += next_ns - until_ns;
            agent->gap_count++;
            if (i == 0)
                agent->before_ns = next_ns - until_ns;
            if (i == count)
                agent->after_ns = next_ns - until_ns;
            rc = explain(dag, trace, op ? list[i] : dag->end_point, until_ns, next_ns, sums, err);
        }
        if (op && op->end_ns > until_ns)
            until_ns = op->end_ns;
    }
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------ */

int rp_dag_idle(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                struct rp_dag_ranges *ranges, const uint32_t *starts, struct rp_dag_result *ret,
                struct rp_err *err)
{
    struct rp_dag_process_gpus places = {0};
    struct timeline timeline = {0};
    struct sums sums = {.all_ranges = ranges};
    int rc = dag_process_gpus_find(trace, &places, &ret->agents, &ret->agent_count, err);

    if (rc == 0)
        rc = lay_out(dag, trace, &places, starts, ret->agent_count, &timeline, err);
    for (size_t k = 0; k < ret->agent_count && rc == 0; k++) {
        size_t first = timeline.first[k];
        sums.agent = &ret->agents[k];
        put_busy(dag, trace, &timeline, k, sums.agent);
        rc = explain_gaps(dag, trace, timeline.list + first, timeline.first[k + 1] - first, &sums,
                          err);
    }
    if (rc == 0)
        rc = rp_dag_names_take(&sums.names, &ret->idle_shares, &ret->idle_share_count, err);
    if (rc == 0)
        rc = rp_dag_names_take_copies(&sums.ranges, &ret->idle_ranges, &ret->idle_range_count, err);
    rp_dag_names_free(&sums.names);
    rp_dag_names_free(&sums.ranges);
    dag_process_gpus_free(&places);
    free(timeline.list);
    free(timeline.first);
    free(timeline.is_waiter);
    return rc;
}

/* A bucket has so many operations on average, few enough to be sorted one by one. */
enum { PER_BUCKET = 8, MOST_INSERTED = 32 };

struct start {
    int64_t ns;
    uint32_t point;
};

/* Buckets are equal stretches of the whole time. */
struct buckets {
    uint32_t *first; /**< per bucket and two more */
    size_t count;
    int64_t begin_ns, each_ns;
};

static size_t bucket_of(const struct buckets *b, int64_t ns)
{
    return (size_t)((ns - b->begin_ns) / b->each_ns);
}

static int by_start(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

static void insert_all(const struct rp_dag_graph *g, uint32_t *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint32_t point = list[i];
        int64_t ns = g->time_ns[point];
        size_t k = i;
        for (; k && g->time_ns[list[k - 1]] > ns; k--) /* Points come in ascending order. */
            list[k] = list[k - 1];
        list[k] = point;
    }
}

static int sort_bucket(const struct rp_dag_graph *g, uint32_t *list, size_t count,
                       struct rp_err *err)
{
    rp_autofree struct start *starts = NULL;

    if (count <= MOST_INSERTED) {
        insert_all(g, list, count);
        return 0;
    }
    starts = malloc(count * sizeof *starts);
    if (!starts)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        starts[i] = (struct start){g->time_ns[list[i]], list[i]};
    qsort(starts, count, sizeof *starts, by_start);
    for (size_t i = 0; i < count; i++)
        list[i] = starts[i].point;
    return 0;
}

/* Finds where the operations of each bucket begin in the list. */
static void count_buckets(const struct rp_dag *dag, struct buckets *b)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = 0; p < g->point_count; p++)
        if (dag->flags[p] & RP_DAG_OP_START)
            b->first[bucket_of(b, g->time_ns[p]) + 2]++;
    for (size_t k = 2; k < b->count + 2; k++)
        b->first[k] += b->first[k - 1];
}

int rp_dag_starts_find(const struct rp_dag *dag, uint32_t **ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    struct buckets b = {.count = dag->op_count / PER_BUCKET + 1, .begin_ns = dag->start_ns};
    rp_autofree uint32_t *first = calloc(b.count + 2, sizeof *first);
    uint32_t *list = malloc((dag->op_count + 1) * sizeof *list);
    int rc = 0;

    if (!first || !list)
        rc = rp_out_of_memory(err);
    b.first = first;
    b.each_ns = (dag->end_ns - dag->start_ns) / (int64_t)b.count + 1;
    if (rc == 0)
        count_buckets(dag, &b);
    for (uint32_t p = 0; rc == 0 && p < g->point_count; p++)
        if (dag->flags[p] & RP_DAG_OP_START) /* Afterwards first[k + 1] is where k ends. */
            list[first[bucket_of(&b, g->time_ns[p]) + 1]++] = p;
    for (size_t k = 0; rc == 0 && k < b.count; k++)
        rc = sort_bucket(g, list + first[k], first[k + 1] - first[k], err);
    if (rc < 0)
        free(list);
    else
        *ret = list;
    return rc;
}

/* Holds the ends of what runs now, the first on top: the time since the start, and the operation.
 */
struct running {
    uint64_t *ends;
    size_t count, room;
};

enum { IS_COPY = 1, TIME_SHIFT = 1 };

static bool push(struct running *r, uint64_t end)
{
    size_t k = r->count;

    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 64;
        uint64_t *grown = realloc(r->ends, room * sizeof *grown);
        if (!grown)
            return false;
        r->ends = grown;
        r->room = room;
    }
    for (; k && r->ends[(k - 1) / 2] > end; k = (k - 1) / 2)
        r->ends[k] = r->ends[(k - 1) / 2];
    r->ends[k] = end;
    r->count++;
    return true;
}

static uint64_t pop(struct running *r)
{
    uint64_t top = r->ends[0], last = r->ends[--r->count];
    size_t k = 0, child;

    while ((child = 2 * k + 1) < r->count) {
        child += child + 1 < r->count && r->ends[child + 1] < r->ends[child];
        if (r->ends[child] >= last)
            break;
        r->ends[k] = r->ends[child];
        k = child;
    }
    r->ends[k] = last;
    return top;
}

/* Says what runs, and since when. */
struct now {
    int64_t since_ns, kernels, copies;
};

static void advance(struct now *now, int64_t to_ns, struct rp_dag_result *ret)
{
    int64_t running = now->kernels + now->copies;

    if (running >= RP_DAG_CONCURRENCY)
        running = RP_DAG_CONCURRENCY - 1;
    ret->concurrency_ns[running] += to_ns - now->since_ns;
    if (now->copies && !now->kernels)
        ret->exposed_copy_ns += to_ns - now->since_ns;
    now->since_ns = to_ns;
}

static void end_first(struct running *r, struct now *now, int64_t start_ns,
                      struct rp_dag_result *ret)
{
    uint64_t end = pop(r);

    advance(now, start_ns + (int64_t)(end >> TIME_SHIFT), ret);
    *(end & IS_COPY ? &now->copies : &now->kernels) -= 1;
}

int rp_dag_overlap(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                   const uint32_t *starts, struct rp_dag_result *ret, struct rp_err *err)
{
    struct running running = {0};
    struct now now = {.since_ns = dag->start_ns};
    bool fits = true;

    for (size_t i = 0; i < dag->op_count && fits; i++) {
        const struct rp_dag_op *op = rp_dag_op_of(trace, dag->owner[starts[i]]);
        int64_t end_ns = dag_end_ns(dag, starts[i], op);
        if (end_ns <= op->start_ns)
            continue;
        while (running.count &&
               (int64_t)(running.ends[0] >> TIME_SHIFT) <= op->start_ns - dag->start_ns)
            end_first(&running, &now, dag->start_ns, ret);
        advance(&now, op->start_ns, ret);
        *(op->is_copy ? &now.copies : &now.kernels) += 1;
        /* Nothing starts before the trace does, and it lasts less than a year (dag_build.c). */
        fits = push(&running,
                    (uint64_t)(end_ns - dag->start_ns) << TIME_SHIFT | (op->is_copy ? IS_COPY : 0));
    }
    while (running.count && fits)
        end_first(&running, &now, dag->start_ns, ret);
    free(running.ends);
    if (!fits)
        return rp_out_of_memory(err);
    advance(&now, dag->end_ns, ret);
    return 0;
}

/* The graph forgets queues and streams while it is built, because of traces with tens of millions
 * of operations. A page shows fewer, and asks the stores again. */

struct place {
    struct rp_timeline_track lane;
    int64_t id;
    bool is_copy;
    uint32_t step;
};

struct finder {
    const struct rp_dag_result *dag;
    struct place *places; /**< by process, kind, id */
    const struct rp_store *store;
};

static int by_operation(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->lane.process != y->lane.process)
        return x->lane.process < y->lane.process ? -1 : 1;
    if (x->is_copy != y->is_copy)
        return x->is_copy ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_lane(const void *a, const void *b)
{
    const struct rp_timeline_track *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->agent != y->agent)
        return x->agent < y->agent ? -1 : 1;
    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

/* --- from the stores ------------------------------------------------------------------------ */

/* An operation that the graph left out, because it has no times or is of another run, has no place.
 */
static void note(const struct finder *f, uint32_t guid_index, const struct place *of)
{
    const struct rp_dag_result *dag = f->dag;
    struct place wanted = *of, *place;
    size_t i = 0;

    while (i < dag->process_count &&
           (dag->processes[i].store != f->store || dag->processes[i].guid_index != guid_index))
        i++;
    wanted.lane.process = (uint32_t)i;
    place = bsearch(&wanted, f->places, dag->step_count, sizeof *f->places, by_operation);
    if (!place)
        return;
    place->lane.queue = of->lane.queue < 0 ? -1 : of->lane.queue;
    place->lane.stream = of->lane.stream < 0 ? -1 : of->lane.stream;
}

static int take_launch(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_launch *r = row;

    (void)err;
    note(ctx, r->guid_index,
         &(struct place){.id = r->dispatch_id,
                         .lane = {.queue = r->queue_id, .stream = r->stream_id}});
    return 0;
}

static int take_copy(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_copy *r = row;

    (void)err;
    note(ctx, r->guid_index,
         &(struct place){
             .id = r->id, .is_copy = true, .lane = {.queue = -1, .stream = r->stream_id}});
    return 0;
}

static void list_places(const struct rp_dag_result *dag, struct place *places)
{
    for (size_t i = 0; i < dag->step_count; i++) {
        const struct rp_dag_step *s = &dag->steps[i];

        places[i] = (struct place){
            .id = s->id,
            .is_copy = s->is_copy,
            .step = (uint32_t)i,
            .lane = {.process = s->process, .agent = s->agent, .queue = -1, .stream = -1},
        };
    }
    qsort(places, dag->step_count, sizeof *places, by_operation);
}

/* --- lanes ---------------------------------------------------------------------------------- */

static int make_tracks(const struct place *places, size_t count, struct rp_timeline *ret,
                       struct rp_err *err)
{
    size_t kept = 0;

    ret->lanes = malloc((count + 1) * sizeof *ret->lanes);
    ret->track_of_step = malloc((count + 1) * sizeof *ret->track_of_step);
    if (!ret->lanes || !ret->track_of_step)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        ret->lanes[i] = places[i].lane;
    qsort(ret->lanes, count, sizeof *ret->lanes, by_lane);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_lane(&ret->lanes[kept - 1], &ret->lanes[i]) != 0)
            ret->lanes[kept++] = ret->lanes[i];
    ret->lane_count = kept;
    for (size_t i = 0; i < count; i++) {
        const struct rp_timeline_track *lane =
            bsearch(&places[i].lane, ret->lanes, kept, sizeof *ret->lanes, by_lane);
        ret->track_of_step[places[i].step] = (uint32_t)(lane - ret->lanes);
    }
    return 0;
}

int rp_timeline_make(struct rp_store *const *stores, size_t store_count,
                     const struct rp_dag_result *dag, struct rp_timeline *ret, struct rp_err *err)
{
    rp_autofree struct place *places = calloc(dag->step_count + 1, sizeof *places);
    struct finder f = {.dag = dag, .places = places};
    struct rp_timeline made = {0};
    int rc = places ? 0 : rp_out_of_memory(err);

    if (rc == 0)
        list_places(dag, places);
    for (size_t i = 0; i < store_count && rc == 0; i++) {
        f.store = stores[i];
        rc = rp_store_each_launch(stores[i], take_launch, &f, err);
        if (rc == 0)
            rc = rp_store_each_copy(stores[i], take_copy, &f, err);
    }
    if (rc == 0)
        rc = make_tracks(places, dag->step_count, &made, err);
    if (rc < 0)
        rp_timeline_free(&made);
    else
        *ret = made;
    return rc;
}

void rp_timeline_free(struct rp_timeline *timeline)
{
    free(timeline->lanes);
    free(timeline->track_of_step);
    memset(timeline, 0, sizeof *timeline);
}
