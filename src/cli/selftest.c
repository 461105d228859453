/* `rocm-perf doctor --selftest`: runs the steps, judges what they find by the rows of
 * selftest_steps.def, and writes the file to send back after each of them. */
#include "cli/selftest.h"

#include <ctype.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "report/report.h"

enum { ALL_S = 290, SOFTWARE_PATIENCE = 4, MOST_REASON_BYTES = 400 };

enum relation { TRUE, EQUAL, NEAR, AT_MOST, AT_LEAST };
enum where { ANY, HARDWARE, SOFTWARE };

static const struct {
    const char *name, *needs, *text;
    int seconds;
    rp_selftest_fn *run;
} steps[] = {
#define STEP(id, seconds_, needs_, text_)                                                          \
    [RP_SELFTEST_##id] = {.name = #id,                                                             \
                          .needs = needs_,                                                         \
                          .text = text_,                                                           \
                          .seconds = seconds_,                                                     \
                          .run = rp_selftest_##id},
#include "cli/selftest_steps.def"
};

static const struct check {
    enum rp_selftest_step step;
    const char *value, *other, *text;
    enum relation relation;
    double tolerance;
    enum where where;
} checks[] = {
#define CHECK(step_, value_, relation_, other_, tolerance_, where_, text_)                         \
    {.step = RP_SELFTEST_##step_,                                                                  \
     .value = #value_,                                                                             \
     .other = other_,                                                                              \
     .text = text_,                                                                                \
     .relation = relation_,                                                                        \
     .tolerance = tolerance_,                                                                      \
     .where = where_},
#include "cli/selftest_steps.def"
};

const char *rp_selftest_name(enum rp_selftest_step step)
{
    return steps[step].name;
}

/* --- judging -------------------------------------------------------------------------------- */

enum found { FOUND, NULL_VALUE, MISSING };

static enum found number_of(const json_t *values, const char *name, double *ret)
{
    const json_t *value = json_object_get(values, name);

    if (!value)
        return MISSING;
    if (json_is_null(value))
        return NULL_VALUE;
    if (json_is_boolean(value))
        *ret = json_is_true(value);
    else if (json_is_number(value))
        *ret = json_number_value(value);
    else
        return MISSING;
    return FOUND;
}

/* What a value is held against. A step that did not run has said nothing. */
static enum found other_of(const struct rp_selftest *test, const struct check *check, double *ret)
{
    const char *dot = strchr(check->other, '.');
    char *end;

    *ret = strtod(check->other, &end);
    if (check->relation == TRUE || end != check->other)
        return FOUND;
    for (size_t i = 0; dot && i < RP_SELFTEST_STEPS; i++)
        if (strlen(steps[i].name) == (size_t)(dot - check->other) &&
            strncmp(steps[i].name, check->other, strlen(steps[i].name)) == 0)
            return test->steps[i].ended ? number_of(test->steps[i].values, dot + 1, ret)
                                        : NULL_VALUE;
    return number_of(test->steps[check->step].values, check->other, ret);
}

static bool holds(const struct check *check, double value, double other)
{
    const double slack = fabs(other) * check->tolerance;

    switch (check->relation) {
    case TRUE:
        return value != 0;
    case EQUAL:
        return value == other;
    case NEAR:
        return fabs(value - other) <= slack;
    case AT_MOST:
        return value <= other + slack;
    case AT_LEAST:
        return value >= other - slack;
    }
    return false;
}

static char *complaint(const struct check *check, enum found found, double value, double other)
{
    static const char *const words[] = {"", "", "about ", "<= ", ">= "};

    if (found == MISSING)
        return rp_format("%s: %s is missing", check->text, check->value);
    if (check->relation == TRUE)
        return rp_format("%s", check->text);
    return rp_format("%s: %s is %.10g, and should be %s%.10g", check->text, check->value, value,
                     words[check->relation], other);
}

/* null: this device cannot say it, or need not. */
static json_t *judge(const struct rp_selftest *test, const struct check *check, char **complaints)
{
    double value = 0, other = 0;
    const enum found found = number_of(test->steps[check->step].values, check->value, &value);
    const enum found known = other_of(test, check, &other);
    const bool here = check->where == ANY || (check->where == SOFTWARE) == test->work.software;
    const bool judged = here && found != NULL_VALUE && known != NULL_VALUE;
    const enum found both = found == MISSING || known == MISSING ? MISSING : FOUND;
    const bool passed = both == FOUND && holds(check, value, other);

    if (judged && !passed && !*complaints)
        *complaints = complaint(check, both, value, other);
    return json_pack("{s:s, s:s, s:o}", "value", check->value, "wrong_if_not", check->text,
                     "passed", judged ? json_boolean(passed) : json_null());
}

char *rp_selftest_judge(const struct rp_selftest *test, enum rp_selftest_step step,
                        json_t **ret_checks)
{
    char *complaints = NULL;

    *ret_checks = json_array();
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].step == step)
            json_array_append_new(*ret_checks, judge(test, &checks[i], &complaints));
    return complaints;
}

