#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/device_counters.h"
#include "cli/profile_session.h"
#include "collect/kernel_filter.h"
#include "report/report.h"

enum { DEFAULT_RUNS = 3, MAX_RUNS = 1000 };

static const char help[] =
    "usage: rocm-perf profile [options] [--] PROGRAM [ARGS...]\n"
    "\n"
    "Runs PROGRAM several times, records every kernel dispatch, and prints which kernels ran, how\n"
    "long, how steadily, and with which registers, LDS and occupancy. The runtime is the sum of\n"
    "(end - start) over all dispatches of the first run, on the device's own clock.\n"
    "\n"
    "  --runs N       how often PROGRAM runs, 1 to 1000 (default 3), each time with the same\n"
    "                 standard input; 1 for a terminal or an endless stream\n"
    "  --device D     auto: the GPU if there is one, else the software MI300X (default)\n"
    "                 gpu: the GPU or an error; software: the software MI300X; software:TARGET:\n"
    "                 another target, such as software:mi325x (rocm-perf doctor lists them)\n"
    "  --threads N    processors the software MI300X may use (default: all)\n"
    "  --gpus N       how many software MI300X there are, 1 to 8 (default 1)\n"
    "  --timing T     how the software MI300X finds out how long kernels take. fast: from counts "
    "of\n"
    "                 what they execute (default); detailed: replays part of them on a modelled\n"
    "                 machine; off, with --no-rocprof only: not at all\n"
    "  -o DIR         where the result goes (default .rocpd_profile): profile.json, the traces\n"
    "                 (rocpd SQLite). The result before stays until the new one is complete\n"
    "  --tracer T     auto: rocprofv3 on a GPU where there is one, else builtin (default);\n"
    "                 rocprofv3; builtin: this program's own collector\n"
    "  --no-hip-calls record kernels and copies only, not the program's calls of HIP\n"
    "  --timeout S    stop a run that takes longer than S seconds (default: none)\n"
    "  --expect-status N\n"
    "                 PROGRAM ends with exit status N, 0 to 255, when nothing is wrong (default "
    "0)\n"
    "  --no-rocprof   no tracing: wall-clock time of the whole process only\n"
    "  --json         print profile.json; PROGRAM's stdout goes to stderr\n"
    "  --quiet        print only the runtime in ms (PROGRAM's stdout goes to stderr)\n"
    "  --debug        print the tracer's raw log on stderr, keep it as DIR/tracer.log\n"
    "  --version      print the version\n"
    "  --help         this text\n"
    "\n"
    "analyses (results are kept in DIR):\n"
    "  --roofline        hardware counters, on a GPU in as many further runs as they need: FLOPs,\n"
    "                    bytes, rates and what bounds each kernel (roofline.json)\n"
    "  --focus-critical  which kernels the end-to-end time depends on (dag.json)\n"
    "  --deep-analysis   both, a thread trace of the kernel that took most time, and what limits\n"
    "                    each kernel (analysis.json)\n"
    "  --pmc NAMES       further counters, separated by blanks or commas; may be repeated\n"
    "  --list-counters   the counters of the software device, and which it cannot have; then "
    "ends\n";

static const char help_tail[] =
    "\n"
    "PROGRAM's stdout is shown for the first run only. Results from the software MI300X say so:\n"
    "their times are modelled, not measured on hardware.\n"
    "\n"
    "exit status: 0 ok, 2 usage (also: PROGRAM cannot be run), 3 PROGRAM launched no kernel,\n"
    "  4 environment (no ROCm, no device, rocprofv3 failed, cannot write DIR), 5 PROGRAM failed, "
    "HIP\n"
    "  refused all of its launches, or no kernel of it ended, 130 interrupted\n";

