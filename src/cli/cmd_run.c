#include <getopt.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "run/machine.h"
#include "run/run_program.h"

static const char help[] =
    "usage: rocm-perf run [--device auto|gpu|software[:TARGET]] [--threads N] [--gpus N]\n"
    "                     [--timing T] [--] PROGRAM [ARGS...]\n"
    "\n"
    "Runs a program on the chosen device without tracing. Its arguments, input, output and exit\n"
    "status pass through unchanged (128 + N when signal N ends it, as a shell does).\n"
    "\n"
    "  --device D   auto: the GPU if there is one, else the software MI300X (default)\n"
    "               gpu: the GPU or an error; software: the software MI300X; software:TARGET:\n"
    "               another target, such as software:mi325x (rocm-perf doctor lists them)\n"
    "  --threads N  processors the software MI300X may use (default: all)\n"
    "  --gpus N     how many software MI300X there are, 1 to 8 (default 1)\n"
    "  --timing T   how the software MI300X finds out how long kernels take. fast: from counts\n"
    "               (default); detailed: replays on a modelled machine; off: not at all, every\n"
    "               kernel and copy takes a tick of 10 ns\n"
    "  --help       this text\n"
    "\n"
    "exit status: the program's; 2 usage, 4 environment when it could not be started\n";

static int parse(int argc, char **argv, struct rp_run_options *ret, int *ret_code)
{
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'}, {"threads", required_argument, NULL, 't'},
        {"gpus", required_argument, NULL, 'g'},   {"timing", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    struct rp_err err = RP_ERR_INIT;
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
        if (c == 'h') {
            *ret_code = rp_cli_help(help);
            return -1;
        }
        if (c == 'd' && rp_device_parse(optarg, ret, &err) == 0)
            continue;
        if (c == 't' && rp_cli_threads(optarg, ret, &err) == 0)
            continue;
        if (c == 'g' && rp_cli_gpus(optarg, ret, &err) == 0)
            continue;
        if (c == 'm' && rp_cli_timing(optarg, ret, &err) == 0)
            continue;
        *ret_code = c == ':' || c == '?' ? rp_cli_bad_option("run", argv[optind - 1], c)
                                         : rp_cli_error(&err);
        return -1;
    }
    if (optind == argc) {
        *ret_code = rp_cli_usage_error("run", "no program given");
        return -1;
    }
    return 0;
}

int rp_cmd_run(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    struct rp_run_options options = {0};
    rp_autofree char *executable = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc proc = {.stdout_fd = -1, .stderr_fd = -1};
    int code;

    if (parse(argc, argv, &options, &code) < 0)
        return code;
    if (rp_environment_detect(&env, &err) < 0 || rp_device_resolve(&env, &options, &err) < 0 ||
        rp_find_program(argv[optind], &executable, &err) < 0)
        return rp_cli_error(&err);
    rp_cli_warn_about_target(executable, &options);
    if (rp_launch_plan(&env, &options, argv + optind, &plan, &err) < 0)
        return rp_cli_error(&err);
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env.list;
    rp_proc_exec(&proc, &err); /* the program takes this process over: nothing to pass through */
    return rp_cli_error(&err);
}
