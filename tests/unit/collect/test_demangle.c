/* Names of kernels: what LLVM's demangler says, and what is left when it cannot be asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/kernel_names.h"
#include "run/machine.h"

static void check(struct rp_demangler *d, const char *symbol, const char *name)
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
    check(&d, "_Z3addPf.kd", "add(float*)");
    check(&d, "_Z3addPf", "add(float*)");
    check(&d, "_Z5scaleIDF16_EvPT_.kd", "void scale<_Float16>(_Float16*)");
    check(&d, "_Z5scaleIDF16bEvPT_.kd", "void scale<std::bfloat16_t>(std::bfloat16_t*)");
    check(&d, "__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer");
    check(&d, "_Znot_a_name.kd", "_Znot_a_name");
    check(&d, "_Z3addPf\n_Z3addPf", "_Z3addPf\n_Z3addPf"); /* one line is one name */
    check(&d, "_Z3addPf x", "_Z3addPf x");
    check(&d, "_Z", "_Z");
    /* Characters of two, three and four bytes, the same one again, and what is no UTF-8. */
    check(&d, "_Z6étagePf.kd", "étage(float*)");
    check(&d, "_ZN3né6blocéIiEEvPT_S1_", "void né::blocé<int>(int*, int)");
    check(&d, "_Z6日本I4éèE9核👍xxEvPT_", "_Z6日本I4éèE9核👍xxEvPT_");
    check(&d, "_Z6日本I4éèEvT_9核👍xx", "void 日本<éè>(éè, 核👍xx)");
    check(&d, "_Z6\xc3tagePf", "_Z6\xc3tagePf");
    check(&d, "_Z7$étagePf", "_Z7$étagePf");
    check(&d, ".kd", ".kd");
    check(&d, "", "");
    /* A template of 3000 arguments, each another one: no substitution makes it short. */
    rp_buf_puts(&symbol, "_Z1fIJ");
    rp_buf_puts(&name, "void f<");
    for (unsigned i = 0; i < 3000; i++) {
        rp_buf_printf(&symbol, "5a%04u", i);
        rp_buf_printf(&name, "%sa%04u", i ? ", " : "", i);
    }
    rp_buf_puts(&symbol, "EEvv");
    rp_buf_puts(&name, ">()");
    check(&d, rp_buf_text(&symbol), rp_buf_text(&name));
    check(&d, "_Z3addPf", "add(float*)");
}

static void without_it_names_stay(void **state)
{
    struct rp_demangler d = {0};

    (void)state;
    check(NULL, "_Z3addPf.kd", "_Z3addPf");
    check(&d, "_Z3addPf.kd", "_Z3addPf");
    d.program = strdup("/nowhere/llvm-cxxfilt");
    check(&d, "_Z3addPf.kd", "_Z3addPf");
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
        check(&d, "_Z3addPf.kd", "_Z3addPf");
        check(&d, "_Z3subPf.kd", "_Z3subPf");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llvm_knows_them),
        cmocka_unit_test(without_it_names_stay),
        cmocka_unit_test(a_broken_one_does_no_harm),
        cmocka_unit_test(patterns_find_names_and_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
