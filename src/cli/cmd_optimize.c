#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/monotonic_clock.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/result_text.h"
#include "optimize/session.h"
#include "run/kernel_pattern.h"
#include "run/machine.h"

static const char help[] =
    "usage: rocm-perf optimize PROGRAM --source FILE [options] [-- ARGS...]\n"
    "\n"
    "Looks for changes of PROGRAM's kernels that make it faster: profiles it, ranks kernels by "
    "what\n"
    "the program could gain, has changes proposed, and keeps only what compiles, keeps the "
    "kernel's\n"
    "interface, gives the same output on captured dispatches and in PROGRAM, and is measured\n"
    "faster, twice. FILE stays as it is unless --apply is given.\n"
    "\n"
    "  --source FILE        the source with the kernels\n"
    "  --build COMMAND      how PROGRAM is built: a call of the compiler, or any command with "
    "{source}\n"
    "                       and {output} for the two names. Default: compile_commands.json near "
    "FILE,\n"
    "                       else hipcc -O3 FILE -o PROGRAM\n"
    "  --compile-commands F that compile_commands.json: how FILE is compiled, where --build is a "
    "script\n"
    "  --flags 'OPTIONS'    the same as options of the compiler: '-O2 -I inc -DX'; without "
    "--build,\n"
    "                       hipcc OPTIONS FILE -o PROGRAM\n"
    "  --unit F             where FILE is a header: the file that is compiled and includes it\n"
    "  --kernel REGEX       only kernels whose names it finds, whatever they weigh\n"
    "  --proposer P         who proposes: unroll (default: loop unrolling by 2 to 8, no network), "
    "or\n"
    "                       another one of the list below\n"
    "  --llm-config F       settings of the proposer llm (default: the environment, or\n"
    "                       ~/.config/rocm-perf/llm.json)\n"
    "  --allow body         let the proposer change the whole body of a kernel, not only "
    "unrolling\n"
    "  --check COMMAND      /bin/sh runs it with PROGRAM's output as its input: 0 means right. "
    "Without\n"
    "                       it PROGRAM must print the same to the byte and end with the same "
    "status\n"
    "  --max-iters N        changes tried of each kernel and round, 1 to 1000 (default 8)\n"
    "  --max-rounds N       changes accepted at most; kernels are ranked anew after each, 1 to "
    "100\n"
    "                       (default 3)\n"
    "  --geometries N       dispatches of how many geometries of a kernel are captured, 1 to 64\n"
    "                       (default 4)\n"
    "  --min-improvement X  per cent by which a kernel must be faster, 0 to 100 (default 2)\n"
    "  --budget S           the search ends after S seconds, also within a run: what is faster by "
    "then\n"
    "                       is still confirmed (default: no end)\n"
    "  --timeout S          end a run of PROGRAM that takes longer (default: 4 hours; with a "
    "candidate\n"
    "                       10 times as long as without, a minute at least)\n"
    "  --device D, --threads N, --timing T   as of rocm-perf run; T: fast or detailed\n"
    "  -o DIR               of the session: journal, captures, candidates, optimize.json (default\n"
    "                       optimize_result); it must not hold a session yet\n"
    "  --resume             go on with the session in DIR\n"
    "  --dry-run            candidates are built, not measured: nothing is accepted\n"
    "  --apply              replace FILE by the result; FILE.orig is what it was\n"
    "  --json               print optimize.json\n"
    "  --help               this text\n"
    "\n"
    "When something is accepted, FILE's folder gets NAME_opt.EXT and NAME_opt.patch.\n"
    "\n"
    "proposers:\n";

static const char help_tail[] =
    "\n"
    "exit status: 0 something was accepted; 1 nothing was accepted; 2 usage; 3 PROGRAM is not of\n"
    "  FILE and this build, or FILE cannot be read; 4 environment, or the proposer failed and\n"
    "  nothing was accepted; 5 PROGRAM failed; 130 interrupted: --resume goes on\n";

struct command {
    struct rp_session_options o;
    const char *proposer;
    bool json;
    struct rp_progress_line line;
    int64_t began_ns;
    struct rp_device_identity on;
};

