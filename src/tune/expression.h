/**
 * @file expression.h
 * @brief A parsed expression: steps for a machine with a stack. Only of expression*.c.
 */
#ifndef RP_TUNE_EXPRESSION_H
#define RP_TUNE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/space.h"

struct rp_buf;
struct rp_err;
struct rp_expression;
struct rp_value;

struct rp_expression {
    char *text;
    struct rp_step *steps;
    size_t count;
    struct rp_value *constants;
    size_t constant_count;
    uint16_t *parameters;
    size_t parameter_count;
};

/* What constraints and conditions of a search space say: BLOCK_M * BLOCK_N <= 1024.
 *
 * Meaning as in Python, which other tuners use: // rounds down, % has the sign of the divisor, **
 * binds more tightly than a sign before it, a < b < c is a chain. Also && || and !. A number may be
 * an integer (exact: what does not fit in 64 bits fails), a real or a boolean (0 or 1); a text is
 * only equal to a text. The language is described in docs/format/search-space.md.
 */

/**
 * @param space  its parameters are the names that the text may use; they are known by their numbers
 *               from then on, so that parameters may be added to it later
 * @return 0; RP_BAD_INPUT with the column; RP_ENVIRONMENT
 */
int rp_expression_parse(const char *text, const struct rp_space *space, struct rp_expression **ret,
                        struct rp_err *err);
void rp_expression_free(struct rp_expression *expression);

/** As it was given. */
const char *rp_expression_text(const struct rp_expression *expression);
/** The numbers of the parameters that stand in it, rising. @return how many */
size_t rp_expression_parameters(const struct rp_expression *expression, const uint16_t **ret);

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

/** Not 0, not an empty text. */
bool rp_value_truth(const struct rp_value *value);

enum { RP_EXPRESSION_STACK = 1024 };

enum rp_step_kind {
    RP_STEP_CONSTANT,  /**< pushes constants[argument] */
    RP_STEP_PARAMETER, /**< pushes the value of parameter argument */
    /* of the top */
    RP_STEP_NEGATIVE,
    RP_STEP_POSITIVE,
    RP_STEP_NOT,
    RP_STEP_TRUTH,
    RP_STEP_ABS,
    /* of the two on top, which are replaced by one */
    RP_STEP_ADD,
    RP_STEP_SUBTRACT,
    RP_STEP_MULTIPLY,
    RP_STEP_DIVIDE,
    RP_STEP_FLOOR_DIVIDE,
    RP_STEP_MODULO,
    RP_STEP_POWER,
    RP_STEP_MIN,
    RP_STEP_MAX,
    RP_STEP_EQUAL,
    RP_STEP_UNEQUAL,
    RP_STEP_LESS,
    RP_STEP_LESS_EQUAL,
    RP_STEP_GREATER,
    RP_STEP_GREATER_EQUAL,
    /* of what decides early: argument is the step to go on with */
    RP_STEP_AND,    /**< top is false: it becomes false, go on there; otherwise it is dropped */
    RP_STEP_OR,     /**< top is true: it becomes true, go on there; otherwise it is dropped */
    RP_STEP_CHAIN,  /**< a b -> b when they compare; or false, go on there */
    RP_STEP_IN,     /**< x element -> x; or true, go on there, when they are equal */
    RP_STEP_NOT_IN, /**< x -> false: it was none of them; argument is not used */
};

struct rp_step {
    enum rp_step_kind kind;
    enum rp_step_kind compare; /**< of RP_STEP_CHAIN: RP_STEP_EQUAL … RP_STEP_GREATER_EQUAL */
    uint32_t argument;
};

/* Lists of values as Python writes them, which T1 has: [1, 2] + list(range(8, 65, 8)),
 *        [2**i for i in range(6) if i != 3].
 */

/** Zero-initialise; release with rp_value_list_free. */
struct rp_value_list {
    struct rp_value *list;
    size_t count;
};

void rp_value_list_free(struct rp_value_list *values);

/** @return 0; RP_BAD_INPUT: something else, or more than RP_MAX_PARAMETER_VALUES; RP_ENVIRONMENT */
int rp_values_parse(const char *text, struct rp_value_list *ret, struct rp_err *err);

/** A value so that it is read back. @return false: a text with a character that cannot be written
 */
bool rp_value_python(const struct rp_value *value, struct rp_buf *to);

#endif