/* --- what may be sent ----------------------------------------------------------------------- */

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Replaces a name wherever it stands alone. */
static char *without_name(char *text, const char *name, const char *instead)
{
    const size_t length = name ? strlen(name) : 0;
    rp_autobuf to = {0};

    for (const char *at = text; *at;) {
        const bool its = length && strncmp(at, name, length) == 0 &&
                         (at == text || !in_name(at[-1])) && !in_name(at[length]);

        if (its)
            rp_buf_puts(&to, instead);
        else
            rp_buf_add(&to, at, 1);
        at += its ? length : 1;
    }
    free(text);
    return rp_strdup(rp_buf_text(&to));
}

/* A path begins with a slash that stands behind no name, and ends before what is no part of one. */
static size_t path_length(const char *text, const char *at)
{
    if (*at != '/' || (at > text && (in_name(at[-1]) || at[-1] == '.' || at[-1] == '/')))
        return 0;
    const size_t length = strcspn(at, " \t\n'\"`:,;()[]=");
    return memchr(at + 1, '/', length - 1) ? length : 0;
}

/* Of a path the last name stays, unless it may be that of somebody's folder. */
static void put_end_of_path(struct rp_buf *to, const char *path, size_t length)
{
    const char *last = memrchr(path, '/', length);
    const char *second = memchr(path + 1, '/', length - 1);

    if (last == second || last + 1 == path + length)
        rp_buf_puts(to, "DIR");
    else
        rp_buf_add(to, last + 1, (size_t)(path + length - last - 1));
}

char *rp_selftest_anonymous(const char *text)
{
    const struct passwd *user = getpwuid(getuid());
    rp_autobuf fixed = {0}, to = {0};
    struct utsname host;
    char *clean;

    rp_utf8_fix(&fixed, text, strlen(text)); /* Paths may have any bytes, and JSON may not. */
    text = rp_buf_text(&fixed);
    for (const char *at = text; *at;) {
        const size_t path = path_length(text, at), length = path ? path : rp_utf8_length(at, 4);

        if (to.len + length > MOST_REASON_BYTES)
            break;
        if (path)
            put_end_of_path(&to, at, path);
        else
            rp_buf_add(&to, at, length);
        at += length;
    }
    clean = rp_strdup(rp_buf_text(&to));
    if (uname(&host) == 0)
        clean = without_name(clean, host.nodename, "HOST");
    return without_name(clean, user ? user->pw_name : NULL, "USER");
}

/* --- the document --------------------------------------------------------------------------- */

static const char *const status_names[] = {"not_run", "passed", "failed", "skipped"};

struct counts {
    size_t of[4], wanted;
};

static struct counts count_steps(const struct rp_selftest *test)
{
    struct counts counts = {0};

    for (size_t i = 0; i < RP_SELFTEST_STEPS; i++) {
        counts.wanted += test->steps[i].wanted;
        counts.of[test->steps[i].status] += test->steps[i].wanted;
    }
    return counts;
}

static json_t *step_json(const struct rp_selftest_result *result, size_t step)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", steps[step].name, "text",
                     steps[step].text, "status", status_names[result->status], "reason",
                     rp_text_json(result->reason), "seconds",
                     json_real(round(result->seconds * 1e3) / 1e3), "checks",
                     result->checks ? json_incref(result->checks) : json_array(), "values",
                     result->values ? json_incref(result->values) : json_object());
}

static json_t *machine_json(const struct rp_selftest *test)
{
    char *version = test->work.env->rocprofv3 ? rp_tracer_rocprofv3.version(test->work.env) : NULL;
    rp_autofree char *driver = rp_read_line("/sys/module/amdgpu/version");
    rp_autofree char *release = NULL;
    struct utsname host;

    release = uname(&host) == 0 ? rp_selftest_anonymous(host.release) : NULL;
    json_t *machine = json_pack(
        "{s:s, s:s, s:o, s:i, s:i, s:o, s:s, s:o, s:o, s:o}", "device",
        rp_device_label(test->work.options.device), "isa", test->work.isa, "product",
        rp_text_json(test->work.arch.product), "compute_units", (int)test->work.arch.compute_units,
        "gpus", (int)test->work.env->gpu_count, "rocm_version",
        rp_text_json(test->work.env->rocm_version), "rocm_kind",
        test->work.env->rocm_kind == RP_ROCM_PRIVATE ? "private" : "installed", "rocprofv3",
        rp_text_json(version), "linux", rp_text_json(release), "amdgpu", rp_text_json(driver));
    free(version);
    return machine;
}

