#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/proc.h"
#include "cli/autotune_options.h"
#include "cli/autotune_text.h"
#include "cli/cli.h"
#include "tune/worker.h"

static void note(void *context, const char *line)
{
    (void)context;
    rp_cli_note("%s", line);
}

/** On a terminal one line that changes; elsewhere a line for each that is faster. */
static void progress(void *context, const struct rp_search_progress *p)
{
    const bool *terminal = context;
    rp_autobuf line = {0};

    rp_autotune_put_progress(p, &line);
    if (*terminal)
        fprintf(stderr, "\r\033[K%s%s", rp_buf_text(&line), p->last == p->best ? "\n" : "");
    else if (p->last == p->best)
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
        rp_autotune_put_text(result->json, &text);
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

static int run(struct rp_autotune_command *c, bool *terminal)
{
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    const char *worker[] = {
        self, "autotune", "--worker", c->device_text ? "--device" : NULL, c->device_text, NULL};
    struct rp_autotune_result result = {0};
    struct rp_err err = RP_ERR_INIT;
    int code, rc;

    if (!self) {
        rp_cli_note("/proc is not there");
        return RP_ENVIRONMENT;
    }
    c->o.live.pool.worker = worker;
    c->o.live.pool.note = c->o.note = note;
    c->o.search.context = terminal;
    c->o.search.progress = c->quiet ? NULL : progress;
    rp_proc_catch_signals();
    rc = rp_autotune(&c->o, &result, &err);
    if (*terminal)
        fputs("\r\033[K", stderr);
    code = rc < 0 ? rp_cli_error(&err) : print(c, &result);
    if (code == RP_OK)
        code = result.interrupted ? RP_INTERRUPTED : result.found ? RP_OK : RP_VERDICT;
    rp_autotune_result_free(&result);
    return code;
}

int rp_cmd_autotune(int argc, char **argv)
{
    struct rp_autotune_command c;
    bool terminal;
    int code = 0;

    if (rp_autotune_parse(argc, argv, &c, &code)) {
        terminal = !c.quiet && isatty(STDERR_FILENO);
        code = c.worker ? serve(&c) : run(&c, &terminal);
    }
    rp_autotune_command_free(&c);
    return code;
}
