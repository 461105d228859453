#include "tune/evaluate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "collect/tracer.h"
#include "tune/build_cache.h"
#include "tune/evaluation.h"
#include "tune/objective.h"
#include "tune/output_tap.h"
#include "tune/say.h"

/** One run: where it writes to, and what became of it. */
struct attempt {
    const struct rp_evaluator *ev;
    const struct rp_evaluation_request *request;
    int64_t timeout_ns; /**< of this one */
    bool watched; /**< its launches are recorded, though its time is not that of its dispatches */
    char *folder, *printed, *complaints; /**< its folder; standard output and error in it */
    struct rp_output_tap tap;
    struct rp_run run;
};

/** Of what a program prints; more is not kept. */
enum { MOST_PRINTED = 64 << 20 };

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static int open_log(const char *path, struct rp_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

    return fd < 0 ? rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path) : fd;
}

int rp_evaluate_command(const struct rp_evaluator *ev, const struct rp_command *command,
                        int64_t timeout_ns, const struct rp_proc_limits *limits, const char *log,
                        struct rp_proc_end *ret, struct rp_err *err)
{
    rp_autofree char *program = NULL;
    rp_autoclose int fd = open_log(log, err);
    int rc = fd < 0 ? fd : rp_find_program(command->argv[0], &program, err);

    if (rc < 0)
        return rc;
    rc = rp_proc_run(&(struct rp_proc){.path = program,
                                       .argv = command->argv,
                                       .env = command->env,
                                       .stdout_fd = fd,
                                       .stderr_fd = fd,
                                       .timeout_ns = timeout_ns,
                                       .limits = limits},
                     ret, err);
    rp_orphans_kill(ev->adopted, 0);
    return rc;
}

/* --- the environment of this process while the program runs ---------------------------------- */

/** @return what the variables were; NULL: out of memory, nothing is changed */
static char **keep_variables(const struct rp_env_change *variables)
{
    size_t count = 0;
    char **kept;

    while (variables && variables[count].name)
        count++;
    kept = calloc(count + 1, sizeof *kept);
    for (size_t i = 0; kept && i < count; i++) {
        const char *value = getenv(variables[i].name);

        kept[i] = value ? strdup(value) : NULL;
    }
    return kept;
}

