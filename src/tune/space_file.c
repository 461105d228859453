#include "tune/space_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "tune/bridge.h"
#include "tune/expression.h"
#include "tune/space.h"

/* Lists of values may be as Python writes them, which T1 has: [1, 2] + list(range(8, 65, 8)), [2**i
 * for i in range(6) if i != 3]. */

/** Initialise it with zeros, and release it with value_list_free. */
struct rp_value_list {
    struct rp_value *list;
    size_t count;
};

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

static void value_list_free(struct rp_value_list *values)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->list[i].kind == RP_VALUE_TEXT)
            free((char *)values->list[i].text);
    free(values->list);
    *values = (struct rp_value_list){0};
}

/** Appends a copy of the value. */
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

/* --- words ------------------------------------------------------------------------------------ */

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

/** Takes the text up to the end of an expression: a comma, a bracket that it has not opened, for or
 * if. */
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

/* --- values ----------------------------------------------------------------------------------- */

/** Evaluates an expression with or without names.
 * @param row may be NULL without names */
static int evaluate(struct parser *p, const struct rp_expression *expression,
                    const struct rp_space *names, const uint16_t *row, struct rp_value *ret)
{
    const char *why = "";

    if (rp_expression_evaluate(expression, names, row, ret, &why) != RP_EVALUATED)
        return rp_fail(p->err, RP_BAD_INPUT, "\"%.80s\": %s", expression->text, why);
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

/** Parses an argument of range(). */
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

/** Parses what follows "range": (end), (begin, end) or (begin, end, step). The end is not included.
 */
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

/** Parses what follows "for": NAME in VALUES. The space has NAME alone. */
static int parse_loop(struct parser *p, struct rp_space *names)
{
    rp_cleanup(value_list_free) struct rp_value_list values = {0};
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

/** Parses [ELEMENT for NAME in VALUES if CONDITION], from the beginning of the element to the ]. */
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

/** Parses what follows [ or (. */
static int parse_elements(struct parser *p, char closing, struct rp_value_list *to)
{
    autospace none = rp_space_new();
    int rc = 0;

    while (rc == 0 && !take_sign(p, closing)) {
        const size_t begin = p->at;

        free(take_expression(p)); /* The text behind it shows what it is. */
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

/** @return 0; RP_BAD_INPUT: something else, or more than RP_MAX_PARAMETER_VALUES; RP_ENVIRONMENT */
static int values_parse(const char *text, struct rp_value_list *ret, struct rp_err *err)
{
    struct parser p = {.text = text, .err = err};
    struct rp_value_list values = {0};
    int rc = parse_sum(&p, &values);

    skip_blanks(&p);
    if (rc == 0 && p.text[p.at])
        rc = fail_here(&p, "what stands here is not known");
    if (rc < 0) {
        value_list_free(&values);
        return rc;
    }
    *ret = values;
    return 0;
}

/** Writes a value so that it can be read back.
 * @return false: a text has a character that cannot be written */
static bool value_python(const struct rp_value *value, struct rp_buf *to)
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

/* --- spaces ----------------------------------------------------------------------------------- */

static bool fair_t1_is(const json_t *root)
{
    return json_is_object(json_object_get(root, "ConfigurationSpace"));
}

/* --- reading ---------------------------------------------------------------------------------- */

/** Reads "Values": a text as Python writes lists, or a list, which is not in the schema. */
static int t1_read_values(const json_t *json, struct rp_value_list *ret, struct rp_err *err)
{
    rp_autobuf text = {0};

    if (json_is_string(json))
        return values_parse(json_string_value(json), ret, err);
    rp_buf_puts(&text, "[");
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct rp_value value;

        if (!rp_json_value(json_array_get(json, i), &value) || !value_python(&value, &text))
            return rp_fail(err, RP_BAD_INPUT, "value %zu is neither a number nor a text", i + 1);
        rp_buf_puts(&text, ",");
    }
    rp_buf_puts(&text, "]");
    return values_parse(rp_buf_text(&text), ret, err);
}

static int read_parameter(const json_t *json, struct rp_space *space, struct rp_err *err)
{
    rp_cleanup(value_list_free) struct rp_value_list values = {0};
    const char *name = json_string_value(json_object_get(json, "Name"));

    if (!name)
        return rp_fail(err, RP_BAD_INPUT, "it has no \"Name\"");
    if (rp_space_check_name(name, err) < 0)
        return -(int)err->code;
    if (t1_read_values(json_object_get(json, "Values"), &values, err) < 0)
        return rp_wrap(err, "%.60s: Values", name);
    return rp_space_add_parameter(space, name, values.list, values.count, err);
}

/**
 * Adds parameters to space and constraints to rules. The caller enumerates configurations.
 * @return 0; RP_BAD_INPUT; RP_ENVIRONMENT
 */
static int fair_t1_read(const json_t *root, struct rp_space *space, struct rp_rules *rules,
                        struct rp_err *err)
{
    const json_t *of = json_object_get(root, "ConfigurationSpace");
    const json_t *parameters = json_object_get(of, "TuningParameters");
    const json_t *conditions = json_object_get(of, "Conditions");

    for (size_t i = 0; i < json_array_size(parameters); i++)
        if (read_parameter(json_array_get(parameters, i), space, err) < 0)
            return rp_wrap(err, "T1: tuning parameter %zu", i + 1);
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const char *text =
            json_string_value(json_object_get(json_array_get(conditions, i), "Expression"));

        if (!text)
            return rp_fail(err, RP_BAD_INPUT, "T1: condition %zu has no \"Expression\"", i + 1);
        if (rp_rules_constrain(rules, space, text, err) < 0)
            return rp_wrap(err, "T1: condition %zu \"%.80s\"", i + 1, text);
    }
    return 0;
}

/* --- writing: expressions --------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!is_name_char(text[i]))
            return false;
    return bytes > 0 && !isdigit((unsigned char)*text);
}

static int put_name(const char *name, size_t bytes, struct rp_buf *to, struct rp_err *err)
{
    if (!is_name(name, bytes))
        return rp_fail(err, RP_BAD_INPUT,
                       "parameter %.*s is no name that T1 can have in a condition",
                       bytes > 60 ? 60 : (int)bytes, name);
    rp_buf_add(to, name, bytes);
    return 0;
}

/** Converts one token that Python writes in another way.
 * @return its length; 0: it is none; < 0 */
static long put_other(const char *at, struct rp_buf *to, struct rp_err *err)
{
    static const struct {
        const char *ours, *python;
    } words[] = {{"true", "True"}, {"false", "False"}};
    size_t bytes = 0;

    if (strncmp(at, "&&", 2) == 0 || strncmp(at, "||", 2) == 0) {
        rp_buf_puts(to, *at == '&' ? " and " : " or ");
        return 2;
    }
    if (*at == '!' && at[1] != '=')
        return rp_fail(err, RP_BAD_INPUT, "T1 does not know !: write not");
    if (*at == '{') {
        bytes = strcspn(at, "}");
        return put_name(at + 1, bytes - 1, to, err) < 0 ? -(long)err->code : (long)bytes + 1;
    }
    while (is_name_char(at[bytes]))
        bytes++;
    for (size_t i = 0; i < 2; i++)
        if (bytes == strlen(words[i].ours) && memcmp(at, words[i].ours, bytes) == 0) {
            rp_buf_puts(to, words[i].python);
            return (long)bytes;
        }
    rp_buf_add(to, at, bytes);
    return (long)bytes;
}

/** The expression has been parsed before, so texts and braces are closed. */
static int put_expression(const char *at, struct rp_buf *to, struct rp_err *err)
{
    while (*at) {
        long bytes = put_other(at, to, err);

        if (bytes < 0)
            return (int)bytes;
        if (bytes == 0 && (*at == '\'' || *at == '"')) {
            const char quote = *at;

            for (bytes = 1; at[bytes] != quote; bytes++)
                bytes += at[bytes] == '\\';
            rp_buf_add(to, at, (size_t)++bytes);
        } else if (bytes == 0) {
            rp_buf_puts(to, strchr("\t\r\n", *at) ? " " : (char[]){*at, '\0'});
            bytes = 1;
        }
        at += bytes;
    }
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/** Returns int, float, bool or string. NULL stands for several kinds that T1 has no type for. */
static const char *type_of(const struct rp_parameter *parameter)
{
    size_t of_kind[4] = {0};

    for (size_t i = 0; i < parameter->count; i++)
        of_kind[parameter->values[i].kind]++;
    if (of_kind[RP_VALUE_INTEGER] == parameter->count)
        return "int";
    if (of_kind[RP_VALUE_INTEGER] + of_kind[RP_VALUE_REAL] == parameter->count)
        return "float";
    if (of_kind[RP_VALUE_BOOLEAN] == parameter->count)
        return "bool";
    return of_kind[RP_VALUE_TEXT] == parameter->count ? "string" : NULL;
}

static json_t *parameter_json(const struct rp_parameter *parameter, struct rp_err *err)
{
    const char *type = type_of(parameter);
    rp_autobuf values = {0};
    json_t *json;

    if (!type) {
        rp_fail(err, RP_BAD_INPUT,
                "T1 has no type for the values of parameter %.60s: they are of "
                "several kinds",
                parameter->name);
        return NULL;
    }
    for (size_t i = 0; i < parameter->count; i++) {
        rp_buf_puts(&values, i ? ", " : "[");
        if (!value_python(&parameter->values[i], &values)) {
            rp_fail(err, RP_BAD_INPUT, "parameter %.60s: a control character in a value",
                    parameter->name);
            return NULL;
        }
    }
    rp_buf_puts(&values, "]");
    json = json_pack("{s:s,s:s,s:s}", "Name", parameter->name, "Type", type, "Values",
                     rp_buf_text(&values));
    if (!json)
        rp_fail(err, RP_BAD_INPUT, "T1: the parameter %s is not UTF-8", parameter->name);
    return json;
}

static int add_condition(json_t *conditions, const char *text, const struct rp_space *space,
                         struct rp_err *err)
{
    struct rp_expression *expression;
    json_t *names = json_array();
    bool whole = names != NULL;

    if (rp_expression_parse(text, space, &expression, err) < 0) {
        json_decref(names);
        return rp_wrap(err, "T1: \"%.80s\"", text);
    }
    for (size_t i = 0; whole && i < expression->parameter_count; i++)
        whole = json_array_append_new(
                    names, json_string(space->parameters[expression->parameters[i]].name)) == 0;
    rp_expression_free(expression);
    if (json_array_append_new(
            conditions, json_pack("{s:s,s:o}", "Expression", text, "Parameters", names)) < 0 ||
        !whole)
        return rp_fail(err, RP_BAD_INPUT, "T1: a text that is not UTF-8");
    return 0;
}

/** Where the condition does not hold, the parameter has its other value. Where it holds, the
 * parameter has one of its own values, which may be no value. */
static int add_when(json_t *conditions, const struct rp_space *space,
                    const struct rp_space_condition *condition, size_t number, struct rp_err *err)
{
    const struct rp_parameter *parameter = &space->parameters[number];
    rp_autobuf when = {0}, otherwise = {0}, text = {0};
    int rc;

    if (condition->otherwise == RP_NO_VALUE)
        return rp_fail(err, RP_BAD_INPUT,
                       "T1 has no parameters without a value: give %.60s an \"else\"",
                       parameter->name);
    rp_buf_puts(&when, "(");
    if ((rc = put_expression(condition->when->text, &when, err)) < 0)
        return rc;
    rp_buf_puts(&when, ")");
    if (!value_python(&parameter->values[condition->otherwise], &otherwise))
        return rp_fail(err, RP_BAD_INPUT, "parameter %.60s: a control character in a value",
                       parameter->name);
    if ((rc = put_name(parameter->name, strlen(parameter->name), &text, err)) < 0)
        return rc;
    rp_buf_printf(&text, " == %s or %s", rp_buf_text(&otherwise), rp_buf_text(&when));
    if ((rc = add_condition(conditions, rp_buf_text(&text), space, err)) < 0 ||
        condition->otherwise < condition->own)
        return rc;
    text.len = 0;
    rp_buf_printf(&text, "%s != %s or not %s", parameter->name, rp_buf_text(&otherwise),
                  rp_buf_text(&when));
    return add_condition(conditions, rp_buf_text(&text), space, err);
}

static int add_conditions(json_t *conditions, const struct rp_space *space,
                          const struct rp_rules *rules, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < space->parameter_count; i++)
        if (rules->conditions[i].when)
            rc = add_when(conditions, space, &rules->conditions[i], i, err);
    for (size_t i = 0; rc == 0 && i < rules->constraint_count; i++) {
        rp_autobuf text = {0};

        rc = put_expression(rules->constraints[i]->text, &text, err);
        if (rc == 0)
            rc = add_condition(conditions, rp_buf_text(&text), space, err);
    }
    return rc;
}

/** Fills in what the schema demands beside the space. It has no HIP. */
static json_t *kernel_json(const char *name)
{
    return json_pack("{s:s,s:o,s:s,s:{s:s},s:{s:s}}", "Language", "CUDA", "KernelName",
                     rp_journal_string(name, strlen(name)), "KernelFile", "", "GlobalSize", "X",
                     "1", "LocalSize", "X", "1");
}

static int build(const struct rp_space *space, const struct rp_rules *rules, const char *name,
                 json_t **ret, struct rp_err *err)
{
    json_t *parameters = json_array(), *conditions = json_array();
    rp_autojson root = json_pack("{s:{s:i},s:{s:o,s:o},s:o}", "General", "FormatVersion", 1,
                                 "ConfigurationSpace", "TuningParameters", parameters, "Conditions",
                                 conditions, "KernelSpecification", kernel_json(name));
    int rc;

    if (!root)
        return rp_fail(err, RP_BAD_INPUT, "T1: a text that is not UTF-8");
    for (size_t i = 0; i < space->parameter_count; i++) {
        json_t *parameter = parameter_json(&space->parameters[i], err);

        if (!parameter)
            return -(int)err->code;
        if (json_array_append_new(parameters, parameter) < 0)
            return rp_fail(err, RP_BAD_INPUT, "T1: a text that is not UTF-8");
    }
    if ((rc = add_conditions(conditions, space, rules, err)) < 0)
        return rc;
    *ret = root;
    root = NULL;
    return 0;
}

/* --- is it the same --------------------------------------------------------------------------- */

/** Reads the export back to check it. Lists of configurations may be no full product; and a
 * condition that cannot be computed is not met, while a constraint does not hold then. */
static int check(const json_t *root, const struct rp_space *space, struct rp_err *err)
{
    rp_cleanup(free_space) struct rp_space *again = rp_space_new();
    rp_cleanup(rp_rules_free) struct rp_rules rules = {0};
    int rc;

    if ((rc = fair_t1_read(root, again, &rules, err)) < 0 ||
        (rc = rp_enumerate(&rules, again, NULL, NULL, err)) < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < space->count; i++)
        if (rp_space_find(again, rp_space_row(space, i)) < 0)
            rc = -1;
    if (rc < 0 || again->count != space->count)
        return rp_fail(
            err, RP_BAD_INPUT,
            "T1 cannot say which %zu of the %zu combinations are allowed: give parameters "
            "and constraints instead of a list",
            space->count, again->count);
    return 0;
}

int rp_fair_t1_text(const struct rp_space *space, const struct rp_rules *rules, const char *name,
                    char **ret, struct rp_err *err)
{
    rp_autojson root = NULL;
    char *text;

    if (build(space, rules, name, &root, err) < 0 || check(root, space, err) < 0)
        return -(int)err->code;
    text = json_dumps(root, JSON_INDENT(1));
    *ret = text;
    return 0;
}

/* --- lists of configurations ------------------------------------------------------------------ */

static int check_config(const json_t *config, const json_t *first, struct rp_err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(config))
        return rp_fail(err, RP_BAD_INPUT, "not an object like {\"BLOCK\": 16}");
    json_object_foreach(
        (json_t *)first, name,
        value) if (!json_object_get(config,
                                    name)) return rp_fail(err, RP_BAD_INPUT,
                                                          "parameter %.60s is missing (null says "
                                                          "that it has no value)",
                                                          name);
    json_object_foreach((json_t *)config, name, value) if (
        !json_object_get(first, name)) return rp_fail(err, RP_BAD_INPUT,
                                                      "parameter %.60s is not in configuration 1",
                                                      name);
    return 0;
}

static int read_list(const json_t *configs, struct rp_space *space, struct rp_err *err)
{
    const json_t *first = json_array_get(configs, 0);
    const char *name;
    json_t *value;

    if (!first)
        return rp_fail(err, RP_BAD_INPUT, "the list of configurations is empty");
    for (size_t i = 0; i < json_array_size(configs); i++)
        if (check_config(json_array_get(configs, i), first, err) < 0)
            return rp_wrap(err, "configuration %zu", i + 1);
    if (json_object_size(first) == 0)
        return rp_fail(err, RP_BAD_INPUT, "configuration 1 has no parameter");
    json_object_foreach((json_t *)first, name,
                        value) if (rp_space_check_name(name, err) < 0 ||
                                   rp_json_add_parameter(space, name, configs, err) <
                                       0) return -(int)err->code;
    for (size_t i = 0; i < json_array_size(configs); i++) {
        int rc = rp_json_add_config(space, json_array_get(configs, i), err);

        if (rc > 0)
            return rp_fail(err, RP_BAD_INPUT, "configuration %zu: the same as one before it",
                           i + 1);
        if (rc < 0)
            return rp_wrap(err, "configuration %zu", i + 1);
    }
    return 0;
}

/* --- the values of a parameter ---------------------------------------------------------------- */

/** Owned texts belong to the JSON. */
struct values {
    struct rp_value list[RP_MAX_PARAMETER_VALUES + 1]; /**< and "else" */
    size_t count;
};

static int too_many(double count, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "%.15g values; at most %d are possible", count,
                   RP_MAX_PARAMETER_VALUES);
}

