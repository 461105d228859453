/* Builds with the real compiler of the ROCm in use; skipped only where there is none. */
#include "experiment/build_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include "unit/scratch.h"

#define KERNEL(body) "__attribute__((global)) void k() { " body " }\n"

static struct rp_build_result built(const char *source, const char *output)
{
    struct rp_compile_command *command = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_build_result result;
    bool same = true;
    int rc;

    rc = rp_compile_command_read(&(struct rp_build_choice){0}, source, &command, &err);
    if (rc == 0)
        rc = rp_compile_twice(command, source, "gfx942", output, &result, &same, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_true(same);
    rp_compile_command_free(command);
    return result;
}

static void the_first_error_has_its_place(void **state)
{
    static const struct {
        const char *said, *file;
        unsigned line;
    } rows[] = {
        {"a.hip:1:2: warning: x\nsrc/mm.hip:30:14: error: no\n", "src/mm.hip", 30},
        {"mm.hip:7: error: no", "mm.hip", 7},
        {"dir:1/mm.hip:7:1: fatal error: 'x.h' file not found\n1 error generated.\n",
         "dir:1/mm.hip", 7},
        {"ld.lld: error: undefined symbol: f\nclang: error: linker command failed with exit code 1",
         NULL, 0},
        {"error: no", NULL, 0},
        {":3: error: no", NULL, 0},
        {":3:4: error: no", NULL, 0},
        {"a:99999999999:1: error: no", "a:99999999999", 1},
    };
    struct rp_compiler_error error;

    (void)state;
    assert_false(rp_compiler_first_error("", &error));
    assert_false(rp_compiler_first_error("make: *** [all] Error 2", &error));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(rp_compiler_first_error(rows[i].said, &error));
        if (!rows[i].file != !error.file || error.number != rows[i].line)
            fail_msg("row %zu: line %u", i, error.number);
        if (error.file) {
            assert_int_equal(error.file_bytes, strlen(rows[i].file));
            assert_memory_equal(error.file, rows[i].file, error.file_bytes);
        }
    }
}

static void what_the_compiler_says_is_kept(void **state)
{
    rp_autofree char *source = scratch_put("bad.hip", KERNEL("undeclared++;"));
    rp_autofree char *output = rp_path_join(scratch_dir, "bad.hsaco");
    struct rp_build_result result = built(source, output);

    (void)state;
    assert_false(result.ok);
    assert_non_null(strstr(result.output, "undeclared"));
    assert_string_equal(result.why, "it ended with exit status 1");
    assert_false(rp_path_exists(output));
    rp_build_result_free(&result);
}

static void check_reason(const char *output, const char *expected)
{
    rp_autofree char *said = strdup(output);
    char why[] = "it failed";
    const struct rp_build_result built = {.output = said, .why = why};
    rp_autofree char *reason = rp_build_result_reason(&built);

    assert_string_equal(reason, expected);
}

#define HUNDRED                                                                                    \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"  \
    "123456789"

/* Not only that the linker has failed. */
static void reasons_name_the_cause(void **state)
{
    (void)state;
    check_reason("", "it failed");
    check_reason("\nno such tool\nx\n", "it failed: no such tool");
    check_reason("a.hip:1: warning: w\na.hip:2: error: e\n1 error\n",
                 "it failed: a.hip:2: error: e");
    check_reason("/usr/bin/ld: /tmp/u.o: in function `main':\nu.cpp: undefined reference to `f()'\n"
                 "collect2: error: ld returned 1 exit status\n",
                 "it failed: u.cpp: undefined reference to `f()'");
    check_reason("u.cpp: undefined reference to `f()'\n"
                 "clang: error: linker command failed with exit code 1 (use -v to see invocation)\n"
                 "make: *** [Makefile:2: u] Error 1\n",
                 "it failed: u.cpp: undefined reference to `f()'");
    check_reason("collect2: error: ld returned 1 exit status\nld.lld: error: undefined symbol: f\n",
                 "it failed: ld.lld: error: undefined symbol: f");
    check_reason("collect2: error: ld returned 1 exit status\n",
                 "it failed: collect2: error: ld returned 1 exit status");
    check_reason("clang: error: no such file or directory: 'x.hip'\n",
                 "it failed: clang: error: no such file or directory: 'x.hip'");
    check_reason("Stack dump:\n#1 0x12\n"
                 "clang: error: clang frontend command failed with exit code 139\n",
                 "it failed: clang: error: clang frontend command failed with exit code 139");
    check_reason(HUNDRED HUNDRED "error: " HUNDRED HUNDRED,
                 "it failed: error: " HUNDRED
                 "012345678901234567890123456789012345678901234567890123456789012345678901234567890"
                 "123456789012");
    check_reason("error: " HUNDRED
                 "012345678901234567890123456789012345678901234567890123456789012345678901234567890"
                 "12345678901\xc3\xa9\n",
                 "it failed: error: " HUNDRED
                 "012345678901234567890123456789012345678901234567890123456789012345678901234567890"
                 "12345678901");
}

/** One that is killed leaves its files there: it is not everybody's. */
static void compilers_have_a_temporary_folder(void **state)
{
    rp_autofree char *source = scratch_put("t.hip", KERNEL(""));
    rp_autofree char *output = rp_path_join(scratch_dir, "t.out");
    rp_autofree char *script = scratch_put("build.sh", "echo $TMPDIR >$2\n");
    rp_autofree char *build = rp_format("sh %s {source} {output}", script);
    rp_autofree char *temporary = rp_path_join(scratch_dir, "tmp");
    rp_autofree char *text = NULL;
    struct rp_compile_command *command = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_build_result result;

    (void)state;
    if (rp_compile_command_read(&(struct rp_build_choice){.build = build, .flags = "-O3"}, source,
                                &command, &err) < 0)
        fail_msg("%s", err.text);
    rp_compile_command_set_temporary(command, temporary);
    if (rp_compile(command, source, NULL, output, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(result.ok);
    text = rp_read_line(output);
    assert_string_equal(text, temporary);
    rp_build_result_free(&result);
    rp_compile_command_free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_has_its_place),
        cmocka_unit_test(what_the_compiler_says_is_kept),
        cmocka_unit_test(reasons_name_the_cause),
        cmocka_unit_test(compilers_have_a_temporary_folder),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
