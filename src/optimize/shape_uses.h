/**
 * @file shape_uses.h
 * @brief What of its surroundings a kernel uses: a change that stops using something of it is right
 * for the values that it had only.
 */
#ifndef RP_OPTIMIZE_SHAPE_USES_H
#define RP_OPTIMIZE_SHAPE_USES_H

#include <stdbool.h>

struct rp_ast_node;
struct rp_shape_walk;

/** Adds the function's parameters and members of these, pointers that are tested against null,
 * sizes and numbers of work-items, and variables of outside that are no constants, as far as the
 * body uses them. */
void rp_shape_add_uses(struct rp_shape_walk *walk, const struct rp_ast_node *function);

/** Whether a use is one of another's, too: "p" of "p.width", and the other way round. */
bool rp_shape_use_covers(const char *use, const char *other);

#endif
