#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/memfd.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/replay_child.h"
#include "cli/result_text.h"
#include "replay/page_changes.h"
#include "replay/replay_protocol.h"
#include "run/machine.h"
#include "trace/capture.h"

static const char help[] =
    "usage: rocm-perf replay full-vm --capture-dir DIR [--iterations N] [--warmup N] "
    "[--no-recopy]\n"
    "                                [--hsaco F [--compare RULE]] [--verify] [--json] [--device "
    "D]\n"
    "                                [--timing T]\n"
    "       rocm-perf replay compare A.hsaco B.hsaco --capture-dir DIR [--blocks N] [--margin X]\n"
    "                                [--gate G] [--compare RULE] [--cache C] [--json] [--device "
    "D]\n"
    "                                [--timing T]\n"
    "       rocm-perf replay reserve-check --capture-dir DIR [--json] [--device D]\n"
    "\n"
    "Runs the dispatch of a capture (rocm-perf isolate) again, in a process that has the captured\n"
    "memory at its addresses.\n"
    "\n"
    "  full-vm            rebuild the memory, run the kernel, print its times\n"
    "  compare            run two other kernels by turns; say whether B is faster or slower than "
    "A,\n"
    "                     equal, or that it is undecided; nothing unless both are right\n"
    "  reserve-check      only see whether every range can be had at its address here\n"
    "  --capture-dir DIR  the capture (default isolate_capture)\n"
    "  --iterations N     timed runs (default 1)\n"
    "  --warmup N         runs before them (default 0)\n"
    "  --no-recopy        do not restore the memory between runs\n"
    "  --verify           compare the memory after the first run with the captured state\n"
    "  --hsaco F          run the kernel of this code object in place of the captured one; "
    "refused\n"
    "                     if it does not fit; memory is checked after every run\n"
    "  --compare RULE     when its result is right: exact, or f32, f16, bf16 or f64 with "
    "tolerances\n"
    "                     (f32,abs=1e-6,rel=1e-5,ulp=2); default: exact, but for a kernel whose "
    "own\n"
    "                     runs differ, which gives four times what they differ by\n"
    "  --inputs T         of what type numbers in memory are: other ones are tried, from which "
    "the\n"
    "                     kernel must give what the captured one gives: auto (default: pages that\n"
    "                     can be nothing else), none, f32, f16, bf16, f64, i32\n"
    "  --cache C          what caches hold before timed runs: warm (by a run that is not timed) "
    "or\n"
    "                     cold (by filling more memory than they hold); default: what is there "
    "then\n"
    "  --blocks N         compare: most blocks of four runs of each kernel (10 to 200, default "
    "40)\n"
    "  --margin X         compare: by how many per cent kernels may differ and be equal (default "
    "1)\n"
    "  --gate G           compare: fail unless B is faster (G: faster) or not slower (not-slower)\n"
    "  --json             print JSON\n"
    "  --device D         auto, gpu, software, software:TARGET; default: what it was captured on,\n"
    "                     where that is software, else auto\n"
    "  --timing T         how the software device finds out times: fast, detailed, off; default: "
    "as\n"
    "                     when it was captured\n"
    "  --help             this text\n"
    "\n"
    "Not there yet: kernels that need the host while they run (printf, malloc).\n"
    "\n"
    "exit status: 0 ok; 1 memory differs, an address is taken, the kernel does not fit or end, or "
    "the\n"
    "one of --hsaco or compare crashes, the gate failed; 2 usage; 3 not a capture, not complete "
    "or\n"
    "damaged; 4 environment; 5 the replay crashed otherwise; 6 with --gate: undecided\n";

enum {
    MOST_STARTS = 4 + RP_STEP_CHANGES + RP_STEP_VARIATIONS,
    MOST_RUNS = 1000000,
    LEAST_BLOCKS = 10,
    MOST_BLOCKS = 200,
    MOST_GPUS = 8
};

struct options {
    const char *folder;
    const char *iterations, *warmup;
    const char *hsaco;   /**< "": the captured one */
    const char *other;   /**< of compare; NULL: none */
    const char *compare; /**< NULL: not said */
    const char *blocks, *margin;
    const char *inputs; /**< NULL: not said */
    const char *timing; /**< NULL: not said */
    char cache, gate;   /**< letters for the child; '-': not said */
    bool stateful, verify, json, has_device;
    bool full_vm_only, compare_only, runs; /* options were given that are for runs, or for those */
    struct rp_run_options run;
    char target[128];            /* the GPU of the capture, where the software device can be it */
    unsigned gpus;               /**< of the capture */
    char other_gpu[192];         /**< of the capture, where the software device cannot be it */
    const char *captured_timing; /**< of the software device; "": unknown. Static */
};

