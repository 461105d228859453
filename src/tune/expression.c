/* The evaluation of parsed expressions. */
#include "tune/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/expression_code.h"

static const char zero_division[] = "division by zero";
static const char too_large[] = "a number that does not fit";
static const char no_number[] = "a text where a number is needed";

void rp_expression_free(struct rp_expression *expression)
{
    if (!expression)
        return;
    for (size_t i = 0; i < expression->constant_count; i++)
        if (expression->constants[i].kind == RP_VALUE_TEXT)
            free((char *)expression->constants[i].text);
    free(expression->constants);
    free(expression->parameters);
    free(expression->steps);
    free(expression->text);
    free(expression);
}

const char *rp_expression_text(const struct rp_expression *expression)
{
    return expression->text;
}

size_t rp_expression_parameters(const struct rp_expression *expression, const uint16_t **ret)
{
    *ret = expression->parameters;
    return expression->parameter_count;
}

bool rp_value_truth(const struct rp_value *value)
{
    double number;

    return rp_value_number(value, &number) ? number != 0 : *value->text != '\0';
}

/* --- numbers ------------------------------------------------------------------------------- */

static bool is_integer(const struct rp_value *value, int64_t *ret)
{
    if (value->kind == RP_VALUE_INTEGER)
        *ret = value->integer;
    else if (value->kind == RP_VALUE_BOOLEAN)
        *ret = value->boolean;
    else
        return false;
    return true;
}

static const char *set_integer(struct rp_value *to, int64_t integer)
{
    *to = (struct rp_value){.kind = RP_VALUE_INTEGER, .integer = integer};
    return NULL;
}

static const char *set_real(struct rp_value *to, double real)
{
    if (!isfinite(real))
        return too_large;
    *to = (struct rp_value){.kind = RP_VALUE_REAL, .real = real};
    return NULL;
}

static void set_boolean(struct rp_value *to, bool boolean)
{
    *to = (struct rp_value){.kind = RP_VALUE_BOOLEAN, .boolean = boolean};
}

/** Exact, where a conversion of the integer to a real is not. */
static int compare_mixed(int64_t integer, double real)
{
    int64_t whole;

    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    whole = (int64_t)real; /* towards zero */
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return (real < (double)whole) - (real > (double)whole);
}

/** @return false: a text and a number */
static bool compare(const struct rp_value *a, const struct rp_value *b, int *ret)
{
    int64_t x = 0, y = 0;
    bool whole_x, whole_y;

    if ((a->kind == RP_VALUE_TEXT) != (b->kind == RP_VALUE_TEXT))
        return false;
    if (a->kind == RP_VALUE_TEXT) {
        *ret = strcmp(a->text, b->text);
        return true;
    }
    whole_x = is_integer(a, &x);
    whole_y = is_integer(b, &y);
    if (whole_x && whole_y)
        *ret = (x > y) - (x < y);
    else if (whole_x)
        *ret = compare_mixed(x, b->real);
    else if (whole_y)
        *ret = -compare_mixed(y, a->real);
    else
        *ret = (a->real > b->real) - (a->real < b->real);
    return true;
}

static bool equal(const struct rp_value *a, const struct rp_value *b)
{
    int order;

    return compare(a, b, &order) && order == 0;
}

static const char *decide(enum rp_step_kind kind, const struct rp_value *a,
                          const struct rp_value *b, bool *ret)
{
    int order;

    if (kind == RP_STEP_EQUAL || kind == RP_STEP_UNEQUAL) {
        *ret = equal(a, b) == (kind == RP_STEP_EQUAL);
        return NULL;
    }
    if (!compare(a, b, &order))
        return no_number;
    *ret = kind == RP_STEP_LESS         ? order < 0
           : kind == RP_STEP_LESS_EQUAL ? order <= 0
           : kind == RP_STEP_GREATER    ? order > 0
                                        : order >= 0;
    return NULL;
}

static const char *integer_power(int64_t base, int64_t exponent, struct rp_value *ret)
{
    int64_t result = 1;

    if (exponent < 0)
        return base == 0 ? zero_division : set_real(ret, pow((double)base, (double)exponent));
    if (exponent > 63 && base >= -1 && base <= 1) /* 0, 1 and -1 go on for ever */
        exponent = 62 + exponent % 2;
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(result, base, &result))
            return too_large;
    return set_integer(ret, result);
}

static const char *integers(enum rp_step_kind kind, int64_t a, int64_t b, struct rp_value *ret)
{
    const bool divides =
        kind == RP_STEP_DIVIDE || kind == RP_STEP_FLOOR_DIVIDE || kind == RP_STEP_MODULO;
    int64_t result = 0;

    if (divides && b == 0)
        return zero_division;
    if (divides && b == -1) /* the remainder of INT64_MIN by -1 traps */
        return kind == RP_STEP_MODULO ? set_integer(ret, 0) : integers(RP_STEP_SUBTRACT, 0, a, ret);
    switch (kind) {
    case RP_STEP_ADD:
        return __builtin_add_overflow(a, b, &result) ? too_large : set_integer(ret, result);
    case RP_STEP_SUBTRACT:
        return __builtin_sub_overflow(a, b, &result) ? too_large : set_integer(ret, result);
    case RP_STEP_MULTIPLY:
        return __builtin_mul_overflow(a, b, &result) ? too_large : set_integer(ret, result);
    case RP_STEP_DIVIDE: /* exact where it can be */
        return a % b == 0 ? set_integer(ret, a / b) : set_real(ret, (double)a / (double)b);
    case RP_STEP_FLOOR_DIVIDE:
        return set_integer(ret, a / b - (a % b != 0 && (a < 0) != (b < 0)));
    case RP_STEP_MODULO:
        return set_integer(ret, a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));
    default:
        return integer_power(a, b, ret);
    }
}

