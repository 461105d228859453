/* What replay compare prints, read; children that fail instead of it, by scripts in its place. */
#include "optimize/measure.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include "unit/cmocka_all.h"

static char dir[] = "/tmp/rp-measure-XXXXXX";

#define RESULT(verdict, reason, ratio)                                                             \
    "{\"verdict\": \"" verdict "\", \"reason\": " reason ", \"a\": {\"median_us\": 20.5},"         \
    " \"b\": {\"median_us\": null}, \"ratio\": " ratio ","                                         \
    " \"memory\": {\"written_bytes\": 4096}, \"rule\": {\"margin\": 0.03, \"alpha\": 0.01}}"
#define RATIO "{\"estimate\": 1.5, \"low\": 1.25, \"high\": 2}"

static void reads_what_is_there(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_compared c;

    (void)state;
    assert_int_equal(rp_compared_read(RESULT("faster", "null", RATIO), &c, &err), 0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_FASTER);
    assert_true(c.comparison.ratio_known && c.comparison.low == 1.25 && c.comparison.high == 2);
    assert_true(c.comparison.margin == 0.03 && c.comparison.alpha == 0.01);
    assert_true(c.comparison.written_bytes == 4096 && c.comparison.before_us == 20.5);
    assert_true(c.comparison.after_us == 0);
    assert_null(c.comparison.reason);
    rp_compared_free(&c);
    assert_int_equal(
        rp_compared_read(RESULT("different output", "\"b: 3 bytes\"", "null"), &c, &err), 0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_DIFFERENT);
    assert_false(c.comparison.ratio_known);
    assert_string_equal(c.comparison.reason, "b: 3 bytes");
    rp_compared_free(&c);
}

static void refuses_what_it_does_not_know(void **state)
{
    static const char *const texts[] = {"",
                                        "{}",
                                        "[]",
                                        "null",
                                        "{\"verdict\": \"faster\"}",
                                        RESULT("best", "null", RATIO),
                                        RESULT("faster", "null", RATIO) "x"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_compared c;

        assert_int_equal(rp_compared_read(texts[i], &c, &err), -RP_BAD_INPUT);
    }
}

/** rocm-perf is a script that ends so. @return of rp_compare */
static int compared_by(const char *script, struct rp_compared *ret, struct rp_err *err)
{
    rp_autofree char *self = rp_path_join(dir, "rocm-perf");
    rp_autofree char *text = rp_format("#!/bin/sh\n%s\n", script);
    char folder[] = "cap", program[] = "app";
    char *argv[] = {program, NULL};
    const struct rp_measure measure = {
        .self = self, .folder = dir, .program = argv, .least_improvement = 0.02};
    const struct rp_captured captured = {.folder = folder};

    assert_int_equal(rp_write_file(self, text, strlen(text), err), 0);
    assert_int_equal(chmod(self, 0700), 0);
    return rp_compare(&measure, &captured, "a.hsaco", "b.hsaco", ret, err);
}

static void failures_are_whose_they_are(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_compared c;

    (void)state;
    /* The candidate does not fit. */
    assert_int_equal(
        compared_by("echo noise >&2; echo 'rocm-perf: b.hsaco: B: LDS' >&2; exit 1", &c, &err), 0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_DIFFERENT);
    assert_string_equal(c.reason, "b.hsaco: B: LDS");
    rp_compared_free(&c);
    /* What it is compared with does not. */
    assert_int_equal(compared_by("echo 'rocm-perf: a.hsaco: A: LDS' >&2; exit 1", &c, &err),
                     -RP_BAD_INPUT);
    /* No device. */
    assert_int_equal(compared_by("echo 'rocm-perf: no ROCm' >&2; exit 4", &c, &err),
                     -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "no ROCm"));
    assert_int_equal(compared_by("kill -SEGV $$", &c, &err), -RP_ENVIRONMENT);
    assert_int_equal(compared_by("exit 0", &c, &err), -RP_ENVIRONMENT);
    /* The options are those that were meant. */
    assert_int_equal(compared_by("echo \"rocm-perf: $*\" >&2; exit 1", &c, &err), 0);
    assert_string_equal(c.reason,
                        "replay compare a.hsaco b.hsaco --capture-dir cap --margin 2.0000 "
                        "--json");
    rp_compared_free(&c);
}

static void names_of_kernels_are_found_literally(void **state)
{
    static const char *const names[] = {"void k<3>(float const*, int)", "a.b|c", "x[2]{3}^$\\(?+",
                                        ""};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rp_autofree char *quoted = rp_regex_quoted(names[i]);
        rp_autofree char *whole = rp_format("^%s$", quoted);
        rp_autofree char *longer = rp_format("%sx", names[i]);
        regex_t regex;

        assert_int_equal(regcomp(&regex, whole, REG_EXTENDED), 0);
        assert_int_equal(regexec(&regex, names[i], 0, NULL, 0), 0);
        assert_int_equal(regexec(&regex, longer, 0, NULL, 0), REG_NOMATCH);
        regfree(&regex);
    }
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
        cmocka_unit_test(reads_what_is_there),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(failures_are_whose_they_are),
        cmocka_unit_test(names_of_kernels_are_found_literally),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