static const struct word_option {
    const char *name, *help;
    size_t offset; /**< in rp_profile_options */
    bool number;
    uint64_t least, most;
} thread_options[] = {
#define NUMBER(member, option, least, most, help)                                                  \
    {option, help, offsetof(struct rp_profile_options, threads.member), true, least, most},
#define WORD(member, option, help)                                                                 \
    {option, help, offsetof(struct rp_profile_options, threads.member), false, 0, 0},
#include "collect/thread_trace.def"
#undef NUMBER
#undef WORD
};
enum { THREAD_OPTIONS = sizeof thread_options / sizeof *thread_options };

static int show_help(void)
{
    rp_autobuf text = {0};

    rp_buf_puts(&text, help);
    rp_buf_puts(&text, "\nthread-trace options (same names as rocprofv3):\n");
    for (size_t i = 0; i < THREAD_OPTIONS; i++)
        rp_buf_printf(&text, "  --%-24s %s\n", thread_options[i].name, thread_options[i].help);
    rp_buf_printf(&text, "  --%-24s %s\n", "att-serialize-all",
                  "all kernels one after the other, not only the traced ones");
    rp_buf_puts(&text, help_tail);
    return rp_cli_help(rp_buf_text(&text));
}

static int parse_runs(const char *word, unsigned *ret, struct rp_err *err)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(word, &end, 10);
    if (errno || end == word || *end || value < 1 || value > MAX_RUNS)
        return rp_fail(err, RP_USAGE, "--runs %s: use a whole number from 1 to %d", word, MAX_RUNS);
    *ret = (unsigned)value;
    return 0;
}

static int parse_timeout(const char *word, int64_t *ret_ns, struct rp_err *err)
{
    char *end;
    double seconds = strtod(word, &end);

    if (end == word || *end || !(seconds >= 0.001 && seconds <= 1e6))
        return rp_fail(err, RP_USAGE, "--timeout %s: use a number of seconds from 0.001 to 1000000",
                       word);
    *ret_ns = (int64_t)(seconds * 1e9);
    return 0;
}

enum option_key {
    KEY_RUNS = 256,
    KEY_DEVICE,
    KEY_THREADS,
    KEY_GPUS,
    KEY_TIMING,
    KEY_WALL,
    KEY_JSON,
    KEY_QUIET,
    KEY_DEBUG,
    KEY_VERSION,
    KEY_TRACER,
    KEY_ROOFLINE,
    KEY_CRITICAL,
    KEY_DEEP,
    KEY_PMC,
    KEY_LIST,
    KEY_SERIALIZE,
    KEY_TIMEOUT,
    KEY_STATUS,
    KEY_NO_CALLS,
    KEY_THREADS_FIRST /**< and on: thread_options */
};

/* "0x" begins a hexadecimal number, as rocprofv3 reads them; "010" is ten for it and refused. */
static int parse_number(const struct word_option *option, const char *word, struct rp_err *err)
{
    bool hex = strncmp(word, "0x", 2) == 0;
    const char *digits = hex ? word + 2 : word;
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(digits, &end, hex ? 16 : 10);
    if (errno || !isxdigit((unsigned char)*digits) || *end || (!hex && *word == '0' && word[1]) ||
        value < option->least || value > option->most)
        return rp_fail(err, RP_USAGE, "--%s %s: use a number from %" PRIu64 " to %" PRIu64,
                       option->name, word, option->least, option->most);
    return 0;
}

static int take_thread_option(size_t at, struct rp_profile_options *options, struct rp_err *err)
{
    const struct word_option *option = &thread_options[at];
    int rc = 0;

    if (option->number)
        rc = parse_number(option, optarg, err);
    else if (!*optarg)
        rc = rp_fail(err, RP_USAGE, "--%s needs a value", option->name);
    else if (option->offset == offsetof(struct rp_profile_options, threads.kernels))
        rc = rp_kernel_regex_check("--kernel-include-regex", optarg, err);
    else if (option->offset == offsetof(struct rp_profile_options, threads.iterations))
        rc = rp_kernel_ranges_check(optarg, err);
    if (rc == 0)
        memcpy((char *)options + option->offset, &optarg, sizeof optarg);
    return rc;
}

