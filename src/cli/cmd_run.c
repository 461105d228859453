#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "report/check_report.h"
#include "run/check_run.h"
#include "run/hip_compiler.h"
#include "run/machine.h"
#include "run/run_program.h"
#include "trace/check_file.h"

/* Times are of no use beside the checks, and detailed ones cost. */
static void set_for_checks(struct rp_run_options *options)
{
    options->device = RP_DEVICE_SOFTWARE;
    if (options->timing == RP_TIMING_UNSAID)
        options->timing = RP_TIMING_COUNTS;
}

static int put_checks(const struct rp_check_results *results, const struct rp_run_cli *args,
                      int status, struct rp_err *err)
{
    rp_autobuf text = {0}, json = {0};

    rp_check_print(results, args->check, status, &text);
    fflush(stdout);
    fputs(rp_buf_text(&text), stderr);
    if (!args->check_output)
        return 0;
    rp_check_json(results, args->check, status, &json);
    return rp_write_output(args->check_output, json.data, json.len, err);
}

static int run_checked(const struct rp_environment *env, const struct rp_run_options *options,
                       const struct rp_run_cli *args)
{
    rp_cleanup(rp_check_results_free) struct rp_check_results results = {0};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end = {0};

    if (args->check_output && rp_check_output(args->check_output, &err) < 0)
        return rp_cli_error(&err);
    if (rp_check_run(env, options, args->check, args->args.operands, &results, &end, &err) < 0)
        return rp_cli_error(&err);
    const int status = end.signaled ? 128 + end.status : end.status;
    if (put_checks(&results, args, status, &err) < 0)
        return rp_cli_error(&err);
    return status ? status : results.count > results.notes;
}

int rp_cmd_run(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    struct rp_run_cli args;
    struct rp_run_options options = {0};
    rp_autofree char *executable = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc proc = {0};
    int code;

    if (!rp_options_parse(RP_COMMAND_run, argc, argv, &args, &code))
        return code;
    rp_device_options_read(args.device, args.threads, args.gpus, args.timing, &options);
    options.clock_mhz = (uint32_t)args.clock;
    options.takes_clock = true;
    if (args.check)
        set_for_checks(&options);
    if (rp_environment_detect(&env, &err) < 0 || rp_device_resolve(&env, &options, &err) < 0 ||
        rp_find_program(args.args.operands[0], &executable, &err) < 0)
        return rp_cli_error(&err);
    if (env.rocm_note)
        rp_cli_note("%s", env.rocm_note);
    rp_cli_warn_about_target(executable, &options);
    if (args.check)
        return run_checked(&env, &options, &args);
    if (rp_launch_plan(&env, &options, args.args.operands, &plan, &err) < 0)
        return rp_cli_error(&err);
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env.list;
    /* The program replaces this process, so nothing has to be passed through. */
    rp_proc_exec(&proc, &err);
    return rp_cli_error(&err);
}

/** Behaves as if this process had become the compiler. */
static int run_cached(const struct rp_environment *env, const struct rp_proc *proc)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end = {0};

    const int rc = rp_compiler_run(env, proc, false, &end, &err);
    /* A shell script goes on unless this process dies of the Ctrl-C, too. */
    const int died_of = rc == -RP_INTERRUPTED ? rp_proc_interrupting_signal()
                        : end.signaled        ? end.status
                                              : 0;

    if (rc < 0 && !died_of)
        return rp_cli_error(&err);
    if (!died_of)
        return end.status;
    signal(died_of, SIG_DFL);
    raise(died_of);
    return 128 + died_of;
}

int rp_cmd_hipcc(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_hipcc_args_free) char **args = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc proc = {0};

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return rp_options_print_help(RP_COMMAND_hipcc);
    if (rp_environment_detect(&env, &err) < 0 || rp_hipcc_args(&env, argv + 1, &args, &err) < 0)
        return rp_cli_error(&err);
    proc.path = args[0];
    proc.argv = args;
    if (rp_compiler_cache_applies(&env, args))
        return run_cached(&env, &proc);
    rp_proc_exec(&proc, &err);
    return rp_cli_error(&err);
}
