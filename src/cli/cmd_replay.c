#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/proc.h"
#include "capture/capture_read.h"
#include "capture/replay_again.h"
#include "cli/cli.h"
#include "collect/environment.h"
#include "collect/launch.h"
#include "replay/numbers.h"

static const char help[] =
    "usage: rocm-perf replay full-vm --capture-dir DIR [--iterations N] [--warmup N] "
    "[--no-recopy]\n"
    "                                [--hsaco F [--compare RULE]] [--verify] [--json] [--device "
    "D]\n"
    "       rocm-perf replay reserve-check --capture-dir DIR [--json] [--device D]\n"
    "\n"
    "Runs the dispatch of a capture (rocm-perf isolate) again, in a process that has the captured\n"
    "memory at its addresses.\n"
    "\n"
    "  full-vm            rebuild the memory, run the kernel, print its times\n"
    "  reserve-check      only see whether every range can be had at its address here\n"
    "  --capture-dir DIR  the capture (default isolate_capture)\n"
    "  --iterations N     timed runs (default 1)\n"
    "  --warmup N         runs before them (default 0)\n"
    "  --no-recopy        do not restore the memory between runs\n"
    "  --verify           compare the memory after the first run with the captured state\n"
    "  --hsaco F          run the kernel of this code object in place of the captured one; "
    "refused\n"
    "                     if it does not fit; memory is checked after every run\n"
    "  --compare RULE     when its result is right: exact (default), or f32, f16, bf16 or f64 "
    "with\n"
    "                     tolerances: f32,abs=1e-6,rel=1e-5,ulp=2\n"
    "  --json             print JSON\n"
    "  --device D         auto (default), gpu, software, software:TARGET; by default what it was\n"
    "                     captured on, where that is software\n"
    "  --help             this text\n"
    "\n"
    "Not there yet: comparing two code objects, kernels that need the host while they run "
    "(printf,\n"
    "malloc), memory of other GPUs.\n"
    "\n"
    "exit status: 0 ok; 1 memory differs, an address is taken, the kernel does not fit or end; 2 "
    "usage;\n"
    "3 not a capture, not complete or damaged; 4 environment; 5 the replay crashed\n";

enum { MOST_STARTS = 8, MOST_RUNS = 1000000 };

struct options {
    const char *folder;
    const char *iterations, *warmup;
    const char *hsaco;   /**< "": the captured one */
    const char *compare; /**< NULL: not said */
    bool stateful, verify, json, has_device;
    bool times; /* an option that is for full-vm only was given */
    enum rp_device wish;
};

static int check_number(const char *option, const char *word, long least, struct rp_err *err)
{
    char *end;
    long value = strtol(word, &end, 10);

    if (word[0] < '0' || word[0] > '9' || *end || value < least || value > MOST_RUNS)
        return rp_fail(err, RP_USAGE, "%s %s: use a whole number from %ld to %d", option, word,
                       least, MOST_RUNS);
    return 0;
}

static int take_option(int c, struct options *o, struct rp_err *err)
{
    struct rp_compare_rule rule;

    o->times = o->times || strchr("nwsvHC", c);
    switch (c) {
    case 'c':
        o->folder = optarg;
        return 0;
    case 'n':
        o->iterations = optarg;
        return check_number("--iterations", optarg, 1, err);
    case 'w':
        o->warmup = optarg;
        return check_number("--warmup", optarg, 0, err);
    case 's':
        o->stateful = true;
        return 0;
    case 'v':
        o->verify = true;
        return 0;
    case 'H':
        o->hsaco = optarg;
        return optarg[0] ? 0 : rp_fail(err, RP_USAGE, "--hsaco: name a file");
    case 'C':
        o->compare = optarg;
        return rp_compare_rule_parse(optarg, &rule, err);
    case 'j':
        o->json = true;
        return 0;
    default:
        o->has_device = true;
        return rp_device_parse(optarg, &o->wish, err);
    }
}

