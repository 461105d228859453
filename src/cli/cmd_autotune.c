#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/process.h"
#include "cli/autotune_options.h"
#include "cli/autotune_text.h"
#include "cli/cli.h"
#include "cli/progress_line.h"
#include "experiment/measured_run.h"
#include "tune/worker.h"

/** What is shown meanwhile. */
struct session {
    struct rp_progress_line line;
    double began_ms,
        said_ms; /**< of the enumeration: when it began, and when it was last told of */
};

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void note(void *context, const char *line)
{
    struct session *session = context;

    rp_progress_line_clear(&session->line);
    rp_cli_note("%s", line);
}

/** Elsewhere than on a terminal: each that is faster, and of failures the first, second, fourth...
 */
static bool deserves_line(const struct rp_search_progress *p)
{
    if (strcmp(p->phase, "confirm") == 0)
        return false;
    return p->best ? p->last == p->best : (p->evaluated & (p->evaluated - 1)) == 0;
}

static void progress(void *context, const struct rp_search_progress *p)
{
    struct session *session = context;
    rp_autobuf line = {0};

    rp_autotune_put_progress(p, session->line.terminal, &line);
    rp_progress_line_show(&session->line, rp_buf_text(&line));
    if (!session->line.terminal && deserves_line(p))
        rp_cli_note("%s", rp_buf_text(&line));
}

/** Most spaces are there at once. On a terminal each second after two, elsewhere after 2, 4, 8 s...
 */
static void counting(void *context, uint64_t tried, uint64_t most, size_t found)
{
    enum { PATIENCE_MS = 2000, EACH_MS = 1000 };
    struct session *session = context;
    const double ms = now_ms() - session->began_ms;
    const double wait_ms = session->line.terminal ? EACH_MS : session->said_ms;
    rp_autobuf line = {0};

    if (ms < PATIENCE_MS || ms < session->said_ms + wait_ms)
        return;
    session->said_ms = ms;
    rp_buf_printf(&line,
                  "the space: %.0f million combinations tried (at most %.0f million), %zu "
                  "configurations so far",
                  (double)tried / 1e6, (double)most / 1e6, found);
    rp_progress_line_show(&session->line, rp_buf_text(&line));
    if (!session->line.terminal)
        rp_cli_note("%s", rp_buf_text(&line));
}

static int print(const struct rp_autotune_command *c, const struct rp_autotune_result *result)
{
    rp_autobuf text = {0};

    if (c->json) {
        rp_autofree char *json = json_dumps(result->json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

        rp_buf_printf(&text, "%s\n", json ? json : "");
        text.failed |= !json;
    } else if (c->quiet) {
        rp_autotune_put_runtime(result->json, &text);
    } else {
        rp_autotune_put_text(result->json, rp_cli_style(), &text);
    }
    if (text.failed) {
        rp_cli_note("out of memory");
        return RP_ENVIRONMENT;
    }
    return rp_cli_result(rp_buf_text(&text));
}

/** What the pool starts on this machine or another one. */
static int serve(const struct rp_autotune_command *c)
{
    const struct rp_worker_options options = {.device = c->device, .version = RP_VERSION};
    struct rp_err err = RP_ERR_INIT;

    rp_proc_catch_signals();
    if (rp_worker_serve(&options, &err) == 0)
        return RP_OK;
    return err.code == RP_INTERRUPTED ? RP_INTERRUPTED : rp_cli_error(&err);
}

/** Zero, a negative verdict, or that the program does not work: which is an error. */
static int verdict(const struct rp_autotune_result *result)
{
    if (result->interrupted)
        return RP_INTERRUPTED;
    if (!result->gave_up)
        return result->found ? RP_OK : RP_VERDICT;
    rp_cli_note("%s", result->gave_up);
    return RP_PROGRAM;
}

/** Launches that fail are seen in traced runs: those of the objective, or a warm-up. */
static bool sees_launches(const struct rp_autotune_command *c)
{
    return c->o.live.objective == RP_OBJECTIVE_DISPATCH || c->o.search.warmups > 0;
}

/** A configuration of which a launch fails is fast, too. */
static void say_unchecked(const struct rp_autotune_command *c,
                          const struct rp_autotune_result *found)
{
    if (found->found && !c->quiet && !c->o.simulate && !c->o.live.check)
        rp_cli_note("nothing has checked what the program computes%s: --check COMMAND does",
                    sees_launches(c) ? ""
                                     : ", nor whether HIP has refused launches of it, which a "
                                       "warm-up would show (--warmup)");
}

static int run(struct rp_autotune_command *c)
{
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    const char *worker[] = {
        self, "autotune", "--worker", c->device_text ? "--device" : NULL, c->device_text, NULL};
    struct session session = {.line = rp_progress_line_begin(), .began_ms = now_ms()};
    struct rp_autotune_result result = {0};
    struct rp_err err = RP_ERR_INIT;
    int code, rc;

    if (!self) {
        rp_cli_note("/proc is not there");
        return RP_ENVIRONMENT;
    }
    c->o.live.pool.worker = worker;
    c->o.live.pool.note = c->o.note = note;
    c->o.context = c->o.search.context = c->o.live.pool.context = &session;
    c->o.search.progress = c->quiet ? NULL : progress;
    c->o.counting = c->quiet ? NULL : counting;
    rp_proc_catch_signals();
    rc = rp_autotune_find_gpus(c, &err);
    if (rc == 0)
        rc = rp_autotune(&c->o, &result, &err);
    rp_progress_line_clear(&session.line);
    code = result.json ? print(c, &result) : RP_OK; /* also when a copy of it cannot be written */
    if (rc < 0)
        code = rp_cli_error(&err);
    if (code == RP_OK)
        say_unchecked(c, &result);
    if (code == RP_OK)
        code = verdict(&result);
    rp_autotune_result_free(&result);
    return code;
}

int rp_cmd_autotune(int argc, char **argv)
{
    struct rp_autotune_command c;
    int code = 0;

    if (rp_autotune_parse(argc, argv, &c, &code))
        code = c.worker ? serve(&c) : run(&c);
    rp_autotune_command_free(&c);
    return code;
}
