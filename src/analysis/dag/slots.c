#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct pool {
    uint32_t *last; /* per slot: the last point that needs it */
    uint32_t *free; /* slots that nothing needs any more */
    size_t count, free_count, room;
};

static bool take(struct pool *pool, uint32_t *ret)
{
    if (pool->free_count) {
        *ret = pool->free[--pool->free_count];
        return true;
    }
    if (pool->count == pool->room) {
        size_t room = pool->room ? pool->room * 2 : 256;
        uint32_t *last = realloc(pool->last, room * sizeof *last), *grown;
        if (last)
            pool->last = last;
        grown = realloc(pool->free, room * sizeof *grown);
        if (grown)
            pool->free = grown;
        if (!last || !grown)
            return false;
        pool->room = room;
    }
    *ret = (uint32_t)pool->count++;
    return true;
}

static void give_back(struct pool *pool, uint32_t slot)
{
    pool->last[slot] = RP_DAG_NO_POINT; /* two edges may come from one point */
    pool->free[pool->free_count++] = slot;
}

/* of holds each point's last successor, or itself, until its slot is known. */
static bool assign(const struct rp_dag_graph *g, uint32_t *of, struct pool *pool)
{
    for (uint32_t p = 0; p < g->point_count; p++) {
        uint32_t slot;
        if (!take(pool, &slot))
            return false;
        pool->last[slot] = of[p];
        of[p] = slot;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            if (pool->last[of[g->from[e]]] == p)
                give_back(pool, of[g->from[e]]);
        if (pool->last[slot] == p)
            give_back(pool, slot);
    }
    return true;
}

/* The same numbers in half the room, in place: it is the largest array at that time. */
static struct rp_dag_slots narrowed(uint32_t *wide, size_t count)
{
    char *bytes = (char *)wide;
    uint16_t *shrunk;

    for (size_t p = 0; p < count; p++) {
        uint16_t slot = (uint16_t)wide[p];
        memcpy(bytes + p * sizeof slot, &slot, sizeof slot);
    }
    shrunk = realloc(wide, (count + 1) * sizeof *shrunk);
    return (struct rp_dag_slots){.of = shrunk ? shrunk : (uint16_t *)wide};
}

int rp_dag_slots_find(const struct rp_dag_graph *g, struct rp_dag_slots *ret, struct rp_err *err)
{
    struct pool pool = {0};
    uint32_t *of = malloc((g->point_count + 1) * sizeof *of);
    bool done;

    for (uint32_t p = 0; of && p < g->point_count; p++) {
        of[p] = p;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            of[g->from[e]] = p;
    }
    if (of && g->point_count)
        of[0] = RP_DAG_NO_POINT; /* never given back: edges that are contradicted come from it */
    done = of && assign(g, of, &pool);
    free(pool.last);
    free(pool.free);
    if (!done) {
        free(of);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = pool.count <= (size_t)UINT16_MAX + 1 ? narrowed(of, g->point_count)
                                                : (struct rp_dag_slots){.wide = of};
    ret->count = pool.count;
    return 0;
}

void rp_dag_slots_free(struct rp_dag_slots *slots)
{
    free(slots->of);
    free(slots->wide);
    *slots = (struct rp_dag_slots){0};
}
