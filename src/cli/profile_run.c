/* Runs the program for `rocm-perf profile`: which counters of the software device are asked for,
 * which kernels it launches, and what a run that fails leaves. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/bottleneck.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/profile_session.h"
#include "run/device_thread_trace.h"
#include "run/kernel_names.h"
#include "trace/counter_set.h"

bool rp_device_counts(const struct rp_profile_session *session)
{
    return session->run.device == RP_DEVICE_SOFTWARE && session->tracer && !session->tracer->count;
}

/* --- the list ------------------------------------------------------------------------------ */

int rp_list_device_counters(void)
{
    size_t count;
    const struct rp_device_counter_row *rows = rp_device_counter_rows(&count);
    rp_autobuf text = {0};

    rp_buf_puts(&text,
                "Hardware counters of the software device. exact: counted as instructions execute; "
                "caches: from\na model of caches and LDS, of what sampled workgroups access; time: "
                "from modelled time; waves:\nwith --timing detailed only, from the replay of "
                "sampled workgroups. Those of TA, TD, TCP and TCC\nmay be given as NAME_sum, "
                "too.\n\n");
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind != RP_COUNTER_NONE)
            rp_buf_printf(&text, "%-34s %-6s  %s\n", rows[i].name,
                          rp_device_counter_kind_name(rows[i].kind), rows[i].text);
    rp_buf_puts(&text, "\nIt does not have:\n\n");
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == RP_COUNTER_NONE)
            rp_buf_printf(&text, "%-34s %s\n", rows[i].name, rows[i].text);
    return rp_cli_result(rp_buf_text(&text));
}

/* --- what is asked for ---------------------------------------------------------------------- */

static bool is_counted(const struct rp_profile_session *session,
                       const struct rp_device_counter_row *row)
{
    return row->kind == RP_COUNTER_WAVES ? rp_timing_in_force(&session->run) >= RP_TIMING_DETAILED
                                         : row->kind != RP_COUNTER_NONE;
}

int rp_check_device_counters(const struct rp_profile_cli *options,
                             const struct rp_profile_session *session, struct rp_err *err)
{
    for (size_t i = 0; i < options->counters.count; i++) {
        const char *name = options->counters.at[i];
        const struct rp_device_counter_row *row = rp_device_counter_find(name);
        const char *nearest = row ? NULL : rp_device_counter_nearest(name);

        if (row && is_counted(session, row))
            continue;
        if (row && row->kind == RP_COUNTER_WAVES)
            return rp_fail(err, RP_USAGE,
                           "--pmc %s: the software device counts it with --timing detailed only, "
                           "which follows waves through time",
                           name);
        if (row)
            return rp_fail(err, RP_USAGE,
                           "--pmc %s: the software device cannot count it: %s (--list-counters "
                           "lists what it can)",
                           name, row->text);
        return rp_fail(err, RP_USAGE,
                       "--pmc %s: the software device has no such counter%s%s%s; --list-counters "
                       "lists them",
                       name, nearest ? ", did you mean " : "", nearest ? nearest : "",
                       nearest ? "?" : "");
    }
    return 0;
}

static void add(const struct rp_profile_session *session, struct rp_buf *names, const char *name)
{
    const struct rp_device_counter_row *row = rp_device_counter_find(name);

    if (row && is_counted(session, row)) /* Some counters that a roofline needs may be missing. */
        rp_buf_printf(names, "%s%s", names->len ? "," : "", name);
}

/* Lists what --pmc and the results need, with commas. */
static void list_asked(const struct rp_profile_cli *options,
                       const struct rp_profile_session *session, struct rp_buf *names)
{
    enum { MOST_NEEDS = 128 };
    struct rp_roofline_need needs[MOST_NEEDS];
    const struct rp_arch gpu = rp_software_gpu(&session->run);
    size_t count = 0;

    if (options->roofline || options->deep_analysis)
        count = rp_roofline_needs(gpu.name, needs, MOST_NEEDS);
    if (options->deep_analysis)
        count += rp_bottleneck_needs(gpu.name, MOST_NEEDS, needs + count, MOST_NEEDS - count);
    for (size_t i = 0; i < count; i++)
        add(session, names, needs[i].name);
    for (size_t i = 0; i < options->counters.count; i++)
        add(session, names, options->counters.at[i]);
}

bool rp_keeps_counters(const struct rp_profile_cli *options,
                       const struct rp_profile_session *session)
{
    return !options->roofline && !options->deep_analysis && rp_device_counts(session);
}

/* Lists what the rooflines need and costs little: the counters of caches follow from detailed
 * timing, and with counts timing take far longer than the program. */
