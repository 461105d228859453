/* The self-test's judge: each row of selftest_steps.def is true of values that are made for it, and
 * is what fails when its own value is broken. */
#include "cli/selftest.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "unit/scratch.h"

#include <jansson.h>
#include <math.h>
#include <pwd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum relation { TRUE, EQUAL, NEAR, AT_MOST, AT_LEAST };
enum where { ANY, HARDWARE, SOFTWARE };

static const struct row {
    enum rp_selftest_step step;
    const char *value, *other;
    enum relation relation;
    double tolerance;
    enum where where;
} rows[] = {
#define CHECK(step_, value_, relation_, other_, tolerance_, where_, text_)                         \
    {.step = RP_SELFTEST_##step_,                                                                  \
     .value = #value_,                                                                             \
     .other = other_,                                                                              \
     .relation = relation_,                                                                        \
     .tolerance = tolerance_,                                                                      \
     .where = where_},
#include "cli/selftest_steps.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The object and the name that a row's other value has; NULL: it is a number. */
static json_t *others_home(struct rp_selftest *test, const struct row *row, const char **ret_name)
{
    const char *dot = strchr(row->other, '.');
    char *end;

    strtod(row->other, &end);
    if (end != row->other || row->relation == TRUE)
        return NULL;
    *ret_name = dot ? dot + 1 : row->other;
    for (int i = 0; dot && i < RP_SELFTEST_STEPS; i++) {
        const char *name = rp_selftest_name((enum rp_selftest_step)i);

        if (strlen(name) == (size_t)(dot - row->other) &&
            strncmp(name, row->other, strlen(name)) == 0)
            return test->steps[i].values;
    }
    assert_null(dot); /* A row names a step that is none. */
    return test->steps[row->step].values;
}

static double get(const json_t *values, const char *name)
{
    const json_t *value = json_object_get(values, name);

    return value ? json_number_value(value) : NAN;
}

/* Gives a value to what has none yet: that of the other side, or, when it is time, any. */
static void settle(struct rp_selftest *test, const struct row *row, bool late)
{
    json_t *values = test->steps[row->step].values;
    const char *name = NULL;
    json_t *home = others_home(test, row, &name);
    double other = home ? get(home, name) : row->relation == TRUE ? 1 : atof(row->other);

    if (late && home && isnan(other)) {
        other = isnan(get(values, row->value)) ? 1000 : get(values, row->value);
        json_object_set_new(home, name, json_real(other));
    }
    if (isnan(get(values, row->value)) && !isnan(other))
        json_object_set_new(values, row->value, json_real(other));
}

static void make_values(struct rp_selftest *test, bool software)
{
    memset(test, 0, sizeof *test);
    test->work.software = software;
    for (int i = 0; i < RP_SELFTEST_STEPS; i++)
        test->steps[i] = (struct rp_selftest_result){.values = json_object(), .ended = true};
    for (int pass = 0; pass < 6; pass++)
        for (size_t i = 0; i < ROWS; i++)
            settle(test, &rows[i], pass > 2);
}

static void free_values(struct rp_selftest *test)
{
    for (int i = 0; i < RP_SELFTEST_STEPS; i++)
        json_decref(test->steps[i].values);
}

/* What the judge says of one row: true, false or null. */
static json_t *passed(const struct rp_selftest *test, const struct row *row, bool *ret_complained)
{
    json_t *checks = NULL;
    char *complaint = rp_selftest_judge(test, row->step, &checks);
    size_t at = 0;

    for (const struct row *each = rows; each < row; each++)
        at += each->step == row->step;
    json_t *result = json_incref(json_object_get(json_array_get(checks, at), "passed"));
    assert_string_equal(json_string_value(json_object_get(json_array_get(checks, at), "value")),
                        row->value);
    *ret_complained = complaint != NULL;
    free(complaint);
    json_decref(checks);
    return result;
}

static void check_row(const struct rp_selftest *test, const struct row *row, int wanted)
{
    bool complained;
    json_t *result = passed(test, row, &complained);

    if (json_typeof(result) != (json_type)wanted || (wanted == JSON_FALSE && !complained))
        fail_msg("%s.%s is judged %d, and not %d", rp_selftest_name(row->step), row->value,
                 (int)json_typeof(result), wanted);
    json_decref(result);
}

static bool is_judged(const struct row *row, bool software)
{
    return row->where == ANY || (row->where == SOFTWARE) == software;
}

static void good_values_pass(void **state)
{
    (void)state;
    for (int software = 0; software < 2; software++) {
        struct rp_selftest test;

        make_values(&test, software);
        for (size_t i = 0; i < ROWS; i++)
            check_row(&test, &rows[i], is_judged(&rows[i], software) ? JSON_TRUE : JSON_NULL);
        free_values(&test);
    }
}

static void try_value(struct rp_selftest *test, const struct row *row, json_t *value, int wanted)
{
    json_t *values = test->steps[row->step].values;
    json_t *before = json_incref(json_object_get(values, row->value));

    if (value)
        json_object_set_new(values, row->value, value);
    else
        json_object_del(values, row->value);
    check_row(test, row, is_judged(row, test->work.software) ? wanted : JSON_NULL);
    json_object_set_new(values, row->value, before);
}

static void break_row(struct rp_selftest *test, const struct row *row)
{
    const double now = get(test->steps[row->step].values, row->value);
    const double step = fabs(now) * row->tolerance * 1.01 + 0.001;

    if (row->relation == TRUE)
        try_value(test, row, json_false(), JSON_FALSE);
    if (row->relation == EQUAL || row->relation == NEAR || row->relation == AT_MOST)
        try_value(test, row, json_real(now + step), JSON_FALSE);
    if (row->relation == EQUAL || row->relation == NEAR || row->relation == AT_LEAST)
        try_value(test, row, json_real(now - step), JSON_FALSE);
    if (row->relation == AT_MOST)
        try_value(test, row, json_real(now - step), JSON_TRUE);
    if (row->relation == AT_LEAST)
        try_value(test, row, json_real(now + step), JSON_TRUE);
    try_value(test, row, NULL, JSON_FALSE);             /* A value that has vanished is no pass. */
    try_value(test, row, json_string("1"), JSON_FALSE); /* Nor is a text. */
    try_value(test, row, json_null(), JSON_NULL);       /* The device cannot say it. */
}

static void every_row_can_fail(void **state)
{
    (void)state;
    for (int software = 0; software < 2; software++) {
        struct rp_selftest test;

        make_values(&test, software);
        for (size_t i = 0; i < ROWS; i++)
            break_row(&test, &rows[i]);
        free_values(&test);
    }
}

/* Where the other step did not run there is nothing to be compared with. */
static void steps_that_did_not_run_say_nothing(void **state)
{
    struct rp_selftest test;

    (void)state;
    make_values(&test, true);
    test.steps[RP_SELFTEST_counters].ended = false;
    for (size_t i = 0; i < ROWS; i++)
        if (strncmp(rows[i].other, "counters.", 9) == 0)
            check_row(&test, &rows[i], JSON_NULL);
    free_values(&test);
}

static void check_anonymous(const char *text, const char *wanted)
{
    rp_autofree char *got = rp_selftest_anonymous(text);

    assert_string_equal(got, wanted);
}

static void names_are_left_out(void **state)
{
    const struct passwd *user = getpwuid(getuid());
    struct utsname host;

    (void)state;
    check_anonymous("cannot load /home/alice/rocm/lib/libamdhip64.so.7: no such file",
                    "cannot load libamdhip64.so.7: no such file");
    check_anonymous("'/home/alice' and \"/home/bob/\", /tmp", "'DIR' and \"DIR\", /tmp");
    check_anonymous("ROCM_PATH=/opt/x/y is 1/2 of 7/8", "ROCM_PATH=y is 1/2 of 7/8");
    check_anonymous("in captured/memory", "in captured/memory");
    if (user && user->pw_name[0]) {
        rp_autofree char *text = rp_format("of %s, %ss", user->pw_name, user->pw_name);
        rp_autofree char *clean = rp_format("of USER, %ss", user->pw_name);

        check_anonymous(text, clean);
    }
    assert_int_equal(uname(&host), 0);
    rp_autofree char *text = rp_format("on %s:", host.nodename);
    check_anonymous(text, "on HOST:");
}

static void reasons_are_bounded(void **state)
{
    char text[5000];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rp_autofree char *clean = rp_selftest_anonymous(text);
    assert_true(strlen(clean) <= 400);
}

/* The cut does not go through a character, and bytes that are none are replaced. */
static void reasons_are_utf8(void **state)
{
    char text[500];

    (void)state;
    memset(text, 'x', 399);
    snprintf(text + 399, sizeof text - 399, "\u00fc and more");
    rp_autofree char *cut = rp_selftest_anonymous(text);
    assert_int_equal(strlen(cut), 399);
    check_anonymous("cannot read /tmp/a/\xff\xfe.hip", "cannot read \ufffd\ufffd.hip");
}

/* A step stays in the file whatever bytes its reason has. */
static void no_step_is_lost(void **state)
{
    char reason[] = "cannot read \xff";
    struct rp_environment env = {0};
    struct rp_selftest test = {.work = {.env = &env, .software = true}};

    (void)state;
    test.steps[RP_SELFTEST_run] =
        (struct rp_selftest_result){.wanted = true, .status = RP_SELFTEST_FAILED, .reason = reason};
    json_t *document = rp_selftest_document(&test);
    const json_t *step = json_array_get(json_object_get(document, "steps"), 0);
    assert_string_equal(json_string_value(json_object_get(step, "reason")), "cannot read \ufffd");
    assert_string_equal(json_string_value(json_object_get(step, "status")), "failed");
    json_decref(document);
}

/* A command that does not end is killed when the step's time has passed. */
static void a_step_that_hangs_fails(void **state)
{
    rp_autofree char *script = scratch_script("hangs", "#!/bin/sh\nsleep 600\n");
    struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;
    json_t *values = json_object();
    const int64_t begun_ns = rp_now_ns();
    struct rp_selftest test = {.work = {.env = &env,
                                        .software = true,
                                        .folder = scratch_dir,
                                        .suite = script,
                                        .program = script,
                                        .libraries = scratch_dir,
                                        .code = script,
                                        .deadline_ns = begun_ns + 200000000}};

    (void)state;
    assert_true(rp_selftest_run(&test, values, &err) < 0);
    assert_true(rp_now_ns() - begun_ns < INT64_C(60000000000));
    assert_non_null(strstr(err.text, "did not end within its time"));
    json_decref(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_values_pass),
        cmocka_unit_test(every_row_can_fail),
        cmocka_unit_test(names_are_left_out),
        cmocka_unit_test(reasons_are_bounded),
        cmocka_unit_test(reasons_are_utf8),
        cmocka_unit_test(no_step_is_lost),
        cmocka_unit_test(a_step_that_hangs_fails),
        cmocka_unit_test(steps_that_did_not_run_say_nothing),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
