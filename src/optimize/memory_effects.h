/**
 * @file memory_effects.h
 * @brief What a kernel reads and writes between which of its barriers, fences and atomics.
 *
 * The text is cut behind each barrier, fence, atomic or volatile access, inline assembly and call
 * of a function whose effects are not known, and where a loop or branch with one of these begins
 * and ends.
 */
#ifndef RP_OPTIMIZE_MEMORY_EFFECTS_H
#define RP_OPTIMIZE_MEMORY_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>

struct rp_ast_node;
struct rp_err;
struct rp_kernel_shape;
struct rp_points_to;
struct rp_shape_text;

/* What a kernel does that a change of its text must not change: in each instance of it, and
 * in the template itself.
 */

/** A shape and the text whose lines are named: they are counted from the kernel's beginning. */
struct rp_shape_text {
    const struct rp_kernel_shape *shape;
    const char *text; /**< of the file */
    size_t begin;     /**< of the kernel */
    unsigned line;    /**< as which it counts */
};

enum rp_access_kind {
    RP_ACCESS_READ,
    RP_ACCESS_WRITE,
    RP_ACCESS_ATOMIC,
    RP_ACCESS_VOLATILE_READ,
    RP_ACCESS_VOLATILE_WRITE,
};

/** One for all of the same kind to the same memory in an interval. */
struct rp_access {
    size_t interval; /**< from 0 on, in the order of the text */
    enum rp_access_kind kind;
    char *name;    /**< of the memory (replay.h) */
    size_t offset; /**< of the first one in the file; 0: not known */
};

struct rp_accesses {
    struct rp_access *list; /**< by interval */
    size_t count;
    size_t intervals;
};

/** @param bytes  of the file */
int rp_accesses_find(const struct rp_ast_node *function, const struct rp_points_to *places,
                     size_t bytes, struct rp_accesses *ret, struct rp_err *err);
void rp_accesses_free(struct rp_accesses *accesses);

/* How wide a kernel computes the values that reach memory.
 *
 * A value reaches memory when it is stored there or given to a function whose effects are not
 * known, and when one that does is computed from it. Indices, and what conditions compare, do not.
 */

enum rp_number { RP_NUMBER_INTEGER, RP_NUMBER_FLOATING, RP_NUMBERS };
enum rp_operation {
    RP_OPERATION_ADD, /**< and subtract */
    RP_OPERATION_MULTIPLY,
    RP_OPERATION_DIVIDE,
    RP_OPERATION_CONVERT, /**< to that width, from a larger one */
    RP_OPERATIONS
};
enum { RP_WIDTHS = 4 }; /**< 8, 16, 32 and 64 bits */

struct rp_arithmetic {
    struct {
        bool is;       /**< there is one */
        size_t offset; /**< of the first in the file; 0: not known */
    } kinds[RP_NUMBERS][RP_OPERATIONS][RP_WIDTHS];
};

/** @param bytes  of the file */
void rp_arithmetic_find(const struct rp_ast_node *function, const struct rp_points_to *places,
                        size_t bytes, struct rp_arithmetic *ret);

/** @return 0, or RP_VERDICT when something that the original computes is computed narrower */
int rp_arithmetic_compare(const struct rp_arithmetic *was, const struct rp_shape_text *candidate,
                          const struct rp_arithmetic *is, struct rp_err *err);

/** The kernel's first line when the place is not known. */
unsigned rp_shape_line(const struct rp_shape_text *in, size_t offset);

#endif