json_t *rp_selftest_document(const struct rp_selftest *test)
{
    const struct counts counts = count_steps(test);
    json_t *list = json_array();
    bool whole = true;

    for (size_t i = 0; i < RP_SELFTEST_STEPS; i++)
        if (test->steps[i].wanted)
            whole &= json_array_append_new(list, step_json(&test->steps[i], i)) == 0;
    if (!whole) { /* A file without a step would pass for a good one. */
        json_decref(list);
        return NULL;
    }
    return json_pack(
        "{s:s, s:s, s:o, s:{s:i, s:i, s:i, s:i}, s:b, s:f, s:o}", "schema_version", "1.0",
        "tool_version", RP_VERSION, "machine", machine_json(test), "counts", "passed",
        (int)counts.of[RP_SELFTEST_PASSED], "failed", (int)counts.of[RP_SELFTEST_FAILED], "skipped",
        (int)counts.of[RP_SELFTEST_SKIPPED], "not_run", (int)counts.of[RP_SELFTEST_NOT_RUN],
        "interrupted", test->interrupted, "seconds",
        round((double)(test->ended_ns - test->begun_ns) / 1e6) / 1e3, "steps", list);
}

static int write_document(const struct rp_selftest *test, const char *path, struct rp_err *err)
{
    rp_autofree char *text = rp_workload_document_text(rp_selftest_document(test));

    return text ? rp_write_output(path, text, strlen(text), err) : rp_out_of_memory(err);
}

/* --- the text ------------------------------------------------------------------------------- */

static void put_verdict(const struct rp_selftest *test, const struct rp_page *page)
{
    const struct counts counts = count_steps(test);
    const size_t failed = counts.of[RP_SELFTEST_FAILED], passed = counts.of[RP_SELFTEST_PASSED];
    const char *where =
        test->work.software ? "with the software device on this machine" : "on this machine";
    rp_autobuf line = {0};

    if (failed)
        rp_buf_printf(
            &line, "rocm-perf does not work as it should %s: %zu of %zu checks failed, %zu passed",
            where, failed, counts.wanted, passed);
    else if (!passed)
        rp_buf_printf(&line, "rocm-perf could not be checked %s: none of %zu checks could run",
                      where, counts.wanted);
    else
        rp_buf_printf(&line, "rocm-perf works %s: %zu of %zu checks passed", where, passed,
                      counts.wanted);
    if (counts.of[RP_SELFTEST_SKIPPED])
        rp_buf_printf(&line, ", %zu skipped", counts.of[RP_SELFTEST_SKIPPED]);
    if (counts.of[RP_SELFTEST_NOT_RUN])
        rp_buf_printf(&line, ", %zu not run (interrupted)", counts.of[RP_SELFTEST_NOT_RUN]);
    rp_page_words(page,
                  failed   ? RP_INK_RED
                  : passed ? RP_INK_GREEN
                           : RP_INK_YELLOW,
                  0, 2, "%s", rp_buf_text(&line));
}

/* Says how much of a step was judged, where that is not all of it. */
static char *passed_text(const struct rp_selftest_result *result, size_t step)
{
    const size_t most = json_array_size(result->checks);
    size_t judged = 0, i;
    const json_t *check;

    json_array_foreach(result->checks, i, check) judged +=
        !json_is_null(json_object_get(check, "passed"));
    if (judged == most)
        return rp_strdup(steps[step].text);
    return rp_format("%s (%zu of %zu properties judged)", steps[step].text, judged, most);
}

static void put_step(const struct rp_page *page, const struct rp_selftest_result *result,
                     size_t step)
{
    static const enum rp_ink inks[] = {RP_INK_DIM, RP_INK_PLAIN, RP_INK_RED, RP_INK_DIM};
    const char *status =
        result->status == RP_SELFTEST_NOT_RUN ? "not run" : status_names[result->status];
    rp_autofree char *text = result->reason ? rp_strdup(result->reason) : passed_text(result, step);

    rp_page_words(page, inks[result->status], 2, 35, "%-8s %-15s %5.1f s  %s", status,
                  steps[step].name, result->seconds, text);
}

