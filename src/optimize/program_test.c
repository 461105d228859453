#include "optimize/program_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/box.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/stats.h"
#include "base/units.h"
#include "experiment/child_run.h"
#include "experiment/output_compare.h"
#include "run/run_program.h"

/* This section shows in a message where two texts that should be the same begin to differ. */

enum { MOST_SHOWN = 100, LEAD = 40 };

struct place {
    unsigned long line; /**< from 1 */
    long begin;         /**< of that line, in bytes from the beginning of the text */
    long at;            /**< of the first byte that differs */
};

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/** @return whether they differ anywhere */
static bool find(FILE *a, FILE *b, struct place *ret)
{
    struct place place = {.line = 1};

    for (;; place.at++) {
        const int x = getc(a), y = getc(b);

        if (x != y) {
            *ret = place;
            return true;
        }
        if (x == EOF)
            return false;
        if (x == '\n') {
            place.line++;
            place.begin = place.at + 1;
        }
    }
}

/** Quotes a text at that place. Characters that no terminal should get become question marks. */
static void show(FILE *file, const struct place *place, struct rp_buf *text)
{
    const bool inside = place->at - place->begin > LEAD;
    const long begin = inside ? place->at - LEAD : place->begin;
    char shown[MOST_SHOWN + 1];
    size_t length;

    if (fseek(file, begin, SEEK_SET) != 0)
        return;
    length = fread(shown, 1, sizeof shown - 1, file);
    if (length == 0) {
        rp_buf_puts(text, "missing");
        return;
    }
    shown[length] = 0;
    for (size_t i = 0; i < length && shown[i] != '\n'; i++)
        if (shown[i] < ' ' || shown[i] > '~')
            shown[i] = '?';
    rp_buf_printf(text, "\"%s%.*s%s\"", inside ? "..." : "", (int)(strchrnul(shown, '\n') - shown),
                  shown, length == MOST_SHOWN && !strchr(shown, '\n') ? "..." : "");
}

/**
 * @return `line 3 is "sum 12" instead of "sum 13"`, with the text of `after` first and the part of
 * long lines that differs; NULL: they are the same, or one cannot be read. Free it.
 */
static char *first_difference(const char *before_path, const char *after_path)
{
    rp_cleanup(close_file) FILE *before = fopen(before_path, "re");
    rp_cleanup(close_file) FILE *after = fopen(after_path, "re");
    rp_autobuf text = {0};
    struct place place;

    if (!before || !after || !find(before, after, &place))
        return NULL;
    rp_buf_printf(&text, "line %lu is ", place.line);
    show(after, &place, &text);
    rp_buf_puts(&text, " instead of ");
    show(before, &place, &text);
    return rp_buf_steal(&text);
}

enum { MOST_PAIRS = 16 };

void rp_output_free(struct rp_output *output)
{
    free(output->why);
    free(output->check_why);
    free(output->said);
    *output = (struct rp_output){0};
}

/** Says how a run ended, and how long it could have taken. */
static char *end_text(const struct rp_child_context *m, enum rp_run_kind what,
                      const struct rp_proc_end *end)
{
    rp_autofree char *limit = end->timed_out ? rp_run_deadline_sentence(m->patience, what) : NULL;

    return limit ? rp_format("it did not end %s", limit) : rp_child_end_sentence(end);
}

/** Puts the verdict of --check into output. */
static void take_verdict(const struct rp_child_context *m, enum rp_run_kind what,
                         const struct rp_proc_end *end, const char *log, struct rp_output *output)
{
    rp_autofree char *how = end_text(m, what, end);
    const int status = end->signaled ? 0 : end->status;

    output->checked = true;
    output->right = !end->signaled && !end->timed_out && !end->over_limits && status == 0;
    if (output->right)
        return;
    free(output->said);
    output->said = rp_child_last_lines(log);
    /* sh ends with these statuses when it cannot run the command. */
    if (how && (status == 126 || status == 127))
        output->check_why = rp_format("the command of --check, or a part of it, %s: %s",
                                      status == 127 ? "was not found" : "cannot be executed", how);
    else if (how)
        output->check_why = rp_format("the command of --check says no: %s", how);
}

