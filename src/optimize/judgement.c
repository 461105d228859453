/* A judgement of a new version of kernels: both versions are made, the kernels that differ are
 * captured where the program launches them, both are compared on each capture, and the program is
 * tried with the new one. The steps are those by which optimize judges a candidate. */
#include "optimize/judgement.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/box.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "experiment/session_folder.h"
#include "optimize/judgement_parts.h"
#include "optimize/kernel_facts.h"
#include "optimize/program_test.h"
#include "run/kernel_names.h"
#include "run/machine.h"
#include "run/standard_input.h"

static void report(const struct judging *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void report(const struct judging *j, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!j->o->progress)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    j->o->progress(j->o->context, rp_buf_text(&text));
}

/* --- both versions -------------------------------------------------------------------------- */

/** A folder of captures says for which GPU they are. */
static int read_captures(struct judging *j, struct rp_err *err)
{
    int rc = rp_captures_read(j->o->captures, &j->given, err);

    if (rc < 0)
        return rc;
    j->gpu = rp_strdup(j->given.list[0].gpu);
    if (!*j->gpu)
        return rp_fail(err, RP_BAD_INPUT, "%s does not say which GPU it was captured on",
                       j->given.list[0].folder);
    return 0;
}

/** The flags of one command are for both versions. */
static int read_command(struct judging *j, struct rp_err *err)
{
    const struct rp_version *source = j->before.is_source  ? &j->before
                                      : j->after.is_source ? &j->after
                                                           : NULL;

    return source ? rp_compile_command_read(&j->o->build, source->file, &j->command, err) : 0;
}

/** An old version that cannot be made is no input. */
static int bad_old(struct rp_err *err)
{
    const struct rp_err why = *err;

    return rp_fail(err, RP_BAD_INPUT, "--old: %s", why.text);
}

/** Makes both code objects. A new version that does not compile is a verdict, an old one is no
 * input. */
static int make_versions(struct judging *j, struct rp_err *err)
{
    rp_autofree char *before = rp_path_join(j->work, "old.hsaco");
    rp_autofree char *after = rp_path_join(j->work, "new.hsaco");
    struct rp_err why = RP_ERR_INIT;
    int rc = rp_version_make(&j->before, j->command, j->gpu, before, err);

    if (rc < 0 && err->code == RP_VERDICT)
        return bad_old(err);
    if (rc < 0)
        return rc;
    rc = rp_version_make(&j->after, j->command, j->gpu, after, &why);
    if (rc == 0)
        return 0;
    if (why.code != RP_VERDICT) {
        *err = why;
        return rc;
    }
    judging_end(j, RP_JUDGED_NOT_BUILT, "%s", why.text);
    return 0;
}

static bool is_among(char **symbols, const char *symbol)
{
    while (*symbols && strcmp(*symbols, symbol) != 0)
        symbols++;
    return *symbols != NULL;
}

/** Leaves those that the old version has as well out of the new one's that differ. */
static void keep_added(struct judging *j)
{
    size_t kept = 0;

    for (char **at = j->added; *at; at++)
        if (is_among(j->changed, *at))
            free(*at);
        else
            j->added[kept++] = *at;
    j->added[kept] = NULL;
}

/** Lists the kernels of the old version that do something else in the new one, and those that only
 * the new one has. */
static int find_changed(struct judging *j, struct rp_err *err)
{
    rp_cleanup(rp_code_object_free) struct rp_code_object before = {0}, after = {0};
    int rc = rp_code_object_open(j->before.hsaco, &before, err);

    if (rc == 0)
        rc = rp_code_object_open(j->after.hsaco, &after, err);
    if (rc == 0)
        rc = rp_code_changed_kernels(&before, &after, "", &j->changed, err);
    if (rc == 0)
        rc = rp_code_changed_kernels(&after, &before, "", &j->added, err);
    if (rc == 0)
        keep_added(j);
    return rc;
}

/* --- where the kernels run ------------------------------------------------------------------ */

static struct judged_kernel *add_kernel(struct judging *j)
{
    j->kernels = rp_realloc_array(j->kernels, j->kernel_count + 1, sizeof *j->kernels);
    j->kernels[j->kernel_count] = (struct judged_kernel){0};
    return &j->kernels[j->kernel_count++];
}

