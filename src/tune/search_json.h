/**
 * @file search_json.h
 * @brief A search as autotune.json (schemas/autotune.schema.json), and as a picture.
 */
#ifndef RP_TUNE_SEARCH_JSON_H
#define RP_TUNE_SEARCH_JSON_H

#include <jansson.h>

#include "tune/search.h"

struct rp_buf;

/** What the search does not know of itself. */
struct rp_search_about {
    const char *name;    /**< of the space: its file, or what a recorded one says */
    const char *command; /**< template; NULL: simulated */
    const char *objective;
    const char *device; /**< as of rp_run_device; NULL: not said */
};

/** Owned; NULL: out of memory. */
json_t *rp_search_json(const struct rp_search_options *options, const struct rp_runner *runner,
                       const struct rp_search_result *result, const struct rp_search_about *about);

/** {"NAME": value, …} without parameters that have no value. Owned; NULL: out of memory. */
json_t *rp_search_parameters(const struct rp_space *space, size_t config);

/** NAME=value NAME=value for people: no control characters, and of long values the beginning. */
void rp_search_put_parameters(const struct rp_space *space, size_t config, struct rp_buf *to);

/** SVG: runtimes in the order of evaluation on a logarithmic axis, and the best one so far. */
void rp_search_svg(const struct rp_search_options *options, const struct rp_search_result *result,
                   const struct rp_search_about *about, struct rp_buf *to);

#endif