enum option_key {
    KEY_SOURCE = 256,
    KEY_BUILD,
    KEY_COMMANDS,
    KEY_FLAGS,
    KEY_UNIT,
    KEY_KERNEL,
    KEY_PROPOSER,
    KEY_LLM,
    KEY_ALLOW,
    KEY_CHECK,
    KEY_ITERS,
    KEY_ROUNDS,
    KEY_GEOMETRIES,
    KEY_IMPROVEMENT,
    KEY_BUDGET,
    KEY_TIMEOUT,
    KEY_DEVICE,
    KEY_THREADS,
    KEY_TIMING,
    KEY_RESUME,
    KEY_DRY,
    KEY_APPLY,
    KEY_JSON
};

static int show_help(void)
{
    rp_autobuf text = {0};
    const struct rp_proposer *p;

    rp_buf_puts(&text, help);
    for (size_t i = 0; (p = rp_proposer_at(i)) != NULL; i++)
        rp_buf_printf(&text, "  %-10s %s\n", p->name, p->summary);
    rp_buf_puts(&text, help_tail);
    return rp_cli_help(rp_buf_text(&text));
}

static int take_count(const char *option, const char *word, unsigned most, unsigned *ret,
                      struct rp_err *err)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(word, &end, 10);
    if (errno || end == word || *end || value < 1 || value > (long)most)
        return rp_fail(err, RP_USAGE, "%s %s: use a whole number from 1 to %u", option, word, most);
    *ret = (unsigned)value;
    return 0;
}

static int take_number(const char *option, const char *word, double most, const char *what,
                       double *ret, struct rp_err *err)
{
    char *end;
    double value = strtod(word, &end);

    if (end == word || *end || !(value >= 0 && value <= most))
        return rp_fail(err, RP_USAGE, "%s %s: use %s from 0 to %g", option, word, what, most);
    *ret = value;
    return 0;
}

static int take_limit(int key, struct command *c, struct rp_err *err)
{
    double percent = 0;
    int rc;

    switch (key) {
    case KEY_ITERS:
        return take_count("--max-iters", optarg, 1000, &c->o.most_attempts, err);
    case KEY_ROUNDS:
        return take_count("--max-rounds", optarg, 100, &c->o.most_rounds, err);
    case KEY_GEOMETRIES:
        return take_count("--geometries", optarg, 64, &c->o.most_geometries, err);
    case KEY_BUDGET:
        rc = take_number("--budget", optarg, 1e7, "seconds", &c->o.budget_s, err);
        return rc < 0 || c->o.budget_s > 0
                   ? rc
                   : rp_fail(err, RP_USAGE,
                             "--budget 0: nothing can be done in no time; leave the option out for "
                             "a search without an end");
    case KEY_TIMEOUT:
        rc = take_number("--timeout", optarg, 1e7, "seconds", &c->o.timeout_s, err);
        return rc < 0 || c->o.timeout_s > 0
                   ? rc
                   : rp_fail(err, RP_USAGE, "--timeout 0: no program ends in no time");
    default:
        rc = take_number("--min-improvement", optarg, 100, "per cent", &percent, err);
        c->o.least_improvement = percent / 100;
        return rc;
    }
}

static int take_option(int key, struct command *c, struct rp_err *err)
{
    switch (key) {
    case KEY_SOURCE:
        c->o.source = optarg;
        return 0;
    case KEY_BUILD:
        c->o.build.build = optarg;
        return 0;
    case KEY_COMMANDS:
        c->o.build.compile_commands = optarg;
        return 0;
    case KEY_FLAGS:
        c->o.build.flags = optarg;
        return 0;
    case KEY_UNIT:
        c->o.build.unit = optarg;
        return 0;
    case KEY_KERNEL:
        c->o.kernel = optarg;
        return rp_kernel_pattern_check("--kernel", optarg, err);
    case KEY_PROPOSER:
        c->proposer = optarg;
        return 0;
    case KEY_LLM:
        c->o.llm_settings = optarg;
        return 0;
    case KEY_ALLOW:
        c->o.scope = RP_EDIT_BODY;
        return strcmp(optarg, "body") == 0
                   ? 0
                   : rp_fail(err, RP_USAGE, "--allow %s: only body can be allowed", optarg);
    case KEY_CHECK:
        c->o.check = optarg;
        return optarg[strspn(optarg, " \t\n")] ? 0
                                               : rp_fail(err, RP_USAGE,
                                                         "--check: an empty command says yes to "
                                                         "everything; leave the option out to "
                                                         "compare what the program prints");
    case KEY_DEVICE:
        c->o.device = optarg;
        return rp_device_parse(optarg, &c->o.run, err);
    case KEY_THREADS:
        return rp_cli_threads(optarg, &c->o.run, err);
    case KEY_TIMING:
        c->o.timing = optarg;
        return rp_cli_timing(optarg, &c->o.run, err);
    case 'o':
        c->o.folder = optarg;
        return *optarg ? 0 : rp_fail(err, RP_USAGE, "-o needs the name of a folder");
    case KEY_RESUME:
        c->o.resume = true;
        return 0;
    case KEY_DRY:
        c->o.dry_run = true;
        return 0;
    case KEY_APPLY:
        c->o.apply = true;
        return 0;
    case KEY_JSON:
        c->json = true;
        return 0;
    default:
        return take_limit(key, c, err);
    }
}

