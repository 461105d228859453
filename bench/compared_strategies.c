#include "compared_strategies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/stats.h"
#include "tune/space.h"
#include "tune/strategy.h"
#include "tune/surrogate.h"

/* For strategies that want one result before they say what is next: asks and tells, and the
 *        memory of what was told, so that a configuration met again is not run again.
 */

struct sequential {
    const struct rp_space *space;
    const struct algorithm *algorithm;
    struct rp_strategy_options options;
    struct rp_random random;
    void *state;
    uint8_t *taken; /**< per configuration: was asked for */
    double *costs;  /**< per configuration: below 0 until it was told */
    size_t taken_count;
    int64_t out;
    bool predicts; /**< what the algorithm says it does */
};

/** The algorithm itself. Costs are milliseconds, HUGE_VAL for what failed. */
struct algorithm {
    size_t state_bytes;                           /**< zeroed */
    void (*begin)(struct sequential *sequential); /**< NULL: nothing to do */
    /** The next one, asked for before or not; below 0: the algorithm has come to its end. */
    int64_t (*next)(struct sequential *sequential);
    /** What it costs; called once after each next. NULL: not wanted */
    void (*learn)(struct sequential *sequential, size_t config, double cost);
    void (*end)(struct sequential *sequential); /**< NULL: nothing to release */
};

/** Known configurations in a row after which an algorithm that turns in circles is helped out. */
enum { MOST_KNOWN = 1000 };

static void *sequential_open(const struct rp_space *space,
                             const struct rp_strategy_options *options,
                             const struct algorithm *algorithm)
{
    struct sequential *s = rp_new(struct sequential);

    *s = (struct sequential){.space = space,
                             .algorithm = algorithm,
                             .options = *options,
                             .random = rp_random_new(options->seed),
                             .state = rp_alloc_zero(1, algorithm->state_bytes + 1),
                             .taken = rp_alloc_zero(space->count + 1, 1),
                             .costs = rp_alloc((space->count + 1) * sizeof *s->costs),
                             .out = -1};
    for (size_t i = 0; i < space->count; i++)
        s->costs[i] = -1;
    if (algorithm->begin)
        algorithm->begin(s);
    return s;
}

static void sequential_close(void *state)
{
    struct sequential *s = state;

    if (s->algorithm->end)
        s->algorithm->end(s);
    free(s->state);
    free(s->taken);
    free(s->costs);
    free(s);
}

static void learn_cost(struct sequential *s, size_t config)
{
    if (s->algorithm->learn)
        s->algorithm->learn(s, config, s->costs[config]);
}

static int64_t sequential_ask(void *state)
{
    struct sequential *s = state;
    int64_t next = -1;

    if (s->out >= 0)
        return RP_ASK_WAIT;
    if (s->taken_count == s->space->count)
        return RP_ASK_NONE_LEFT;
    for (int i = 0; i < MOST_KNOWN; i++) {
        next = s->algorithm->next(s);
        if (next < 0)
            return RP_ASK_NONE_LEFT;
        if (!s->taken[next])
            break;
        if (i == MOST_KNOWN - 1) /* it learns about one that it did not ask for */
            next = rp_fill_in_random(s->space, s->taken, &s->random);
        else
            learn_cost(s, (size_t)next);
    }
    s->taken[next] = 1;
    s->taken_count++;
    s->out = next;
    return next;
}

static void sequential_tell(void *state, size_t config, enum rp_reported told, double ms)
{
    struct sequential *s = state;

    s->costs[config] = told == RP_REPORTED_FAILED ? HUGE_VAL : ms;
    if (s->out != (int64_t)config) { /* the algorithm learns it when it comes there itself */
        s->taken[config] = 1;
        s->taken_count++;
        return;
    }
    s->out = -1;
    learn_cost(s, config);
}

static const char *sequential_phase(const void *state)
{
    return ((const struct sequential *)state)->predicts ? "predict" : "seed";
}

/** Any configuration of the space, asked for before or not. */
static uint32_t sequential_any(struct sequential *sequential)
{
    return rp_random_below(&sequential->random, (uint32_t)sequential->space->count);
}

/** Defines <id>_strategy around an algorithm of the file. */
#define SEQUENTIAL_STRATEGY(id, text_name, text, its_algorithm)                                    \
    static void *open_##id(const struct rp_space *space,                                           \
                           const struct rp_strategy_options *options)                              \
    {                                                                                              \
        return sequential_open(space, options, &(its_algorithm));                                  \
    }                                                                                              \
    static const struct rp_strategy id##_strategy = {                                              \
        .name = text_name,                                                                         \
        .summary = text,                                                                           \
        .open = open_##id,                                                                         \
        .ask = sequential_ask,                                                                     \
        .tell = sequential_tell,                                                                   \
        .phase = sequential_phase,                                                                 \
        .close = sequential_close,                                                                 \
    }

