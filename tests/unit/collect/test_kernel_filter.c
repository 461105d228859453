/*
 * What is refused of --kernel-include-regex was compared with std::regex of libstdc++ on random
 * patterns; the tables hold a case of each kind, as that decides them.
 */
#include "unit/cmocka_all.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "run/kernel_names.h"

#include "run/kernel_names.c"

static void check(int (*fn)(const char *, struct rp_err *), const char *text, bool good)
{
    struct rp_err err = RP_ERR_INIT;
    int rc = fn(text, &err);

    if (rc != (good ? 0 : -RP_USAGE))
        fail_msg("%s: %d %s", text, rc, err.text);
    if (!good)
        assert_non_null(strstr(err.text, text));
}

static int check_regex(const char *text, struct rp_err *err)
{
    return rp_kernel_regex_check("--kernel", text, err);
}

static void test_regex(void **state)
{
    static const char *const good[] = {
        "saxpy",       "",        "^void gemm<.*>\\(float\\*\\)$",
        "(a|b)+c?",    "(?:ab)*", "(?=a)a",
        "(?!b)a",      "[]",      "[^]]",
        "[[:alpha:]]", "[!\\[=]", "[a\\]b]",
        "a{2}",        "a{2,}",   "a{2,3}?",
        "a**",         "a]b}",    "\\(",
        "a|",          "()",      "x[(]y",
    };
    static const char *const bad[] = {
        "(",      "a(b",     ")",    "a)b", "[a",   "[a\\]",   "a\\",   "*x",
        "+",      "a|?",     "(*)",  "^*",  "{2}",  "a{",      "a{x}",  "a{3,2}",
        "a{2,x}", "(?<a>b)", "(?a)", "(?",  "[[:]", "kernel(", "a{2,3", "[[:alpha]]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check(check_regex, good[i], true);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(check_regex, bad[i], false);
}

static char *ones(size_t count, char last)
{
    char *text = malloc(count + 1);

    assert_non_null(text);
    memset(text, 'a', count);
    text[count - 1] = last;
    text[count] = '\0';
    return text;
}

/* As std::regex_search finds it, and a name by itself whatever it means in an expression. */
static void test_patterns(void **state)
{
    static const struct {
        const char *text, *name;
        bool found;
    } rows[] = {
        {"", "k", true},
        {"em", "gemm", true},
        {"^em", "gemm", false},
        {"mm$", "gemm", true},
        {"^gemm$|sort", "sort", true},
        {"a|^b", "cb", false},
        {"^$", "k", false},
        {"\\bk\\b", "void k(int)", true},
        {"\\d{2}", "k12", true},
        {"k(int*)", "k(int*)", true},
        {"k$|^a", "xk", true},
        {"(a)(b)", "xaby", true},
        {"x*", "k", true},
        {"a.b", "a\nb", true},
    };
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0};

        if (rp_kernel_pattern_compile("--kernel", rows[i].text, &pattern, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        if (rp_kernel_pattern_finds(&pattern, rows[i].name, NULL) != rows[i].found)
            fail_msg("%s in %s", rows[i].text, rows[i].name);
    }
}

/* A pattern cannot take what the machine has, whatever it is searched for in. */
static void test_pattern_bounds(void **state)
{
    static const char *const refused[] = {"((a{1,255}){1,255}){1,255}", "(a*)*\\1", "a{9999}",
                                          "(((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+"};
    rp_autofree char *name = ones(RP_KERNEL_NAME_BYTES, 'b'), *over = ones(1 << 21, 'b');
    rp_autofree char *exact = ones(9000, '$');
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0}, whole = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        regex_t regex;

        assert_int_equal(rp_kernel_pattern_compile("--kernel", refused[i], &pattern, &err),
                         -RP_USAGE);
        assert_int_equal(rp_kernel_regex_compile("--kernel", refused[i], &regex, &err), -RP_USAGE);
        assert_null(pattern.text);
    }
    /* Quadratic with a search that begins at each character: 10^9 steps for the names below. */
    assert_int_equal(rp_kernel_pattern_compile("--kernel", "(a|aa)*c", &pattern, &err), 0);
    for (int i = 0; i < 10; i++)
        assert_false(rp_kernel_pattern_finds(&pattern, name, NULL));
    assert_true(pattern.searched_bytes <= RP_KERNEL_NAME_BYTES); /* states are forgotten */
    assert_true(rp_kernel_pattern_finds(&pattern, "aac", NULL));
    assert_false(rp_kernel_pattern_finds(&pattern, over, NULL));
    assert_true(rp_kernel_pattern_finds(&pattern, "aaaac", NULL));
    /* The whole of a name may be as long as names are. */
    exact[0] = '^';
    assert_int_equal(rp_kernel_pattern_compile("--kernel", exact, &whole, &err), 0);
    exact[8999] = '\0';
    assert_true(rp_kernel_pattern_finds(&whole, exact + 1, NULL));
    assert_false(rp_kernel_pattern_finds(&whole, over, NULL));
}

static void test_ranges(void **state)
{
    static const char *const good[] = {"[2-3],[7]", "1", "[1, 3-5]", "2-2", "[9999999]"};
    static const char *const bad[] = {"[3-1]", "x",   "",      "[]",    "[1-]",    "[-3]",
                                      "1-2-3", "[1x", "1 - 3", "[1;2]", "10000000"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check(rp_kernel_ranges_check, good[i], true);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(rp_kernel_ranges_check, bad[i], false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_pattern_bounds),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
