#include "tune/values_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tune/expression.h"
#include "tune/space.h"

enum { MOST_NESTED = 20 };

struct parser {
    const char *text;
    size_t at;
    int nested;
    struct rp_err *err;
};

static int parse_sum(struct parser *p, struct rp_value_list *to);

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory for values");
}

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
    if (to->count == RP_MOST_VALUES)
        return rp_fail(p->err, RP_BAD_INPUT, "more than %d values", RP_MOST_VALUES);
    if (!to->list && !(to->list = calloc(RP_MOST_VALUES, sizeof *to->list)))
        return out_of_memory(p->err);
    if (value.kind == RP_VALUE_TEXT && !(value.text = strdup(value.text)))
        return out_of_memory(p->err);
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
    text = strndup(p->text + p->at, at - p->at);
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

    if (!text)
        return out_of_memory(p->err);
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

    if (!none)
        return out_of_memory(p->err);
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
    if (!(name = strndup(p->text + p->at, bytes)))
        return out_of_memory(p->err);
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

    if (!names)
        return out_of_memory(p->err);
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
    int rc = none ? 0 : out_of_memory(p->err);

    while (rc == 0 && !take_sign(p, closing)) {
        const size_t begin = p->at;
        rp_autofree char *text = take_expression(p);

        if (!text)
            return out_of_memory(p->err);
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
