/**
 * @file stats.h
 * @brief Statistics for all verdicts (docs/how-it-decides.md): medians, Student's t, signed ranks.
 */
#ifndef RP_BASE_STATS_H
#define RP_BASE_STATS_H

#include <stddef.h>

void rp_sort_numbers(double *values, size_t count);

/** Sorts the values. The result is the mean of the middle two where the count is even, and NAN
 * without values. */
double rp_median(double *values, size_t count);
double rp_median_of_sorted(const double *sorted, size_t count);

/** Computes the same of samples that keep their order, but only of the first 1000 of them. */
double rp_samples_median(const double *samples, size_t count);

struct rp_interval {
    double low, high;
    double confidence; /**< that the true median is within: 0.95 or more from 6 samples on */
};

/** Gives the interval of the median from the order of the samples, so it holds whatever their
 * distribution is.
 * @param count at least 1 */
struct rp_interval rp_samples_interval(const double *samples, size_t count);

/* Computes logarithm, exponential and the normal distribution from additions, products, quotients
 * and square roots alone. The C library's own functions may differ in their last bit from one
 * version to the next, and a search that picks the largest of many numbers would then go another
 * way. With these, a seed determines which configurations are run on every machine with IEEE
 * doubles. */

/** Computes the natural logarithm of a positive, finite number with a relative error below about
 * 1e-14. */
double rp_exact_log(double x);
/** The result is 0 below about -745. */
double rp_exp(double x);
/** Computes by how much a normal variable is below best on average, counting 0 where it is above.
 */
double rp_expected_improvement(double mean, double sd, double best);
/** Computes how much of Student's distribution with that freedom (at least 1) is above t >= 0. */
double rp_student_above(double t, size_t freedom);

/** Computes the probability that |t| is at least this. Degrees of freedom need not be whole. */
double rp_student_two_sided_p(double t, double degrees);
/** Finds the t that has this two-sided probability. */
double rp_student_quantile(double alpha, double degrees);

/** The functions below take no more pairs than this. */
enum { RP_SIGNED_RANK_MOST = 200 };

/** Computes the probability of a signed-rank sum of at most w among n pairs without a difference.
 * It is NAN when there are more pairs, or memory has ended. */
double rp_signed_rank_below(size_t n, size_t w);

/** Says how many of the outermost Walsh averages may be left out on each side: the most for which
 * the chance that the middle lies beyond is at most alpha.
 * @param ret_tail that chance
 * @return -1: none, there are too few pairs */
long rp_signed_rank_cut(size_t n, double alpha, double *ret_tail);

/* A few samples of two sides. Samples are runtimes above 0, compared by their logarithms, because
 * noise is a share of a runtime. */

struct rp_samples_log {
    size_t count;
    double mean, variance; /**< of the logarithms; variance 0 below two samples */
};

struct rp_samples_log rp_samples_log(const double *runtimes, size_t count);

/** Measures how much samples of one configuration differ, from all that have two or more. It starts
 * as 0. */
struct rp_noise {
    double squares;
    size_t freedom;
};

void rp_noise_add(struct rp_noise *noise, const struct rp_samples_log *of);

/** Computes the degrees of freedom of Welch and Satterthwaite for the sum of two variances, of
 * which each has its own. */
double rp_welch_degrees(double a, double degrees_a, double b, double degrees_b);

/** Computes by Welch's test how often b would be as far below a by chance. Both have two samples or
 * more. */
double rp_welch_chance(const struct rp_samples_log *a, const struct rp_samples_log *b);

/** Does the same for a single sample, which has no variance: that of all others is used. It is 1
 * where too little is known of them. */
double rp_noise_chance(const struct rp_samples_log *a, const struct rp_samples_log *b,
                       const struct rp_noise *noise);

#endif
