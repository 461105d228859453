#include "waited.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "streams.h"

/* The GPU that a thread's calls are for: that of what it launched last. */
enum { NO_LAUNCH_YET = -2 };

struct waiting {
    const struct rp_dag_trace *trace;
    const struct rp_dag_process *process;
    struct rp_dag_streams names;
    uint32_t *tails;  /* per stream: its last operation */
    uint32_t *events; /* per handle: the last operation before its record */
    int32_t *agents;  /* per thread */
    int32_t only_stream;
    bool one_agent;
    rp_dag_waited_fn *told;
    void *ctx;
};

static bool is_copy_to_host(const struct waiting *w, const struct rp_dag_op *op)
{
    return op->is_copy && strstr(w->trace->symbols[op->symbol], "DEVICE_TO_HOST");
}

/* What another thread launches while the call runs may come behind what it waits for. */
static void tell(const struct waiting *w, uint32_t op, uint32_t call)
{
    const struct rp_dag_process *p = w->process;
    uint32_t from;

    if (op == RP_DAG_NONE)
        return;
    from = p->op_rows[op].call;
    if (p->call_rows[from].end_ns <= p->call_rows[call].start_ns)
        w->told(w->ctx, op, call);
}

static int32_t stream_of(const struct waiting *w, uint32_t call)
{
    uint32_t handle = w->process->call_rows[call].stream;

    return handle == RP_DAG_NONE
               ? w->only_stream
               : rp_dag_stream_at(&w->names, w->process->handles.keys[handle], call);
}

static void tell_all(const struct waiting *w, uint32_t call)
{
    int32_t agent = w->agents[w->process->calls[call].thread];

    if (agent == NO_LAUNCH_YET && !w->one_agent)
        return;
    for (int32_t s = 0; s < w->names.stream_count; s++)
        if (w->tails[s] != RP_DAG_NONE &&
            (w->one_agent || w->process->ops[w->tails[s]].agent == agent))
            tell(w, w->tails[s], call);
}

static void at_call(const struct waiting *w, uint32_t call, uint32_t first_op)
{
    const struct rp_dag_process *p = w->process;
    uint32_t event = p->call_rows[call].event;
    int32_t stream;

    switch ((enum rp_dag_call_kind)p->calls[call].kind) {
    case RP_DAG_CALL_EVENT_RECORD:
        stream = stream_of(w, call);
        if (event != RP_DAG_NONE)
            w->events[event] = stream >= 0 ? w->tails[stream] : RP_DAG_NONE;
        return;
    case RP_DAG_CALL_EVENT_SYNC:
        if (event != RP_DAG_NONE)
            tell(w, w->events[event], call);
        return;
    case RP_DAG_CALL_STREAM_SYNC:
        stream = stream_of(w, call);
        if (stream >= 0)
            tell(w, w->tails[stream], call);
        return;
    case RP_DAG_CALL_DEVICE_SYNC:
        tell_all(w, call);
        return;
    case RP_DAG_CALL_OWN_SYNC:
        for (uint32_t i = first_op; i < first_op + p->calls[call].op_count; i++)
            if (is_copy_to_host(w, &p->ops[i]))
                w->told(w->ctx, i, call);
        return;
    default:
        return;
    }
}

/* The stream of all operations, or -1: there are several, or it is not known. */
static int32_t only_stream(const struct rp_dag_process *p)
{
    int32_t stream = p->op_count ? p->op_rows[0].stream : -1;

    for (size_t i = 1; i < p->op_count; i++)
        if (p->op_rows[i].stream != stream)
            return -1;
    return stream;
}

static bool has_one_agent(const struct rp_dag_process *p)
{
    for (size_t i = 1; i < p->op_count; i++)
        if (p->ops[i].agent != p->ops[0].agent)
            return false;
    return true;
}

static bool may_change_device(const struct waiting *w, uint32_t call)
{
    const char *name = w->trace->call_names[w->process->calls[call].name];

    return !w->one_agent &&
           (strncmp(name, "hipSetDevice", 12) == 0 || strncmp(name, "hipCtx", 6) == 0);
}

static void walk(struct waiting *w)
{
    const struct rp_dag_process *p = w->process;
    uint32_t op = 0;

    for (uint32_t call = 0; call < p->call_count; call++) {
        at_call(w, call, op);
        for (uint32_t end = op + p->calls[call].op_count; op < end; op++) {
            if (p->op_rows[op].stream >= 0)
                w->tails[p->op_rows[op].stream] = op;
            w->agents[p->calls[call].thread] = p->ops[op].agent;
        }
        if (may_change_device(w, call))
            w->agents[p->calls[call].thread] = NO_LAUNCH_YET;
    }
}

int rp_dag_each_waited(const struct rp_dag_trace *trace, const struct rp_dag_process *p,
                       rp_dag_waited_fn *told, void *ctx, struct rp_err *err)
{
    struct waiting w = {.trace = trace, .process = p, .told = told, .ctx = ctx};
    rp_autofree uint32_t *tails = NULL, *events = NULL;
    rp_autofree int32_t *agents = NULL;
    int rc;

    if (!p->call_count || !p->op_count)
        return 0;
    rc = rp_dag_streams_find(p, &w.names, err);
    if (rc < 0)
        return rc;
    w.only_stream = only_stream(p);
    w.one_agent = has_one_agent(p);
    w.tails = tails = malloc((size_t)w.names.stream_count * sizeof *tails);
    w.events = events = malloc(((size_t)p->handles.count + 1) * sizeof *events);
    w.agents = agents = malloc(((size_t)p->thread_count + 1) * sizeof *agents);
    if (tails && events && agents) {
        for (int32_t s = 0; s < w.names.stream_count; s++)
            tails[s] = RP_DAG_NONE;
        for (size_t k = 0; k < p->handles.count; k++)
            events[k] = RP_DAG_NONE;
        for (uint32_t t = 0; t < p->thread_count; t++)
            agents[t] = NO_LAUNCH_YET;
        walk(&w);
    } else {
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    rp_dag_streams_free(&w.names);
    return rc;
}
