#include "cli/cmd_autotune.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/result_text.h"
#include "experiment/measured_run.h"
#include "run/machine.h"
#include "tune/autotune.h"
#include "tune/command_template.h"
#include "tune/launchers.h"
#include "tune/program_runner.h"
#include "tune/strategy.h"
#include "tune/worker.h"

enum { RP_AUTOTUNE_WORDS = 64 /**< of --gpus, --srun, --salloc each, and the NULL behind them */ };

/** Of what the command line has: a bit; short options have none. */
#define RP_AUTOTUNE_GIVEN(key)                                                                     \
    ((key) < RP_AUTOTUNE_SPACE ? 0 : (uint64_t)1 << ((key)-RP_AUTOTUNE_SPACE))

struct rp_autotune_command {
    uint64_t given; /**< bits RP_AUTOTUNE_GIVEN */
    struct rp_autotune_options o;
    bool json, quiet, worker;
    const char *device_text, *timing_text; /**< NULL: not given */
    /** What o.live.pool points to; texts are split in place. */
    char *gpus_text, *srun_text, *salloc_text;
    const char *gpus[RP_AUTOTUNE_WORDS], *srun[RP_AUTOTUNE_WORDS], *salloc[RP_AUTOTUNE_WORDS];
};

/* Options of autotune that exclude each other, or would have no effect. */

/** The session's own files, of which the journal would be lost with all answers. */
static int check_folder(const char *option, const char *path, const char *folder,
                        struct rp_err *err)
{
    static const char *const own[] = {"journal.jsonl", "journal.jsonl.head", "autotune.json",
                                      "lock"};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof own / sizeof *own; i++) {
        rp_autofree char *file = rp_path_join(folder, own[i]);

        if (!file)
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
        else if (rp_same_file(file, path))
            rc = rp_fail(err, RP_USAGE, "%s %s is a file of the session itself: take another name",
                         option, path);
    }
    return rc;
}

/** No output takes the place of another one, or of what is read. */
static int check_files(const struct rp_autotune_options *o, struct rp_err *err)
{
    enum { OUTPUTS = 3 };
    const struct {
        const char *option, *path;
    } files[] = {{"--plot", o->plot},           {"--export-t4", o->export_t4},
                 {"--export-t1", o->export_t1}, {"--space", o->space},
                 {"--simulate", o->simulate},   {"--import", o->import}};
    int rc = 0;

    for (size_t i = 0; o->folder && rc == 0 && i < OUTPUTS; i++)
        if (files[i].path)
            rc = check_folder(files[i].option, files[i].path, o->folder, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < OUTPUTS; i++)
        for (size_t j = i + 1; files[i].path && j < sizeof files / sizeof *files; j++)
            if (files[j].path && rp_same_file(files[i].path, files[j].path))
                return rp_fail(err, RP_USAGE, "%s and %s are the same file: %s", files[i].option,
                               files[j].option, files[i].path);
    return 0;
}

static const char *name_of(int key)
{
    static const char *const names[] = {
#define RP_AUTOTUNE_OPTION(key, name, argument) [RP_AUTOTUNE_##key - RP_AUTOTUNE_SPACE] = "--" name,
#include "cli/autotune_options.def"
#undef RP_AUTOTUNE_OPTION
    };

    return names[key - RP_AUTOTUNE_SPACE];
}

static bool given(const struct rp_autotune_command *c, int key)
{
    return c->given & RP_AUTOTUNE_GIVEN(key);
}

/** An option without effect is a mistake, or the user believes something that is not so. */
static int check_simulation(const struct rp_autotune_command *c, struct rp_err *err)
{
    if (given(c, RP_AUTOTUNE_SPACE))
        return rp_fail(err, RP_USAGE, "--simulate has a space: --space does not go with it");
    for (int key = RP_AUTOTUNE_COMMAND; key <= RP_AUTOTUNE_SALLOC; key++)
        if (given(c, key) && key != RP_AUTOTUNE_WORKERS)
            return rp_fail(err, RP_USAGE, "--simulate runs nothing: %s does not go with it",
                           name_of(key));
    if (c->o.export_t1)
        return rp_fail(err, RP_USAGE,
                       "--simulate and --export-t1: a recorded space has no rules to export");
    if (c->o.resume && !c->o.folder)
        return rp_fail(err, RP_USAGE, "--resume goes with -o: which folder?");
    return 0;
}

