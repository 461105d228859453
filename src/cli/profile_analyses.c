/* Runs the program again for counters, rooflines and thread traces. The plan of counters says which
 * ones are collected in which run. A run (pass) never asks for more than the blocks of the GPU can
 * count at once. Counters of one group belong to one formula and stay in one pass where they fit.
 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/bottleneck.h"
#include "analyze/dag.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/profile_session.h"
#include "report/finding_text.h"
#include "trace/counter_set.h"

struct rp_counter_request {
    const char *name; /**< as rocprofv3 knows it: "TCC_HIT_sum", "FETCH_SIZE" */
    unsigned group;
};

struct rp_counter_pass {
    char **names; /**< NULL-terminated */
    size_t count;
};

/** Release it with counter_plan_free. */
struct rp_counter_plan {
    struct rp_counter_pass *passes;
    size_t count;
};

/* MAX_INPUTS is how many counters the hardware reads in one pass at most, all blocks together. */
enum { MAX_INPUTS = 64, MAX_NAME = 64 };

/* This is what the hardware must read for some counters, each input once. */
struct load {
    struct input {
        char name[MAX_NAME];
        const struct rp_counter_block *block;
        uint32_t slots;
    } inputs[MAX_INPUTS];
    size_t count;
    bool unknown; /**< inputs that nobody here knows: nothing else may join */
};

/* --- inputs of a counter ------------------------------------------------------------------- */

static const struct {
    const char *name, *families, *inputs;
} derived[] = {
#define DERIVED(name, families, inputs) {name, families, inputs},
#include "run/counter_inputs.def"
#undef DERIVED
};

static bool is_word_of(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static const char *inputs_of(const struct rp_arch *arch, const char *name)
{
    for (size_t i = 0; arch->derived_counters && i < sizeof derived / sizeof *derived; i++)
        if (strcmp(derived[i].name, name) == 0 &&
            is_word_of(derived[i].families, arch->derived_counters))
            return derived[i].inputs;
    return NULL;
}

/* "TCC_HIT_sum" is made from TCC_HIT, and "NAME:device=0" from NAME. */
static size_t base_length(const char *name)
{
    static const char *const endings[] = {"_sum", "_max", "_min", "_avr"};
    size_t length = strcspn(name, ":[ *");

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strncmp(name + length - n, endings[i], n) == 0)
            return length - n;
    }
    return length;
}

/* Adds an input.
 * @return false: it does not fit into the struct, or the block is unknown */
static bool add_input(const struct rp_arch *arch, struct load *load, const char *name,
                      uint32_t slots)
{
    struct input input = {.slots = slots};
    size_t length = base_length(name);

    if (length >= sizeof input.name || load->count == MAX_INPUTS)
        return false;
    memcpy(input.name, name, length);
    input.block = rp_arch_counter_block(arch, input.name);
    if (!input.block)
        return false;
    for (size_t i = 0; i < load->count; i++)
        if (strcmp(load->inputs[i].name, input.name) == 0) {
            if (load->inputs[i].slots < slots)
                load->inputs[i].slots = slots;
            return true;
        }
    load->inputs[load->count++] = input;
    return true;
}

static void add_counter(const struct rp_arch *arch, struct load *load, const char *name)
{
    const char *inputs = arch ? inputs_of(arch, name) : NULL;

    if (!arch)
        load->unknown = true;
    else if (!inputs)
        load->unknown |= !add_input(arch, load, name, 1);
    for (; inputs && *inputs && !load->unknown; inputs += strspn(inputs, " ")) {
        size_t length = strcspn(inputs, " ");
        bool twice = length > 2 && memcmp(inputs + length - 2, "*2", 2) == 0;

        load->unknown = !add_input(arch, load, inputs, twice ? 2 : 1);
        inputs += length;
    }
}

/* --- passes -------------------------------------------------------------------------------- */

static const char *pool_of(const struct rp_counter_block *block)
{
    return block->shares ? block->shares : block->name;
}

static const struct rp_counter_block *overfull(const struct load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        const struct rp_counter_block *block = load->inputs[i].block;
        uint32_t used = 0;

        for (size_t j = 0; j < load->count; j++)
            if (strcmp(pool_of(load->inputs[j].block), pool_of(block)) == 0)
                used += load->inputs[j].slots;
        if (used > block->counters)
            return block;
    }
    return NULL;
}

static void load_of(const struct rp_arch *arch, const struct rp_counter_pass *pass,
                    struct load *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < pass->count; i++)
        add_counter(arch, ret, pass->names[i]);
}

static bool fits(const struct rp_arch *arch, const struct rp_counter_pass *pass,
                 const struct rp_counter_request *wishes, size_t count)
{
    struct load load;

    load_of(arch, pass, &load);
    for (size_t i = 0; i < count; i++)
        add_counter(arch, &load, wishes[i].name);
    return load.unknown ? pass->count + count <= 1 : !overfull(&load);
}