static const struct option long_options[] = {
    {"source", required_argument, NULL, KEY_SOURCE},
    {"build", required_argument, NULL, KEY_BUILD},
    {"compile-commands", required_argument, NULL, KEY_COMMANDS},
    {"flags", required_argument, NULL, KEY_FLAGS},
    {"unit", required_argument, NULL, KEY_UNIT},
    {"kernel", required_argument, NULL, KEY_KERNEL},
    {"proposer", required_argument, NULL, KEY_PROPOSER},
    {"llm-config", required_argument, NULL, KEY_LLM},
    {"allow", required_argument, NULL, KEY_ALLOW},
    {"check", required_argument, NULL, KEY_CHECK},
    {"max-iters", required_argument, NULL, KEY_ITERS},
    {"max-rounds", required_argument, NULL, KEY_ROUNDS},
    {"geometries", required_argument, NULL, KEY_GEOMETRIES},
    {"min-improvement", required_argument, NULL, KEY_IMPROVEMENT},
    {"budget", required_argument, NULL, KEY_BUDGET},
    {"timeout", required_argument, NULL, KEY_TIMEOUT},
    {"device", required_argument, NULL, KEY_DEVICE},
    {"threads", required_argument, NULL, KEY_THREADS},
    {"timing", required_argument, NULL, KEY_TIMING},
    {"resume", no_argument, NULL, KEY_RESUME},
    {"dry-run", no_argument, NULL, KEY_DRY},
    {"apply", no_argument, NULL, KEY_APPLY},
    {"json", no_argument, NULL, KEY_JSON},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/** @return false: ret_code says how it ends */
static bool parse(int argc, char **argv, struct command *c, int *ret_code)
{
    struct rp_err err = RP_ERR_INIT;
    int key, rc = 0;

    optind = 1;
    while (rc == 0 && (key = getopt_long(argc, argv, ":ho:", long_options, NULL)) != -1) {
        if (key == 'h') {
            *ret_code = show_help();
            return false;
        }
        if (key == ':' || key == '?') {
            *ret_code = rp_cli_bad_option("optimize", argv[optind - 1], key);
            return false;
        }
        rc = take_option(key, c, &err);
    }
    if (rc == 0 && c->o.apply && c->o.dry_run)
        rc = rp_fail(&err, RP_USAGE, "--apply and --dry-run exclude each other");
    if (rc == 0 && c->o.llm_settings && strcmp(c->proposer, "llm") != 0)
        rc = rp_fail(&err, RP_USAGE, "--llm-config goes with --proposer llm");
    c->o.program = argv + optind;
    c->o.proposer = rp_proposer_named(c->proposer);
    if (rc == 0 && !c->o.proposer)
        rc = rp_fail(&err, RP_USAGE, "--proposer %s: there is none of that name (--help has them)",
                     c->proposer);
    if (rc < 0) {
        *ret_code = rp_cli_error(&err);
        return false;
    }
    if (optind == argc || !c->o.source) {
        *ret_code = rp_cli_usage_error("optimize", "%s",
                                       optind == argc ? "which program?" : "--source is missing");
        return false;
    }
    return true;
}

static void progress(void *context, const char *line)
{
    struct command *c = context;

    rp_progress_line_clear(&c->line);
    rp_cli_note("%s", line);
}

/** On a terminal, below the last line while that goes on: for how long, and what the search may
 * still take. How many candidates there will be nobody knows. */
static void waiting(void *context, int64_t elapsed_ns)
{
    struct command *c = context;
    const int64_t elapsed_s = elapsed_ns / 1000000000;
    const double left_s = c->o.budget_s - (double)(rp_now_ns() - c->began_ns) / 1e9;
    rp_autobuf text = {0};

    if (elapsed_s < RP_PROGRESS_PATIENCE_S)
        return;
    rp_buf_printf(&text, "  %" PRId64 " s", elapsed_s);
    if (c->o.budget_s > 0 && !c->o.resume)
        rp_buf_printf(&text, "; %.0f s of --budget left", left_s > 0 ? left_s : 0);
    rp_progress_line_show(&c->line, rp_buf_text(&text));
}

static int print(const struct command *c, const struct rp_session_result *result)
{
    rp_autobuf text = {0};

    if (c->json)
        rp_buf_printf(&text, "%s\n", result->text);
    else
        rp_optimize_summary(result, c->o.source, rp_cli_style(), &text);
    return text.failed ? RP_ENVIRONMENT : rp_cli_result(rp_buf_text(&text));
}

/** The last words say what was decided, and how to go on. */
static int print_failure(const struct rp_session_result *result, const struct rp_err *err)
{
    const int code = rp_cli_error(err);

    if (result->resumable && !strstr(err->text, "--resume"))
        rp_cli_note("%zu changes tried, %zu accepted so far: --resume goes on", result->tried,
                    result->accepted);
    return code;
}

/** The device is there, before anything is built. */
static int check_device(struct command *c, struct rp_err *err)
{
    struct rp_run_options run = c->o.run;
    struct rp_environment env;
    int rc = rp_environment_detect(&env, err);

    if (rc == 0) {
        rc = rp_device_resolve(&env, &run, err);
        if (rc == 0)
            rc = rp_device_identify(&env, &run, &c->on, err);
        rp_environment_free(&env);
    }
    if (rc == 0 && run.device == RP_DEVICE_SOFTWARE && run.timing == RP_TIMING_OFF)
        rc =
            rp_fail(err, RP_USAGE,
                    "--timing off (or ROCM_PERF_DEVICE_TIMING): without times nothing can be found "
                    "to be faster; use fast or detailed");
    return rc;
}

int rp_cmd_optimize(int argc, char **argv)
{
    struct command c = {.proposer = "unroll",
                        .o = {.folder = "optimize_result",
                              .scope = RP_EDIT_UNROLL,
                              .most_attempts = 8,
                              .most_rounds = 3,
                              .most_geometries = 4,
                              .least_improvement = 0.02,
                              .progress = progress,
                              .waiting = waiting,
                              .context = &c}};
    struct rp_session_result result = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    rp_autofree char *program = NULL;
    const char *ended;
    int code = 0, rc;

    if (!parse(argc, argv, &c, &code))
        return code;
    rc = rp_find_program(c.o.program[0], &program, &err);
    if (rc == 0 && !self)
        rc = rp_fail(&err, RP_ENVIRONMENT, "/proc is not there");
    if (rc == 0)
        rc = check_device(&c, &err);
    c.o.self = self;
    c.o.on = &c.on;
    c.o.program_path = program;
    rp_proc_catch_signals(); /* until the end: what was accepted is written */
    c.line = rp_progress_line_begin();
    c.began_ns = rp_now_ns();
    if (rc == 0)
        rc = rp_session_run(&c.o, &result, &err);
    rp_progress_line_clear(&c.line);
    rp_device_identity_free(&c.on);
    if (result.json)
        code = print(&c, &result);
    if (rc < 0) {
        code = print_failure(&result, &err);
        rp_session_result_free(&result);
        return code;
    }
    ended = json_string_value(json_object_get(result.json, "proposer_ended"));
    if (ended)
        rp_cli_note("no more proposals: %s; --resume goes on", ended);
    if (code == RP_OK && !result.accepted)
        code = result.proposer_failed ? RP_ENVIRONMENT : RP_VERDICT;
    rp_session_result_free(&result);
    return code;
}