static bool is_wanted(const struct judging *j, const char *name, const char *symbol)
{
    return is_among(j->changed, symbol) &&
           (!j->o->kernel ||
            rp_kernel_pattern_finds(&((struct judging *)j)->pattern, name, symbol));
}

static struct judged_kernel *find_kernel(struct judging *j, const char *symbol)
{
    for (size_t i = 0; i < j->kernel_count; i++)
        if (strcmp(j->kernels[i].symbol, symbol) == 0)
            return &j->kernels[i];
    return NULL;
}

/** Gives each capture that was there to its kernel. */
static void take_captures(struct judging *j)
{
    for (size_t i = 0; i < j->given.count; i++) {
        struct rp_captured *one = &j->given.list[i];
        struct judged_kernel *k;

        if (!is_wanted(j, one->kernel, one->symbol))
            continue;
        k = find_kernel(j, one->symbol);
        if (!k) {
            k = add_kernel(j);
            k->name = rp_strdup(one->kernel);
            k->symbol = rp_strdup(one->symbol);
            k->captures.covered = -1;
            k->floor = rp_facts_time_floor(&(struct rp_kernel_facts){.arch = j->gpu}, false);
        }
        k->captures.list =
            rp_realloc_array(k->captures.list, k->captures.count + 1, sizeof *k->captures.list);
        k->captures.list[k->captures.count++] = *one;
        *one = (struct rp_captured){0};
    }
}

/** Captures one kernel of a run. What cannot be captured leaves that kernel undecided. */
static int capture_kernel(struct judging *j, const struct rp_child_context *measure,
                          const struct rp_kernel_facts *facts, const char *arguments,
                          const char *profile, struct rp_err *err)
{
    rp_autofree char *folder = rp_format("%s/captures-%zu", j->work, j->kernel_count + 1);
    struct judged_kernel *k = add_kernel(j);
    struct rp_err why = RP_ERR_INIT;
    int rc;

    k->name = rp_strdup(facts->name);
    k->symbol = rp_strdup(facts->symbol);
    k->arguments = arguments;
    k->floor = rp_facts_time_floor(facts, false);
    k->time_ns = facts->time_ns.known ? facts->time_ns.value : 0;
    report(j, "capturing dispatches of %s%s%s%s", k->name, arguments ? " with the arguments '" : "",
           arguments ? arguments : "", arguments ? "'" : "");
    rc = rp_captures_make(measure, j->o->program[0], k->name, k->symbol, profile, folder,
                          &k->captures, &why);
    if (rc < 0 && why.code != RP_VERDICT) {
        *err = why;
        return rc;
    }
    if (rc < 0) {
        k->decision.outcome = RP_OUTCOME_UNDECIDED;
        snprintf(k->decision.reason, sizeof k->decision.reason, "%.390s", why.text);
    }
    return 0;
}

/** Profiles one run of the program, and captures what it launches of the kernels that differ. */
static int capture_run(struct judging *j, const struct rp_child_context *measure,
                       const char *arguments, const char *profile, struct rp_err *err)
{
    rp_cleanup(rp_facts_free) struct rp_facts facts = {0};
    int rc;

    report(j, "profiling %s%s%s", j->o->program[0], arguments ? " " : "",
           arguments ? arguments : "");
    rc = rp_program_test_profile(measure, j->o->program[0], RP_RUN_KIND_ORIGINAL, profile, &facts,
                                 err);
    for (size_t i = 0; rc == 0 && i < facts.count; i++) {
        const struct rp_kernel_facts *k = &facts.kernels[i];

        if (k->symbol && is_wanted(j, k->name, k->symbol))
            rc = capture_kernel(j, measure, k, arguments, profile, err);
    }
    return rc;
}