/** The second option goes with the first one only, or not at all. */
static int check_pairs(const struct rp_autotune_command *c, struct rp_err *err)
{
    static const int without[][2] = {{RP_AUTOTUNE_WALL, RP_AUTOTUNE_REGEX},
                                     {RP_AUTOTUNE_GPUS, RP_AUTOTUNE_WORKERS},
                                     {RP_AUTOTUNE_JSON, RP_AUTOTUNE_QUIET}};
    static const int slurm[] = {RP_AUTOTUNE_SRUN, RP_AUTOTUNE_SALLOC};

    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (given(c, without[i][0]) && given(c, without[i][1]))
            return rp_fail(err, RP_USAGE, "%s and %s exclude each other", name_of(without[i][0]),
                           name_of(without[i][1]));
    for (size_t i = 0; i < sizeof slurm / sizeof *slurm; i++)
        if (given(c, slurm[i]) && c->o.live.pool.launcher != rp_launcher_named("slurm"))
            return rp_fail(err, RP_USAGE, "%s goes with --launcher slurm only", name_of(slurm[i]));
    if (given(c, RP_AUTOTUNE_GPUS) && c->o.live.pool.launcher == rp_launcher_named("slurm"))
        return rp_fail(err, RP_USAGE,
                       "--gpus and --launcher slurm exclude each other: Slurm chooses GPUs (--srun "
                       "--gpus=1)");
    for (size_t i = 0; c->o.live.pool.gpus && c->gpus[i]; i++) {
        if (strcmp(c->gpus[i], "all") == 0 && c->gpus[1])
            return rp_fail(err, RP_USAGE, "--gpus all goes with no others");
        for (size_t j = 0; j < i; j++)
            if (strcmp(c->gpus[i], c->gpus[j]) == 0)
                return rp_fail(err, RP_USAGE,
                               "--gpus names GPU %s twice: two workers on one disturb each other",
                               c->gpus[i]);
    }
    if (given(c, RP_AUTOTUNE_UNIT) && !given(c, RP_AUTOTUNE_REGEX))
        return rp_fail(err, RP_USAGE,
                       "--output-unit goes with --output-regex, which names the number");
    return 0;
}

/** What does not go together, or has no effect. @return 0 or RP_USAGE with both names */
static int rp_autotune_check(const struct rp_autotune_command *c, struct rp_err *err)
{
    const struct rp_autotune_options *o = &c->o;
    int rc = 0;

    if (!o->simulate && !o->space)
        return rp_fail(err, RP_USAGE, "which space? --space or --simulate is missing");
    if (o->simulate)
        rc = check_simulation(c, err);
    else if (!o->live.command)
        return rp_fail(err, RP_USAGE, "which command? --cmd-template is missing");
    if (rc == 0)
        rc = check_pairs(c, err);
    return rc < 0 ? rc : check_files(o, err);
}

