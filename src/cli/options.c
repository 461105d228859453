/* The rows of options.def say how the command line is read, and the help is made of them. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "experiment/measured_run.h"
#include "optimize/propose.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "report/report.h"
#include "run/check_run.h"
#include "run/kernel_names.h"
#include "run/machine.h"
#include "run/run_program.h"
#include "trace/counter_set.h"
#include "trace/records.h"
#include "tune/strategy.h"

/* --- forms of values that have a reader of their own --------------------------------------- */

static int check_device(const char *option, const char *word, struct rp_err *err)
{
    struct rp_run_options run = {0};

    (void)option;
    return rp_device_parse(word, &run, err);
}

static int check_checks(const char *option, const char *word, struct rp_err *err)
{
    return rp_check_words(option, word, err);
}

static int check_checks_or_none(const char *option, const char *word, struct rp_err *err)
{
    return strcmp(word, "none") == 0 ? 0 : rp_check_words(option, word, err);
}

static int check_ranges(const char *option, const char *word, struct rp_err *err)
{
    (void)option;
    return rp_kernel_ranges_check(word, err);
}

static int check_compare_rule(const char *option, const char *word, struct rp_err *err)
{
    struct rp_compare_rule rule;

    (void)option;
    return rp_compare_rule_parse(word, &rule, err);
}

static int check_inputs(const char *option, const char *word, struct rp_err *err)
{
    struct rp_inputs_rule rule;

    (void)option;
    return rp_inputs_parse(word, RP_EXACT, &rule, err);
}

static int check_output_regex(const char *option, const char *word, struct rp_err *err)
{
    if (!*word)
        return rp_fail(err, RP_USAGE, "%s: an expression with a group for the number is wanted",
                       option);
    return rp_objective_check_pattern(word, err) < 0 ? rp_wrap(err, "%s", option) : 0;
}

static const char *names_of_report_form(size_t at, const char **ret_what)
{
    size_t count;
    const struct rp_report_form *forms = rp_report_forms(&count);

    *ret_what = at < count ? forms[at].what : NULL;
    return at < count ? forms[at].name : NULL;
}

static const char *names_of_proposer(size_t at, const char **ret_what)
{
    const struct rp_proposer *proposer = rp_proposer_at(at);

    *ret_what = proposer ? proposer->summary : NULL;
    return proposer ? proposer->name : NULL;
}

static const char *names_of_strategy(size_t at, const char **ret_what)
{
    const struct rp_strategy *strategy = rp_strategy_number(at);

    *ret_what = strategy ? strategy->summary : NULL;
    return strategy ? strategy->name : NULL;
}

/* --- rows ---------------------------------------------------------------------------------- */

#define RP_D_FLAG                      .type = RP_VALUE_FLAG
#define RP_D_UINT(a, b)                .type = RP_VALUE_UINT, .min = (a), .max = (b)
#define RP_D_REAL(a, b)                .type = RP_VALUE_REAL, .low = (a), .high = (b)
#define RP_D_ABOVE_0(b)                .type = RP_VALUE_ABOVE_0, .high = (b)
#define RP_D_PERCENT(a, b)             .type = RP_VALUE_PERCENT, .low = (a), .high = (b)
#define RP_D_NUMBER_WORD(a, b)         .type = RP_VALUE_NUMBER_WORD, .min = (a), .max = (b)
#define RP_D_TEXT                      .type = RP_VALUE_TEXT
#define RP_D_NAME_TEXT                 .type = RP_VALUE_NAME_TEXT
#define RP_D_FILE                      .type = RP_VALUE_FILE
#define RP_D_DIR                       .type = RP_VALUE_DIR
#define RP_D_SCRIPT                    .type = RP_VALUE_SCRIPT
#define RP_D_CHECKED(f)                .type = RP_VALUE_CHECKED, .check = (f)
#define RP_D_CHOICE(list)              .type = RP_VALUE_CHOICE, .words = (list)
#define RP_D_CHOICE_WAS(list, renamed) .type = RP_VALUE_CHOICE, .words = (list), .was = (renamed)
#define RP_D_NAME(of)                  .type = RP_VALUE_NAME, .names = names_of_##of
#define RP_D_ANY_NAME(of)              .type = RP_VALUE_ANY_NAME, .names = names_of_##of
#define RP_D_WORDS(chars, most)        .type = RP_VALUE_WORDS, .words = (chars), .max = (most)
#define RP_D_EACH                      .type = RP_VALUE_EACH
#define RP_D_NUMBERS                   .type = RP_VALUE_NUMBERS

enum { /* The names are the flags as rows write them. */
       ADDS = RP_OPTION_ADDS,
       ONCE = RP_OPTION_ONCE,
       ENDS = RP_OPTION_ENDS,
       HIDDEN = RP_OPTION_HIDDEN,
       BEHIND = RP_OPTION_BEHIND,
       FORM = 0,
       ACTION = RP_OPTION_IS_ACTION,
       ONE_PROGRAM = RP_OPTION_RUNS,
       ALL_PATHS = RP_OPTION_ALL | RP_OPTION_PATHS,
       ALL = RP_OPTION_ALL,
};

