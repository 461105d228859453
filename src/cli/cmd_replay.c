#include <errno.h>
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
#include "cli/options.h"
#include "cli/replay_child.h"
#include "cli/result_text.h"
#include "replay/page_changes.h"
#include "replay/replay_protocol.h"
#include "run/machine.h"
#include "trace/capture.h"

enum { MOST_STARTS = 4 + RP_STEP_CHANGES + RP_STEP_VARIATIONS, MOST_GPUS = 8 };

struct options {
    struct rp_replay_cli args;
    const char *action;
    const char *hsaco; /**< of --hsaco, or A of compare; "": the captured one */
    const char *other; /**< B of compare; NULL: none */
    struct rp_run_options run;
    char target[128];            /* the GPU of the capture, where the software device can be it */
    unsigned gpus;               /**< of the capture */
    char other_gpu[192];         /**< of the capture, where the software device cannot be it */
    const char *captured_timing; /**< of the software device; "": unknown. Static */
};

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

static int start(const struct rp_environment *env, const struct options *o,
                 const struct attempt *attempt, struct rp_proc_end *ret, struct rp_err *err)
{
    const struct rp_replay_child child = {
        .options = {.action = o->other                                  ? RP_REPLAY_COMPARE
                              : strcmp(o->action, "reserve-check") == 0 ? RP_REPLAY_RESERVE_CHECK
                                                                        : RP_REPLAY_FULL_VM,
                    .capture_dir = o->args.capture_dir,
                    .iterations = o->other ? o->args.blocks : o->args.iterations,
                    .warmup = o->args.warmup,
                    .no_recopy = o->args.no_recopy,
                    .verify = o->args.verify,
                    .hsaco = o->hsaco,
                    .other = o->other,
                    .compare = o->args.compare,
                    .inputs = o->args.inputs ? o->args.inputs : "auto",
                    .cache = (enum rp_cache)(o->args.cache + 1),
                    .margin = o->args.margin_percent,
                    .gate = (enum rp_gate)(o->args.gate + 1),
                    .json = o->args.json,
                    .timing = o->run.device == RP_DEVICE_SOFTWARE
                                  ? rp_timing_word(o->run.timing ? o->run.timing : RP_TIMING_FAST)
                                  : NULL,
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
                    rp_variations[step - RP_STEP_VARY].how);
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
    rp_cli_note("the replay of %s was ended by signal %d", o->args.capture_dir, end->status);
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
    return rp_cli_result(rp_buf_text(&text));
}

static int run(const struct rp_environment *env, const struct options *o)
{
    /* The child has it as well. */
    rp_autoclose int step_fd = rp_memfd("step", 0);
    rp_autoclose int text_fd = o->args.json ? -1 : rp_memfd("text", MFD_CLOEXEC);
    struct attempt attempt = {.probe = o->hsaco[0], .step_fd = step_fd, .text_fd = text_fd};
    struct rp_proc_end end = {0};
    struct rp_err err = RP_ERR_INIT;
    int code;

    if (!o->args.json && text_fd < 0) {
        rp_fail_errno(&err, RP_ENVIRONMENT, errno, "no memory for a file");
        return rp_cli_error(&err);
    }

    for (unsigned i = 0; i < MOST_STARTS; i++) {
        struct rp_replay_progress watch = rp_replay_progress_begin(step_fd);

        attempt.watch = &watch;
        attempt.last = i + 1 == MOST_STARTS;
        if (start(env, o, &attempt, &end, &err) < 0)
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
    const struct rp_capture_facts *facts = &rp_capture_contents(capture)->facts;
    size_t count = rp_capture_contents(capture)->memory_count;
    const struct rp_capture_memory *memory = rp_capture_contents(capture)->memory;
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
    int rc = rp_capture_open(o->args.capture_dir, &capture, err);

    if (rc == 0) {
        rc = rp_capture_check_small_files(o->args.capture_dir, err);
        if (rc < 0)
            rp_capture_close(capture);
    }
    if (rc < 0)
        return rc;
    facts = &rp_capture_contents(capture)->facts;
    if (!o->args.device && facts->software)
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
static void choose_timing(struct options *o)
{
    const char *word = o->captured_timing;

    if (o->run.timing != RP_TIMING_UNSAID || !*word || strcmp(o->action, "reserve-check") == 0)
        return;
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
    o->run.timing = rp_timing_parse(word);
}

/* What the user has not said is as it was when the capture was made. */
static void choose_software(struct options *o)
{
    if (o->run.device != RP_DEVICE_SOFTWARE)
        return;
    if (!o->run.target && *o->other_gpu)
        rp_cli_note("the software device cannot be what the capture was made on (%s); it is "
                    "replayed on its default, or say --device software:TARGET",
                    o->other_gpu);
    if (!o->run.gpus && o->gpus != 1)
        o->run.gpus = o->gpus;
    choose_timing(o);
}

/* Words that are no options. */
static int take_words(struct options *o, struct rp_err *err)
{
    const struct rp_args *args = &o->args.args;
    const size_t wanted = strcmp(o->action, "compare") == 0 ? 2 : 0;

    o->hsaco = o->args.hsaco ? o->args.hsaco : "";
    if (args->operand_count > wanted)
        return rp_fail(err, RP_USAGE, "%s is not understood", args->operands[wanted]);
    if (args->operand_count < wanted || (wanted && !(*args->operands[0] && *args->operands[1])))
        return rp_fail(err, RP_USAGE, "compare needs two code objects: A.hsaco B.hsaco");
    if (wanted) {
        o->hsaco = args->operands[0];
        o->other = args->operands[1];
    }
    return 0;
}

int rp_cmd_replay(int argc, char **argv)
{
    struct options o = {0};
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;
    int code;

    if (!rp_options_parse(RP_COMMAND_replay, argc, argv, &o.args, &code))
        return code;
    o.action = o.args.args.action;
    if (take_words(&o, &err) < 0)
        return rp_args_refuse(&o.args.args, &err);
    rp_device_options_read(o.args.device, 0, 0, o.args.timing, &o.run);
    if (choose_device(&o, &err) < 0 || rp_environment_detect(&env, &err) < 0 ||
        rp_device_resolve(&env, &o.run, &err) < 0)
        return rp_cli_error(&err);
    choose_software(&o);
    return run(&env, &o);
}
