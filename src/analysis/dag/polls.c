#include <stdlib.h>

#include "load.h"

/* A program that asks again within this time only waits. */
enum { LONGEST_PAUSE_NS = 20000 };

static bool is_query(const struct rp_dag_call *call)
{
    return call->kind == RP_DAG_CALL_EVENT_QUERY || call->kind == RP_DAG_CALL_STREAM_QUERY ||
           call->kind == RP_DAG_CALL_EVENT_POLL || call->kind == RP_DAG_CALL_STREAM_POLL;
}

static bool asks_again(const struct rp_dag_process *p, size_t before, size_t call)
{
    const struct rp_dag_call *x = &p->calls[before], *y = &p->calls[call];
    const struct rp_dag_call_row *a = &p->call_rows[before], *b = &p->call_rows[call];

    return is_query(x) && is_query(y) && x->thread == y->thread && x->name == y->name &&
           a->event == b->event && a->stream == b->stream && b->end_ns >= a->end_ns &&
           b->start_ns - a->end_ns <= LONGEST_PAUSE_NS;
}

/* A loop of queries is one call that waits: else the path would go through the host's asking, not
 * through what the host waits for. */
bool rp_dag_merge_polls(struct rp_dag_loading *l)
{
    struct rp_dag_process *p = &l->process;
    size_t *last = malloc(((size_t)p->thread_count + 1) * sizeof *last), kept = 0;

    if (!last)
        return false;
    for (uint32_t t = 0; t < p->thread_count; t++)
        last[t] = SIZE_MAX;
    for (size_t i = 0; i < p->call_count; i++) {
        size_t before = last[p->calls[i].thread];
        if (before != SIZE_MAX && asks_again(p, before, i)) {
            p->call_rows[before].end_ns = p->call_rows[i].end_ns;
            p->calls[before].kind = p->calls[i].kind == RP_DAG_CALL_EVENT_QUERY
                                        ? RP_DAG_CALL_EVENT_POLL
                                        : RP_DAG_CALL_STREAM_POLL;
            continue;
        }
        last[p->calls[i].thread] = kept;
        p->calls[kept] = p->calls[i];
        p->call_rows[kept] = p->call_rows[i];
        l->orders[kept++] = l->orders[i];
    }
    p->call_count = kept;
    free(last);
    return true;
}