static int read_values(const json_t *list, struct values *to, struct rp_err *err)
{
    if (!json_is_array(list) || json_array_size(list) == 0)
        return rp_fail(err, RP_BAD_INPUT, "not a list of values like [16, 32]");
    if (json_array_size(list) > RP_MAX_PARAMETER_VALUES)
        return too_many((double)json_array_size(list), err);
    for (; to->count < json_array_size(list); to->count++)
        if (!rp_json_value(json_array_get(list, to->count), &to->list[to->count]))
            return rp_fail(err, RP_BAD_INPUT,
                           "value %zu is neither a number, a text, true nor false", to->count + 1);
    return 0;
}

static int range_of_integers(int64_t from, int64_t to, int64_t step, struct values *ret,
                             struct rp_err *err)
{
    const double count = floor(((double)to - (double)from) / (double)step) + 1;

    if (count > RP_MAX_PARAMETER_VALUES)
        return too_many(count, err);
    for (int64_t at = from; step > 0 ? at <= to : at >= to;) {
        ret->list[ret->count++] = (struct rp_value){.kind = RP_VALUE_INTEGER, .integer = at};
        if (__builtin_add_overflow(at, step, &at) || ret->count > RP_MAX_PARAMETER_VALUES)
            break;
    }
    return 0;
}

