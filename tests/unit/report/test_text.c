#include "report/report.h"

#include "base/buf.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/report_text.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BAD          "\xef\xbf\xbd" /* U+FFFD */

static void invalid_bytes_become_replacements(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"b\xc3\xa4r", "b\xc3\xa4r"},
        {"\xe4\xb8\xad\xf0\x9f\x9a\x80", "\xe4\xb8\xad\xf0\x9f\x9a\x80"},
        {"\xff", BAD},
        {"\x80", BAD},
        {"\xe4\xb8", BAD BAD}, /* cut off by the end */
        {"\xe4"
         "a",
         BAD "a"},                             /* cut off by a letter */
        {"\xc0\xaf", BAD BAD},                 /* overlong '/' */
        {"\xe0\x80\xaf", BAD BAD BAD},         /* overlong in three */
        {"\xed\xa0\x80", BAD BAD BAD},         /* surrogate */
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond U+10FFFF */
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"\xf0\x9f\x9a", BAD BAD BAD},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        rp_autobuf buf = {0};

        rp_utf8_fix(&buf, rows[i].in, strlen(rows[i].in));
        assert_string_equal(rp_buf_text(&buf), rows[i].out);
    }
}

static void nothing_controls_the_terminal(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"a\x1b[31mb", "a\\x1b[31mb"},
        {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"}, /* C1 control */
        {"\xe2\x80\xae"
         "x",
         "\\u202ex"},                /* right-to-left override */
        {"\xe2\x80\x8b", "\\u200b"}, /* zero width */
        {"\xc3\xa4", "\xc3\xa4"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        rp_autobuf buf = {0};

        rp_text_printable(&buf, rows[i].in, 100);
        assert_string_equal(rp_buf_text(&buf), rows[i].out);
    }
}

static void long_text_keeps_head_and_tail(void **state)
{
    static const struct {
        unsigned cells;
        const char *out;
    } rows[] = {
        {26, "abcdefghijklmnopqrstuvwxyz"},
        {27, "abcdefghijklmnopqrstuvwxyz"},
        {12, "abcdef...xyz"},
        {4, "a..."},
        {3, "..."},
        {1, "."},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        rp_autobuf buf = {0};

        rp_text_printable(&buf, "abcdefghijklmnopqrstuvwxyz", rows[i].cells);
        assert_string_equal(rp_buf_text(&buf), rows[i].out);
    }
}

/* The numbers of a line stay on it, whatever the name; and a name cannot control the terminal. */
static void a_long_name_has_a_line_of_its_own(void **state)
{
    rp_autobuf buf = {0};
    struct rp_page page = {.out = &buf, .width = 30};

    (void)state;
    rp_page_named(&page, RP_INK_PLAIN, 2, "stage(float const*, int)", "-%d %%: ", 12);
    rp_page_named(&page, RP_INK_PLAIN, 2, "a\033[31mb", "-%d %%: ", 5);
    assert_string_equal(rp_buf_text(&buf), "  -12 %:\n        stage(float const*,\n"
                                           "          int)\n  -5 %: a\\x1b[31mb\n");
}

/* Columns of a row are kept, and what does not fit is on a further line. */
static void rows_are_wrapped_not_cut(void **state)
{
    rp_autobuf buf = {0};
    struct rp_page page = rp_page_of(&buf, (struct rp_term_style){.width = 20}, 20);
    struct rp_page whole = rp_page_of(&buf, (struct rp_term_style){0}, 20);

    (void)state;
    rp_page_line(&page, RP_INK_PLAIN, 0, "   1  %s", "one two three four");
    rp_page_line(&whole, RP_INK_PLAIN, 0, "   1  %s", "one two three four");
    assert_string_equal(rp_buf_text(&buf),
                        "   1  one two three\n     four\n   1  one two three four\n");
}

static void bars_are_as_long_as_their_share(void **state)
{
    rp_autobuf buf = {0};
    struct rp_page ascii = {.out = &buf}, utf8 = {.out = &buf, .utf8 = true};

    (void)state;
    rp_page_bar(&ascii, 0.5, 4, &buf);
    rp_page_bar(&ascii, 2, 4, &buf);
    rp_page_bar(&ascii, NAN, 4, &buf);
    rp_page_bar(&utf8, 0.3, 4, &buf);
    rp_page_bar(&utf8, 1, 2, &buf);
    assert_string_equal(rp_buf_text(&buf), "##  ####    █▎  ██");
}

/* What a shell reads is the word, and what a terminal reads controls nothing. */
static void a_command_can_be_pasted(void **state)
{
    static const char *const words[] = {"rocm-perf", "profile", "./my app",    "it's", "$(x)",
                                        "a\nb\x1b'", "",        "caf\xc3\xa9", NULL};
    rp_autobuf buf = {0};
    struct rp_page page = rp_page_of(&buf, (struct rp_term_style){.width = 20}, 20);

    (void)state;
    rp_page_next(&page, words);
    assert_string_equal(rp_buf_text(&buf), "Next: rocm-perf profile './my app' 'it'\\''s' '$(x)' "
                                           "$'a\\x0ab\\x1b\\'' '' 'caf\xc3\xa9'\n");
}

/* Wide characters take two cells; whatever is cut, no line is wider than asked for. */
static void never_wider_than_asked(void **state)
{
    static const char *const texts[] = {
        "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87 plain \xe4\xb8\xad\xe6\x96\x87",
        "a\xe4\xb8\xad"
        "b\xe6\x96\x87"
        "c\xf0\x9f\x9a\x80"
        "d\xff\xff\xff",
        "\033[31m\n\n\n\xe2\x80\xae\xf3\xa0\x81\x81 ::x",
        "short",
    };

    (void)state;
    assert_int_equal(rp_text_cells("\xe4\xb8\xad"), 2);
    for (size_t t = 0; t < COUNT(texts); t++) {
        for (unsigned cells = 1; cells < 40; cells++) {
            rp_autobuf buf = {0};

            rp_text_printable(&buf, texts[t], cells);
            assert_true(rp_text_cells(rp_buf_text(&buf)) <= cells);
        }
    }
}