static void set_variable(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void give_variables(const struct rp_env_change *variables)
{
    for (; variables && variables->name; variables++)
        set_variable(variables->name, variables->value);
}

static void give_back_variables(const struct rp_env_change *variables, char **kept)
{
    for (size_t i = 0; variables && variables[i].name; i++) {
        set_variable(variables[i].name, kept[i]);
        free(kept[i]);
    }
    free(kept);
}

/** What the program and its tracer say goes there. @return the old one or < 0 */
static int redirect_stderr(int fd, struct rp_err *err)
{
    int old = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (old < 0 || dup2(fd, STDERR_FILENO) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot redirect standard error");
    return old;
}

/* --- one run -------------------------------------------------------------------------------- */

static void free_attempt(struct attempt *a)
{
    rp_run_free(&a->run);
    free(a->folder);
    free(a->printed);
    free(a->complaints);
}

static int prepare(struct attempt *a, struct rp_err *err)
{
    a->folder = rp_path_join(a->ev->folder, "run");
    a->printed = a->folder ? rp_path_join(a->folder, "stdout") : NULL;
    a->complaints = a->folder ? rp_path_join(a->folder, "stderr") : NULL;
    if (!a->printed || !a->complaints)
        return out_of_memory(err);
    rp_remove_tree(a->folder);
    return rp_mkdirs_private(a->folder, err);
}

static int start(struct attempt *a, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;
    const struct rp_proc_limits limits = {.resident_bytes = r->memory_bytes};
    const bool traced = r->objective == RP_OBJECTIVE_DISPATCH;
    const struct rp_run_request request = {.env = a->ev->env,
                                           .device = a->ev->device,
                                           .argv = r->command.argv,
                                           .traced = traced || a->watched,
                                           .no_hip_calls = a->watched,
                                           .out_dir = a->folder,
                                           .db_prefix = "trace",
                                           .stdout_fd = a->tap.fds[0],
                                           .timeout_ns = a->timeout_ns,
                                           .limits = &limits};

    return traced ? a->ev->tracer->trace(&request, &a->run, err)
                  : rp_run_program(&request, &a->run, err);
}

/** Each run has it from its beginning. @return the old standard input; or < 0 */
static int redirect_stdin(const char *path, struct rp_err *err)
{
    rp_autoclose int fd = open(path ? path : "/dev/null", O_RDONLY | O_CLOEXEC);
    int old;

    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s, the programs' input",
                             path ? path : "/dev/null");
    old = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (old < 0 || dup2(fd, STDIN_FILENO) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot redirect standard input");
    return old;
}

static int run_tapped(struct attempt *a, struct rp_err *err)
{
    const struct rp_env_change *variables = a->request->command.env;
    rp_autoclose int old_input = redirect_stdin(a->request->input, err);
    rp_autoclose int old = old_input < 0 ? -1 : redirect_stderr(a->tap.fds[1], err);
    char **kept;
    int rc;

    if (old_input < 0)
        return old_input;
    if (old < 0) {
        dup2(old_input, STDIN_FILENO);
        return old;
    }
    kept = keep_variables(variables);
    if (kept) {
        give_variables(variables);
        rc = start(a, err);
        give_back_variables(variables, kept);
    } else {
        rc = out_of_memory(err);
    }
    dup2(old_input, STDIN_FILENO);
    dup2(old, STDERR_FILENO);
    rp_orphans_kill(a->ev->adopted, 0);
    return rc;
}

static int run_program(struct attempt *a, struct rp_err *err)
{
    int rc = prepare(a, err);
    const char *const paths[RP_TAPS] = {a->printed, a->complaints};

    if (rc == 0)
        rc = rp_output_tap_open(paths, MOST_PRINTED, &a->tap, err);
    if (rc < 0)
        return rc;
    rc = run_tapped(a, err);
    rp_output_tap_close(&a->tap);
    return rc;
}

/* --- what became of it ---------------------------------------------------------------------- */

/** Takes the reason over. */
static int end_as(struct rp_evaluation *e, enum rp_evaluation_outcome outcome, char *reason,
                  struct rp_err *err)
{
    if (!reason)
        return out_of_memory(err);
    e->outcome = outcome;
    e->reason = reason;
    return 0;
}

/** A check or a search of a part of it could say anything. */
static int judge_printed(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;

    if (!a->tap.over[0] || (!r->check && r->objective != RP_OBJECTIVE_OUTPUT))
        return 0;
    return end_as(e, RP_EVALUATION_FAILED,
                  rp_format("it printed more than %d MiB", MOST_PRINTED >> 20), err);
}

static int judge_end(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    const struct rp_proc_end *end = &a->run.end;

    if (end->timed_out) {
        e->cap_ns = a->timeout_ns;
        return end_as(e, RP_EVALUATION_TIMEOUT,
                      rp_format("it did not end within %g s", (double)e->cap_ns / 1e9), err);
    }
    if (!end->signaled && !end->over_memory && end->status == 0)
        return 0;
    e->signaled = end->signaled;
    e->status = end->status;
    return end_as(e, RP_EVALUATION_FAILED, rp_say_end(end, a->complaints), err);
}

/** The command is a word of its own, never part of a text that is put together. */
static int check(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;
    const struct rp_proc_limits limits = {.resident_bytes = r->memory_bytes,
                                          .file_bytes = (uint64_t)1 << 30};
    char sh[] = "/bin/sh", c[] = "-c", name[] = "check";
    char script[] = "exec <\"$ROCM_PERF_STDOUT\"; eval \"$1\"";
    char *argv[] = {sh, c, script, name, r->check, NULL};
    struct rp_env_change env[] = {{.name = "ROCM_PERF_STDOUT", .value = a->printed},
                                  {.name = "ROCM_PERF_PROGRAM", .value = r->command.argv[0]},
                                  {.name = "ROCM_PERF_STATUS", .value = "0"},
                                  {0}};
    const struct rp_command command = {.argv = argv, .env = env};
    rp_autofree char *log = rp_path_join(a->ev->folder, "check.log");
    rp_autofree char *how = NULL;
    struct rp_proc_end end = {0};
    int rc;

    if (!log)
        return out_of_memory(err);
    rc = rp_evaluate_command(a->ev, &command, r->timeout_ns, &limits, log, &end, err);
    if (rc < 0)
        return rp_wrap(err, "the check");
    if (!end.signaled && !end.timed_out && !end.over_memory && end.status == 0)
        return 0;
    how = rp_say_end(&end, log);
    return end_as(e, RP_EVALUATION_WRONG, how ? rp_format("the check %s", how) : NULL, err);
}

static int take_time(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;
    char *why = NULL;
    bool failed = false;
    double ns = (double)a->run.end.wall_ns;
    int rc = 0;

    if (r->objective == RP_OBJECTIVE_DISPATCH)
        rc = rp_objective_dispatch(&a->run, a->ev->device, &ns, &why, &failed, err);
    else if (r->objective == RP_OBJECTIVE_OUTPUT)
        rc = rp_objective_output(a->printed, r->pattern, r->unit_ns, &ns, &why, err);
    if (rc < 0)
        return rc;
    if (why && r->objective == RP_OBJECTIVE_DISPATCH) /* such as of a kernel that faults */
        rp_say_with_log(&why, a->complaints);
    if (why)
        return end_as(e, failed ? RP_EVALUATION_FAILED : RP_EVALUATION_NO_TIME, why, err);
    e->runtimes_ns[e->count++] = ns;
    return 0;
}

static bool may_be_watched(const struct rp_evaluator *ev, const struct rp_evaluation_request *r)
{
    return r->objective != RP_OBJECTIVE_DISPATCH && ev->env->tool_library;
}

/** A program that does not work while it is watched may work without. */
static bool is_spoilt(const struct attempt *a, int rc)
{
    const struct rp_proc_end *end = &a->run.end;

    if (rc < 0)
        return rc == -RP_BAD_INPUT;
    return !end->timed_out && !end->over_memory && (end->signaled || end->status != 0);
}

/** The first run of a configuration does not count: recording takes time. */
static int run_watched(struct attempt *a, unsigned number, struct rp_err *err)
{
    const struct attempt fresh = *a;
    int rc;

    a->watched = number < a->request->warmups && number == 0 && may_be_watched(a->ev, a->request);
    rc = run_program(a, err);
    if (!a->watched || !is_spoilt(a, rc))
        return rc;
    free_attempt(a);
    *a = fresh;
    return run_program(a, err);
}

static int judge_launches(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    struct rp_err unread = RP_ERR_INIT;
    char *why = NULL;
    int rc = rp_objective_launches(&a->run, &why, &unread);

    if (rc == -RP_BAD_INPUT) /* nothing is known, as without */
        return 0;
    if (rc < 0) {
        *err = unread;
        return rc;
    }
    return why ? end_as(e, RP_EVALUATION_FAILED, why, err) : 0;
}

/** @param number  from 0 on, warm-ups first */
static int run_once(const struct rp_evaluator *ev, const struct rp_evaluation_request *r,
                    unsigned number, struct rp_evaluation *e, struct rp_err *err)
{
    const bool warmup = number < r->warmups;
    rp_cleanup(free_attempt) struct attempt a = {
        .ev = ev,
        .request = r,
        .timeout_ns = warmup && r->warmup_timeout_ns ? r->warmup_timeout_ns : r->timeout_ns};
    int rc = run_watched(&a, number, err);

    /* It cannot be executed, or what it recorded cannot be read. */
    if (rc == -RP_USAGE || rc == -RP_BAD_INPUT)
        return end_as(e, RP_EVALUATION_FAILED, strdup(err->text), err);
    if (rc < 0)
        return rc;
    e->bench_ns += a.run.end.wall_ns;
    e->warmup_ns += warmup ? a.run.end.wall_ns : 0;
    rc = judge_end(&a, e, err);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK)
        rc = judge_printed(&a, e, err);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK && a.watched)
        rc = judge_launches(&a, e, err);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK && number == 0 && r->check)
        rc = check(&a, e, err);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK && !warmup)
        rc = take_time(&a, e, err);
    return rc;
}

int rp_evaluate(const struct rp_evaluator *ev, const struct rp_evaluation_request *r,
                struct rp_evaluation *ret, struct rp_err *err)
{
    struct rp_evaluation e = {.id = r->id, .outcome = RP_EVALUATION_OK};
    int rc = 0;

    e.runtimes_ns = calloc(r->samples + 1, sizeof *e.runtimes_ns);
    if (!e.runtimes_ns)
        return out_of_memory(err);
    if (r->build.argv)
        rc = rp_build_program(ev, r, &e, err);
    for (unsigned i = 0; rc == 0 && e.outcome == RP_EVALUATION_OK && i < r->warmups + r->samples;
         i++)
        rc = run_once(ev, r, i, &e, err);
    if (rc < 0)
        rp_evaluation_free(&e);
    else
        *ret = e;
    return rc;
}