static const struct rp_row rows[] = {
#define COMMAND(id, takes, summary)                                                                \
    {.kind = RP_ROW_COMMAND, .name = #id, .operands = RP_OPERANDS_##takes, .text = (summary)},
#define ACTION(id, word, says)   {.kind = RP_ROW_ACTION, .name = (word), .text = (says)},
#define NEEDS_ACTION(id, says)   {.kind = RP_ROW_NEEDS_ACTION, .text = (says)},
#define USAGE(id, says)          {.kind = RP_ROW_USAGE, .text = (says)},
#define TEXT(id, says)           {.kind = RP_ROW_TEXT, .text = (says)},
#define GROUP(id, says)          {.kind = RP_ROW_GROUP, .text = (says)},
#define NAMES(id, heading, of)   {.kind = RP_ROW_NAMES, .text = (heading), .names = names_of_##of},
#define STATUS(id, status, says) {.kind = RP_ROW_STATUS, .name = (status), .text = (says)},
#define OPTION(id, member, long_name, short_name, form, stands, standard, marks, of_tool, says)    \
    {.kind = RP_ROW_OPTION,                                                                        \
     .name = (long_name),                                                                          \
     .letter = (short_name),                                                                       \
     RP_D_##form,                                                                                  \
     .value = (stands),                                                                            \
     .preset = (standard),                                                                         \
     .flags = (marks),                                                                             \
     .argument = (of_tool),                                                                        \
     .text = (says),                                                                               \
     .offset = offsetof(struct rp_##id##_cli, member)},
#define RULE(id, which, first, second, says)                                                       \
    {.kind = RP_ROW_RULE,                                                                          \
     .rule = RP_RULE_##which,                                                                      \
     .words = (first),                                                                             \
     .other = (second),                                                                            \
     .text = (says)},
#define TOOL_CHOICE(id, of_tool, form, choices, says)                                              \
    {.kind = RP_ROW_TOOL_CHOICE,                                                                   \
     .argument = (of_tool),                                                                        \
     .flags = (form),                                                                              \
     .words = (choices),                                                                           \
     .text = (says)},
#define OPERAND(id, of_tool, how_many, needed, says)                                               \
    {.kind = RP_ROW_OPERAND,                                                                       \
     .argument = (of_tool),                                                                        \
     .flags = (how_many) | ((needed) ? RP_OPTION_NEEDED : 0),                                      \
     .text = (says)},
#include "cli/options.def"
};

enum { ROWS = sizeof rows / sizeof *rows, MOST_OPTIONS = 63 };

const struct rp_row *rp_command_rows(enum rp_command_id command, size_t *ret_count)
{
    size_t begin = 0, end;

    for (unsigned before = 0;; begin++)
        if (rows[begin].kind == RP_ROW_COMMAND && before++ == (unsigned)command)
            break;
    for (end = begin + 1; end < ROWS && rows[end].kind != RP_ROW_COMMAND; end++)
        ;
    *ret_count = end - begin;
    return &rows[begin];
}

/** This is the table of rows, with options by their place. */
struct table {
    const struct rp_row *rows;
    size_t count;
    const struct rp_row *options[MOST_OPTIONS + 1]; /**< from 1 on */
    size_t option_count;
};

static struct table table_of(enum rp_command_id command)
{
    struct table t = {0};

    t.rows = rp_command_rows(command, &t.count);
    for (size_t i = 0; i < t.count; i++)
        if (t.rows[i].kind == RP_ROW_OPTION)
            t.options[++t.option_count] = &t.rows[i];
    return t;
}

static const struct rp_row *row_of_kind(const struct table *t, enum rp_row_kind kind)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].kind == kind)
            return &t->rows[i];
    return NULL;
}

const char *rp_row_option(const struct rp_row *row, char ret[64])
{
    if (row->letter)
        snprintf(ret, 64, "-%c", row->letter);
    else
        snprintf(ret, 64, "--%s", row->name);
    return ret;
}

/** Takes the next word of a list.
 * @return its length; 0: there is none */
static size_t next_word(const char **at)
{
    *at += strspn(*at, " ");
    return strcspn(*at, " ");
}

/** Writes "counts, detailed or off". */
static void put_choices(const struct rp_row *row, struct rp_buf *to)
{
    const char *words[32], *what;
    size_t lengths[32], count = 0;

    if (row->names)
        for (; (words[count] = row->names(count, &what)) != NULL; count++)
            lengths[count] = strlen(words[count]);
    for (const char *at = row->words; row->words && (lengths[count] = next_word(&at)) > 0;
         at += lengths[count++])
        words[count] = at;
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(to, "%s%.*s",
                      i == 0           ? ""
                      : i + 1 == count ? " or "
                                       : ", ",
                      (int)lengths[i], words[i]);
}

void rp_row_put_limits(const struct rp_row *row, struct rp_buf *to)
{
    if (row->words || row->names)
        put_choices(row, to);
    else if (row->type == RP_VALUE_UINT || row->type == RP_VALUE_NUMBER_WORD)
        rp_buf_printf(to, "%" PRIu64 " to %" PRIu64, row->min, row->max);
    else if (row->type == RP_VALUE_ABOVE_0)
        rp_buf_printf(to, "above 0, at most %.15g", row->high);
    else
        rp_buf_printf(to, "%.15g to %.15g", row->low, row->high);
}

void rp_row_put_text(const struct rp_row *row, struct rp_buf *to)
{
    for (const char *at = row->text; *at; at++)
        if (at[0] == '%' && at[1] == 'l')
            rp_row_put_limits(row, to), at++;
        else if (at[0] == '%' && at[1] == 'd')
            rp_buf_puts(to, row->preset), at++;
        else if (strncmp(at, RP_ROW_SHORT, strlen(RP_ROW_SHORT)) == 0)
            at++;
        else
            rp_buf_add(to, at, 1);
}

/* --- values -------------------------------------------------------------------------------- */

static int refuse(const struct rp_row *row, const char *word, struct rp_err *err)
{
    const bool seconds = row->value && strcmp(row->value, "S") == 0;
    const char *before = row->type == RP_VALUE_UINT      ? "a whole number from "
                         : row->type == RP_VALUE_PERCENT ? "per cent, from "
                         : row->words || row->names      ? ""
                         : seconds                       ? "a number of seconds "
                                                         : "a number ";
    const char *from =
        row->type == RP_VALUE_REAL || row->type == RP_VALUE_NUMBER_WORD ? "from " : "";
    rp_autobuf limits = {0};
    char option[64];

    rp_row_put_limits(row, &limits);
    return rp_fail(err, RP_USAGE, "%s %s: use %s%s%s", rp_row_option(row, option), word, before,
                   from, rp_buf_text(&limits));
}