static void put_text(const struct rp_selftest *test, const char *path, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, rp_cli_style());

    put_verdict(test, &page);
    if (test->work.software)
        rp_page_words(&page, RP_INK_YELLOW, 0, 2,
                      "SOFTWARE DEVICE: nothing was run on a GPU; times are modelled");
    rp_buf_puts(to, "\n");
    for (size_t i = 0; i < RP_SELFTEST_STEPS; i++)
        if (test->steps[i].wanted)
            put_step(&page, &test->steps[i], i);
    rp_buf_puts(to, "\n");
    rp_page_words(&page, RP_INK_PLAIN, 0, 2,
                  "%s has all of this without names of users, machines and folders: send it to the "
                  "authors of rocm-perf-lab",
                  path);
}

/* --- running -------------------------------------------------------------------------------- */

/* Says which step this one needs and has not got. */
static const char *lacks(const struct rp_selftest *test, size_t step)
{
    for (size_t i = 0; i < RP_SELFTEST_STEPS; i++)
        if (strcmp(steps[step].needs, steps[i].name) == 0 && !test->steps[i].ended)
            return steps[i].name;
    return NULL;
}

static void skip(struct rp_selftest_result *result, char *reason)
{
    result->status = RP_SELFTEST_SKIPPED;
    result->reason = reason;
}

/* Turns what a step returned into its result. */
static void take(struct rp_selftest *test, size_t step, int rc, json_t *values,
                 const struct rp_err *err)
{
    struct rp_selftest_result *result = &test->steps[step];

    result->values = values;
    if (rc == -RP_INTERRUPTED) {
        test->interrupted = true;
    } else if (rc == RP_SELFTEST_SKIP) {
        skip(result, rp_selftest_anonymous(err->text));
    } else if (rc < 0) {
        result->status = RP_SELFTEST_FAILED;
        result->reason = rp_selftest_anonymous(err->text);
    } else {
        result->ended = true;
        result->reason = rp_selftest_judge(test, step, &result->checks);
        result->status = result->reason ? RP_SELFTEST_FAILED : RP_SELFTEST_PASSED;
    }
}

/* The step ends by its own limit, and all of them before five minutes have passed. A busy machine
 * without a GPU may take longer. */
static int64_t deadline_of(const struct rp_selftest *test, size_t step)
{
    const int64_t own_ns = rp_now_ns() + steps[step].seconds * INT64_C(1000000000) *
                                             (test->work.software ? SOFTWARE_PATIENCE : 1);

    return test->end_ns && test->end_ns < own_ns ? test->end_ns : own_ns;
}

static void run_step(struct rp_selftest *test, size_t step)
{
    struct rp_selftest_result *result = &test->steps[step];
    const char *missing = lacks(test, step);
    const int64_t begun_ns = rp_now_ns();
    struct rp_err err = RP_ERR_INIT;
    json_t *values;

    if (missing) {
        skip(result, rp_format("it needs what the step %s makes", missing));
        return;
    }
    if (test->end_ns && begun_ns >= test->end_ns) {
        skip(result, rp_format("the time of all steps has passed; run it alone: --steps %s",
                               steps[step].name));
        return;
    }
    test->work.deadline_ns = deadline_of(test, step);
    values = json_object();
    const int rc = steps[step].run(test, values, &err);
    result->seconds = (double)(rp_now_ns() - begun_ns) / 1e9;
    take(test, step, rc, values, &err);
}

static int run_steps(struct rp_selftest *test, const char *path, struct rp_err *err)
{
    struct rp_progress_line line = rp_progress_line_begin();
    const size_t most = count_steps(test).wanted;
    size_t number = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < RP_SELFTEST_STEPS && !test->interrupted; i++) {
        rp_autofree char *text = rp_format("step %zu of %zu: %s", number + 1, most, steps[i].text);

        if (!test->steps[i].wanted)
            continue;
        number++;
        rp_progress_line_show(&line, text);
        run_step(test, i);
        test->ended_ns = rp_now_ns();
        test->interrupted |= rp_proc_interrupting_signal() != 0;
        rc = write_document(test, path, err);
    }
    rp_progress_line_clear(&line);
    return rc;
}

/* --- beginning ------------------------------------------------------------------------------ */

static void want(struct rp_selftest *test, size_t step)
{
    test->steps[step].wanted = true;
    for (size_t i = 0; i < step; i++)
        if (strcmp(steps[step].needs, steps[i].name) == 0)
            want(test, i);
}