static int check_number(const char *option, const char *word, long least, long most,
                        struct rp_err *err)
{
    char *end;
    long value = strtol(word, &end, 10);

    if (word[0] < '0' || word[0] > '9' || *end || value < least || value > most)
        return rp_fail(err, RP_USAGE, "%s %s: use a whole number from %ld to %ld", option, word,
                       least, most);
    return 0;
}

static int take_margin(const char *word, struct rp_err *err)
{
    char *end;
    const double percent = strtod(word, &end);

    if (word[0] < '0' || word[0] > '9' || *end || !(percent <= 100))
        return rp_fail(err, RP_USAGE, "--margin %s: use per cent, from 0 to 100", word);
    return 0;
}

static int take_compare_option(int c, struct options *o, struct rp_err *err)
{
    o->compare_only = true;
    switch (c) {
    case 'b':
        o->blocks = optarg;
        return check_number("--blocks", optarg, LEAST_BLOCKS, MOST_BLOCKS, err);
    case 'm':
        o->margin = optarg;
        return take_margin(optarg, err);
    default:
        o->gate = strcmp(optarg, "faster") == 0 ? 'f' : 'n';
        return o->gate == 'f' || strcmp(optarg, "not-slower") == 0
                   ? 0
                   : rp_fail(err, RP_USAGE, "--gate %s: use faster or not-slower", optarg);
    }
}

static int take_cache(struct options *o, struct rp_err *err)
{
    o->cache = optarg[0];
    return strcmp(optarg, "warm") == 0 || strcmp(optarg, "cold") == 0
               ? 0
               : rp_fail(err, RP_USAGE, "--cache %s: use warm or cold", optarg);
}