/** "0x" begins a hexadecimal number where that is allowed, as rocprofv3 reads it. rocprofv3 reads
 * "010" as ten; it is refused here. */
static bool read_whole(const char *word, bool hex_too, uint64_t *ret)
{
    const bool hex = hex_too && strncmp(word, "0x", 2) == 0;
    const char *digits = hex ? word + 2 : word;
    char *end;

    errno = 0;
    *ret = strtoull(digits, &end, hex ? 16 : 10);
    return !errno && !*end &&
           (hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)) &&
           (hex || !hex_too || *word != '0' || !word[1]);
}

/** Refuses "inf", "nan", "0x1", "+1" and " 1". */
static bool read_real(const char *word, double *ret)
{
    char *end;

    *ret = strtod(word, &end);
    return *word && !*end && strspn(word, "0123456789.eE+-") == strlen(word) && *word != '+' &&
           *word != '-';
}

static int take_number(const struct rp_row *row, const char *word, void *member, struct rp_err *err)
{
    uint64_t whole;
    double real;

    if (row->type == RP_VALUE_UINT || row->type == RP_VALUE_NUMBER_WORD) {
        if (!read_whole(word, row->type == RP_VALUE_NUMBER_WORD, &whole) || whole < row->min ||
            whole > row->max)
            return refuse(row, word, err);
        if (row->type == RP_VALUE_UINT)
            *(uint64_t *)member = whole;
        else
            *(const char **)member = word;
        return 0;
    }
    if (!read_real(word, &real) || !(real >= row->low && real <= row->high) ||
        (row->type == RP_VALUE_ABOVE_0 && real <= 0))
        return refuse(row, word, err);
    *(double *)member = row->type == RP_VALUE_PERCENT ? real / 100 : real;
    return 0;
}

/** Says what a choice is called now, where the word is its old name; else it is the word. */
static const char *word_today(const struct rp_row *row, const char *word)
{
    const size_t old = row->was ? strcspn(row->was, " ") : 0;

    return old && strlen(word) == old && strncmp(word, row->was, old) == 0 ? row->was + old + 1
                                                                           : word;
}

static int take_choice(const struct rp_row *row, const char *word, int *ret, struct rp_err *err)
{
    const char *today = word_today(row, word);
    int place = 0;

    for (const char *at = row->words; next_word(&at) > 0; at += next_word(&at), place++)
        if (strlen(today) == next_word(&at) && strncmp(at, today, strlen(today)) == 0) {
            *ret = place;
            return 0;
        }
    return refuse(row, word, err);
}

static int take_name(const struct rp_row *row, const char *word, const char **ret,
                     struct rp_err *err)
{
    const char *name, *what;

    for (size_t i = 0; (name = row->names(i, &what)) != NULL; i++)
        if (strcmp(name, word) == 0) {
            *ret = word;
            return 0;
        }
    return refuse(row, word, err);
}

/* Completion leaves slashes at the end. They are removed, because files beside the folder are named
 * by adding to its name. */
static void strip_slashes(char *folder)
{
    size_t length = strlen(folder);

    while (length > 1 && folder[length - 1] == '/')
        folder[--length] = '\0';
}

static int take_text(const struct rp_row *row, char *word, const char **ret, struct rp_err *err)
{
    char option[64];

    rp_row_option(row, option);
    if (row->type == RP_VALUE_DIR)
        strip_slashes(word);
    *ret = word;
    if (row->type == RP_VALUE_CHECKED)
        return row->check(option, word, err);
    if (row->type == RP_VALUE_SCRIPT && !word[strspn(word, " \t\n")])
        return rp_fail(err, RP_USAGE,
                       strcmp(option, "--check") == 0
                           ? "%s: an empty command says yes to everything; leave the option out"
                           : "%s: the command is empty: give one",
                       option);
    if (row->type == RP_VALUE_TEXT || *word)
        return 0;
    return rp_fail(err, RP_USAGE, "%s needs %s", option,
                   row->type == RP_VALUE_DIR    ? "the name of a folder"
                   : row->type == RP_VALUE_FILE ? "the name of a file"
                                                : "a value");
}

static void add_word(struct rp_word_list *words, char *word)
{
    char **grown = rp_realloc_array(words->at, words->count + 2, sizeof *grown);

    words->at = grown;
    grown[words->count++] = word;
    grown[words->count] = NULL;
}

void rp_word_list_split(char *text, const char *separators, struct rp_word_list *to)
{
    char *state = NULL;

    for (char *at = strtok_r(text, separators, &state); at; at = strtok_r(NULL, separators, &state))
        add_word(to, at);
}

static int take_words(const struct rp_row *row, char *word, struct rp_word_list *to,
                      struct rp_err *err)
{
    char option[64];
    size_t before;

    if (row->type != RP_VALUE_WORDS) {
        add_word(to, word);
        return 0;
    }
    if (!(row->flags & RP_OPTION_ADDS))
        to->count = 0;
    before = to->count;
    rp_word_list_split(word, row->words, to);
    if (to->count > row->max)
        return rp_fail(err, RP_USAGE, "%s: more than %" PRIu64 " words", rp_row_option(row, option),
                       row->max);
    return to->count > before ? 0
                              : rp_fail(err, RP_USAGE, "%s is empty", rp_row_option(row, option));
}