/** 0.1 + 2 * 0.1 must be 0.3: digits beyond the 12th are the error of the addition. */
static double rounded(double real)
{
    char text[40];

    snprintf(text, sizeof text, "%.12g", real);
    return strtod(text, NULL);
}

static int range_of_reals(double from, double to, double step, struct values *ret,
                          struct rp_err *err)
{
    const double count = floor((to - from) / step + 1e-9) + 1;

    if (!(count <= RP_MAX_PARAMETER_VALUES))
        return too_many(count, err);
    for (; (double)ret->count < count; ret->count++)
        ret->list[ret->count] = (struct rp_value){
            .kind = RP_VALUE_REAL, .real = rounded(from + (double)ret->count * step)};
    return 0;
}

/** Reads [from, to] or [from, to, step]. */
static int read_range(const json_t *list, struct values *to, struct rp_err *err)
{
    const size_t count = json_array_size(list);
    json_int_t whole[3] = {0, 0, 1};
    double real[3] = {0, 0, 1};
    bool reals = false;
    int rc;

    for (size_t i = 0; i < count && i < 3; i++) {
        const json_t *item = json_array_get(list, i);

        if (!json_is_number(item))
            return rp_fail(err, RP_BAD_INPUT, "range: item %zu is not a number", i + 1);
        reals = reals || json_is_real(item);
        whole[i] = json_integer_value(item);
        real[i] = json_number_value(item);
    }
    if (count < 2 || count > 3)
        return rp_fail(err, RP_BAD_INPUT, "range: not [from, to] or [from, to, step]");
    if (real[2] == 0)
        return rp_fail(err, RP_BAD_INPUT, "range: its step is 0");
    rc = reals ? range_of_reals(real[0], real[1], real[2], to, err)
               : range_of_integers(whole[0], whole[1], whole[2], to, err);
    if (rc == 0 && to->count == 0)
        return rp_fail(err, RP_BAD_INPUT, "range: no value from %g to %g by steps of %g", real[0],
                       real[1], real[2]);
    return rc < 0 ? rp_wrap(err, "range") : 0;
}

