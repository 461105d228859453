#include "tune/strategy.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"
#include "tune/space.h"
#include "tune/surrogate.h"

/* --- neighbours ------------------------------------------------------------------------------- */

/** A parameter may have many values: only those at most this many places away in the file are
 * neighbours. */
enum { RP_NEIGHBOUR_PLACES = 64 };

static void keep_neighbour(struct rp_neighbours *to, int64_t config)
{
    if (config >= 0)
        rp_vec_push(to, (uint32_t)config);
}

/** The row exists only if another parameter loses its value or gets one. */
static void keep_followers(const struct rp_space *space, uint16_t *row, size_t changed,
                           struct rp_neighbours *to)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const uint16_t was = row[i];
        const size_t values = was == RP_NO_VALUE ? space->parameters[i].count : 0;

        if (i == changed)
            continue;
        row[i] = RP_NO_VALUE;
        if (was != RP_NO_VALUE)
            keep_neighbour(to, rp_space_find(space, row));
        for (size_t value = 0; value < values && value < RP_NEIGHBOUR_PLACES; value++) {
            row[i] = (uint16_t)value;
            keep_neighbour(to, rp_space_find(space, row));
        }
        row[i] = was;
    }
}

static void change(const struct rp_space *space, uint16_t *row, size_t parameter,
                   struct rp_neighbours *to)
{
    const uint16_t was = row[parameter];
    const size_t count = space->parameters[parameter].count;
    const size_t middle = was == RP_NO_VALUE ? 0 : was;
    const size_t from = middle > RP_NEIGHBOUR_PLACES ? middle - RP_NEIGHBOUR_PLACES : 0;

    for (size_t value = from; value < count && value <= middle + RP_NEIGHBOUR_PLACES; value++) {
        const size_t before = to->count;

        if (value == was)
            continue;
        row[parameter] = (uint16_t)value;
        keep_neighbour(to, rp_space_find(space, row));
        if (to->count == before && was != RP_NO_VALUE && space->conditional)
            keep_followers(space, row, parameter, to);
    }
    if (was != RP_NO_VALUE && space->conditional) {
        row[parameter] = RP_NO_VALUE;
        keep_neighbour(to, rp_space_find(space, row));
    }
    row[parameter] = was;
}

void rp_neighbours_of(const struct rp_space *space, size_t config, struct rp_neighbours *ret)
{
    uint16_t row[RP_MAX_PARAMETERS];

    memcpy(row, rp_space_row(space, config), space->parameter_count * sizeof *row);
    ret->count = 0;
    for (size_t i = 0; i < space->parameter_count; i++)
        change(space, row, i, ret);
}

/* When nothing is known, configurations far from those already chosen are run. */

/** Says where each value of each parameter is between its lowest, 0, and its highest, 1. The caller
 * owns it. */
struct rp_fill_in {
    const struct rp_space *space;
    float **places; /**< per parameter, by the value's number, and behind them of "no value" */
};

enum { DRAWS = 8, TRIES = 64 };

/** Computes the share of values below each value. Numbers are ordered by size, whatever their order
 * in the file. */
static float *places_of(const struct rp_parameter *parameter)
{
    rp_autofree double *sorted = rp_alloc_zero(parameter->count, sizeof *sorted);
    float *places = rp_alloc_zero(parameter->count + 1, sizeof *places);

    for (size_t i = 0; i < parameter->count; i++)
        if (!rp_value_number(&parameter->values[i], &sorted[i]))
            goto texts;
    rp_sort_numbers(sorted, parameter->count);
    for (size_t i = 0; i < parameter->count; i++) {
        double number = 0;
        size_t low = 0, high = parameter->count;

        rp_value_number(&parameter->values[i], &number);
        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (sorted[middle] < number)
                low = middle + 1;
            else
                high = middle;
        }
        places[i] = parameter->count > 1 ? (float)low / (float)(parameter->count - 1) : 0;
    }
    places[parameter->count] = -1;
    return places;
texts: /* Texts have a distance of one. */
    for (size_t i = 0; i <= parameter->count; i++)
        places[i] = (float)(2 + i);
    return places;
}

static void fill_in_free(struct rp_fill_in *filling)
{
    for (size_t i = 0; i < filling->space->parameter_count; i++)
        free(filling->places[i]);
    free(filling->places);
}

static struct rp_fill_in fill_in_new(const struct rp_space *space)
{
    struct rp_fill_in filling = {.space = space};

    filling.places = rp_alloc_zero(space->parameter_count + 1, sizeof *filling.places);
    for (size_t i = 0; i < space->parameter_count; i++)
        filling.places[i] = places_of(&space->parameters[i]);
    return filling;
}

