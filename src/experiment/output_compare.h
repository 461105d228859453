/**
 * @file output_compare.h
 * @brief Whether two outputs of a program say the same: byte for byte, or with numbers that are
 *        nearly equal.
 */
#ifndef RP_EXPERIMENT_OUTPUT_COMPARE_H
#define RP_EXPERIMENT_OUTPUT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

/** By how much numbers may differ: by the larger of both. With zeros all bytes must be the same. */
struct rp_output_bound {
    double relative; /**< of the larger magnitude of the two numbers */
    double absolute;
};

/** The texts may hold any bytes. */
struct rp_output_text {
    const char *text;
    size_t bytes;
};

/** Compares two lines. With a bound blanks count for nothing, and only numbers may differ. */
bool rp_output_line_agrees(struct rp_output_text a, struct rp_output_text b,
                           const struct rp_output_bound *bound);

/** Compares line by line.
 * @return 0: they are the same; the number of the first line that differs */
size_t rp_output_first_difference(struct rp_output_text before, struct rp_output_text after,
                                  const struct rp_output_bound *bound);

/** Returns the line of that number, without its end; empty where there is none. */
struct rp_output_text rp_output_line(struct rp_output_text text, size_t number);

#endif
