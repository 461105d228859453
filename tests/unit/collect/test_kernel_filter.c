/*
 * What is refused of --kernel-include-regex was compared with std::regex of libstdc++ on random
 * patterns; the tables hold a case of each kind, as that decides them.
 */
#include "unit/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "collect/kernel_filter.h"

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
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
