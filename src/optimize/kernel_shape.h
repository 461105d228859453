/**
 * @file kernel_shape.h
 * @brief Finds what a kernel does that a change of its text must not change, in each instance of it
 * and in the template itself.
 */
#ifndef RP_OPTIMIZE_KERNEL_SHAPE_H
#define RP_OPTIMIZE_KERNEL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optimize/memory_effects.h"

struct rp_ast_node;
struct rp_buf;
struct rp_err;
struct rp_points_to;
struct rp_shape_function;
struct rp_shape_item;
struct rp_shape_walk;

/* The walk through a function notes these of a node (kernel_shape.c). */

struct rp_shape_function {
    char *symbol; /**< mangled; "" is the template itself */
    struct rp_shape_item *items;
    size_t count;
    /* The template itself has none, because it has no types. */
    struct rp_accesses accesses;
    struct rp_arithmetic arithmetic;
};

/** Says how two lists of a class are compared. */
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

struct rp_shape_item {
    enum rp_shape_class class;
    char *text;    /**< what is compared; a tab ends what is of use to a reader */
    size_t offset; /**< in the file; 0: not known */
    char *bounds;  /**< of an array in LDS, which may grow: "[64][65]"; NULL: of anything else */
    /** RP_SHAPE_LOOP_CONDITION has its expressions here, as long as there is a tree. */
    const struct rp_ast_node *head;
    size_t head_count;
};

struct rp_kernel_shape {
    struct rp_shape_function *functions;
    size_t count;
};

/** The name says these of a function (known_functions.def). */
enum rp_known_function_effect {
    RP_KNOWN_FUNCTION_UNKNOWN,
    RP_KNOWN_FUNCTION_SYNC,
    RP_KNOWN_FUNCTION_LANES,
    RP_KNOWN_FUNCTION_MATRIX,
    RP_KNOWN_FUNCTION_PURE
};
enum rp_known_function_effect rp_known_function_effect(const char *name);

/** Says whether an expression reads or writes something volatile. */
bool rp_ast_accesses_volatile(const struct rp_ast_node *node);
/** Returns the function that a node calls, or whose address it takes. NULL means none. */
const char *rp_ast_callee(const struct rp_ast_node *node);
/** Says whether it is threadIdx.x or the like. */
bool rp_ast_is_index(const struct rp_ast_node *node);
/** Operators and copies of HIP's vectors (float4) are as good as built in. */
bool rp_ast_is_vector_call(const struct rp_ast_node *node);

/**
 * Finds the next name of a class in the type of a node's result, with its namespaces. Names of the
 * language and of HIP's vectors are skipped. *at is 0 at first.
 * @return its bytes; 0: there is none
 */
size_t rp_ast_class_name(const struct rp_ast_node *node, size_t *at, const char **ret);
/** Says whether a type is of numbers, or of HIP's vectors or arrays of them, so that it holds no
 * pointers. */
bool rp_ast_is_plain_type(const char *type);
/** Says whether a call goes to something that is not named in it. */
bool rp_ast_calls_pointer(const struct rp_ast_node *call);

/**
 * @param functions  with bodies, all of the same text
 * @param text       of the file
 */
struct rp_kernel_shape *rp_kernel_shape_make(const struct rp_ast_node *const *functions,
                                             size_t count, const char *text, size_t bytes);
void rp_kernel_shape_free(struct rp_kernel_shape *shape);

/** @return 0, or RP_VERDICT with the first difference and what to do */
int rp_kernel_shape_compare(const struct rp_shape_text *original,
                            const struct rp_shape_text *candidate, struct rp_err *err);

/* Loops and branches in the list of what must keep its order: each is a pair of brackets
 * around what stands in it.
 */

/** Says which jumps lead to the end of the text in brackets, or to its next round. */
enum rp_shape_jumps { RP_SHAPE_NO_JUMPS, RP_SHAPE_BREAK, RP_SHAPE_BREAK_AND_CONTINUE };

/** Writes an expression as the compiler sees it, so macros and parentheses do not matter. */
void rp_ast_expression_text(struct rp_buf *out, const struct rp_ast_node *node);

struct rp_shape_walk {
    const char *text; /**< of the file */
    size_t bytes;
    struct rp_shape_function *function;
    const struct rp_ast_node *body;
    size_t capacity;
    const struct rp_points_to *places; /**< NULL: of the template itself, which has no types */
    const struct rp_ast_node **locals; /**< declarations of the function */
    size_t local_count, local_capacity;
};

/* The values that variables get on which it depends how often barriers are met. */

/** Call it at the end of a function, when its heads are known. */
void rp_shape_add_loop_updates(struct rp_shape_walk *walk);

/** @param node where it stands; NULL: nowhere */
void rp_shape_add(struct rp_shape_walk *walk, enum rp_shape_class class,
                  const struct rp_ast_node *node, const char *text);
/** Returns the declaration of a variable of the function; NULL: it is from outside. */
const struct rp_ast_node *rp_shape_local_declaration(const struct rp_shape_walk *walk, uint64_t id);
/**
 * Adds an argument that is a constant, as its value, or as its name if it is from outside, because
 * some say which order and scope an operation has.
 * @return whether it is one
 */
bool rp_shape_constant(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                       struct rp_buf *out);

/* What of its surroundings a kernel uses: a change that stops using something of it is right
 * for the values that it had only.
 */

/** Adds the function's parameters and their members, pointers that are tested against null, sizes
 * and numbers of work-items, and variables from outside that are no constants, as far as the body
 * uses them. */
void rp_shape_add_uses(struct rp_shape_walk *walk, const struct rp_ast_node *function);

/** Says whether a use includes another one, too: "p" of "p.width", and vice versa. */
bool rp_shape_use_covers(const char *use, const char *other);

#endif