/* Simulated annealing, as Kernel Tuner has it: a random neighbour is taken when it is faster, or
 * else with a probability that falls with how much slower it is and with the temperature. When it
 * is cold, or stuck, the search starts again at random. */

enum { MOST_STUCK = 100 /**< steps without a move */ };

static const double hot = 1, cold = 0.001, cooling = 0.95;

struct annealing {
    struct rp_neighbours neighbours;
    bool placed;
    uint32_t at;
    double cost, temperature;
    unsigned stuck;
};

static int64_t next(struct sequential *s)
{
    struct annealing *a = s->state;

    if (a->placed && (a->temperature < cold || a->stuck > MOST_STUCK))
        a->placed = false;
    if (a->placed) {
        rp_neighbours_of(s->space, a->at, &a->neighbours);
    }
    if (!a->placed || a->neighbours.count == 0) {
        a->placed = false;
        return sequential_any(s);
    }
    return a->neighbours.items[rp_random_below(&s->random, (uint32_t)a->neighbours.count)];
}

static bool taken(struct sequential *s, double cost)
{
    const struct annealing *a = s->state;

    if (cost < a->cost)
        return true;
    if (cost == HUGE_VAL)
        return false;
    return rp_random_unit(&s->random) < rp_exp((a->cost - cost) / (a->cost * a->temperature));
}

static void learn(struct sequential *s, size_t config, double cost)
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

static void end(struct sequential *s)
{
    rp_vec_free(&((struct annealing *)s->state)->neighbours);
}

static const struct algorithm algorithm = {
    .state_bytes = sizeof(struct annealing), .next = next, .learn = learn, .end = end};

SEQUENTIAL_STRATEGY(annealing, "annealing", "simulated annealing", algorithm);

/* A genetic algorithm, as Kernel Tuner has it: of twenty configurations the faster ones are
 * parents more often, a child has each value from one of two parents, and sometimes another one.
 * Children that are not in the space are made again. */

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
static const struct person *parent(struct sequential *s)
{
    const struct genetic *g = s->state;
    uint32_t ticket = rp_random_below(&s->random, PEOPLE * (PEOPLE + 1) / 2);
    size_t at = 0;

    while (ticket >= PEOPLE - at)
        ticket -= (uint32_t)(PEOPLE - at++);
    return &g->people[at];
}

static uint32_t mutated(struct sequential *s, uint32_t config)
{
    struct genetic *g = s->state;

    rp_neighbours_of(s->space, config, &g->neighbours);
    if (g->neighbours.count == 0)
        return config;
    return g->neighbours.items[rp_random_below(&s->random, (uint32_t)g->neighbours.count)];
}

