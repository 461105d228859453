#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/capture_read.h"
#include "capture/replay_again.h"
#include "cli/cli.h"
#include "cli/replay_child.h"
#include "collect/environment.h"
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
        struct rp_replay_child child = {.action = action,
                                        .folder = o->folder,
                                        .iterations = o->iterations,
                                        .warmup = o->warmup,
                                        .flags = flags,
                                        .hsaco = o->hsaco,
                                        .compare = o->compare ? o->compare : "exact",
                                        .stdout_fd = -1};

        snprintf(flags, sizeof flags, "%s%s%s%s%s-", o->json ? "j" : "", o->verify ? "v" : "",
                 o->stateful ? "s" : "", i + 1 < MOST_STARTS ? "a" : "", probe ? "p" : "");
        if (rp_replay_child_run(env, device, &child, &end, &err) < 0)
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
