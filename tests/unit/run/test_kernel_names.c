/*
 * What is refused of --kernel-include-regex was compared with std::regex of libstdc++ on random
 * patterns; the tables hold a case of each kind, as that decides them.
 */
#include "unit/cmocka_all.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/kernel_names.h"
#include "run/machine.h"

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

static int run_expressions(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_pattern_bounds),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Names of kernels: what LLVM's demangler says, and what is left when it cannot be asked. */
static void check_name(struct rp_demangler *d, const char *symbol, const char *name)
{
    rp_autofree char *got = rp_demangle_kernel(d, symbol);

    assert_string_equal(got, name);
}

/* What libstdc++ 12 does not know is among them. */
static void llvm_knows_them(void **state)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_demangler_close) struct rp_demangler d = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf symbol = {0}, name = {0};

    (void)state;
    assert_int_equal(rp_environment_detect(&env, &err), 0);
    rp_demangler_open(&env, &d);
    if (!d.program)
        skip();
    check_name(&d, "_Z3addPf.kd", "add(float*)");
    check_name(&d, "_Z3addPf", "add(float*)");
    check_name(&d, "_Z5scaleIDF16_EvPT_.kd", "void scale<_Float16>(_Float16*)");
    check_name(&d, "_Z5scaleIDF16bEvPT_.kd", "void scale<std::bfloat16_t>(std::bfloat16_t*)");
    check_name(&d, "__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer");
    check_name(&d, "_Znot_a_name.kd", "_Znot_a_name");
    check_name(&d, "_Z3addPf\n_Z3addPf", "_Z3addPf\n_Z3addPf"); /* one line is one name */
    check_name(&d, "_Z3addPf x", "_Z3addPf x");
    check_name(&d, "_Z", "_Z");
    /* Characters of two, three and four bytes, the same one again, and what is no UTF-8. */
    check_name(&d, "_Z6étagePf.kd", "étage(float*)");
    check_name(&d, "_ZN3né6blocéIiEEvPT_S1_", "void né::blocé<int>(int*, int)");
    check_name(&d, "_Z6日本I4éèE9核👍xxEvPT_", "_Z6日本I4éèE9核👍xxEvPT_");
    check_name(&d, "_Z6日本I4éèEvT_9核👍xx", "void 日本<éè>(éè, 核👍xx)");
    check_name(&d, "_Z6\xc3tagePf", "_Z6\xc3tagePf");
    check_name(&d, "_Z7$étagePf", "_Z7$étagePf");
    check_name(&d, ".kd", ".kd");
    check_name(&d, "", "");
    /* A template of 3000 arguments, each another one: no substitution makes it short. */
    rp_buf_puts(&symbol, "_Z1fIJ");
    rp_buf_puts(&name, "void f<");
    for (unsigned i = 0; i < 3000; i++) {
        rp_buf_printf(&symbol, "5a%04u", i);
        rp_buf_printf(&name, "%sa%04u", i ? ", " : "", i);
    }
    rp_buf_puts(&symbol, "EEvv");
    rp_buf_puts(&name, ">()");
    check_name(&d, rp_buf_text(&symbol), rp_buf_text(&name));
    check_name(&d, "_Z3addPf", "add(float*)");
}

static void without_it_names_stay(void **state)
{
    struct rp_demangler d = {0};

    (void)state;
    check_name(NULL, "_Z3addPf.kd", "_Z3addPf");
    check_name(&d, "_Z3addPf.kd", "_Z3addPf");
    d.program = strdup("/nowhere/llvm-cxxfilt");
    check_name(&d, "_Z3addPf.kd", "_Z3addPf");
    rp_demangler_close(&d);
}

