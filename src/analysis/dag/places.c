#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Whether two processes mean the same GPU: the driver's number of it, on one machine. */
static bool same_agent(const struct rp_dag_agent *a, const struct rp_dag_agent *b)
{
    return a->node_known && b->node_known && a->node == b->node && a->machine == b->machine;
}

static bool is_new(const struct rp_dag_place *list, size_t first, size_t count, int32_t agent)
{
    for (size_t i = first; i < count; i++)
        if (list[i].agent == agent)
            return false;
    return true;
}

/* Agent ids of a process's operations; the list grows by them. */
static int list_agents(const struct rp_dag_process *p, struct rp_dag_places *places, size_t *count,
                       struct rp_err *err)
{
    size_t first = *count; /* those of earlier processes stand before its own */
    int32_t last = 0;

    for (size_t i = 0; i < p->op_count; i++) {
        struct rp_dag_place *grown;
        if ((i && p->ops[i].agent == last) || !is_new(places->list, first, *count, p->ops[i].agent))
            continue;
        last = p->ops[i].agent;
        grown = realloc(places->list, (*count + 1) * sizeof *grown);
        if (!grown)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        places->list = grown;
        places->list[(*count)++] = (struct rp_dag_place){.agent = last};
    }
    return 0;
}

static int by_agent(const void *a, const void *b)
{
    const struct rp_dag_place *x = a, *y = b;

    return (x->agent > y->agent) - (x->agent < y->agent);
}

static struct rp_dag_agent describe(const struct rp_dag_process *p, int32_t agent)
{
    const struct rp_row_agent *row =
        agent < 0 ? NULL : rp_store_find_agent(p->from.store, p->from.guid_index, agent);

    return (struct rp_dag_agent){
        .guid = p->guid,
        .id = agent,
        .name = row ? row->name : "",
        .node = row ? row->absolute_index : -1,
        .node_known = row && row->absolute_index >= 0,
        .machine = p->machine,
    };
}

/* The agents of one process get their places in the list of all. */
static int merge(const struct rp_dag_process *p, struct rp_dag_place *places, size_t count,
                 struct rp_dag_agent **agents, size_t *agent_count, struct rp_err *err)
{
    struct rp_dag_agent *grown = realloc(*agents, (*agent_count + count + 1) * sizeof *grown);

    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *agents = grown;
    for (size_t i = 0; i < count; i++) {
        const struct rp_dag_agent agent = describe(p, places[i].agent);
        size_t k = 0;
        while (k < *agent_count && !same_agent(&grown[k], &agent))
            k++;
        if (k == *agent_count)
            grown[(*agent_count)++] = agent;
        places[i].index = (uint32_t)k;
    }
    return 0;
}

static int add_process(const struct rp_dag_process *p, struct rp_dag_places *places, size_t *count,
                       struct rp_dag_agent **agents, size_t *agent_count, struct rp_err *err)
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

int rp_dag_places_find(const struct rp_dag_trace *trace, struct rp_dag_places *ret,
                       struct rp_dag_agent **ret_agents, size_t *ret_count, struct rp_err *err)
{
    struct rp_dag_places places = {.first = calloc(trace->process_count + 1, sizeof(size_t))};
    struct rp_dag_agent *agents = NULL;
    size_t count = 0, agent_count = 0;
    int rc = places.first ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    for (size_t i = 0; i < trace->process_count && rc == 0; i++) {
        rc = add_process(&trace->processes[i], &places, &count, &agents, &agent_count, err);
        places.first[i + 1] = count;
    }
    if (rc < 0) {
        rp_dag_places_free(&places);
        free(agents);
        return rc;
    }
    *ret = places;
    *ret_agents = agents;
    *ret_count = agent_count;
    return 0;
}

void rp_dag_places_free(struct rp_dag_places *places)
{
    free(places->list);
    free(places->first);
    memset(places, 0, sizeof *places);
}

uint32_t rp_dag_place_of(const struct rp_dag_places *places, uint32_t process, int32_t agent)
{
    size_t i = places->first[process];

    while (places->list[i].agent != agent) /* every operation's is among its process's few */
        i++;
    return places->list[i].index;
}
