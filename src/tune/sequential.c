#include "tune/sequential.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "tune/filling.h"
#include "tune/space.h"

/** Known configurations in a row after which an algorithm that turns in circles is helped out. */
enum { MOST_KNOWN = 1000 };

int rp_sequential_open(const struct rp_space *space, const struct rp_strategy_options *options,
                       const struct rp_algorithm *algorithm, void **ret_state, struct rp_err *err)
{
    struct rp_sequential *s = calloc(1, sizeof *s);
    bool good = s != NULL;

    if (s) {
        s->space = space;
        s->algorithm = algorithm;
        s->options = *options;
        s->random = rp_random_new(options->seed);
        s->out = -1;
        s->state = calloc(1, algorithm->state_bytes + 1);
        s->taken = calloc(space->count + 1, 1);
        s->costs = malloc((space->count + 1) * sizeof *s->costs);
        good = s->state && s->taken && s->costs;
        for (size_t i = 0; good && i < space->count; i++)
            s->costs[i] = -1;
        good = good && (!algorithm->begin || algorithm->begin(s));
    }
    if (!good) {
        rp_sequential_close(s);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the search");
    }
    *ret_state = s;
    return 0;
}

void rp_sequential_close(void *state)
{
    struct rp_sequential *s = state;

    if (!s)
        return;
    if (s->state && s->algorithm->end)
        s->algorithm->end(s);
    free(s->state);
    free(s->taken);
    free(s->costs);
    free(s);
}

static void learn(struct rp_sequential *s, size_t config)
{
    if (s->algorithm->learn)
        s->algorithm->learn(s, config, s->costs[config]);
}

int64_t rp_sequential_ask(void *state)
{
    struct rp_sequential *s = state;
    int64_t next = -1;

    if (s->out >= 0)
        return RP_ASK_WAIT;
    if (s->taken_count == s->space->count)
        return RP_ASK_NONE_LEFT;
    for (int i = 0; i < MOST_KNOWN; i++) {
        next = s->algorithm->next(s);
        if (s->failed)
            return RP_ASK_NO_MEMORY;
        if (next < 0)
            return RP_ASK_NONE_LEFT;
        if (!s->taken[next])
            break;
        if (i == MOST_KNOWN - 1) /* it learns about another one than it asked for */
            next = rp_filling_any(s->space, s->taken, &s->random);
        else
            learn(s, (size_t)next);
    }
    s->taken[next] = 1;
    s->taken_count++;
    s->out = next;
    return next;
}

void rp_sequential_tell(void *state, size_t config, enum rp_told told, double ms)
{
    struct rp_sequential *s = state;

    s->costs[config] = told == RP_TOLD_FAILED ? HUGE_VAL : ms;
    if (s->out != (int64_t)config) { /* the algorithm learns it when it comes there itself */
        s->taken[config] = 1;
        s->taken_count++;
        return;
    }
    s->out = -1;
    learn(s, config);
}

const char *rp_sequential_phase(const void *state)
{
    return ((const struct rp_sequential *)state)->predicts ? "predict" : "seed";
}

uint32_t rp_sequential_any(struct rp_sequential *sequential)
{
    return rp_random_below(&sequential->random, (uint32_t)sequential->space->count);
}