/** Runs the program as it is: what it prints is what it must print with the new version. */
static int run_original(struct judging *j, struct rp_err *err)
{
    int rc;

    report(j, "running %s as it is", j->o->program[0]);
    rc = rp_program_test_run(&j->measure, j->o->program[0], RP_RUN_KIND_ORIGINAL, j->o->check,
                             &j->expected, err);
    if (rc < 0)
        return rc;
    if (j->expected.why || j->expected.check_why)
        return rp_fail(err, RP_PROGRAM, "%s as it is: %s%s%s%s", j->o->program[0],
                       j->expected.why ? j->expected.why : j->expected.check_why,
                       j->expected.said && *j->expected.said ? ": " : "",
                       j->expected.said ? j->expected.said : "",
                       rp_candidate_sandbox_hint(j->measure.sandbox));
    j->measure.status = j->expected.status;
    return 0;
}

/** Captures a run with other arguments than those of the command line. */
static int capture_size(struct judging *j, char *arguments, size_t number, struct rp_err *err)
{
    rp_autowords words = {0};
    rp_autofree char *profile = rp_format("%s/profile-%zu", j->work, number);
    struct rp_child_context measure = j->measure;
    int rc;

    rp_words_add(&words, j->o->program[0]);
    rc = rp_words_split_more(arguments, &words, err);
    if (rc < 0)
        return rp_wrap(err, "--sizes '%s'", arguments);
    measure.program = words.list;
    rc = capture_run(j, &measure, arguments, profile, err);
    return rc < 0 ? rp_wrap(err, "with the arguments '%s' of --sizes", arguments) : 0;
}

static int capture_sizes(struct judging *j, struct rp_err *err)
{
    char *rest = j->sizes;
    size_t number = 1;
    int rc = 0;

    while (rest && rc == 0) {
        char *arguments = strsep(&rest, ";");

        arguments += strspn(arguments, " ");
        if (*arguments)
            rc = capture_size(j, arguments, number++, err);
    }
    return rc;
}

static int capture_program(struct judging *j, struct rp_err *err)
{
    rp_autofree char *profile = rp_path_join(j->work, "profile");
    int rc = run_original(j, err);

    if (rc == 0)
        rc = capture_run(j, &j->measure, NULL, profile, err);
    return rc == 0 ? capture_sizes(j, err) : rc;
}

/** Says why nothing was captured of a kernel that differs. */
static const char *why_not_captured(const struct judging *j, const char *name, const char *symbol)
{
    if (j->o->kernel && !is_wanted(j, name, symbol))
        return "--kernel does not find it";
    return j->o->captures ? "there is no capture of it" : "the program does not launch it";
}

/** Lists what differs and has no capture. */
static void note_not_judged(struct judging *j)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_demangler_close) struct rp_demangler demangler = {0};
    struct rp_err why = RP_ERR_INIT;

    j->not_judged = json_array();
    if (rp_environment_detect(&env, &why) == 0)
        rp_demangler_open(&env, &demangler);
    for (size_t i = 0; i < 2; i++)
        for (char **at = i ? j->added : j->changed; *at; at++) {
            rp_autofree char *name = NULL;

            if (!i && find_kernel(j, *at))
                continue;
            name = rp_demangle_kernel(&demangler, *at);
            json_array_append_new(j->not_judged,
                                  json_pack("{s:o, s:o, s:s}", "symbol", judging_text(*at), "name",
                                            judging_text(name), "reason",
                                            i ? "the old version has no kernel of that name"
                                              : why_not_captured(j, name ? name : *at, *at)));
        }
}

/** Without a dispatch of what differs there is nothing to compare. */
static void check_kernels(struct judging *j)
{
    note_not_judged(j);
    if (!j->changed[0] && !j->added[0])
        judging_end(j, RP_JUDGED_SAME, "both versions have the same instructions in each kernel");
    else if (!j->changed[0])
        judging_end(j, RP_JUDGED_UNDECIDED,
                    "the old version's kernels have the same instructions in the new one, and what "
                    "that adds can be compared with nothing");
    else if (!j->kernel_count)
        judging_end(j, RP_JUDGED_UNDECIDED, "%s no kernel that differs%s",
                    j->o->captures ? "the captures are of" : "the program launches",
                    j->o->kernel ? " and that --kernel finds" : "");
}

