/**
 * @file source_loops.h
 * @brief The loops of a function: which count, how often they go round, which may be unrolled.
 */
#ifndef RP_OPTIMIZE_SOURCE_LOOPS_H
#define RP_OPTIMIZE_SOURCE_LOOPS_H

#include <stddef.h>

struct rp_ast_node;
struct rp_compile_command;
struct rp_err;
struct rp_kernel_source;

/**
 * Fills in loops and loop_count; all else but shape is there already.
 * @param command  asks the compiler what functions do that loops call; NULL: what is not known by
 *                 their names is not known
 * @param arch     "gfx942"
 */
int rp_source_loops_find(const struct rp_ast_node *function, struct rp_kernel_source *source,
                         const struct rp_compile_command *command, const char *arch,
                         struct rp_err *err);

#endif