static const char help[] =
    "usage: rocm-perf autotune --space FILE --cmd-template COMMAND [options]\n"
    "       rocm-perf autotune --simulate FILE [options]\n"
    "\n"
    "Finds a fast configuration of a search space by running a small part of it, never all of\n"
    "it, and says how far its model of the space is to be trusted.\n"
    "\n"
    "  --space FILE         the configurations: JSON, see docs/format/search-space.md\n"
    "  --cmd-template C     command of a configuration: words, in which {NAME} is a value of it;\n"
    "                       no shell sees it\n"
    "  --build C            command that makes the program {output} first; the same words build\n"
    "                       once\n"
    "  --shell              both are scripts for /bin/sh; values are variables there\n"
    "  --env                the configuration is in the environment, too\n"
    "  --check COMMAND      /bin/sh runs it with the program's output as its input: 0 means right\n"
    "  --no-rocprof         minimise the time of the process instead of that of its dispatches\n"
    "  --output-regex RE    minimise a number that the program prints: group 1 of the last match\n"
    "  --output-unit U      unit of that number: ns, us, ms (default) or s\n"
    "  --timeout S          the longest that one run may take (default 300); later, five times\n"
    "                       what the best one takes, and 30 at least\n"
    "  --memory MB          the most that one run may use\n"
    "  --warmup N           runs that do not count, 0 to 100 (default 1)\n"
    "  --repeats MIN:MAX    runs that count: MIN of one that is slow, MAX of one that may be the\n"
    "                       best (default 1:9)\n"
    "  --device D, --threads N, --timing T   as of rocm-perf run\n"
    "  --gpus LIST          a worker for each of these GPUs: numbers with commas between, or all\n"
    "  --workers N          N workers on the software device, or under Slurm (default 1)\n"
    "  --launcher L         local (default) or slurm: a job step for each worker\n"
    "  --srun WORDS, --salloc WORDS   more options of each step, and of the allocation that is\n"
    "                       asked for when there is none\n"
    "  --simulate FILE      search a recorded space (ours, Kernel Tuner's cache, T4; plain or "
    "gzip)\n"
    "                       instead of running anything\n"
    "  --max-fraction F     evaluate at most floor(F x configurations), and never all of them\n"
    "                       (default 0.2)\n"
    "  --budget-evals N     evaluate at most N configurations\n"
    "  --budget-time S      begin no configuration after S seconds\n"
    "  --target-ms MS       end when one is as fast as that\n"
    "  --patience N         end when none of N configurations in a row was faster\n"
    "  --max-failures N     give up when the first N have all failed (default 30; 0: never)\n"
    "  --strategy NAME      who says what is run next; see below (default portfolio)\n"
    "  --seed S             same seed, same choices (default 1)\n"
    "  --top K              the fastest K are run again at the end, in turn (default 5)\n"
    "  --import FILE        run the ten fastest of earlier results first: a recorded space, or\n"
    "                       what --export-t4 has written\n"
    "  -o DIR               journal, builds and autotune.json (default autotune_result, with\n"
    "                       --simulate nothing); it must not hold a search yet\n"
    "  --resume             go on with the search in DIR, also with other limits\n"
    "  --plot FILE          draw the search (SVG)\n"
    "  --export-t4 FILE     results in the format T4\n"
    "  --export-t1 FILE     the space in the format T1\n"
    "  --json               print autotune.json\n"
    "  --quiet              print the best runtime in ms only, and no progress\n"
    "  --help               this text\n"
    "\n"
    "strategies:\n";

static const char help_tail[] =
    "\n"
    "exit status: 0 a configuration was found; 1 none works, or the space is too small for\n"
    "  --max-fraction; 2 usage; 3 the space or the journal cannot be used; 4 environment;\n"
    "  5 given up: the first --max-failures have all failed;\n"
    "  130 interrupted: the best so far was printed, and with -o --resume goes on\n";

static const struct option long_options[] = {
#define RP_AUTOTUNE_OPTION(key, name, argument) {name, argument, NULL, RP_AUTOTUNE_##key},
#include "cli/autotune_options.def"
#undef RP_AUTOTUNE_OPTION
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int show_help(void)
{
    rp_autobuf text = {0};
    const struct rp_strategy *strategy;

    rp_buf_puts(&text, help);
    for (size_t i = 0; (strategy = rp_strategy_number(i)) != NULL; i++)
        rp_buf_printf(&text, "  %-11s %s\n", strategy->name, strategy->summary);
    rp_buf_puts(&text, help_tail);
    return rp_cli_help(rp_buf_text(&text));
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int take_count(const char *option, const char *word, uint64_t least, uint64_t most,
                      uint64_t *ret, struct rp_err *err)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(word, &end, 10);
    if (errno || end == word || *end || word[0] < '0' || word[0] > '9' || value < least ||
        value > most)
        return rp_fail(err, RP_USAGE, "%s %s: use a whole number from %llu to %llu", option, word,
                       (unsigned long long)least, (unsigned long long)most);
    *ret = value;
    return 0;
}

static int take_unsigned(const char *option, const char *word, unsigned least, unsigned most,
                         unsigned *ret, struct rp_err *err)
{
    uint64_t value = *ret;
    int rc = take_count(option, word, least, most, &value, err);

    *ret = (unsigned)value;
    return rc;
}

static int take_size(const char *option, const char *word, size_t *ret, struct rp_err *err)
{
    uint64_t value = *ret;
    int rc = take_count(option, word, 1, 10000000, &value, err);

    *ret = value;
    return rc;
}

static int take_positive(const char *option, const char *word, double most, double factor,
                         double *ret, struct rp_err *err)
{
    char *end;
    double value = strtod(word, &end);

    if (end == word || *end || !(value > 0 && value <= most))
        return rp_fail(err, RP_USAGE, "%s %s: use a number above 0, at most %g", option, word,
                       most);
    *ret = value * factor;
    return 0;
}

static int take_repeats(const char *word, struct rp_search_options *to, struct rp_err *err)
{
    char *end;
    long least = strtol(word, &end, 10), most = least;

    if (*end == ':') {
        word = end + 1;
        most = strtol(word, &end, 10);
    }
    if (end == word || *end || least < 1 || most < least || most > 1000)
        return rp_fail(err, RP_USAGE,
                       "--repeats: use MIN:MAX, two whole numbers from 1 to 1000, like 1:9");
    to->least_samples = (unsigned)least;
    to->most_samples = (unsigned)most;
    return 0;
}

/* --- what is run ------------------------------------------------------------------------------ */

static int take_regex(const char *pattern, struct rp_program_runner_options *to, struct rp_err *err)
{
    if (rp_objective_check_pattern(pattern, err) < 0)
        return rp_wrap(err, "--output-regex");
    to->objective = RP_OBJECTIVE_OUTPUT;
    to->pattern = pattern;
    return 0;
}

static int take_unit(const char *word, double *ret, struct rp_err *err)
{
    static const struct {
        const char *word;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].word, word) == 0) {
            *ret = units[i].ns;
            return 0;
        }
    return rp_fail(err, RP_USAGE, "--output-unit %s: use ns, us, ms or s", word);
}