static int capture(struct judging *j, struct rp_err *err)
{
    int rc =
        j->o->kernel ? rp_kernel_pattern_compile("--kernel", j->o->kernel, &j->pattern, err) : 0;

    if (rc == 0)
        rc = find_changed(j, err);
    if (rc == 0 && j->changed[0] && j->o->captures)
        take_captures(j);
    else if (rc == 0 && j->changed[0])
        rc = capture_program(j, err);
    if (rc == 0)
        check_kernels(j);
    return rc;
}

/* --- comparisons ---------------------------------------------------------------------------- */

/** The old version itself may not give what was captured: that says nothing of the new one. */
static bool old_is_wrong(const json_t *comparisons)
{
    const json_t *one = json_array_get(comparisons, json_array_size(comparisons) - 1);
    const json_t *a = json_object_get(json_object_get(one, "comparison"), "a");
    const json_t *others = json_object_get(a, "other_inputs");

    return json_integer_value(json_object_get(a, "wrong_runs")) > 0 ||
           json_is_false(json_object_get(others, "equal"));
}

/** A new version for smaller workgroups is wrong where one is too small for a launch that was seen.
 * @return 0; *ret_note as of rp_code_launches_fit */
static int check_launches(struct judging *j, struct judged_kernel *k, char **ret_note,
                          struct rp_err *err)
{
    rp_cleanup(rp_code_object_free) struct rp_code_object before = {0}, after = {0};
    struct rp_err why = RP_ERR_INIT;
    int rc = rp_code_object_read(j->before.hsaco, k->symbol, &before, err);

    /* What is damaged is found where it is replayed. */
    if (rc < 0 || rp_code_object_read(j->after.hsaco, k->symbol, &after, &why) < 0)
        return rc;
    if (rp_code_launches_fit(&before, &after, rp_captures_largest(&k->captures), ret_note, &why) ==
        0)
        return 0;
    k->decision.outcome = RP_OUTCOME_WRONG;
    snprintf(k->decision.reason, sizeof k->decision.reason, "%.390s", why.text);
    return 0;
}

static void add_note(struct rp_decision *decision, const char *note)
{
    const size_t length = strlen(decision->reason);

    if (note && decision->outcome != RP_OUTCOME_WRONG)
        snprintf(decision->reason + length, sizeof decision->reason - length, "; %s", note);
}

/** Says whether the new version has no such kernel: it has another name, or other arguments, which
 * are a part of a name in C++. That is no fault of it, but nothing can be replayed in its place. */
static bool is_gone(const struct judging *j, const char *symbol)
{
    rp_cleanup(rp_code_object_free) struct rp_code_object after = {0};
    rp_autofree char *descriptor = rp_format("%s.kd", symbol);
    struct rp_err why = RP_ERR_INIT;
    bool missing = false;

    if (rp_code_object_open(j->after.hsaco, &after, &why) == 0)
        rp_code_kernel_read(after.bytes, after.size, descriptor, &after.kernel, &missing, &why);
    return missing;
}

static int compare_kernel(struct judging *j, struct judged_kernel *k, struct rp_err *err)
{
    rp_autofree char *note = NULL;
    int rc;

    if (!k->captures.count)
        return 0;
    if (is_gone(j, k->symbol)) {
        k->decision.outcome = RP_OUTCOME_UNDECIDED;
        snprintf(k->decision.reason, sizeof k->decision.reason,
                 "%.150s has no kernel %.180s: keep its name and arguments", j->after.path,
                 k->name);
        return 0;
    }
    rc = check_launches(j, k, &note, err);
    if (rc < 0 || k->decision.outcome == RP_OUTCOME_WRONG)
        return rc;
    report(j, "comparing both versions of %s%s%s", k->name, k->arguments ? " with " : "",
           k->arguments ? k->arguments : "");
    rc = rp_judge(&(struct rp_judged_kernel){.measure = &j->measure,
                                             .before = j->before.hsaco,
                                             .captures = &k->captures,
                                             .floor = &k->floor,
                                             .any_body = true,
                                             .progress = j->o->progress,
                                             .context = j->o->context},
                  j->after.hsaco, &k->decision, &k->comparisons, err);
    if (rc == 0 && k->decision.outcome == RP_OUTCOME_WRONG && old_is_wrong(k->comparisons))
        rc =
            rp_fail(err, RP_BAD_INPUT,
                    "--old %s does not do what was captured, so nothing can be said of --new: give "
                    "the version that %s (%.200s)",
                    j->before.path, j->o->captures ? "was captured" : "the program was built from",
                    k->decision.reason);
    if (rc == 0)
        add_note(&k->decision, note);
    return rc;
}

