#include "store/nesting.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <stdlib.h>

int rp_calls_add(struct rp_calls *calls, const struct rp_call *call, struct rp_err *err)
{
    if (calls->count == calls->room) {
        size_t room = calls->room ? calls->room * 2 : 1024;
        struct rp_call *grown = realloc(calls->at, room * sizeof *grown);
        if (!grown)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        calls->at = grown;
        calls->room = room;
    }
    calls->at[calls->count++] = *call;
    return 0;
}

void rp_calls_free(struct rp_calls *calls)
{
    free(calls->at);
}

static int by_thread_and_time(const void *a, const void *b)
{
    const struct rp_call *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) /* the outer one first */
        return x->end_ns > y->end_ns ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static int by_correlation(const void *a, const void *b)
{
    const struct rp_call *x = a, *y = b;

    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return by_thread_and_time(a, b);
}

int rp_calls_nest(struct rp_calls *calls, struct rp_err *err)
{
    rp_autofree size_t *outer = malloc((calls->count + 1) * sizeof *outer);
    struct rp_call *at = calls->at;
    size_t depth = 0;

    if (!outer)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (calls->count)
        qsort(at, calls->count, sizeof *at, by_thread_and_time);
    for (size_t i = 0; i < calls->count; i++) {
        while (depth && (at[outer[depth - 1]].thread != at[i].thread ||
                         at[outer[depth - 1]].end_ns <= at[i].start_ns))
            depth--;
        if (depth && at[i].end_ns <= at[outer[depth - 1]].end_ns)
            at[i].parent = at[outer[depth - 1]].correlation;
        outer[depth++] = i;
    }
    if (calls->count)
        qsort(at, calls->count, sizeof *at, by_correlation);
    return 0;
}