/** Words of a list, split in a copy of it. */
static int take_words(const char *option, const char *text, const char *separators, char **ret_copy,
                      const char **ret, struct rp_err *err)
{
    size_t count = 0;
    char *rest;

    free(*ret_copy);
    *ret_copy = strdup(text);
    if (!*ret_copy)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (char *word = strtok_r(*ret_copy, separators, &rest); word;
         word = strtok_r(NULL, separators, &rest)) {
        if (count == RP_AUTOTUNE_WORDS - 1)
            return rp_fail(err, RP_USAGE, "%s: more than %d words", option, RP_AUTOTUNE_WORDS - 1);
        ret[count++] = word;
    }
    ret[count] = NULL;
    return count ? 0 : rp_fail(err, RP_USAGE, "%s is empty", option);
}

static int take_program(int key, struct rp_autotune_command *c, struct rp_err *err)
{
    struct rp_program_runner_options *live = &c->o.live;
    uint64_t megabytes = 0;
    int rc;

    switch (key) {
    case RP_AUTOTUNE_COMMAND:
        live->command = optarg;
        return 0;
    case RP_AUTOTUNE_BUILD:
        live->build = optarg;
        return 0;
    case RP_AUTOTUNE_SHELL:
        live->flags |= RP_TEMPLATE_SHELL;
        return 0;
    case RP_AUTOTUNE_ENV:
        live->flags |= RP_TEMPLATE_ENVIRONMENT;
        return 0;
    case RP_AUTOTUNE_CHECK:
        live->check = optarg;
        return optarg[strspn(optarg, " \t\n")]
                   ? 0
                   : rp_fail(err, RP_USAGE, "--check: an empty command says yes to everything");
    case RP_AUTOTUNE_WALL:
        live->objective = RP_OBJECTIVE_WALL;
        return 0;
    case RP_AUTOTUNE_REGEX:
        return take_regex(optarg, live, err);
    case RP_AUTOTUNE_UNIT:
        return take_unit(optarg, &live->unit_ns, err);
    case RP_AUTOTUNE_TIMEOUT:
        return take_positive("--timeout", optarg, 1e6, 1000, &c->o.search.timeout_ms, err);
    case RP_AUTOTUNE_MEMORY:
        rc = take_count("--memory", optarg, 1, 1 << 24, &megabytes, err);
        live->memory_bytes = megabytes << 20;
        return rc;
    case RP_AUTOTUNE_WARMUP:
        return take_unsigned("--warmup", optarg, 0, 100, &c->o.search.warmups, err);
    default:
        return take_repeats(optarg, &c->o.search, err);
    }
}

