/* A genetic algorithm, as Kernel Tuner has it: of twenty configurations the faster ones are
 * parents more often, a child has each value from one of two parents, and sometimes another one.
 * Children that are not in the space are made again. */
#include <stdlib.h>
#include <string.h>

#include "tune/neighbours.h"
#include "tune/sequential.h"
#include "tune/space.h"

enum { PEOPLE = 20, MUTATES = 10 /**< one child in ten */, TRIES = 20 };

struct person {
    uint32_t config;
    double cost;
};

struct genetic {
    struct person people[PEOPLE], children[PEOPLE];
    size_t grown; /**< children whose cost is known */
    bool first;   /**< the children are the first generation: they have no parents */
    struct rp_neighbours neighbours;
};

static int compare_people(const void *left, const void *right)
{
    const struct person *a = left, *b = right;

    if (a->cost != b->cost)
        return (a->cost > b->cost) - (a->cost < b->cost);
    return (a->config > b->config) - (a->config < b->config);
}

/** The fastest of them twenty times as likely as the slowest. */
static const struct person *parent(struct rp_sequential *s)
{
    const struct genetic *g = s->state;
    uint32_t ticket = rp_random_below(&s->random, PEOPLE * (PEOPLE + 1) / 2);
    size_t at = 0;

    while (ticket >= PEOPLE - at)
        ticket -= (uint32_t)(PEOPLE - at++);
    return &g->people[at];
}

static uint32_t mutated(struct rp_sequential *s, uint32_t config)
{
    struct genetic *g = s->state;

    rp_neighbours_of(s->space, config, &g->neighbours);
    s->failed |= g->neighbours.failed;
    if (g->neighbours.count == 0)
        return config;
    return g->neighbours.configs[rp_random_below(&s->random, (uint32_t)g->neighbours.count)];
}

static uint32_t child(struct rp_sequential *s)
{
    uint16_t row[RP_MOST_PARAMETERS];

    for (int i = 0; i < TRIES; i++) {
        const uint32_t mother = parent(s)->config, father = parent(s)->config;
        int64_t found;

        for (size_t j = 0; j < s->space->parameter_count; j++)
            row[j] = rp_space_row(s->space, rp_random_below(&s->random, 2) ? mother : father)[j];
        found = rp_space_find(s->space, row);
        if (found < 0)
            continue;
        return rp_random_below(&s->random, MUTATES) == 0 ? mutated(s, (uint32_t)found)
                                                         : (uint32_t)found;
    }
    return mutated(s, parent(s)->config);
}

static int64_t next(struct rp_sequential *s)
{
    struct genetic *g = s->state;

    if (g->grown == PEOPLE) {
        memcpy(g->people, g->children, sizeof g->people);
        qsort(g->people, PEOPLE, sizeof *g->people, compare_people);
        g->grown = 0;
        g->first = false;
        s->predicts = true;
    }
    return g->first ? rp_sequential_any(s) : child(s);
}

static void learn(struct rp_sequential *s, size_t config, double cost)
{
    struct genetic *g = s->state;

    g->children[g->grown++] = (struct person){(uint32_t)config, cost};
}

static bool begin(struct rp_sequential *s)
{
    ((struct genetic *)s->state)->first = true;
    return true;
}

static void end(struct rp_sequential *s)
{
    rp_neighbours_free(&((struct genetic *)s->state)->neighbours);
}

static const struct rp_algorithm algorithm = {.state_bytes = sizeof(struct genetic),
                                              .begin = begin,
                                              .next = next,
                                              .learn = learn,
                                              .end = end};

RP_SEQUENTIAL_STRATEGY(genetic, "genetic", "a genetic algorithm", algorithm);