static int run_check(const struct rp_child_context *m, const char *check, const char *program,
                     enum rp_run_kind what, const char *printed, struct rp_output *output,
                     struct rp_err *err)
{
    rp_autofree char *log = rp_path_join(m->folder, "check.log");
    rp_autofree char *status = rp_format("%d", output->status);
    /* The file comes by name, so that the command is not part of a text that a shell reads. */
    const char *const argv[] = {"/bin/sh", "-c",  "exec <\"$ROCM_PERF_STDOUT\"; eval \"$1\"",
                                "check",   check, NULL};
    const struct rp_env_change env[] = {{.name = "ROCM_PERF_STDOUT", .value = printed},
                                        {.name = "ROCM_PERF_PROGRAM", .value = program},
                                        {.name = "ROCM_PERF_STATUS", .value = status},
                                        {0}};
    struct rp_proc_end end;
    int rc;

    rc = rp_child_run(&(struct rp_child){.argv = argv,
                                         .env = env,
                                         .stdout_path = log,
                                         .stderr_path = log,
                                         .timeout_ns = rp_run_deadline_left_ns(m->patience, what),
                                         .limits = rp_program_limits(),
                                         .sandbox = rp_child_sandbox(m, what),
                                         .waiting = m->patience->waiting,
                                         .context = m->patience->context},
                      &end, err);
    if (rc == 0)
        rc = rp_run_deadline_judge_end(m->patience, what, &end, err);
    if (rc < 0)
        return rp_wrap(err, "--check");
    take_verdict(m, what, &end, log, output);
    return 0;
}

/** Returns where a run's stdout goes. That of the original is kept. */
static char *printed_path(const struct rp_child_context *m, enum rp_run_kind what)
{
    return rp_path_join(m->folder, what == RP_RUN_KIND_ORIGINAL ? "original.out" : "program.out");
}

static int read_output(const char *printed, const char *log, struct rp_output *ret,
                       struct rp_err *err)
{
    struct stat st;
    int rc = rp_sha256_file(printed, ret->sha256, err);

    if (rc < 0)
        return rc;
    ret->bytes = stat(printed, &st) == 0 ? (uint64_t)st.st_size : 0;
    ret->said = rp_child_last_lines(log);
    return 0;
}

int rp_program_test_run(const struct rp_child_context *measure, const char *program,
                        enum rp_run_kind what, const char *check, struct rp_output *ret,
                        struct rp_err *err)
{
    rp_autofree char *printed = printed_path(measure, what);
    rp_autofree char *log = rp_path_join(measure->folder, "program.log");
    rp_cleanup(rp_output_free) struct rp_output output = {0};
    struct rp_proc_end end;
    int rc;

    rc = rp_own_command_run(measure,
                            &(struct rp_own_command){.words = (const char *const[]){"run", NULL},
                                                     .program = program,
                                                     .stdout_path = printed,
                                                     .stderr_path = log,
                                                     .what = what},
                            &end, err);
    if (rc == 0)
        rc = read_output(printed, log, &output, err);
    if (rc < 0)
        return rp_wrap(err, "run %s", program);
    output.status = end.signaled ? 128 + end.status : end.status;
    if (end.signaled || end.timed_out || end.over_limits)
        output.why = end_text(measure, what, &end);
    if (check && !output.why)
        rc = run_check(measure, check, program, what, printed, &output, err);
    if (rc < 0)
        return rc;
    *ret = output;
    output = (struct rp_output){0};
    return 0;
}

char *rp_output_differs(const struct rp_child_context *measure, const struct rp_output *before,
                        const struct rp_output *after)
{
    rp_autofree char *original = printed_path(measure, RP_RUN_KIND_ORIGINAL);
    rp_autofree char *printed = printed_path(measure, RP_RUN_KIND_CANDIDATE);
    rp_autofree char *where = NULL;

    if (after->why)
        return rp_strdup(after->why);
    if (after->checked)
        return after->right ? NULL : rp_strdup(after->check_why);
    if (after->status != before->status)
        return rp_format("its exit status is %d instead of %d", after->status, before->status);
    if (strcmp(before->sha256, after->sha256) == 0)
        return NULL;
    where = original && printed ? first_difference(original, printed) : NULL;
    return rp_format("it prints something else%s%s", where ? ": " : "", where ? where : "");
}

