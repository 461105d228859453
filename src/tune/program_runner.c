#include "tune/program_runner.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/vec.h"
#include "experiment/measured_run.h"
#include "run/run_program.h"
#include "tune/space.h"
#include "tune/worker_pool.h"

/* --- the command of a configuration, from a text with {NAME} where values go ------------------ */

/* The text is split into words as a shell does, but by us: a value is a part of one word whatever
 * it is made of, and no shell sees it. With RP_TEMPLATE_SHELL the text is a script for /bin/sh, and
 * values reach it in variables: they are quoted where they are set, and never read as code. */

/** MAX_ARG_STRLEN of Linux is 32 pages, with the zero at the end. */
enum { MOST_ARGUMENT_BYTES = 32 * 4096 - 1 };

/** This limits all words together. Linux gives 128 KiB however small the stack's limit is, and
 * mostly 2 MiB; a part is the environment's. */
enum { MOST_COMMAND_BYTES = 1 << 20 };

/** This stands in the place of a parameter's number for {output}. */
static const size_t OUTPUT = SIZE_MAX;
static const char OUTPUT_NAME[] = "output";
enum { MOST_OUTPUT_BYTES = 4096 };

/** A piece is a text, or a place for a parameter's value. */
struct piece {
    char *text; /**< NULL: a parameter */
    size_t bytes;
    size_t parameter;
};

/** With RP_TEMPLATE_SHELL the only word is the script. */
struct word {
    struct piece *pieces;
    size_t count;
};

struct rp_template {
    unsigned flags;
    struct word *words;
    size_t count;
    bool used[RP_MAX_PARAMETERS];
    bool has_output;
};

struct parser {
    const char *text;
    size_t at;
    const struct rp_space *space;
    struct rp_template *to;
    struct rp_buf literal; /**< text so far, behind the last piece */
    bool in_word;
    struct rp_err *err;
};

static void template_free(struct rp_template *template)
{
    if (!template)
        return;
    for (size_t w = 0; w < template->count; w++) {
        for (size_t i = 0; i < template->words[w].count; i++)
            free(template->words[w].pieces[i].text);
        free(template->words[w].pieces);
    }
    free(template->words);
    free(template);
}

/* --- words and pieces ------------------------------------------------------------------------- */

static void add_piece(struct parser *p, struct piece piece)
{
    struct word *word = &p->to->words[p->to->count - 1];

    *rp_array_add(&word->pieces, &word->count) = piece;
}

/** Makes a piece of the text so far. */
static void flush(struct parser *p)
{
    const size_t bytes = p->literal.len;

    if (bytes)
        add_piece(p, (struct piece){.bytes = bytes, .text = rp_buf_steal(&p->literal)});
}

/** Begins a word before a character or a placeholder, or at a quote, because '' is a word, too. */
static void begin_word(struct parser *p)
{
    if (!p->in_word)
        *rp_array_add(&p->to->words, &p->to->count) = (struct word){0};
    p->in_word = true;
}

static void end_word(struct parser *p)
{
    if (p->in_word)
        flush(p);
    p->in_word = false;
}

static int fail_at(struct parser *p, size_t at, const char *what)
{
    return rp_fail(p->err, RP_USAGE, "column %zu: %s", at + 1, what);
}

static int fail_unknown(struct parser *p, size_t begin, size_t bytes)
{
    rp_autobuf names = {0};

    if (bytes == strlen(OUTPUT_NAME) && memcmp(p->text + begin, OUTPUT_NAME, bytes) == 0)
        return rp_fail(p->err, RP_USAGE,
                       "column %zu: {output} is the program that --build makes: give --build",
                       begin);
    for (size_t i = 0; i < p->space->parameter_count; i++)
        rp_buf_printf(&names, "%s%.60s", i ? ", " : "", p->space->parameters[i].name);
    return rp_fail(
        p->err, RP_USAGE,
        "column %zu: there is no parameter %.*s (there are %.300s); {{ and }} are braces",
        begin + 1, bytes > 60 ? 60 : (int)bytes, p->text + begin, rp_buf_text(&names));
}

/** Reads {{, }}, or a placeholder.
 * @return 1 a parameter, whose number is written; 0; < 0 */
