/**
 * @file race.h
 * @brief Which of two configurations is faster, as far as a few noisy samples can tell.
 *
 * Samples are runtimes in ms above 0, compared by their logarithms: noise is a share of a runtime.
 */
#ifndef RP_TUNE_RACE_H
#define RP_TUNE_RACE_H

#include <stdbool.h>
#include <stddef.h>

struct rp_samples_log {
    size_t count;
    double mean, variance; /**< of the logarithms; variance 0 below two samples */
};

struct rp_samples_log rp_samples_log(const double *samples_ms, size_t count);

/** How much samples of one configuration differ, from all that have two or more. Starts as 0. */
struct rp_noise {
    double squares;
    size_t freedom;
};

void rp_noise_add(struct rp_noise *noise, const struct rp_samples_log *of);
/** Standard deviation of a logarithm; below 0: too little was seen to say. */
double rp_noise_sd(const struct rp_noise *noise);

/**
 * The level of each look at one that gets sample after sample from least to most, and is dropped as
 * soon as it is slower: 5 % spent in equal parts, so that over all looks one that is not slower is
 * dropped in 5 % of races at most.
 */
double rp_race_level(unsigned least, unsigned most);

/**
 * Whether a is slower than b, by Welch's one-sided test at that level. A single sample is compared
 * by the noise of others, of which enough must be known.
 */
bool rp_race_slower(const struct rp_samples_log *a, const struct rp_samples_log *b,
                    const struct rp_noise *noise, double level);

/** Whether they differ, by Welch's two-sided test at 1 %. Both have two samples or more. */
bool rp_race_differ(const struct rp_samples_log *a, const struct rp_samples_log *b);

/** @param count  at least 1 */
double rp_samples_median(const double *samples_ms, size_t count);

struct rp_interval {
    double low_ms, high_ms;
    double confidence; /**< that the true median is within: 0.95 or more from 6 samples on */
};

/** From the order of the samples, so whatever their distribution. @param count  at least 1 */
struct rp_interval rp_samples_interval(const double *samples_ms, size_t count);

#endif
