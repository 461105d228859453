/**
 * @file kernel_shape.h
 * @brief What a kernel does that a change of its text must not change: in each instance of it, and
 * in the template itself.
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

/* What the walk through a function writes down of a node (kernel_shape.c). */

struct rp_shape_function {
    char *symbol; /**< mangled; "" is the template itself */
    struct rp_shape_item *items;
    size_t count;
    /* Nothing of the template itself, which has no types. */
    struct rp_accesses accesses;
    struct rp_arithmetic arithmetic;
};

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

struct rp_shape_item {
    enum rp_shape_class class;
    char *text;    /**< what is compared; a tab ends what is of use to a reader */
    size_t offset; /**< in the file; 0: not known */
    /** Of RP_SHAPE_LOOP_CONDITION, as long as there is a tree: its expressions. */
    const struct rp_ast_node *head;
    size_t head_count;
};

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

/** Which jumps lead to the end of what is in brackets, or to its next round. */
enum rp_shape_jumps { RP_SHAPE_NO_JUMPS, RP_SHAPE_BREAK, RP_SHAPE_BREAK_AND_CONTINUE };

/** An expression as the compiler sees it: macros and parentheses are no matter. */
void rp_ast_expression_text(struct rp_buf *out, const struct rp_ast_node *node);

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

/** At the end of a function, when its heads are known. */
void rp_shape_add_loop_updates(struct rp_shape_walk *walk);

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

/** Adds the function's parameters and members of these, pointers that are tested against null,
 * sizes and numbers of work-items, and variables of outside that are no constants, as far as the
 * body uses them. */
void rp_shape_add_uses(struct rp_shape_walk *walk, const struct rp_ast_node *function);

/** Whether a use is one of another's, too: "p" of "p.width", and the other way round. */
bool rp_shape_use_covers(const char *use, const char *other);

#endif
