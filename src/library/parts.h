/**
 * @file parts.h
 * @brief What `analyze` says of a run and `report` shows: each part is free to be missing.
 */
#ifndef RP_LIBRARY_PARTS_H
#define RP_LIBRARY_PARTS_H

#include <stdbool.h>

#include "library/inputs.h"
#include "rocm-perf/bottleneck.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/roofline.h"

struct rp_profile;

/** Bottlenecks and ranking of kernels. */
struct rp_ranking {
    struct rp_profile *profile;
    struct rp_bottlenecks found;
};

/** What it is made from, beside the inputs. */
struct rp_ranking_from {
    const struct rp_dag_result *dag;    /**< NULL: there is none */
    const struct rp_roofline *roofline; /**< NULL: there is none */
    const char *arch;                   /**< --arch; NULL */
};

/** @p ret is to be freed, also after a failure. */
int rp_make_ranking(const struct rp_inputs *in, const struct rp_ranking_from *from,
                    struct rp_ranking *ret, struct rp_err *err);
void rp_ranking_free(struct rp_ranking *ranking);

/** @param full  with every kernel and copy; @p ret is to be freed before the inputs */
int rp_make_dag(const struct rp_inputs *in, bool full, struct rp_dag_result *ret,
                struct rp_err *err);
/** @p ret is to be freed before the counters go. */
int rp_make_roofline(const struct rp_inputs *in, const struct rp_roofline_options *options,
                     struct rp_roofline *ret, struct rp_err *err);

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