static int take_value(const struct rp_row *row, char *word, void *args, struct rp_err *err)
{
    void *member = (char *)args + row->offset;

    switch (row->type) {
    case RP_VALUE_FLAG:
        *(bool *)member = true;
        return 0;
    case RP_VALUE_UINT:
    case RP_VALUE_REAL:
    case RP_VALUE_ABOVE_0:
    case RP_VALUE_PERCENT:
    case RP_VALUE_NUMBER_WORD:
        return take_number(row, word, member, err);
    case RP_VALUE_CHOICE:
        return take_choice(row, word, member, err);
    case RP_VALUE_NAME:
        return take_name(row, word, member, err);
    case RP_VALUE_WORDS:
    case RP_VALUE_EACH:
    case RP_VALUE_NUMBERS:
        return take_words(row, word, member, err);
    default:
        return take_text(row, word, member, err);
    }
}

/* --- rules --------------------------------------------------------------------------------- */

/** This is the command line as rules see it. */
struct line {
    const struct table *table;
    const struct rp_args *args;
    const char *words[MOST_OPTIONS + 1]; /**< of options that are given, as they stand there */
};

static const struct rp_row *option_named(const struct line *l, const char *name, size_t length,
                                         size_t *ret_place)
{
    for (*ret_place = 1; *ret_place <= l->table->option_count; ++*ret_place) {
        const struct rp_row *row = l->table->options[*ret_place];

        if (strncmp(row->name, name, length) == 0 && !row->name[length])
            return row;
    }
    abort(); /* A rule names no option. The tests read all rules, so no user gets here. */
}

/** Says whether an option whose name begins so is given. */
static bool any_begins(const struct line *l, const char *name, size_t length, char ret[64])
{
    for (size_t place = 1; place <= l->table->option_count; place++)
        if (l->args->given >> place & 1 &&
            strncmp(l->table->options[place]->name, name, length) == 0) {
            rp_row_option(l->table->options[place], ret);
            return true;
        }
    return false;
}

/** Says whether a word of a rule is true.
 * @param ret what it is called */
static bool holds(const struct line *l, const char *word, size_t length, char ret[64])
{
    const size_t name = strcspn(word, "=* ");
    const struct rp_row *row;
    const char *said;
    size_t place;

    if (*word == '=') {
        snprintf(ret, 64, "%.*s", (int)length - 1, word + 1);
        return l->args->action && strcmp(l->args->action, ret) == 0;
    }
    if (length == strlen("operands") && strncmp(word, "operands", length) == 0)
        return l->args->operand_count > 0;
    if (word[name] == '*')
        return any_begins(l, word, name, ret);
    row = option_named(l, word, name, &place);
    rp_row_option(row, ret);
    if (name == length)
        return l->args->given >> place & 1;
    said = l->args->given >> place & 1 ? l->words[place] : row->preset;
    return said && strlen(said) == length - name - 1 &&
           strncmp(said, word + name + 1, strlen(said)) == 0;
}

/** Counts the words of a list that are true, and names the first @p most of them. */
static size_t count_true(const struct line *l, const char *list, size_t most, char ret[][64])
{
    size_t count = 0, length;
    char name[64];

    for (const char *at = list; at && (length = next_word(&at)) > 0; at += length)
        if (holds(l, at, length, name)) {
            if (count < most)
                memcpy(ret[count], name, sizeof name);
            count++;
        }
    return count;
}

/** Names what the offender goes with as a user writes it: "--pmc, --roofline or --deep-analysis".
 */
static void put_needed(const struct line *l, const struct rp_row *rule, const char *offender,
                       struct rp_buf *to)
{
    size_t length, count = 0;
    char name[64];

    rp_buf_printf(to, "%s goes with", offender);
    for (const char *at = rule->other; (length = next_word(&at)) > 0; at += length) {
        const bool last = !at[length];

        holds(l, at, length, name);
        rp_buf_printf(to, "%s %s", !count ? "" : last ? " or" : ",", name);
        count++;
    }
}

static int broken(const struct line *l, const struct rp_row *rule, const char *offender,
                  const char *other, struct rp_err *err)
{
    rp_autobuf text = {0};

    if (rule->text)
        for (const char *at = rule->text; *at; at++)
            if (at[0] == '%' && at[1] == 's')
                rp_buf_puts(&text, offender), at++;
            else
                rp_buf_add(&text, at, 1);
    else if (rule->rule == RP_RULE_NEEDS && *rule->other == '=' && l->args->action)
        rp_buf_printf(&text, "%s does not take %s", l->args->action, offender);
    else if (rule->rule == RP_RULE_NEEDS)
        put_needed(l, rule, offender, &text);
    else
        rp_buf_printf(&text, "%s and %s exclude each other", other, offender);
    return rp_fail(err, RP_USAGE, "%s", rp_buf_text(&text));
}

static int check_rule(const struct line *l, const struct rp_row *rule, struct rp_err *err)
{
    char first[2][64] = {"", ""}, second[1][64] = {""};
    const size_t firsts = count_true(l, rule->words, 2, first);
    const size_t seconds = count_true(l, rule->other, 1, second);

    switch (rule->rule) {
    case RP_RULE_ONE_OF:
        return firsts > 1 ? broken(l, rule, first[1], first[0], err) : 0;
    case RP_RULE_NOT_WITH:
        return firsts && seconds ? broken(l, rule, second[0], first[0], err) : 0;
    case RP_RULE_NEEDS:
        return firsts && !seconds ? broken(l, rule, first[0], "", err) : 0;
    default:
        return firsts ? 0 : broken(l, rule, "", "", err);
    }
}

/* --- the command line ---------------------------------------------------------------------- */

/** Takes the first word where it is one of the command's actions.
 * @return how many words that takes */
static int take_action(const struct table *t, const char *word, struct rp_args *args)
{
    for (size_t i = 0; word && i < t->count; i++)
        if (t->rows[i].kind == RP_ROW_ACTION && strcmp(t->rows[i].name, word) == 0) {
            args->action = t->rows[i].name;
            return 1;
        }
    return 0;
}