static int take_brace(struct parser *p, size_t *ret_parameter)
{
    const char *begin = p->text + p->at, *end;

    if (begin[1] == begin[0]) {
        rp_buf_add(&p->literal, begin, 1);
        p->at += 2;
        return 0;
    }
    end = *begin == '{' ? strchr(begin, '}') : NULL;
    if (!end)
        return fail_at(p, p->at,
                       *begin == '{' ? "{ without }; {{ is a brace" : "} without {; }} is a brace");
    if ((p->to->flags & RP_TEMPLATE_OUTPUT) && begin[0] == '{' &&
        strlen(OUTPUT_NAME) == (size_t)(end - begin) - 1 &&
        memcmp(OUTPUT_NAME, begin + 1, strlen(OUTPUT_NAME)) == 0) {
        p->at += (size_t)(end - begin) + 1;
        p->to->has_output = true;
        *ret_parameter = OUTPUT;
        return 1;
    }
    for (size_t i = 0; i < p->space->parameter_count; i++) {
        const char *name = p->space->parameters[i].name;

        if (strlen(name) == (size_t)(end - begin) - 1 &&
            memcmp(name, begin + 1, strlen(name)) == 0) {
            p->at += (size_t)(end - begin) + 1;
            p->to->used[i] = true;
            *ret_parameter = i;
            return 1;
        }
    }
    return fail_unknown(p, p->at + 1, (size_t)(end - begin) - 1);
}

/* --- splitting -------------------------------------------------------------------------------- */

static int take_value(struct parser *p)
{
    size_t parameter = 0;
    int rc = take_brace(p, &parameter);

    if (rc <= 0)
        return rc;
    flush(p);
    add_piece(p, (struct piece){.parameter = parameter});
    return 0;
}

/** Reads a quoted part, in which values may stand. */
static int take_quoted(struct parser *p)
{
    const size_t begin = p->at++;
    const char quote = p->text[begin];
    int rc = 0;

    for (; rc == 0 && p->text[p->at] != quote;) {
        const char c = p->text[p->at];

        if (!c)
            return fail_at(p, begin, "this quote is not closed");
        if (c == '{' || c == '}') {
            rc = take_value(p);
            continue;
        }
        if (quote == '"' && (c == '$' || c == '`'))
            return fail_at(p, p->at,
                           "only a shell knows what this means: use single quotes, or --shell");
        /* As in a shell, a backslash is an ordinary character unless it stands before one of these.
         */
        if (quote == '"' && c == '\\' && p->text[p->at + 1] &&
            strchr("\"\\$`\n", p->text[p->at + 1]))
            p->at++;
        if (p->text[p->at] != '\n' || c != '\\')
            rp_buf_add(&p->literal, p->text + p->at, 1);
        p->at++;
    }
    p->at++;
    return rc;
}

static int take_backslash(struct parser *p)
{
    if (!p->text[p->at + 1])
        return fail_at(p, p->at, "a backslash at the end");
    if (p->text[p->at + 1] != '\n')
        rp_buf_add(&p->literal, p->text + p->at + 1, 1);
    p->at += 2;
    return 0;
}

static int split_next(struct parser *p)
{
    const char c = p->text[p->at];

    if (strchr(" \t\r\n", c)) {
        p->at++;
        end_word(p);
        return 0;
    }
    if (strchr("|&;<>()$`", c))
        return fail_at(
            p, p->at,
            "only a shell knows what this means: put it in single quotes, or use --shell");
    if (c == '\\' && p->text[p->at + 1] == '\n') {
        p->at += 2;
        return 0;
    }
    begin_word(p);
    if (c == '\'' || c == '"')
        return take_quoted(p);
    if (c == '\\')
        return take_backslash(p);
    if (c == '{' || c == '}')
        return take_value(p);
    rp_buf_add(&p->literal, &c, 1);
    p->at++;
    return 0;
}

/** Finds X=1 ./program: a shell would set a variable, but here X=1 would be the program's name. */
static bool begins_with_assignment(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const char *begin = text + strspn(text, " \t\r\n");
    const size_t bytes = strspn(begin, letters);

    return bytes > 0 && begin[bytes] == '=';
}

static int split(struct parser *p)
{
    int rc = 0;

    if (begins_with_assignment(p->text))
        return rp_fail(
            p->err, RP_USAGE,
            "it begins with a variable, which only a shell sets: put env in front of it, "
            "or use --shell");
    while (rc == 0 && p->text[p->at])
        rc = split_next(p);
    if (rc == 0)
        end_word(p);
    if (rc == 0 && p->to->count == 0)
        rc = rp_fail(p->err, RP_USAGE, "it is empty");
    return rc;
}

/* --- scripts ---------------------------------------------------------------------------------- */

/** Says where in a script a value stands. In cases that this does not know (here documents, quotes
 * within $()) a value is split at worst, but never becomes code. */
struct place {
    enum { QUOTED_NOT, QUOTED_SINGLE, QUOTED_DOUBLE } quoting;
    bool arithmetic; /**< within $(( )) */
    size_t open;     /**< parentheses there */
    char glue;       /**< $ or a backslash that what follows belongs to, or 0 */
};

