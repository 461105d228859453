/**
 * @file shape_values.h
 * @brief What the walk through a function writes down of a node (kernel_shape.c).
 */
#ifndef RP_OPTIMIZE_SHAPE_VALUES_H
#define RP_OPTIMIZE_SHAPE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optimize/kernel_shape.h"
#include "optimize/memory_effects.h"

struct rp_ast_node;
struct rp_buf;
struct rp_points_to;
struct rp_shape_function;
struct rp_shape_item;
struct rp_shape_walk;

struct rp_shape_walk {
    const char *text; /* of the file */
    size_t bytes;
    struct rp_shape_function *function;
    const struct rp_ast_node *body;
    size_t capacity;
    const struct rp_points_to *places; /* NULL: of the template itself, which has no types */
    const struct rp_ast_node **locals; /* what the function declares */
    size_t local_count, local_capacity;
    bool failed; /* out of memory */
};

/* The values that variables get on which it depends how often barriers are met. */

/** At the end of a function, when its heads are known. */
void rp_shape_add_loop_updates(struct rp_shape_walk *walk);

/* What a kernel does that a change of its text must not change: in each instance of it, and
 * in the template itself.
 */

/** How two lists of a class are compared. */
enum rp_shape_class {
    RP_SHAPE_ORDERED, /**< the same ones in the same order, in the same loops and branches */
    RP_SHAPE_LOCAL,   /**< the same ones in the same order: variables with a storage of their own */
    RP_SHAPE_OTHER,   /**< ... lambdas, classes, attributes */
    RP_SHAPE_LOOP_CONDITION, /**< ... what decides whether and how often barriers are met */
    RP_SHAPE_LOOP_UPDATE,    /**< the same ones as often: values of variables in these */
    RP_SHAPE_USE,            /**< each one at least once: arguments, sizes and the like */
    RP_SHAPE_CALL,           /**< none that is not in the original */
    RP_SHAPE_GLOBAL,         /**< ... variables of outside */
    RP_SHAPE_CAST,           /**< ... casts that see a value as another type */
    RP_SHAPE_TYPE,           /**< ... classes of which it makes objects */
    RP_SHAPE_POINTER,        /**< ... numbers made of pointers into different memory */
    RP_SHAPE_CLASSES
};

/** @param node  where it stands; NULL: nowhere */
void rp_shape_add(struct rp_shape_walk *walk, enum rp_shape_class class,
                  const struct rp_ast_node *node, const char *text);
/** The declaration of a variable of the function; NULL: it is of outside. */
const struct rp_ast_node *rp_shape_local_declaration(const struct rp_shape_walk *walk, uint64_t id);
/**
 * Adds the constant that an argument is, evaluated, or the name of one of outside: some say which
 * order and scope an operation has.
 * @return whether it is one
 */
bool rp_shape_constant(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                       struct rp_buf *out);

/* What of its surroundings a kernel uses: a change that stops using something of it is right
 * for the values that it had only.
 */

/** Adds the function's parameters and members of these, pointers that are tested against null,
 * sizes and numbers of work-items, and variables of outside that are no constants, as far as the
 * body uses them. */
void rp_shape_add_uses(struct rp_shape_walk *walk, const struct rp_ast_node *function);

/** Whether a use is one of another's, too: "p" of "p.width", and the other way round. */
bool rp_shape_use_covers(const char *use, const char *other);

struct rp_shape_function {
    char *symbol; /**< mangled; "" is the template itself */
    struct rp_shape_item *items;
    size_t count;
    /* Nothing of the template itself, which has no types. */
    struct rp_accesses accesses;
    struct rp_arithmetic arithmetic;
};

/* What a kernel reads and writes between which of its barriers, fences and atomics.
 *
 * The text is cut behind each barrier, fence, atomic or volatile access, inline assembly and call
 * of a function whose effects are not known, and where a loop or branch with one of these begins
 * and ends.
 */

struct rp_shape_item {
    enum rp_shape_class class;
    char *text;    /**< what is compared; a tab ends what is of use to a reader */
    size_t offset; /**< in the file; 0: not known */
    /** Of RP_SHAPE_LOOP_CONDITION, as long as there is a tree: its expressions. */
    const struct rp_ast_node *head;
    size_t head_count;
};

/* Loops and branches in the list of what must keep its order: each is a pair of brackets
 * around what stands in it.
 */

#endif
