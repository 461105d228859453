/** The option table: what its rows_ say is consistent, and each form of a value is read as it says.
 */
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "unit/cmocka_all.h"

#include "cli/options.c"

enum { MOST_WORDS = 16 };

/** A command test_line in memory that may be written to, as main() has it. */
struct test_line {
    char text[512];
    char *argv[MOST_WORDS + 1];
    int argc;
};

/** Words with | between them. */
static bool parse(enum rp_command_id command, const char *words, struct test_line *test_line,
                  void *ret, int *ret_code)
{
    memset(test_line, 0, sizeof *test_line);
    snprintf(test_line->text, sizeof test_line->text, "%s", words);
    for (char *at = test_line->text, *end; at && test_line->argc < MOST_WORDS; at = end) {
        test_line->argv[test_line->argc++] = at;
        end = strchr(at, '|');
        if (end)
            *end++ = '\0';
    }
    *ret_code = -1;
    return rp_options_parse(command, test_line->argc, test_line->argv, ret, ret_code);
}

static const struct rp_row *named(const struct rp_row *rows_, size_t count, enum rp_row_kind kind,
                                  const char *name, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (rows_[i].kind == kind && strncmp(rows_[i].name, name, bytes) == 0 &&
            !rows_[i].name[bytes])
            return &rows_[i];
    return NULL;
}

/** A word of a rule names an option, the beginning of one, an action, or operands. */
static void check_word(const struct rp_row *rows_, size_t count, const char *word, size_t bytes)
{
    const size_t name = strcspn(word, "=* ");
    bool begins = false;

    if (*word == '=') {
        assert_non_null(named(rows_, count, RP_ROW_ACTION, word + 1, bytes - 1));
        return;
    }
    if (bytes == strlen("operands") && strncmp(word, "operands", bytes) == 0)
        return;
    for (size_t i = 0; i < count; i++)
        begins |= rows_[i].kind == RP_ROW_OPTION && strncmp(rows_[i].name, word, name) == 0;
    if (!begins || (word[name] != '*' && !named(rows_, count, RP_ROW_OPTION, word, name)))
        fail_msg("%s: a rule names %.*s", rows_->name, (int)bytes, word);
}

static void check_list(const struct rp_row *rows_, size_t count, const char *list)
{
    for (size_t bytes; list && *list; list += bytes + (list[bytes] == ' ')) {
        bytes = strcspn(list, " ");
        check_word(rows_, count, list, bytes);
    }
}

static void rules_name_what_is_there(void **state)
{
    (void)state;
    for (unsigned c = 0; c < RP_COMMANDS; c++) {
        size_t count;
        const struct rp_row *rows_ = rp_command_rows((enum rp_command_id)c, &count);

        for (size_t i = 0; i < count; i++)
            if (rows_[i].kind == RP_ROW_RULE) {
                check_list(rows_, count, rows_[i].words);
                check_list(rows_, count, rows_[i].other);
            }
    }
}

/** Names and letters once, not too many for their bits, and a text for each. */
static void options_differ(void **state)
{
    (void)state;
    for (unsigned c = 0; c < RP_COMMANDS; c++) {
        size_t count, options = 0;
        const struct rp_row *rows_ = rp_command_rows((enum rp_command_id)c, &count);

        for (size_t i = 0; i < count; i++) {
            if (rows_[i].kind != RP_ROW_OPTION)
                continue;
            options++;
            assert_non_null(rows_[i].text);
            assert_int_equal(rows_[i].value == NULL, rows_[i].type == RP_VALUE_FLAG);
            for (size_t k = i + 1; k < count; k++)
                if (rows_[k].kind == RP_ROW_OPTION &&
                    (strcmp(rows_[k].name, rows_[i].name) == 0 ||
                     (rows_[k].letter && rows_[k].letter == rows_[i].letter)))
                    fail_msg("%s has --%s twice", rows_->name, rows_[i].name);
        }
        assert_true(options <= 63);
    }
}

