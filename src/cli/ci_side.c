/* Runs what `rocm-perf ci` needs of one side of a comparison: its build, and the commands profile,
 * run and judge as children in its tree. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/units.h"
#include "cli/ci.h"
#include "experiment/child_run.h"

enum { MOST_WORDS = 32, MOST_LOG_BYTES = 16 << 20, MOST_OUTPUT_BYTES = 256 << 20 };

void rp_ci_step_free(struct rp_ci_step *step)
{
    free(step->failure);
    free(step->evidence);
    *step = (struct rp_ci_step){0};
}

char *rp_ci_path(const struct rp_ci_job *job, const struct rp_ci_program *p, const char *rest)
{
    return rp_format("%s/programs/%s/%s", job->output, p->folder, rest);
}

/* --- children --------------------------------------------------------------------------------- */

/** A command in the tree of a side. Its output goes to files. */
struct child {
    const char *const *argv;
    const char *directory;
    const char *stdout_path, *stderr_path; /**< may be the same */
    const char *what;                      /**< for who watches: "mm: profile of base" */
};

static int run(struct rp_ci_job *job, const struct child *c, struct rp_proc_end *ret,
               struct rp_err *err)
{
    enum { MOST_CHANGES = 8 };
    struct rp_env_change env[MOST_CHANGES + 3] = {{0}};
    size_t count = 0;
    int rc;

    while (rp_git_no_variables[count].name && count < MOST_CHANGES) {
        env[count] = rp_git_no_variables[count];
        count++;
    }
    env[count++] = (struct rp_env_change){.name = "TMPDIR", .value = job->temporary};
    if (job->path)
        env[count] = (struct rp_env_change){.name = "PATH", .value = job->path};
    if (job->line.terminal)
        rp_progress_line_show(&job->line, c->what);
    else
        rp_cli_note("%s", c->what); /* The log of a service shows where it is. */
    const struct rp_child child = {.argv = c->argv,
                                   .env = env,
                                   .directory = c->directory,
                                   .stdout_path = c->stdout_path,
                                   .stderr_path = c->stderr_path,
                                   .most_bytes = MOST_OUTPUT_BYTES,
                                   .timeout_ns = (int64_t)(job->config->timeout_s * 1e9)};

    rc = rp_child_run(&child, ret, err);
    rp_progress_line_clear(&job->line);
    return rc;
}

/* Without room anything fails, in whatever way, and that is no fault of the change. */
static int check_room(const char *folder, struct rp_err *err)
{
    enum { LEAST_BYTES = 1 << 20 };
    struct statvfs room;

    if (statvfs(folder, &room) != 0)
        return 0;
    if ((uint64_t)room.f_bavail * room.f_frsize >= LEAST_BYTES &&
        (room.f_files == 0 || room.f_favail > 0))
        return 0;
    return rp_fail_with_remedy(
        err, RP_ENVIRONMENT,
        "there is no room left at %s, so that what failed says nothing: make "
        "some, or name another place (TMPDIR for the trees, -o for results)",
        folder);
}

/* Says how it ended where that is not as it should be. */
static int put_end(const struct rp_ci_job *job, const struct rp_proc_end *end, int status,
                   const char *log, struct rp_ci_step *ret, struct rp_err *err)
{
    int rc;

    if (!end->timed_out && !end->signaled && !end->over_output && end->status == status)
        return 0;
    rc = check_room(job->temporary, err);
    if (rc == 0)
        rc = check_room(job->output, err);
    if (rc < 0)
        return rc;
    if (end->over_output)
        ret->failure = rp_format("it printed more than %d MiB", MOST_OUTPUT_BYTES >> 20);
    else if (end->timed_out)
        ret->failure = rp_format("it did not end within %.6g s", job->config->timeout_s);
    else
        ret->failure = rp_child_end_sentence(end);
    ret->evidence = rp_child_text(log, 4096);
    return 0;
}

/* --- the build ----------------------------------------------------------------------------- */