bool rp_output_differs_by_digits(const struct rp_child_context *measure, double allowed)
{
    rp_autofree char *original = printed_path(measure, RP_RUN_KIND_ORIGINAL);
    rp_autofree char *printed = printed_path(measure, RP_RUN_KIND_CANDIDATE);
    rp_cleanup(close_file) FILE *before = fopen(original, "re");
    rp_cleanup(close_file) FILE *after = fopen(printed, "re");
    rp_autofree char *a = NULL;
    rp_autofree char *b = NULL;
    size_t room_a = 0, room_b = 0;
    struct place place;

    if (!before || !after || !find(before, after, &place) ||
        fseek(before, place.begin, SEEK_SET) != 0 || fseek(after, place.begin, SEEK_SET) != 0)
        return false;
    const ssize_t bytes_a = getline(&a, &room_a, before), bytes_b = getline(&b, &room_b, after);
    const struct rp_output_bound bound = {.relative = 1e-3, .absolute = allowed};

    return bytes_a >= 0 && bytes_b >= 0 &&
           rp_output_line_agrees((struct rp_output_text){a, (size_t)bytes_a},
                                 (struct rp_output_text){b, (size_t)bytes_b}, &bound);
}

/** profile's advice does not fit optimize, which can do nothing without kernels. */
static char *for_optimize(const char *said, const struct rp_child_context *measure)
{
    const char *advice = strstr(said, RP_WALLCLOCK_INSTEAD);

    return advice ? rp_format("%.*s%s%s", (int)(advice - said), said,
                              advice + strlen(RP_WALLCLOCK_INSTEAD),
                              measure->input
                                  ? ""
                                  : "; its standard input is empty (/dev/null): what it needs must "
                                    "come from its arguments, from a file, or from that of "
                                    "optimize (< FILE)")
                  : rp_strdup(said);
}

/** The profile has failed, because of the program or of something around it. */
static int profile_failed(const struct rp_child_context *measure, const char *program,
                          const struct rp_proc_end *end, const char *how, const char *log,
                          struct rp_err *err)
{
    rp_autofree char *lines = rp_child_last_lines(log);
    rp_autofree char *said = lines ? for_optimize(lines, measure) : NULL;
    const bool by_status = !end->signaled && !end->timed_out && !end->over_limits;
    const bool documented = by_status && end->status > 0 && end->status <= RP_PROGRAM;
    const enum rp_code code = documented                           ? (enum rp_code)end->status
                              : end->timed_out || end->over_limits ? RP_PROGRAM
                                                                   : RP_ENVIRONMENT;

    if (documented && said && *said)
        return rp_fail(err, code, "profile %s: %s", program, said);
    return rp_fail(err, code, "profile %s: %s%s%s", program, how ? how : "it failed",
                   said && *said ? ": " : "", said ? said : "");
}

int rp_program_test_profile(const struct rp_child_context *measure, const char *program,
                            enum rp_run_kind what, const char *output, struct rp_facts *ret,
                            struct rp_err *err)
{
    rp_autofree char *status = rp_format("%d", measure->status);
    const struct rp_sandbox *sandbox = rp_child_sandbox(measure, what);
    rp_autofree char *made = rp_box_place(sandbox, output);
    const char *const words[] = {
        "profile", "--runs",          "1",    "-o",
        made,      "--expect-status", status, what == RP_RUN_KIND_TRACED ? "--deep-analysis" : NULL,
        NULL};
    rp_autofree char *log = rp_path_join(measure->folder, "profile.log");
    rp_autofree char *how = NULL;
    struct rp_proc_end end;
    int rc;

    /* A result of a session is as private as the session. */
    rc = sandbox ? 0 : rp_mkdirs_private(output, err);
    if (rc == 0)
        rc = rp_own_command_run(measure,
                                &(struct rp_own_command){.words = words,
                                                         .program = program,
                                                         .stdout_path = log,
                                                         .stderr_path = log,
                                                         .what = what},
                                &end, err);
    if (!sandbox)
        rp_close_tree(output);
    if (rc < 0)
        return rp_wrap(err, "profile %s", program);
    if (!end.signaled && !end.timed_out && end.status == 0) {
        rc = rp_box_take(sandbox, output, err);
        return rc < 0 ? rp_wrap(err, "profile %s", program) : rp_facts_read(output, ret, err);
    }
    how = end_text(measure, what, &end);
    return profile_failed(measure, program, &end, how, log, err);
}