/** @return the place behind what stands at at, which is no brace */
static size_t pass_script(const char *script, size_t at, struct place *place)
{
    const char c = script[at];

    place->glue = 0;
    if (place->quoting != QUOTED_SINGLE && (c == '\\' || c == '$')) {
        if (c == '\\' && script[at + 1] && !strchr("{}", script[at + 1]))
            return at + 2;
        place->glue = c;
        if (!place->arithmetic && strncmp(script + at, "$((", 3) == 0) {
            place->arithmetic = true;
            place->open = 0;
        }
        return at + 1;
    }
    if (place->quoting == QUOTED_NOT && c == '#' &&
        (at == 0 || strchr(" \t\n;|&(", script[at - 1])))
        return at + strcspn(script + at, "\n{}");
    if (place->arithmetic && c == '(')
        place->open++;
    else if (place->arithmetic && c == ')')
        place->arithmetic = place->open > 0 && --place->open > 0;
    if (c == '\'' && place->quoting != QUOTED_DOUBLE)
        place->quoting = place->quoting == QUOTED_SINGLE ? QUOTED_NOT : QUOTED_SINGLE;
    else if (c == '"' && place->quoting != QUOTED_SINGLE)
        place->quoting = place->quoting == QUOTED_DOUBLE ? QUOTED_NOT : QUOTED_DOUBLE;
    return at + 1;
}

static bool has_texts(const struct rp_parameter *parameter)
{
    for (size_t i = 0; i < parameter->count; i++)
        if (parameter->values[i].kind == RP_VALUE_TEXT)
            return true;
    return false;
}

/** Adds the variable that has the value. A backslash or $ before it would cancel its quote, so
 * these are refused. */
static int add_variable(struct parser *p, const struct place *place, size_t begin, size_t parameter)
{
    const char *before = "\"", *behind = "\"";

    if (place->glue == '$')
        return fail_at(p, begin, "a placeholder behind $; a variable of the shell is ${{NAME}}");
    if (place->glue)
        return fail_at(p, begin, "a placeholder behind a backslash; {{ and }} are braces");
    if (place->arithmetic && (parameter == OUTPUT || has_texts(&p->space->parameters[parameter])))
        return fail_at(p, begin, "a text within $(( )), where some shells would run it as code");
    if (place->arithmetic || place->quoting == QUOTED_DOUBLE)
        before = behind = "";
    else if (place->quoting == QUOTED_SINGLE)
        before = "'\"", behind = "\"'";
    if (parameter == OUTPUT)
        rp_buf_printf(&p->literal, "%s${rocm_perf_output}%s", before, behind);
    else
        rp_buf_printf(&p->literal, "%s${rocm_perf_%zu}%s", before, parameter, behind);
    return 0;
}

static int add_script(struct parser *p)
{
    struct place place = {0};
    int rc = 0;

    begin_word(p);
    while (rc == 0 && p->text[p->at]) {
        const size_t begin = p->at;
        size_t parameter = 0;

        if (p->text[begin] != '{' && p->text[begin] != '}') {
            p->at = pass_script(p->text, begin, &place);
            rp_buf_add(&p->literal, p->text + begin, p->at - begin);
            continue;
        }
        if ((rc = take_brace(p, &parameter)) > 0)
            rc = add_variable(p, &place, begin, parameter);
        place.glue = 0;
    }
    if (rc == 0 && p->text[strspn(p->text, " \t\r\n")] == '\0')
        rc = rp_fail(p->err, RP_USAGE, "it is empty");
    end_word(p);
    return rc < 0 ? rc : 0;
}

/** Writes a quote within the value as in 'it'\''s'. */
static void add_quoted(struct rp_buf *to, const char *value)
{
    rp_buf_puts(to, "'");
    for (const char *c = value; *c; c++)
        if (*c == '\'')
            rp_buf_puts(to, "'\\''");
        else
            rp_buf_add(to, c, 1);
    rp_buf_puts(to, "'");
}

/** Sets the variables that the script uses. */
static void set_variables(const struct rp_template *template, const struct rp_space *space,
                          size_t config, const char *output, struct rp_buf *to)
{
    if (template->has_output) {
        rp_buf_puts(to, "rocm_perf_output=");
        add_quoted(to, output ? output : "");
        rp_buf_puts(to, "\n");
    }
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);
        rp_autobuf text = {0};

        if (!template->used[i])
            continue;
        if (value)
            rp_value_text(value, &text);
        rp_buf_printf(to, "rocm_perf_%zu=", i);
        add_quoted(to, rp_buf_text(&text));
        rp_buf_puts(to, "\n");
    }
}

/* --- what is wrong with the whole ------------------------------------------------------------- */

static bool is_variable(const char *name)
{
    const size_t bytes =
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

    return bytes > 0 && !name[bytes] && !(name[0] >= '0' && name[0] <= '9');
}

/** The command need not have a parameter that is the same everywhere. */
static bool is_constant(const struct rp_space *space, size_t parameter)
{
    for (size_t c = 1; c < space->count; c++)
        if (rp_space_row(space, c)[parameter] != rp_space_row(space, 0)[parameter])
            return false;
    return true;
}