static void numbers_have_fixed_decimals(void **state)
{
    static const struct {
        double value;
        unsigned decimals;
        const char *out;
    } rows[] = {
        {0, 6, "0.000000"},         {0.0034, 6, "0.003400"},
        {1.9999996, 6, "2.000000"}, {1234567.25, 1, "1234567.3"},
        {-0.5, 1, "-0.5"},          {-0.0000001, 3, "0.000"},
        {99.95, 0, "100"},          {0.5, 12, "0.500000000"},
        {1e30, 2, "huge"},          {-1e30, 2, "-huge"},
        {DBL_MAX, 9, "huge"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(rp_number_fixed(rows[i].value, rows[i].decimals).text, rows[i].out);
    }
    assert_string_equal(rp_number_fixed(INFINITY, 2).text, "huge");
    assert_string_equal(rp_number_fixed(NAN, 2).text, "?");
    assert_true(rp_round6(0.12345678) == 0.123457);
    assert_true(rp_round6(DBL_MAX) == DBL_MAX);
}

static void a_change_of_nothing_has_no_sign(void **state)
{
    static const struct {
        double value;
        unsigned decimals;
        const char *out;
    } rows[] = {
        {1.25, 1, "+1.3"},  {-1.25, 1, "-1.3"},     {0, 1, "0.0"},      {-0.0, 1, "0.0"},
        {0.04, 1, "0.0"},   {-0.04, 1, "0.0"},      {0.4, 0, "0"},      {0.05, 2, "+0.05"},
        {10, 0, "+10"},     {0.0004, 4, "+0.0004"}, {1e30, 2, "+huge"}, {-1e30, 2, "-huge"},
        {100, 1, "+100.0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(rp_number_signed(rows[i].value, rows[i].decimals).text, rows[i].out);
    assert_string_equal(rp_number_signed(NAN, 2).text, "?");
}

static void runs_without_a_time_are_said(void **state)
{
    const struct rp_versus_kernel before = {.runs = {.count = 10}}, after = {.runs = {.count = 8}};
    const struct rp_versus_pair pair = {
        .before = &before, .after = &after, .time = {.before_runs = 7, .after_runs = 8}};
    rp_autobuf text = {0};

    (void)state;
    rp_versus_changes_text(&text, &pair);
    assert_string_equal(rp_buf_text(&text), "no time in 3 of 10 runs before");
}

static void words_are_not_cut(void **state)
{
    static const struct {
        const char *text;
        unsigned cells;
        size_t bytes;
    } rows[] = {
        {"", 5, 0},
        {"   ", 5, 0},
        {"one two", 7, 7},
        {"one two", 6, 3},
        {"one two", 3, 3},
        {"one two", 2, 3}, /* one at least */
        {"one  two three", 8, 8},
        {"  one two", 5, 5},
        {"  one two", 1, 5},
        {"one ", 3, 3},
        {"one ", 9, 3},
        {"\xe4\xb8\xad\xe4\xb8\xad b", 6, 8}, /* two cells each */
        {"\xe4\xb8\xad\xe4\xb8\xad b", 5, 6},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (text_words(rows[i].text, rows[i].cells) != rows[i].bytes)
            fail_msg("\"%s\" in %u: %zu bytes", rows[i].text, rows[i].cells,
                     text_words(rows[i].text, rows[i].cells));
    }
}

static void lines_of_words_are_broken(void **state)
{
    rp_autobuf buf = {0};
    struct rp_page page = rp_page_of_words(&buf, (struct rp_term_style){.width = 44});
    struct rp_page whole = rp_page_of_words(&buf, (struct rp_term_style){0});
    struct rp_page coloured =
        rp_page_of_words(&buf, (struct rp_term_style){.width = 3, .colour = true});

    (void)state;
    rp_page_words(&page, RP_INK_RED, 2, 3, "0123456789 0123456789 0123456789 012345678 0\x1b  x");
    rp_page_words(&whole, RP_INK_PLAIN, 1, 2, "%050d %050d\nnext", 1, 2);
    rp_page_words(&coloured, RP_INK_RED, 0, 1, "0123456789 0123456789 0123456789 0123456789 0");
    assert_string_equal(rp_buf_text(&buf), "  0123456789 0123456789 0123456789 012345678\n"
                                           "     0\\x1b  x\n"
                                           " 00000000000000000000000000000000000000000000000001 "
                                           "00000000000000000000000000000000000000000000000002\n"
                                           "   next\n"
                                           "\x1b[31m0123456789 0123456789 0123456789\x1b[0m\n"
                                           " \x1b[31m0123456789 0\x1b[0m\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_bytes_become_replacements),
        cmocka_unit_test(nothing_controls_the_terminal),
        cmocka_unit_test(words_are_not_cut),
        cmocka_unit_test(lines_of_words_are_broken),
        cmocka_unit_test(long_text_keeps_head_and_tail),
        cmocka_unit_test(a_long_name_has_a_line_of_its_own),
        cmocka_unit_test(rows_are_wrapped_not_cut),
        cmocka_unit_test(bars_are_as_long_as_their_share),
        cmocka_unit_test(a_command_can_be_pasted),
        cmocka_unit_test(never_wider_than_asked),
        cmocka_unit_test(numbers_have_fixed_decimals),
        cmocka_unit_test(a_change_of_nothing_has_no_sign),
        cmocka_unit_test(runs_without_a_time_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