static void list_kept(const struct rp_profile_cli *options,
                      const struct rp_profile_session *session, struct rp_buf *names)
{
    enum { MOST_NEEDS = 128 };
    struct rp_roofline_need needs[MOST_NEEDS];
    const size_t count = rp_roofline_needs(rp_software_gpu(&session->run).name, needs, MOST_NEEDS);
    const bool detailed = rp_timing_in_force(&session->run) >= RP_TIMING_DETAILED;

    for (size_t i = 0; i < count; i++) {
        const struct rp_device_counter_row *row = rp_device_counter_find(needs[i].name);

        if (row && (detailed || row->kind != RP_COUNTER_CACHES))
            add(session, names, needs[i].name);
    }
    if (names->len && !options->counters.count)
        rp_buf_printf(names, ",%d", RP_MOST_KEPT_LAUNCHES);
}

char *rp_asked_device_counters(const struct rp_profile_cli *options,
                               const struct rp_profile_session *session)
{
    struct rp_buf names = {0};

    list_asked(options, session, &names);
    if (rp_keeps_counters(options, session))
        list_kept(options, session, &names);
    return names.len ? rp_buf_steal(&names) : NULL;
}

/* --- what is missing ------------------------------------------------------------------------ */

/* Finds the first of a kind, and how many there are. A launch has all of them or none. @p names is
 * cut into pieces. */
static const char *first_of(enum rp_device_counter_kind kind, char *names, size_t *ret_count)
{
    const char *first = NULL;
    char *rest = names;

    *ret_count = 0;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        const struct rp_device_counter_row *row = rp_device_counter_find(name);

        if (!row || row->kind != kind)
            continue;
        first = first ? first : name;
        ++*ret_count;
    }
    return first;
}

static bool has_counter(const struct rp_counters *set, const struct rp_counted_dispatch *d,
                        const char *name)
{
    double value;

    for (uint32_t i = 0; i < set->name_count; i++)
        if (strcmp(set->names[i], name) == 0)
            return rp_counters_value(d, i, &value);
    return false;
}

static void warn_of_missing(const struct rp_profile_cli *options,
                            const struct rp_profile_session *session,
                            enum rp_device_counter_kind kind)
{
    const bool caches = kind == RP_COUNTER_CACHES;
    const struct rp_counters *set = session->counters;
    rp_autofree uint64_t *lacking = rp_alloc_zero(set->kernel_count + 1, sizeof *lacking);
    rp_autobuf names = {0}, others = {0}, more = {0};
    size_t asked = 0, kernels = 0, first = 0;
    const char *name;

    list_asked(options, session, &names);
    name = names.len ? first_of(kind, names.data, &asked) : NULL;
    for (size_t i = 0; name && i < set->dispatch_count; i++)
        if (!has_counter(set, &set->dispatches[i], name))
            lacking[set->dispatches[i].kernel]++;
    for (size_t k = set->kernel_count; k-- > 0;)
        if (lacking[k]) {
            first = k;
            kernels++;
        }
    if (!kernels)
        return;
    if (asked > 1)
        rp_buf_printf(&others, " and %zu other counters of %s", asked - 1,
                      caches ? "caches and LDS" : "waves");
    if (kernels > 1)
        rp_buf_printf(&more, " and of %zu other kernels", kernels - 1);
    rp_cli_note("warning: %s%s are missing for %llu launch%s of %s%s: %s", name,
                rp_buf_text(&others), (unsigned long long)lacking[first],
                lacking[first] > 1 ? "es" : "", set->kernels[first], rp_buf_text(&more),
                caches ? "of what their sampled workgroups access too little was recorded "
                         "(--list-counters: caches), or their dies do unlike work"
                       : "their dies do unlike work");
}

void rp_warn_of_missing_counters(const struct rp_profile_cli *options,
                                 const struct rp_profile_session *session)
{
    warn_of_missing(options, session, RP_COUNTER_CACHES);
    warn_of_missing(options, session, RP_COUNTER_WAVES);
}

struct search {
    struct rp_kernel_pattern *pattern; /**< NULL: by name */
    const char *const *names;
    const char **found;
    size_t count;
};

static bool fits(const struct search *s, const struct rp_row_kernel *kernel)
{
    if (s->pattern)
        return rp_kernel_pattern_finds(s->pattern, kernel->plain_name, kernel->kernel_name);
    for (const char *const *name = s->names; *name; name++)
        if (strcmp(kernel->display_name, *name) == 0 || strcmp(kernel->plain_name, *name) == 0 ||
            strcmp(kernel->kernel_name, *name) == 0)
            return true;
    return false;
}