/** Who runs it. */
static int take_workers(int key, struct rp_autotune_command *c, struct rp_err *err)
{
    struct rp_tune_pool_options *pool = &c->o.live.pool;

    switch (key) {
    case RP_AUTOTUNE_DEVICE:
        c->device_text = optarg;
        return rp_device_parse(optarg, &pool->run, err);
    case RP_AUTOTUNE_THREADS:
        return rp_cli_threads(optarg, &pool->run, err);
    case RP_AUTOTUNE_TIMING:
        c->timing_text = optarg;
        return rp_cli_timing(optarg, &pool->run, err);
    case RP_AUTOTUNE_GPUS:
        pool->gpus = c->gpus;
        return take_words("--gpus", optarg, ",", &c->gpus_text, c->gpus, err);
    case RP_AUTOTUNE_WORKERS:
        return take_unsigned("--workers", optarg, 1, 1024, &c->o.workers, err);
    case RP_AUTOTUNE_LAUNCHER:
        pool->launcher = rp_launcher_named(optarg);
        return pool->launcher ? 0
                              : rp_fail(err, RP_USAGE, "--launcher %s: use local or slurm", optarg);
    case RP_AUTOTUNE_SRUN:
        pool->step_words = c->srun;
        return take_words("--srun", optarg, " ", &c->srun_text, c->srun, err);
    default:
        pool->allocation_words = c->salloc;
        return take_words("--salloc", optarg, " ", &c->salloc_text, c->salloc, err);
    }
}

/** --gpus all: gpus become all that there are. @return 0; RP_ENVIRONMENT */
static int rp_autotune_find_gpus(struct rp_autotune_command *c, struct rp_err *err)
{
    rp_autofree char *list = NULL;
    int rc;

    if (!c->o.live.pool.gpus || strcmp(c->gpus[0], "all") != 0)
        return 0;
    rc = rp_gpu_choice(&c->o.live.pool.run, &list, err);
    return rc < 0 ? rc : take_words("--gpus all", list, ",", &c->gpus_text, c->gpus, err);
}

/* --- the search ------------------------------------------------------------------------------- */

static int take_failures(const char *word, size_t *ret, struct rp_err *err)
{
    uint64_t value = *ret;
    int rc = take_count("--max-failures", word, 0, 10000000, &value, err);

    *ret = value;
    return rc;
}

static int take_limit(int key, struct rp_autotune_options *o, struct rp_err *err)
{
    struct rp_search_options *search = &o->search;

    switch (key) {
    case RP_AUTOTUNE_FRACTION:
        return take_positive("--max-fraction", optarg, 1, 1, &search->max_fraction, err);
    case RP_AUTOTUNE_TIME:
        return take_positive("--budget-time", optarg, 1e8, 1000, &search->budget_ms, err);
    case RP_AUTOTUNE_TARGET:
        return take_positive("--target-ms", optarg, 1e12, 1, &search->target_ms, err);
    case RP_AUTOTUNE_EVALS:
        return take_size("--budget-evals", optarg, &search->budget_evals, err);
    case RP_AUTOTUNE_PATIENCE:
        return take_size("--patience", optarg, &search->patience, err);
    case RP_AUTOTUNE_FAILURES:
        return take_failures(optarg, &search->most_failures, err);
    case RP_AUTOTUNE_SEED:
        return take_count("--seed", optarg, 0, INT64_MAX, &search->seed, err);
    case RP_AUTOTUNE_TOP:
        return take_unsigned("--top", optarg, 1, 100, &search->finalists, err);
    default:
        o->strategy = optarg;
        return 0;
    }
}

static int take_file(int key, struct rp_autotune_command *c, struct rp_err *err)
{
    switch (key) {
    case RP_AUTOTUNE_SPACE:
        c->o.space = optarg;
        return 0;
    case RP_AUTOTUNE_SIMULATE:
        c->o.simulate = optarg;
        return 0;
    case 'o':
        c->o.folder = optarg;
        return *optarg ? 0 : rp_fail(err, RP_USAGE, "-o needs the name of a folder");
    case RP_AUTOTUNE_IMPORT:
        c->o.import = optarg;
        return 0;
    case RP_AUTOTUNE_RESUME:
        c->o.resume = true;
        return 0;
    case RP_AUTOTUNE_PLOT:
        c->o.plot = optarg;
        return 0;
    case RP_AUTOTUNE_T4:
        c->o.export_t4 = optarg;
        return 0;
    case RP_AUTOTUNE_T1:
        c->o.export_t1 = optarg;
        return 0;
    case RP_AUTOTUNE_JSON:
        c->json = true;
        return 0;
    case RP_AUTOTUNE_QUIET:
        c->quiet = true;
        return 0;
    default:
        c->worker = true;
        return 0;
    }
}