static int set_presets(const struct table *t, void *args, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 1; i <= t->option_count && rc == 0; i++) {
        const struct rp_row *row = t->options[i];

        if (row->type == RP_VALUE_CHOICE)
            *(int *)((char *)args + row->offset) = -1;
        /* The text is never written to, because such a DIR does not end in a slash. */
        if (row->preset)
            rc = take_value(row, (char *)(uintptr_t)row->preset, args, err);
    }
    return rc;
}

static int take_option(struct line *l, size_t place, char *word, struct rp_args *args,
                       struct rp_err *err)
{
    const struct rp_row *row = l->table->options[place];
    char option[64];

    if (row->flags & RP_OPTION_ONCE && args->given >> place & 1)
        return rp_fail(err, RP_USAGE, "%s %s: there is one already, %s", rp_row_option(row, option),
                       word, l->words[place]);
    args->given |= (uint64_t)1 << place;
    l->words[place] = word;
    return take_value(row, word, args, err);
}

static int no_option(const struct table *t, const char *argument, struct rp_err *err)
{
    rp_autobuf word = {0};
    struct rp_nearest nearest = {0};

    rp_buf_add(&word, argument + 2, strcspn(argument + 2, "="));
    nearest.word = rp_buf_text(&word);
    for (size_t i = 1; i <= t->option_count; i++)
        if (!(t->options[i]->flags & RP_OPTION_HIDDEN))
            rp_nearest_try(&nearest, t->options[i]->name);
    return nearest.name ? rp_fail(err, RP_USAGE, "%s is no option, did you mean --%s?", argument,
                                  nearest.name)
                        : rp_fail(err, RP_USAGE, "%s is no option", argument);
}

/** Finds what is wrong with a long option that getopt did not take. The message starts with its
 * name. */
static int bad_long_option(const struct table *t, const char *argument, struct rp_err *err)
{
    const size_t length = strcspn(argument + 2, "=");
    const struct rp_row *first = NULL;

    for (size_t i = 1; i <= t->option_count && length > 0; i++) {
        const struct rp_row *row = t->options[i];

        if (strncmp(row->name, argument + 2, length) != 0)
            continue;
        if (!row->name[length])
            return rp_fail(err, RP_USAGE, "--%s takes no value", row->name);
        if (first)
            return rp_fail(err, RP_USAGE, "%s can be --%s or --%s: write it out", argument,
                           first->name, row->name);
        first = row;
    }
    return first ? rp_fail(err, RP_USAGE, "--%s takes no value", first->name)
                 : no_option(t, argument, err);
}

/** getopt has returned ':' or '?'. The message names the option, also one within "-xyz". */
static int bad_option(const struct table *t, const char *argument, int key, struct rp_err *err)
{
    const char single[] = {'-', (char)optopt, '\0'};
    const bool is_short = optopt > ' ' && optopt < 127 && strncmp(argument, "--", 2) != 0;

    if (key == '?' && !is_short && strncmp(argument, "--", 2) == 0)
        return bad_long_option(t, argument, err);
    return rp_fail(err, RP_USAGE, "%s %s", is_short ? single : argument,
                   key == ':' ? "needs a value" : "is no option");
}

static int check_operands(const struct table *t, const struct rp_args *args, struct rp_err *err)
{
    const struct rp_row *needs = row_of_kind(t, RP_ROW_NEEDS_ACTION);

    if (needs && !args->action && args->operand_count)
        return rp_fail(err, RP_USAGE, "%s: %s", args->operands[0], needs->text);
    if (needs && !args->action)
        return rp_fail(err, RP_USAGE, "%s", needs->text);
    if (t->rows->operands == RP_OPERANDS_NONE && args->operand_count)
        return rp_fail(err, RP_USAGE, "unexpected argument %s", args->operands[0]);
    return 0;
}

/** Finds an option BEHIND by the word that it begins with.
 * @param ret_words how many words it takes
 * @return its place; 0: it is none */
static size_t option_behind(const struct table *t, const char *word, size_t *ret_words)
{
    for (size_t place = 1; place <= t->option_count; place++) {
        const struct rp_row *row = t->options[place];

        *ret_words = row->type == RP_VALUE_FLAG ? 1 : 2;
        if (row->flags & RP_OPTION_BEHIND && strncmp(word, "--", 2) == 0 &&
            strcmp(word + 2, row->name) == 0)
            return place;
    }
    return 0;
}

/** Returns how many words the option at the end of these takes; 0: there is none. */
static size_t words_at_end(const struct table *t, char *const *words, size_t count)
{
    for (size_t length = 1, takes; length <= 2 && length <= count; length++)
        if (option_behind(t, words[count - length], &takes) && takes == length)
            return length;
    return 0;
}

/** Counts the words that are left to the program, of which the first is its name. */
static size_t words_of_program(const struct table *t, char *const *words, size_t count)
{
    for (size_t length; count > 1 && (length = words_at_end(t, words + 1, count - 1)) > 0;)
        count -= length;
    return count;
}

/** Says whether a word would be an option in front of PROGRAM: "--runs", "--runs=2", "-o". */
static bool names_option(const struct table *t, const char *word)
{
    const bool is_long = strncmp(word, "--", 2) == 0;
    const char *name = word + 2;
    const size_t length = is_long ? strcspn(name, "=") : 0;

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return true;
    for (size_t place = 1; place <= t->option_count; place++) {
        const struct rp_row *row = t->options[place];
        const char letter[] = {'-', row->letter, '\0'};

        if (is_long ? strncmp(row->name, name, length) == 0 && !row->name[length]
                    : row->letter && strcmp(word, letter) == 0)
            return true;
    }
    return false;
}

/** Lists the words of a program that its command would read in front of it, up to a "--". */
static void put_mistakable(const struct table *t, char *const *words, size_t count,
                           struct rp_buf *to)
{
    for (size_t i = 1; i < count && strcmp(words[i], "--") != 0; i++)
        if (names_option(t, words[i]))
            rp_buf_printf(to, "%s%s", to->len ? " " : "", words[i]);
}

