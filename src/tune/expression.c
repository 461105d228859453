/* The evaluation of parsed expressions. */
#include "tune/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tune/space.h"

static const char zero_division[] = "division by zero";
static const char too_large[] = "a number that does not fit";
static const char no_number[] = "a text where a number is needed";

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

static const char *min_or_max(enum rp_step_kind kind, struct rp_value *a, const struct rp_value *b)
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
        return min_or_max(kind, a, b);
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

enum { MOST_NESTED = 20 };

struct parser {
    const char *text;
    size_t at;
    int nested;
    struct rp_err *err;
};

static int parse_sum(struct parser *p, struct rp_value_list *to);

static int fail_here(struct parser *p, const char *what)
{
    return rp_fail(p->err, RP_BAD_INPUT, "column %zu: %s", p->at + 1, what);
}

void rp_value_list_free(struct rp_value_list *values)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->list[i].kind == RP_VALUE_TEXT)
            free((char *)values->list[i].text);
    free(values->list);
    *values = (struct rp_value_list){0};
}

/** Copies the value. */
static int append(struct parser *p, struct rp_value_list *to, struct rp_value value)
{
    if (to->count == RP_MAX_PARAMETER_VALUES)
        return rp_fail(p->err, RP_BAD_INPUT, "more than %d values", RP_MAX_PARAMETER_VALUES);
    if (!to->list)
        to->list = rp_alloc_zero(RP_MAX_PARAMETER_VALUES, sizeof *to->list);
    if (value.kind == RP_VALUE_TEXT)
        value.text = rp_strdup(value.text);
    to->list[to->count++] = value;
    return 0;
}

/* --- words ----------------------------------------------------------------------------------- */

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->text + p->at, " \t\r\n");
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_word_at(const char *text, size_t at, const char *word)
{
    return strncmp(text + at, word, strlen(word)) == 0 && !is_word_char(text[at + strlen(word)]) &&
           (at == 0 || !is_word_char(text[at - 1]));
}

static bool take_word(struct parser *p, const char *word)
{
    skip_blanks(p);
    if (!is_word_at(p->text, p->at, word))
        return false;
    p->at += strlen(word);
    return true;
}

static bool take_sign(struct parser *p, char sign)
{
    skip_blanks(p);
    if (p->text[p->at] != sign)
        return false;
    p->at++;
    return true;
}

static int expect(struct parser *p, char sign)
{
    const char what[] = {sign, ' ', 'i', 's', ' ', 'm', 'i', 's', 's', 'i', 'n', 'g', '\0'};

    return take_sign(p, sign) ? 0 : fail_here(p, what);
}

/** Up to what ends an expression here: a comma, a bracket that it has not opened, for or if. */
static char *take_expression(struct parser *p)
{
    size_t at, depth = 0;
    char *text;

    skip_blanks(p);
    for (at = p->at; p->text[at]; at++) {
        const char c = p->text[at];

        if (c == '\'' || c == '"') {
            for (at++; p->text[at] && p->text[at] != c; at++)
                at += p->text[at] == '\\' && p->text[at + 1];
            if (!p->text[at])
                break;
        } else if (strchr("([{", c)) {
            depth++;
        } else if (depth ? strchr(")]}", c) != NULL : strchr(",)]}", c) != NULL) {
            if (depth-- == 0)
                break;
        } else if (!depth && (is_word_at(p->text, at, "for") || is_word_at(p->text, at, "if"))) {
            break;
        }
    }
    text = rp_strndup(p->text + p->at, at - p->at);
    p->at = at;
    return text;
}

/* --- values ---------------------------------------------------------------------------------- */

/** An expression of names, or of none. @param row  may be NULL without names */
static int evaluate(struct parser *p, const struct rp_expression *expression,
                    const struct rp_space *names, const uint16_t *row, struct rp_value *ret)
{
    const char *why = "";

    if (rp_expression_evaluate(expression, names, row, ret, &why) != RP_EVALUATED)
        return rp_fail(p->err, RP_BAD_INPUT, "\"%.80s\": %s", rp_expression_text(expression), why);
    return 0;
}

static void free_space(struct rp_space **space)
{
    rp_space_free(*space);
}

static void free_expression(struct rp_expression **expression)
{
    rp_expression_free(*expression);
}

#define autospace      rp_cleanup(free_space) struct rp_space *
#define autoexpression rp_cleanup(free_expression) struct rp_expression *

static int parse_expression(struct parser *p, const struct rp_space *names,
                            struct rp_expression **ret)
{
    rp_autofree char *text = take_expression(p);

    if (rp_expression_parse(text, names, ret, p->err) < 0)
        return rp_wrap(p->err, "\"%.80s\"", text);
    return 0;
}

/** Arguments of range(). */
static int parse_integer(struct parser *p, int64_t *ret)
{
    autospace none = rp_space_new();
    autoexpression expression = NULL;
    struct rp_value value;

    if (parse_expression(p, none, &expression) < 0 ||
        evaluate(p, expression, none, NULL, &value) < 0)
        return -(int)p->err->code;
    if (value.kind != RP_VALUE_INTEGER)
        return fail_here(p, "range() needs integers");
    *ret = value.integer;
    return 0;
}

