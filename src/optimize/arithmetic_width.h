/**
 * @file arithmetic_width.h
 * @brief How wide a kernel computes the values that reach memory.
 *
 * A value reaches memory when it is stored there or given to a function that may store it, and when
 * one that does is computed from it. Indices, and what conditions compare, do not.
 */
#ifndef RP_OPTIMIZE_ARITHMETIC_WIDTH_H
#define RP_OPTIMIZE_ARITHMETIC_WIDTH_H

#include <stdbool.h>
#include <stddef.h>

struct rp_ast_node;
struct rp_err;

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

/**
 * @param locals declarations of the function: variables and parameters
 * @param bytes  of the file
 */
void rp_arithmetic_find(const struct rp_ast_node *function, const struct rp_ast_node *const *locals,
                        size_t local_count, size_t bytes, struct rp_arithmetic *ret);

/**
 * @param text   of the candidate's file, whose kernel begins at @p begin as line @p line
 * @return 0, or RP_VERDICT when something that the original computes is computed with fewer bits
 */
int rp_arithmetic_compare(const struct rp_arithmetic *was, const struct rp_arithmetic *is,
                          const char *text, size_t begin, unsigned line, struct rp_err *err);

#endif