static int compare(struct judging *j, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < j->kernel_count && rc == 0; i++)
        rc = compare_kernel(j, &j->kernels[i], err);
    return rc;
}

/* --- the whole program ---------------------------------------------------------------------- */

static struct rp_program_trial trial_of(const struct judging *j)
{
    return (struct rp_program_trial){.measure = &j->measure,
                                     .command = j->command,
                                     .expected = &j->expected,
                                     .check = j->o->check,
                                     .modelled = j->o->on->software};
}

/** Builds the old version the same way: times of two builds are compared, and a build that does
 * something else tells nothing. */
static int build_old(struct judging *j, const char *program, char **ret_why, struct rp_err *err)
{
    const struct rp_program_trial trial = trial_of(j);
    rp_autofree char *why = NULL;
    int rc = rp_program_trial_build(&trial, j->before.file, program, 1, &why, err);

    if (rc == 0 && why)
        *ret_why = rp_format("what is built of --old by %s does not do what %s does: %s%s",
                             rp_compile_command_origin(j->command), j->o->program[0], why,
                             j->o->check || !strstr(why, "prints something else")
                                 ? ""
                                 : "; if it prints something else each time, say with "
                                   "--check which command tells right from wrong");
    return rc;
}

/** Lists the symbols of all kernels that differ, and of those that only the new version has: the
 * work of one may be that of several there. Free the list, not what it has. */
static const char **symbols_of(const struct judging *j)
{
    const char **list;
    size_t count = 0;

    for (char **at = j->changed; *at; at++)
        count++;
    for (char **at = j->added; *at; at++)
        count++;
    list = rp_alloc_zero(count + 1, sizeof *list);
    count = 0;
    for (char **at = j->changed; *at; at++)
        list[count++] = *at;
    for (char **at = j->added; *at; at++)
        list[count++] = *at;
    return list;
}

static void keep_times(struct judging *j, const struct rp_program_times *times)
{
    char why[200];

    j->in_program =
        rp_program_times_judge(times, rp_max_allowed_slowdown(j->o->least_improvement), why);
    j->program_json = json_pack(
        "{s:b, s:s, s:o, s:f, s:f, s:f, s:f, s:O, s:O}", "tried", 1, "outcome",
        rp_outcome_word(j->in_program), "reason", judging_text(why), "before_ms", times->before_ms,
        "after_ms", times->after_ms, "kernel_before_ns", times->kernel_before_ns, "kernel_after_ns",
        times->kernel_after_ns, "runs", times->runs, "slower_kernels", times->slower);
}

/** Builds and runs the program with the new version.
 * @param ret_untried why that tells nothing
 * @param ret_wrong what is wrong with it */
static int run_new(struct judging *j, char **ret_untried, char **ret_wrong, struct rp_err *err)
{
    rp_autofree const char **symbols = symbols_of(j);
    struct rp_program_trial trial = trial_of(j);
    rp_autofree char *before = rp_path_join(j->work, "program-old");
    rp_autofree char *after = rp_path_join(j->work, "program-new");
    rp_cleanup(rp_program_times_free) struct rp_program_times times = {0};
    int rc = *j->expected.sha256 ? 0 : run_original(j, err);

    if (rc < 0)
        return rc;
    report(j, "building and running the program with both versions");
    rc = build_old(j, before, ret_untried, err);
    if (rc < 0 || *ret_untried)
        return rc;
    if (!j->kernel_count) /* Where nothing was compared, its times say nothing of the kernels. */
        return rp_program_trial_build(&trial, j->after.file, after, 2, ret_wrong, err);
    trial.symbols = symbols;
    rc = rp_program_trial_run(&trial, j->after.file, before, after, &times, ret_wrong, err);
    if (rc == 0 && !*ret_wrong)
        keep_times(j, &times);
    return rc;
}