void rp_program_times_free(struct rp_program_times *times)
{
    json_decref(times->runs);
    json_decref(times->slower);
    *times = (struct rp_program_times){0};
}

static bool is_one_of(const char *const *symbols, const char *symbol)
{
    while (symbol && *symbols && strcmp(*symbols, symbol) != 0)
        symbols++;
    return symbol && *symbols;
}

/** Adds up the rows of these symbols; a program on several GPUs has several of each. A negative sum
 * means that it is not known. */
static double time_of(const struct rp_facts *facts, const char *const *symbols)
{
    double sum = -1;

    for (size_t i = 0; i < facts->count; i++)
        if (is_one_of(symbols, facts->kernels[i].symbol) && facts->kernels[i].time_ns.known)
            sum = (sum < 0 ? 0 : sum) + facts->kernels[i].time_ns.value;
    return sum;
}

static double launches_of(const struct rp_facts *facts, const char *symbol)
{
    double sum = 0;

    for (size_t i = 0; i < facts->count; i++)
        if (facts->kernels[i].symbol && strcmp(facts->kernels[i].symbol, symbol) == 0 &&
            facts->kernels[i].calls.known)
            sum += facts->kernels[i].calls.value;
    return sum;
}

/** Notes the first of these kernels that both programs launch, but not as often. */
static void take_launches(const struct rp_facts *before, const struct rp_facts *after,
                          const char *const *symbols, double ret[2])
{
    for (; *symbols; symbols++) {
        const double was = launches_of(before, *symbols), is = launches_of(after, *symbols);

        if (was > 0 && is > 0 && was != is) {
            ret[0] = was;
            ret[1] = is;
            return;
        }
    }
}

/** Adds up the bounds of these rows: all have them, or the sum has none. */
static void bounds_of(const struct rp_facts *facts, const char *const *symbols, double ret_ns[2])
{
    double sum[2] = {0, 0};

    for (size_t i = 0; i < facts->count; i++) {
        const struct rp_kernel_facts *k = &facts->kernels[i];

        if (!is_one_of(symbols, k->symbol) || !k->time_ns.known)
            continue;
        if (!(k->between_ns[1] > 0))
            return;
        sum[0] += k->between_ns[0];
        sum[1] += k->between_ns[1];
    }
    memcpy(ret_ns, sum, sizeof sum);
}

struct pair {
    struct rp_facts before, after;
};

static bool is_of_counts(const struct rp_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        if (facts->kernels[i].timing && strcmp(facts->kernels[i].timing, "counts") == 0)
            return true;
    return false;
}

/** Modelled times are of one pair of runs, whose bounds these are. */
static void take_bounds(const struct pair *pair, const char *const *symbols,
                        struct rp_program_times *ret)
{
    ret->from_counts = is_of_counts(&pair->before) || is_of_counts(&pair->after);
    memcpy(ret->whole.before_ns, pair->before.between_ns, sizeof ret->whole.before_ns);
    memcpy(ret->whole.after_ns, pair->after.between_ns, sizeof ret->whole.after_ns);
    bounds_of(&pair->before, symbols, ret->kernel.before_ns);
    bounds_of(&pair->after, symbols, ret->kernel.after_ns);
}

/** Lists those of the last pair of runs; they are a remark, not a verdict. */
static json_t *slower_ones(const struct rp_facts *before, const struct rp_facts *after,
                           const char *const *symbols, double margin)
{
    json_t *list = json_array();

    for (size_t i = 0; i < before->count; i++) {
        const struct rp_kernel_facts *k = &before->kernels[i];
        const char *const own[] = {k->symbol, NULL};
        double was, is;

        if (!k->symbol || is_one_of(symbols, k->symbol))
            continue;
        was = time_of(before, own);
        is = time_of(after, own);
        if (was > 0 && is > was * (1 + margin))
            json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f}", "name", k->name, "symbol",
                                                  k->symbol, "before_ns", was, "after_ns", is));
    }
    return list;
}

