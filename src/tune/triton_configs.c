#include "tune/bridge.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "tune/space.h"

/* --- Python as text --------------------------------------------------------------------------- */

struct python {
    const char *at, *end;
    const char *counted; /**< so far lines were counted */
    unsigned long line;  /**< of that place */
    struct rp_err *err;
};

static unsigned long line_of(struct python *p)
{
    for (; p->counted < p->at; p->counted++)
        p->line += *p->counted == '\n';
    return p->line;
}

static int refuse(struct python *p, const char *what)
{
    return rp_fail(p->err, RP_BAD_INPUT,
                   "line %lu: %s; write it out, or give the space as JSON "
                   "(docs/format/search-space.md)",
                   line_of(p), what);
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/** Steps over a string that begins at at, of one quote or three. */
static void pass_string(struct python *p)
{
    const char quote = *p->at;
    const bool three = p->end - p->at >= 3 && p->at[1] == quote && p->at[2] == quote;

    for (p->at += three ? 3 : 1; p->at < p->end; p->at++) {
        if (*p->at == '\\' && p->end - p->at > 1)
            p->at++;
        else if (!three && (*p->at == quote || *p->at == '\n'))
            break;
        else if (three && p->end - p->at >= 3 && *p->at == quote && p->at[1] == quote &&
                 p->at[2] == quote) {
            p->at += 2;
            break;
        }
    }
    p->at += p->at < p->end;
}

static void pass_space(struct python *p)
{
    while (p->at < p->end) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        else if (isspace((unsigned char)*p->at) || *p->at == '\\')
            p->at++;
        else
            break;
    }
}

