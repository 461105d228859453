/**
 * @file recorded_space.h
 * @brief Reads a search space of which every configuration has been run, so that searches can be
 * tried without a GPU.
 */
#ifndef RP_TUNE_RECORDED_SPACE_H
#define RP_TUNE_RECORDED_SPACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/sha256.h"
#include "tune/search.h"

struct rp_err;
struct rp_recorded;
struct rp_space;

/** Says what one configuration took. Times below 0 are not recorded. */
struct rp_recorded_run {
    bool ok;           /**< it ran, and its times are those of a run that may be believed */
    double runtime_ms; /**< mean of the repeats; always there when ok, and above 0 */
    double median_ms, std_ms, min_ms, first_ms;
    double compile_ms, bench_ms; /**< how long it took to build it, and to run all repeats */
    unsigned repeats;            /**< 0: not recorded */
};

/** Release it with rp_recorded_free. */
struct rp_recorded {
    struct rp_space *space;
    struct rp_recorded_run *runs; /**< one per configuration of space, same number */
    char **names; /**< of further numbers: what the space was recorded with beside times */
    size_t name_count;
    double *values;              /**< name_count of each configuration; NAN: it has none */
    char *name, *device;         /**< "" when the file does not say */
    char sha256[RP_SHA256_TEXT]; /**< of the file's text, decompressed */
};

/**
 * Reads a recorded space, plain or compressed by gzip. It may be in our format
 * (docs/format/search-space.md), a cache file of Kernel Tuner, also one that was never closed, or
 * results in the format T4.
 * @param ret written only on success
 * @return 0; RP_BAD_INPUT: the file is not one, with what is wrong and where; RP_ENVIRONMENT
 */
int rp_recorded_read(const char *path, struct rp_recorded *ret, struct rp_err *err);

/** Accepts NULL and zeros. */
void rp_recorded_free(struct rp_recorded *recorded);

/* Answers with recorded runs instead of running programs, so that searches can be tried without a
 * GPU. Time is recorded, too: that of building and of all repeats, on each of the workers. */

/**
 * @param recorded must live as long as the runner
 * @param objectives by name of what was recorded: borrowed; NULL: none
 * @return 0; RP_USAGE: something of that name was not recorded; RP_ENVIRONMENT
 */
int rp_simulated_open(const struct rp_recorded *recorded, const struct rp_objectives *objectives,
                      unsigned workers, struct rp_runner *ret, struct rp_err *err);

/* Earlier results may start a search: their fastest configurations are run first. Their times are
 * of another day, and maybe of another GPU, so only their order counts. If several rows are one
 * configuration here, the fastest counts. */

/** Initialise it with zeros, and release it with rp_imported_free. */
struct rp_imported {
    uint32_t *fastest; /**< numbers in the space, fastest first */
    size_t fastest_count;
    size_t known; /**< configurations that ran then and are in the space */
};

/**
 * @param path  a recorded space
 * @return 0; RP_BAD_INPUT: it is none, or has nothing of this space; RP_ENVIRONMENT
 */
int rp_import(const char *path, const struct rp_space *space, struct rp_imported *ret,
              struct rp_err *err);
/** Accepts zeros. */
static inline void rp_imported_free(struct rp_imported *imported)
{
    free(imported->fastest);
    *imported = (struct rp_imported){0};
}

#endif
