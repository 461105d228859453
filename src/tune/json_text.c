#include "tune/json_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory for a line of JSON");
}

/* --- writing -------------------------------------------------------------------------------- */

json_t *rp_json_of_text(const char *text)
{
    json_t *string = json_string(text); /* NULL for what is not UTF-8 */
    rp_autobuf digits = {0};

    if (string)
        return string;
    for (const char *c = text; *c; c++)
        rp_buf_printf(&digits, "%02x", (unsigned char)*c);
    return digits.failed ? NULL : json_pack("{s:s}", "base16", rp_buf_text(&digits));
}

json_t *rp_json_of_words(char *const *words)
{
    json_t *list = json_array();

    for (; list && *words; words++)
        if (json_array_append_new(list, rp_json_of_text(*words)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *rp_json_of_variables(const struct rp_env_change *variables)
{
    json_t *list = json_array();

    for (; list && variables && variables->name; variables++) {
        json_t *value = variables->value ? rp_json_of_text(variables->value) : json_null();
        json_t *pair = json_pack("[o, o]", rp_json_of_text(variables->name), value);

        if (json_array_append_new(list, pair) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

int rp_json_write_line(json_t *value, struct rp_buf *to, struct rp_err *err)
{
    rp_autofree char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

    json_decref(value);
    if (!text)
        return out_of_memory(err);
    rp_buf_puts(to, text);
    rp_buf_puts(to, "\n");
    return to->failed ? out_of_memory(err) : 0;
}

/* --- reading -------------------------------------------------------------------------------- */

json_t *rp_json_read_line(const char *line, size_t bytes, struct rp_err *err)
{
    json_error_t why;
    json_t *value = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &why);

    if (json_is_object(value))
        return value;
    if (value)
        rp_fail(err, RP_BAD_INPUT, "the line is not a JSON object");
    else
        rp_fail(err, RP_BAD_INPUT, "the line is not JSON: column %d: %.200s", why.column, why.text);
    json_decref(value);
    return NULL;
}

static int fail_member(struct rp_err *err, const char *key, const char *wanted)
{
    return rp_fail(err, RP_BAD_INPUT, "\"%s\" is not %s", key, wanted);
}

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/** @return owned; NULL: it is no text, or out of memory */
static char *text_of(const json_t *value)
{
    const char *digits = json_string_value(json_object_get(value, "base16"));
    const size_t bytes = digits ? strlen(digits) / 2 : 0;
    rp_autofree char *text = NULL;

    if (json_is_string(value))
        return strdup(json_string_value(value));
    if (!digits || strlen(digits) % 2 || !(text = calloc(bytes + 1, 1)))
        return NULL;
    for (size_t i = 0; i < bytes; i++) {
        const int high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);

        if (high < 0 || low < 0 || high + low == 0)
            return NULL;
        text[i] = (char)(16 * high + low);
    }
    return rp_steal(text);
}

int rp_json_take_text(const json_t *object, const char *key, bool needed, char **ret,
                      struct rp_err *err)
{
    const json_t *value = json_object_get(object, key);
    char *text;

    if (!needed && (!value || json_is_null(value))) {
        *ret = NULL;
        return 0;
    }
    text = text_of(value);
    if (!text)
        return fail_member(err, key, "a text");
    *ret = text;
    return 0;
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

int rp_json_take_words(const json_t *object, const char *key, bool needed, char ***ret,
                       struct rp_err *err)
{
    const json_t *list = json_object_get(object, key);
    const size_t count = json_array_size(list);
    char **words;

    if (!needed && (!list || json_is_null(list))) {
        *ret = NULL;
        return 0;
    }
    if (count == 0)
        return fail_member(err, key, "a list of words");
    if (!(words = calloc(count + 1, sizeof *words)))
        return out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!(words[i] = text_of(json_array_get(list, i)))) {
            free_words(words);
            return fail_member(err, key, "a list of words");
        }
    *ret = words;
    return 0;
}

static void free_variables(struct rp_env_change *variables)
{
    for (size_t i = 0; variables[i].name; i++) {
        free((char *)variables[i].name);
        free((char *)variables[i].value);
    }
    free(variables);
}

static bool take_variable(const json_t *pair, struct rp_env_change *to)
{
    const json_t *value = json_array_get(pair, 1);

    if (json_array_size(pair) != 2 || !(to->name = text_of(json_array_get(pair, 0))))
        return false;
    if (!*to->name || strchr(to->name, '='))
        return false;
    return json_is_null(value) || (to->value = text_of(value)) != NULL;
}

int rp_json_take_variables(const json_t *object, const char *key, struct rp_env_change **ret,
                           struct rp_err *err)
{
    const json_t *list = json_object_get(object, key);
    const size_t count = json_array_size(list);
    struct rp_env_change *variables;

    if (!list || json_is_null(list)) {
        *ret = NULL;
        return 0;
    }
    if (!json_is_array(list))
        return fail_member(err, key, "a list of variables");
    if (!(variables = calloc(count + 1, sizeof *variables)))
        return out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!take_variable(json_array_get(list, i), &variables[i])) {
            free_variables(variables);
            return fail_member(err, key, "a list of variables");
        }
    *ret = variables;
    return 0;
}

int rp_json_take_integer(const json_t *object, const char *key, int64_t least, int64_t most,
                         int64_t *ret, struct rp_err *err)
{
    const json_t *value = json_object_get(object, key);
    const int64_t integer = json_integer_value(value);

    if (!json_is_integer(value) || integer < least || integer > most)
        return rp_fail(err, RP_BAD_INPUT,
                       "\"%s\" is not a whole number from %" PRId64 " to %" PRId64, key, least,
                       most);
    *ret = integer;
    return 0;
}

int rp_json_take_bool(const json_t *object, const char *key, bool *ret, struct rp_err *err)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_boolean(value))
        return fail_member(err, key, "true or false");
    *ret = json_is_true(value);
    return 0;
}