/** Says why what was given is no program that could be built with both; NULL: it is one. */
static const char *why_not_in_program(const struct judging *j)
{
    return !j->o->program ? "captures were given, and no program"
           : !j->before.is_source || !j->after.is_source
               ? "a program can be built of sources only, and code objects were given"
               : NULL;
}

static int try_program(struct judging *j, struct rp_err *err)
{
    const char *none = why_not_in_program(j);
    rp_autofree char *untried = NULL;
    rp_autofree char *wrong = NULL;
    struct rp_err unfit = RP_ERR_INIT;
    int rc = 0;

    if (!none && rp_compile_command_check_program(j->command, &unfit) < 0)
        untried = rp_strdup(unfit.text);
    else if (!none)
        rc = run_new(j, &untried, &wrong, err);
    if (rc == 0)
        rc = rp_version_check(&j->before, err);
    if (rc == 0)
        rc = rp_version_check(&j->after, err);
    if (rc < 0)
        return rc;
    if (none || untried) {
        j->in_program = none ? RP_OUTCOME_REFUSED : RP_OUTCOME_UNDECIDED;
        j->program_json =
            json_pack("{s:b, s:o}", "tried", 0, "reason", judging_text(none ? none : untried));
    } else if (wrong) {
        j->in_program = RP_OUTCOME_PROGRAM_WRONG;
        j->program_json =
            json_pack("{s:b, s:s, s:o}", "tried", 1, "outcome",
                      rp_outcome_word(RP_OUTCOME_PROGRAM_WRONG), "reason", judging_text(wrong));
    } else if (!j->program_json) {
        j->program_json = json_pack("{s:b, s:s, s:s}", "tried", 1, "outcome", "right", "reason",
                                    j->o->check ? "--check says that it is, with both versions"
                                                : "it prints the same with both versions");
    }
    return 0;
}

/* --- from the beginning to the end ---------------------------------------------------------- */

static int save_input(struct judging *j, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(j->work, "stdin");
    const struct rp_saved_input input = {
        .path = path, .note = j->o->progress, .context = j->o->context};
    bool has = false;
    int rc = j->o->program ? rp_saved_input_read(&input, &has, err) : 0;

    if (rc == 0 && has)
        j->input = rp_steal(path);
    return rc;
}

static bool is_inside(const char *path, const char *folder)
{
    const size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 &&
           (!path[length] || path[length] == '/' || folder[length - 1] == '/');
}

/** What was left in DIR/work is removed, so it cannot be judged there again. */
static int check_input(const struct judging *j, const char *option, const char *given,
                       struct rp_err *err)
{
    rp_autofree char *place = rp_path_join(j->o->folder, "work");
    rp_autofree char *work = realpath(place, NULL);
    rp_autofree char *path = given ? realpath(given, NULL) : NULL;

    if (path && work && is_inside(path, work))
        return rp_fail(err, RP_USAGE,
                       "%s %s is in the work folder of -o %s, which a judgement removes when it "
                       "begins: choose another -o",
                       option, given, j->o->folder);
    return 0;
}

/** Only beside a journal is what has these names of a judgement: all else is of the user's making,
 * and would be lost. */
static int check_foreign(const char *folder, struct rp_err *err)
{
    static const char *const names[] = {"work", "judge.json"};
    struct stat is;

    if (stat(folder, &is) == 0 && !S_ISDIR(is.st_mode))
        return rp_fail(err, RP_USAGE, "-o: %s is no folder: choose another", folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]);

        if (lstat(path, &is) == 0)
            return rp_fail(err, RP_USAGE,
                           "%s is in the way and not of rocm-perf's making; name another folder "
                           "with -o",
                           path);
    }
    return 0;
}

/** Removes what the judgement before has left: where this one does not come to its end, there is no
 * verdict that could be taken for its own. */
static int remove_former(const char *folder, struct rp_err *err)
{
    rp_autofree char *work = rp_path_join(folder, "work");
    rp_autofree char *result = rp_path_join(folder, "judge.json");

    if (unlink(result) != 0 && errno != ENOENT)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot remove %s", result);
    return rp_box_remove(work, err);
}