static int check_use(const struct parser *p)
{
    const unsigned flags = p->to->flags;

    if ((flags & RP_TEMPLATE_OUTPUT) && rp_space_parameter(p->space, OUTPUT_NAME) >= 0)
        return rp_fail(p->err, RP_USAGE,
                       "a parameter is called %s, which is the program that is built: call it "
                       "something else",
                       OUTPUT_NAME);
    for (size_t i = 0; i < p->space->parameter_count; i++) {
        const char *name = p->space->parameters[i].name;

        if (flags & RP_TEMPLATE_ENVIRONMENT) {
            if (!is_variable(name))
                return rp_fail(
                    p->err, RP_USAGE,
                    "parameter %.60s cannot be an environment variable (--env): letters, "
                    "digits and _ make one",
                    name);
        } else if (!(flags & RP_TEMPLATE_PART) && !p->to->used[i] && !is_constant(p->space, i)) {
            return rp_fail(p->err, RP_USAGE,
                           "it does not depend on parameter %.60s: write {%.60s} where its value "
                           "belongs, or export all of them with --env",
                           name, name);
        }
    }
    return 0;
}

/** Returns the length in bytes, in a script that of the quoted text. */
static size_t longest_value(const struct rp_parameter *parameter, bool quoted)
{
    size_t longest = 0;

    for (size_t i = 0; i < parameter->count; i++) {
        rp_autobuf text = {0}, in_quotes = {0};

        rp_value_text(&parameter->values[i], &text);
        if (quoted)
            add_quoted(&in_quotes, rp_buf_text(&text));
        if ((quoted ? in_quotes.len : text.len) > longest)
            longest = quoted ? in_quotes.len : text.len;
    }
    return longest;
}

static int check_length(struct rp_err *err, size_t bytes, const char *what, const char *name)
{
    if (bytes <= MOST_ARGUMENT_BYTES)
        return 0;
    return rp_fail(err, RP_USAGE,
                   "%s%.60s would have %zu bytes; the system lets an argument have %d: give the "
                   "program the name of a file",
                   what, name, bytes, MOST_ARGUMENT_BYTES);
}

/** No configuration's words are longer than those of the longest values, so only these are checked.
 */
static int check_lengths(const struct parser *p)
{
    const bool shell = p->to->flags & RP_TEMPLATE_SHELL;
    rp_autofree size_t *longest = rp_alloc_zero(p->space->parameter_count + 1, sizeof *longest);
    size_t all = 0;
    int rc;

    for (size_t i = 0; i < p->space->parameter_count; i++) {
        const struct rp_parameter *parameter = &p->space->parameters[i];

        longest[i] = longest_value(parameter, shell);
        if ((rc = check_length(p->err, longest[i] + strlen(parameter->name) + 1, "parameter ",
                               parameter->name)) < 0)
            return rc;
        if (p->to->flags & RP_TEMPLATE_ENVIRONMENT)
            all += longest[i] + strlen(parameter->name) + 2;
    }
    for (size_t w = 0; w < p->to->count; w++) {
        size_t bytes = 0;

        for (size_t i = 0; i < p->to->words[w].count; i++) {
            const struct piece *piece = &p->to->words[w].pieces[i];

            bytes += piece->text                  ? piece->bytes
                     : piece->parameter == OUTPUT ? MOST_OUTPUT_BYTES
                                                  : longest[piece->parameter];
        }
        bytes += shell && p->to->has_output ? MOST_OUTPUT_BYTES : 0;
        for (size_t i = 0; shell && i < p->space->parameter_count; i++)
            bytes += p->to->used[i] ? longest[i] + sizeof "rocm_perf_255=\n" : 0;
        if ((rc = check_length(p->err, bytes, shell ? "the script" : "a word", "")) < 0)
            return rc;
        all += bytes + 1 + sizeof(char *);
    }
    if (all > MOST_COMMAND_BYTES)
        return rp_fail(p->err, RP_USAGE, "it would have %zu bytes; %d are possible", all,
                       MOST_COMMAND_BYTES);
    return 0;
}

/** A word with a parameter that has no value is left out, and the program must not be left out. */
static int check_program(const struct parser *p)
{
    const struct word *program = &p->to->words[0];

    for (size_t i = 0; i < program->count; i++) {
        const size_t parameter = program->pieces[i].parameter;

        if (program->pieces[i].text || parameter == OUTPUT)
            continue;
        for (size_t c = 0; c < p->space->count; c++)
            if (!rp_space_value(p->space, c, parameter))
                return rp_fail(
                    p->err, RP_USAGE,
                    "parameter %.60s has no value in some configurations: it cannot stand "
                    "in the program's name (\"else\" gives it one)",
                    p->space->parameters[parameter].name);
    }
    return program->count ? 0 : rp_fail(p->err, RP_USAGE, "the program's name is empty");
}

