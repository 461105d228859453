/**
 * @file shape_items.h
 * @brief What the walk through a function writes down of a node (kernel_shape.c).
 */
#ifndef RP_OPTIMIZE_SHAPE_ITEMS_H
#define RP_OPTIMIZE_SHAPE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optimize/kernel_shape.h"

struct rp_ast_node;
struct rp_buf;
struct rp_places;

struct rp_shape_walk {
    const char *text; /* of the file */
    size_t bytes;
    struct rp_shape_function *function;
    const struct rp_ast_node *body;
    size_t capacity;
    const struct rp_places *places;    /* NULL: of the template itself, which has no types */
    const struct rp_ast_node **locals; /* what the function declares */
    size_t local_count, local_capacity;
    bool failed; /* out of memory */
};

/** @param node  where it stands; NULL: nowhere */
void rp_shape_add(struct rp_shape_walk *walk, enum rp_shape_class class,
                  const struct rp_ast_node *node, const char *text);
/** Two words, of which the first is for a reader. */
void rp_shape_add_two(struct rp_shape_walk *walk, enum rp_shape_class class,
                      const struct rp_ast_node *node, const char *first, const char *second);

/** A variable of the function, if it is more than a plain one. */
void rp_shape_add_local(struct rp_shape_walk *walk, const struct rp_ast_node *node);
/** A use of a variable of outside. */
void rp_shape_add_global(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads);
void rp_shape_add_call(struct rp_shape_walk *walk, const struct rp_ast_node *node);
/** A class may have a destructor, which is called without being named. */
void rp_shape_add_classes(struct rp_shape_walk *walk, const struct rp_ast_node *node);
/** What may be neither added nor taken away. @return whether the node is one */
bool rp_shape_add_other(struct rp_shape_walk *walk, const struct rp_ast_node *node);

/** The tokens of a node, one blank between two; a name when it comes out of a macro. */
void rp_shape_source(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                     struct rp_buf *out);
/** The declaration of a variable of the function; NULL: it is of outside. */
const struct rp_ast_node *rp_shape_local(const struct rp_shape_walk *walk, uint64_t id);
/**
 * Adds the constant that an argument is, evaluated, or the name of one of outside: some say which
 * order and scope an operation has.
 * @return whether it is one
 */
bool rp_shape_constant(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                       struct rp_buf *out);

#endif