static int read_powers(const json_t *list, struct values *to, struct rp_err *err)
{
    const json_int_t from = json_integer_value(json_array_get(list, 0));
    const json_int_t last = json_integer_value(json_array_get(list, 1));

    if (json_array_size(list) != 2 || from < 1 || last < from || (from & (from - 1)) != 0)
        return rp_fail(
            err, RP_BAD_INPUT,
            "powers_of_two: not [from, to] with a power of two and an integer from it on");
    for (json_int_t power = from;; power *= 2) {
        to->list[to->count++] = (struct rp_value){.kind = RP_VALUE_INTEGER, .integer = power};
        if (power > last / 2)
            return 0;
    }
}

/* --- parameters and constraints --------------------------------------------------------------- */

static int check_keys(const json_t *object, const char *const *known, struct rp_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        rp_autobuf names = {0};
        size_t i = 0;

        for (; known[i] && strcmp(known[i], key) != 0; i++)
            rp_buf_printf(&names, "%s%s", i ? ", " : "", known[i]);
        if (!known[i])
            return rp_fail(err, RP_BAD_INPUT, "key %.60s is not known; there are %s", key,
                           rp_buf_text(&names));
    }
    return 0;
}

/** Reads the values that an object of a parameter names in one way or another. */
static int read_object(const json_t *object, struct values *to, struct rp_err *err)
{
    static const char *const known[] = {"values", "range", "powers_of_two", "when", "else", NULL};
    int (*const read[])(const json_t *, struct values *,
                        struct rp_err *) = {read_values, read_range, read_powers};
    int way = -1;

    if (check_keys(object, known, err) < 0)
        return -(int)err->code;
    for (int i = 0; i < 3; i++)
        if (json_object_get(object, known[i])) {
            if (way >= 0)
                return rp_fail(err, RP_BAD_INPUT, "both %s and %s", known[way], known[i]);
            way = i;
        }
    if (way < 0)
        return rp_fail(err, RP_BAD_INPUT, "neither values, range nor powers_of_two");
    return read[way](json_object_get(object, known[way]), to, err);
}