static uint32_t child(struct sequential *s)
{
    uint16_t row[RP_MAX_PARAMETERS];

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

static int64_t genetic_next(struct sequential *s)
{
    struct genetic *g = s->state;

    if (g->grown == PEOPLE) {
        memcpy(g->people, g->children, sizeof g->people);
        qsort(g->people, PEOPLE, sizeof *g->people, compare_people);
        g->grown = 0;
        g->first = false;
        s->predicts = true;
    }
    return g->first ? sequential_any(s) : child(s);
}

static void genetic_learn(struct sequential *s, size_t config, double cost)
{
    struct genetic *g = s->state;

    g->children[g->grown++] = (struct person){(uint32_t)config, cost};
}

static void begin(struct sequential *s)
{
    ((struct genetic *)s->state)->first = true;
}

static void genetic_end(struct sequential *s)
{
    rp_vec_free(&((struct genetic *)s->state)->neighbours);
}

static const struct algorithm genetic_algorithm = {.state_bytes = sizeof(struct genetic),
                                                   .begin = begin,
                                                   .next = genetic_next,
                                                   .learn = genetic_learn,
                                                   .end = genetic_end};

SEQUENTIAL_STRATEGY(genetic, "genetic", "a genetic algorithm", genetic_algorithm);

/* Greedy iterated local search, as Kernel Tuner has it: neighbours in random order, the first one
 * that is faster becomes the next place; where none is, some random steps lead away from there,
 * and when that has brought nothing new for long the search starts again at random. */

enum {
    MOST_VAIN = 50 /**< climbs without a better end */,
    STEPS_OF = 5 /**< a fifth of them */
};

struct ils {
    struct rp_neighbours neighbours; /**< those not tried yet at the end */
    bool placed;
    uint32_t at;
    double cost, best;
    unsigned vain;
};

static void settle(struct sequential *s, size_t config, double cost)
{
    struct ils *ils = s->state;

    ils->placed = true;
    ils->at = (uint32_t)config;
    ils->cost = cost;
    rp_neighbours_of(s->space, config, &ils->neighbours);
    for (size_t i = ils->neighbours.count; i > 1; i--) {
        const size_t other = rp_random_below(&s->random, (uint32_t)i);
        const uint32_t config_i = ils->neighbours.items[i - 1];

        ils->neighbours.items[i - 1] = ils->neighbours.items[other];
        ils->neighbours.items[other] = config_i;
    }
}

/** From the top of a climb: some steps to any neighbours, or a new start. */
static uint32_t leave(struct sequential *s)
{
    struct ils *ils = s->state;
    size_t at = ils->at;
    const size_t steps = s->space->parameter_count / STEPS_OF + 1;

    if (ils->cost < ils->best) {
        ils->best = ils->cost;
        ils->vain = 0;
    } else if (++ils->vain > MOST_VAIN) {
        ils->vain = 0;
        return sequential_any(s);
    }
    for (size_t i = 0; i < steps; i++) {
        rp_neighbours_of(s->space, at, &ils->neighbours);
        if (ils->neighbours.count == 0)
            return sequential_any(s);
        at = ils->neighbours.items[rp_random_below(&s->random, (uint32_t)ils->neighbours.count)];
    }
    return (uint32_t)at;
}

static int64_t greedy_ils_next(struct sequential *s)
{
    struct ils *ils = s->state;

    if (!ils->placed)
        return sequential_any(s);
    if (ils->neighbours.count)
        return ils->neighbours.items[--ils->neighbours.count];
    ils->placed = false;
    return leave(s);
}

static void greedy_ils_learn(struct sequential *s, size_t config, double cost)
{
    struct ils *ils = s->state;

    s->predicts = true;
    if (!ils->placed || cost < ils->cost)
        settle(s, config, cost);
}

static void greedy_ils_begin(struct sequential *s)
{
    ((struct ils *)s->state)->best = HUGE_VAL;
}

static void greedy_ils_end(struct sequential *s)
{
    rp_vec_free(&((struct ils *)s->state)->neighbours);
}

static const struct algorithm greedy_ils_algorithm = {.state_bytes = sizeof(struct ils),
                                                      .begin = greedy_ils_begin,
                                                      .next = greedy_ils_next,
                                                      .learn = greedy_ils_learn,
                                                      .end = greedy_ils_end};

SEQUENTIAL_STRATEGY(greedy_ils, "greedy-ils", "greedy iterated local search", greedy_ils_algorithm);

/* What rocm-perf-lab did first: a fifth of the space at random, a polynomial of degree 2 in all
 * numbers fitted to the milliseconds, and then in the order of the file all configurations that
 * are predicted to take at most 1.75 times as long as the best of that fifth; or simply all, when
 * the polynomial does not fit. It is here to be compared with. */

enum { SEED_SHARE = 5, MOST_NUMBERS = 24 /**< parameters; more make no polynomial in time */ };

static const double prune = 1.75, least_r2 = 0.75;

struct regression {
    size_t numbers[MOST_NUMBERS], number_count; /**< parameters that are numbers throughout */
    size_t terms;
    double *weights; /**< NULL until it is fitted */
    double most_ms;  /**< predictions up to it are run */
    size_t at;
    uint32_t *seeds;
    size_t seed_count;
};

static void terms_of(const struct sequential *s, size_t config, double *ret)
{
    const struct regression *r = s->state;
    double x[MOST_NUMBERS];
    size_t count = 0;

    ret[count++] = 1;
    for (size_t i = 0; i < r->number_count; i++) {
        const struct rp_value *value = rp_space_value(s->space, config, r->numbers[i]);

        x[i] = 0;
        if (value)
            rp_value_number(value, &x[i]);
        ret[count++] = x[i];
    }
    for (size_t i = 0; i < r->number_count; i++)
        for (size_t j = i; j < r->number_count; j++)
            ret[count++] = x[i] * x[j];
}

static void regression_begin(struct sequential *s)
{
    struct regression *r = s->state;
    double number;

    for (size_t i = 0; i < s->space->parameter_count && r->number_count < MOST_NUMBERS; i++) {
        const struct rp_parameter *p = &s->space->parameters[i];
        size_t j = 0;

        while (j < p->count && rp_value_number(&p->values[j], &number))
            j++;
        if (j == p->count)
            r->numbers[r->number_count++] = i;
    }
    r->terms = 1 + r->number_count + r->number_count * (r->number_count + 1) / 2;
    r->seeds = rp_alloc((s->space->count / SEED_SHARE + 1) * sizeof *r->seeds);
}

static void regression_end(struct sequential *s)
{
    struct regression *r = s->state;

    free(r->weights);
    free(r->seeds);
}

/**
 * Solves rows * weights = right by elimination; a is rows x (rows + 1). A term that depends on
 * those before it, like the square of a number that is 0 or 1, gets no weight.
 */
static void solve(double *a, size_t rows, double *weights)
{
    const size_t width = rows + 1;

    for (size_t i = 0; i < rows; i++) {
        const double pivot = a[i * width + i];

        weights[i] = 0;
        for (size_t k = 0; k < rows; k++) {
            const double factor = k == i || pivot <= 1e-9 ? 0 : a[k * width + i] / pivot;

            for (size_t j = i; factor != 0 && j < width; j++)
                a[k * width + j] -= factor * a[i * width + j];
        }
    }
    for (size_t i = 0; i < rows; i++)
        if (a[i * width + i] > 1e-9)
            weights[i] = a[i * width + rows] / a[i * width + i];
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/** In units in which each term is 1 on average, so that one limit tells dependent terms. */
static void scale(double *a, size_t rows, double *scales)
{
    const size_t width = rows + 1;

    for (size_t i = 0; i < rows; i++)
        scales[i] = a[i * width + i] > 0 ? 1 / sqrt(a[i * width + i]) : 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < width; j++)
            a[i * width + j] *= scales[i] * (j < rows ? scales[j] : 1);
}

static double in_sample_r2(const struct sequential *s, double *row)
{
    const struct regression *r = s->state;
    double sum = 0, squares = 0, rest = 0;
    size_t n = 0;

    for (size_t i = 0; i < r->seed_count; i++) {
        const double y = s->costs[r->seeds[i]];

        if (y == HUGE_VAL)
            continue;
        terms_of(s, r->seeds[i], row);
        rest += (y - dot(row, r->weights, r->terms)) * (y - dot(row, r->weights, r->terms));
        sum += y;
        squares += y * y;
        n++;
    }
    return n && squares > sum * sum / (double)n ? 1 - rest / (squares - sum * sum / (double)n) : 0;
}

static void choose_limit(struct sequential *s, double *row)
{
    struct regression *r = s->state;
    double best = HUGE_VAL;

    for (size_t i = 0; i < r->seed_count; i++)
        best = fmin(best, s->costs[r->seeds[i]]);
    r->most_ms = in_sample_r2(s, row) < least_r2 ? HUGE_VAL : prune * best;
}

static void fit(struct sequential *s)
{
    struct regression *r = s->state;
    const size_t width = r->terms + 1;
    rp_autofree double *a = rp_alloc_zero(r->terms * width, sizeof *a);
    rp_autofree double *row = rp_alloc_zero(width, sizeof *row),
                       *scales = rp_alloc_zero(width, sizeof *scales);

    r->weights = rp_alloc_zero(r->terms, sizeof *r->weights);
    for (size_t i = 0; i < r->seed_count; i++) {
        if (s->costs[r->seeds[i]] == HUGE_VAL)
            continue;
        terms_of(s, r->seeds[i], row);
        row[r->terms] = s->costs[r->seeds[i]];
        for (size_t j = 0; j < r->terms; j++)
            for (size_t k = 0; k < width; k++)
                a[j * width + k] += row[j] * row[k];
    }
    scale(a, r->terms, scales);
    solve(a, r->terms, r->weights);
    for (size_t i = 0; i < r->terms; i++)
        r->weights[i] *= scales[i];
    choose_limit(s, row);
}

static int64_t regression_next(struct sequential *s)
{
    struct regression *r = s->state;
    double row[1 + MOST_NUMBERS + MOST_NUMBERS * (MOST_NUMBERS + 1) / 2];

    if (r->seed_count < s->space->count / SEED_SHARE + 1 && r->seed_count < s->space->count) {
        const int64_t config = rp_fill_in_random(s->space, s->taken, &s->random);

        r->seeds[r->seed_count++] = (uint32_t)config;
        return config;
    }
    if (!r->weights)
        fit(s);
    s->predicts = true;
    for (; r->at < s->space->count; r->at++) {
        if (s->taken[r->at])
            continue;
        terms_of(s, r->at, row);
        if (r->most_ms == HUGE_VAL || dot(row, r->weights, r->terms) <= r->most_ms)
            return (int64_t)r->at;
    }
    return -1;
}

static const struct algorithm regression_algorithm = {.state_bytes = sizeof(struct regression),
                                                      .begin = regression_begin,
                                                      .next = regression_next,
                                                      .end = regression_end};

SEQUENTIAL_STRATEGY(regression, "regression", "the first version's polynomial, for comparison",
                    regression_algorithm);

const struct rp_strategy *compared_strategy(size_t number)
{
    static const struct rp_strategy *const others[] = {&greedy_ils_strategy, &genetic_strategy,
                                                       &annealing_strategy, &regression_strategy};
    size_t own = 0;

    while (rp_strategy_number(own))
        own++;
    if (number < own)
        return rp_strategy_number(number);
    return number - own < sizeof others / sizeof *others ? others[number - own] : NULL;
}