static double fill_in_place(const struct rp_fill_in *filling, size_t config, size_t parameter)
{
    const uint16_t choice = rp_space_row(filling->space, config)[parameter];
    const size_t count = filling->space->parameters[parameter].count;

    return (double)filling->places[parameter][choice == RP_NO_VALUE ? count : choice];
}

/** Adds up the distances of all parameters; a text is as far from another one as possible. */
static double fill_in_distance(const struct rp_fill_in *filling, size_t a, size_t b)
{
    double sum = 0;

    for (size_t i = 0; i < filling->space->parameter_count; i++) {
        const double off = fill_in_place(filling, a, i) - fill_in_place(filling, b, i);
        const double size = off < 0 ? -off : off;

        sum += size < 1 ? size : 1;
    }
    return sum;
}

int64_t rp_fill_in_random(const struct rp_space *space, const uint8_t *taken,
                          struct rp_random *random)
{
    uint32_t at;

    if (space->count == 0)
        return -1;
    for (int i = 0; i < TRIES; i++) {
        at = rp_random_below(random, (uint32_t)space->count);
        if (!taken[at])
            return at;
    }
    for (size_t i = 0; i < space->count; i++)
        if (!taken[(at + i) % space->count])
            return (int64_t)((at + i) % space->count);
    return -1;
}

/**
 * Draws some configurations at random, and returns the one that is farthest from its nearest chosen
 * one.
 * @param taken one byte per configuration; those that are not 0 are not drawn
 * @return -1: none is free
 */
static int64_t fill_in_farthest(const struct rp_fill_in *filling, const uint8_t *taken,
                                const uint32_t *chosen, size_t count, struct rp_random *random)
{
    double farthest = -1;
    int64_t best = -1;

    for (int i = 0; i < DRAWS; i++) {
        const int64_t config = rp_fill_in_random(filling->space, taken, random);
        double nearest = 1e300;

        for (size_t j = 0; config >= 0 && j < count; j++) {
            const double distance = fill_in_distance(filling, (size_t)config, chosen[j]);

            nearest = distance < nearest ? distance : nearest;
        }
        if (config >= 0 && nearest > farthest) {
            farthest = nearest;
            best = config;
        }
    }
    return best;
}

/* This strategy draws every configuration with the same probability, without repetition. Any search
 * has to beat it. */

struct chance {
    const struct rp_space *space;
    struct rp_random random;
    uint8_t *taken; /**< per configuration: was asked for */
    int64_t out;    /**< asked for and not told; -1: none */
};

static void *open_chance(const struct rp_space *space, const struct rp_strategy_options *options)
{
    struct chance *c = rp_new(struct chance);

    *c = (struct chance){.space = space,
                         .random = rp_random_new(options->seed),
                         .taken = rp_alloc_zero(space->count + 1, 1),
                         .out = -1};
    return c;
}

static void close_chance(void *state)
{
    struct chance *c = state;

    free(c->taken);
    free(c);
}

/** Draws one at a time, so that the order is the same however many workers there are. */
static int64_t ask_chance(void *state)
{
    struct chance *c = state;

    if (c->out >= 0)
        return RP_ASK_WAIT;
    c->out = rp_fill_in_random(c->space, c->taken, &c->random);
    if (c->out < 0)
        return RP_ASK_NONE_LEFT;
    c->taken[c->out] = 1;
    return c->out;
}

static void tell_chance(void *state, size_t config, enum rp_reported told, double ms)
{
    struct chance *c = state;

    (void)told;
    (void)ms;
    c->taken[config] = 1;
    if (c->out == (int64_t)config)
        c->out = -1;
}

static const char *phase_of_chance(const void *state)
{
    (void)state;
    return "seed";
}

static const struct rp_strategy random_strategy = {.name = "random",
                                                   .summary = "configurations at random",
                                                   .open = open_chance,
                                                   .ask = ask_chance,
                                                   .tell = tell_chance,
                                                   .phase = phase_of_chance,
                                                   .close = close_chance};

/* This search is used unless another one is asked for. A model alone stays in the basin that it
 * knows, and a local search alone learns nothing from what it has seen. So three ways take turns:
 * the configuration with the largest expected improvement, the most promising neighbour of the best
 * one, and local searches from random starts that the model leads. */

enum {
    SEEDS = 10,
    MOST_SCORED = 1 << 17, /**< configurations that one refit looks at */
    CLIMB_PATIENCE = 8,    /**< neighbours in a row that are no better: the climb ends */
    NEIGHBOUR_TURN = 3,    /**< every third is a neighbour of the best */
    CLIMB_TURN = 4,        /**< every fourth is a step of a climb */
    STALE = 25, /**< evaluations without progress after which climbs come twice as often */
};