/** "else" becomes one more value if it is none of the others. */
static int read_otherwise(const json_t *object, struct values *values,
                          struct rp_space_condition *condition, struct rp_err *err)
{
    const json_t *json = json_object_get(object, "else");
    struct rp_parameter own = {.values = values->list, .count = values->count};
    struct rp_value value;
    int number;

    condition->own = (uint16_t)values->count;
    condition->otherwise = RP_NO_VALUE;
    if (!json || json_is_null(json))
        return 0;
    if (!json_object_get(object, "when"))
        return rp_fail(err, RP_BAD_INPUT, "else without when");
    if (!rp_json_value(json, &value))
        return rp_fail(err, RP_BAD_INPUT, "else is neither a number, a text, true nor false");
    if ((number = rp_parameter_value(&own, &value)) < 0) {
        number = (int)values->count;
        values->list[values->count++] = value;
    }
    condition->otherwise = (uint16_t)number;
    return 0;
}

static int add_parameter(struct rp_space *space, struct rp_rules *rules, const char *name,
                         const json_t *json, struct rp_err *err)
{
    rp_autofree struct values *values = rp_alloc_zero(1, sizeof *values);
    struct rp_space_condition condition = {0};
    int rc;

    if ((rc = rp_space_check_name(name, err)) < 0)
        return rc;
    rc = json_is_object(json) ? read_object(json, values, err) : read_values(json, values, err);
    if (rc == 0 && json_is_object(json))
        rc = read_otherwise(json, values, &condition, err);
    if (rc < 0)
        return rp_wrap(err, "parameter %.60s", name);
    if ((rc = rp_space_add_parameter(space, name, values->list, values->count, err)) == 0)
        rules->conditions[space->parameter_count - 1] = condition;
    return rc;
}