static int take_option(int c, struct options *o, struct rp_err *err)
{
    struct rp_inputs_rule inputs;
    struct rp_compare_rule rule;

    o->full_vm_only = o->full_vm_only || strchr("nwsvH", c);
    o->runs = o->runs || strchr("nwsvHCki", c);
    switch (c) {
    case 'b':
    case 'm':
    case 'g':
        return take_compare_option(c, o, err);
    case 'k':
        return take_cache(o, err);
    case 'i':
        o->inputs = optarg;
        return rp_inputs_parse(optarg, RP_EXACT, &inputs, err);
    case 'c':
        o->folder = optarg;
        return *optarg ? 0 : rp_fail(err, RP_USAGE, "--capture-dir needs the name of a folder");
    case 'n':
        o->iterations = optarg;
        return check_number("--iterations", optarg, 1, MOST_RUNS, err);
    case 'w':
        o->warmup = optarg;
        return check_number("--warmup", optarg, 0, MOST_RUNS, err);
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
    case 't':
        o->timing = optarg;
        return rp_cli_timing(optarg, &o->run, err);
    default:
        o->has_device = true;
        return rp_device_parse(optarg, &o->run, err);
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
        {"cache", required_argument, NULL, 'k'},
        {"inputs", required_argument, NULL, 'i'},
        {"blocks", required_argument, NULL, 'b'},
        {"margin", required_argument, NULL, 'm'},
        {"gate", required_argument, NULL, 'g'},
        {"json", no_argument, NULL, 'j'},
        {"device", required_argument, NULL, 'd'},
        {"timing", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct rp_err err = RP_ERR_INIT;
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
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

/* What is tried with memory that is not the captured one. */
struct attempt {
    bool probe, no_poison;
    unsigned changes_left_out, inputs_left_out; /* of the ways to probe, and of other inputs */
    bool last;                                  /* a range that is taken is the end */
    int step_fd;
    struct rp_replay_progress *watch;
    int text_fd; /* where text for people goes first; -1: JSON goes where it belongs */
};

static int start(const struct rp_environment *env, const struct options *o, const char *action,
                 const struct attempt *attempt, struct rp_proc_end *ret, struct rp_err *err)
{
    const struct rp_replay_child child = {
        .options = {.action = strcmp(action, "compare") == 0         ? RP_REPLAY_COMPARE
                              : strcmp(action, "reserve-check") == 0 ? RP_REPLAY_RESERVE_CHECK
                                                                     : RP_REPLAY_FULL_VM,
                    .capture_dir = o->folder,
                    .iterations = strtoul(o->other ? o->blocks : o->iterations, NULL, 10),
                    .warmup = strtoul(o->warmup, NULL, 10),
                    .no_recopy = o->stateful,
                    .verify = o->verify,
                    .hsaco = o->hsaco,
                    .other = o->other,
                    .compare = o->compare,
                    .inputs = o->inputs ? o->inputs : "auto",
                    .cache = o->cache == 'w'   ? RP_CACHE_WARM
                             : o->cache == 'c' ? RP_CACHE_COLD
                                               : RP_CACHE_AS_IS,
                    .margin = strtod(o->margin, NULL),
                    .gate = o->gate == 'f'   ? RP_GATE_FASTER
                            : o->gate == 'n' ? RP_GATE_NOT_SLOWER
                                             : RP_GATE_NONE,
                    .json = o->json,
                    .modelled = o->run.device == RP_DEVICE_SOFTWARE,
                    .may_retry = !attempt->last,
                    .probe = attempt->probe,
                    .no_poison = attempt->no_poison,
                    .changes_left_out = attempt->changes_left_out,
                    .inputs_left_out = attempt->inputs_left_out,
                    .step_fd = attempt->step_fd},
        .stdout_fd = attempt->text_fd,
        .stderr_fd = attempt->watch->stderr_fd,
        .waiting = rp_replay_progress_look,
        .context = attempt->watch};
    int rc = rp_replay_child_run(env, &o->run, &child, ret, err);

    rp_replay_progress_end(attempt->watch);
    return rc;
}

/* One way of changing memory does not cost what others show. */
static bool leave_out(struct attempt *attempt, unsigned way)
{
    if (!attempt->changes_left_out || way >= RP_STEP_CHANGES_ALIKE) {
        rp_cli_note("the replay did not come to its end with memory changed in one of the ways to "
                    "see what the captured kernel writes; once more without that way");
        attempt->changes_left_out |= 1u << way;
        return true;
    }
    rp_cli_note("the replay did not come to its end with memory changed to see what the captured "
                "kernel writes; once more without: results that were there before the dispatch "
                "already may not be told from new ones");
    attempt->changes_left_out |= (1u << RP_STEP_CHANGES_ALIKE) - 1;
    return true;
}

/* Memory that is not the captured one can make a kernel run astray. @return whether to start
 * again */
static bool without(struct attempt *attempt, const struct rp_proc_end *end)
{
    char step = RP_STEP_REST;

    if (!end->signaled && end->status != RP_REPLAY_NO_PROBE)
        return false;
    if (attempt->step_fd >= 0 && pread(attempt->step_fd, &step, 1, 0) < 0)
        return false;
    if (step >= RP_STEP_CHANGE && step < RP_STEP_CHANGE + RP_STEP_CHANGES && attempt->probe)
        return leave_out(attempt, (unsigned)(step - RP_STEP_CHANGE));
    if (step == RP_STEP_PROBE && !attempt->no_poison) {
        rp_cli_note("the captured kernel does not come to its end with poison where its results "
                    "belong; once more without: results that are right there before are not told "
                    "from new ones");
        attempt->no_poison = true;
        return true;
    }
    if (step >= RP_STEP_VARY && step < RP_STEP_VARY + RP_STEP_VARIATIONS &&
        !(attempt->inputs_left_out >> (step - RP_STEP_VARY) & 1)) {
        rp_cli_note("the captured kernel does not come to its end %s; once more without: a kernel "
                    "that is right with the captured ones only may not be found out",
                    rp_variation_how((enum rp_variation)(step - RP_STEP_VARY)));
        attempt->inputs_left_out |= 1u << (step - RP_STEP_VARY);
        return true;
    }
    return false;
}

/* What a kernel does ends a process so, and not who wants it to end. */
static bool is_crash(int signal)
{
    return signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
           signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS;
}

static int how_it_ended(const struct options *o, const struct attempt *attempt,
                        const struct rp_proc_end *end)
{
    char steps[] = {RP_STEP_REST, RP_STEP_KERNEL_NONE};
    char which = RP_STEP_KERNEL_NONE;

    if (!end->signaled)
        return end->status;
    if (is_crash(end->status) && attempt->step_fd >= 0 &&
        pread(attempt->step_fd, steps, sizeof steps, 0) == sizeof steps)
        which = steps[RP_STEP_KERNEL_AT];
    if (which == RP_STEP_KERNEL_A || which == RP_STEP_KERNEL_B) {
        rp_cli_note("%sthe kernel of %s crashed: it was ended by signal %d with %s, with which the "
                    "captured kernel comes to its end%s",
                    !o->other                   ? ""
                    : which == RP_STEP_KERNEL_A ? "A: "
                                                : "B: ",
                    which == RP_STEP_KERNEL_A ? o->hsaco : o->other, end->status,
                    steps[0] == RP_STEP_OTHER ? "other inputs than the captured ones"
                                              : "the captured inputs",
                    steps[0] == RP_STEP_OTHER ? "; --inputs none leaves them out" : "");
        return RP_VERDICT;
    }
    rp_cli_note("the replay of %s was ended by signal %d", o->folder, end->status);
    return RP_PROGRAM;
}

/* @return RP_OK or RP_ENVIRONMENT */
static int show(int text_fd)
{
    rp_autobuf lines = {0}, text = {0};
    struct rp_err err = RP_ERR_INIT;

    if (rp_replay_read_text(text_fd, &lines, &err) < 0)
        return rp_cli_error(&err);
    rp_replay_put_text(rp_buf_text(&lines), rp_cli_style(), &text);
    if (text.failed)
        return rp_cli_error(&(struct rp_err){.code = RP_ENVIRONMENT, .text = "out of memory"});
    return rp_cli_result(rp_buf_text(&text));
}

static int run(const struct rp_environment *env, const struct options *o, const char *action)
{
    /* The child has it as well. */
    rp_autoclose int step_fd = rp_memfd("step", 0);
    rp_autoclose int text_fd = o->json ? -1 : rp_memfd("text", MFD_CLOEXEC);
    struct attempt attempt = {.probe = o->hsaco[0], .step_fd = step_fd, .text_fd = text_fd};
    struct rp_proc_end end = {0};
    struct rp_err err = RP_ERR_INIT;
    int code;

    if (!o->json && text_fd < 0) {
        rp_fail_errno(&err, RP_ENVIRONMENT, errno, "no memory for a file");
        return rp_cli_error(&err);
    }

    for (unsigned i = 0; i < MOST_STARTS; i++) {
        struct rp_replay_progress watch = rp_replay_progress_begin(step_fd);

        attempt.watch = &watch;
        attempt.last = i + 1 == MOST_STARTS;
        if (start(env, o, action, &attempt, &end, &err) < 0)
            return rp_cli_error(&err);
        if (!without(&attempt, &end) && (end.signaled || end.status != RP_REPLAY_AGAIN))
            break;
    }
    code = text_fd < 0 ? RP_OK : show(text_fd);
    return code == RP_OK ? how_it_ended(o, &attempt, &end) : code;
}

/* How many software GPUs there were, as far as the capture names them: they have the nodes 1, 2 and
 * so on (src/device/driver). Other ones may have any. */
static unsigned count_gpus(const struct rp_capture *capture)
{
    const struct rp_capture_facts *facts = rp_capture_get_facts(capture);
    size_t count;
    const struct rp_capture_memory *memory = rp_capture_get_memory(capture, &count);
    uint32_t last = facts->dispatch.node;

    for (size_t i = 0; i < count; i++) {
        const struct rp_snapshot_region *region = &memory[i].region;

        if (!(region->flags & RP_MEMORY_HOST) && region->node != UINT32_MAX && region->node > last)
            last = region->node;
    }
    return facts->software && last >= 1 && last <= MOST_GPUS ? last : 1;
}

/* Captures of the software device replay there, and the software device is the GPU that was
 * captured, unless something else is asked for. */
static int choose_device(struct options *o, struct rp_err *err)
{
    const struct rp_capture_facts *facts;
    struct rp_capture *capture;
    int rc = rp_capture_open(o->folder, &capture, err);

    if (rc == 0) {
        rc = rp_capture_check_small_files(o->folder, err);
        if (rc < 0)
            rp_capture_close(capture);
    }
    if (rc < 0)
        return rc;
    facts = rp_capture_get_facts(capture);
    if (!o->has_device && facts->software)
        o->run.device = RP_DEVICE_SOFTWARE;
    if (rp_arch_spec(facts->isa, facts->product, o->target, sizeof o->target) == 0)
        o->run.usual_target = o->target;
    else if (facts->software)
        snprintf(o->other_gpu, sizeof o->other_gpu, "%s%s%s", facts->isa,
                 *facts->product ? " " : "", facts->product);
    o->captured_timing = facts->timing;
    o->gpus = count_gpus(capture);
    rp_capture_close(capture);
    return 0;
}

/* Times as they were found in the program, unless the user says how. */
static int choose_timing(struct options *o, const char *action, struct rp_err *err)
{
    const char *word = o->captured_timing;

    if (o->run.timing != RP_TIMING_UNSAID || !*word || strcmp(action, "reserve-check") == 0)
        return 0;
    if (strcmp(word, "off") == 0 && o->other) {
        rp_cli_note(
            "the capture was made with --timing off, which gives compare no times: it takes "
            "--timing fast");
        word = "fast";
    } else if (strcmp(word, "off") == 0) {
        rp_cli_note("not timed, as the capture was made with --timing off; --timing fast gives "
                    "times");
    } else if (strcmp(word, "detailed") == 0 && !rp_software_gpu(&o->run).timing) {
        rp_cli_note("the capture was made with --timing detailed, which there is not of this "
                    "device: times are those of --timing fast");
        word = "fast";
    }
    return rp_cli_timing(word, &o->run, err);
}

/* What the user has not said is as it was when the capture was made. */
static int choose_software(struct options *o, const char *action, struct rp_err *err)
{
    if (o->run.device != RP_DEVICE_SOFTWARE)
        return 0;
    if (!o->run.target && *o->other_gpu)
        rp_cli_note("the software device cannot be what the capture was made on (%s); it is "
                    "replayed on its default, or say --device software:TARGET",
                    o->other_gpu);
    if (!o->run.gpus && o->gpus != 1)
        o->run.gpus = o->gpus;
    return choose_timing(o, action, err);
}

/* What does not go together. @return RP_OK or RP_USAGE */
static int check_options(const char *action, const struct options *o)
{
    if (strcmp(action, "reserve-check") == 0 && (o->runs || o->compare_only))
        return rp_cli_usage_error("replay", "reserve-check runs nothing: no such option");
    if (strcmp(action, "compare") == 0 && o->full_vm_only)
        return rp_cli_usage_error("replay", "compare has no such option");
    if (strcmp(action, "full-vm") == 0 && o->compare_only)
        return rp_cli_usage_error("replay", "--blocks, --margin and --gate are for compare");
    if (o->compare && !o->hsaco[0])
        return rp_cli_usage_error("replay", "--compare is for --hsaco");
    if (o->inputs && !o->hsaco[0])
        return rp_cli_usage_error("replay", "--inputs is for --hsaco");
    if (o->timing && strcmp(action, "reserve-check") == 0)
        return rp_cli_usage_error("replay", "reserve-check runs nothing: no such option");
    if (o->timing && strcmp(o->timing, "off") == 0 && o->other)
        return rp_cli_usage_error("replay", "compare needs times: leave out --timing off");
    if (o->stateful && o->hsaco[0])
        return rp_cli_usage_error("replay", "with --hsaco memory is always restored: leave out "
                                            "--no-recopy");
    return RP_OK;
}

/* Words that are no options. */
static int take_words(char **words, int count, const char *action, struct options *o)
{
    const int wanted = strcmp(action, "compare") == 0 ? 2 : 0;

    if (count > wanted)
        return rp_cli_usage_error("replay", "%s is not understood", words[wanted]);
    if (count < wanted)
        return rp_cli_usage_error("replay", "compare needs two code objects: A.hsaco B.hsaco");
    if (wanted) {
        o->hsaco = words[0];
        o->other = words[1];
        if (!words[0][0] || !words[1][0])
            return rp_cli_usage_error("replay", "compare needs two code objects: A.hsaco B.hsaco");
    }
    return RP_OK;
}

static const char *action_of(const char *word)
{
    static const char *const actions[] = {"full-vm", "compare", "reserve-check"};

    for (size_t i = 0; word && i < sizeof actions / sizeof *actions; i++)
        if (strcmp(word, actions[i]) == 0)
            return actions[i];
    return NULL;
}

int rp_cmd_replay(int argc, char **argv)
{
    struct options o = {.folder = "isolate_capture",
                        .iterations = "1",
                        .warmup = "0",
                        .blocks = "40",
                        .margin = "1",
                        .cache = '-',
                        .gate = '-',
                        .hsaco = ""};
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;
    const char *action = action_of(argc > 1 ? argv[1] : NULL);
    const int skip = action != NULL;
    int code;

    if (parse(argc - skip, argv + skip, &o, &code) < 0)
        return code;
    if (!action)
        return rp_cli_usage_error("replay", "say full-vm, compare or reserve-check");
    code = take_words(argv + skip + optind, argc - skip - optind, action, &o);
    if (code == RP_OK)
        code = check_options(action, &o);
    if (code != RP_OK)
        return code;
    if (choose_device(&o, &err) < 0 || rp_environment_detect(&env, &err) < 0 ||
        rp_device_resolve(&env, &o.run, &err) < 0 || choose_software(&o, action, &err) < 0)
        return rp_cli_error(&err);
    return run(&env, &o, action);
}
