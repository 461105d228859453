/**
 * @file shape_brackets.h
 * @brief Loops and branches in the list of what must keep its order: each is a pair of brackets
 * around what stands in it.
 */
#ifndef RP_OPTIMIZE_SHAPE_BRACKETS_H
#define RP_OPTIMIZE_SHAPE_BRACKETS_H

#include <stdbool.h>
#include <stddef.h>

struct rp_ast_node;
struct rp_buf;
struct rp_shape_item;
struct rp_shape_walk;

/** Which jumps lead to the end of what is in brackets, or to its next round. */
enum rp_shape_jumps { RP_SHAPE_NO_JUMPS, RP_SHAPE_BREAK, RP_SHAPE_BREAK_AND_CONTINUE };

/** @return what rp_shape_close needs */
size_t rp_shape_open(struct rp_shape_walk *walk, const char *bracket,
                     const struct rp_ast_node *node);
/** Where nothing is in order, no brackets are left, and no jumps that end here. */
void rp_shape_close(struct rp_shape_walk *walk, size_t opened, enum rp_shape_jumps jumps);

/** "loop {", "}" ... */
bool rp_shape_is_bracket(const struct rp_shape_item *item);

/**
 * What decides how often something runs, if a barrier was found in it, or a way past one: break,
 * continue, return, goto.
 * @param head  of which each child counts
 * @param from  the count of the function's items in front of it
 */
void rp_shape_add_head(struct rp_shape_walk *walk, const char *what, const struct rp_ast_node *head,
                       size_t from);
/** At the end of a function: where there are no barriers, nothing depends on any. */
void rp_shape_end_heads(struct rp_shape_walk *walk);

/** An expression as the compiler sees it: macros and parentheses are no matter. */
void rp_shape_tree(struct rp_buf *out, const struct rp_ast_node *node);

#endif