/** Conditions are read when all parameters are known. */
static int read_conditions(const json_t *parameters, const struct rp_space *space,
                           struct rp_rules *rules, struct rp_err *err)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const char *name = space->parameters[i].name;
        const json_t *when = json_object_get(json_object_get(parameters, name), "when");
        int rc;

        if (!when)
            continue;
        rc = json_is_string(when) ? rp_expression_parse(json_string_value(when), space,
                                                        &rules->conditions[i].when, err)
                                  : rp_fail(err, RP_BAD_INPUT, "not a text");
        if (rc < 0)
            return rp_wrap(err, "parameter %.60s: when", name);
    }
    return 0;
}

static int read_constraints(const json_t *list, const struct rp_space *space,
                            struct rp_rules *rules, struct rp_err *err)
{
    if (list && !json_is_array(list))
        return rp_fail(err, RP_BAD_INPUT, "\"constraints\" is not a list of texts");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text)
            return rp_fail(err, RP_BAD_INPUT, "constraint %zu is not a text", i + 1);
        if (rp_rules_constrain(rules, space, text, err) < 0)
            return rp_wrap(err, "constraint %zu \"%.80s\"", i + 1, text);
    }
    return 0;
}

static int read_parameters(const json_t *parameters, const json_t *constraints,
                           struct rp_space *space, struct rp_rules *rules, struct rp_err *err)
{
    const char *name;
    json_t *value;
    int rc;