/* Writes into the argument: the names stay where they are. */
static int take_counters(char *word, struct rp_profile_options *options, struct rp_err *err)
{
    char *state = NULL;
    size_t before = options->counter_count;

    for (char *name = strtok_r(word, ", ", &state); name; name = strtok_r(NULL, ", ", &state)) {
        if (options->counter_count == RP_MAX_PMC)
            return rp_fail(err, RP_USAGE, "--pmc: more than %d counters", RP_MAX_PMC);
        options->counters[options->counter_count++] = name;
    }
    if (options->counter_count == before)
        return rp_fail(err, RP_USAGE, "--pmc needs the name of a counter");
    return 0;
}

static int take_option(int key, struct rp_profile_options *options, struct rp_err *err)
{
    switch (key) {
    case KEY_RUNS:
        return parse_runs(optarg, &options->runs, err);
    case KEY_DEVICE:
        return rp_device_parse(optarg, &options->device, err);
    case KEY_THREADS:
        return rp_cli_threads(optarg, err);
    case KEY_GPUS:
        return rp_cli_gpus(optarg, err);
    case KEY_TIMING:
        return rp_cli_timing(optarg, err);
    case KEY_TIMEOUT:
        return parse_timeout(optarg, &options->timeout_ns, err);
    case KEY_STATUS:
        return rp_cli_expected_status(optarg, &options->expected_status, err);
    case KEY_NO_CALLS:
        options->no_hip_calls = true;
        return setenv("ROCM_PERF_HIP_CALLS", "off", 1) == 0
                   ? 0
                   : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    case KEY_WALL:
        options->wallclock = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        return 0;
    case KEY_DEBUG:
        options->debug = true;
        return 0;
    case KEY_TRACER:
        return rp_tracer_parse(optarg, &options->tracer, err);
    case KEY_ROOFLINE:
        options->roofline = true;
        return 0;
    case KEY_CRITICAL:
        options->focus_critical = true;
        return 0;
    case KEY_DEEP:
        options->deep_analysis = true;
        return 0;
    case KEY_PMC:
        return take_counters(optarg, options, err);
    case KEY_SERIALIZE:
        options->threads.serialize_all = true;
        return 0;
    case 'o':
        options->out_dir = optarg;
        return *optarg ? 0 : rp_fail(err, RP_USAGE, "-o needs a folder");
    default:
        if (key >= KEY_THREADS_FIRST && key < KEY_THREADS_FIRST + THREAD_OPTIONS)
            return take_thread_option((size_t)(key - KEY_THREADS_FIRST), options, err);
        return rp_fail(err, RP_USAGE, "unknown option");
    }
}

static const struct option plain_options[] = {
    {"runs", required_argument, NULL, KEY_RUNS},
    {"device", required_argument, NULL, KEY_DEVICE},
    {"threads", required_argument, NULL, KEY_THREADS},
    {"gpus", required_argument, NULL, KEY_GPUS},
    {"timing", required_argument, NULL, KEY_TIMING},
    {"no-rocprof", no_argument, NULL, KEY_WALL},
    {"json", no_argument, NULL, KEY_JSON},
    {"quiet", no_argument, NULL, KEY_QUIET},
    {"debug", no_argument, NULL, KEY_DEBUG},
    {"version", no_argument, NULL, KEY_VERSION},
    {"tracer", required_argument, NULL, KEY_TRACER},
    {"roofline", no_argument, NULL, KEY_ROOFLINE},
    {"focus-critical", no_argument, NULL, KEY_CRITICAL},
    {"deep-analysis", no_argument, NULL, KEY_DEEP},
    {"pmc", required_argument, NULL, KEY_PMC},
    {"list-counters", no_argument, NULL, KEY_LIST},
    {"att-serialize-all", no_argument, NULL, KEY_SERIALIZE},
    {"timeout", required_argument, NULL, KEY_TIMEOUT},
    {"expect-status", required_argument, NULL, KEY_STATUS},
    {"no-hip-calls", no_argument, NULL, KEY_NO_CALLS},
    {"help", no_argument, NULL, 'h'},
};
enum { PLAIN_OPTIONS = sizeof plain_options / sizeof *plain_options };