static int choose_steps(struct rp_selftest *test, const struct rp_word_list *words,
                        struct rp_err *err)
{
    for (size_t i = 0; words->count == 0 && i < RP_SELFTEST_STEPS; i++)
        want(test, i);
    for (size_t i = 0; i < words->count; i++) {
        size_t step = 0;

        while (step < RP_SELFTEST_STEPS && strcmp(steps[step].name, words->at[i]) != 0)
            step++;
        if (step == RP_SELFTEST_STEPS) {
            rp_autobuf names = {0};

            for (size_t k = 0; k < RP_SELFTEST_STEPS; k++)
                rp_buf_printf(&names, "%s%s", k ? " " : "", steps[k].name);
            return rp_fail(err, RP_USAGE, "--steps: there is no step '%s'; the steps are %s",
                           words->at[i], rp_buf_text(&names));
        }
        want(test, step);
    }
    return 0;
}

static void choose_sizes(struct rp_selftest *test)
{
    const unsigned cus = test->work.arch.compute_units ? test->work.arch.compute_units : 64;

    test->modelled = (struct rp_selftest_sizes){.blocks = cus * 4,
                                                .rounds = 4,
                                                .launches = 2,
                                                .copy_mib = 64,
                                                .cache_rounds = 4,
                                                .lds_rounds = 8,
                                                .fma_rounds = 64,
                                                .matrix_rounds = 64,
                                                .compare_runs = 1,
                                                .overlap_blocks = cus / 4,
                                                .overlap_rounds = 100,
                                                .streams = 4};
    test->sizes = test->modelled;
    if (test->work.software)
        return;
    test->sizes.rounds = 2000; /* kernels of about a millisecond */
    test->sizes.launches = 8;
    test->sizes.copy_mib = 512; /* more than caches hold */
    test->sizes.cache_rounds = 200;
    test->sizes.lds_rounds = 2000;
    test->sizes.fma_rounds = 4000;
    test->sizes.matrix_rounds = 2000;
    test->sizes.compare_runs = 6;
    test->sizes.overlap_rounds = 20000;
}

static int prepare(struct rp_selftest *test, const struct rp_doctor_cli *cli, struct rp_err *err)
{
    int rc = choose_steps(test, &cli->steps, err);

    rp_device_options_read(cli->device, 0, 0, -1, &test->work.options);
    if (rc == 0)
        rc = rp_check_output(cli->output, err);
    if (rc == 0)
        rc = rp_workload_open(&test->work, err);
    if (rc < 0)
        return rc;
    choose_sizes(test);
    test->tracer = (const char *const[]){"auto", "rocprofv3", "builtin"}[cli->tracer];
    test->begun_ns = rp_now_ns();
    test->end_ns = test->work.software ? 0 : test->begun_ns + ALL_S * INT64_C(1000000000);
    return 0;
}

static void selftest_free(struct rp_selftest *test)
{
    for (size_t i = 0; i < RP_SELFTEST_STEPS; i++) {
        free(test->steps[i].reason);
        json_decref(test->steps[i].values);
        json_decref(test->steps[i].checks);
    }
    rp_workload_close(&test->work);
}

static int print(const struct rp_selftest *test, const struct rp_doctor_cli *cli)
{
    rp_autofree char *json =
        cli->json ? rp_workload_document_text(rp_selftest_document(test)) : NULL;
    rp_autobuf text = {0};

    if (!cli->json)
        put_text(test, cli->output, &text);
    return rp_cli_result(json ? json : rp_buf_text(&text));
}

static int exit_code(const struct rp_selftest *test)
{
    const struct counts counts = count_steps(test);

    if (counts.of[RP_SELFTEST_FAILED])
        return RP_VERDICT;
    if (counts.of[RP_SELFTEST_PASSED])
        return RP_OK;
    return test->interrupted ? RP_INTERRUPTED : RP_ENVIRONMENT;
}

int rp_cmd_selftest(const struct rp_environment *env, const struct rp_doctor_cli *cli)
{
    rp_cleanup(selftest_free) struct rp_selftest test = {.work = {.env = env}};
    struct rp_err err = RP_ERR_INIT;
    int rc;

    rp_proc_catch_signals();
    rc = prepare(&test, cli, &err);
    if (rc == 0)
        rc = run_steps(&test, cli->output, &err);
    if (rc < 0)
        return rp_cli_error(&err);
    rc = print(&test, cli);
    return rc != RP_OK ? rc : exit_code(&test);
}
