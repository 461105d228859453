/* The next command is the last one with other options, whichever way those were written. */
#include "cli/cli.h"
#include "cli/options.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "unit/cmocka_all.h"

enum { MOST = 16 };

static void check_next(const struct rp_args *args, char *const *argv, const char *expected)
{
    const struct rp_other_option others[] = {{.option = "--resume"},
                                             {.option = "--budget", .value = "20"},
                                             {.option = "--output", .value = "a b"},
                                             {.option = "--dry-run", .gone = true}};
    rp_autobuf text = {0};

    rp_next_command(args, argv, others, sizeof others / sizeof *others, &text);
    assert_string_equal(rp_buf_text(&text), expected);
}

static void replaces_options(void **state)
{
    static const char all[] = "\nNext: rocm-perf optimize --resume --budget 20 --output 'a b' ";
    static const struct {
        const char *words[MOST], *rest;
    } rows[] = {
        {{"optimize", "app", "--source", "k.hip"}, "app --source k.hip\n"},
        {{"optimize", "--budget", "10", "app", "--budget=5", "--source=k.hip"},
         "app --source=k.hip\n"},
        {{"optimize", "-o", "old", "-oold", "--out", "old", "--dry-run", "--res", "app"}, "app\n"},
        /* A value that looks like an option, and the program's own words. */
        {{"optimize", "--check", "--resume", "-v", "-", "--", "app", "--budget", "1", "-o"},
         "--check --resume -v - -- app --budget 1 -o\n"},
        {{"optimize", "app", "--budget"}, "app\n"},
    };
    const struct rp_args args = {.command = RP_COMMAND_optimize};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autobuf expected = {0};
        rp_autofree char **copy = NULL;
        int count = 0;

        while (rows[i].words[count])
            count++;
        copy = rp_words_copy(count, (char *const *)(uintptr_t)rows[i].words);
        assert_non_null(copy);
        rp_buf_printf(&expected, "%s%s", all, rows[i].rest);
        check_next(&args, copy, rp_buf_text(&expected));
    }
    check_next(&args, NULL, "");
}

static void keeps_the_action(void **state)
{
    const char *argv[] = {"replay", "compare", "a.hsaco", "b c.hsaco", "--blocks", "10", NULL};
    const struct rp_args args = {.command = RP_COMMAND_replay, .action = "compare"};
    const struct rp_other_option other = {.option = "--blocks", .value = "200"};
    rp_autobuf text = {0};

    (void)state;
    rp_next_command(&args, (char *const *)(uintptr_t)argv, &other, 1, &text);
    assert_string_equal(rp_buf_text(&text),
                        "\nNext: rocm-perf replay compare --blocks 200 a.hsaco 'b c.hsaco'\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_options),
        cmocka_unit_test(keeps_the_action),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