/* Programs that stand in for it: they end, say too much, or nothing. */
static void a_broken_one_does_no_harm(void **state)
{
    static const char *const scripts[] = {"exit 0",
                                          "cat /dev/zero",
                                          "exec >&-; sleep 60",
                                          "read line; exit 1",
                                          "read line; kill -9 $$",
                                          "echo"};
    char folder[] = "/tmp/rp-demangle-XXXXXX";
    rp_autofree char *program = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    program = rp_path_join(folder, "llvm-cxxfilt");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        rp_autofree char *text = rp_format("#!/bin/sh\n%s\n", scripts[i]);
        struct rp_demangler d = {.program = strdup(program), .patience_ms = 300};
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_write_file(program, text, strlen(text), &err), 0);
        assert_int_equal(chmod(program, 0700), 0);
        check_name(&d, "_Z3addPf.kd", "_Z3addPf");
        check_name(&d, "_Z3subPf.kd", "_Z3subPf");
        rp_demangler_close(&d);
    }
    rp_remove_tree(folder);
}

static void patterns_find_names_and_descriptors(void **state)
{
    static const struct {
        const char *pattern, *name, *symbol;
        bool finds;
    } rows[] = {
        {"add", "add(float*)", "_Z3addPf.kd", true},
        {"^add\\(", "add(float*)", "_Z3addPf.kd", true},
        {"add(float*)", "add(float*)", "_Z3addPf.kd", true},
        {"add(float*) [clone .kd]", "add(float*)", "_Z3addPf.kd", true},
        {"add(float*) (.kd)", "add(float*)", "_Z3addPf.kd", true},
        {"second.kd", "second", "second.kd", true},
        {"^second\\.kd$", "second", "second.kd", true},
        {"second[.]kd", "second", "second.kd", true},
        {"^sec \\[clone \\.kd\\]$", "second", "second.kd", true},
        {"_Z3addPf", "add(float*)", "_Z3addPf.kd", true},
        {"_Z3addPf.kd", "add(float*)", "_Z3addPf", true},
        {"_Z3add", "add(float*)", "_Z3addPf.kd", false},
        {"first.kd", "second", "second.kd", false},
        {".kd", "second", "second.kd", false},
        {"add(int*) [clone .kd]", "add(float*)", "_Z3addPf.kd", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_kernel_pattern p = {0};
        struct rp_err err = RP_ERR_INIT;

        if (rp_kernel_pattern_compile("--kernel", rows[i].pattern, &p, &err) < 0)
            fail_msg("%s", err.text);
        if (rp_kernel_pattern_finds(&p, rows[i].name, rows[i].symbol) != rows[i].finds)
            fail_msg("%s and %s", rows[i].pattern, rows[i].name);
        rp_kernel_pattern_free(&p);
    }
}

/* As tables tell kernels of one name apart; other expressions do not see the digits. */
static void patterns_find_code(void **state)
{
    static const struct {
        const char *pattern;
        uint32_t code;
        bool finds;
    } rows[] = {
        {"matmul [code 014b3ca2]", 0x014b3ca2, true},
        {"matmul [code 014b3ca2]", 0x4319acc1, false},
        {"matmul [code 014b3ca2]", 0, false},
        {"mat.* \\[code 4319acc1\\]$", 0x4319acc1, true},
        {"matmul", 0x4319acc1, true},
        {"^matmul$", 0x4319acc1, true},
        {"4319", 0x4319acc1, false},
        {"[code 4319acc1]$", 0x4319acc1, false}, /* a class: its last is no letter of it */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_kernel_pattern p = {0};
        struct rp_err err = RP_ERR_INIT;

        if (rp_kernel_pattern_compile("--kernel", rows[i].pattern, &p, &err) < 0)
            fail_msg("%s", err.text);
        if (rp_kernel_pattern_finds_code(&p, "matmul", "matmul.kd", rows[i].code) != rows[i].finds)
            fail_msg("%s and %08x", rows[i].pattern, rows[i].code);
        rp_kernel_pattern_free(&p);
    }
}

static int run_names(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llvm_knows_them),
        cmocka_unit_test(patterns_find_code),
        cmocka_unit_test(without_it_names_stay),
        cmocka_unit_test(a_broken_one_does_no_harm),
        cmocka_unit_test(patterns_find_names_and_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_expressions() + run_names();
}
