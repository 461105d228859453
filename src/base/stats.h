/**
 * @file stats.h
 * @brief Statistics for all verdicts (docs/how-it-decides.md): medians, Student's t, signed ranks;
 * and random numbers.
 */
#ifndef RP_BASE_STATS_H
#define RP_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

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

/** Gives the interval of a share that was counted, with a confidence of 95 %, by Wilson's score. It
 * takes the samples for independent.
 * @param whole at least 1 */
struct rp_interval rp_share_interval(uint64_t part, uint64_t whole);

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

/** This is the middle of differences between pairs. */
struct rp_paired {
    double middle, low, high; /**< without enough pairs for an interval, all numbers are within */
    double level;             /**< that the true middle is within; 0: not enough pairs */
};

/**
 * Gives the median of the Walsh averages (Hodges and Lehmann), and the interval of the signed-rank
 * test: it holds whatever the distribution is, as long as it is symmetric.
 * @param count 1 to RP_SIGNED_RANK_MOST
 * @param alpha how often, at most, the middle may lie beyond each end
 */
struct rp_paired rp_paired_interval(const double *differences, size_t count, double alpha);

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

/* Random numbers are the same on every machine: xoshiro256**, seeded by splitmix64. */

struct rp_random {
    uint64_t word[4];
};

/** Mixes all bits of a number quickly (splitmix64). */
static inline uint64_t rp_mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static inline struct rp_random rp_random_new(uint64_t seed)
{
    struct rp_random random;

    for (uint64_t i = 0; i < 4; i++)
        random.word[i] = rp_mix64(seed + i * 0x9e3779b97f4a7c15);
    return random;
}

static inline uint64_t rp_random_turn(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static inline uint64_t rp_random_next(struct rp_random *random)
{
    uint64_t *w = random->word;
    const uint64_t result = rp_random_turn(w[1] * 5, 7) * 9, t = w[1] << 17;

    w[2] ^= w[0];
    w[3] ^= w[1];
    w[1] ^= w[2];
    w[0] ^= w[3];
    w[2] ^= t;
    w[3] = rp_random_turn(w[3], 45);
    return result;
}

/** Draws from 0 on, below n, which is at least 1. The bias of a product's high word is below n /
 * 2^32. */
static inline uint32_t rp_random_below(struct rp_random *random, uint32_t n)
{
    return (uint32_t)(((rp_random_next(random) >> 32) * n) >> 32);
}

/** Draws from 0 on, below 1. */
static inline double rp_random_unit(struct rp_random *random)
{
    return (double)(rp_random_next(random) >> 11) * 0x1p-53;
}

#endif
