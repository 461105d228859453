#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "load.h"

/* --- parts ---------------------------------------------------------------------------------- */

static const char *const part_labels[RP_DAG_PART_COUNT] = {
    [RP_DAG_PART_HOST_GAP] = "[host_gap]",
    [RP_DAG_PART_LAUNCH] = "[launch]",
    [RP_DAG_PART_STREAM] = "[stream]",
    [RP_DAG_PART_QUEUE] = "[queue]",
    [RP_DAG_PART_EVENT] = "[event]",
    [RP_DAG_PART_NULL_STREAM] = "[null_stream]",
    [RP_DAG_PART_SYNC] = "[sync]",
    [RP_DAG_PART_COLLECTIVE] = "[collective]",
    [RP_DAG_PART_UNKNOWN] = "[nothing recorded]",
};

static const enum rp_dag_part part_of_class[RP_DAG_CLASS_COUNT] = {
    [RP_DAG_STREAM] = RP_DAG_PART_STREAM,
    [RP_DAG_EVENT] = RP_DAG_PART_EVENT,
    [RP_DAG_NULL_STREAM] = RP_DAG_PART_NULL_STREAM,
    [RP_DAG_COLLECTIVE] = RP_DAG_PART_COLLECTIVE,
    [RP_DAG_QUEUE] = RP_DAG_PART_QUEUE,
    [RP_DAG_SYNC] = RP_DAG_PART_SYNC,
    [RP_DAG_LAUNCH] = RP_DAG_PART_LAUNCH,
    [RP_DAG_HOST_GAP] = RP_DAG_PART_HOST_GAP,
    [RP_DAG_DURATION] = RP_DAG_PART_HOST_API,
    [RP_DAG_UNKNOWN] = RP_DAG_PART_UNKNOWN,
};

const char *rp_dag_part_label(enum rp_dag_part part)
{
    return part_labels[part];
}

uint32_t rp_dag_item_of(const struct rp_dag *dag, uint32_t e)
{
    return rp_dag_class_of(&dag->graph, e) == RP_DAG_DURATION ? dag->owner[dag->graph.from[e]]
                                                              : RP_DAG_NONE;
}

/* Without calls in the trace, a long gap in a stream or queue was not for its order alone. */
static bool is_unrecorded(const struct rp_dag *dag, uint32_t e)
{
    switch (rp_dag_class_of(&dag->graph, e)) {
    case RP_DAG_STREAM:
    case RP_DAG_QUEUE:
    case RP_DAG_NULL_STREAM:
    case RP_DAG_EVENT:
        return rp_dag_grade_of(&dag->graph, e) == RP_DAG_INFERRED &&
               rp_dag_weight(&dag->graph, e) > RP_DAG_LONGEST_GAP_NS;
    default:
        return false;
    }
}

enum rp_dag_part rp_dag_part_of(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                uint32_t e, const char **ret_name)
{
    uint32_t item = rp_dag_item_of(dag, e);
    enum rp_dag_part part = is_unrecorded(dag, e) ? RP_DAG_PART_UNKNOWN
                                                  : part_of_class[rp_dag_class_of(&dag->graph, e)];

    if (rp_dag_is_op(item)) {
        const struct rp_dag_op *op = rp_dag_op_of(trace, item);
        *ret_name = trace->symbols[op->symbol];
        return op->is_copy ? RP_DAG_PART_COPY : RP_DAG_PART_KERNEL;
    }
    *ret_name = rp_dag_is_call(item) ? trace->call_names[rp_dag_call_of(trace, item)->name]
                                     : part_labels[part];
    return part;
}

/* --- sums by name --------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rp_dag_share *)a)->name, ((const struct rp_dag_share *)b)->name);
}

static int by_share(const void *a, const void *b)
{
    const struct rp_dag_share *x = a, *y = b;

    if (x->path_ns != y->path_ns)
        return x->path_ns > y->path_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

size_t rp_dag_merge_shares(struct rp_dag_share *shares, size_t count)
{
    size_t kept = 0;

    qsort(shares, count, sizeof *shares, by_name);
    for (size_t i = 0; i < count; i++) {
        if (kept && strcmp(shares[kept - 1].name, shares[i].name) == 0)
            shares[kept - 1].path_ns += shares[i].path_ns;
        else
            shares[kept++] = shares[i];
    }
    qsort(shares, kept, sizeof *shares, by_share);
    while (kept && shares[kept - 1].path_ns == 0) /* what takes no time has no part in it */
        kept--;
    return kept;
}

int rp_dag_names_add(struct rp_dag_names *names, const char *name, int64_t ns)
{
    uint32_t before = names->addresses.count;
    uint32_t number = rp_numbering_add(&names->addresses, (uintptr_t)name);

    if (number == RP_NO_NUMBER)
        return -1;
    if (number == before) {
        if (!rp_dag_room(&names->shares, number, &names->room, sizeof *names->shares))
            return -1;
        names->shares[number] = (struct rp_dag_share){.name = name};
    }
    names->shares[number].path_ns += ns;
    return 0;
}

int rp_dag_names_take(struct rp_dag_names *names, struct rp_dag_share **ret, size_t *ret_count,
                      struct rp_err *err)
{
    uint32_t count = names->addresses.count;

    if (!rp_dag_room(&names->shares, count, &names->room, sizeof *names->shares))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory"); /* none, and no list yet */
    *ret = names->shares;
    *ret_count = rp_dag_merge_shares(names->shares, count);
    names->shares = NULL;
    rp_dag_names_free(names);
    return 0;
}

int rp_dag_names_take_copies(struct rp_dag_names *names, struct rp_dag_share **ret,
                             size_t *ret_count, struct rp_err *err)
{
    struct rp_dag_share *list = NULL;
    size_t count = 0;
    int rc = rp_dag_names_take(names, &list, &count, err);

    for (size_t i = 0; i < count && rc == 0; i++) {
        list[i].name = strdup(list[i].name);
        if (!list[i].name) {
            rp_dag_owned_shares_free(list, i);
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        }
    }
    if (rc == 0) {
        *ret = list;
        *ret_count = count;
    }
    return rc;
}

void rp_dag_owned_shares_free(struct rp_dag_share *shares, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((char *)shares[i].name);
    free(shares);
}

void rp_dag_names_free(struct rp_dag_names *names)
{
    rp_numbering_free(&names->addresses);
    free(names->shares);
    memset(names, 0, sizeof *names);
}