static void free_pair(struct pair *pair)
{
    rp_facts_free(&pair->before);
    rp_facts_free(&pair->after);
}

static int has_times(const struct rp_facts *facts, struct rp_err *err)
{
    return facts->runtime_ms.known
               ? 0
               : rp_fail(err, RP_BAD_INPUT, "the program's dispatches have no times");
}

/** Profiles the original program. If it fails, the change is not at fault. */
static int profile_before(const struct rp_child_context *m, const char *program, struct pair *pair,
                          struct rp_err *err)
{
    rp_autofree char *folder = rp_path_join(m->folder, "profile-before");
    int rc = rp_program_test_profile(m, program, RP_RUN_KIND_ORIGINAL, folder, &pair->before, err);

    if (rc == 0)
        rc = has_times(&pair->before, err);
    return rc < 0 ? rp_wrap(err, "the program without the change, run once more") : 0;
}

/** @return 0 with *ret_why when it is the program that fails */
static int profile_after(const struct rp_child_context *m, const char *program, struct pair *pair,
                         char **ret_why, struct rp_err *err)
{
    rp_autofree char *folder = rp_path_join(m->folder, "profile-after");
    struct rp_err failed = RP_ERR_INIT;
    int rc;

    rc = rp_program_test_profile(m, program, RP_RUN_KIND_CANDIDATE, folder, &pair->after, &failed);
    if (rc == 0)
        rc = has_times(&pair->after, &failed);
    if (rc == 0)
        return 0;
    if (failed.code != RP_PROGRAM && failed.code != RP_BAD_INPUT) {
        *err = failed;
        return rc;
    }
    *ret_why = rp_strdup(failed.text);
    return 0;
}

static int run_pair(const struct rp_child_context *m, const char *before, const char *after,
                    bool swapped, struct pair *ret, char **ret_why, struct rp_err *err)
{
    int rc = swapped ? 0 : profile_before(m, before, ret, err);

    if (rc == 0)
        rc = profile_after(m, after, ret, ret_why, err);
    return rc == 0 && swapped && !*ret_why ? profile_before(m, before, ret, err) : rc;
}

char *rp_program_test_failed_launches(const struct rp_facts *facts)
{
    return rp_format("%.0f of its %.0f launch calls started no kernel: HIP refused them",
                     facts->failed_launches.value, facts->launches.value);
}

/** A program that does less work is not faster. If launches failed without the change, too, the
 * change is not at fault. */
static void judge_launches(const struct pair *pair, char **ret_why)
{
    const struct rp_quantity *before = &pair->before.failed_launches,
                             *after = &pair->after.failed_launches;

    if (*ret_why || !after->known || after->value <= (before->known ? before->value : 0))
        return;
    *ret_why = rp_program_test_failed_launches(&pair->after);
}

/** Gives the ratio of pairs of times. False: a time is not known. */
static bool ratio_of(const double *before, const double *after, unsigned pairs,
                     struct rp_program_ratio *ret)
{
    /* This is how often, at most, a ratio may lie beyond each end of its interval. */
    static const double alpha = 0.05;
    double logs[MOST_PAIRS];
    struct rp_paired p;

    for (unsigned i = 0; i < pairs; i++) {
        if (!(before[i] > 0) || !(after[i] > 0))
            return false;
        logs[i] = log(before[i] / after[i]);
    }
    p = rp_paired_interval(logs, pairs, alpha);
    *ret = (struct rp_program_ratio){exp(p.middle), exp(p.low), exp(p.high)};
    return true;
}

int rp_program_times(const struct rp_child_context *measure, const char *before, const char *after,
                     const char *const *symbols, unsigned pairs, double margin,
                     struct rp_program_times *ret, char **ret_why, struct rp_err *err)
{
    double values[4][MOST_PAIRS];
    struct rp_program_times times = {.runs = json_array(), .several = symbols[0] && symbols[1]};
    int rc = 0;