static int add_found(struct search *s, struct rp_store *store, struct rp_err *err)
{
    const struct rp_row_kernel *kernels;
    size_t count;
    int rc = rp_store_kernels(store, &kernels, &count, err);

    if (rc < 0)
        return rc;
    s->found = rp_realloc_array(s->found, s->count + count + 1, sizeof *s->found);
    for (size_t i = 0; i < count; i++)
        if (fits(s, &kernels[i]))
            s->found[s->count++] = kernels[i].kernel_name;
    s->found[s->count] = NULL;
    return 0;
}

int rp_kernel_symbols(const struct rp_profile_session *session, const char *regex,
                      const char *const *names, const char ***ret, struct rp_err *err)
{
    struct search s = {.names = names};
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0};
    int rc = regex ? rp_kernel_pattern_compile("--kernel-include-regex", regex, &pattern, err) : 0;

    if (rc < 0)
        return rc;
    s.pattern = regex ? &pattern : NULL;
    s.found = rp_alloc_zero(1, sizeof *s.found);
    for (size_t i = 0; i < session->store_count && rc == 0; i++)
        rc = add_found(&s, session->stores[i], err);
    if (rc < 0)
        free(s.found);
    else
        *ret = s.found;
    return rc;
}

static void warn(struct rp_profile_session *session, const struct rp_run *run)
{
    for (size_t i = 0; i < run->warning_count; i++) {
        bool known = false;

        for (size_t j = 0; j < session->warning_count && !known; j++)
            known = strcmp(session->warnings[j], run->warnings[i]) == 0;
        if (known)
            continue;
        session->warnings = rp_realloc_array(session->warnings, session->warning_count + 1,
                                             sizeof *session->warnings);
        session->warnings[session->warning_count++] = rp_strdup(run->warnings[i]);
        rp_cli_note("warning: %s", run->warnings[i]);
    }
}

/*
 * The raw log goes to stderr whatever the run's result is, because it is needed most when the run
 * failed. The lines that ROCr prints at the end of every run (device/driver/libc_hooks.c) are shown
 * once.
 */
static void show_log(const struct rp_profile_cli *options, struct rp_profile_session *session,
                     const char *dir)
{
    static const char leak[] = "Warning: Resource leak detected by ";
    rp_autofree char *path = options->debug ? rp_path_join(dir, "tracer.log") : NULL;
    rp_autofree char *text = path ? rp_read_text(path, SIZE_MAX / 2) : NULL;

    for (const char *line = text, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        if (strncmp(line, leak, sizeof leak - 1) == 0) {
            if (session->leak_shown)
                continue;
            session->leak_shown = true;
        }
        fwrite(line, 1, (size_t)(end - line), stderr);
    }
}

static int trace(const struct rp_profile_session *session, const struct rp_profile_step *step,
                 const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err)
{
    const struct rp_tracer *tracer = session->tracer;

    return !tracer          ? rp_run_program(request, ret, err)
           : step->counters ? tracer->count(request, step->counters, ret, err)
           : step->threads  ? tracer->trace_threads(request, step->threads, ret, err)
                            : tracer->trace(request, ret, err);
}

struct rp_recording_window rp_profile_window(const struct rp_profile_cli *options)
{
    return (struct rp_recording_window){.delay_ns = (int64_t)(options->delay_s * 1e9),
                                        .duration_ns = (int64_t)(options->duration_s * 1e9),
                                        .start_paused = options->start_paused};
}

int rp_profile_run(const struct rp_profile_cli *options, struct rp_profile_session *session,
                   const struct rp_profile_step *step, struct rp_run *ret, struct rp_err *err)
{
    rp_autofree char *dir = step->folder ? rp_path_join(session->dir.partial, step->folder)
                                         : rp_strdup(session->dir.partial);
    struct rp_run_options run = session->run;
    const struct rp_run_request request = {
        .env = &session->env,
        .options = &run,
        .argv = options->args.operands,
        .pid = (int)options->pid,
        .traced = !options->wallclock,
        .log = options->debug,
        .survives_signals = true,
        .run_id = session->run_id,
        .ranks = session->ranks,
        .window = rp_profile_window(options),
        .out_dir = dir,
        .db_prefix = step->prefix,
        .stdout_fd = step->stdout_fd,
        .timeout_ns = (int64_t)(options->timeout_s * 1e9),
        .kept = step->kept,
    };
    int rc = rp_mkdirs(dir, err);

    if (step->device_counters)
        run.counters = step->device_counters;
    run.call_sites = step->call_sites;
    if (rc == 0 && !options->quiet)
        rp_progress_say("profile", step->what, step->left_s);
    if (rc == 0)
        rc = rp_kept_input_begin(&session->input, err);
    if (rc == 0) {
        rc = trace(session, step, &request, ret, err);
        if (step->shows_log && session->tracer && !session->tracer->shows_log)
            show_log(options, session, dir);
    }
    if (step->stdout_fd > 0)
        close(step->stdout_fd);
    if (rc < 0)
        return rc;
    if (options->pid) /* That is how recording ends. */
        ret->end.interrupted = 0;
    session->interrupted = ret->end.interrupted;
    rc = rp_kept_input_end(&session->input, err);
    if (rc < 0)
        rp_run_free(ret);
    else
        warn(session, ret);
    return rc;
}