static void append(struct rp_counter_pass *pass, const char *name)
{
    pass->names = rp_realloc_array(pass->names, pass->count + 2, sizeof *pass->names);
    pass->names[pass->count++] = rp_strdup(name);
    pass->names[pass->count] = NULL;
}

static void new_pass(struct rp_counter_plan *plan)
{
    plan->passes = rp_realloc_array(plan->passes, plan->count + 1, sizeof *plan->passes);
    memset(&plan->passes[plan->count++], 0, sizeof *plan->passes);
}

/* Puts the counters into the first pass that has room for all of them, or a new one. */
static void place(const struct rp_arch *arch, struct rp_counter_plan *plan,
                  const struct rp_counter_request *wishes, size_t count)
{
    size_t at = 0;

    while (at < plan->count && !fits(arch, &plan->passes[at], wishes, count))
        at++;
    if (at == plan->count)
        new_pass(plan);
    for (size_t i = 0; i < count; i++)
        append(&plan->passes[at], wishes[i].name);
}

/* --- the plan ------------------------------------------------------------------------------ */

static int check_name(const struct rp_arch *arch, const char *name, struct rp_err *err)
{
    static const struct rp_counter_pass empty;
    struct rp_counter_request wish = {.name = name};
    struct load load = {0};
    size_t length = 0;

    while (isalnum((unsigned char)name[length]) || (name[length] && strchr("_:=[]", name[length])))
        length++;
    if (length == 0 || name[length] || length >= MAX_NAME)
        return rp_fail(err, RP_USAGE, "'%s' is not the name of a hardware counter", name);
    if (fits(arch, &empty, &wish, 1))
        return 0;
    load_of(arch, &empty, &load);
    add_counter(arch, &load, name);
    return rp_fail(err, RP_USAGE,
                   "%s needs more counters of the block %s than the %u that %s reads at a time",
                   name, overfull(&load)->name, overfull(&load)->counters, arch->name);
}

/* Removes the counters that were asked for before. */
static size_t unique(const struct rp_counter_request *wishes, size_t count,
                     struct rp_counter_request *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < kept && !known; j++)
            known = strcmp(ret[j].name, wishes[i].name) == 0;
        if (!known)
            ret[kept++] = wishes[i];
    }
    return kept;
}

/**
 * @param gfx "gfx942"; every counter of an unknown GPU gets a pass of its own, and so does a
 * derived counter whose inputs are not known
 * @return 0; RP_USAGE for a name that cannot be one, or a counter that no pass can hold
 */
static int counter_plan_make(const char *gfx, const struct rp_counter_request *wishes, size_t count,
                             struct rp_counter_plan *ret, struct rp_err *err)
{
    const struct rp_arch *arch = rp_arch_find(gfx);
    static const struct rp_counter_pass empty;
    rp_autofree struct rp_counter_request *all = rp_alloc_zero(count + 1, sizeof *all);
    struct rp_counter_plan plan = {0};
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_name(arch, wishes[i].name, err);
    count = rc == 0 ? unique(wishes, count, all) : 0;
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && all[i + n].group == all[i].group; n++)
            ;
        if (fits(arch, &empty, &all[i], n)) {
            place(arch, &plan, &all[i], n);
            continue;
        }
        for (size_t j = 0; j < n; j++)
            place(arch, &plan, &all[i + j], 1);
    }
    if (rc == 0)
        *ret = plan;
    return rc;
}

/** Makes two passes of one with two or more counters, when the tracer says that it is too much. */
static void counter_plan_split(struct rp_counter_plan *plan, size_t at)
{
    struct rp_counter_pass *pass, *last;

    new_pass(plan);
    pass = &plan->passes[at];
    last = &plan->passes[plan->count - 1];
    for (size_t i = pass->count / 2; i < pass->count; i++) {
        append(last, pass->names[i]);
        free(pass->names[i]);
        pass->names[i] = NULL;
    }
    pass->count /= 2;
}

static void counter_plan_free(struct rp_counter_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        for (size_t j = 0; j < plan->passes[i].count; j++)
            free(plan->passes[i].names[j]);
        free(plan->passes[i].names);
    }
    free(plan->passes);
    memset(plan, 0, sizeof *plan);
}