    pairs = pairs < MOST_PAIRS ? pairs : MOST_PAIRS;
    *ret_why = NULL;
    for (unsigned i = 0; i < pairs && rc == 0; i++) {
        rp_cleanup(free_pair) struct pair pair = {{0}, {0}};

        /* The order is A B B A A B ... */
        rc = run_pair(measure, before, after, i % 2, &pair, ret_why, err);
        if (rc == 0)
            judge_launches(&pair, ret_why);
        if (rc < 0 || *ret_why)
            break;
        values[0][i] = pair.before.runtime_ms.value;
        values[1][i] = pair.after.runtime_ms.value;
        values[2][i] = time_of(&pair.before, symbols);
        values[3][i] = time_of(&pair.after, symbols);
        take_bounds(&pair, symbols, &times);
        take_launches(&pair.before, &pair.after, symbols, times.launches);
        json_array_append_new(times.runs, json_pack("{s:f, s:f}", "before_ms", values[0][i],
                                                    "after_ms", values[1][i]));
        json_decref(times.slower);
        times.slower = slower_ones(&pair.before, &pair.after, symbols, margin);
    }
    if (rc < 0 || *ret_why) {
        rp_program_times_free(&times);
        return rc;
    }
    /* The median sorts what are pairs until then. */
    times.measured = pairs > 1 && ratio_of(values[0], values[1], pairs, &times.whole_ratio) &&
                     ratio_of(values[2], values[3], pairs, &times.kernel_ratio);
    times.before_ms = rp_median(values[0], pairs);
    times.after_ms = rp_median(values[1], pairs);
    times.kernel_before_ns = rp_median(values[2], pairs);
    times.kernel_after_ns = rp_median(values[3], pairs);
    *ret = times;
    return 0;
}

bool rp_program_has_bounds(const struct rp_program_bounds *b)
{
    return b->before_ns[1] > 0 && b->after_ns[1] > 0;
}

static const char *subject(const struct rp_program_times *t)
{
    return t->several ? "what differs is" : "the kernel is";
}

/** The formula's times may say otherwise. */
static struct rp_range_text speed_of(const struct rp_program_bounds *b)
{
    return rp_speed_range(b->before_ns[0] / b->after_ns[1], b->before_ns[1] / b->after_ns[0]);
}

/** Tells times from counts apart by their bounds: what they show to be no gain is none, and what
 * they leave open is undecided. */
static enum rp_outcome judge_bounds(const struct rp_program_times *t, double margin, char why[200])
{
    const double slowest = 1 / (1 + margin);
    const double kernel = t->kernel.before_ns[0] / t->kernel.after_ns[1];
    const double program = t->whole.before_ns[0] / t->whole.after_ns[1];
    const bool kernel_slower = t->kernel.before_ns[1] <= t->kernel.after_ns[0];

    if (kernel_slower || t->whole.before_ns[1] <= slowest * t->whole.after_ns[0]) {
        snprintf(why, 200, "in the program, by the bounds of the times, %s %s",
                 kernel_slower ? subject(t) : "all kernels together are",
                 speed_of(kernel_slower ? &t->kernel : &t->whole).text);
        return RP_OUTCOME_PROGRAM_SLOWER;
    }
    if (kernel > 1 && program > slowest) {
        snprintf(why, 200, "by the bounds of the program's times %s %s, all kernels %s", subject(t),
                 speed_of(&t->kernel).text, speed_of(&t->whole).text);
        return RP_OUTCOME_ACCEPTED;
    }
    snprintf(why, 200,
             "bounds: in the program the times before and after overlap, those of %s: use --timing "
             "detailed",
             kernel > 1   ? "all kernels together"
             : t->several ? "what differs"
                          : "the kernel");
    return RP_OUTCOME_UNDECIDED;
}

/** Tells measured times apart by their intervals. */
static enum rp_outcome judge_measured(const struct rp_program_times *t, double margin,
                                      char why[200])
{
    const double slowest = 1 / (1 + margin);
    const struct rp_program_ratio *kernel = &t->kernel_ratio, *whole = &t->whole_ratio;
    const bool kernel_open = kernel->low <= 1;
    const struct rp_program_ratio *open = kernel_open ? kernel : whole;

    if (kernel->high <= 1 || whole->high <= slowest)
        return RP_OUTCOME_PROGRAM_SLOWER;
    if (!kernel_open && whole->low > slowest)
        return RP_OUTCOME_ACCEPTED;
    snprintf(why, 200, "noise: in the program %s %s (%s)",
             kernel_open ? subject(t) : "all kernels together are",
             rp_speed_change(open->ratio).text, rp_speed_range(open->low, open->high).text);
    return RP_OUTCOME_UNDECIDED;
}

