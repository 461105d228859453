/**
 * @file autotune.h
 * @brief Does `rocm-perf autotune`: it has a space, a runner of its configurations and a search,
 * and leaves these files: journal, autotune.json, picture, exports.
 */
#ifndef RP_TUNE_AUTOTUNE_H
#define RP_TUNE_AUTOTUNE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/program_runner.h"
#include "tune/search.h"

struct rp_err;

struct rp_autotune_options {
    struct rp_search_options search;       /**< space and strategy are filled in */
    const char *strategy;                  /**< name; NULL: the default */
    const char *space;                     /**< file; NULL: that of simulate */
    const char *simulate;                  /**< recorded space; NULL: programs are run */
    unsigned workers;                      /**< of a simulation; 0: 1 */
    struct rp_program_runner_options live; /**< otherwise; space and build_folder are filled in */
    const char *folder; /**< of journal.jsonl, autotune.json, builds; NULL: none */
    bool resume;
    const char *plot, *export_t4, *export_t1; /**< files; NULL: none */
    const char *export_triton;     /**< file for the best one as triton.Config; NULL: none */
    const char *tuned_csv, *shape; /**< table whose row of a shape is run first and gets the best
                                      one; NULL: none */
    const char *import; /**< recorded space: its fastest configurations are run first; NULL: none */
    void (*note)(void *context, const char *line);
    /** It is called as rp_enumerate_watch, with the same context. NULL: nobody waits. */
    void (*counting)(void *context, uint64_t tried, uint64_t most, size_t found);
    void *context;
};

/** Initialise it with zeros, and release it with rp_autotune_result_free. */
struct rp_autotune_result {
    json_t *json; /**< schemas/autotune.schema.json */
    bool found;   /**< there is a best configuration */
    bool interrupted;
    char *gave_up; /**< why it was ended: nothing works; NULL: it was not */
};

/**
 * @return 0, also when nothing was found; RP_USAGE; RP_BAD_INPUT: the space, the recorded space or
 *         the journal cannot be used; RP_ENVIRONMENT
 */
int rp_autotune(const struct rp_autotune_options *options, struct rp_autotune_result *ret,
                struct rp_err *err);
/** Accepts a result of zeros. */
void rp_autotune_result_free(struct rp_autotune_result *result);

#endif
