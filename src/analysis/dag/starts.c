#include "starts.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Operations of one bucket on average: few enough to be sorted one by one. */
enum { PER_BUCKET = 8, MOST_INSERTED = 32 };

struct start {
    int64_t ns;
    uint32_t point;
};

/* Equal stretches of the whole time. */
struct buckets {
    uint32_t *first; /* per bucket and two more */
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
        for (; k && g->time_ns[list[k - 1]] > ns; k--) /* points come in ascending order */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++)
        starts[i] = (struct start){g->time_ns[list[i]], list[i]};
    qsort(starts, count, sizeof *starts, by_start);
    for (size_t i = 0; i < count; i++)
        list[i] = starts[i].point;
    return 0;
}

/* Where the operations of each bucket begin in the list. */
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
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    b.first = first;
    b.each_ns = (dag->end_ns - dag->start_ns) / (int64_t)b.count + 1;
    if (rc == 0)
        count_buckets(dag, &b);
    for (uint32_t p = 0; rc == 0 && p < g->point_count; p++)
        if (dag->flags[p] & RP_DAG_OP_START) /* afterwards first[k + 1] is where k ends */
            list[first[bucket_of(&b, g->time_ns[p]) + 1]++] = p;
    for (size_t k = 0; rc == 0 && k < b.count; k++)
        rc = sort_bucket(g, list + first[k], first[k + 1] - first[k], err);
    if (rc < 0)
        free(list);
    else
        *ret = list;
    return rc;
}
