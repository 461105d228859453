/* Greedy iterated local search, as Kernel Tuner has it: neighbours in random order, the first one
 * that is faster becomes the next place; where none is, some random steps lead away from there,
 * and when that has brought nothing new for long the search starts again at random. */
#include <math.h>
#include <string.h>

#include "tune/neighbours.h"
#include "tune/sequential.h"
#include "tune/space.h"

enum { MOST_VAIN = 50 /**< climbs without a better end */, STEPS_OF = 5 /**< a fifth of them */ };

struct ils {
    struct rp_neighbours neighbours; /**< those not tried yet at the end */
    bool placed;
    uint32_t at;
    double cost, best;
    unsigned vain;
};

static void settle(struct rp_sequential *s, size_t config, double cost)
{
    struct ils *ils = s->state;

    ils->placed = true;
    ils->at = (uint32_t)config;
    ils->cost = cost;
    rp_neighbours_of(s->space, config, &ils->neighbours);
    s->failed |= ils->neighbours.failed;
    for (size_t i = ils->neighbours.count; i > 1; i--) {
        const size_t other = rp_random_below(&s->random, (uint32_t)i);
        const uint32_t config_i = ils->neighbours.configs[i - 1];

        ils->neighbours.configs[i - 1] = ils->neighbours.configs[other];
        ils->neighbours.configs[other] = config_i;
    }
}

/** From the top of a climb: some steps to any neighbours, or a new start. */
static uint32_t leave(struct rp_sequential *s)
{
    struct ils *ils = s->state;
    size_t at = ils->at;
    const size_t steps = s->space->parameter_count / STEPS_OF + 1;

    if (ils->cost < ils->best) {
        ils->best = ils->cost;
        ils->vain = 0;
    } else if (++ils->vain > MOST_VAIN) {
        ils->vain = 0;
        return rp_sequential_any(s);
    }
    for (size_t i = 0; i < steps; i++) {
        rp_neighbours_of(s->space, at, &ils->neighbours);
        if (ils->neighbours.count == 0)
            return rp_sequential_any(s);
        at = ils->neighbours.configs[rp_random_below(&s->random, (uint32_t)ils->neighbours.count)];
    }
    return (uint32_t)at;
}

static int64_t next(struct rp_sequential *s)
{
    struct ils *ils = s->state;

    if (!ils->placed)
        return rp_sequential_any(s);
    if (ils->neighbours.count)
        return ils->neighbours.configs[--ils->neighbours.count];
    ils->placed = false;
    return leave(s);
}

static void learn(struct rp_sequential *s, size_t config, double cost)
{
    struct ils *ils = s->state;

    s->predicts = true;
    if (!ils->placed || cost < ils->cost)
        settle(s, config, cost);
}

static bool begin(struct rp_sequential *s)
{
    ((struct ils *)s->state)->best = HUGE_VAL;
    return true;
}

static void end(struct rp_sequential *s)
{
    rp_neighbours_free(&((struct ils *)s->state)->neighbours);
}

static const struct rp_algorithm algorithm = {
    .state_bytes = sizeof(struct ils), .begin = begin, .next = next, .learn = learn, .end = end};

RP_SEQUENTIAL_STRATEGY(greedy_ils, "greedy-ils", "greedy iterated local search", algorithm);