/** Tells whether the command reads some options behind PROGRAM, so that one may expect it of all.
 */
static bool has_behind(const struct table *t)
{
    for (size_t place = 1; place <= t->option_count; place++)
        if (t->options[place]->flags & RP_OPTION_BEHIND)
            return true;
    return false;
}

bool rp_needs_separator(enum rp_command_id command, char *const *program, size_t count)
{
    const struct table t = table_of(command);
    rp_autobuf mistakable = {0};

    if (has_behind(&t))
        put_mistakable(&t, program, count, &mistakable);
    return program[0][0] == '-' || mistakable.len || words_of_program(&t, program, count) < count;
}

/** Says what was taken, because a program may have options of these names. */
static void note_behind(const struct rp_args *args, size_t kept)
{
    size_t count;
    const char *program = args->operands[0];
    rp_autobuf words = {0};

    for (size_t i = kept; i < args->operand_count; i++)
        rp_buf_printf(&words, "%s%s", i > kept ? " " : "", args->operands[i]);
    rp_cli_note("%s behind %s is read by rocm-perf %s; to pass it to %s, write -- before %s or set "
                "ROCM_PERF_STRICT_ARGS=1",
                rp_buf_text(&words), program, rp_command_rows(args->command, &count)->name, program,
                program);
}

/** Says what the command would have read in front of PROGRAM. It may well be the program's own. */
static void note_left(const struct line *l, const struct rp_args *args)
{
    rp_autobuf words = {0};
    size_t count, quiet;

    if (!has_behind(l->table) ||
        (option_named(l, "quiet", strlen("quiet"), &quiet) && args->given >> quiet & 1))
        return;
    put_mistakable(l->table, args->operands, args->operand_count, &words);
    if (words.len)
        rp_cli_note("%s behind %s went to it: options of rocm-perf %s stand before %s; where it is "
                    "meant to get them, write -- before it",
                    rp_buf_text(&words), args->operands[0],
                    rp_command_rows(args->command, &count)->name, args->operands[0]);
}

/** People write options of profile behind PROGRAM, too. Those which end the line are taken from the
 * program's arguments, unless "--" says that all of these are the program's. */
static int take_behind(struct line *l, struct rp_args *args, struct rp_err *err)
{
    const char *strict = getenv("ROCM_PERF_STRICT_ARGS");
    const size_t kept = words_of_program(l->table, args->operands, args->operand_count);
    int rc = 0;

    if (strict && *strict && strcmp(strict, "0") != 0)
        return 0;
    if (kept < args->operand_count)
        note_behind(args, kept);
    for (size_t at = kept, length; rc == 0 && at < args->operand_count; at += length) {
        const size_t place = option_behind(l->table, args->operands[at], &length);

        rc = take_option(l, place, length > 1 ? args->operands[at + 1] : NULL, args, err);
    }
    args->operands[kept] = NULL;
    args->operand_count = kept;
    if (rc == 0)
        note_left(l, args);
    return rc;
}

/** A model of time that the command's option refuses is not taken from the variable, either: its
 * verdicts hold for kernels of their own, in whose caches nothing is left. Commands have words of
 * their own for off. */
static int check_timing_variable(const struct line *l, struct rp_err *err)
{
    const char *said = rp_timing_variable();
    rp_autobuf choices = {0};
    size_t place;
    int at;

    if (!said || strcmp(said, "warm") != 0 ||
        !option_named(l, "timing", strlen("timing"), &place) || l->args->given >> place & 1)
        return 0;
    if (take_choice(l->table->options[place], said, &at, NULL) == 0)
        return 0;
    put_choices(l->table->options[place], &choices);
    return rp_fail(err, RP_USAGE, "ROCM_PERF_DEVICE_TIMING=%s: use %s", said,
                   rp_buf_text(&choices));
}

