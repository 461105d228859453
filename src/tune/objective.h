/**
 * @file objective.h
 * @brief Says by which numbers configurations are compared: one objective or several, the larger
 * or the smaller the better, and limits that some numbers must keep.
 */
#ifndef RP_TUNE_OBJECTIVE_H
#define RP_TUNE_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stats.h"
#include "experiment/measured_run.h"

struct rp_err;

/** This is an objective, or a number that only has a limit. */
struct rp_tuned_number {
    char *name; /**< "time", "vgprs", or what the user calls a printed one */
    enum rp_number_source source;
    char *pattern; /**< of a printed one */
    bool maximise;
    bool has_least, has_most;
    double least, most; /**< of a configuration that counts */
};

/** Zeros stand for the time of a run alone. Release it with rp_objectives_free. */
struct rp_objectives {
    struct rp_tuned_number numbers[RP_MAX_NUMBERS]; /**< objectives first, then those with limits */
    size_t count;
    size_t goals; /**< of them: objectives; at least 1 where there is any number */
};

/**
 * Adds an objective: "time", "min:NAME" or "max:NAME", where NAME is a word of run_numbers.def or
 * stands before a number in the output ("NAME: 12.5", "NAME=12.5"), or "max:NAME=REGEX" with an
 * expression as of --output-regex. All are added before the limits.
 * @return 0; RP_USAGE
 */
int rp_objectives_add(struct rp_objectives *to, const char *word, struct rp_err *err);

/** Adds a limit: "NAME<=128" or "NAME>=0.5"; NAME may be that of an objective. Without objectives,
 * time is the one.
 * @return 0; RP_USAGE */
int rp_objectives_limit(struct rp_objectives *to, const char *word, struct rp_err *err);

void rp_objectives_free(struct rp_objectives *objectives);

/** Says in one text by what a search goes, which differs for others. The caller owns it. */
char *rp_objectives_text(const struct rp_objectives *objectives);

/** Returns the unit: "ms", "bytes" or "". */
static inline const char *rp_tuned_number_unit(const struct rp_tuned_number *number)
{
    return rp_number_rows[number->source].unit;
}

/** @return the number that is a time of the run in ms, or -1 */
int rp_objectives_time(const struct rp_objectives *objectives);

/** Says whether the numbers are the same whenever a configuration runs with modelled times. */
bool rp_objectives_exact(const struct rp_objectives *objectives);

/* Searches minimise costs above 0, of which ratios count: a number, or one over it if the larger
 * is the better. Of registers and bytes, which may be 0, it is one more. */

/** @return 0: it has none, as it is not above 0 */
double rp_cost_of(const struct rp_tuned_number *number, double value);
/** Returns the value of a cost. */
double rp_value_of_cost(const struct rp_tuned_number *number, double cost);

/** Says why a configuration with these numbers does not count.
 * @return NULL: it does; the caller owns it */
char *rp_objectives_refuse(const struct rp_objectives *objectives, const double *values);

/** Says whether a is better than b in an objective, and worse in none. */
bool rp_objectives_dominate(const struct rp_objectives *objectives, const double *a,
                            const double *b);

/* Several objectives become one number for the strategy: the largest weighted distance to the best
 * that was seen of each (augmented Chebyshev), as in ParEGO (Knowles, IEEE Transactions on
 * Evolutionary Computation 10, 2006). A distance is that of logarithms, as a share of what was seen
 * of the objective. Weights change during the search, so that it looks for all parts of the front:
 * first each objective alone, then all alike, then at random. */

struct rp_scalarisation {
    double low[RP_MAX_NUMBERS], high[RP_MAX_NUMBERS]; /**< logarithms of costs that were seen */
    double weights[RP_MAX_NUMBERS];                   /**< they add up to 1 */
    bool seen;
};

/** Takes note of a configuration that works. */
void rp_scalarisation_see(struct rp_scalarisation *scale, const struct rp_objectives *objectives,
                          const double *values);
/** @param turn how often weights were drawn before */
void rp_scalarisation_draw(struct rp_scalarisation *scale, const struct rp_objectives *objectives,
                           size_t turn, struct rp_random *random);
/** Returns what the strategy minimises, like the logarithm of a time: smaller is better. */
double rp_scalarisation_log(const struct rp_scalarisation *scale,
                            const struct rp_objectives *objectives, const double *values);

#endif
