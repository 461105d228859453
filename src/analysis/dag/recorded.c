#include "recorded.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

enum {
    MOST_WAITS = 64, /* of one operation that are compared; more are added as edges of their own */
    DEEPEST_WAITS = 3, /* a dependency that others imply: by way of so many operations */
    DEEPEST_MARKS = 6, /* markers between two operations */
    /* Rows that are looked at for one operation: real ones need some hundreds. Whatever a table
     * holds, the work grows with its rows only; what is not found by then stays derived. */
    MOST_STEPS = 4096,
};

/* --- reading ------------------------------------------------------------------------------- */

/** One row: names of two operations. */
struct pair {
    int64_t op, before; /* row_id * 2, and 1 for a copy */
};

struct pairs {
    struct pair *list;
    size_t count, room;
};

struct reading {
    struct rp_dag_loader *loader;
    struct pairs *processes; /* by guid_index */
    size_t count;
};

struct named {
    int64_t name;
    uint32_t op;
};

static int64_t name_of(int64_t row_id, bool is_copy)
{
    return (int64_t)((uint64_t)row_id * 2 + is_copy);
}

static int take_row(void *ctx, const void *row, struct rp_err *err)
{
    struct reading *r = ctx;
    const struct rp_row_dependency *d = row;
    struct pairs *pairs;

    if (d->guid_index >= r->count) /* of a process without any other row */
        return 0;
    pairs = &r->processes[d->guid_index];
    if (!rp_dag_room(&pairs->list, pairs->count, &pairs->room, sizeof *pairs->list))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    pairs->list[pairs->count++] = (struct pair){
        .op = name_of(d->row_id, d->is_copy != 0),
        .before = name_of(d->waits_for_id, d->waits_for_copy != 0),
    };
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return (x->name > y->name) - (x->name < y->name);
}

static uint32_t find(const struct named *names, size_t count, int64_t name)
{
    const struct named key = {.name = name};
    const struct named *found = bsearch(&key, names, count, sizeof key, by_name);

    return found ? found->op : RP_DAG_NONE;
}

/* Operations of the pairs in place of their names; pairs of what was left out are dropped. */
static size_t find_ops(const struct rp_dag_process *p, struct pairs *pairs,
                       const struct named *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        uint32_t op = find(names, p->op_count, pairs->list[i].op);
        uint32_t before = find(names, p->op_count, pairs->list[i].before);
        if (op != RP_DAG_NONE && before != RP_DAG_NONE && op != before)
            pairs->list[kept++] = (struct pair){op, before};
    }
    return kept;
}

static int by_op(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->before > y->before) - (x->before < y->before);
}

/* A table that says the same again and again says it once. */
static void drop_doubles(struct pairs *pairs)
{
    size_t kept = 0;

    for (size_t i = 0; i < pairs->count; i++)
        if (!kept || by_op(&pairs->list[kept - 1], &pairs->list[i]) != 0)
            pairs->list[kept++] = pairs->list[i];
    pairs->count = kept;
}

static int settle(struct rp_dag_process *p, struct pairs *pairs, struct rp_err *err)
{
    rp_autofree struct named *names = malloc((p->op_count + 1) * sizeof *names);

    if (!names)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < p->op_count; i++)
        names[i] = (struct named){name_of(rp_dag_row_id(p, i), p->ops[i].is_copy), (uint32_t)i};
    rp_dag_sort(names, p->op_count, sizeof *names, by_name);
    pairs->count = find_ops(p, pairs, names);
    rp_dag_sort(pairs->list, pairs->count, sizeof *pairs->list, by_op);
    drop_doubles(pairs);
    p->first_wait = calloc(p->op_count + 1, sizeof *p->first_wait);
    p->waits = malloc((pairs->count + 1) * sizeof *p->waits);
    if (!p->first_wait || !p->waits || pairs->count >= RP_DAG_NONE)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < pairs->count; i++) {
        p->first_wait[pairs->list[i].op + 1]++;
        p->waits[i] = (uint32_t)pairs->list[i].before;
    }
    for (size_t i = 0; i < p->op_count; i++)
        p->first_wait[i + 1] += p->first_wait[i];
    return 0;
}

int rp_dag_load_recorded(struct rp_dag_loader *l, struct rp_err *err)
{
    struct reading r = {.loader = l, .count = l->count};
    int rc;

    r.processes = calloc(l->count + 1, sizeof *r.processes);
    if (!r.processes)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_store_each_dependency(l->store, take_row, &r, err);
    for (size_t i = 0; i < r.count && rc == 0; i++)
        if (r.processes[i].count)
            rc = settle(&l->list[i].process, &r.processes[i], err);
    for (size_t i = 0; i < r.count; i++)
        free(r.processes[i].list);
    free(r.processes);
    return rc;
}