    json_object_foreach((json_t *)parameters, name,
                        value) if ((rc = add_parameter(space, rules, name, value, err)) <
                                   0) return rc;
    if ((rc = read_conditions(parameters, space, rules, err)) < 0)
        return rc;
    return read_constraints(constraints, space, rules, err);
}

/* --- the file --------------------------------------------------------------------------------- */

/** Says whether it is a list of objects. In the form without "parameters" it might be a parameter's
 * values. */
static bool is_list_of_configs(const json_t *json)
{
    return json_is_array(json) &&
           (json_array_size(json) == 0 || json_is_object(json_array_get(json, 0)));
}

/** Reads parameters and rules. */
static int read_rules(const json_t *root, struct rp_space *space, struct rp_rules *rules,
                      struct rp_err *err)
{
    static const char *const known[] = {"parameters",  "constraints", "name",
                                        "description", "$schema",     NULL};
    const json_t *parameters = json_object_get(root, "parameters");

    if (fair_t1_is(root))
        return fair_t1_read(root, space, rules, err);
    if (!json_is_object(parameters) && json_object_get(root, "constraints"))
        return rp_fail(err, RP_BAD_INPUT,
                       "\"constraints\" needs \"parameters\": {\"NAME\": [values]}");
    if (!json_is_object(parameters)) /* The form is {"NAME": [values], ...}. */
        return read_parameters(root, NULL, space, rules, err);
    if (check_keys(root, known, err) < 0)
        return -(int)err->code;
    return read_parameters(parameters, json_object_get(root, "constraints"), space, rules, err);
}

