/**
 * @file stats.h
 * @brief Statistics for all verdicts (docs/how-it-decides.md): medians, Student's t, signed ranks.
 */
#ifndef RP_BASE_STATS_H
#define RP_BASE_STATS_H

#include <stddef.h>

void rp_sort_numbers(double *values, size_t count);

/** Sorts them. The mean of the middle two where the count is even; NAN of none. */
double rp_median(double *values, size_t count);
double rp_median_of_sorted(const double *sorted, size_t count);

/** The same of samples that keep their order; of the first 1000 of them. */
double rp_samples_median(const double *samples, size_t count);

struct rp_interval {
    double low, high;
    double confidence; /**< that the true median is within: 0.95 or more from 6 samples on */
};

/** Of the median, from the order of the samples, so whatever their distribution.
 *  @param count  at least 1 */
struct rp_interval rp_samples_interval(const double *samples, size_t count);

/* Logarithm, exponential and the normal distribution from additions, products, quotients and square
 * roots alone. The C library's own may differ in their last bit from one version to the next, and a
 * search that picks the largest of many numbers would go another way then: with these, a seed says
 * on every machine with IEEE doubles which configurations are run. */

/** Natural logarithm of a positive, finite number; relative error below 1e-14 or so. */
double rp_exact_log(double x);
/** Below about -745 it is 0. */
double rp_exp(double x);
/** By how much a normal variable is below best on average, counting 0 where it is above. */
double rp_expected_improvement(double mean, double sd, double best);
/** How much of Student's distribution with that freedom (at least 1) is above t >= 0. */
double rp_student_above(double t, size_t freedom);

/** Probability that |t| is at least this; degrees of freedom need not be whole. */
double rp_student_two_sided_p(double t, double degrees);
/** The t that has this two-sided probability. */
double rp_student_quantile(double alpha, double degrees);

/** Pairs of the functions below at most. */
enum { RP_SIGNED_RANK_MOST = 200 };

/** Probability of a signed-rank sum of at most w among n pairs without a difference. NAN: there are
 *  more pairs, or memory has ended. */
double rp_signed_rank_below(size_t n, size_t w);

/**
 * How many of the outermost Walsh averages may be left out on each side: the most for which the
 * chance that the middle lies beyond is at most alpha.
 * @param ret_tail  that chance
 * @return -1: none, there are too few pairs
 */
long rp_signed_rank_cut(size_t n, double alpha, double *ret_tail);

#endif
