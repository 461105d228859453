/**
 * @file source_loops.h
 * @brief The loops of a function: which count, how often they go round, which may be unrolled.
 */
#ifndef RP_OPTIMIZE_SOURCE_LOOPS_H
#define RP_OPTIMIZE_SOURCE_LOOPS_H

#include <stddef.h>

struct rp_ast_node;
struct rp_err;
struct rp_kernel_source;

/** Fills in loops and loop_count; text, begin and end are there already. */
int rp_source_loops_find(const struct rp_ast_node *function, struct rp_kernel_source *source,
                         struct rp_err *err);

#endif