int rp_ci_offer_hipcc(struct rp_ci_job *job, struct rp_err *err)
{
    /* A colon ends a folder of $PATH. */
    const char *place = strchr(job->output, ':') ? job->temporary : job->output;
    rp_autofree char *there = NULL, *folder = rp_path_join(place, "bin"), *file = NULL;
    const char *path = getenv("PATH");
    rp_autobuf script = {0};
    int rc;

    if (rp_find_program("hipcc", &there, NULL) == 0)
        return 0;
    if (strchr(folder, ':'))
        return rp_fail_with_remedy(
            err, RP_ENVIRONMENT,
            "$PATH cannot name a hipcc in %s or %s, as both have a colon: name another place (-o "
            "or TMPDIR), or have a hipcc in $PATH",
            job->output, job->temporary);
    file = rp_path_join(folder, "hipcc");
    rp_buf_puts(&script, "#!/bin/sh\nexec ");
    rp_shell_word(&script, job->self);
    rp_buf_puts(&script, " hipcc \"$@\"\n");
    rc = rp_mkdirs(folder, err);
    if (rc == 0)
        rc = rp_write_file(file, rp_buf_text(&script), script.len, err);
    if (rc == 0 && chmod(file, 0755) != 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "chmod %s", file);
    if (rc == 0)
        job->path = rp_format("%s%s%s", path ? path : "", path && *path ? ":" : "", folder);
    return rc;
}

int rp_ci_build(struct rp_ci_job *job, struct rp_ci_side *side, struct rp_ci_step *ret,
                char **ret_log, struct rp_err *err)
{
    rp_autofree char *log = rp_format("%s/build-%s.log", job->output, side->word);
    rp_autofree char *what = rp_format("ci: build of %s", side->word);
    const char *const argv[] = {"/bin/sh", "-c", job->build, NULL};
    struct rp_proc_end end = {0};
    int rc = run(job,
                 &(struct child){.argv = argv,
                                 .directory = side->tree.path,
                                 .stdout_path = log,
                                 .stderr_path = log,
                                 .what = what},
                 &end, err);

    if (rc < 0)
        return rc;
    rc = put_end(job, &end, 0, log, ret, err);
    side->built = !ret->failure;
    *ret_log = rp_read_text(log, MOST_LOG_BYTES);
    return rc;
}

bool rp_ci_has_program(const struct rp_ci_side *side, const struct rp_ci_program *p)
{
    const char *word = p->command.at[0];
    rp_autofree char *path = NULL, *found = NULL;

    if (!strchr(word, '/'))
        return rp_find_program(word, &found, NULL) == 0;
    path = *word == '/' ? rp_strdup(word) : rp_path_join(side->tree.path, word);
    return access(path, X_OK) == 0;
}

/* --- commands of this program -------------------------------------------------------------- */

/** The words of a command of ours. */
struct words {
    const char *at[MOST_WORDS];
    size_t count;
};

static void add(struct words *words, const char *option, const char *value)
{
    if (option && words->count < MOST_WORDS)
        words->at[words->count++] = option;
    if (value && words->count < MOST_WORDS)
        words->at[words->count++] = value;
}

static void add_device(const struct rp_ci_job *job, struct words *words, const char *timing)
{
    if (job->device)
        add(words, "--device", job->device);
    if (timing)
        add(words, "--timing", timing);
}

/** Makes OURS -- PROGRAM ARGS, or OURS PROGRAM -- ARGS. The caller frees it. */
static const char **argv_of(const struct words *words, const struct rp_ci_program *p,
                            bool program_first)
{
    const char **argv = rp_alloc_zero(words->count + p->command.count + 2, sizeof *argv);
    size_t count = words->count, at = 0;

    memcpy(argv, words->at, words->count * sizeof *argv);
    if (program_first)
        argv[count++] = p->command.at[at++];
    argv[count++] = "--";
    while (at < p->command.count)
        argv[count++] = p->command.at[at++];
    return argv;
}

/* Says what goes on: "ci: mm: profile of base". */
static char *what_of(const struct words *words, const struct rp_ci_side *side,
                     const struct rp_ci_program *p)
{
    const bool checks = words->count > 2 && strcmp(words->at[2], "--check") == 0;

    if (strcmp(words->at[1], "judge") == 0)
        return rp_format("ci: %s: judge", p->name);
    return rp_format("ci: %s: %s of %s", p->name, checks ? "checks" : words->at[1], side->word);
}

