/** @file index.h @brief Where the sources name a kernel, found without looking at every name. */
#ifndef RP_ANALYSIS_BOTTLENECK_INDEX_H
#define RP_ANALYSIS_BOTTLENECK_INDEX_H

#include <stdbool.h>

#include "analysis/name_index.h"

struct rp_bottleneck_inputs;

/** One for each list of names. */
struct rp_bottleneck_index {
    struct rp_name_index names, symbols; /**< of the profile */
    struct rp_name_index roofline, counters;
    struct rp_name_index shares, what_ifs; /**< of the graph */
};

/** @return false: out of memory */
bool rp_bottleneck_index_make(struct rp_bottleneck_index *ret,
                              const struct rp_bottleneck_inputs *in);
void rp_bottleneck_index_free(struct rp_bottleneck_index *index);

#endif