static int take_option(int key, struct rp_autotune_command *c, struct rp_err *err)
{
    if (key >= RP_AUTOTUNE_COMMAND && key <= RP_AUTOTUNE_REPEATS)
        return take_program(key, c, err);
    if (key >= RP_AUTOTUNE_DEVICE && key <= RP_AUTOTUNE_SALLOC)
        return take_workers(key, c, err);
    if (key >= RP_AUTOTUNE_FRACTION && key <= RP_AUTOTUNE_TOP)
        return take_limit(key, &c->o, err);
    return take_file(key, c, err);
}

static void set_defaults(struct rp_autotune_command *c)
{
    *c = (struct rp_autotune_command){.o = {.search = {.seed = 1,
                                                       .max_fraction = 0.2,
                                                       .timeout_ms = 300000,
                                                       .least_samples = 1,
                                                       .most_samples = 9,
                                                       .warmups = 1,
                                                       .most_failures = 30,
                                                       .finalists = 5},
                                            .live = {.unit_ns = 1e6}}};
}

/** @return true; false: help was printed, or an error, and ret_code is the exit code */
static bool rp_autotune_parse(int argc, char **argv, struct rp_autotune_command *ret, int *ret_code)
{
    struct rp_err err = RP_ERR_INIT;
    int key, rc = 0;

    set_defaults(ret);
    optind = 1;
    opterr = 0;
    while (rc == 0 && (key = getopt_long(argc, argv, ":ho:", long_options, NULL)) != -1) {
        if (key == 'h') {
            *ret_code = show_help();
            return false;
        }
        if (key == ':' || key == '?') {
            *ret_code = rp_cli_bad_option("autotune", argv[optind - 1], key);
            return false;
        }
        ret->given |= RP_AUTOTUNE_GIVEN(key);
        rc = take_option(key, ret, &err);
    }
    if (rc == 0 && optind < argc)
        rc = rp_fail(&err, RP_USAGE, "%s is no option", argv[optind]);
    if (rc == 0 && !ret->o.simulate && !ret->o.folder)
        ret->o.folder = "autotune_result";
    if (rc == 0 && !ret->worker)
        rc = rp_autotune_check(ret, &err);
    if (ret->o.simulate && !(ret->given & RP_AUTOTUNE_GIVEN(RP_AUTOTUNE_FAILURES)))
        ret->o.search.most_failures = 0; /* no command that could be wrong */
    ret->o.live.pool.workers = ret->o.workers;
    if (rc < 0)
        *ret_code = rp_cli_usage_error("autotune", "%s", err.text);
    return rc == 0;
}

static void rp_autotune_command_free(struct rp_autotune_command *command)
{
    free(command->gpus_text);
    free(command->srun_text);
    free(command->salloc_text);
}

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
    const struct rp_worker_options options = {.run = c->o.live.pool.run, .version = RP_VERSION};
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

/** A worker may be on another machine: it is told what this command was told. */
static void add_worker_options(const struct rp_autotune_command *c, const char **to,
                               char threads[16])
{
    if (c->device_text) {
        *to++ = "--device";
        *to++ = c->device_text;
    }
    if (c->timing_text) {
        *to++ = "--timing";
        *to++ = c->timing_text;
    }
    if (c->o.live.pool.run.threads) {
        snprintf(threads, 16, "%" PRIu32, c->o.live.pool.run.threads);
        *to++ = "--threads";
        *to++ = threads;
    }
}

static int run(struct rp_autotune_command *c)
{
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    const char *worker[10] = {self, "autotune", "--worker"};
    char threads[16];
    struct session session = {.line = rp_progress_line_begin(), .began_ms = now_ms()};
    struct rp_autotune_result result = {0};
    struct rp_err err = RP_ERR_INIT;
    int code, rc;

    if (!self) {
        rp_cli_note("/proc is not there");
        return RP_ENVIRONMENT;
    }
    add_worker_options(c, worker + 3, threads);
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