/* What does not go together; NULL: it does. */
static const char *conflict(const struct rp_profile_options *options)
{
    const struct rp_thread_trace_options *threads = &options->threads;
    bool thread_option = threads->serialize_all;

    for (size_t i = 0; i < THREAD_OPTIONS; i++) {
        const char *word;

        memcpy(&word, (const char *)options + thread_options[i].offset, sizeof word);
        thread_option |= word != NULL;
    }
    if (options->json && options->quiet)
        return "--json and --quiet exclude each other";
    if (options->wallclock && options->tracer != RP_TRACER_AUTO)
        return "--no-rocprof traces nothing: leave out --tracer";
    if (options->wallclock && (options->roofline || options->focus_critical ||
                               options->deep_analysis || options->counter_count))
        return "--no-rocprof traces nothing: --roofline, --focus-critical, --deep-analysis and"
               " --pmc need a trace";
    if (options->wallclock && options->no_hip_calls)
        return "--no-rocprof traces nothing: leave out --no-hip-calls";
    if (thread_option && !options->deep_analysis)
        return "options of the thread trace need --deep-analysis";
    if (threads->activity_period && (threads->counters || threads->counter_period))
        return "--att-activity excludes --att-perfcounters and --att-perfcounter-ctrl";
    return NULL;
}

/* @return 0 to go on; 1 when *ret_code is the exit code */
static int parse(int argc, char **argv, struct rp_profile_options *options, int *ret_code)
{
    struct option table[PLAIN_OPTIONS + THREAD_OPTIONS + 1] = {0};
    struct rp_err err = RP_ERR_INIT;
    int key;

    memcpy(table, plain_options, sizeof plain_options);
    for (int i = 0; i < (int)THREAD_OPTIONS; i++)
        table[PLAIN_OPTIONS + i] =
            (struct option){thread_options[i].name, required_argument, NULL, KEY_THREADS_FIRST + i};
    opterr = 0;
    while ((key = getopt_long(argc, argv, "+:ho:", table, NULL)) != -1) {
        if (key == KEY_LIST) {
            *ret_code = rp_list_device_counters();
            return 1;
        }
        if (key == 'h' || key == KEY_VERSION) {
            *ret_code = key == 'h' ? show_help() : rp_cli_result("rocm-perf " RP_VERSION "\n");
            return 1;
        }
        if (take_option(key, options, &err) < 0) {
            *ret_code = key == ':' || key == '?'
                            ? rp_cli_bad_option("profile", argv[optind - 1], key)
                            : rp_cli_error(&err);
            return 1;
        }
    }
    options->argv = argv + optind;
    if (conflict(options))
        *ret_code = rp_cli_usage_error("profile", "%s", conflict(options));
    else if (optind == argc)
        *ret_code = rp_cli_usage_error("profile", "no program given");
    else
        return 0;
    return 1;
}

