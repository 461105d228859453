/* Simulated annealing, as Kernel Tuner has it: a random neighbour is taken when it is faster, or
 * else with a probability that falls with how much slower it is and with the temperature. When it
 * is cold, or stuck, the search starts again at random. */
#include <math.h>

#include "tune/neighbours.h"
#include "tune/numeric.h"
#include "tune/sequential.h"
#include "tune/space.h"

enum { MOST_STUCK = 100 /**< steps without a move */ };

static const double hot = 1, cold = 0.001, cooling = 0.95;

struct annealing {
    struct rp_neighbours neighbours;
    bool placed;
    uint32_t at;
    double cost, temperature;
    unsigned stuck;
};

static int64_t next(struct rp_sequential *s)
{
    struct annealing *a = s->state;

    if (a->placed && (a->temperature < cold || a->stuck > MOST_STUCK))
        a->placed = false;
    if (a->placed) {
        rp_neighbours_of(s->space, a->at, &a->neighbours);
        s->failed |= a->neighbours.failed;
    }
    if (!a->placed || a->neighbours.count == 0) {
        a->placed = false;
        return rp_sequential_any(s);
    }
    return a->neighbours.configs[rp_random_below(&s->random, (uint32_t)a->neighbours.count)];
}

static bool taken(struct rp_sequential *s, double cost)
{
    const struct annealing *a = s->state;

    if (cost < a->cost)
        return true;
    if (cost == HUGE_VAL)
        return false;
    return rp_random_unit(&s->random) < rp_exp((a->cost - cost) / (a->cost * a->temperature));
}

static void learn(struct rp_sequential *s, size_t config, double cost)
{
    struct annealing *a = s->state;

    s->predicts = true;
    if (!a->placed) {
        a->temperature = hot;
        a->stuck = 0;
        a->placed = cost < HUGE_VAL; /* from what failed there is no way */
    } else if (taken(s, cost)) {
        a->stuck = 0;
    } else {
        a->stuck++;
        a->temperature *= cooling;
        return;
    }
    a->temperature *= cooling;
    a->at = (uint32_t)config;
    a->cost = cost;
}

static void end(struct rp_sequential *s)
{
    rp_neighbours_free(&((struct annealing *)s->state)->neighbours);
}

static const struct rp_algorithm algorithm = {
    .state_bytes = sizeof(struct annealing), .next = next, .learn = learn, .end = end};

RP_SEQUENTIAL_STRATEGY(annealing, "annealing", "simulated annealing", algorithm);