/** Progress means faster by half a per cent. */
static const double progress = 0.005;

enum origin { FREE, SEED, MODEL, NEIGHBOUR, CLIMB };

/** In origins this marks a place where a climb was, or that was the best. */
enum { VISITED = 0x80 };

struct climb {
    bool started;
    bool waits; /**< for what was asked last */
    uint32_t at;
    double log_ms;
    unsigned failures;
};

struct candidate {
    double score;
    uint32_t config;
};

struct portfolio {
    const struct rp_space *space;
    struct rp_strategy_options options;
    struct rp_random random;
    struct rp_space_features features;
    struct rp_fill_in filling;
    struct rp_model model;
    bool has_model;
    uint8_t *origins;  /**< enum origin per configuration, and VISITED */
    uint32_t *told_as; /**< per configuration: its number in told + 1 */
    uint32_t *asked;   /**< in the order of asking */
    size_t asked_count;
    struct {
        RP_VEC(struct rp_observation);
    } told;
    size_t fitted_at;
    int64_t best;
    double best_log, stale_log;
    size_t stale_since;
    struct climb climb;
    struct candidate *ranked; /**< of the last refit, best first */
    size_t ranked_count, ranked_capacity, ranked_at;
    struct rp_neighbours neighbours;
    uint16_t *codes;
    size_t turn;
};

static void close_portfolio(void *state)
{
    struct portfolio *p = state;

    rp_features_free(&p->features);
    fill_in_free(&p->filling);
    rp_model_free(&p->model);
    rp_vec_free(&p->neighbours);
    free(p->origins);
    free(p->told_as);
    free(p->asked);
    rp_vec_free(&p->told);
    free(p->ranked);
    free(p->codes);
    free(p);
}

static void *open_portfolio(const struct rp_space *space, const struct rp_strategy_options *options)
{
    struct portfolio *p = rp_new(struct portfolio);

    *p = (struct portfolio){.space = space,
                            .options = *options,
                            .random = rp_random_new(options->seed),
                            .features = rp_features_new(space),
                            .filling = fill_in_new(space),
                            .origins = rp_alloc_zero(space->count + 1, 1),
                            .told_as = rp_alloc_zero(space->count + 1, sizeof *p->told_as),
                            .asked = rp_alloc((space->count + 1) * sizeof *p->asked),
                            .best = -1,
                            .best_log = HUGE_VAL,
                            .stale_log = HUGE_VAL};
    p->codes = rp_alloc(RP_MODEL_BLOCK * (p->features.count + 1) * sizeof *p->codes);
    return p;
}

/* --- what the model thinks -------------------------------------------------------------------- */

static size_t refit_every(const struct portfolio *p)
{
    return p->told.count / 10 + 1;
}

/** Keeps the best ones, sorted. Equal scores stay in the order in which they come. */
static void rank(struct portfolio *p, double score, uint32_t config)
{
    size_t at = p->ranked_count;

    if (at == p->ranked_capacity) {
        if (score <= p->ranked[at - 1].score)
            return;
        at--;
    } else {
        p->ranked_count++;
    }
    for (; at > 0 && p->ranked[at - 1].score < score; at--)
        p->ranked[at] = p->ranked[at - 1];
    p->ranked[at] = (struct candidate){score, config};
}

static void score_block(struct portfolio *p, const uint32_t *configs, size_t count)
{
    struct rp_prediction predictions[RP_MODEL_BLOCK];

    rp_model_predict(&p->model, configs, count, p->codes, predictions);
    for (size_t i = 0; i < count; i++)
        rank(p, rp_model_improvement(&p->model, &predictions[i]), configs[i]);
}

/** Scores all that are free, from a random one on. In a space that is too large it scores as many
 * at random. */
static void score_free(struct portfolio *p)
{
    const uint32_t count = (uint32_t)p->space->count;
    const bool all = count <= MOST_SCORED;
    const uint32_t start = rp_random_below(&p->random, count);
    uint32_t block[RP_MODEL_BLOCK];
    size_t filled = 0;

    p->ranked_count = p->ranked_at = 0;
    for (uint32_t i = 0; i < (all ? count : MOST_SCORED); i++) {
        const uint32_t config = all ? (start + i) % count : rp_random_below(&p->random, count);

        if (p->origins[config] == FREE)
            block[filled++] = config;
        if (filled == RP_MODEL_BLOCK) {
            score_block(p, block, filled);
            filled = 0;
        }
    }
    score_block(p, block, filled);
}