static bool take(struct python *p, char c)
{
    pass_space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

/** @return owned by the caller; NULL: none is here */
static char *take_name(struct python *p)
{
    const char *from;

    pass_space(p);
    from = p->at;
    if (p->at == p->end || !is_name(*from) || isdigit((unsigned char)*from))
        return NULL;
    while (p->at < p->end && is_name(*p->at))
        p->at++;
    return rp_strndup(from, (size_t)(p->at - from));
}

/** Takes a string without prefixes; escapes other than of quotes and backslashes are refused. */
static int take_string(struct python *p, char **ret)
{
    rp_autobuf text = {0};
    const char quote = *p->at++;

    for (; p->at < p->end && *p->at != quote && *p->at != '\n'; p->at++) {
        if (*p->at == '\\' && (p->end - p->at < 2 || !strchr("'\"\\", p->at[1]) || !p->at[1]))
            return refuse(p, "an escape in a string");
        p->at += *p->at == '\\';
        rp_buf_add(&text, p->at, 1);
    }
    if (p->at == p->end || *p->at != quote)
        return refuse(p, "a string that does not end in its line");
    p->at++;
    *ret = rp_strdup(rp_buf_text(&text));
    return strlen(*ret) == text.len ? 0 : refuse(p, "a string with a zero byte");
}

static int take_number(struct python *p, json_t **ret)
{
    char word[64];
    size_t length = 0;
    char *end;
    double real;
    long long whole;

    while (p->at + length < p->end && length < sizeof word - 1 &&
           (is_name(p->at[length]) || strchr("+-.", p->at[length])))
        length++;
    memcpy(word, p->at, length);
    word[length] = 0;
    whole = strtoll(word, &end, 10);
    if (end != word && !*end && (whole < 1LL << 62 && whole > -(1LL << 62))) {
        *ret = json_integer(whole);
    } else {
        real = strtod(word, &end);
        if (end == word || *end || !isfinite(real) || strpbrk(word, "xXnN"))
            return refuse(p, "a value that is neither a number, a string, True, False nor None");
        *ret = json_real(real);
    }
    p->at += length;
    return 0;
}

/** @param ret NULL: None */
static int take_value(struct python *p, json_t **ret)
{
    rp_autofree char *text = NULL;
    int rc;

    pass_space(p);
    *ret = NULL;
    if (p->at < p->end && (*p->at == '\'' || *p->at == '"')) {
        if ((rc = take_string(p, &text)) < 0)
            return rc;
        *ret = json_string(text);
        return *ret ? 0 : refuse(p, "a string that is not UTF-8");
    }
    if (p->at < p->end && isalpha((unsigned char)*p->at)) {
        text = take_name(p);
        if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
            *ret = json_boolean(text[0] == 'T');
        else if (strcmp(text, "None") != 0)
            return refuse(p, "a value that is a name or a call");
        return 0;
    }
    return take_number(p, ret);
}

/** Steps over an expression to the comma or bracket behind it. */
static void pass_expression(struct python *p)
{
    int depth = 0;

    for (pass_space(p); p->at < p->end; pass_space(p)) {
        if (*p->at == '\'' || *p->at == '"') {
            pass_string(p);
            continue;
        }
        if (depth == 0 && strchr(",)]}", *p->at))
            return;
        depth += strchr("([{", *p->at) != NULL;
        depth -= strchr(")]}", *p->at) != NULL;
        p->at++;
    }
}

/* --- triton.Config ---------------------------------------------------------------------------- */

static int set(struct python *p, json_t *config, const char *name, json_t *value)
{
    if (!value) /* None says nothing. */
        return 0;
    if (json_object_get(config, name)) {
        json_decref(value);
        return refuse(p, "the same name twice in one Config");
    }
    json_object_set_new(config, name, value);
    return 0;
}

/** Takes what is behind "{" up to "}", or behind "dict(" up to ")". */
static int take_entries(struct python *p, bool brace, json_t *config)
{
    int rc = 0;

    while (rc == 0 && !take(p, brace ? '}' : ')')) {
        rp_autofree char *name = NULL;
        json_t *value;

        if (brace && p->at < p->end && (*p->at == '\'' || *p->at == '"'))
            rc = take_string(p, &name);
        else if (!brace)
            name = take_name(p);
        if (rc == 0 && !name)
            rc = refuse(p, "a name of a parameter that is no string");
        if (rc == 0 && !take(p, brace ? ':' : '='))
            rc = refuse(p, "a name without a value");
        if (rc == 0 && (rc = take_value(p, &value)) == 0)
            rc = set(p, config, name, value);
        pass_space(p);
        if (rc == 0 && !take(p, ',') && (p->at == p->end || *p->at != (brace ? '}' : ')')))
            rc = refuse(p, "a value that is an expression");
    }
    return rc;
}

static bool begins_dict(struct python *p, bool *ret_brace)
{
    pass_space(p);
    *ret_brace = p->at < p->end && *p->at == '{';
    if (*ret_brace)
        p->at++;
    else if (p->end - p->at > 5 && memcmp(p->at, "dict(", 5) == 0)
        p->at += 5;
    else
        return false;
    return true;
}

/** Takes NAME=VALUE. */
static int take_named(struct python *p, const char *name, json_t *config)
{
    json_t *value;
    bool brace;
    int rc;

    if (strcmp(name, "kwargs") == 0)
        return begins_dict(p, &brace) ? take_entries(p, brace, config)
                                      : refuse(p, "kwargs that are no dictionary");
    if (strcmp(name, "pre_hook") == 0 || strcmp(name, "ir_override") == 0) {
        pass_expression(p);
        return 0;
    }
    rc = take_value(p, &value);
    return rc < 0 ? rc : set(p, config, name, value);
}

/** Takes the arguments of Config up to its ")". */
static int take_config(struct python *p, json_t *config)
{
    static const char *const places[] = {"num_warps", "num_stages", "num_ctas", "maxnreg"};
    size_t place = 0;
    int rc = 0;

    for (bool first = true; rc == 0 && !take(p, ')'); first = false) {
        const char *from = p->at;
        rp_autofree char *name = take_name(p);
        json_t *value;
        bool brace;

        if (name && take(p, '=')) {
            rc = take_named(p, name, config);
        } else {
            p->at = from;
            if (first)
                rc = begins_dict(p, &brace) ? take_entries(p, brace, config)
                                            : refuse(p, "a Config without a dictionary");
            else if (place == sizeof places / sizeof *places)
                rc = refuse(p, "a Config with too many arguments without names");
            else if ((rc = take_value(p, &value)) == 0)
                rc = set(p, config, places[place++], value);
        }
        pass_space(p);
        if (rc == 0 && !take(p, ',') && (p->at == p->end || *p->at != ')'))
            rc = refuse(p, "an argument of Config that is an expression");
    }
    return rc;
}

/* --- lists ------------------------------------------------------------------------------------ */

/** A list is what is behind one @triton.autotune, up to the next one. */
struct lists {
    json_t *configs, *seen; /**< of the list that is meant; their texts */
    unsigned long at;       /**< line that the user says; 0: none */
    unsigned long begun;    /**< line where the list that is read began; 0: before any */
    bool over;              /**< the list that is meant has ended */
    unsigned long counted;  /**< line of the last list that has a Config, and 1 */
    size_t found;           /**< lists with a Config */
    struct rp_buf where;    /**< lines of all of them */
};

/** Of a line that the user says, the list is meant that begins last before it, or there. */
static void begin_list(struct lists *l, unsigned long line)
{
    l->begun = line;
    if (l->at == 0)
        return;
    l->over = line > l->at;
    if (!l->over) {
        json_array_clear(l->configs);
        json_object_clear(l->seen);
    }
}

static int add_config(struct python *p, struct lists *l)
{
    json_t *config = json_object();
    rp_autofree char *text = NULL;
    int rc = take_config(p, config);

    text = rc == 0 ? json_dumps(config, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    if (rc == 0 && l->counted != l->begun + 1) {
        l->counted = l->begun + 1;
        l->found++;
        rp_buf_printf(&l->where, "%s%lu", l->where.len ? ", " : "",
                      l->begun ? l->begun : line_of(p));
    }
    if (rc == 0 && text && !l->over && !json_object_get(l->seen, text)) {
        json_object_set_new(l->seen, text, json_true());
        json_array_append(l->configs, config);
    }
    json_decref(config);
    return rc;
}

static bool is_call(const struct python *p, const char *word)
{
    const size_t length = strlen(word);
    struct python behind = *p;

    if ((size_t)(p->end - p->at) <= length || memcmp(p->at, word, length) != 0 ||
        is_name(p->at[length]))
        return false;
    behind.at += length;
    return take(&behind, '(');
}

/** Steps over a word, or reads a Config. "class Config(" and "def Config(" make none. */
static int read_word(struct python *p, struct lists *l)
{
    const bool config = is_call(p, "Config"), list = is_call(p, "autotune");
    rp_autofree char *word = NULL;

    if (list)
        begin_list(l, line_of(p));
    word = take_name(p);
    if (config) {
        take(p, '(');
        return add_config(p, l);
    }
    if (strcmp(word, "class") == 0 || strcmp(word, "def") == 0) {
        rp_autofree char *name = take_name(p);
    }
    return 0;
}

static int read_lists(struct python *p, struct lists *l)
{
    int rc = 0;

    for (pass_space(p); rc == 0 && p->at < p->end; pass_space(p)) {
        if (*p->at == '\'' || *p->at == '"')
            pass_string(p);
        else if (is_name(*p->at) && !isdigit((unsigned char)*p->at))
            rc = read_word(p, l);
        else
            p->at++;
    }
    if (rc < 0)
        return rc;
    if (l->found == 0)
        return rp_fail(p->err, RP_BAD_INPUT,
                       "there is no triton.Config(...) in it: a space in Python is a file with "
                       "@triton.autotune(configs=[triton.Config(...), ...], ...)");
    if (l->at == 0 && l->found > 1)
        return rp_fail(p->err, RP_BAD_INPUT,
                       "it has %zu lists of triton.Config, in lines %s: say which, FILE.py:LINE",
                       l->found, rp_buf_text(&l->where));
    if (json_array_size(l->configs) == 0)
        return rp_fail(p->err, RP_BAD_INPUT,
                       "there is no triton.Config(...) in the list of line %lu: lists begin in "
                       "lines %s",
                       l->at, rp_buf_text(&l->where));
    return 0;
}

int rp_triton_parse(const char *text, size_t bytes, unsigned long at, json_t **ret,
                    struct rp_err *err)
{
    struct python p = {.at = text, .end = text + bytes, .counted = text, .line = 1, .err = err};
    struct lists lists = {.configs = json_array(), .seen = json_object(), .at = at};
    const int rc = read_lists(&p, &lists);

    rp_buf_free(&lists.where);
    json_decref(lists.seen);
    if (rc < 0)
        json_decref(lists.configs);
    else
        *ret = lists.configs;
    return rc;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool is_argument(const char *name)
{
    return strcmp(name, "num_warps") == 0 || strcmp(name, "num_stages") == 0 ||
           strcmp(name, "num_ctas") == 0 || strcmp(name, "maxnreg") == 0;
}

static void put_string(const char *text, struct rp_buf *to)
{
    rp_buf_puts(to, "'");
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            rp_buf_printf(to, "\\x%02x", (unsigned char)*text);
        else
            rp_buf_printf(to, *text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
    rp_buf_puts(to, "'");
}

static void put_value(const struct rp_value *value, struct rp_buf *to)
{
    rp_autobuf text = {0};

    rp_value_text(value, &text);
    if (value->kind == RP_VALUE_TEXT)
        put_string(rp_buf_text(&text), to);
    else if (value->kind == RP_VALUE_BOOLEAN)
        rp_buf_puts(to, value->boolean ? "True" : "False");
    else
        rp_buf_puts(to, rp_buf_text(&text));
}

void rp_triton_put(const struct rp_space *space, size_t config, struct rp_buf *to)
{
    const char *between = "";

    rp_buf_puts(to, "import triton\n\nconfigs = [triton.Config({");
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (!value || is_argument(space->parameters[i].name))
            continue;
        rp_buf_puts(to, between);
        put_string(space->parameters[i].name, to);
        rp_buf_puts(to, ": ");
        put_value(value, to);
        between = ", ";
    }
    rp_buf_puts(to, "}");
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (!value || !is_argument(space->parameters[i].name))
            continue;
        rp_buf_printf(to, ", %s=", space->parameters[i].name);
        put_value(value, to);
    }
    rp_buf_puts(to, ")]\n");
}
