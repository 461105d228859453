/**
 * @file recorded_formats.h
 * @brief Recorded spaces of other tuners, told in the format of ours. Only of recorded*.c.
 */
#ifndef RP_TUNE_RECORDED_FORMATS_H
#define RP_TUNE_RECORDED_FORMATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_buf;
struct rp_err;

/**
 * What Kernel Tuner wrote as far as it came: without what a kill left of the last entry, and with
 * the brackets that it would have written at its end.
 * @return whether it looks like one at all
 */
bool rp_kernel_tuner_close(const char *text, size_t bytes, struct rp_buf *ret);

/** NaN, Infinity and -Infinity, which Python writes, become null. @return whether there are any */
bool rp_json_without_nan(const char *text, size_t bytes, struct rp_buf *ret);

/** {"parameters", "configs", …}; owned. @return 0; RP_BAD_INPUT; RP_ENVIRONMENT */
int rp_recorded_of_kernel_tuner(const json_t *root, json_t **ret, struct rp_err *err);
int rp_recorded_of_t4(const json_t *root, json_t **ret, struct rp_err *err);

/* What both need. */

/** Median, deviation, least and first of an array of times, if it is one. */
int rp_recorded_add_repeats(json_t *config, const json_t *times, double unit_ms,
                            struct rp_err *err);
/** Takes over value. @return 0, or RP_ENVIRONMENT */
int rp_recorded_set(json_t *object, const char *key, json_t *value, struct rp_err *err);
/** Copies parameters to an entry that is to get times. @return 0, RP_BAD_INPUT, RP_ENVIRONMENT */
int rp_recorded_add_parameters(json_t *config, const json_t *names, const json_t *from,
                               struct rp_err *err);

#endif
