/* Finds what collectives cost: how long ranks wait for each other and for whom, how much of their
 * time no kernel hides, and how fast data went over the links. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "analyze/dag_graph.h"
#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

/* --- hidden time ----------------------------------------------------------------------------- */

/** From here to the next one's start some kernel ran on the GPU, up to until_ns. */
struct cover {
    int32_t agent;
    int64_t start_ns, until_ns;
    int64_t before_ns; /**< covered on this GPU before the start */
};

static int by_place(const void *a, const void *b)
{
    const struct cover *x = a, *y = b;

    if (x->agent != y->agent)
        return x->agent < y->agent ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Merges what overlaps, and adds up. @return how many are left */
static size_t merge(struct cover *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct cover *last = kept ? &list[kept - 1] : NULL;
        if (last && last->agent == list[i].agent && list[i].start_ns <= last->until_ns) {
            if (list[i].until_ns > last->until_ns)
                last->until_ns = list[i].until_ns;
            continue;
        }
        list[kept] = list[i];
        list[kept].before_ns = last && last->agent == list[i].agent
                                   ? last->before_ns + last->until_ns - last->start_ns
                                   : 0;
        kept++;
    }
    return kept;
}

/* Returns how long kernels ran on the GPU before a time. */
static int64_t covered_before(const struct cover *list, size_t count, int32_t agent, int64_t at_ns)
{
    const struct cover key = {.agent = agent, .start_ns = at_ns};
    size_t low = 0, high = count;
    const struct cover *last;
    int64_t until_ns;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_place(&list[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    last = low ? &list[low - 1] : NULL;
    if (!last || last->agent != agent)
        return 0;
    until_ns = at_ns < last->until_ns ? at_ns : last->until_ns;
    return last->before_ns + until_ns - last->start_ns;
}

/* What of one process is needed, by operation. */
struct part {
    const struct rp_dag_process *process;
    struct cover *covers;
    size_t cover_count;
    int64_t *waits_ns; /**< per operation; 0 where it is not known */
    struct found {
        int64_t id;
        size_t op;
    } * ids; /**< of collectives, sorted */
    size_t id_count;
};

static bool is_collective(const struct rp_dag_op *op)
{
    return !op->is_copy && op->is_collective;
}

static int by_id(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static void free_part(struct part *part)
{
    free(part->covers);
    free(part->waits_ns);
    free(part->ids);
    memset(part, 0, sizeof *part);
}

static int look_at(const struct rp_dag_process *p, struct part *ret, struct rp_err *err)
{
    struct part part = {.process = p};

    part.covers = malloc((p->op_count + 1) * sizeof *part.covers);
    part.waits_ns = calloc(p->op_count + 1, sizeof *part.waits_ns);
    part.ids = malloc((p->op_count + 1) * sizeof *part.ids);
    if (!part.covers || !part.waits_ns || !part.ids) {
        free_part(&part);
        return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < p->op_count; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        if (is_collective(op))
            part.ids[part.id_count++] = (struct found){rp_dag_row_id(p, i), i};
        else if (!op->is_copy && op->end_ns > op->start_ns)
            part.covers[part.cover_count++] =
                (struct cover){op->agent, op->start_ns, op->end_ns, 0};
    }
    qsort(part.ids, part.id_count, sizeof *part.ids, by_id);
    qsort(part.covers, part.cover_count, sizeof *part.covers, by_place);
    part.cover_count = merge(part.covers, part.cover_count);
    *ret = part;
    return 0;
}

static int64_t exposed_ns(const struct part *part, size_t op)
{
    const struct rp_dag_op *o = &part->process->ops[op];

    return o->end_ns - o->start_ns -
           (covered_before(part->covers, part->cover_count, o->agent, o->end_ns) -
            covered_before(part->covers, part->cover_count, o->agent, o->start_ns));
}

/* --- waits ----------------------------------------------------------------------------------- */

/* Returns when the last rank came to a collective, and which: before that, the others only wait. */
static int64_t last_start(const struct rp_dag *dag, uint32_t common, uint32_t *ret_item)
{
    const struct rp_dag_graph *g = &dag->graph;
    int64_t last_ns = INT64_MIN;

    for (uint32_t e = rp_dag_first(g, common); e < rp_dag_first(g, common + 1); e++)
        if (g->time_ns[g->from[e]] > last_ns) {
            last_ns = g->time_ns[g->from[e]];
            *ret_item = dag->owner[g->from[e]];
        }
    return last_ns;
}

/* Counts the waits of the ranks whose kernels end at a common point. */
static void count_waits(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t common,
                        struct part *parts, struct rp_dag_result *ret)
{
    const struct rp_dag_graph *g = &dag->graph;
    uint32_t last = RP_DAG_NONE;
    int64_t last_ns = last_start(dag, common, &last);

    for (uint32_t e = rp_dag_first(g, common); e < rp_dag_first(g, common + 1); e++) {
        uint32_t item = dag->owner[g->from[e]], process = rp_dag_process_of(trace, item);
        const struct rp_dag_op *op = rp_dag_op_of(trace, item);
        int64_t until_ns = last_ns < op->end_ns ? last_ns : op->end_ns;
        int64_t wait_ns = until_ns > op->start_ns ? until_ns - op->start_ns : 0;

        ret->collectives[op->symbol].wait_known = true;
        ret->collectives[op->symbol].wait_ns += wait_ns;
        ret->processes[process].collective_wait_ns += wait_ns;
        ret->processes[rp_dag_process_of(trace, last)].waited_for_ns += wait_ns;
        parts[process].waits_ns[op - trace->processes[process].ops] = wait_ns;
    }
}

static void count_times(const struct part *part, const struct rp_dag_trace *trace,
                        struct rp_dag_result *ret)
{
    for (size_t i = 0; i < part->id_count; i++) {
        const struct rp_dag_op *op = &part->process->ops[part->ids[i].op];
        struct rp_dag_collective *c = &ret->collectives[op->symbol];

        c->name = trace->symbols[op->symbol];
        c->count++;
        c->time_ns += op->end_ns - op->start_ns;
        c->exposed_ns += exposed_ns(part, part->ids[i].op);
    }
}

/* --- messages -------------------------------------------------------------------------------- */

/* How many bytes go over a rank's links for each byte of the message, as NCCL's tests count; 0: the
 * collective is not known. */
static double bus_factor(const char *collective, int64_t ranks)
{
    static const struct {
        const char *word;
        double once, of_others; /**< once, and for each of the other ranks: of a rank's part */
    } known[] = {
        {"allreduce", 0, 2},  {"all_reduce", 0, 2},     {"allgather", 0, 1},
        {"all_gather", 0, 1}, {"reduce_scatter", 0, 1}, {"reducescatter", 0, 1},
        {"all_to_all", 0, 1}, {"alltoall", 0, 1},       {"broadcast", 1, 0},
        {"reduce", 1, 0},     {"send", 1, 0},           {"recv", 1, 0},
    };

    for (size_t i = 0; ranks > 0 && i < sizeof known / sizeof *known; i++)
        if (strstr(collective, known[i].word))
            return known[i].once + known[i].of_others * (double)(ranks - 1) / (double)ranks;
    return 0;
}

/* The GPUs of a node have a link to each other. More of them are on several nodes. What is sent to
 * one other rank has one link. */
static double peak_of(const struct part *part, const struct rp_dag_op *op, const char *collective,
                      int64_t ranks)
{
    enum { MOST_OF_A_NODE = 8 };
    const struct rp_row_agent *agent =
        rp_store_find_agent(part->process->from.store, part->process->from.guid_index, op->agent);
    const struct rp_arch *arch = agent ? rp_arch_find(agent->name) : NULL;
    const bool one_link = strcmp(collective, "send") == 0 || strcmp(collective, "recv") == 0;

    return arch && ranks > 1 && ranks <= MOST_OF_A_NODE
               ? arch->peer_link_gbps * (one_link ? 1 : (double)(ranks - 1))
               : 0;
}

struct messages {
    struct part *part;
    struct rp_dag_result *result;
    size_t room;
};

static struct rp_dag_message *message_of(struct messages *m, const struct rp_row_collective *row)
{
    struct rp_dag_result *r = m->result;

    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].ranks == row->ranks &&
            strcmp(r->messages[i].collective, row->name) == 0 &&
            strcmp(r->messages[i].dtype, row->dtype) == 0)
            return &r->messages[i];
    if (!rp_dag_room(&r->messages, r->message_count, &m->room, sizeof *r->messages))
        return NULL;
    r->messages[r->message_count] =
        (struct rp_dag_message){.collective = row->name, .dtype = row->dtype, .ranks = row->ranks};
    return &r->messages[r->message_count++];
}

/* Until all are counted, bus_gbps is a time: of those of known size, without their waits. */
static void count_message(struct rp_dag_message *message, const struct part *part, size_t index,
                          int64_t bytes)
{
    const struct rp_dag_op *op = &part->process->ops[index];
    const double factor = bus_factor(message->collective, message->ranks);
    int64_t moving_ns = op->end_ns - op->start_ns - part->waits_ns[index];
    double gbps;

    message->count++;
    message->time_ns += op->end_ns - op->start_ns;
    message->wait_ns += part->waits_ns[index];
    message->exposed_ns += exposed_ns(part, index);
    if (bytes < 0 || moving_ns <= 0 || op->end_lost)
        return;
    gbps = (double)bytes * factor / (double)moving_ns;
    message->sized++;
    message->bytes += bytes;
    message->bus_gbps += (double)moving_ns;
    if (gbps > message->best_bus_gbps)
        message->best_bus_gbps = gbps;
    message->peak_gbps = factor > 0 ? peak_of(part, op, message->collective, message->ranks) : 0;
}

static int take_collective(void *ctx, const void *row, struct rp_err *err)
{
    struct messages *m = ctx;
    const struct rp_row_collective *r = row;
    const struct found key = {.id = r->id}, *found;
    struct rp_dag_message *message;

    if (r->guid_index != m->part->process->from.guid_index)
        return 0;
    found = bsearch(&key, m->part->ids, m->part->id_count, sizeof key, by_id);
    if (!found)
        return 0;
    message = message_of(m, r);
    if (!message)
        return rp_out_of_memory(err);
    count_message(message, m->part, found->op, r->bytes);
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct rp_dag_message *x = a, *y = b;
    int order = (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);

    if (order == 0)
        order = strcmp(x->collective, y->collective);
    if (order == 0)
        order = strcmp(x->dtype, y->dtype);
    return order ? order : (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

static void finish_messages(struct rp_dag_result *r)
{
    for (size_t i = 0; i < r->message_count; i++) {
        struct rp_dag_message *m = &r->messages[i];
        m->bus_gbps =
            m->sized ? (double)m->bytes * bus_factor(m->collective, m->ranks) / m->bus_gbps : 0;
    }
    if (r->message_count)
        qsort(r->messages, r->message_count, sizeof *r->messages, by_time);
}

static int find_messages(const struct rp_dag_trace *trace, struct part *parts,
                         struct rp_dag_result *ret, struct rp_err *err)
{
    struct messages m = {.result = ret};
    int rc = 0;

    for (size_t i = 0; i < trace->process_count && rc == 0; i++) {
        m.part = &parts[i];
        if (parts[i].id_count)
            rc = rp_store_each_collective(trace->processes[i].from.store, take_collective, &m, err);
    }
    finish_messages(ret);
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void count_all(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      struct part *parts, struct rp_dag_result *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < trace->process_count; i++)
        count_times(&parts[i], trace, ret);
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (dag->flags[p] & RP_DAG_COMMON)
            count_waits(dag, trace, p, parts, ret);
    /* Names get their numbers in alphabetical order. */
    for (size_t k = 0; k < trace->symbol_count; k++)
        if (ret->collectives[k].name)
            ret->collectives[kept++] = ret->collectives[k];
    ret->collective_count = kept;
}

static bool has_collectives(const struct rp_dag_trace *trace)
{
    for (size_t k = 0; k < trace->symbol_count; k++)
        if (rp_dag_is_collective(trace->symbols[k]))
            return true;
    return false;
}

int rp_dag_collectives(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                       struct rp_dag_result *ret, struct rp_err *err)
{
    struct part *parts = calloc(trace->process_count + 1, sizeof *parts);
    int rc = 0;

    ret->collectives = calloc(trace->symbol_count + 1, sizeof *ret->collectives);
    if (!parts || !ret->collectives)
        rc = rp_out_of_memory(err);
    if (rc == 0 && has_collectives(trace)) {
        for (size_t i = 0; i < trace->process_count && rc == 0; i++)
            rc = look_at(&trace->processes[i], &parts[i], err);
        if (rc == 0)
            count_all(dag, trace, parts, ret);
        if (rc == 0)
            rc = find_messages(trace, parts, ret, err);
        for (size_t i = 0; i < trace->process_count; i++)
            free_part(&parts[i]);
    }
    free(parts);
    return rc;
}