static const char *reals(enum rp_step_kind kind, double a, double b, struct rp_value *ret)
{
    double rest;

    if (b == 0 &&
        (kind == RP_STEP_DIVIDE || kind == RP_STEP_FLOOR_DIVIDE || kind == RP_STEP_MODULO))
        return zero_division;
    switch (kind) {
    case RP_STEP_ADD:
        return set_real(ret, a + b);
    case RP_STEP_SUBTRACT:
        return set_real(ret, a - b);
    case RP_STEP_MULTIPLY:
        return set_real(ret, a * b);
    case RP_STEP_DIVIDE:
        return set_real(ret, a / b);
    case RP_STEP_FLOOR_DIVIDE:
        return set_real(ret, floor(a / b));
    case RP_STEP_MODULO:
        rest = fmod(a, b);
        return set_real(ret, rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    default:
        return a == 0 && b < 0 ? zero_division : set_real(ret, pow(a, b));
    }
}

static const char *least_or_most(enum rp_step_kind kind, struct rp_value *a,
                                 const struct rp_value *b)
{
    int order;

    if (!compare(a, b, &order))
        return no_number;
    if (kind == RP_STEP_MIN ? order > 0 : order < 0)
        *a = *b;
    return NULL;
}

/** a becomes the result. */
static const char *calculate(enum rp_step_kind kind, struct rp_value *a, const struct rp_value *b)
{
    int64_t x, y;
    double u, v;

    if (kind == RP_STEP_MIN || kind == RP_STEP_MAX)
        return least_or_most(kind, a, b);
    if (is_integer(a, &x) && is_integer(b, &y))
        return integers(kind, x, y, a);
    if (!rp_value_number(a, &u) || !rp_value_number(b, &v))
        return no_number;
    return reals(kind, u, v, a);
}

static const char *alone(enum rp_step_kind kind, struct rp_value *top)
{
    const struct rp_value before = *top;
    int64_t integer;

    if (kind == RP_STEP_NOT || kind == RP_STEP_TRUTH) {
        set_boolean(top, rp_value_truth(&before) == (kind == RP_STEP_TRUTH));
        return NULL;
    }
    if (before.kind == RP_VALUE_TEXT)
        return no_number;
    if (is_integer(&before, &integer))
        return kind == RP_STEP_NEGATIVE || (kind == RP_STEP_ABS && integer < 0)
                   ? integers(RP_STEP_SUBTRACT, 0, integer, top)
                   : set_integer(top, integer);
    return set_real(top, kind == RP_STEP_NEGATIVE ? -before.real
                         : kind == RP_STEP_ABS    ? fabs(before.real)
                                                  : before.real);
}

/* --- the machine --------------------------------------------------------------------------- */

struct machine {
    struct rp_value
        stack[RP_EXPRESSION_STACK + 1]; /**< enough, as the parser has seen; from 1 on */
    struct rp_value *top;
    size_t at; /**< the step after this one */
};

static void go(struct machine *m, const struct rp_step *step, bool result)
{
    set_boolean(m->top, result);
    m->at = step->argument;
}

/** Of what decides early. @return why it fails, or NULL */
static const char *branch(struct machine *m, const struct rp_step *step)
{
    bool holds = false;
    const char *why;

    switch (step->kind) {
    case RP_STEP_AND:
    case RP_STEP_OR:
        if (rp_value_truth(m->top) == (step->kind == RP_STEP_OR))
            go(m, step, step->kind == RP_STEP_OR);
        else
            m->top--;
        return NULL;
    case RP_STEP_CHAIN:
        m->top--;
        if ((why = decide(step->compare, m->top, m->top + 1, &holds)))
            return why;
        if (holds)
            m->top[0] = m->top[1];
        else
            go(m, step, false);
        return NULL;
    case RP_STEP_IN:
        m->top--;
        if (equal(m->top, m->top + 1))
            go(m, step, true);
        return NULL;
    default: /* RP_STEP_NOT_IN */
        set_boolean(m->top, false);
        return NULL;
    }
}

static const char *run_step(struct machine *m, const struct rp_step *step)
{
    bool holds = false;
    const char *why;

    if (step->kind <= RP_STEP_ABS)
        return alone(step->kind, m->top);
    if (step->kind >= RP_STEP_AND)
        return branch(m, step);
    m->top--;
    if (step->kind < RP_STEP_EQUAL)
        return calculate(step->kind, m->top, m->top + 1);
    why = decide(step->kind, m->top, m->top + 1, &holds);
    set_boolean(m->top, holds);
    return why;
}

enum rp_evaluated rp_expression_evaluate(const struct rp_expression *expression,
                                         const struct rp_space *space, const uint16_t *row,
                                         struct rp_value *ret, const char **ret_why)
{
    struct machine m; /* not initialised: what is read has been pushed before */

    m.top = m.stack;
    m.at = 0;
    while (m.at < expression->count) {
        const struct rp_step *step = &expression->steps[m.at++];
        const char *why;

        if (step->kind == RP_STEP_CONSTANT) {
            *++m.top = expression->constants[step->argument];
        } else if (step->kind == RP_STEP_PARAMETER) {
            const uint16_t choice = row[step->argument];

            if (choice == RP_NO_VALUE)
                return RP_EVALUATED_ABSENT;
            *++m.top = space->parameters[step->argument].values[choice];
        } else if ((why = run_step(&m, step))) {
            if (ret_why)
                *ret_why = why;
            return RP_EVALUATED_FAILED;
        }
    }
    *ret = *m.top;
    return RP_EVALUATED;
}
