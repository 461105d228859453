/**
 * @file parts.h
 * @brief What `analyze` says of a run and `report` shows: each part is free to be missing.
 */
#ifndef RP_CLI_PARTS_H
#define RP_CLI_PARTS_H

#include <stdbool.h>

#include "cli/results.h"
#include "rocm-perf/dag.h"

struct rp_parts {
    struct rp_dag_result dag;
    struct rp_roofline roofline;
    struct rp_ranking ranking;
    bool has_dag, has_roofline, has_ranking;
};

struct rp_parts_wish {
    bool dag;      /**< where there is a trace */
    bool steps;    /**< with every kernel and copy */
    bool roofline; /**< also from a trace without counters: of times alone */
    bool ranking;  /**< which needs all of the others */
    const struct rp_roofline_options *roof;
};

/** Everything that may be refused. @p ret is to be freed before the inputs, also after a failure.
 */
int rp_parts_make(struct rp_inputs *in, const struct rp_parts_wish *wish, struct rp_parts *ret,
                  struct rp_err *err);
void rp_parts_free(struct rp_parts *parts);

#endif