static void fill_report(const struct rp_profile_options *options,
                        const struct rp_profile_session *session, struct rp_profile_report *report)
{
    const struct rp_run *base = &session->runs[0];
    size_t args = 0;

    while (options->argv[args])
        args++;
    *report = (struct rp_profile_report){
        .profile = session->profile,
        .device = rp_device_label(session->device),
        .measurement = options->wallclock ? RP_MEASURED_WALL_CLOCK : RP_MEASURED_DISPATCHES,
        .runtime_ms = options->wallclock ? session->wall_ms : session->runtime_ms,
        .runs = session->run_count,
        .kernel_ms = session->kernel_ms,
        .repeat_kernels = &session->repeat_kernels,
        .differences = &session->differences,
        .failed_launches = session->failed_launches,
        .counters = session->counters,
        .roofline = session->has_roofline ? &session->roofline : NULL,
        .roofline_reason = session->roofline_reason,
        .provenance =
            {
                .command = (const char *const *)options->argv,
                .command_count = args,
                .rocm_version = session->env.rocm_version,
                .tool_version = RP_VERSION,
                .tracer = session->tracer ? session->tracer->name : "wallclock",
                .tracer_version = session->tracer && !session->tracer->version
                                      ? RP_VERSION
                                      : session->tracer_version,
                .trace_schema = session->store_count ? rp_store_schema(session->stores[0]) : NULL,
                .incomplete_traces = session->losses.incomplete_traces,
                .lost_records = session->losses.lost_records,
                .lost_dispatches = session->losses.lost_dispatches,
                .untraced_queues = session->losses.untraced_queues,
                .counter_passes = session->counter_passes,
                .exit_status = base->end.status,
                .wall_ms = session->wall_ms,
                .wall_count = session->run_count,
            },
    };
}

/* Where the traces will be after the commit. */
static int note_traces(const struct rp_profile_session *session, char **paths,
                       struct rp_profile_report *report, struct rp_err *err)
{
    struct rp_provenance *provenance = &report->provenance;

    for (size_t i = 0; i < session->store_count; i++) {
        const char *name = strrchr(session->runs[0].db_paths[i], '/') + 1;

        paths[i] = rp_path_join(session->dir.path, name);
        if (!paths[i])
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    provenance->traces = (const char *const *)paths;
    provenance->trace_count = session->store_count;
    return 0;
}

/* The table says it by itself. */
static void warn_of_failed_launches(const struct rp_profile *profile)
{
    rp_autofree char *text = profile->launches.failed ? rp_launches_text(&profile->launches) : NULL;

    if (text)
        rp_cli_note("%s", text);
}

static int print_result(const struct rp_profile_options *options,
                        const struct rp_profile_session *session,
                        const struct rp_profile_report *report, const char *json,
                        struct rp_err *err)
{
    rp_autobuf text = {0};

    if (options->json || options->quiet)
        warn_of_failed_launches(report->profile);
    if (options->json)
        return rp_cli_result(json);
    if (options->quiet)
        rp_buf_printf(&text, "%.6f\n", report->runtime_ms[0]);
    else if (rp_report_profile_term(report, rp_cli_style(), &text, err) < 0)
        return rp_cli_error(err);
    rp_buf_add(&text, session->summary.data, session->summary.len);
    return rp_cli_result(rp_buf_text(&text));
}

static void free_paths(char ***paths)
{
    for (char **path = *paths; path && *path; path++)
        free(*path);
    free(*paths);
}

int rp_cmd_profile(int argc, char **argv)
{
    struct rp_profile_options options = {.runs = DEFAULT_RUNS, .out_dir = ".rocpd_profile"};
    rp_cleanup(rp_profile_session_free) struct rp_profile_session session = {0};
    rp_cleanup(free_paths) char **paths = NULL;
    struct rp_profile_report report;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf json = {0};
    int code;

    if (parse(argc, argv, &options, &code))
        return code;
    if (rp_profile_session_run(&options, &session, &err) < 0)
        return rp_cli_error(&err);
    fill_report(&options, &session, &report);
    paths = calloc(session.store_count + 1, sizeof *paths);
    if (!paths)
        rp_fail(&err, RP_ENVIRONMENT, "out of memory");
    if (!paths || note_traces(&session, paths, &report, &err) < 0 ||
        rp_report_profile_json(&report, &json, &err) < 0 ||
        rp_profile_session_commit(&session, rp_buf_text(&json), &err) < 0)
        return rp_cli_error(&err);
    return print_result(&options, &session, &report, rp_buf_text(&json), &err);
}