/** A record that is there is gone on with; what another judgement has left besides is removed. */
static int open_folder(struct judging *j, struct rp_err *err)
{
    rp_autofree char *journal = rp_path_join(j->o->folder, "journal.jsonl");
    const bool again = rp_path_is_dir(j->o->folder) && rp_journal_is_begun(journal);
    const char *kind = "";
    int rc = again ? 0 : check_foreign(j->o->folder, err);

    if (rc < 0)
        return rc;
    j->folder = (struct rp_session_folder){.path = j->o->folder,
                                           .noun = "judgement",
                                           .again = "judge again",
                                           .resume = again,
                                           .note = j->o->progress,
                                           .context = j->o->context,
                                           .lock = -1};
    rc = rp_session_folder_claim(&j->folder, err);
    if (rc == 0)
        rc = rp_session_folder_open_journal(&j->folder, err);
    if (rc < 0)
        return rc;
    if (rp_journal_count(j->folder.journal))
        rp_journal_at(j->folder.journal, 0, &kind, NULL);
    else
        rc = rp_journal_add(j->folder.journal, "judgements", NULL,
                            json_pack("{s:s}", "schema_version", "1.0"), err);
    if (rc == 0 && *kind && strcmp(kind, "judgements") != 0)
        rc = rp_fail(err, RP_USAGE, "-o: %s has the journal of another command: choose another",
                     j->o->folder);
    /* A judgement that was killed may have left a record that the head does not name. */
    if (rc == 0)
        rc = rp_journal_write_head(j->folder.journal, err);
    if (rc < 0)
        return rc;
    rc = remove_former(j->o->folder, err);
    if (rc < 0)
        return rc;
    rc = rp_session_folder_make(&j->folder, "work", &j->work, err);
    j->scratch = j->work ? rp_path_join(j->work, "scratch") : NULL;
    return rc == 0 ? rp_mkdirs_private(j->scratch, err) : rc;
}

static int check_writable(const struct judging *j, const char *given, struct rp_err *err)
{
    rp_autofree char *path = realpath(given, NULL);
    rp_autofree char *folder = realpath(j->o->folder, NULL);

    /* One that is not there is refused where the sandbox is made. */
    if (path && folder && (is_inside(folder, path) || is_inside(path, folder)))
        return rp_fail(err, RP_USAGE,
                       "--writable %s: -o %s is in it, or it in that, so that the new version "
                       "could write its own verdict: choose another -o",
                       given, j->o->folder);
    return 0;
}

/** A box in the folder of this judgement is all that a candidate may write to, and what the user
 * allows. All else of that folder is what it is judged by. */
static int make_sandbox(struct judging *j, struct rp_err *err)
{
    rp_autofree char *box = rp_path_join(j->work, "box");
    const char *const folders[] = {box, NULL};
    int rc = rp_mkdirs_private(box, err);

    for (size_t i = 0; i < j->o->sandbox.writable_count && rc == 0; i++)
        rc = check_writable(j, j->o->sandbox.writable[i], err);
    return rc == 0 ? rp_candidate_sandbox_make(&j->o->sandbox, folders, &j->sandbox, err) : rc;
}