/**
 * Parses a command.
 * @param flags of enum rp_template_flags
 * @return 0; RP_USAGE with the fault and its column: an unknown placeholder, a parameter that the
 * command does not depend on, a quote that is not closed, what only a shell can do, a value that is
 * longer than the system lets an argument be; RP_ENVIRONMENT
 */
static int template_parse(const char *text, const struct rp_space *space, unsigned flags,
                          struct rp_template **ret, struct rp_err *err)
{
    struct parser p = {.text = text, .space = space, .err = err};
    int rc;

    p.to = rp_alloc_zero(1, sizeof *p.to);
    p.to->flags = flags;
    rc = flags & RP_TEMPLATE_SHELL ? add_script(&p) : split(&p);
    if (rc == 0)
        rc = check_use(&p);
    if (rc == 0)
        rc = check_lengths(&p);
    if (rc == 0)
        rc = check_program(&p);
    rp_buf_free(&p.literal);
    if (rc < 0) {
        template_free(p.to);
        return rc;
    }
    *ret = p.to;
    return 0;
}

/* --- filling ---------------------------------------------------------------------------------- */

/** @return whether all parameters in the word have values */
static bool fill_word(const struct word *word, const struct rp_space *space, size_t config,
                      const char *output, struct rp_buf *to)
{
    for (size_t i = 0; i < word->count; i++) {
        const struct piece *piece = &word->pieces[i];
        const struct rp_value *value;

        if (piece->text) {
            rp_buf_add(to, piece->text, piece->bytes);
            continue;
        }
        if (piece->parameter == OUTPUT) {
            rp_buf_puts(to, output ? output : "");
            continue;
        }
        if (!(value = rp_space_value(space, config, piece->parameter)))
            return false;
        rp_value_text(value, to);
    }
    return true;
}

static char *text_of(struct rp_buf *buf)
{
    return buf->len ? rp_buf_steal(buf) : rp_strdup("");
}

static void fill_words(const struct rp_template *template, const struct rp_space *space,
                       size_t config, const char *output, char **argv)
{
    for (size_t w = 0; w < template->count; w++) {
        rp_autobuf text = {0};

        if (fill_word(&template->words[w], space, config, output, &text))
            *argv++ = text_of(&text);
    }
}

static void fill_script(const struct rp_template *template, const struct rp_space *space,
                        size_t config, const char *output, char **argv)
{
    rp_autobuf script = {0};

    set_variables(template, space, config, output, &script);
    fill_word(&template->words[0], space, config, output, &script);
    argv[0] = rp_strdup("/bin/sh");
    argv[1] = rp_strdup("-c");
    argv[2] = text_of(&script);
}

static void fill_env(const struct rp_space *space, size_t config, struct rp_env_change *env)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);
        rp_autobuf text = {0};

        env[i].name = rp_strdup(space->parameters[i].name);
        if (!value)
            continue;
        rp_value_text(value, &text);
        env[i].value = text_of(&text);
    }
}

/** Says whether the command depends on the parameter. */
static bool template_uses(const struct rp_template *template, size_t parameter)
{
    return (template->flags & RP_TEMPLATE_ENVIRONMENT) || template->used[parameter];
}

/** Says whether the command has {output}. */
static bool template_has_output(const struct rp_template *template)
{
    return template->has_output;
}

/**
 * @param space as for template_parse
 * @param output with RP_TEMPLATE_OUTPUT the text for {output}, at most 4095 bytes; else NULL
 * @return 0 or RP_ENVIRONMENT
 */
static int template_fill_output(const struct rp_template *template, const struct rp_space *space,
                                size_t config, const char *output, struct rp_command *ret,
                                struct rp_err *err)
{
    const bool shell = template->flags & RP_TEMPLATE_SHELL;
    struct rp_command command = {
        .argv = rp_alloc_zero((shell ? 3 : template->count) + 1, sizeof *command.argv),
        .env = rp_alloc_zero(space->parameter_count + 1, sizeof *command.env)};

    (void)err;
    if (shell)
        fill_script(template, space, config, output, command.argv);
    else
        fill_words(template, space, config, output, command.argv);
    if (template->flags & RP_TEMPLATE_ENVIRONMENT)
        fill_env(space, config, command.env);
    *ret = command;
    return 0;
}

/* --- the runner ------------------------------------------------------------------------------- */

static bool same_model(const struct rp_gpu *a, const struct rp_gpu *b)
{
    return strcmp(a->gfx, b->gfx) == 0 && strcmp(a->product, b->product) == 0 &&
           a->compute_units == b->compute_units;
}

static void put_model(struct rp_buf *to, const char *word, const struct rp_gpu *gpu)
{
    rp_buf_printf(to, "GPU %s is %s (%s, %u CUs)", word, gpu->product[0] ? gpu->product : "unknown",
                  gpu->gfx, gpu->compute_units);
}