/** @return 1: goes on; 0: help is wanted; negative */
static int read_line(struct line *l, int argc, char **argv, void *ret, struct rp_err *err)
{
    enum { HELP = 'h', FIRST = 256 }; /* Options without a letter get numbers behind all letters. */
    const struct table *t = l->table;
    struct option names[MOST_OPTIONS + 2] = {{"help", no_argument, NULL, HELP}};
    char letters[2 * MOST_OPTIONS + 8] = "";
    struct rp_args *args = ret;
    const char *value = NULL;
    int key, rc = 0;

    snprintf(letters, sizeof letters, "%s:h", t->rows->operands == RP_OPERANDS_STOP ? "+" : "");
    for (size_t i = 1; i <= t->option_count; i++) {
        const bool flag = t->options[i]->type == RP_VALUE_FLAG;

        names[i] = (struct option){t->options[i]->name, flag ? no_argument : required_argument,
                                   NULL, FIRST + (int)i};
        if (t->options[i]->letter)
            snprintf(letters + strlen(letters), sizeof letters - strlen(letters), "%c%s",
                     t->options[i]->letter, flag ? "" : ":");
    }
    opterr = 0;
    optind = 0; /* getopt begins anew, because the order of words may have been another. */
    while (rc == 0 && (key = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        size_t place = key > FIRST ? (size_t)(key - FIRST) : 0;

        if (key == HELP)
            return 0;
        if (key == '?' || key == ':')
            return bad_option(t, argv[optind - 1], key, err);
        while (key < FIRST && t->options[++place]->letter != key)
            ;
        value = optarg;
        rc = take_option(l, place, optarg, args, err);
        if (rc == 0 && t->options[place]->flags & RP_OPTION_ENDS)
            return 1;
    }
    args->operands = argv + optind;
    args->operand_count = (size_t)(argc - optind);
    /* "-o --" names a folder: that word separates nothing. */
    if (rc == 0 && (strcmp(argv[optind - 1], "--") != 0 || argv[optind - 1] == value))
        rc = take_behind(l, args, err);
    if (rc == 0)
        rc = check_operands(t, args, err);
    for (size_t i = 0; i < t->count && rc == 0; i++)
        if (t->rows[i].kind == RP_ROW_RULE)
            rc = check_rule(l, &t->rows[i], err);
    if (rc == 0)
        rc = check_timing_variable(l, err);
    return rc < 0 ? rc : 1;
}

/** Computes the size of the struct, which ends with its last member. */
static size_t size_of(enum rp_command_id command)
{
    static const size_t sizes[] = {
#define COMMAND(id, operands, summary) sizeof(struct rp_##id##_cli),
#include "cli/options.def"
    };

    return sizes[command];
}

/** Old names stay accepted. The command says once what they are called now; programs that it starts
 * get the new ones. */
static void note_old_names(const struct line *l)
{
    for (size_t place = 1; place <= l->table->option_count; place++) {
        const struct rp_row *row = l->table->options[place];
        const bool given = l->args->given >> place & 1, renamed = row->was && rp_timing_rename();
        const char *word = given ? l->words[place] : "", *today = word_today(row, word);

        if (today != word)
            rp_cli_note("--%s %s is called %s now", row->name, word, today);
        else if (renamed && !given)
            rp_cli_note("ROCM_PERF_DEVICE_TIMING=" RP_TIMING_COUNTS_WAS " is called counts now");
    }
}

bool rp_options_parse(enum rp_command_id command, int argc, char **argv, void *ret, int *ret_code)
{
    const struct table table = table_of(command);
    struct rp_args *args = memset(ret, 0, size_of(command));
    struct line line = {.table = &table, .args = args};
    struct rp_err err = RP_ERR_INIT;
    int rc, words;

    args->command = command;
    words = take_action(&table, argc > 1 ? argv[1] : NULL, args);
    rc = set_presets(&table, ret, &err);
    if (rc == 0)
        rc = read_line(&line, argc - words, argv + words, ret, &err);
    if (rc > 0) {
        note_old_names(&line);
        return true;
    }
    if (rc < 0) {
        *ret_code = rp_args_refuse(args, &err);
        return false;
    }
    *ret_code = rp_options_print_help(command);
    return false;
}

int rp_args_refuse(const struct rp_args *args, const struct rp_err *err)
{
    size_t count;

    if (err->code != RP_USAGE)
        return rp_cli_error(err);
    return rp_cli_usage_error(rp_command_rows(args->command, &count)->name, "%s", err->text);
}

void rp_args_free(void *args)
{
    const struct table t = table_of(((struct rp_args *)args)->command);

    for (size_t i = 1; i <= t.option_count; i++)
        if (t.options[i]->type == RP_VALUE_WORDS || t.options[i]->type == RP_VALUE_EACH ||
            t.options[i]->type == RP_VALUE_NUMBERS) {
            struct rp_word_list *words =
                (struct rp_word_list *)((char *)args + t.options[i]->offset);

            free(words->at);
            *words = (struct rp_word_list){0};
        }
}

/* --- help ---------------------------------------------------------------------------------- */

enum { WIDTH = 80, MOST_LEFT = 24 };

/** Writes words from the column @p indent, where the line is, to the right margin. Further lines
 * begin at the same column. */
static void put_wrapped(const char *text, size_t indent, struct rp_buf *to)
{
    size_t column = indent;

    for (size_t length; *(text += strspn(text, " ")); text += length) {
        length = strcspn(text, " ");
        if (column > indent && column + 1 + length > WIDTH) {
            rp_buf_printf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            rp_buf_puts(to, " ");
            column++;
        }
        rp_buf_add(to, text, length);
        column += length;
    }
    rp_buf_puts(to, "\n");
}

/** Writes " LEFT text" with the text in a column of its own. */
static void put_item(const char *left, size_t width, const char *text, struct rp_buf *to)
{
    const size_t indent = width + 4;

    if (strlen(left) > width)
        rp_buf_printf(to, "  %s\n%*s", left, (int)indent, "");
    else
        rp_buf_printf(to, "  %-*s", (int)width + 2, left);
    put_wrapped(text, indent, to);
}

static void put_left(const struct rp_row *row, struct rp_buf *to)
{
    if (row->letter)
        rp_buf_printf(to, "-%c, ", row->letter);
    rp_buf_printf(to, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
}

static size_t width_of(const struct table *t)
{
    size_t width = strlen("--help");

    for (size_t i = 1; i <= t->option_count; i++) {
        rp_autobuf left = {0};

        put_left(t->options[i], &left);
        if (left.len > width && left.len <= MOST_LEFT && !(t->options[i]->flags & RP_OPTION_HIDDEN))
            width = left.len;
    }
    return width;
}

static void put_option(const struct rp_row *row, size_t width, struct rp_buf *to)
{
    rp_autobuf left = {0}, text = {0};

    put_left(row, &left);
    rp_row_put_text(row, &text);
    if (!(row->flags & RP_OPTION_HIDDEN))
        put_item(rp_buf_text(&left), width, rp_buf_text(&text), to);
}

static void put_names(const struct rp_row *row, struct rp_buf *to)
{
    const char *name, *what;
    size_t width = 0;

    for (size_t i = 0; (name = row->names(i, &what)) != NULL; i++)
        width = strlen(name) > width ? strlen(name) : width;
    rp_buf_printf(to, "\n%s\n", row->text);
    for (size_t i = 0; (name = row->names(i, &what)) != NULL; i++)
        put_item(name, width, what, to);
}

static void put_usage(const struct table *t, struct rp_buf *to)
{
    const char *before = "usage:";

    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].kind == RP_ROW_USAGE) {
            rp_autobuf left = {0};

            rp_buf_printf(&left, "%-6s rocm-perf %s%s", before, t->rows->name,
                          t->rows[i].text[0] ? " " : "");
            rp_buf_add(to, left.data, left.len);
            put_wrapped(t->rows[i].text, left.len, to);
            before = "";
        }
}