static int parse(int argc, char **argv, struct options *o, int *ret_code)
{
    static const struct option options[] = {
        {"capture-dir", required_argument, NULL, 'c'},
        {"iterations", required_argument, NULL, 'n'},
        {"warmup", required_argument, NULL, 'w'},
        {"no-recopy", no_argument, NULL, 's'},
        {"verify", no_argument, NULL, 'v'},
        {"hsaco", required_argument, NULL, 'H'},
        {"compare", required_argument, NULL, 'C'},
        {"json", no_argument, NULL, 'j'},
        {"device", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct rp_err err = RP_ERR_INIT;
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
        if (c == 'h') {
            *ret_code = rp_cli_help(help);
            return -1;
        }
        if (c != ':' && c != '?' && take_option(c, o, &err) == 0)
            continue;
        *ret_code = c == ':' || c == '?' ? rp_cli_bad_option("replay", argv[optind - 1], c)
                                         : rp_cli_error(&err);
        return -1;
    }
    return 0;
}

/* --- the process --------------------------------------------------------------------------- */

/* Beside this program, or with the injected libraries once installed. */
static int find_program(const struct rp_environment *env, char **ret, struct rp_err *err)
{
    rp_autofree char *here = NULL;
    rp_autofree char *path = NULL;
    int rc = rp_executable_dir(&here, err);

    if (rc < 0)
        return rc;
    path = rp_path_join(here, "rocm-perf-replay");
    if (path && !rp_path_exists(path) && env->tool_library) {
        char *end = strrchr(env->tool_library, '/');

        free(path);
        path =
            rp_format("%.*s/rocm-perf-replay", (int)(end - env->tool_library), env->tool_library);
    }
    if (!path || !rp_path_exists(path))
        return rp_fail(err, RP_ENVIRONMENT,
                       "rocm-perf-replay is not beside this program; build or install "
                       "rocm-perf-lab completely");
    *ret = rp_steal(path);
    return 0;
}

enum { MOST_ARGS = 16 };

struct child {
    char *strings[4]; /* owned */
    char *argv[MOST_ARGS];
};

static void free_child(struct child *child)
{
    for (size_t i = 0; i < 4; i++)
        free(child->strings[i]);
}

/* The private ROCm is newer than the machine's libc: its own loader starts the program. */
static int plan_child(const struct rp_environment *env, const struct options *o, const char *action,
                      const char *flags, struct child *child, struct rp_err *err)
{
    const bool private_rocm = env->rocm_kind == RP_ROCM_PRIVATE;
    size_t at = 0;
    int rc = find_program(env, &child->strings[0], err);

    if (rc < 0)
        return rc;
    child->strings[1] =
        rp_format("%s/%s", env->rocm_root, private_rocm ? "usr/lib/x86_64-linux-gnu" : "lib");
    child->strings[2] =
        rp_format("%s/libhsa-runtime64.so.1", child->strings[1] ? child->strings[1] : "");
    child->strings[3] = rp_format("%s/lib64/ld-linux-x86-64.so.2", env->rocm_root);
    for (size_t i = 0; i < 4; i++)
        if (!child->strings[i])
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (private_rocm) {
        child->argv[at++] = child->strings[3];
        child->argv[at++] = (char *)(uintptr_t) "--library-path";
        child->argv[at++] = child->strings[1];
    }
    child->argv[at++] = child->strings[0];
    child->argv[at++] = (char *)(uintptr_t)action;
    child->argv[at++] = (char *)(uintptr_t)o->folder;
    child->argv[at++] = child->strings[2];
    child->argv[at++] = env->rocm_version ? env->rocm_version : (char *)(uintptr_t) "";
    child->argv[at++] = (char *)(uintptr_t)o->iterations;
    child->argv[at++] = (char *)(uintptr_t)o->warmup;
    child->argv[at++] = (char *)(uintptr_t)flags;
    child->argv[at++] = (char *)(uintptr_t)o->hsaco;
    child->argv[at] = (char *)(uintptr_t)(o->compare ? o->compare : "exact");
    return 0;
}

static int start(const struct rp_environment *env, enum rp_device device, const struct options *o,
                 const char *action, const char *flags, struct rp_proc_end *ret, struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    rp_cleanup(free_child) struct child child = {0};
    struct rp_proc proc = {.stdout_fd = -1, .stderr_fd = -1};
    int rc = plan_child(env, o, action, flags, &child, err);

    if (rc == 0)
        rc = rp_launch_plan(env, device, child.argv, NULL, NULL, &plan, err);
    if (rc < 0)
        return rc;
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env;
    return rp_proc_run(&proc, ret, err);
}

/* Memory that is not the captured one can make a kernel run astray. */
static bool wants_no_probe(const struct rp_proc_end *end)
{
    return end->signaled || end->status == RP_REPLAY_NO_PROBE;
}

static int run(const struct rp_environment *env, enum rp_device device, const struct options *o,
               const char *action)
{
    bool probe = o->hsaco[0];
    struct rp_proc_end end = {0};
    struct rp_err err = RP_ERR_INIT;

    for (unsigned i = 0; i < MOST_STARTS; i++) {
        char flags[8];

        snprintf(flags, sizeof flags, "%s%s%s%s%s-", o->json ? "j" : "", o->verify ? "v" : "",
                 o->stateful ? "s" : "", i + 1 < MOST_STARTS ? "a" : "", probe ? "p" : "");
        if (start(env, device, o, action, flags, &end, &err) < 0)
            return rp_cli_error(&err);
        if (probe && wants_no_probe(&end)) {
            rp_cli_note("the replay did not come to its end with memory changed to see what the "
                        "captured kernel writes; once more without: results that were there "
                        "before the dispatch already are not told from new ones");
            probe = false;
        } else if (end.signaled || end.status != RP_REPLAY_AGAIN) {
            break;
        }
    }
    if (!end.signaled)
        return end.status;
    rp_cli_note("the replay of %s was ended by signal %d", o->folder, end.status);
    return RP_PROGRAM;
}

/* Captures of the software device replay there, unless something else is asked for. */
static int choose_device(struct options *o, struct rp_err *err)
{
    struct rp_capture *capture;
    int rc = rp_capture_open(o->folder, &capture, err);

    if (rc < 0)
        return rc;
    if (!o->has_device && rp_capture_get_facts(capture)->software)
        o->wish = RP_DEVICE_SOFTWARE;
    rp_capture_close(capture);
    return 0;
}

int rp_cmd_replay(int argc, char **argv)
{
    struct options o = {.folder = "isolate_capture",
                        .iterations = "1",
                        .warmup = "0",
                        .wish = RP_DEVICE_AUTO,
                        .hsaco = ""};
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;
    enum rp_device device;
    const char *action;
    bool has_action;
    int code;

    has_action =
        argc > 1 && (strcmp(argv[1], "full-vm") == 0 || strcmp(argv[1], "reserve-check") == 0);
    action = has_action ? argv[1] : "";
    if (parse(argc - has_action, argv + has_action, &o, &code) < 0)
        return code;
    if (!has_action)
        return rp_cli_usage_error("replay", "say full-vm or reserve-check");
    if (optind < argc - 1)
        return rp_cli_usage_error("replay", "%s is not understood", argv[optind + 1]);
    if (o.times && strcmp(action, "full-vm") != 0)
        return rp_cli_usage_error("replay", "reserve-check runs nothing: no such option");
    if (o.compare && !o.hsaco[0])
        return rp_cli_usage_error("replay", "--compare is for --hsaco");
    if (o.stateful && o.hsaco[0])
        return rp_cli_usage_error("replay", "with --hsaco memory is always restored: leave out "
                                            "--no-recopy");
    if (choose_device(&o, &err) < 0 || rp_environment_detect(&env, &err) < 0 ||
        rp_device_resolve(&env, o.wish, &device, &err) < 0)
        return rp_cli_error(&err);
    return run(&env, device, &o, action);
}
