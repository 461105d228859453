/**
 * @file expression.h
 * @brief Parses and evaluates constraints and conditions of a search space.
 */
#ifndef RP_TUNE_EXPRESSION_H
#define RP_TUNE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/space.h"

struct rp_buf;
struct rp_err;
struct rp_expression {
    char *text; /**< as it was given */
    struct rp_step *steps;
    size_t count;
    struct rp_value *constants;
    size_t constant_count;
    uint16_t *parameters; /**< the numbers of those that stand in it, rising */
    size_t parameter_count;
};

/* Constraints and conditions of a search space are expressions as BLOCK_M * BLOCK_N <= 1024. They
 * mean what they mean in Python, which other tuners use: // rounds down, % has the sign of the
 * divisor, ** binds more tightly than a sign before it, and a < b < c is a chain. && || and ! are
 * allowed, too. A number may be an integer (exact: what does not fit in 64 bits fails), a real or a
 * boolean (0 or 1); a text is only equal to a text. The language is described in
 * docs/format/search-space.md. */

/**
 * @param space has the parameters whose names the text may use. The expression keeps their numbers,
 * so parameters may be added later.
 * @return 0; RP_BAD_INPUT with the column; RP_ENVIRONMENT
 */
int rp_expression_parse(const char *text, const struct rp_space *space, struct rp_expression **ret,
                        struct rp_err *err);
void rp_expression_free(struct rp_expression *expression);

enum rp_evaluated {
    RP_EVALUATED,
    RP_EVALUATED_ABSENT, /**< a parameter that was needed has no value */
    RP_EVALUATED_FAILED, /**< division by zero, too large a number, a text where a number must be */
};

/**
 * @param row      a value's number for each parameter of space that stands in the expression
 * @param ret      a text lives as long as space and expression
 * @param ret_why  of RP_EVALUATED_FAILED: "division by zero"; may be NULL
 */
enum rp_evaluated rp_expression_evaluate(const struct rp_expression *expression,
                                         const struct rp_space *space, const uint16_t *row,
                                         struct rp_value *ret, const char **ret_why);

/** A value is true unless it is 0 or an empty text. */
bool rp_value_truth(const struct rp_value *value);

#endif