/** Adds a GPU to the list. Further GPUs must be like the first one. */
static int add(struct rp_buf *list, const char *word, const struct rp_gpu *gpu, char *first_word,
               const struct rp_gpu **first, struct rp_err *err)
{
    rp_autobuf models = {0};

    if (!*first) {
        *first = gpu;
        snprintf(first_word, 32, "%s", word);
    }
    if (!same_model(gpu, *first)) {
        put_model(&models, first_word, *first);
        rp_buf_puts(&models, ", ");
        put_model(&models, word, gpu);
        return rp_fail(err, RP_ENVIRONMENT,
                       "--gpus all: %s: times of several models are not compared; name those of "
                       "one, like --gpus %s",
                       rp_buf_text(&models), first_word);
    }
    rp_buf_printf(list, "%s%s", list->len ? "," : "", word);
    return 0;
}

/** Chooses from a given list of GPUs.
 * @param visible ROCR_VISIBLE_DEVICES; NULL or "": all */
static int gpu_choice_of(const struct rp_gpu *gpus, size_t count, const char *visible, char **ret,
                         struct rp_err *err)
{
    rp_autofree char *words = visible && *visible ? rp_strdup(visible) : NULL;
    const struct rp_gpu *first = NULL;
    char first_word[32] = "", *rest = NULL;
    rp_autobuf list = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && !words && i < count; i++) {
        char word[32];

        snprintf(word, sizeof word, "%zu", i);
        rc = add(&list, word, &gpus[i], first_word, &first, err);
    }
    for (char *word = words ? strtok_r(words, ",", &rest) : NULL; rc == 0 && word;
         word = strtok_r(NULL, ",", &rest)) {
        const struct rp_gpu *gpu = rp_gpus_first_visible(gpus, count, word);

        if (!gpu) /* ROCr stops at the first GPU that does not exist. */
            break;
        rc = add(&list, word, gpu, first_word, &first, err);
    }
    if (rc < 0)
        return rc;
    if (!first)
        return rp_fail(err, RP_ENVIRONMENT, "--gpus all: there is no GPU that may be used%s%s",
                       words ? ": ROCR_VISIBLE_DEVICES=" : "", words ? visible : "");
    *ret = rp_buf_steal(&list);
    return 0;
}

static int all_software(size_t count, const char *visible, char **ret, struct rp_err *err)
{
    const struct rp_gpu like = {.product = ""};
    rp_autofree struct rp_gpu *gpus = rp_alloc_zero(count, sizeof *gpus);

    for (size_t i = 0; i < count; i++)
        gpus[i] = like;
    return gpu_choice_of(gpus, count, visible, ret, err);
}

int rp_gpu_choice(const struct rp_run_options *wish, char **ret, struct rp_err *err)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_autofree struct rp_gpu *gpus = NULL;
    struct rp_run_options run = *wish;
    size_t count;
    int rc = rp_environment_detect(&env, err);

    if (rc == 0)
        rc = rp_device_resolve(&env, &run, err);
    if (rc < 0)
        return rc;
    if (run.device == RP_DEVICE_SOFTWARE)
        return all_software(run.gpus ? run.gpus : 1, visible, ret, err);
    rp_gpus_list(RP_GPU_NODES, RP_GPU_FILES, &gpus, &count);
    return gpu_choice_of(gpus, count, visible, ret, err);
}

/**
 * Checks that the software device has all of these.
 * @param gpus numbers, NULL-terminated
 * @param count how many it has
 * @return 0; RP_USAGE names the one that it does not have
 */
static int gpu_choice_check_software(const char *const *gpus, size_t count, struct rp_err *err)
{
    for (; *gpus; gpus++) {
        char *end;
        const unsigned long number = strtoul(*gpus, &end, 10);

        if (end == *gpus || *end || number >= count)
            return rp_fail(err, RP_USAGE,
                           "--gpus %s: the software device has %zu (ROCM_PERF_DEVICE_GPUS); more "
                           "workers need no more of them: use --workers",
                           *gpus, count);
    }
    return 0;
}

static const int64_t build_timeout_ns = (int64_t)1800 * 1000000000;
static const double ms_ns = 1e6;

struct live {
    struct rp_program_runner_options o;
    struct rp_template *command, *build;
    struct rp_tune_pool *pool;
    double clock_ms; /**< what our clock said when the search's said 0 */
    bool started;
};

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / ms_ns;
}

/* --- templates -------------------------------------------------------------------------------- */

/** Values that reach neither command would be tuned by chance, so they are refused. */
static int check_used(const struct live *l, struct rp_err *err)
{
    const struct rp_space *space = l->o.space;

    for (size_t i = 0; i < space->parameter_count; i++)
        if (space->parameters[i].count > 1 && !template_uses(l->command, i) &&
            !template_uses(l->build, i))
            return rp_fail(err, RP_USAGE,
                           "neither --cmd-template nor --build has {%.60s}, which has several "
                           "values (--env exports all parameters)",
                           space->parameters[i].name);
    return 0;
}