static void put_statuses(const struct table *t, struct rp_buf *to)
{
    rp_buf_puts(to, "\nexit status:\n");
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].kind == RP_ROW_STATUS)
            put_item(t->rows[i].name, strlen("else"), t->rows[i].text, to);
}

/** Says whether this option is the last one before another group, or the last of all. */
static bool ends_group(const struct table *t, size_t at)
{
    while (++at < t->count && t->rows[at].kind != RP_ROW_GROUP)
        if (t->rows[at].kind == RP_ROW_OPTION)
            return false;
    return true;
}

/** Writes what --help prints. */
static void options_help(enum rp_command_id command, struct rp_buf *to)
{
    const struct table t = table_of(command);
    const size_t width = width_of(&t);
    bool help_is_there = false;

    put_usage(&t, to);
    for (size_t i = 0; i < t.count; i++) {
        const struct rp_row *row = &t.rows[i];
        const bool item = row->kind == RP_ROW_OPTION || row->kind == RP_ROW_ACTION;

        if (row->kind == RP_ROW_TEXT || row->kind == RP_ROW_GROUP) {
            rp_buf_puts(to, "\n");
            put_wrapped(row->text, 0, to);
        } else if (row->kind == RP_ROW_NAMES) {
            put_names(row, to);
        } else if (item && row[-1].kind == RP_ROW_TEXT) {
            rp_buf_puts(to, "\n");
        }
        if (row->kind == RP_ROW_ACTION)
            put_item(row->name, width, row->text, to);
        if (row->kind == RP_ROW_OPTION)
            put_option(row, width, to);
        if (row->kind == RP_ROW_OPTION && !help_is_there && ends_group(&t, i)) {
            put_item("--help", width, "this text", to);
            help_is_there = true;
        }
    }
    if (!help_is_there) {
        rp_buf_puts(to, "\n");
        put_item("--help", width, "this text", to);
    }
    put_statuses(&t, to);
}

int rp_options_print_help(enum rp_command_id command)
{
    rp_autobuf text = {0};

    options_help(command, &text);
    return rp_cli_help(rp_buf_text(&text));
}

const char *rp_timing_variable(void)
{
    return rp_timing_model_today(getenv("ROCM_PERF_DEVICE_TIMING"));
}

const char *const rp_timing_words[] = {"counts", "detailed", "off", "warm"};

void rp_device_options_read(const char *device, uint64_t threads, uint64_t gpus, int timing,
                            struct rp_run_options *ret)
{
    if (device)
        /* This cannot fail, because the text was accepted when it was read. */
        rp_device_parse(device, ret, NULL);
    ret->threads = (uint32_t)threads;
    ret->gpus = (uint32_t)gpus;
    if (timing >= 0)
        ret->timing = rp_timing_parse(rp_timing_words[timing]);
}

int rp_roof_options_read(struct rp_roof_options *options, struct rp_err *err)
{
    const struct rp_note_sink notes = rp_cli_notes();
    int rc = 0;

    if (options->roof.arch)
        rc = rp_roofline_check_arch(options->roof.arch, err);
    if (rc < 0 || !options->ceilings)
        return rc;
    rc = rp_roofline_read_ceilings(options->ceilings, &options->measured, err);
    if (rc == 0 && !options->measured.by_bench)
        rc = rp_counters_open_facts(options->ceilings, &options->neighbours, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; options->neighbours && i < options->neighbours->warning_count; i++)
        rp_note(&notes, "%s", options->neighbours->warnings[i]);
    if (options->neighbours) {
        options->measured_on = options->neighbours->any;
    } else {
        options->measured_on.compute_units = options->measured.compute_units;
        options->measured_on.source = options->ceilings;
        memcpy(options->measured_on.arch, options->measured.arch, sizeof options->measured.arch);
    }
    options->roof.measured = &options->measured;
    options->roof.measured_on = &options->measured_on;
    return 0;
}

void rp_roof_options_free(struct rp_roof_options *options)
{
    rp_counters_free(options->neighbours);
}

/* Shortens "AMD Instinct MI300X" to the name without the maker. */
static const char *short_name(const char *product)
{
    static const char maker[] = "AMD Instinct ";

    return strncmp(product, maker, sizeof maker - 1) == 0 ? product + sizeof maker - 1 : product;
}

void rp_cli_warn_about_target(const char *executable, struct rp_run_options *options)
{
    const char *wish = getenv("HSA_XNACK");
    bool xnack = wish && strcmp(wish, "1") == 0; /* Other values leave XNACK off. */
    char targets[256];

    if (options->device != RP_DEVICE_SOFTWARE)
        return;
    const struct rp_arch gpu = rp_software_gpu(options);
    const char *gfx = gpu.name;
    switch (rp_program_fits_gpu(executable, gfx, xnack, targets, sizeof targets)) {
    case RP_OFFLOAD_FITS:
        return;
    case RP_OFFLOAD_OTHER_GPU:
        options->target_said = true;
        rp_cli_note("warning: %s has device code for %s only, but the software %s is "
                    "%s: its kernels cannot start; compile with --offload-arch=%s",
                    executable, targets, short_name(gpu.product), gfx, gfx);
        return;
    case RP_OFFLOAD_XNACK_ON:
        options->target_said = true;
        rp_cli_note("warning: %s has device code for %s:xnack+ only, but XNACK is off: its "
                    "kernels cannot start; set HSA_XNACK=1 or compile with --offload-arch=%s",
                    executable, gfx, gfx);
        return;
    case RP_OFFLOAD_XNACK_OFF:
        options->target_said = true;
        rp_cli_note("warning: %s has device code for %s:xnack- only, but XNACK is on: its "
                    "kernels cannot start; unset HSA_XNACK or compile with --offload-arch=%s",
                    executable, gfx, gfx);
        return;
    }
}