static int begin(struct judging *j, struct rp_err *err)
{
    const struct rp_judgement_options *o = j->o;
    int rc = check_input(j, "--old", o->old_version, err);

    if (rc == 0)
        rc = check_input(j, "--new", o->new_version, err);
    if (rc == 0)
        rc = check_input(j, "--capture-dir", o->captures, err);
    /* It comes first, so that no verdict of before is left where the rest fails. */
    if (rc == 0)
        rc = open_folder(j, err);
    if (rc == 0)
        rc = rp_version_read("--old", o->old_version, &j->before, err);
    if (rc == 0)
        rc = rp_version_read("--new", o->new_version, &j->after, err);
    if (rc == 0)
        rc = o->captures ? read_captures(j, err) : 0;
    if (rc == 0 && !j->gpu)
        j->gpu = rp_strdup(o->on->gfx);
    if (rc == 0)
        rc = read_command(j, err);
    if (rc == 0)
        rc = save_input(j, err);
    if (rc == 0)
        rc = make_sandbox(j, err);
    if (rc < 0)
        return rc;
    if (j->command) {
        j->command->sandbox = rp_candidate_sandbox_of(&j->sandbox);
        rp_compile_command_set_temporary(
            j->command, j->command->sandbox ? j->command->sandbox->writable[0] : j->scratch);
    }
    j->sizes = o->sizes ? rp_strdup(o->sizes) : NULL;
    j->patience = (struct rp_run_deadline){.timeout_ns = (int64_t)(o->timeout_s * 1e9),
                                           .modelled = o->on->software,
                                           .waiting = o->waiting,
                                           .context = o->context};
    j->measure = (struct rp_child_context){.self = o->self,
                                           .device = o->device,
                                           .timing = o->timing,
                                           .run = &o->run,
                                           .folder = j->scratch,
                                           .input = j->input,
                                           .program = o->program,
                                           .compare = o->compare,
                                           .sandbox = rp_candidate_sandbox_of(&j->sandbox),
                                           .patience = &j->patience,
                                           .most_geometries = o->most_geometries,
                                           .least_improvement = o->least_improvement};
    return 0;
}

/** @return 0, also where a step before the last has decided */
static int judge(struct judging *j, struct rp_err *err)
{
    int rc = make_versions(j, err);

    if (rc == 0 && !j->ended)
        rc = capture(j, err);
    if (rc == 0 && !j->ended)
        rc = compare(j, err);
    if (rc == 0 && !j->ended)
        judging_decide(j);
    if (rc == 0 && judging_tries_program(j))
        rc = try_program(j, err);
    if (rc == 0)
        judging_decide_by_program(j);
    return rc;
}

static void free_kernel(struct judged_kernel *k)
{
    rp_captures_free(&k->captures);
    json_decref(k->comparisons);
    free(k->name);
    free(k->symbol);
}

static void free_judging(struct judging *j)
{
    for (size_t i = 0; i < j->kernel_count; i++)
        free_kernel(&j->kernels[i]);
    free(j->kernels);
    rp_code_names_free(j->changed);
    rp_code_names_free(j->added);
    json_decref(j->not_judged);
    rp_captures_free(&j->given);
    rp_kernel_pattern_free(&j->pattern);
    rp_version_free(&j->before);
    rp_version_free(&j->after);
    rp_compile_command_free(j->command);
    rp_output_free(&j->expected);
    json_decref(j->program_json);
    rp_session_folder_close(&j->folder);
    free(j->gpu);
    free(j->sizes);
    free(j->input);
    rp_candidate_sandbox_free(&j->sandbox);
    free(j->scratch);
    free(j->work);
}

/** A failure may be due to a full disk, whatever its message says, because compilers and programs
 * are many: that says nothing of a version. What was compared to its end is no failure.
 * @param rc how the judgement ended */
static int check_disk(const struct judging *j, int rc, struct rp_err *err)
{
    const struct rp_err failed = *err;
    struct rp_err full = RP_ERR_INIT;

    if (rc == 0 && j->verdict != RP_JUDGED_NOT_BUILT && j->verdict != RP_JUDGED_WRONG &&
        j->verdict != RP_JUDGED_UNDECIDED)
        return 0;
    if (!j->folder.journal || rc == -RP_INTERRUPTED || rc == -RP_USAGE || err->has_remedy ||
        rp_session_folder_check(&j->folder, &full) == 0)
        return rc;
    return rp_fail_with_remedy(err, RP_ENVIRONMENT, "%s; %s", rc < 0 ? failed.text : j->reason,
                               full.text);
}

int rp_judgement_make(const struct rp_judgement_options *options, struct rp_judgement *ret,
                      struct rp_err *err)
{
    rp_cleanup(free_judging) struct judging j = {.o = options, .folder.lock = -1};
    int rc = begin(&j, err);

    if (rc == 0)
        rc = judge(&j, err);
    rc = check_disk(&j, rc, err);
    return rc == 0 ? judging_write(&j, ret, err) : rc;
}

void rp_judgement_free(struct rp_judgement *judgement)
{
    json_decref(judgement->json);
    free(judgement->text);
    *judgement = (struct rp_judgement){0};
}