static int parse(struct live *l, struct rp_err *err)
{
    const unsigned part = RP_TEMPLATE_OUTPUT | RP_TEMPLATE_PART;
    int rc = template_parse(l->o.command, l->o.space, l->o.flags | (l->o.build ? part : 0),
                            &l->command, err);

    if (rc < 0)
        return rp_wrap(err, "--cmd-template");
    if (!l->o.build)
        return 0;
    if (template_parse(l->o.build, l->o.space, l->o.flags | part, &l->build, err) < 0)
        return rp_wrap(err, "--build");
    if (!template_has_output(l->build) || !template_has_output(l->command))
        return rp_fail(err, RP_USAGE,
                       "with --build, both commands name the program as {output}: %s does not",
                       template_has_output(l->build) ? "--cmd-template" : "--build");
    return check_used(l, err);
}

static void free_templates(struct live *l)
{
    template_free(l->command);
    template_free(l->build);
}

int rp_program_runner_check(const struct rp_program_runner_options *options, struct rp_err *err)
{
    struct live l = {.o = *options};
    int rc = parse(&l, err);

    free_templates(&l);
    return rc;
}

/* --- requests --------------------------------------------------------------------------------- */

/** The name of the program is made from the command that builds it, so that equal commands share
 * one program. */
static int fill_build(const struct live *l, size_t config, struct rp_evaluation_request *request,
                      struct rp_err *err)
{
    struct rp_command named = {0};
    int rc = template_fill_output(l->build, l->o.space, config, "output", &named, err);

    if (rc < 0)
        return rc;
    request->build_output = rp_build_output_path(l->o.build_folder, &named);
    rp_command_free(&named);
    request->build_timeout_ns = build_timeout_ns;
    return template_fill_output(l->build, l->o.space, config, request->build_output,
                                &request->build, err);
}

static int fill_request(const struct live *l, const struct rp_run_job *job,
                        struct rp_evaluation_request *request, struct rp_err *err)
{
    int rc = 0;

    *request =
        (struct rp_evaluation_request){.id = job->number,
                                       .objective = l->o.objective,
                                       .unit_ns = l->o.unit_ns,
                                       .memory_bytes = l->o.memory_bytes,
                                       .timeout_ns = (int64_t)(job->cap_ms * ms_ns),
                                       .warmup_timeout_ns = (int64_t)(job->warmup_cap_ms * ms_ns),
                                       .warmups = job->warmups,
                                       .samples = job->samples,
                                       .pattern = l->o.pattern ? rp_strdup(l->o.pattern) : NULL,
                                       .input = l->o.input ? rp_strdup(l->o.input) : NULL,
                                       .check = l->o.check ? rp_strdup(l->o.check) : NULL};
    for (size_t i = 0; l->o.objectives && i < l->o.objectives->count; i++) {
        const struct rp_tuned_number *number = &l->o.objectives->numbers[i];

        request->numbers[request->number_count++] = (struct rp_wanted_number){
            .source = number->source,
            .pattern = number->pattern ? rp_strdup(number->pattern) : NULL,
            .name = number->name ? rp_strdup(number->name) : NULL};
    }
    if (rc == 0 && l->build)
        rc = fill_build(l, job->config, request, err);
    if (rc == 0)
        rc = template_fill_output(l->command, l->o.space, job->config, request->build_output,
                                  &request->command, err);
    return rc;
}

static int submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct live *l = state;
    rp_cleanup(rp_evaluation_request_free) struct rp_evaluation_request request = {0};

    /* The search's clock is ahead when it got answers without waiting for them. */
    if (!l->started || now_ms() - l->clock_ms < job->begun_ms)
        l->clock_ms = now_ms() - job->begun_ms;
    l->started = true;
    if (fill_request(l, job, &request, err) < 0)
        return -(int)err->code;
    return rp_tune_pool_submit(l->pool, &request, err);
}

/* --- answers ---------------------------------------------------------------------------------- */

/** @return 0; RP_ENVIRONMENT: a worker of another version */
static int take(const struct live *l, struct rp_evaluation *from, struct rp_run_answer *ret,
                struct rp_err *err)
{
    const size_t wanted = l->o.objectives ? l->o.objectives->count : 0;
    struct rp_run_answer answer = {.number = from->id,
                                   .outcome = from->outcome,
                                   .build_ms = from->built ? (double)from->build_ns / ms_ns : -1,
                                   .run_ms = (double)from->bench_ns / ms_ns,
                                   .warmup_ms = (double)from->warmup_ns / ms_ns,
                                   .at_ms = now_ms() - l->clock_ms,
                                   .reason = rp_steal(from->reason)};