const uint32_t *rp_dag_recorded_waits(const struct rp_dag_process *p, uint32_t op,
                                      uint32_t *ret_count)
{
    *ret_count = p->first_wait ? p->first_wait[op + 1] - p->first_wait[op] : 0;
    return *ret_count ? p->waits + p->first_wait[op] : NULL;
}

/* --- edges --------------------------------------------------------------------------------- */

/** Waits of the operation that its edges account for. */
struct found {
    const uint32_t *waits;
    uint32_t count;
    uint64_t seen;  /* bit per wait */
    uint32_t steps; /* that are left */
};

/* Does the record say that one operation waited for the other, perhaps by way of others? */
static bool waited(const struct rp_dag_process *p, struct found *f, uint32_t op, uint32_t before,
                   int depth)
{
    uint32_t count;
    const uint32_t *waits = rp_dag_recorded_waits(p, op, &count);

    for (uint32_t i = 0; i < count && f->steps; i++, f->steps--)
        if (waits[i] == before)
            return true;
    for (uint32_t i = 0; i < count && depth > 1 && f->steps; i++)
        if (waited(p, f, waits[i], before, depth - 1))
            return true;
    return false;
}

static void mark_seen(struct found *f, uint32_t op)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->waits[i] == op)
            f->seen |= (uint64_t)1 << i;
}

/* The operation that ends at a point, or RP_DAG_NONE: a marker, a call, another process. */
static uint32_t op_at(const struct rp_dag_recorded_op *r, uint32_t point)
{
    uint32_t owner = r->dag->owner[point];
    uint32_t index = (owner & ~(uint32_t)RP_DAG_OP_BIT) - r->process->op_base;

    return rp_dag_is_op(owner) && index < r->process->op_count && rp_dag_is_end(r->dag, point)
               ? index
               : RP_DAG_NONE;
}

static bool orders_packets(enum rp_dag_class class)
{
    return class == RP_DAG_STREAM || class == RP_DAG_QUEUE || class == RP_DAG_EVENT ||
           class == RP_DAG_NULL_STREAM;
}

/* Is what stands at the point, or behind the marker that it is, waited for according to the
 * record? Then the edges in between are recorded too. */
static bool confirm(const struct rp_dag_recorded_op *r, struct found *f, uint32_t point, int depth)
{
    struct rp_dag_graph *g = &r->dag->graph;
    uint32_t op = op_at(r, point);
    bool any = false;

    if (op != RP_DAG_NONE) {
        mark_seen(f, op);
        return waited(r->process, f, r->op, op, DEEPEST_WAITS);
    }
    if (r->dag->owner[point] != RP_DAG_NONE || depth == 0)
        return false;
    for (uint32_t e = rp_dag_first(g, point); e < rp_dag_first(g, point + 1) && f->steps; e++) {
        f->steps--;
        if (!orders_packets(rp_dag_class_of(g, e)) || !confirm(r, f, g->from[e], depth - 1))
            continue;
        rp_dag_set_kind(g, e, rp_dag_class_of(g, e), RP_DAG_RECORDED);
        any = true;
    }
    return any;
}

static enum rp_dag_class class_of(const struct rp_dag_op_row *op,
                                  const struct rp_dag_op_row *before)
{
    if (op->stream >= 0 && op->stream == before->stream)
        return RP_DAG_STREAM;
    if (op->queue >= 0 && op->queue == before->queue)
        return RP_DAG_QUEUE;
    return op->stream == 0 || before->stream == 0 ? RP_DAG_NULL_STREAM : RP_DAG_EVENT;
}

void rp_dag_recorded_edges(const struct rp_dag_recorded_op *r)
{
    struct rp_dag_graph *g = &r->dag->graph;
    struct found f = {.steps = MOST_STEPS};
    uint32_t count;
    const uint32_t *waits = rp_dag_recorded_waits(r->process, r->op, &count);

    f.waits = waits;
    f.count = count < MOST_WAITS ? count : MOST_WAITS;
    for (size_t e = rp_dag_first(g, g->point_count); e < g->edge_count && count; e++)
        if (orders_packets(rp_dag_class_of(g, e)) && confirm(r, &f, g->from[e], DEEPEST_MARKS))
            rp_dag_set_kind(g, e, rp_dag_class_of(g, e), RP_DAG_RECORDED);
    for (uint32_t i = 0; i < count && !g->failed; i++) {
        uint32_t from = r->finish[waits[i]];
        if (from == RP_DAG_NONE || (i < MOST_WAITS && (f.seen >> i & 1)))
            continue;
        rp_dag_edge(g, from, class_of(&r->process->op_rows[r->op], &r->process->op_rows[waits[i]]),
                    RP_DAG_RECORDED);
    }
}