/* The program's output was shown in the base run, so it is dropped. */
static int open_nowhere(void)
{
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* --- counters ------------------------------------------------------------------------------ */

static const char *traced_gpu(const struct rp_profile_session *session)
{
    const struct rp_profile *p = session->profile;

    return p->agent_count ? p->agents[p->kernel_count ? p->kernels[0].agent : 0].name : "";
}

static int plan_counters(const struct rp_profile_cli *options,
                         const struct rp_profile_session *session, struct rp_counter_plan *ret,
                         struct rp_err *err)
{
    enum { MOST_NEEDS = 128 };
    struct rp_roofline_need needs[MOST_NEEDS];
    struct rp_counter_request wishes[MOST_NEEDS + RP_MAX_PMC];
    bool roofline = options->roofline || options->deep_analysis;
    size_t count = roofline ? rp_roofline_needs(traced_gpu(session), needs, MOST_NEEDS) : 0;

    /* The group numbers of rooflines are far smaller, so that no number is used twice. */
    if (options->deep_analysis)
        count +=
            rp_bottleneck_needs(traced_gpu(session), MOST_NEEDS, needs + count, MOST_NEEDS - count);
    for (size_t i = 0; i < count; i++)
        wishes[i] = (struct rp_counter_request){.name = needs[i].name, .group = needs[i].group};
    for (size_t i = 0; i < options->counters.count; i++)
        wishes[count + i] = (struct rp_counter_request){.name = options->counters.at[i],
                                                        .group = (unsigned)(2 * MOST_NEEDS + i)};
    return counter_plan_make(traced_gpu(session), wishes, count + options->counters.count, ret,
                             err);
}

/* Reads the counters of a run with all of its processes. */
static int read_run(const struct rp_run *run, struct rp_counters **ret, struct rp_err *err)
{
    struct rp_store **stores;
    int rc = rp_profile_open_stores(run, &stores, err);

    if (rc < 0)
        return rc;
    rc = rp_roofline_run_counters(stores, run->db_count, ret, err);
    rp_profile_close_stores(stores, run->db_count);
    return rc;
}

/* The base run is a result by itself, so that this one's end is told without keeping what it left.
 */
static int further_run_failed(const struct rp_profile_cli *options,
                              const struct rp_profile_session *session, const struct rp_run *run,
                              const char *where, struct rp_err *err)
{
    rp_autofree char *how = rp_profile_end_text(options, session, run);

    return rp_fail(err, RP_PROGRAM, "%s %s in %s", options->args.operands[0], how, where);
}

static int run_pass(const struct rp_profile_cli *options, struct rp_profile_session *session,
                    const struct rp_counter_plan *plan, size_t at, double left_s,
                    struct rp_run *ret, struct rp_err *err)
{
    rp_autofree char *prefix = rp_format("pass-%zu", at + 1);
    rp_autofree char *what = rp_format("counters, pass %zu of %zu", at + 1, plan->count);
    const struct rp_profile_step step = {.folder = "counters",
                                         .prefix = prefix,
                                         .what = what,
                                         .left_s = left_s,
                                         .counters = (const char *const *)plan->passes[at].names,
                                         .stdout_fd = open_nowhere()};
    int rc = rp_profile_run(options, session, &step, ret, err);

    if (rc == 0 && !session->interrupted && !ret->too_much && rp_profile_ended_badly(options, ret))
        rc = further_run_failed(options, session, ret, what, err);
    return rc;
}

/* A run after the base run has failed. What it left says nothing. */
static bool is_lost(const struct rp_profile_session *session, int rc)
{
    return !session->interrupted &&
           (rc == -RP_PROGRAM || rc == -RP_ENVIRONMENT || rc == -RP_BAD_INPUT);
}

/* Takes what is known of the failure out of the error: the result goes on without.
 * @return the reason, which the caller frees */
static char *lose(const struct rp_run *run, const char *what, struct rp_err *err)
{
    char *why = rp_strdup(err->text);

    rp_cli_note("warning: %s failed, the result is without: %s", what, why);
    for (size_t i = 0; i < run->db_count; i++)
        unlink(run->db_paths[i]);
    if (run->thread_trace)
        rp_remove_tree(run->thread_trace);
    *err = (struct rp_err)RP_ERR_INIT;
    return why;
}

/* Takes the pass's counters. The base run's dispatches, which have the times, come first. */
static int take_pass(struct rp_profile_session *session, const struct rp_run *run,
                     struct rp_err *err)
{
    struct rp_inputs in = {.counters = session->counters, .notes = rp_cli_notes()};
    struct rp_counters *set;
    int rc = 0;

    if (!in.counters)
        rc = rp_roofline_run_counters(session->stores, session->store_count, &in.counters, err);
    session->counters = in.counters;
    if (rc == 0)
        rc = read_run(run, &set, err);
    if (rc == 0)
        rc = rp_inputs_add_counters(&in, set, err);
    return rc;
}

/* A pass takes about as long as those before it. The first one takes as long as the runs without
 * counters. */
static double passes_left_s(const struct rp_profile_session *session,
                            const struct rp_counter_plan *plan, size_t done, double done_ms)
{
    double all_ms = done_ms;

    for (size_t i = 0; !done && i < session->run_count; i++)
        all_ms += session->wall_ms[i];
    return all_ms / 1e3 / (double)(done ? done : session->run_count) * (double)(plan->count - done);
}

/* What was recorded before stays as it is; of the run that was cut short nothing does. */
static void stop_further(const struct rp_profile_session *session, const struct rp_run *run,
                         const char *what)
{
    rp_cli_note("interrupted by SIG%s in %s: the result is of the runs before",
                rp_signal_abbreviation(session->interrupted), what);
    for (size_t i = 0; i < run->db_count; i++)
        unlink(run->db_paths[i]);
    if (run->thread_trace)
        rp_remove_tree(run->thread_trace);
}

/* A pass that the GPU refuses is halved. A single counter that is refused is left out with a
 * message. If it is the very first thing tried, the others would fare no better. */
static int count_all(const struct rp_profile_cli *options, struct rp_profile_session *session,
                     struct rp_counter_plan *plan, struct rp_err *err)
{
    double done_ms = 0;

    for (size_t i = 0; i < plan->count;) {
        rp_cleanup(rp_run_free) struct rp_run run = {0};
        int rc = run_pass(options, session, plan, i, passes_left_s(session, plan, i, done_ms), &run,
                          err);

        if (rc == 0 && session->interrupted) {
            stop_further(session, &run, "a run that counts");
            session->roofline_reason = "it was interrupted before its counters were complete";
            return 0;
        }
        if (rc == 0 && !run.too_much)
            rc = take_pass(session, &run, err);
        else if (rc == 0 && plan->passes[i].count > 1) {
            counter_plan_split(plan, i);
            i--;
        } else if (rc == 0) {
            rp_cli_note("warning: the GPU cannot count %s", plan->passes[i].names[0]);
            if (session->counter_passes == 0) {
                session->roofline_reason =
                    "the GPU refuses hardware counters, as virtual functions do";
                return 0;
            }
        }
        if (is_lost(session, rc)) {
            session->counters_lost = lose(&run, "a run that counts", err);
            session->roofline_reason = session->counters_lost;
            return 0;
        }
        if (rc < 0)
            return rc;
        session->counter_passes += !run.too_much;
        done_ms += run.too_much ? 0 : (double)run.end.wall_ns / 1e6;
        i++;
    }
    return 0;
}

static int collect_counters(const struct rp_profile_cli *options,
                            struct rp_profile_session *session, struct rp_err *err)
{
    rp_cleanup(counter_plan_free) struct rp_counter_plan plan = {0};
    int rc;

    if (rp_device_counts(session)) { /* The base run has counted already. */
        rc = rp_roofline_run_counters(session->stores, session->store_count, &session->counters,
                                      err);
        if (rc == 0)
            rp_warn_of_missing_counters(options, session);
        return rc;
    }
    if (!session->tracer->count) {
        session->roofline_reason =
            "the built-in tracer cannot read hardware counters: they need rocprofv3";
        return 0;
    }
    if (session->interrupted) {
        session->roofline_reason = "its counters take further runs, and it was interrupted";
        return 0;
    }
    rc = plan_counters(options, session, &plan, err);
    return rc < 0 ? rc : count_all(options, session, &plan, err);
}

static int make_roofline(struct rp_profile_session *session, const struct rp_result_request *wish,
                         struct rp_err *err)
{
    struct rp_inputs in = {.stores = session->stores,
                           .store_count = session->store_count,
                           .counters = session->counters,
                           .notes = rp_cli_notes()};
    int rc;

    if (!session->counters || session->counters_lost)
        return 0;
    rp_buf_puts(&session->summary, wish->print == RP_RESULT_TERMINAL ? "\n" : "");
    rc = rp_make_roofline(&in, &session->roof.roof, &session->roofline, err);
    if (rc == 0)
        rc = rp_put_roofline(&session->roofline, wish, &session->summary, err);
    session->has_roofline = rc == 0;
    return rc;
}

/* Shows what was counted and what is made of it. The counters themselves are shown where somebody
 * asked for them. */
static int show_counters(const struct rp_profile_cli *options, struct rp_profile_session *session,
                         struct rp_err *err)
{
    rp_cleanup(rp_roofline_free) struct rp_roofline made = {0};
    rp_autobuf text = {0};
    int rc = 0;

    if (!session->has_roofline)
        rc = rp_roofline_compute(session->counters, &session->roof.roof, &made, err);
    if (rc == 0)
        rc = rp_report_counters_term(session->has_roofline ? &session->roofline : &made,
                                     options->counters.count > 0, rp_cli_style(), &text, err);
    if (rc == 0 && text.len)
        rp_buf_printf(&session->summary, "\n%s", rp_buf_text(&text));
    return rc;
}

/* --- graph --------------------------------------------------------------------------------- */

/* Traces whose times cannot be compared, as those of several processes on the software device, have
 * no graph. That does not spoil the profile. */
static int make_graph(struct rp_profile_session *session, const struct rp_result_request *wish,
                      bool shown, struct rp_note_sink notes, struct rp_dag_result *graph,
                      bool *ret_has_graph, struct rp_err *err)
{
    struct rp_result_request request = *wish;
    struct rp_inputs base = {
        .stores = session->stores, .store_count = session->store_count, .notes = notes};
    rp_autobuf text = {0};
    int rc = rp_make_dag(&base, wish->full, graph, err);

    if (!shown && wish->print == RP_RESULT_TERMINAL)
        request.print = RP_RESULT_SILENT;
    if (rc == 0)
        rc = rp_put_dag(graph, &request, &text, err);
    if (rc < 0 && rc != -RP_BAD_INPUT)
        return rc;
    *ret_has_graph = rc == 0;
    if (rc < 0 && wish->print == RP_RESULT_TERMINAL) {
        rp_buf_puts(&text, "No graph: ");
        rp_escape(&text, err->text);
        rp_buf_puts(&text, ".\n");
    } else if (rc < 0) {
        rp_note(&notes, "warning: no graph: %s", err->text);
    }
    if (rc < 0)
        *err = (struct rp_err)RP_ERR_INIT;
    if (text.len)
        rp_buf_printf(&session->summary, "\n%s", rp_buf_text(&text));
    return 0;
}

/* --- thread trace -------------------------------------------------------------------------- */

enum { MOST_TRACED = 8 };

/* Lists the user's kernels that take a fiftieth of the runtime or more, and the longest in any
 * case. The list ends with NULL. */
static void choose_traced(const struct rp_profile *profile, const char *ret[MOST_TRACED + 1])
{
    const double least_share = 0.02;
    size_t count = 0;

    ret[count++] = profile->kernels[0].name;
    for (size_t i = 1; i < profile->kernel_count && count < MOST_TRACED; i++) {
        const struct rp_kernel_summary *k = &profile->kernels[i];

        if (!k->runtime_internal && k->share >= least_share)
            ret[count++] = k->name;
    }
    ret[count] = NULL;
}

/* Makes a regular expression of exactly these names, as they are in the program. */
static char *exact_regex(const char *const *names)
{
    rp_autobuf text = {0};

    for (size_t i = 0; names[i]; i++) {
        const char *name = names[i], *end = name + rp_kernel_plain_length(name);

        rp_buf_puts(&text, i ? "|^" : "^");
        for (; name < end; name++)
            rp_buf_printf(&text, "%s%c", strchr("\\^$.|?*+()[]{}", *name) ? "\\" : "", *name);
        rp_buf_puts(&text, "$");
    }
    return rp_buf_steal(&text);
}

static const char interrupted_threads[] = "it takes a further run, and this one was interrupted";

/* Names files as they will be after the commit: "DIR/.partial-7/..." becomes "DIR/...". */
static void name_as_committed(const struct rp_profile_session *session, char *text)
{
    const char *component = session->dir.partial + strlen(session->dir.path);
    size_t length = strlen(component);

    for (char *at = text; text && (at = strstr(at, component));)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* A thread trace that cannot be read does not spoil the profile. */
static int read_threads(struct rp_profile_session *session, const struct rp_run *run,
                        const struct rp_result_request *wish, struct rp_err *err)
{
    struct rp_inputs in = {0};
    int rc = rp_thread_trace_open(run->thread_trace, &session->waves, err);

    if (rc == 0)
        rc = rp_thread_traces_name(&session->waves, session->stores, session->store_count, err);

    if (rc == -RP_BAD_INPUT) {
        name_as_committed(session, err->text);
        rp_cli_note("warning: thread trace: %s", err->text);
        *err = (struct rp_err)RP_ERR_INIT;
        session->no_threads_reason = "what was recorded cannot be read";
        return 0;
    }
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < session->waves.count; i++) {
        struct rp_thread_trace *trace = &session->waves.traces[i];

        if (trace->completeness == RP_ATT_NOTHING && run->decoder_said &&
            !rp_att_problem(trace, false, "decoder", "%s", run->decoder_said))
            return rp_out_of_memory(err);
        name_as_committed(session, trace->path);
        for (size_t j = 0; j < trace->problem_count; j++) {
            name_as_committed(session, trace->problems[j].file);
            name_as_committed(session, trace->problems[j].text);
        }
    }
    in.waves = session->waves;
    rp_buf_puts(&session->summary, wish->print == RP_RESULT_TERMINAL ? "\n" : "");
    if (wish->print == RP_RESULT_TERMINAL && session->run.device == RP_DEVICE_SOFTWARE &&
        !session->tracer->count && rp_timing_in_force(&session->run) < RP_TIMING_DETAILED)
        rp_buf_puts(&session->summary,
                    "Thread traces need detailed timing: they are of a further run that has it, "
                    "and\ntheir cycles are not those of the times above.\n");
    return rp_put_thread_trace(&in, wish, &session->summary, err);
}

/* The message may only blame options that were given. */
static const char *no_trace(const struct rp_profile_session *session, const struct rp_run *run)
{
    const char *why =
        run->threads_elsewhere
            ? "the chosen launches ran on other GPUs than those of --att-gpu-index"
        : session->threads.kernels && session->threads.iterations
            ? "no launch was chosen: no kernel that ran matches --kernel-include-regex and was "
              "launched as often as --kernel-iteration-range says"
        : session->threads.kernels
            ? "no launch was chosen: no kernel that ran matches --kernel-include-regex"
        : session->threads.iterations
            ? "no launch was chosen: the kernel was not launched as often as "
              "--kernel-iteration-range says"
            : "the run with the thread trace left none of the kernel";
    if (session->tracer->count) /* rocprofv3 does not say how many. */
        why = session->threads.gpus
                  ? "rocprofv3 wrote none; --att-gpu-index may leave out the GPU of the kernel"
              : session->threads.kernels
                  ? "rocprofv3 wrote none; --kernel-include-regex may match no kernel that ran"
                  : "rocprofv3 wrote none";
    return why;
}

static int trace_threads(const struct rp_profile_cli *options, struct rp_profile_session *session,
                         const struct rp_result_request *wish, struct rp_err *err)
{
    struct rp_thread_trace_options threads = session->threads;
    rp_cleanup(rp_run_free) struct rp_run run = {0};
    const char *names[MOST_TRACED + 1];
    rp_autofree char *regex = NULL;
    rp_autofree const char **symbols = NULL;
    struct rp_profile_step step = {
        .folder = "thread-trace", .prefix = "att", .what = "thread trace", .threads = &threads};
    int rc = 0;

    choose_traced(session->profile, names);
    regex = exact_regex(names);
    if (!session->tracer->count) /* rocprofv3 matches names itself. */
        rc = rp_kernel_symbols(session, threads.kernels, names, &symbols, err);
    if (rc < 0)
        return rc;
    threads.symbols = symbols;
    if (!threads.kernels)
        threads.kernels = regex;
    step.stdout_fd = open_nowhere();
    rc = rp_profile_run(options, session, &step, &run, err);
    if (rc == 0 && session->interrupted) {
        stop_further(session, &run, "the run with a thread trace");
        session->no_threads_reason = interrupted_threads;
        return 0;
    }
    if (rc == 0 && rp_profile_ended_badly(options, &run))
        rc = further_run_failed(options, session, &run, "the thread trace", err);
    if (is_lost(session, rc)) {
        session->threads_lost = lose(&run, "the run with a thread trace", err);
        session->no_threads_reason = session->threads_lost;
        return 0;
    }
    if (rc == 0 && !run.thread_trace)
        session->no_threads_reason = no_trace(session, &run);
    else if (rc == 0)
        rc = read_threads(session, &run, wish, err);
    return rc;
}

static int deep(const struct rp_profile_cli *options, struct rp_profile_session *session,
                const struct rp_result_request *wish, struct rp_err *err)
{
    if (session->interrupted) {
        session->no_threads_reason = interrupted_threads;
        return 0;
    }
    if (session->threads_lost) /* It was foreseen. */
        return 0;
    if (session->tracer->count) /* Only rocprofv3 has counters and thread traces. */
        return trace_threads(options, session, wish, err);
    if (session->run.device != RP_DEVICE_SOFTWARE)
        session->no_threads_reason =
            "the built-in tracer cannot trace threads: that needs rocprofv3";
    else if (!rp_software_gpu(&session->run).timing)
        session->no_threads_reason =
            "it follows from detailed timing, which there is not for this target";
    else
        return trace_threads(options, session, wish, err);
    return 0;
}

static int put_verdict(const struct rp_bottlenecks *found, struct rp_buf *to, struct rp_err *err)
{
    struct rp_finding_texts texts;

    if (rp_finding_texts_make(found, &texts, err) < 0)
        return -(int)RP_ENVIRONMENT;
    rp_finding_put_program(&texts, to);
    rp_finding_texts_free(&texts);
    return 0;
}

/* Finds which kernel to look at first, from everything that was learned. */
static int rank(struct rp_profile_session *session, const struct rp_dag_result *dag,
                const struct rp_result_request *wish, struct rp_buf *summary, struct rp_err *err)
{
    struct rp_inputs in = {.stores = session->stores,
                           .store_count = session->store_count,
                           .counters = session->counters,
                           .waves = session->waves,
                           .notes = rp_cli_notes()};
    struct rp_ranking_from from = {.dag = dag,
                                   .roofline = session->has_roofline ? &session->roofline : NULL};
    rp_cleanup(rp_ranking_free) struct rp_ranking ranking = {0};
    int rc = rp_make_ranking(&in, &from, &ranking, err);

    rp_buf_puts(summary, wish->print == RP_RESULT_TERMINAL ? "\n" : "");
    if (rc == 0)
        rc = put_verdict(&ranking.found, &session->verdict, err);
    return rc < 0 ? rc : rp_put_ranking(&ranking, 0, wish, summary, err);
}

/* --- without being asked for ----------------------------------------------------------------- */

/** What the files are made of that nobody has asked for. */
struct unasked {
    struct rp_counters *own; /**< NULL: nothing was kept, or those of the session are used */
    struct rp_roofline roofline;
    const char *reason; /**< static: why there are no counters; NULL: there are some */
};

static void free_unasked(struct unasked *u)
{
    rp_roofline_free(&u->roofline);
    rp_counters_free(u->own);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Counters stand in the set as those of a database would. */
static int add_kept_names(struct rp_counters *set, const struct rp_kept_counters *kept,
                          struct rp_err *err)
{
    const size_t count = kept->names.count;
    rp_autofree char **sorted = rp_alloc_zero(count + 1, sizeof *sorted);
    uint32_t at;
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = kept->names.items[i];
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = rp_counters_name(set, sorted[i], &at, err);
    return rc;
}

/* The set has the dispatches in the order of the databases, and so are the values. */
static int add_kept(struct rp_counters *set, const struct rp_kept_counters *kept,
                    struct rp_err *err)
{
    const struct rp_kept_value *at = kept->values.items, *end = at + kept->values.count;
    int rc = add_kept_names(set, kept, err);

    for (size_t i = 0; rc == 0 && i < set->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &set->dispatches[i];

        for (; rc == 0 && at < end && d->process >> 32 == at->database && d->id == at->dispatch;
             at++)
            rc = rp_counters_add(set, i, kept->names.items[at->name], at->value, err);
    }
    set->is_timeline = set->name_count == 0;
    return rc;
}

static int read_kept(const struct rp_profile_session *session, struct unasked *u,
                     struct rp_err *err)
{
    int rc = rp_roofline_run_counters(session->stores, session->store_count, &u->own, err);

    if (rc < 0)
        return rc;
    if (session->profile->dispatches > RP_MOST_KEPT_LAUNCHES)
        u->reason = "the program has made more than 50000 launches: profile --roofline counts all "
                    "of them";
    else if (session->kept.values.count)
        return add_kept(u->own, &session->kept, err);
    else if (session->roofline_reason)
        u->reason = session->roofline_reason;
    else if (session->tracer->count)
        u->reason = "hardware counters take further runs of the program: profile --roofline makes "
                    "them";
    else
        u->reason = "nothing was counted: profile --roofline says why";
    return 0;
}

/* Counters of --pmc may be those of a roofline. */
static int compute_unasked_roofline(const struct rp_profile_cli *options,
                                    const struct rp_profile_session *session, struct unasked *u,
                                    struct rp_err *err)
{
    struct rp_inputs in = {.stores = session->stores, .store_count = session->store_count};
    int rc = 0;

    if (!session->counters || session->kept.values.count)
        rc = read_kept(session, u, err);
    in.counters = u->own ? u->own : session->counters;
    if (rc == 0)
        rc = rp_make_roofline(&in, &session->roof.roof, &u->roofline, err);
    if (rc == 0 && u->reason && u->roofline.reason) {
        free(u->roofline.reason);
        u->roofline.reason = rp_strdup(u->reason);
    }
    if (rc == 0 && options->memory_gbps > 0 && u->roofline.reason)
        rp_cli_note("warning: --memory-bandwidth-gbps changes nothing: %s", u->roofline.reason);
    if (rc == 0 && options->ceilings && u->roofline.reason)
        rp_cli_note("warning: --ceilings changes nothing: %s", u->roofline.reason);
    return rc;
}

/* A file that nobody has asked for costs no profile: what was recorded is good. */
static void go_without(struct rp_profile_session *session, const char *file, struct rp_err *err)
{
    name_as_committed(session, err->text);
    rp_cli_note("warning: the profile has no %s: %s", file, err->text);
    *err = (struct rp_err)RP_ERR_INIT;
}

/* Where it cannot be made, the file says why. */
static void make_unasked_roofline(const struct rp_profile_cli *options,
                                  struct rp_profile_session *session, struct unasked *u,
                                  const struct rp_result_request *wish, struct rp_err *err)
{
    rp_autobuf text = {0};

    if (compute_unasked_roofline(options, session, u, err) < 0) {
        char *reason;

        name_as_committed(session, err->text);
        reason = rp_strdup(err->text);
        go_without(session, "roofline", err);
        rp_roofline_free(&u->roofline);
        u->roofline = (struct rp_roofline){.reason = reason};
        u->reason = "its computation failed";
    }
    if (rp_put_roofline(&u->roofline, wish, &text, err) < 0)
        go_without(session, "roofline.json", err);
}

static int rank_unasked(const struct rp_profile_session *session, const struct unasked *u,
                        const struct rp_dag_result *dag, const struct rp_result_request *wish,
                        struct rp_err *err)
{
    struct rp_inputs in = {.stores = session->stores,
                           .store_count = session->store_count,
                           .counters = u->own && !u->reason ? u->own : session->counters};
    const struct rp_roofline *roofline = session->has_roofline ? &session->roofline
                                         : u->roofline.reason  ? NULL
                                                               : &u->roofline;
    const struct rp_ranking_from from = {.dag = dag, .roofline = roofline};
    rp_cleanup(rp_ranking_free) struct rp_ranking ranking = {0};
    rp_autobuf text = {0};
    int rc = rp_make_ranking(&in, &from, &ranking, err);

    return rc < 0 ? rc : rp_put_ranking(&ranking, 0, wish, &text, err);
}

/* Writes the files that no option has asked for. They are made of the base run alone, and nothing
 * is said of them. */
static void complete(const struct rp_profile_cli *options, struct rp_profile_session *session,
                     struct rp_dag_result *graph, bool has_graph, struct rp_err *err)
{
    const struct rp_result_request wish = {.print = RP_RESULT_SILENT,
                                           .folder = session->dir.partial};
    rp_cleanup(free_unasked) struct unasked u = {0};

    if (!options->focus_critical && !options->deep_analysis &&
        make_graph(session, &wish, false, (struct rp_note_sink){0}, graph, &has_graph, err) < 0)
        go_without(session, "dag.json", err);
    if (!session->has_roofline)
        make_unasked_roofline(options, session, &u, &wish, err);
    if (!options->deep_analysis &&
        rank_unasked(session, &u, has_graph ? graph : NULL, &wish, err) < 0)
        go_without(session, "analysis.json", err);
}

/* --- all ----------------------------------------------------------------------------------- */

int rp_profile_analyses(const struct rp_profile_cli *options, struct rp_profile_session *session,
                        struct rp_err *err)
{
    struct rp_result_request wish = {
        .print = options->json || options->quiet ? RP_RESULT_SILENT : RP_RESULT_TERMINAL,
        .folder = session->dir.partial,
        .verbose = options->verbose,
    };
    /* A verdict is made of all of them, and says what matters. */
    const struct rp_result_request silent = {.print = RP_RESULT_SILENT, .folder = wish.folder};
    const bool all = options->verbose;
    bool has_graph = false;
    bool roofline = options->roofline || options->deep_analysis;
    rp_cleanup(rp_dag_result_free) struct rp_dag_result graph = {0};
    int rc = 0;

    if (options->focus_critical || options->deep_analysis)
        rc = make_graph(session, &wish, options->focus_critical || all, rp_cli_notes(), &graph,
                        &has_graph, err);
    if (rc == 0 && (roofline || options->counters.count))
        rc = collect_counters(options, session, err);
    if (rc == 0 && roofline)
        rc = make_roofline(session, options->roofline || all ? &wish : &silent, err);
    if (rc == 0 && options->deep_analysis)
        rc = deep(options, session, all ? &wish : &silent, err);
    if (rc == 0 && roofline && !session->has_roofline && session->roofline_reason &&
        wish.print == RP_RESULT_TERMINAL)
        rp_buf_printf(&session->summary, "\nNo roofline: %s.\n", session->roofline_reason);
    if (rc == 0 && session->no_threads_reason && wish.print == RP_RESULT_TERMINAL)
        rp_buf_printf(&session->summary, "\nNo thread trace: %s.\n", session->no_threads_reason);
    if (rc == 0 && options->deep_analysis)
        rc = rank(session, has_graph ? &graph : NULL, &wish, &session->summary, err);
    if (rc == 0 && session->counters && wish.print == RP_RESULT_TERMINAL &&
        (all || options->counters.count || options->roofline))
        rc = show_counters(options, session, err);
    if (rc == 0 && !options->wallclock)
        complete(options, session, &graph, has_graph, err);
    return rc;
}