/* Runs it. Its exit status says what became of it; 4 and 130 are no fault of the program. */
static int run_own(struct rp_ci_job *job, const struct rp_ci_side *side,
                   const struct rp_ci_program *p, const struct words *words, const char *name,
                   bool program_first, struct rp_proc_end *end, char **ret_log, struct rp_err *err)
{
    rp_autofree const char **argv = argv_of(words, p, program_first);
    rp_autofree char *file = rp_format("%s.out", name), *log = rp_format("%s.log", name);
    rp_autofree char *out = rp_ci_path(job, p, file), *other = rp_ci_path(job, p, log);
    rp_autofree char *what = what_of(words, side, p);
    rp_autofree char *said = NULL;
    int rc = run(job,
                 &(struct child){.argv = argv,
                                 .directory = side->tree.path,
                                 .stdout_path = out,
                                 .stderr_path = other,
                                 .what = what},
                 end, err);

    if (rc < 0)
        return rc;
    *ret_log = rp_steal(other);
    if (end->signaled || end->status != RP_ENVIRONMENT || strcmp(words->at[1], "run") == 0)
        return 0;
    said = rp_child_last_lines(*ret_log);
    return rp_fail(err, RP_ENVIRONMENT, "%s of %s: %s", words->at[1], p->name, said);
}

/* Says of the program what the status of its profile means. */
static int put_profile_end(const struct rp_ci_job *job, const struct rp_proc_end *end,
                           const char *log, struct rp_ci_step *ret, struct rp_err *err)
{
    int rc = put_end(job, end, 0, log, ret, err);

    if (rc < 0 || !ret->failure || end->timed_out || end->signaled || end->over_output)
        return rc;
    free(ret->failure);
    ret->failure = rp_strdup(end->status == RP_BAD_INPUT ? "it launched no kernel"
                             : end->status == RP_USAGE   ? "it cannot be run"
                                                         : "it failed while it was profiled");
    return 0;
}

int rp_ci_profile(struct rp_ci_job *job, const struct rp_ci_side *side,
                  const struct rp_ci_program *p, struct rp_ci_step *ret, struct rp_err *err)
{
    enum { RUNS_ON_GPU = 10 };
    const double runs = job->config->runs > 0 ? job->config->runs : job->software ? 1 : RUNS_ON_GPU;
    rp_autofree char *folder = rp_ci_path(job, p, side->word);
    rp_autofree char *name = rp_format("profile-%s", side->word), *log = NULL;
    const struct rp_number_text count = rp_number_fixed(runs, 0),
                                status = rp_number_fixed(p->status, 0);
    struct words words = {{job->self, "profile", "--quiet"}, 3};
    struct rp_proc_end end = {0};
    int rc;

    add(&words, "--output", folder);
    add(&words, "--runs", count.text);
    add(&words, "--expect-status", status.text);
    if (!job->software && !isnan(p->limits.traffic))
        add(&words, "--roofline", NULL);
    add_device(job, &words, job->timing);
    rc = run_own(job, side, p, &words, name, false, &end, &log, err);
    return rc < 0 ? rc : put_profile_end(job, &end, log, ret, err);
}

/* --- outputs ------------------------------------------------------------------------------- */

void rp_ci_outputs_free(struct rp_ci_outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++)
        rp_buf_free(&outputs->texts[i]);
    free(outputs->texts);
    free(outputs->there);
    *outputs = (struct rp_ci_outputs){0};
}

/* @param name for the sentence that says why it cannot be compared */
static int read_output(const char *path, const char *name, struct rp_buf *to, bool *ret_there,
                       struct rp_ci_step *step, struct rp_err *err)
{
    rp_autofree void *data = NULL;
    size_t bytes = 0;
    struct stat st;
    int rc;

    *ret_there = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
    if (!*ret_there)
        return 0;
    if (!step->failure && (!S_ISREG(st.st_mode) || st.st_size > MOST_OUTPUT_BYTES)) {
        step->failure =
            S_ISREG(st.st_mode)
                ? rp_format("a file of its outputs has more than %d MiB", MOST_OUTPUT_BYTES >> 20)
                : rp_strdup("one of its outputs is no file");
        step->evidence = rp_strdup(name);
    }
    if (step->failure)
        return 0;
    rc = rp_read_file(path, MOST_OUTPUT_BYTES, RP_ENVIRONMENT, &data, &bytes, err);
    if (rc == 0)
        rp_buf_add(to, data, bytes);
    return rc;
}

static int read_outputs(const struct rp_ci_job *job, const struct rp_ci_side *side,
                        const struct rp_ci_program *p, const char *name, struct rp_ci_step *step,
                        struct rp_ci_outputs *ret, struct rp_err *err)
{
    rp_autofree char *file = rp_format("%s.out", name), *printed = rp_ci_path(job, p, file);
    int rc;