static enum rp_outcome judge_times(const struct rp_program_times *t, double margin, char why[200])
{
    const double program = t->measured ? t->whole_ratio.ratio : t->before_ms / t->after_ms;
    const double kernel =
        t->measured ? t->kernel_ratio.ratio : t->kernel_before_ns / t->kernel_after_ns;

    snprintf(why, 200, "in the program %s %s, all kernels together %s%s", subject(t),
             rp_speed_change(kernel).text, rp_speed_change(program).text,
             fabs(kernel - 1) < 0.001 ? ": does --build compile {source}, or a file by its name?"
                                      : "");
    if (rp_program_has_bounds(&t->kernel) && rp_program_has_bounds(&t->whole))
        return judge_bounds(t, margin, why);
    if (t->from_counts) {
        snprintf(why, 200,
                 "bounds: not all launches of the program have bounds, and counts alone "
                 "tell no times apart: use --timing detailed");
        return RP_OUTCOME_UNDECIDED;
    }
    if (t->measured)
        return judge_measured(t, margin, why);
    return t->kernel_after_ns > 0 && kernel > 1 && program > 1 / (1 + margin)
               ? RP_OUTCOME_ACCEPTED
               : RP_OUTCOME_PROGRAM_SLOWER;
}

enum rp_outcome rp_program_times_judge(const struct rp_program_times *t, double margin,
                                       char why[200])
{
    enum rp_outcome outcome = judge_times(t, margin, why);
    char times[200];

    if (!(t->launches[0] > 0))
        return outcome;
    /* A program that launches a kernel less often has not made it faster. */
    memcpy(times, why, sizeof times);
    snprintf(why, 200, "%s launched %.0f time%s in place of %.0f: %.140s",
             t->several ? "a kernel that differs is" : "the kernel is", t->launches[1],
             t->launches[1] == 1 ? "" : "s", t->launches[0], times);
    return outcome == RP_OUTCOME_ACCEPTED ? RP_OUTCOME_UNDECIDED : outcome;
}

/* --- a build of the program ----------------------------------------------------------------- */

int rp_program_trial_build(const struct rp_program_trial *trial, const char *source,
                           const char *program, unsigned runs, char **ret_why, struct rp_err *err)
{
    rp_cleanup(rp_build_result_free) struct rp_build_result built = {0};
    rp_autofree char *reason = NULL;
    int rc = rp_compile(trial->command, source, NULL, program, &built, err);

    if (rc == 0 && !built.ok) {
        reason = rp_build_result_reason(&built);
        *ret_why = rp_format("the program does not build with it: %s", reason ?: built.why);
    }
    for (unsigned i = 0; rc == 0 && i < runs && !*ret_why; i++) {
        rp_cleanup(rp_output_free) struct rp_output output = {0};

        rc = rp_program_test_run(trial->measure, program, RP_RUN_KIND_CANDIDATE, trial->check,
                                 &output, err);
        *ret_why = rc == 0 ? rp_output_differs(trial->measure, trial->expected, &output) : NULL;
    }
    return rc;
}

int rp_program_trial_run(const struct rp_program_trial *trial, const char *source,
                         const char *before, const char *program, struct rp_program_times *ret,
                         char **ret_why, struct rp_err *err)
{
    enum { PAIRS_ON_A_GPU = 8, OUTPUTS = 2 };
    int rc = rp_program_trial_build(trial, source, program, OUTPUTS, ret_why, err);

    return rc < 0 || *ret_why
               ? rc
               : rp_program_times(trial->measure, before, program, trial->symbols,
                                  trial->modelled ? 1 : PAIRS_ON_A_GPU,
                                  rp_max_allowed_slowdown(trial->measure->least_improvement), ret,
                                  ret_why, err);
}