static void presets_are_there(void **state)
{
    struct rp_autotune_cli autotune;
    struct rp_replay_cli replay;
    struct test_line test_line;
    int code;

    (void)state;
    assert_true(
        parse(RP_COMMAND_autotune, "autotune|--simulate|s.json", &test_line, &autotune, &code));
    assert_string_equal(autotune.simulate, "s.json");
    assert_int_equal(autotune.seed, 1);
    assert_true(autotune.max_fraction == 0.2);
    assert_int_equal(autotune.output_unit, 2);
    assert_string_equal(autotune.strategy, "portfolio");
    assert_null(autotune.output);
    assert_int_equal(autotune.timing, -1);
    assert_false(RP_IS_GIVEN(autotune, &autotune, max_failures));
    assert_true(RP_IS_GIVEN(autotune, &autotune, simulate));
    rp_args_free(&autotune);
    assert_true(parse(RP_COMMAND_replay, "replay|compare|a|--gate|not-slower|b", &test_line,
                      &replay, &code));
    assert_string_equal(replay.args.action, "compare");
    assert_int_equal(replay.args.operand_count, 2);
    assert_string_equal(replay.args.operands[1], "b");
    assert_int_equal(replay.gate, 1);
    assert_int_equal(replay.cache, -1);
    rp_args_free(&replay);
}

static void values_as_they_are_written(void **state)
{
    struct rp_profile_cli profile;
    struct rp_compare_cli compare;
    struct test_line test_line;
    int code;

    (void)state;
    assert_true(
        parse(RP_COMMAND_profile,
              "profile|--pmc=A, B|--pmc|C|-oout//|--run=7|--timeout|.5|--att-simd-select=0x3|"
              "--deep-analysis|p|--version",
              &test_line, &profile, &code));
    assert_int_equal(profile.counters.count, 3);
    assert_string_equal(profile.counters.at[1], "B");
    assert_string_equal(profile.counters.at[2], "C");
    assert_string_equal(profile.output, "out");
    assert_int_equal(profile.runs, 7);
    assert_true(profile.timeout_s == 0.5);
    assert_string_equal(profile.att_simd_select, "0x3");
    assert_false(profile.version); /* the program's own word */
    assert_int_equal(profile.args.operand_count, 2);
    rp_args_free(&profile);
    assert_true(parse(RP_COMMAND_compare, "compare|a|--gate=x|--margin=2.5|--gate|y|b", &test_line,
                      &compare, &code));
    assert_int_equal(compare.gates.count, 2);
    assert_true(compare.margin == 0.025);
    rp_args_free(&compare);
}

/** All of them are usage errors, and none of them is read as something else. */
static void what_is_refused(void **state)
{
    static const struct {
        enum rp_command_id command;
        const char *words;
    } lines[] = {
        {RP_COMMAND_run, "run|--threads|+4|p"},
        {RP_COMMAND_run, "run|--threads| 4|p"},
        {RP_COMMAND_run, "run|--threads|0x4|p"},
        {RP_COMMAND_run, "run|--threads|257|p"},
        {RP_COMMAND_run, "run|--threads||p"},
        {RP_COMMAND_run, "run|--threads"},
        {RP_COMMAND_run, "run|--timing|fas|p"},
        {RP_COMMAND_run, "run|--clock|0|p"},
        {RP_COMMAND_run, "run|--clock|x|p"},
        {RP_COMMAND_run, "run|--clock|2401|p"},
        {RP_COMMAND_judge, "judge|--clock|1400|p"},
        {RP_COMMAND_run, "run|--device|tpu|p"},
        {RP_COMMAND_run, "run"},
        {RP_COMMAND_compare, "compare|--margin|0x1|a|b"},
        {RP_COMMAND_compare, "compare|--margin|nan|a|b"},
        {RP_COMMAND_compare, "compare|--margin|1e999|a|b"},
        {RP_COMMAND_compare, "compare|--margin|-0|a|b"},
        {RP_COMMAND_compare, "compare|--junit|x|--junit|y|a|b"},
        {RP_COMMAND_compare, "compare|--json|--github|a|b"},
        {RP_COMMAND_profile, "profile|--att-target-cu|010|--deep-analysis|p"},
        {RP_COMMAND_profile, "profile|--att-target-cu|1|p"},
        {RP_COMMAND_profile, "profile|--pmc|, |p"},
        {RP_COMMAND_profile, "profile|-o||p"},
        {RP_COMMAND_profile, "profile|p|--json|--quiet"},
        {RP_COMMAND_profile, "profile|p|--memory-bandwidth-gbps|x"},
        {RP_COMMAND_profile, "profile|p|--no-rocprof|--why"},
        {RP_COMMAND_autotune, "autotune|--simulate|s|--max-fraction|0"},
        {RP_COMMAND_autotune, "autotune|--simulate|s|--seed|9223372036854775808"},
        {RP_COMMAND_autotune, "autotune|--simulate|s|--warmup|1"},
        {RP_COMMAND_autotune, "autotune|--simulate|s|--gpus|1"},
        {RP_COMMAND_autotune, "autotune|--space|s|--cmd-template| "},
        {RP_COMMAND_history, "history|--json"},
        {RP_COMMAND_history, "history|list|--strict"},
        {RP_COMMAND_doctor, "doctor|x"},
    };
    union { /* large enough for each */
        struct rp_args args;
        struct rp_profile_cli profile;
        struct rp_autotune_cli autotune;
    } options;
    struct test_line test_line;
    int code;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (parse(lines[i].command, lines[i].words, &test_line, &options, &code))
            fail_msg("%s is taken", lines[i].words);
        if (code != RP_USAGE)
            fail_msg("%s: exit status %d", lines[i].words, code);
        rp_args_free(&options);
    }
}

