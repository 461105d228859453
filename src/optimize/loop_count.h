/**
 * @file loop_count.h
 * @brief Whether a for loop counts, how often it goes round, and what a constant expression is.
 */
#ifndef RP_OPTIMIZE_LOOP_COUNT_H
#define RP_OPTIMIZE_LOOP_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct rp_ast_node;

struct rp_loop_count {
    bool counted; /**< a variable goes to a bound in steps, and nothing else changes either */
    bool known;
    uint64_t trips;
    const char *why_not; /**< not counted: why, half a sentence */
};

/** @param function its constants may stand in the bounds */
struct rp_loop_count rp_loop_count(const struct rp_ast_node *loop,
                                   const struct rp_ast_node *function);

/** Computes an expression of numbers and of the function's constants.
 * @return false: it is another one */
bool rp_constant(const struct rp_ast_node *node, const struct rp_ast_node *function, int64_t *ret);

/** Computes a op b of whole numbers: +, -, *, / and << of what is not negative.
 * @return false: it is another operator, or the result is not a number of 64 bits */
bool rp_compute(const char *opcode, int64_t a, int64_t b, int64_t *ret);

#endif
