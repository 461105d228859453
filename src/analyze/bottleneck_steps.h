/**
 * @file bottleneck_steps.h
 * @brief The steps of rp_bottlenecks_find: what is known of each kernel, and how kernels rank.
 */
#ifndef RP_ANALYZE_BOTTLENECK_STEPS_H
#define RP_ANALYZE_BOTTLENECK_STEPS_H

#include <stdbool.h>

#include "analyze/bottleneck.h"
#include "trace/csv_read.h"

struct rp_asked_sums;
struct rp_thread_trace;

/** Finds kernels by name in each of the inputs. */
struct rp_bottleneck_index {
    struct rp_name_index names, symbols; /**< of the profile */
    struct rp_name_index roofline, counters;
    struct rp_name_index shares, what_ifs; /**< of the graph */
};

/** Names are equal as far as rp_kernel_name_length counts. NULL equals nothing. */
bool rp_same_kernel(const char *a, const char *b);

/** Adds up the counters that the rules ask for, for each kernel of the counters. The caller frees
 * them; NULL: memory has ended. */
struct rp_asked_sums *rp_asked_sums_make(const struct rp_counters *counters);
/**
 * Learns what the inputs say of the kernel with this name; earlier sources take precedence.
 * @param sums NULL = no counters
 * @return false: memory has ended
 */
bool rp_kernel_features(const struct rp_bottleneck_inputs *in,
                        const struct rp_bottleneck_index *index, const struct rp_asked_sums *sums,
                        struct rp_bottleneck_kernel *k);

/** Says whether it is the trace of the kernel with this name. */
bool rp_is_trace_of(const struct rp_thread_trace *trace, const char *kernel);

/** Says whether launches are too short and too many to be worth their start. */
bool rp_kernel_is_short(const struct rp_bottleneck_kernel *k);
/** Gives findings about launches and declarations the lines of these. */
void rp_bottleneck_lines_of_kernels(const struct rp_bottleneck_inputs *in,
                                    const struct rp_bottleneck_index *index,
                                    struct rp_bottlenecks *b);
/** Gives a program that is judged, and is none of its kernels, the line of its cause. */
void rp_bottleneck_line_of_program(const struct rp_bottleneck_inputs *in,
                                   const struct rp_bottleneck_index *index,
                                   struct rp_bottlenecks *b);

/** Says how much of the judged kernel's time could go. */
void rp_kernel_headroom(struct rp_bottleneck_kernel *k);
/** Weighs the judged kernels, sorts them, and judges the program. */
void rp_bottlenecks_rank(const struct rp_bottleneck_inputs *in,
                         const struct rp_bottleneck_index *index, struct rp_bottlenecks *b);

#endif