/** Nothing behind it is looked at. */
static void version_ends_the_line(void **state)
{
    struct rp_profile_cli profile;
    struct test_line test_line;
    int code;

    (void)state;
    assert_true(
        parse(RP_COMMAND_profile, "profile|--version|--bogus", &test_line, &profile, &code));
    assert_true(profile.version);
    rp_args_free(&profile);
}

/** Options that end the line behind PROGRAM are the command's, unless "--" stands before PROGRAM:
 * which of the words are left to it. */
static void options_may_end_the_line(void **state)
{
    static const struct {
        const char *words;
        size_t left;
        bool json, roofline;
        double gbps;
    } lines[] = {
        {"profile|p|--json", 1, true, false, 0},
        {"profile|p|x|--roofline|--json", 2, true, true, 0},
        {"profile|p|--memory-bandwidth-gbps|100|--json", 1, true, false, 100},
        {"profile|p|--memory-bandwidth-gbps|7|--memory-bandwidth-gbps|9", 1, false, false, 9},
        {"profile|--json|p", 1, true, false, 0},
        {"profile|--json|p|--roofline", 1, true, true, 0},
        {"profile|-o|--|p|--json", 1, true, false, 0},
        {"profile|--|p|--json", 2, false, false, 0},
        {"profile|-o|d|--|p|--json", 2, false, false, 0},
        {"profile|-o|--|--|p|--json", 2, false, false, 0},
        {"profile|p|--json|x", 3, false, false, 0},
        {"profile|p|--json|x|--roofline", 3, false, true, 0},
        {"profile|p|--json=1", 2, false, false, 0},
        {"profile|p|--js", 2, false, false, 0},
        {"profile|p|--runs|1", 3, false, false, 0},
        {"profile|p|--memory-bandwidth-gbps", 2, false, false, 0},
        {"profile|p|--memory-bandwidth-gbps|--json", 2, true, false, 0},
        {"profile|p|-v|--verbose", 3, false, false, 0},
    };
    struct rp_profile_cli profile;
    struct test_line test_line;
    int code;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!parse(RP_COMMAND_profile, lines[i].words, &test_line, &profile, &code))
            fail_msg("%s is refused", lines[i].words);
        if (profile.args.operand_count != lines[i].left || profile.args.operands[lines[i].left] ||
            profile.json != lines[i].json || profile.roofline != lines[i].roofline ||
            profile.memory_gbps != lines[i].gbps)
            fail_msg("%s: %zu words are the program's", lines[i].words, profile.args.operand_count);
        rp_args_free(&profile);
    }
    setenv("ROCM_PERF_STRICT_ARGS", "1", 1);
    assert_true(parse(RP_COMMAND_profile, "profile|p|--json", &test_line, &profile, &code));
    assert_int_equal(profile.args.operand_count, 2);
    assert_false(profile.json);
    rp_args_free(&profile);
    unsetenv("ROCM_PERF_STRICT_ARGS");
}

