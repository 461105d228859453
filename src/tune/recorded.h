/**
 * @file dag_graph.h
 * @brief A search space of which every configuration has been run: what searches are tried on
 *        without a GPU.
 */
#ifndef RP_TUNE_RECORDED_H
#define RP_TUNE_RECORDED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct rp_err;
struct rp_space;

/** What one configuration took. Times below 0 are not recorded. */
struct rp_recorded_run {
    bool ok;           /**< it ran, and its times are those of a run that may be believed */
    double runtime_ms; /**< mean of the repeats; always there when ok, and above 0 */
    double median_ms, std_ms, min_ms, first_ms;
    double compile_ms, bench_ms; /**< how long it took to build it, and to run all repeats */
    unsigned repeats;            /**< 0: not recorded */
};

/** Owned; release with rp_recorded_free. */
struct rp_recorded {
    struct rp_space *space;
    struct rp_recorded_run *runs; /**< one per configuration of space, same number */
    char *name, *device;          /**< "" when the file does not say */
    char sha256[RP_SHA256_TEXT];  /**< of the file's text, decompressed */
};

/**
 * Reads a recorded space, plain or compressed by gzip: of ours (docs/format/recorded-space.md), a
 * cache file of Kernel Tuner, also one that was never closed, or results in the format T4.
 * @param ret  written only on success
 * @return 0; RP_BAD_INPUT: the file is not one, with what is wrong and where; RP_ENVIRONMENT
 */
int rp_recorded_read(const char *path, struct rp_recorded *ret, struct rp_err *err);

/** The same from text in memory. */
int rp_recorded_parse(const char *text, size_t bytes, struct rp_recorded *ret, struct rp_err *err);

/** Accepts NULL and zeros. */
void rp_recorded_free(struct rp_recorded *recorded);

#endif