    ret->count = p->outputs.count + 1;
    ret->texts = rp_alloc_zero(ret->count, sizeof *ret->texts);
    ret->there = rp_alloc_zero(ret->count, sizeof *ret->there);
    rc = read_output(printed, "standard output", &ret->texts[0], &ret->there[0], step, err);
    for (size_t i = 0; rc == 0 && i < p->outputs.count; i++) {
        rp_autofree char *path = rp_path_join(side->tree.path, p->outputs.at[i]);

        rc = read_output(path, p->outputs.at[i], &ret->texts[i + 1], &ret->there[i + 1], step, err);
    }
    return rc;
}

int rp_ci_run(struct rp_ci_job *job, const struct rp_ci_side *side, const struct rp_ci_program *p,
              struct rp_ci_step *step, struct rp_ci_outputs *ret, struct rp_err *err)
{
    struct words words = {{job->self, "run"}, 2};
    rp_autofree char *name = rp_format("output-%s", side->word), *log = NULL;
    struct rp_proc_end end = {0};
    int rc;

    for (size_t i = 0; i < p->outputs.count; i++) { /* One of the commit is none of this run. */
        rp_autofree char *path = rp_path_join(side->tree.path, p->outputs.at[i]);

        unlink(path);
    }
    /* Without a model of time a program that prints times prints the same ones each time. */
    add_device(job, &words, job->software ? "off" : NULL);
    rc = run_own(job, side, p, &words, name, false, &end, &log, err);
    if (rc == 0)
        rc = put_end(job, &end, (int)p->status, log, step, err);
    return rc < 0 ? rc : read_outputs(job, side, p, name, step, ret, err);
}

/* --- checks and judgements ----------------------------------------------------------------- */

static json_t *read_json(const char *path)
{
    json_error_t why;

    return json_load_file(path, 0, &why);
}

int rp_ci_check(struct rp_ci_job *job, const struct rp_ci_side *side, const struct rp_ci_program *p,
                struct rp_ci_step *step, json_t **ret, struct rp_err *err)
{
    rp_autofree char *name = rp_format("check-%s", side->word), *log = NULL;
    rp_autofree char *file = rp_format("check-%s.json", side->word),
                     *json = rp_ci_path(job, p, file);
    const bool software = job->device && strncmp(job->device, "software", 8) == 0;
    struct words words = {{job->self, "run"}, 2};
    struct rp_proc_end end = {0};
    rp_autobuf checks = {0};
    int rc, status = (int)p->status;

    for (size_t i = 0; i < RP_CI_CHECKS; i++)
        if (p->checks[i])
            rp_buf_printf(&checks, "%s%s", checks.len ? "," : "", rp_ci_check_names[i]);
    add(&words, "--check", rp_buf_text(&checks));
    add(&words, "--check-output", json);
    add(&words, "--device", software ? job->device : "software");
    rc = run_own(job, side, p, &words, name, false, &end, &log, err);
    if (rc < 0)
        return rc;
    *ret = read_json(json);
    if (*ret && status == 0 && json_array_size(json_object_get(*ret, "findings")))
        status = RP_VERDICT;
    return put_end(job, &end, status, log, step, err);
}

int rp_ci_judge(struct rp_ci_job *job, const struct rp_ci_program *p, size_t source,
                struct rp_ci_step *step, json_t **ret, struct rp_err *err)
{
    rp_autofree char *name = rp_format("judge-%zu", source), *log = NULL;
    rp_autofree char *folder = rp_ci_path(job, p, name);
    rp_autofree char *json = rp_path_join(folder, "judge.json");
    rp_autofree char *before = rp_path_join(job->base.tree.path, p->sources.at[source]);
    rp_autofree char *after = rp_path_join(job->head.tree.path, p->sources.at[source]);
    rp_autofree char *check = rp_format("cat >/dev/null; test \"$ROCM_PERF_STATUS\" = %s",
                                        rp_number_fixed(p->status, 0).text);
    struct words words = {{job->self, "judge"}, 2};
    struct rp_proc_end end = {0};
    int rc;

    add(&words, "--old", before);
    add(&words, "--new", after);
    add(&words, "--output", folder);
    if (p->flags)
        add(&words, "--flags", p->flags);
    /* The gate of the output has compared what the program prints, by its own rule. */
    add(&words, "--check", check);
    /* Judge runs each kernel alone, where no earlier launch has left anything in the caches. */
    add_device(job, &words,
               job->timing && strcmp(job->timing, "warm") == 0 ? "detailed" : job->timing);
    rc = run_own(job, &job->base, p, &words, name, true, &end, &log, err);
    if (rc < 0)
        return rc;
    *ret = read_json(json);
    return *ret ? 0 : put_end(job, &end, 0, log, step, err);
}
