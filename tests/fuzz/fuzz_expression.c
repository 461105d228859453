/**
 * @file fuzz_expression.c
 * @brief Any bytes as an expression: refused with a reason, or worth the same in parentheses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tune/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rp_space *parameters(void)
{
    static const struct rp_value values[] = {{.kind = RP_VALUE_INTEGER, .integer = 7},
                                             {.kind = RP_VALUE_INTEGER, .integer = INT64_MIN},
                                             {.kind = RP_VALUE_REAL, .real = 0.5},
                                             {.kind = RP_VALUE_BOOLEAN, .boolean = true},
                                             {.kind = RP_VALUE_TEXT, .text = "$(a) 'b' %s"}};
    static const char *const names[] = {"a", "b", "c d"};
    struct rp_space *space = rp_space_new();

    for (size_t i = 0; space && i < 3; i++)
        if (rp_space_add_parameter(space, names[i], values, 5, NULL) < 0)
            abort();
    return space;
}

static enum rp_evaluated evaluate(const struct rp_space *space, const char *text,
                                  const uint16_t *row, struct rp_buf *value)
{
    struct rp_expression *expression;
    struct rp_err err = RP_ERR_INIT;
    enum rp_evaluated evaluated;
    struct rp_value ret;
    const char *why = NULL;

    if (rp_expression_parse(text, space, &expression, &err) < 0) {
        if (err.code != RP_BAD_INPUT || !strstr(err.text, "column"))
            __builtin_trap();
        return (enum rp_evaluated) - 1;
    }
    evaluated = rp_expression_evaluate(expression, space, row, &ret, &why);
    if (evaluated == RP_EVALUATED)
        rp_value_text(&ret, value);
    if (evaluated == RP_EVALUATED_FAILED && !why)
        __builtin_trap();
    rp_expression_free(expression);
    return evaluated;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rp_space *space;
    rp_autobuf plain = {0}, wrapped = {0};

    if (!space && !(space = parameters()))
        return 0;
    rp_buf_add(&plain, data, size);
    rp_buf_puts(&wrapped, "(");
    rp_buf_puts(&wrapped, rp_buf_text(&plain));
    rp_buf_puts(&wrapped, "\n)");
    for (uint16_t i = 0; i < 5; i++) {
        const uint16_t row[] = {i, (uint16_t)(4 - i), i == 3 ? RP_NO_VALUE : i};
        rp_autobuf a = {0}, b = {0};
        const enum rp_evaluated evaluated = evaluate(space, rp_buf_text(&plain), row, &a);

        if ((int)evaluated < 0)
            return 0;
        /* one level more of parentheses may be too deep */
        if (strlen(rp_buf_text(&plain)) < 90 &&
            (evaluate(space, rp_buf_text(&wrapped), row, &b) != evaluated ||
             strcmp(rp_buf_text(&a), rp_buf_text(&b)) != 0))
            __builtin_trap();
    }
    return 0;
}
