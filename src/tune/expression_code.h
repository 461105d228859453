/**
 * @file expression_code.h
 * @brief A parsed expression: steps for a machine with a stack. Only of expression*.c.
 */
#ifndef RP_TUNE_EXPRESSION_CODE_H
#define RP_TUNE_EXPRESSION_CODE_H

#include "tune/expression.h"

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

struct rp_expression {
    char *text;
    struct rp_step *steps;
    size_t count;
    struct rp_value *constants;
    size_t constant_count;
    uint16_t *parameters;
    size_t parameter_count;
};

#endif
