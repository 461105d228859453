/* What rocm-perf-lab did first: a fifth of the space at random, a polynomial of degree 2 in all
 * numbers fitted to the milliseconds, and then in the order of the file all configurations that
 * are predicted to take at most 1.75 times as long as the best of that fifth; or simply all, when
 * the polynomial does not fit. It is here to be compared with. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tune/filling.h"
#include "tune/sequential.h"
#include "tune/space.h"

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

static void terms_of(const struct rp_sequential *s, size_t config, double *ret)
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

static bool begin(struct rp_sequential *s)
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
    r->seeds = malloc((s->space->count / SEED_SHARE + 1) * sizeof *r->seeds);
    return r->seeds != NULL;
}

static void end(struct rp_sequential *s)
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

static double in_sample_r2(const struct rp_sequential *s, double *row)
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

static void choose_limit(struct rp_sequential *s, double *row)
{
    struct regression *r = s->state;
    double best = HUGE_VAL;

    for (size_t i = 0; i < r->seed_count; i++)
        best = fmin(best, s->costs[r->seeds[i]]);
    r->most_ms = in_sample_r2(s, row) < least_r2 ? HUGE_VAL : prune * best;
}

static void fit(struct rp_sequential *s)
{
    struct regression *r = s->state;
    const size_t width = r->terms + 1;
    rp_autofree double *a = calloc(r->terms * width, sizeof *a);
    rp_autofree double *row = calloc(width, sizeof *row), *scales = calloc(width, sizeof *scales);

    r->weights = calloc(r->terms, sizeof *r->weights);
    if (!a || !row || !scales || !r->weights) {
        s->failed = true;
        return;
    }
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

static int64_t next(struct rp_sequential *s)
{
    struct regression *r = s->state;
    double row[1 + MOST_NUMBERS + MOST_NUMBERS * (MOST_NUMBERS + 1) / 2];

    if (r->seed_count < s->space->count / SEED_SHARE + 1 && r->seed_count < s->space->count) {
        const int64_t config = rp_filling_any(s->space, s->taken, &s->random);

        r->seeds[r->seed_count++] = (uint32_t)config;
        return config;
    }
    if (!r->weights)
        fit(s);
    s->predicts = true;
    for (; !s->failed && r->at < s->space->count; r->at++) {
        if (s->taken[r->at])
            continue;
        terms_of(s, r->at, row);
        if (r->most_ms == HUGE_VAL || dot(row, r->weights, r->terms) <= r->most_ms)
            return (int64_t)r->at;
    }
    return -1;
}

static const struct rp_algorithm algorithm = {
    .state_bytes = sizeof(struct regression), .begin = begin, .next = next, .end = end};

RP_SEQUENTIAL_STRATEGY(regression, "regression", "the first version's polynomial, for comparison",
                       algorithm);