int rp_profile_open_stores(const struct rp_run *run, struct rp_store ***ret, struct rp_err *err)
{
    struct rp_store **stores = rp_alloc_zero(run->db_count + 1, sizeof *stores);

    for (size_t i = 0; i < run->db_count; i++) {
        int rc = rp_store_open(run->db_paths[i], &stores[i], err);
        if (rc < 0) {
            while (i--)
                rp_store_close(stores[i]);
            free(stores);
            return rc;
        }
    }
    int rc = rp_store_tell_apart(stores, run->db_count, NULL, err);

    if (rc == 0)
        rc = rp_clip_late_ends(stores, run->db_count, err);
    if (rc < 0) {
        rp_profile_close_stores(stores, run->db_count);
        return rc;
    }
    *ret = stores;
    return 0;
}

void rp_profile_close_stores(struct rp_store **stores, size_t count)
{
    for (size_t i = 0; stores && i < count; i++)
        rp_store_close(stores[i]);
    free(stores);
}

bool rp_profile_ended_badly(const struct rp_profile_cli *options, const struct rp_run *run)
{
    /* Who was asked to end may do so in its way. */
    return !run->window_over &&
           (run->end.signaled || (uint64_t)run->end.status != options->expected_status);
}

char *rp_profile_end_text(const struct rp_profile_cli *options,
                          const struct rp_profile_session *session, const struct rp_run *run)
{
    /* Only rocprofv3 shows its log itself. */
    bool foreign = session->tracer && session->tracer->shows_log;

    if (run->end.timed_out)
        return rp_format("did not end within %g s (--timeout)%s", options->timeout_s,
                         foreign ? ", or rocprofv3 hung (--tracer builtin would tell)," : "");
    if (run->end.hung)
        return rp_format("hung under rocprofv3 and was killed");
    if (run->end.signaled && run->end.status == SIGXFSZ)
        return rp_format("wrote a file beyond the limit on their size (ulimit -f), which killed it "
                         "(SIGXFSZ),");
    if (run->end.signaled)
        return rp_format("was killed by signal %d (%s)", run->end.status,
                         strsignal(run->end.status));
    if (run->end.status == 128 + SIGXFSZ)
        return rp_format("exited with status %d: a process of it wrote a file beyond the limit on "
                         "their size (ulimit -f),",
                         run->end.status);
    if (options->expected_status)
        return rp_format("exited with status %d instead of %d", run->end.status,
                         (int)options->expected_status);
    return rp_format("exited with status %d", run->end.status);
}

/* Without HIP there is no ROCr, and so nothing that writes a trace. */
const char *rp_profile_without_hip(const struct rp_profile_session *session,
                                   const struct rp_run *run)
{
    if (!session->tracer || session->tracer->shows_log || run->db_count > 0)
        return "";
    return session->env.rocm_kind == RP_ROCM_PRIVATE ? ": it did not load HIP (libamdhip64); if it "
                                                       "loads HIP while it runs, as a plug-in, "
                                                       "install ROCm 7 or 10"
                                                     : ": it did not load HIP (libamdhip64)";
}

int rp_profile_session_failed(const struct rp_profile_cli *options,
                              struct rp_profile_session *session, const struct rp_run *run,
                              const char *where, struct rp_err *err)
{
    rp_autofree char *how = rp_profile_end_text(options, session, run);
    bool kept = session->run_count > 1 || run->db_count > 0;

    if (kept && rp_result_folder_keep_failed(&session->dir, err) < 0)
        return -(int)err->code;
    return rp_fail(err, RP_PROGRAM, "%s %s in %s%s%s%s%s%s", options->args.operands[0], how, where,
                   !kept && !run->end.signaled && !run->end.timed_out
                       ? rp_profile_without_hip(session, run)
                       : "",
                   kept ? "; what it recorded until then is in " : "",
                   kept ? session->dir.path : "", kept ? "/failed" : "",
                   /* It writes when the program exits, and some releases crash then. */
                   kept && run->trace_is_whole
                       ? ", whole; rocprofv3 may have crashed when the program had ended well: "
                         "--tracer builtin would tell"
                       : "");
}