static void refit(struct portfolio *p)
{
    const size_t capacity = 2 * refit_every(p) + 2 * p->options.workers + 8;
    struct rp_err err = RP_ERR_INIT;
    struct rp_model model;

    if (capacity > p->ranked_capacity) {
        p->ranked = rp_realloc_array(p->ranked, capacity, sizeof *p->ranked);
        p->ranked_capacity = capacity;
    }
    if (rp_model_fit(&p->features, p->told.items, p->told.count, rp_random_next(&p->random), &model,
                     &err) < 0)
        return; /* This cannot happen, because the best one has run. */
    rp_model_free(&p->model);
    p->model = model;
    p->has_model = true;
    p->fitted_at = p->told.count;
    score_free(p);
}

/** Finds the free neighbour that may be the fastest: its score is the mean less one standard
 * deviation. */
static int64_t best_neighbour(struct portfolio *p, size_t of)
{
    struct rp_prediction predictions[RP_MODEL_BLOCK];
    double lowest = HUGE_VAL;
    int64_t best = -1;
    size_t free_ones = 0;

    rp_neighbours_of(p->space, of, &p->neighbours);
    for (size_t i = 0; i < p->neighbours.count; i++)
        if (p->origins[p->neighbours.items[i]] == FREE)
            p->neighbours.items[free_ones++] = p->neighbours.items[i];
    for (size_t from = 0; from < free_ones; from += RP_MODEL_BLOCK) {
        const size_t left = free_ones - from, n = left < RP_MODEL_BLOCK ? left : RP_MODEL_BLOCK;

        rp_model_predict(&p->model, p->neighbours.items + from, n, p->codes, predictions);
        for (size_t i = 0; i < n; i++) {
            /* A configuration that fails half of the time should be twice as fast. */
            const double success = predictions[i].success;
            const double bound = predictions[i].mean - predictions[i].sd -
                                 rp_exact_log(success > 0.02 ? success : 0.02);

            if (bound < lowest) {
                lowest = bound;
                best = p->neighbours.items[from + i];
            }
        }
    }
    return best;
}

/* --- who is next ------------------------------------------------------------------------------ */

static int64_t by_model(struct portfolio *p)
{
    while (p->ranked_at < p->ranked_count) {
        const uint32_t config = p->ranked[p->ranked_at++].config;

        if (p->origins[config] == FREE)
            return config;
    }
    return -1;
}

/** Finds the fastest of the neighbours with a known time, if it is faster.
 * @return -1: none is */
static int64_t known_way_up(struct portfolio *p)
{
    double lowest = p->climb.log_ms;
    int64_t best = -1;

    rp_neighbours_of(p->space, p->climb.at, &p->neighbours);
    for (size_t i = 0; i < p->neighbours.count; i++) {
        const uint32_t as = p->told_as[p->neighbours.items[i]];

        if (as && p->told.items[as - 1].told == RP_REPORTED_OK &&
            p->told.items[as - 1].log_ms < lowest) {
            lowest = p->told.items[as - 1].log_ms;
            best = p->neighbours.items[i];
        }
    }
    return best;
}

/** A climb does not start where one was before, because it would end where that one did. */
static void move_climb(struct portfolio *p, size_t to)
{
    const bool seen = p->origins[to] & VISITED;

    p->climb = (struct climb){
        .started = !seen, .at = (uint32_t)to, .log_ms = p->told.items[p->told_as[to] - 1].log_ms};
    p->origins[to] |= VISITED;
}

static int64_t by_climb(struct portfolio *p)
{
    struct climb *climb = &p->climb;
    int64_t next = -1, up;

    if (climb->waits)
        return -1;
    while (climb->started && (up = known_way_up(p)) >= 0)
        move_climb(p, (size_t)up);
    if (climb->started && climb->failures < CLIMB_PATIENCE)
        next = best_neighbour(p, climb->at);
    if (next < 0) {
        *climb = (struct climb){0};
        next = rp_fill_in_random(p->space, p->origins, &p->random);
    }
    climb->waits = next >= 0;
    return next;
}

static bool is_turn(const struct portfolio *p, size_t every)
{
    return p->turn % every == every - 1;
}

static int64_t choose(struct portfolio *p, enum origin *ret_origin)
{
    const bool stale = p->told.count - p->stale_since > STALE;
    int64_t next = -1;

    p->turn++;
    if (is_turn(p, stale ? CLIMB_TURN / 2 : CLIMB_TURN)) {
        *ret_origin = CLIMB;
        next = by_climb(p);
    } else if (is_turn(p, NEIGHBOUR_TURN) && p->best >= 0) {
        *ret_origin = NEIGHBOUR;
        next = best_neighbour(p, (size_t)p->best);
    }
    if (next < 0) {
        *ret_origin = MODEL;
        next = by_model(p);
    }
    return next;
}

