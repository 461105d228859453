#include "tune/filling.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/space.h"

enum { DRAWS = 8, TRIES = 64 };

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/** The share of values below it: numbers by size, whatever their order in the file. */
static float *places_of(const struct rp_parameter *parameter)
{
    rp_autofree double *sorted = calloc(parameter->count, sizeof *sorted);
    float *places = calloc(parameter->count + 1, sizeof *places);

    if (!sorted || !places) {
        free(places);
        return NULL;
    }
    for (size_t i = 0; i < parameter->count; i++)
        if (!rp_value_number(&parameter->values[i], &sorted[i]))
            goto texts;
    qsort(sorted, parameter->count, sizeof *sorted, compare_doubles);
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
texts: /* one apart from each other */
    for (size_t i = 0; i <= parameter->count; i++)
        places[i] = (float)(2 + i);
    return places;
}

int rp_filling_new(const struct rp_space *space, struct rp_filling *ret, struct rp_err *err)
{
    rp_cleanup(rp_filling_free) struct rp_filling filling = {.space = space};

    filling.places = calloc(space->parameter_count + 1, sizeof *filling.places);
    for (size_t i = 0; filling.places && i < space->parameter_count; i++)
        if (!(filling.places[i] = places_of(&space->parameters[i])))
            return rp_fail(err, RP_ENVIRONMENT, "out of memory for the search");
    if (!filling.places)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the search");
    *ret = filling;
    filling = (struct rp_filling){0};
    return 0;
}

void rp_filling_free(struct rp_filling *filling)
{
    if (!filling)
        return;
    for (size_t i = 0; filling->places && i < filling->space->parameter_count; i++)
        free(filling->places[i]);
    free(filling->places);
    *filling = (struct rp_filling){0};
}

static double place(const struct rp_filling *filling, size_t config, size_t parameter)
{
    const uint16_t choice = rp_space_row(filling->space, config)[parameter];
    const size_t count = filling->space->parameters[parameter].count;

    return (double)filling->places[parameter][choice == RP_NO_VALUE ? count : choice];
}

double rp_filling_distance(const struct rp_filling *filling, size_t a, size_t b)
{
    double sum = 0;

    for (size_t i = 0; i < filling->space->parameter_count; i++) {
        const double off = place(filling, a, i) - place(filling, b, i);
        const double size = off < 0 ? -off : off;

        sum += size < 1 ? size : 1;
    }
    return sum;
}

int64_t rp_filling_any(const struct rp_space *space, const uint8_t *taken, struct rp_random *random)
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

int64_t rp_filling_next(const struct rp_filling *filling, const uint8_t *taken,
                        const uint32_t *chosen, size_t count, struct rp_random *random)
{
    double farthest = -1;
    int64_t best = -1;

    for (int i = 0; i < DRAWS; i++) {
        const int64_t config = rp_filling_any(filling->space, taken, random);
        double nearest = 1e300;

        for (size_t j = 0; config >= 0 && j < count; j++) {
            const double distance = rp_filling_distance(filling, (size_t)config, chosen[j]);

            nearest = distance < nearest ? distance : nearest;
        }
        if (config >= 0 && nearest > farthest) {
            farthest = nearest;
            best = config;
        }
    }
    return best;
}