/** Behind "range": (end), (begin, end) or (begin, end, step), without the end. */
static int parse_range(struct parser *p, struct rp_value_list *to)
{
    int64_t numbers[3] = {0, 0, 1};
    size_t count = 0;
    int rc = expect(p, '(');

    do {
        if (rc == 0 && count == 3)
            rc = fail_here(p, "range() has one to three numbers");
        if (rc < 0 || (rc = parse_integer(p, &numbers[count++])) < 0)
            return rc;
    } while (take_sign(p, ','));
    if ((rc = expect(p, ')')) < 0)
        return rc;
    if (count == 1) {
        numbers[1] = numbers[0];
        numbers[0] = 0;
    }
    if (numbers[2] == 0)
        return fail_here(p, "range() with a step of 0");
    for (int64_t at = numbers[0]; numbers[2] > 0 ? at < numbers[1] : at > numbers[1];) {
        if ((rc = append(p, to, (struct rp_value){.kind = RP_VALUE_INTEGER, .integer = at})) < 0)
            return rc;
        if (__builtin_add_overflow(at, numbers[2], &at))
            break;
    }
    return 0;
}

/** Behind "for": NAME in VALUES. The space has NAME alone. */
static int parse_loop(struct parser *p, struct rp_space *names)
{
    rp_cleanup(rp_value_list_free) struct rp_value_list values = {0};
    rp_autofree char *name = NULL;
    size_t bytes = 0;
    int rc;

    skip_blanks(p);
    while (is_word_char(p->text[p->at + bytes]))
        bytes++;
    name = rp_strndup(p->text + p->at, bytes);
    p->at += bytes;
    if (!take_word(p, "in"))
        return fail_here(p, "in is missing");
    if ((rc = parse_sum(p, &values)) < 0)
        return rc;
    return rp_space_add_parameter(names, name, values.list, values.count, p->err);
}

/** [ELEMENT for NAME in VALUES if CONDITION]: from where the element begins to before ]. */
static int parse_comprehension(struct parser *p, size_t begin, struct rp_value_list *to)
{
    autospace names = rp_space_new();
    autoexpression element = NULL;
    autoexpression condition = NULL;
    size_t end;
    int rc;

    if ((rc = parse_loop(p, names)) < 0)
        return rc;
    if (take_word(p, "if") && (rc = parse_expression(p, names, &condition)) < 0)
        return rc;
    end = p->at;
    p->at = begin;
    if ((rc = parse_expression(p, names, &element)) < 0)
        return rc;
    p->at = end;
    for (uint16_t i = 0; i < names->parameters[0].count; i++) {
        struct rp_value value;

        if (condition) {
            if ((rc = evaluate(p, condition, names, &i, &value)) < 0)
                return rc;
            if (!rp_value_truth(&value))
                continue;
        }
        if ((rc = evaluate(p, element, names, &i, &value)) < 0 || (rc = append(p, to, value)) < 0)
            return rc;
    }
    return 0;
}

/** Behind [ or (. */
static int parse_elements(struct parser *p, char closing, struct rp_value_list *to)
{
    autospace none = rp_space_new();
    int rc = 0;

    while (rc == 0 && !take_sign(p, closing)) {
        const size_t begin = p->at;
        rp_autofree char *text = take_expression(p);

        if (take_word(p, "for")) {
            rc = parse_comprehension(p, begin, to);
            return rc < 0 ? rc : expect(p, closing);
        } else {
            autoexpression expression = NULL;
            struct rp_value value;

            p->at = begin;
            if ((rc = parse_expression(p, none, &expression)) < 0 ||
                (rc = evaluate(p, expression, none, NULL, &value)) < 0 ||
                (rc = append(p, to, value)) < 0)
                return rc;
        }
        if (!take_sign(p, ',')) {
            rc = expect(p, closing);
            break;
        }
    }
    return rc;
}

static int parse_term(struct parser *p, struct rp_value_list *to)
{
    int rc;

    if (take_sign(p, '['))
        return parse_elements(p, ']', to);
    if (take_sign(p, '('))
        return parse_elements(p, ')', to);
    if (take_word(p, "range"))
        return parse_range(p, to);
    if (!take_word(p, "list") && !take_word(p, "tuple"))
        return fail_here(p, "neither a list like [1, 2] nor range()");
    if ((rc = expect(p, '(')) < 0 || (rc = parse_sum(p, to)) < 0)
        return rc;
    return expect(p, ')');
}

static int parse_sum(struct parser *p, struct rp_value_list *to)
{
    int rc = 0;

    if (++p->nested > MOST_NESTED)
        return fail_here(p, "nested too deeply");
    do
        rc = parse_term(p, to);
    while (rc == 0 && take_sign(p, '+'));
    p->nested--;
    return rc;
}

int rp_values_parse(const char *text, struct rp_value_list *ret, struct rp_err *err)
{
    struct parser p = {.text = text, .err = err};
    struct rp_value_list values = {0};
    int rc = parse_sum(&p, &values);

    skip_blanks(&p);
    if (rc == 0 && p.text[p.at])
        rc = fail_here(&p, "what stands here is not known");
    if (rc < 0) {
        rp_value_list_free(&values);
        return rc;
    }
    *ret = values;
    return 0;
}

bool rp_value_python(const struct rp_value *value, struct rp_buf *to)
{
    if (value->kind == RP_VALUE_BOOLEAN) {
        rp_buf_puts(to, value->boolean ? "True" : "False");
        return true;
    }
    if (value->kind != RP_VALUE_TEXT) {
        rp_value_text(value, to);
        return true;
    }
    rp_buf_puts(to, "'");
    for (const char *c = value->text; *c; c++) {
        if ((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t' && *c != '\r')
            return false;
        if (*c == '\'' || *c == '\\')
            rp_buf_puts(to, "\\");
        if (*c == '\n' || *c == '\t' || *c == '\r')
            rp_buf_puts(to, *c == '\n' ? "\\n" : *c == '\t' ? "\\t" : "\\r");
        else
            rp_buf_add(to, c, 1);
    }
    rp_buf_puts(to, "'");
    return true;
}