static size_t seeds(const struct portfolio *p)
{
    const size_t half = p->options.most_evaluations / 2;

    return p->options.seeds ? p->options.seeds : half < SEEDS ? half + 1 : SEEDS;
}

static int64_t ask(void *state)
{
    struct portfolio *p = state;
    enum origin origin = SEED;
    int64_t next = -1;

    if (p->asked_count >= seeds(p) && p->best >= 0) {
        if (!p->has_model || p->told.count >= p->fitted_at + refit_every(p))
            refit(p); /* After retell that is at once. */
        next = choose(p, &origin);
    }
    if (next < 0) {
        origin = p->has_model ? MODEL : SEED;
        next = p->has_model ? rp_fill_in_random(p->space, p->origins, &p->random)
                            : fill_in_farthest(&p->filling, p->origins, p->asked, p->asked_count,
                                               &p->random);
    }
    if (next < 0)
        return RP_ASK_NONE_LEFT;
    p->origins[next] = (uint8_t)origin;
    p->asked[p->asked_count++] = (uint32_t)next;
    return next;
}

/* --- what came of it -------------------------------------------------------------------------- */

static void tell_climb(struct portfolio *p, size_t config, enum rp_reported told, double log_ms)
{
    p->climb.waits = false;
    if (told == RP_REPORTED_OK && (!p->climb.started || log_ms < p->climb.log_ms))
        move_climb(p, config);
    else
        p->climb.failures++;
}

static void see_best(struct portfolio *p, size_t config, double log_ms)
{
    if (log_ms >= p->best_log)
        return;
    p->best = (int64_t)config;
    p->best_log = log_ms;
    p->origins[config] |= VISITED;
}

static void take(struct portfolio *p, size_t config, enum rp_reported told, double log_ms)
{
    if (p->origins[config] == FREE) {
        p->origins[config] = SEED;
        p->asked[p->asked_count++] = (uint32_t)config;
    }
    rp_vec_push(&p->told, (struct rp_observation){(uint32_t)config, told, log_ms});
    p->told_as[config] = (uint32_t)p->told.count;
    if ((p->origins[config] & ~VISITED) == CLIMB)
        tell_climb(p, config, told, log_ms);
    if (told != RP_REPORTED_OK)
        return;
    see_best(p, config, log_ms);
    if (log_ms < p->stale_log - progress) {
        p->stale_log = log_ms;
        p->stale_since = p->told.count;
    }
}

static void tell(void *state, size_t config, enum rp_reported told, double ms)
{
    take(state, config, told, told == RP_REPORTED_FAILED ? 0 : rp_exact_log(ms));
}

static void tell_log(void *state, size_t config, double log_cost)
{
    take(state, config, RP_REPORTED_OK, log_cost);
}

/** The climb goes on from where it is, if anything was there. The model is made anew. */
static void retell(void *state, double (*log_of)(const void *context, size_t config),
                   const void *context)
{
    struct portfolio *p = state;

    p->best_log = HUGE_VAL;
    for (size_t i = 0; i < p->told.count; i++) {
        struct rp_observation *o = &p->told.items[i];

        if (o->told != RP_REPORTED_OK)
            continue;
        o->log_ms = log_of(context, o->config);
        see_best(p, o->config, o->log_ms);
    }
    if (p->climb.started)
        p->climb.log_ms = p->told.items[p->told_as[p->climb.at] - 1].log_ms;
    p->stale_log = p->best_log;
    p->stale_since = p->told.count;
    p->fitted_at = 0;
}

static const char *phase(const void *state)
{
    const struct portfolio *p = state;

    return p->asked_count && (p->origins[p->asked[p->asked_count - 1]] & ~VISITED) != SEED
               ? "predict"
               : "seed";
}

static const struct rp_strategy portfolio_strategy = {
    .name = "portfolio",
    .summary = "trees that learn, neighbours of the best, and climbs from random starts in turn",
    .open = open_portfolio,
    .ask = ask,
    .tell = tell,
    .tell_log = tell_log,
    .retell = retell,
    .phase = phase,
    .close = close_portfolio,
};

const struct rp_strategy *rp_strategy_number(size_t number)
{
    static const struct rp_strategy *const strategies[] = {&portfolio_strategy, &random_strategy};

    return number < sizeof strategies / sizeof *strategies ? strategies[number] : NULL;
}
