/**
 * @file numeric.h
 * @brief Logarithm, exponential and the normal distribution from additions, products, quotients
 *        and square roots alone.
 *
 * The C library's own may differ in their last bit from one version to the next, and a search
 * that picks the largest of many numbers would go another way then: with these, a seed says on
 * every machine with IEEE doubles which configurations are run.
 */
#ifndef RP_TUNE_NUMERIC_H
#define RP_TUNE_NUMERIC_H

#include <stddef.h>

/** Natural logarithm of a positive, finite number; relative error below 1e-14 or so. */
double rp_exact_log(double x);
/** Below about -745 it is 0. */
double rp_exp(double x);
double rp_normal_density(double z);
/** How much of the standard normal distribution is below z; with few digits lost in the tail. */
double rp_normal_below(double z);
/** How much of Student's distribution with that freedom (at least 1) is above t >= 0. */
double rp_student_above(double t, size_t freedom);
/** By how much a normal variable is below best on average, counting 0 where it is above. */
double rp_expected_improvement(double mean, double sd, double best);

#endif
