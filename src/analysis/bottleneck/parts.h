/**
 * @file parts.h
 * @brief The steps of rp_bottlenecks_find: what each source knows of a kernel.
 */
#ifndef RP_ANALYSIS_BOTTLENECK_PARTS_H
#define RP_ANALYSIS_BOTTLENECK_PARTS_H

#include "analysis/bottleneck/index.h"
#include "rocm-perf/analysis.h"
#include "rocm-perf/bottleneck.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/thread_trace.h"
#include "trace/counter_set.h"

/** Names are equal as far as rp_kernel_name_length counts. NULL equals nothing. */
bool rp_same_kernel(const char *a, const char *b);

/** Sums over the dispatches of each kernel of the counters, of what the rules ask. */
enum rp_asked {
    RP_ASKED_WAVE_CYCLES,
    RP_ASKED_BUSY_CU_CYCLES,
    RP_ASKED_WAIT_ANY,
    RP_ASKED_THREAD_CYCLES,
    RP_ASKED_ACTIVE_VALU,
    RP_ASKED_LDS_CONFLICT,
    RP_ASKED_LDS_ACTIVE,
    RP_ASKED_COUNT
};
struct rp_asked_sums {
    struct rp_quantity of[RP_ASKED_COUNT]; /**< known: every dispatch has it */
};
/** One for each kernel of the counters; NULL out of memory. */
struct rp_asked_sums *rp_ask_counters(const struct rp_counters *counters);

/* Each adds what its source knows of the kernel with this name. Earlier sources win. */
void rp_features_of_profile(const struct rp_bottleneck_inputs *in,
                            const struct rp_bottleneck_index *index,
                            struct rp_bottleneck_kernel *k);
void rp_features_of_dag(const struct rp_bottleneck_inputs *in, struct rp_bottleneck_kernel *k);
void rp_features_of_roofline(const struct rp_bottleneck_inputs *in,
                             const struct rp_bottleneck_index *index,
                             struct rp_bottleneck_kernel *k);
void rp_features_of_traces(const struct rp_bottleneck_inputs *in, struct rp_bottleneck_kernel *k);
void rp_features_of_counters(const struct rp_asked_sums *sums,
                             const struct rp_bottleneck_index *index,
                             struct rp_bottleneck_kernel *k);

#endif