static int read_root(const json_t *root, struct rp_space *space, struct rp_rules *rules,
                     struct rp_buf *notes, const struct rp_enumerate_watch *watch,
                     struct rp_err *err)
{
    static const char *const known[] = {"configurations", "name", "description", "$schema", NULL};
    const json_t *configs = json_object_get(root, "configurations");
    int rc;

    if (json_is_array(root))
        return read_list(root, space, err);
    if (!json_is_object(root))
        return rp_fail(err, RP_BAD_INPUT, "neither a list of configurations nor an object");
    if (is_list_of_configs(configs))
        return check_keys(root, known, err) < 0 ? -(int)err->code : read_list(configs, space, err);
    rc = read_rules(root, space, rules, err);
    return rc < 0 ? rc : rp_enumerate(rules, space, notes, watch, err);
}

/** Does the same as its reader, from text in memory. */
static int space_parse(const char *text, size_t bytes, struct rp_buf *notes,
                       const struct rp_enumerate_watch *watch, struct rp_space **ret,
                       struct rp_rules *ret_rules, struct rp_err *err)
{
    rp_cleanup(rp_rules_free) struct rp_rules rules = {0};
    struct rp_space *space;
    rp_autojson root = NULL;
    int rc = rp_json_space_parse(text, bytes, &root, err);

    if (rc < 0)
        return rc;
    space = rp_space_new();
    if ((rc = read_root(root, space, &rules, notes, watch, err)) < 0) {
        rp_space_free(space);
        return rc;
    }
    *ret = space;
    if (ret_rules) {
        *ret_rules = rules;
        rules = (struct rp_rules){0};
    }
    return 0;
}

/** "kernel.py" and "kernel.py:12" are lists of triton.Config.
 * @return the name of the file, owned by the caller; NULL: it is another file */
static char *python_file(const char *path, unsigned long *ret_line)
{
    const char *colon = strrchr(path, ':');
    const size_t length = strlen(path);
    char *end;

    *ret_line = 0;
    if (length > 3 && strcmp(path + length - 3, ".py") == 0)
        return rp_strdup(path);
    if (!colon || colon - path < 4 || memcmp(colon - 3, ".py", 3) != 0)
        return NULL;
    *ret_line = strtoul(colon + 1, &end, 10);
    return *ret_line && !*end ? rp_strndup(path, (size_t)(colon - path)) : NULL;
}

/* Gives @p to a null for each name that only @p of has. */
static void add_names(json_t *to, const json_t *of)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)of, name, value) if (!json_object_get(to, name))
        json_object_set_new(to, name, json_null());
}

/* Configs of one list need not say the same: what one leaves out has no value there. */
static void fill_configs(json_t *list)
{
    json_t *first = json_array_get(list, 0);
    const json_t *config;
    size_t i;

    json_array_foreach(list, i, config) add_names(first, config);
    json_array_foreach(list, i, config) add_names((json_t *)config, first);
}

static int read_python(const char *file, unsigned long line, struct rp_space **ret,
                       struct rp_err *err)
{
    rp_autobuf text = {0};
    rp_autojson list = NULL;
    struct rp_space *space;
    int rc = rp_json_read_file(file, &text, err);

    if (rc == 0)
        rc = rp_triton_parse(rp_buf_text(&text), text.len, line, &list, err);
    if (rc < 0)
        return rc;
    fill_configs(list);
    space = rp_space_new();
    if ((rc = read_list(list, space, err)) < 0)
        rp_space_free(space);
    else
        *ret = space;
    return rc;
}

int rp_space_read(const char *path, struct rp_buf *notes, const struct rp_enumerate_watch *watch,
                  struct rp_space **ret, struct rp_rules *ret_rules, struct rp_err *err)
{
    rp_autobuf text = {0};
    unsigned long line;
    rp_autofree char *python = python_file(path, &line);

    if (python)
        return read_python(python, line, ret, err) < 0 ? rp_wrap(err, "search space %s", path) : 0;
    if (rp_json_read_file(path, &text, err) < 0 ||
        space_parse(rp_buf_text(&text), text.len, notes, watch, ret, ret_rules, err) < 0)
        return rp_wrap(err, "search space %s", path);
    return 0;
}
