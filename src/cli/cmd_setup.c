#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "run/machine.h"
#include "setup/private_rocm.h"

enum { TELL_S = 20 }; /**< how often it says how far it is, where there is no terminal */

struct telling {
    struct rp_progress_line line;
    int64_t told_ns;
};

static void tell_line(void *context, const char *line)
{
    (void)context;
    rp_cli_note("%s", line);
}

static void show_line(void *context, const char *text)
{
    struct telling *telling = context;

    if (!text) {
        rp_progress_line_clear(&telling->line);
    } else if (telling->line.terminal) {
        rp_progress_line_show(&telling->line, text);
    } else if (rp_now_ns() - telling->told_ns > TELL_S * INT64_C(1000000000)) {
        rp_cli_note("%s", text);
        telling->told_ns = rp_now_ns();
    }
}

static int tell(const char *what, const char *version, const char *root, const char *next)
{
    rp_autobuf text = {0};

    rp_buf_printf(&text, "ROCm %s (%s) in %s\n", version, what, root);
    if (next)
        rp_buf_printf(&text, "\nNext: %s\n", next);
    return rp_cli_result(rp_buf_text(&text));
}

/** Makes it in the folder, and says how it is used.
 * @param by_itself it is found there without ROCM_PATH */
static int make(const struct rp_setup_cli *args, const char *folder, bool by_itself)
{
    struct telling telling = {.line = rp_progress_line_begin(), .told_ns = rp_now_ns()};
    const struct rp_private_rocm_options options = {.prefix = folder,
                                                    .mirror = args->mirror,
                                                    .keyring = args->keyring,
                                                    .unverified = args->unverified,
                                                    .listener = {tell_line, show_line, &telling}};
    rp_autofree char *version = NULL, *root = NULL, *next = NULL;
    struct rp_err err = RP_ERR_INIT;
    int rc;

    rp_proc_catch_signals();
    rc = rp_private_rocm_make(&options, &version, &err);
    rp_progress_line_clear(&telling.line);
    if (rc < 0)
        return rp_cli_error(&err);
    root = realpath(folder, NULL);
    next = by_itself ? NULL : rp_format("export ROCM_PATH=%s", root ? root : folder);
    return tell("private, from Debian", version, root ? root : folder,
                by_itself ? "rocm-perf profile PROGRAM" : next);
}

/** None is made where there is one: options that say how are for nothing. */
static void note_unused(const struct rp_setup_cli *args)
{
    if (args->mirror || args->keyring || args->unverified)
        rp_cli_note("note: there is a ROCm, and none is made: %s is not used; name a folder "
                    "with --prefix to make one",
                    args->mirror    ? "--mirror"
                    : args->keyring ? "--keyring"
                                    : "--unverified");
}

int rp_cmd_setup(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    const char *wish = getenv("ROCM_PATH");
    struct rp_setup_cli args;
    struct rp_err err = RP_ERR_INIT;
    bool is_given;
    int code;

    if (!rp_options_parse(RP_COMMAND_setup, argc, argv, &args, &code))
        return code;
    if (args.prefix)
        return make(&args, args.prefix, false);
    if (rp_environment_detect(&env, &err) < 0)
        return rp_cli_error(&err);
    /* What was asked for on purpose is not passed over. */
    if (env.rocm_kind == RP_ROCM_NONE && wish && *wish) {
        rp_fail(&err, RP_ENVIRONMENT, "%s, or make a ROCm with --prefix", env.rocm_problem);
        return rp_cli_error(&err);
    }
    is_given =
        env.rocm_kind == RP_ROCM_INSTALLED || (env.rocm_kind == RP_ROCM_PRIVATE && wish && *wish);
    if (!is_given)
        return make(&args, env.private_root, true);
    note_unused(&args);
    if (env.rocm_kind == RP_ROCM_INSTALLED)
        return tell("installed", env.rocm_version ? env.rocm_version : "of unknown version",
                    env.rocm_root, NULL);
    return tell("private, from Debian", env.rocm_version, env.rocm_root, NULL);
}
