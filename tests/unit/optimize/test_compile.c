/* Builds with the real compiler of the ROCm in use; skipped only where there is none. */
#include "experiment/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"
#include "experiment/child_run.h"
#include "optimize/kernel_code.h"

#include "unit/cmocka_all.h"

#define KERNEL(pragma, more)                                                                       \
    "#include <hip/hip_runtime.h>\n"                                                               \
    "extern \"C\" __global__ void sum(const float *in, float *out, int n" more ")\n"               \
    "{\n"                                                                                          \
    "    float total = 0;\n" pragma "    for (int i = 0; i < n; i++)\n"                            \
    "        total += in[i * 64 + threadIdx.x];\n"                                                 \
    "    out[threadIdx.x] = total;\n"                                                              \
    "}\n"                                                                                          \
    "int main() { return 0; }\n"

static char dir[] = "/tmp/rp-compile-XXXXXX";

static char *in_dir(const char *name)
{
    char *path = rp_path_join(dir, name);

    assert_non_null(path);
    return path;
}

static void write_text(const char *path, const char *text)
{
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_write_file(path, text, strlen(text), &err), 0);
}

static struct rp_build_result built(const char *source, const char *text, const char *output,
                                    bool twice)
{
    struct rp_compile_command *command = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_build_result result;
    bool same = true;
    int rc;

    write_text(source, text);
    rc = rp_compile_command_read(&(struct rp_build_choice){0}, source, &command, &err);
    if (rc == 0)
        rc = twice ? rp_compile_twice(command, source, "gfx942", output, &result, &same, &err)
                   : rp_compile(command, source, "gfx942", output, &result, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_true(same);
    rp_compile_command_free(command);
    return result;
}

static struct rp_code_object object_of(const char *folder, const char *text, bool twice)
{
    rp_autofree char *sub = in_dir(folder);
    rp_autofree char *source = rp_path_join(sub, "k.hip");
    rp_autofree char *output = rp_path_join(sub, "k.hsaco");
    struct rp_code_object object;
    struct rp_err err = RP_ERR_INIT;
    struct rp_build_result result;

    assert_int_equal(rp_mkdirs(sub, &err), 0);
    result = built(source, text, output, twice);
    if (!result.ok)
        fail_msg("%s: %s", result.why, result.output);
    rp_build_result_free(&result);
    if (rp_code_object_read(output, "sum", &object, &err) < 0)
        fail_msg("%s", err.text);
    return object;
}

static void equal_code_is_equal_wherever_it_lies(void **state)
{
    struct rp_code_object plain = object_of("a", KERNEL("", ""), true);
    struct rp_code_object elsewhere = object_of("b", KERNEL("    // a comment\n", ""), false);
    struct rp_code_object unrolled = object_of("a", KERNEL("#pragma unroll 4\n", ""), false);
    struct rp_code_object other_args = object_of("a", KERNEL("", ", int more"), false);
    struct rp_err err = RP_ERR_INIT;
    struct rp_code_use use;

    (void)state;
    assert_string_equal(plain.code_sha256, elsewhere.code_sha256);
    assert_string_not_equal(plain.code_sha256, unrolled.code_sha256);
    assert_int_equal(rp_code_object_fits(&plain, &unrolled, &err), 0);
    assert_int_equal(rp_code_object_fits(&plain, &other_args, &err), -RP_VERDICT);
    assert_true(plain.kernel.arg_count >= 3);
    assert_int_equal(plain.kernel.args[2].offset, 16);
    assert_int_equal(plain.kernel.args[2].bytes, 4);
    rp_code_object_use(&plain, "gfx942", 256, 1000, &use);
    assert_int_equal(use.lds_bytes, 1000);
    assert_int_equal(use.scratch_bytes, 0);
    assert_true(use.occupancy_known);
    assert_true(use.occupancy == 1); /* a dozen registers and 1000 bytes leave all slots */
    rp_code_object_use(&plain, "gfx942", 256, 60000, &use);
    assert_true(use.occupancy == 0.125); /* one workgroup of 4 waves on a CU of 32 */
    assert_string_equal(use.limiter, "lds");
    rp_code_object_use(&plain, NULL, 256, 0, &use);
    assert_false(use.occupancy_known);
    rp_code_object_free(&plain);
    rp_code_object_free(&elsewhere);
    rp_code_object_free(&unrolled);
    rp_code_object_free(&other_args);
}

static void what_the_compiler_says_is_kept(void **state)
{
    rp_autofree char *source = in_dir("bad.hip");
    rp_autofree char *output = in_dir("bad.hsaco");
    struct rp_build_result result = built(source, KERNEL("    undeclared++;\n", ""), output, true);

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
    rp_autofree char *source = in_dir("t.hip");
    rp_autofree char *output = in_dir("t.out");
    rp_autofree char *script = in_dir("build.sh");
    rp_autofree char *build = rp_format("sh %s {source} {output}", script);
    rp_autofree char *temporary = in_dir("tmp");
    rp_autofree char *text = NULL;
    struct rp_compile_command *command = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_build_result result;

    (void)state;
    write_text(source, KERNEL("", ""));
    write_text(script, "echo $TMPDIR >$2\n");
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

static void damaged_code_objects_are_refused(void **state)
{
    rp_autofree char *path = in_dir("damaged.hsaco");
    rp_autofree char *good = in_dir("a/k.hsaco"); /* left by the first test */
    struct rp_code_object object, other;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_code_object_read(good, "sum", &object, &err), 0);
    assert_int_equal(rp_code_object_read(good, "other", &other, &err), -RP_BAD_INPUT);
    for (size_t bytes = 0; bytes < object.size; bytes += 97) { /* cut off anywhere */
        assert_int_equal(rp_write_file(path, object.bytes, bytes, &err), 0);
        if (rp_code_object_read(path, "sum", &other, &err) == 0)
            rp_code_object_free(&other);
        else
            assert_int_equal(err.code, RP_BAD_INPUT);
    }
    for (size_t at = 0; at < object.size; at += 61) { /* and changed anywhere: no crash */
        object.bytes[at] ^= 0xff;
        assert_int_equal(rp_write_file(path, object.bytes, object.size, &err), 0);
        if (rp_code_object_read(path, "sum", &other, &err) == 0)
            rp_code_object_free(&other);
        object.bytes[at] ^= 0xff;
    }
    rp_code_object_free(&object);
}

static void long_output_is_cut_in_the_middle(void **state)
{
    rp_autofree char *path = in_dir("log");
    const char *const argv[] = {"/bin/sh", "-c", "seq 1 2000; echo oops >&2; exit 3", NULL};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;
    rp_autofree char *text = NULL;
    rp_autofree char *how = NULL;

    (void)state;
    assert_int_equal(rp_child_run(&(struct rp_child){.argv = argv,
                                                     .stdout_path = path,
                                                     .stderr_path = path,
                                                     .timeout_ns = (int64_t)60 * 1000000000,
                                                     .limits = rp_compiler_limits()},
                                  &end, &err),
                     0);
    text = rp_child_text(path, 40);
    /* Twenty bytes of each end. */
    assert_string_equal(text, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n...\n1998\n1999\n2000\noops\n");
    how = rp_child_end_sentence(&end);
    assert_string_equal(how, "it ended with exit status 3");
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    rp_remove_tree(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_code_is_equal_wherever_it_lies),
        cmocka_unit_test(what_the_compiler_says_is_kept),
        cmocka_unit_test(reasons_name_the_cause),
        cmocka_unit_test(compilers_have_a_temporary_folder),
        cmocka_unit_test(damaged_code_objects_are_refused),
        cmocka_unit_test(long_output_is_cut_in_the_middle),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
