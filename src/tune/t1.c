#include "tune/t1.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "tune/enumerate.h"
#include "tune/json_space.h"
#include "tune/space.h"
#include "tune/values_text.h"

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory for T1");
}

bool rp_is_t1(const json_t *root)
{
    return json_is_object(json_object_get(root, "ConfigurationSpace"));
}

/* --- reading --------------------------------------------------------------------------------- */

/** "Values": a text as Python writes lists, or, which is not in the schema, a list. */
static int read_values(const json_t *json, struct rp_value_list *ret, struct rp_err *err)
{
    rp_autobuf text = {0};

    if (json_is_string(json))
        return rp_values_parse(json_string_value(json), ret, err);
    rp_buf_puts(&text, "[");
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct rp_value value;

        if (!rp_json_value(json_array_get(json, i), &value) || !rp_value_python(&value, &text))
            return rp_fail(err, RP_BAD_INPUT, "value %zu is neither a number nor a text", i + 1);
        rp_buf_puts(&text, ",");
    }
    rp_buf_puts(&text, "]");
    return rp_values_parse(rp_buf_text(&text), ret, err);
}

static int read_parameter(const json_t *json, struct rp_space *space, struct rp_err *err)
{
    rp_cleanup(rp_value_list_free) struct rp_value_list values = {0};
    const char *name = json_string_value(json_object_get(json, "Name"));

    if (!name)
        return rp_fail(err, RP_BAD_INPUT, "it has no \"Name\"");
    if (rp_space_check_name(name, err) < 0)
        return -(int)err->code;
    if (read_values(json_object_get(json, "Values"), &values, err) < 0)
        return rp_wrap(err, "%.60s: Values", name);
    return rp_space_add_parameter(space, name, values.list, values.count, err);
}

int rp_t1_read(const json_t *root, struct rp_space *space, struct rp_rules *rules,
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

/* --- writing: expressions -------------------------------------------------------------------- */

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

/** One token, which Python writes in another way. @return its length; 0: it is none; < 0 */
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

/** The expression has been parsed, so texts and braces are closed. */
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

/* --- writing --------------------------------------------------------------------------------- */

/** int, float, bool or string; NULL: several kinds that T1 has no type for. */
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
        if (!rp_value_python(&parameter->values[i], &values)) {
            rp_fail(err, RP_BAD_INPUT, "parameter %.60s: a control character in a value",
                    parameter->name);
            return NULL;
        }
    }
    rp_buf_puts(&values, "]");
    json = json_pack("{s:s,s:s,s:s}", "Name", parameter->name, "Type", type, "Values",
                     rp_buf_text(&values));
    if (!json)
        out_of_memory(err);
    return json;
}

static int add_condition(json_t *conditions, const char *text, const struct rp_space *space,
                         struct rp_err *err)
{
    struct rp_expression *expression;
    json_t *names = json_array();
    const uint16_t *list;
    bool whole = names != NULL;

    if (rp_expression_parse(text, space, &expression, err) < 0) {
        json_decref(names);
        return rp_wrap(err, "T1: \"%.80s\"", text);
    }
    for (size_t i = 0, count = rp_expression_parameters(expression, &list); whole && i < count; i++)
        whole = json_array_append_new(names, json_string(space->parameters[list[i]].name)) == 0;
    rp_expression_free(expression);
    if (json_array_append_new(
            conditions, json_pack("{s:s,s:o}", "Expression", text, "Parameters", names)) < 0 ||
        !whole)
        return out_of_memory(err);
    return 0;
}

/** Where the condition does not hold, the parameter has its other value; where it does, one of its
 *  own, of which that may be none. */
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
    if ((rc = put_expression(rp_expression_text(condition->when), &when, err)) < 0)
        return rc;
    rp_buf_puts(&when, ")");
    if (!rp_value_python(&parameter->values[condition->otherwise], &otherwise))
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

        rc = put_expression(rp_expression_text(rules->constraints[i]), &text, err);
        if (rc == 0)
            rc = add_condition(conditions, rp_buf_text(&text), space, err);
    }
    return rc;
}

/** What the schema asks for beside the space. It has no HIP. */
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
        return out_of_memory(err);
    for (size_t i = 0; i < space->parameter_count; i++) {
        json_t *parameter = parameter_json(&space->parameters[i], err);

        if (!parameter)
            return -(int)err->code;
        if (json_array_append_new(parameters, parameter) < 0)
            return out_of_memory(err);
    }
    if ((rc = add_conditions(conditions, space, rules, err)) < 0)
        return rc;
    *ret = root;
    root = NULL;
    return 0;
}

/* --- is it the same -------------------------------------------------------------------------- */

static void free_space(struct rp_space **space)
{
    rp_space_free(*space);
}

/** Reads it back. Lists of configurations may be no full product, and a condition that cannot be
 *  computed is not met, while a constraint does not hold then. */
static int check(const json_t *root, const struct rp_space *space, struct rp_err *err)
{
    rp_cleanup(free_space) struct rp_space *again = rp_space_new();
    rp_cleanup(rp_rules_free) struct rp_rules rules = {0};
    int rc;

    if (!again)
        return out_of_memory(err);
    if ((rc = rp_t1_read(root, again, &rules, err)) < 0 ||
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

int rp_t1_text(const struct rp_space *space, const struct rp_rules *rules, const char *name,
               char **ret, struct rp_err *err)
{
    rp_autojson root = NULL;
    char *text;

    if (build(space, rules, name, &root, err) < 0 || check(root, space, err) < 0)
        return -(int)err->code;
    if (!(text = json_dumps(root, JSON_INDENT(1))))
        return out_of_memory(err);
    *ret = text;
    return 0;
}