/** Reads a line and returns what it says on stderr. */
static char *remarks_of(const char *words)
{
    rp_autoclose int file = memfd_create("stderr", 0), before = dup(STDERR_FILENO);
    struct rp_profile_cli profile;
    struct test_line test_line;
    char text[4096];
    ssize_t length;
    int code;

    dup2(file, STDERR_FILENO);
    const bool taken = parse(RP_COMMAND_profile, words, &test_line, &profile, &code);
    dup2(before, STDERR_FILENO);
    if (!taken)
        fail_msg("%s is refused", words);
    rp_args_free(&profile);
    length = pread(file, text, sizeof text - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    return rp_strdup(text);
}

/** Options that are the program's because of their place are named in one line. */
static void options_behind_are_remarked(void **state)
{
    static const struct {
        const char *words, *named; /**< NULL: nothing is said */
    } lines[] = {
        {"profile|p|--duration|2", "--duration"},
        {"profile|p|x|-o|d|--runs=0|-v", "-o --runs=0 -v"},
        {"profile|p|--help", "--help"},
        {"profile|p|-h", "-h"},
        {"profile|p|--json=1", "--json=1"},
        {"profile|p|--quiet|-v", "--quiet -v"},
        {"profile|p|--memory-bandwidth-gbps=100", "--memory-bandwidth-gbps=100"},
        {"profile|p|--memory-bandwidth-gbps", "--memory-bandwidth-gbps"},
        {"profile|p|--debug|y", "--debug"},
        {"profile|p|--|--runs|2", NULL},
        {"profile|--|p|--runs|2", NULL},
        {"profile|-o|d|--|p|-v", NULL},
        {"profile|--quiet|p|--runs|2", NULL},
        {"profile|p|--runs|2|--quiet", NULL},
        {"profile|p|-|x|--run|-verbose|runs|--runsx|-=|--=", NULL},
    };

    const char *const remark = " behind p went to it: ";

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        rp_autofree char *said = remarks_of(lines[i].words), *expected = NULL;

        if (asprintf(&expected, "rocm-perf: %s%s", lines[i].named ? lines[i].named : "", remark) <
            0)
            abort();
        const char *found = strstr(said, remark), *more = found ? found + strlen(remark) : "";
        if (lines[i].named ? !strstr(said, expected) || strstr(more, remark) : found != NULL)
            fail_msg("%s: %s", lines[i].words, said);
    }
    setenv("ROCM_PERF_STRICT_ARGS", "1", 1);
    rp_autofree char *strict = remarks_of("profile|p|--runs|2");
    assert_string_equal(strict, "");
    unsetenv("ROCM_PERF_STRICT_ARGS");
}

/** A command line to paste has "--" where words of the program would be read as options. */
static void separators_are_there_where_needed(void **state)
{
    char program[] = "p", dash[] = "-p", word[] = "x", json[] = "--json";
    char *with[] = {program, word, json, NULL}, *before[] = {program, json, word, NULL};
    char *named[] = {dash, NULL}, *plain[] = {program, word, NULL};

    (void)state;
    assert_true(rp_needs_separator(RP_COMMAND_profile, with, 3));
    assert_true(rp_needs_separator(RP_COMMAND_profile, named, 1));
    assert_true(rp_needs_separator(RP_COMMAND_profile, before, 3)); /* It would remark on it. */
    assert_false(rp_needs_separator(RP_COMMAND_profile, plain, 2));
    assert_false(rp_needs_separator(RP_COMMAND_run, with, 3));
}

/** What %l and %d stand for is in each text of --help. */
static void help_has_no_gaps(void **state)
{
    (void)state;
    for (unsigned c = 0; c < RP_COMMANDS; c++) {
        rp_autobuf text = {0};

        options_help((enum rp_command_id)c, &text);
        assert_null(strstr(rp_buf_text(&text), "%l"));
        assert_null(strstr(rp_buf_text(&text), "%d"));
        for (const char *at = rp_buf_text(&text); *at; at += strcspn(at, "\n") + 1)
            if (strcspn(at, "\n") > 80)
                fail_msg("%.*s", (int)strcspn(at, "\n"), at);
    }
}

static const char *nearest_of(const char *word)
{
    struct rp_nearest nearest = {.word = word};

    for (unsigned c = 0; c < RP_COMMANDS; c++) {
        size_t count;

        rp_nearest_try(&nearest, rp_command_rows((enum rp_command_id)c, &count)->name);
    }
    return nearest.name;
}

/** One or two typing errors are understood, but another word never becomes a command. */
static void typing_errors_are_understood(void **state)
{
    char long_word[4096];

    (void)state;
    assert_string_equal(nearest_of("porfile"), "profile");
    assert_string_equal(nearest_of("profle"), "profile");
    assert_string_equal(nearest_of("Compare"), "compare");
    assert_string_equal(nearest_of("replya"), "replay");
    assert_string_equal(nearest_of("prof"), "profile");
    assert_string_equal(nearest_of("analyse"), "analyze");
    assert_null(nearest_of("frobnicate"));
    assert_null(nearest_of(""));
    assert_null(nearest_of("x"));
    memset(long_word, 'p', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_null(nearest_of(long_word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_name_what_is_there),
        cmocka_unit_test(options_differ),
        cmocka_unit_test(presets_are_there),
        cmocka_unit_test(values_as_they_are_written),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(version_ends_the_line),
        cmocka_unit_test(options_may_end_the_line),
        cmocka_unit_test(options_behind_are_remarked),
        cmocka_unit_test(separators_are_there_where_needed),
        cmocka_unit_test(help_has_no_gaps),
        cmocka_unit_test(typing_errors_are_understood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
