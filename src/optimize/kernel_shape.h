/**
 * @file kernel_shape.h
 * @brief What a kernel does that a change of its text must not change: in each instance of it, and
 * in the template itself.
 */
#ifndef RP_OPTIMIZE_KERNEL_SHAPE_H
#define RP_OPTIMIZE_KERNEL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "optimize/memory_effects.h"

struct rp_ast_node;
struct rp_buf;
struct rp_err;
struct rp_shape_function;
struct rp_shape_item;

struct rp_kernel_shape {
    struct rp_shape_function *functions;
    size_t count;
};

/** What is known of a function by its name (known_functions.def). */
enum rp_known_function_effect {
    RP_KNOWN_FUNCTION_UNKNOWN,
    RP_KNOWN_FUNCTION_SYNC,
    RP_KNOWN_FUNCTION_LANES,
    RP_KNOWN_FUNCTION_MATRIX,
    RP_KNOWN_FUNCTION_PURE
};
enum rp_known_function_effect rp_known_function_effect(const char *name);

/** Whether an expression reads or writes something volatile. */
bool rp_ast_accesses_volatile(const struct rp_ast_node *node);
/** The function that a node means: of a call, or whose address is taken. NULL: it means none. */
const char *rp_ast_callee(const struct rp_ast_node *node);
/** Whether it is threadIdx.x or one of its like. */
bool rp_ast_is_index(const struct rp_ast_node *node);
/** Operators and copies of HIP's vectors (float4) are as good as built in. */
bool rp_ast_is_vector_call(const struct rp_ast_node *node);

/**
 * The next name of a class in the type of what a node makes, with its namespaces; names of the
 * language and of HIP's vectors are none. *at is 0 at first.
 * @return its bytes; 0: there is none
 */
size_t rp_ast_class_name(const struct rp_ast_node *node, size_t *at, const char **ret);
/** Whether a type is of numbers, or of HIP's vectors or arrays of them: it holds no pointers. */
bool rp_ast_is_plain_type(const char *type);
/** Whether a call goes to something that is not named in it. */
bool rp_ast_calls_pointer(const struct rp_ast_node *call);

/**
 * @param functions  with bodies, all of the same text
 * @param text       of the file
 */
int rp_kernel_shape_make(const struct rp_ast_node *const *functions, size_t count, const char *text,
                         size_t bytes, struct rp_kernel_shape **ret, struct rp_err *err);
void rp_kernel_shape_free(struct rp_kernel_shape *shape);

/** @return 0, or RP_VERDICT with the first difference and what to do */
int rp_kernel_shape_compare(const struct rp_shape_text *original,
                            const struct rp_shape_text *candidate, struct rp_err *err);

/* Loops and branches in the list of what must keep its order: each is a pair of brackets
 * around what stands in it.
 */

/** Which jumps lead to the end of what is in brackets, or to its next round. */
enum rp_shape_jumps { RP_SHAPE_NO_JUMPS, RP_SHAPE_BREAK, RP_SHAPE_BREAK_AND_CONTINUE };

/** "loop {", "}" ... */
bool rp_shape_is_bracket(const struct rp_shape_item *item);

/** An expression as the compiler sees it: macros and parentheses are no matter. */
void rp_ast_expression_text(struct rp_buf *out, const struct rp_ast_node *node);

#endif