    if (from->outcome == RP_EVALUATION_OK) {
        answer.samples_ms = rp_alloc_zero(from->count + 1, sizeof *answer.samples_ms);
        for (size_t i = 0; i < from->count; i++)
            answer.samples_ms[answer.count++] = from->runtimes_ns[i] / ms_ns;
        if (wanted)
            answer.numbers = rp_steal(from->numbers);
    }
    if (from->outcome == RP_EVALUATION_OK && wanted != from->number_count) {
        rp_run_answer_free(&answer);
        return rp_fail(err, RP_ENVIRONMENT,
                       "a worker has answered %zu numbers of %zu: is it of another version?",
                       from->number_count, wanted);
    }
    *ret = answer;
    return 0;
}

static int next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct live *l = state;
    rp_cleanup(rp_evaluation_free) struct rp_evaluation evaluation = {0};
    int rc = rp_tune_pool_next(l->pool, -1, &evaluation, err);

    if (rc == 0)
        return rp_fail(err, RP_ENVIRONMENT, "no job is out");
    if (rc < 0)
        return rc;
    return take(l, &evaluation, ret, err);
}

static void close_live(void *state)
{
    struct live *l = state;

    rp_tune_pool_close(l->pool);
    free_templates(l);
    free(l);
}

/** Of kernels' times those that cannot be ranked are refused. */
static int check_timing(const struct rp_run_options *run, struct rp_err *err)
{
    const enum rp_timing_choice timing = rp_timing_in_force(run);

    if (run->device != RP_DEVICE_SOFTWARE)
        return 0;
    if (timing == RP_TIMING_OFF)
        return rp_fail(err, RP_USAGE,
                       "--timing off (or ROCM_PERF_DEVICE_TIMING): kernels have no times then; use "
                       "another timing, or measure by --output-regex or --no-rocprof");
    if (timing == RP_TIMING_COUNTS)
        return rp_fail(err, RP_USAGE,
                       "--timing counts (or ROCM_PERF_DEVICE_TIMING): kernels' times are intervals "
                       "then, which overlap and cannot be ranked; use --timing detailed, or "
                       "measure by --output-regex or --no-rocprof");
    return 0;
}

int rp_program_runner_check_device(const struct rp_program_runner_options *options,
                                   struct rp_err *err)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_run_options run = options->pool.run;
    int rc;

    /* Other launchers may start workers on other machines. */
    if (options->pool.launcher && options->pool.launcher != &rp_launcher_local)
        return 0;
    rc = rp_environment_detect(&env, err);
    if (rc == 0)
        rc = rp_device_resolve(&env, &run, err);
    return rc == 0 && options->objective == RP_OBJECTIVE_DISPATCH ? check_timing(&run, err) : rc;
}

static bool wants_traffic(const struct rp_program_runner_options *options)
{
    for (size_t i = 0; options->objectives && i < options->objectives->count; i++)
        if (options->objectives->numbers[i].source == RP_NUMBER_HBM)
            return true;
    return false;
}

int rp_program_runner_open(const struct rp_program_runner_options *options, struct rp_runner *ret,
                           struct rp_err *err)
{
    struct live *l = rp_alloc_zero(1, sizeof *l);
    struct rp_run_options run = options->pool.run;
    const struct rp_worker_hello *hello;
    int rc;

    l->o = *options;
    *ret = (struct rp_runner){.submit = submit, .next = next, .close = close_live, .state = l};
    if ((rc = parse(l, err)) < 0 || (rc = rp_tune_pool_open(&options->pool, &l->pool, err)) < 0) {
        rp_runner_close(ret);
        return rc;
    }
    hello = rp_tune_pool_device(l->pool);
    if (!hello->on.software && wants_traffic(options)) {
        rp_runner_close(ret);
        return rp_fail(
            err, RP_USAGE,
            "--objective hbm: bytes of HBM are counted on the software device only; on a "
            "GPU let the program print a number, or give --device software");
    }
    /* A worker that sees none of its GPUs would fail. */
    if (hello->on.software)
        rc = rp_run_options_inherit(&run, err);
    if (rc == 0 && hello->on.software && options->pool.gpus)
        rc = gpu_choice_check_software(options->pool.gpus, run.gpus ? run.gpus : 1, err);
    if (rc < 0) {
        rp_runner_close(ret);
        return rc;
    }
    ret->workers = rp_tune_pool_workers(l->pool);
    ret->exact = hello->on.software && options->objective == RP_OBJECTIVE_DISPATCH &&
                 (!options->objectives || rp_objectives_exact(options->objectives));
    ret->device = (struct rp_run_device){.kind = hello->on.software ? "software" : "hardware",
                                         .threads = run.threads,
                                         .name = hello->on.gpu,
                                         .rocm = hello->on.rocm,
                                         .timing = hello->on.timing,
                                         .timing_version = hello->on.timing_version};
    return 0;
}
