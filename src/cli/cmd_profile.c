#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/profile_session.h"
#include "report/report.h"
#include "run/device_thread_trace.h"
#include "run/kernel_names.h"
#include "trace/counter_set.h"

/* The program's output appears once: on stdout, or on stderr when our result goes to stdout. The
 * repeats would only print it again. Their stderr is always shown. */
static int stdout_for_run(const struct rp_profile_cli *options, unsigned number)
{
    if (number > 1)
        return open("/dev/null", O_WRONLY | O_CLOEXEC);
    return options->json || options->quiet ? dup(STDERR_FILENO) : 0;
}

/* Estimates how long the remaining runs take, if each takes as long as those before; 0: nobody
 * knows. */
static double left_s(const struct rp_profile_cli *options, const struct rp_profile_session *session,
                     unsigned number)
{
    double all_ms = 0;

    for (unsigned i = 0; i + 1 < number; i++)
        all_ms += session->wall_ms[i];
    return number > 1 ? all_ms / 1e3 / (number - 1) * (double)(options->runs + 1 - number) : 0;
}

static int run_once(const struct rp_profile_cli *options, struct rp_profile_session *session,
                    unsigned number, struct rp_err *err)
{
    rp_autofree char *prefix = number == 1 ? rp_strdup("trace") : rp_format("run-%u", number);
    rp_autofree char *what = !options->pid ? rp_format("run %u of %" PRIu64, number, options->runs)
                             : options->duration_s
                                 ? rp_format("process %" PRIu64 " for %g s (Ctrl-C ends that)",
                                             options->pid, options->duration_s)
                                 : rp_format("process %" PRIu64 " until Ctrl-C", options->pid);
    rp_autofree char *counters = NULL;
    struct rp_profile_step step = {.folder = number == 1 ? NULL : "repeats",
                                   .prefix = prefix,
                                   .what = what,
                                   .left_s = left_s(options, session, number),
                                   .call_sites = number == 1 && options->deep_analysis,
                                   .shows_log = true,
                                   .stdout_fd = stdout_for_run(options, number)};
    int rc;

    /* Counting changes no result, but takes the host's time, so it is done in the base run only. */
    if (number == 1 && rp_device_counts(session))
        step.device_counters = counters = rp_asked_device_counters(options, session);
    if (number == 1 && rp_keeps_counters(options, session))
        step.kept = &session->kept;
    rc = rp_profile_run(options, session, &step, &session->runs[session->run_count], err);
    session->run_count += rc == 0;
    return rc;
}

/* --- results of a run ---------------------------------------------------------------------- */

static int sum_run(struct rp_store *const *stores, size_t count, uint64_t *ret_ns,
                   uint64_t *ret_dispatches, struct rp_err *err)
{
    uint64_t total_ns = 0, total = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t ns, dispatches, bad;
        int rc = rp_store_runtime_ns(stores[i], &ns, &dispatches, &bad, err);
        if (rc < 0)
            return rc;
        total_ns += ns;
        total += dispatches;
    }
    *ret_ns = total_ns;
    *ret_dispatches = total;
    return 0;
}

static bool is_wanted_range(const struct rp_profile_session *session, const char *names)
{
    return names && session->run.roctx_range && strcmp(names, session->run.roctx_range) == 0;
}

/* One process in which there was such a range is enough. */
static void note_ranges(struct rp_profile_session *session, const struct rp_store *store)
{
    const char *names = rp_store_metadata(store, RP_STORE_RANGES_TAG);

    if (!names || (session->range_names && !is_wanted_range(session, names)))
        return;
    free(session->range_names);
    session->range_names = rp_strdup(names);
}

/* Every run is looked at, because a loss in a repeat would show as an unstable runtime. */
static int note_trace(struct rp_profile_session *session, struct rp_store *store,
                      struct rp_err *err)
{
    const char *wanted = rp_device_label(session->run.device);
    const char *device;
    int rc = rp_profile_device_of(store, &device, err);

    if (rc < 0)
        return rc;
    /* Modelled time must never pass for hardware time, whatever the environment preloads. */
    if (device && strcmp(device, wanted) != 0)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the program ran on the %s device instead of the %s device; is "
                       "librocm-perf-device.so in LD_PRELOAD, or ROCM_PERF_DEVICE set?",
                       device, wanted);
    rp_losses_add(&session->losses, store);
    if (session->run_count == 1) {
        session->unrecorded += rp_profile_unrecorded_of(store);
        note_ranges(session, store);
    }
    return 0;
}

static int program_failed(const struct rp_profile_cli *options, struct rp_profile_session *session,
                          struct rp_err *err)
{
    rp_autofree char *where = rp_format("run %zu of %" PRIu64, session->run_count, options->runs);

    return rp_profile_session_failed(options, session, &session->runs[session->run_count - 1],
                                     where, err);
}

static int all_failed(const struct rp_profile_cli *options, const struct rp_launches *launches,
                      struct rp_err *err)
{
    rp_autofree char *text = rp_launches_text(launches);

    return rp_fail(err, RP_PROGRAM, "%s ran no kernel: %s", options->args.operands[0], text);
}

/* Names the options that were given; where there was no range of the name, those that there were.
 */
static int none_recorded(const struct rp_profile_cli *options,
                         const struct rp_profile_session *session, struct rp_err *err)
{
    const bool no_such = options->roctx_range && !is_wanted_range(session, session->range_names);
    const char *s = session->unrecorded == 1 ? "" : "s";
    rp_autofree char *names = session->range_names ? rp_strdup(session->range_names) : NULL;

    for (char *at = names; at && (at = strchr(at, '\n')); at++)
        *at = '|';
    if (no_such)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s launched %" PRIu64 " kernel%s, none of them recorded: it began no ROCTx "
                       "range that --roctx-range '%s' names; %s%s",
                       options->args.operands[0], session->unrecorded, s, options->roctx_range,
                       names ? "its ranges are " : "none was seen: see docs/profile.md",
                       names ? names : "");
    return rp_fail(
        err, RP_BAD_INPUT,
        "%s launched %" PRIu64 " kernel%s, none of them while it was recorded: see%s%s%s%s%s",
        options->args.operands[0], session->unrecorded, s, options->delay_s > 0 ? " --delay" : "",
        options->duration_s > 0 ? " --duration" : "",
        options->start_paused ? " --start-paused" : "",
        options->selected_regions ? " --selected-regions" : "",
        options->roctx_range ? " --roctx-range" : "");
}

/* @param launches NULL: not known */
static int no_kernel(const struct rp_profile_cli *options, const struct rp_profile_session *session,
                     const struct rp_launches *launches, struct rp_err *err)
{
    uint64_t lost = session->losses.lost_dispatches + session->losses.lost_records;

    if (session->interrupted)
        return rp_fail(err, RP_INTERRUPTED,
                       "interrupted by SIG%s before a kernel of %s came to its end: there is "
                       "nothing to keep",
                       rp_signal_abbreviation(session->interrupted), options->args.operands[0]);
    if (options->pid && !(launches && launches->failed))
        return rp_fail(err, RP_BAD_INPUT,
                       "process %" PRIu64 " (%s) launched no kernel while it was recorded, or "
                       "cannot be recorded: it must have been started with ROCP_TOOL_ATTACH=1, and "
                       "must be the process that uses the GPU or a parent of it",
                       options->pid, options->args.operands[0]);
    if (lost)
        return rp_fail(err, RP_PROGRAM,
                       "no kernel of %s came to its end (%" PRIu64 " did not), so there is nothing "
                       "to profile; the device's message is above",
                       options->args.operands[0], lost);
    if (session->unrecorded)
        return none_recorded(options, session, err);
    if (session->losses.untraced_queues)
        return rp_fail(err, RP_ENVIRONMENT,
                       "%s launched its kernels on queues that the collector cannot "
                       "watch" RP_WALLCLOCK_INSTEAD,
                       options->args.operands[0]);
    if (launches && launches->failed)
        return all_failed(options, launches, err);
    if (session->tracer->shows_log && session->runs[0].window_over && !session->runs[0].db_count)
        return rp_fail(err, RP_BAD_INPUT,
                       "rocprofv3 writes its trace when the program ends in order, and at the end "
                       "of --duration %s did not: let it handle SIGINT and exit, or use --tracer "
                       "builtin, which keeps what ran",
                       options->args.operands[0]);
    /* rocprofv3 writes nothing where it was not told of the end, nor where nothing happened. */
    return rp_fail(
        err, RP_BAD_INPUT,
        "%s launched no kernel on %s, so there is nothing to "
        "profile%s%s" RP_WALLCLOCK_INSTEAD,
        options->args.operands[0],
        session->run.device == RP_DEVICE_SOFTWARE ? "the software MI300X" : "the GPU",
        session->tracer->shows_log && !session->runs[0].db_count
            ? ", or it left by _exit() before rocprofv3 wrote its trace (--tracer builtin "
              "keeps it)"
            : "",
        rp_profile_without_hip(session, &session->runs[0]));
}

static void note_interrupted(const struct rp_profile_cli *options,
                             const struct rp_profile_session *session, size_t runs)
{
    rp_cli_note("interrupted by SIG%s: the result is of the first %zu of %" PRIu64 " runs",
                rp_signal_abbreviation(session->interrupted), runs, options->runs);
}

/* A repeat that was cut short says nothing about the base run. */
static void drop_last_run(const struct rp_profile_cli *options, struct rp_profile_session *session)
{
    struct rp_run *run = &session->runs[--session->run_count];

    note_interrupted(options, session, session->run_count);
    for (size_t i = 0; i < run->db_count; i++)
        unlink(run->db_paths[i]);
    rp_run_free(run);
}

/* What the base run recorded until the signal is worth keeping, be it a result or not. */
static int keep_interrupted(const struct rp_profile_cli *options,
                            struct rp_profile_session *session, struct rp_err *err)
{
    const struct rp_run *run = &session->runs[0];

    session->out_of_order = rp_profile_ended_badly(options, run);
    if (options->wallclock)
        return rp_fail(err, RP_INTERRUPTED,
                       "interrupted by SIG%s: the wall clock of a run that was cut short says "
                       "nothing",
                       rp_signal_abbreviation(session->interrupted));
    if (!run->db_count && session->tracer->shows_log && session->out_of_order)
        return rp_fail(err, RP_INTERRUPTED,
                       "interrupted by SIG%s: rocprofv3 writes its trace when the program ends in "
                       "order, and %s did not: there is nothing to keep; --tracer builtin keeps "
                       "what ran until a signal",
                       rp_signal_abbreviation(session->interrupted), options->args.operands[0]);
    return run->db_count ? 0 : no_kernel(options, session, NULL, err);
}

static void note_kept(const struct rp_profile_cli *options,
                      const struct rp_profile_session *session)
{
    const char *signal = rp_signal_abbreviation(session->interrupted);

    rp_cli_note(
        "interrupted by SIG%s: the result is what ran until then%s; SIG%s again gives it up",
        signal, options->runs > 1 ? ", of 1 run" : "", signal);
}

/* Reads the run's device time. The stores of the base run stay open for the analysis. */
static int measure_run(const struct rp_profile_cli *options, struct rp_profile_session *session,
                       struct rp_err *err)
{
    size_t at = session->run_count - 1;
    const struct rp_run *run = &session->runs[at];
    struct rp_store **stores = NULL;
    uint64_t ns = 0, dispatches = 0;
    int rc;

    session->wall_ms[at] = (double)run->end.wall_ns / 1e6;
    if (session->interrupted && at > 0) {
        drop_last_run(options, session);
        return 0;
    }
    rc = session->interrupted                   ? keep_interrupted(options, session, err)
         : rp_profile_ended_badly(options, run) ? program_failed(options, session, err)
                                                : 0;
    if (rc < 0 || options->wallclock)
        return rc;
    rc = rp_profile_open_stores(run, &stores, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < run->db_count && rc == 0; i++)
        rc = note_trace(session, stores[i], err);
    if (rc == 0)
        rc = sum_run(stores, run->db_count, &ns, &dispatches, err);
    session->runtime_ms[at] = (double)ns / 1e6;
    /* The base run's profile is made later from all of its traces. */
    if (rc == 0 && (at > 0 || dispatches == 0))
        rc = rp_profile_compute(stores, run->db_count, NULL, 0, &session->repeats[at], err);
    if (rc == 0 && dispatches == 0)
        rc = no_kernel(options, session, &session->repeats[at]->launches, err);
    if (rc == 0 && session->interrupted)
        note_kept(options, session);
    if (at == 0 && rc == 0) {
        session->stores = stores;
        session->store_count = run->db_count;
    } else {
        rp_profile_close_stores(stores, run->db_count);
    }
    return rc;
}

/* Each run may have loaded only one of several kernels of a name. A profile that was made without
 * knowing the others is made again. */
static int tell_runs_apart(struct rp_profile_session *session, struct rp_err *err)
{
    struct rp_store **all = NULL, ***run = rp_alloc_zero(session->run_count + 1, sizeof *run);
    size_t count = session->store_count, at = 0;
    bool changed = false;
    int rc = 0;

    for (size_t i = 1; rc == 0 && i < session->run_count; i++) {
        rc = rp_profile_open_stores(&session->runs[i], &run[i], err);
        count += session->runs[i].db_count;
    }
    all = rp_alloc_zero(count + 1, sizeof *all);
    for (size_t i = 0; rc == 0 && i < session->run_count; i++)
        for (size_t k = 0; k < session->runs[i].db_count; k++)
            all[at++] = i ? run[i][k] : session->stores[k];
    if (rc == 0)
        rc = rp_store_tell_apart(all, at, &changed, err);
    for (size_t i = 1; rc == 0 && changed && i < session->run_count; i++) {
        rp_profile_free(rp_steal(session->repeats[i]));
        rc = rp_profile_compute(run[i], session->runs[i].db_count, NULL, 0, &session->repeats[i],
                                err);
    }
    for (size_t i = 1; i < session->run_count; i++)
        rp_profile_close_stores(run[i], session->runs[i].db_count);
    free(run);
    free(all);
    return rc;
}

/* The signal came while no run of the program was under way. */
static int stop_between(const struct rp_profile_cli *options, struct rp_profile_session *session,
                        struct rp_err *err)
{
    session->interrupted = rp_proc_stop_asked();
    if (!session->run_count)
        return rp_fail(err, RP_INTERRUPTED, "interrupted by SIG%s before the program was started",
                       rp_signal_abbreviation(session->interrupted));
    note_interrupted(options, session, session->run_count);
    return 0;
}

static int run_all(const struct rp_profile_cli *options, struct rp_profile_session *session,
                   struct rp_err *err)
{
    session->runs = rp_alloc_zero(options->runs, sizeof *session->runs);
    session->runtime_ms = rp_alloc_zero(options->runs, sizeof *session->runtime_ms);
    session->wall_ms = rp_alloc_zero(options->runs, sizeof *session->wall_ms);
    session->repeats = rp_alloc_zero(options->runs, sizeof *session->repeats);
    for (unsigned number = 1; number <= options->runs && !session->interrupted; number++) {
        int rc = rp_proc_stop_asked() ? stop_between(options, session, err)
                                      : run_once(options, session, number, err);

        if (rc == 0 && session->run_count == number)
            rc = measure_run(options, session, err);
        if (rc < 0)
            return rc;
    }
    return options->wallclock || session->run_count == 1 ? 0 : tell_runs_apart(session, err);
}

/* A thread trace that cannot be is said at once: the runs before it may take long. */
static void foresee_threads(struct rp_profile_session *session)
{
    struct rp_err err = RP_ERR_INIT;

    if (session->tracer->check_threads(&session->env, &session->threads, &err) == 0)
        return;
    session->threads_lost = rp_strdup(err.text);
    session->no_threads_reason = session->threads_lost;
    rp_cli_note("warning: no thread trace: %s", err.text);
}

/* The built-in collector is loaded when ROCr starts, and cannot join a process later. */
static int check_attach(const struct rp_profile_session *session, struct rp_err *err)
{
    if (session->tracer->check_attach)
        return session->tracer->check_attach(&session->env, err);
    if (session->run.device == RP_DEVICE_SOFTWARE)
        return rp_fail(err, RP_ENVIRONMENT,
                       "--pid: a process can be joined on a GPU only%s%s%s; start the program with "
                       "rocm-perf profile (--delay, --duration and --start-paused record a part)",
                       session->env.gpu_reason ? " (" : "",
                       session->env.gpu_reason ? session->env.gpu_reason : "",
                       session->env.gpu_reason ? ")" : "");
    return rp_fail(
        err, RP_ENVIRONMENT,
        "--pid: only rocprofv3 can join a process, and there is none in %s/bin or $PATH; "
        "install the package rocprofiler-sdk (ROCm 10: amdrocm-profiler-base), or start "
        "the program with rocm-perf profile",
        session->env.rocm_root ? session->env.rocm_root : "$ROCM_PATH");
}

/* Ceilings that cannot be those of this run are refused before it. */
static int read_ceilings(const struct rp_profile_cli *options, struct rp_profile_session *session,
                         struct rp_err *err)
{
    rp_cleanup(rp_device_identity_free) struct rp_device_identity on = {0};
    struct rp_counted_device gpu = {0};
    int rc;

    session->roof.roof.memory_gbps = options->memory_gbps;
    session->roof.ceilings = options->ceilings;
    rc = rp_roof_options_read(&session->roof, err);
    if (rc < 0 || !options->ceilings)
        return rc;
    rc = rp_device_identify(&session->env, &session->run, &on, err);
    if (rc == 0)
        rc = rp_roofline_ceilings_fit(&session->roof.measured, options->ceilings,
                                      rp_device_label(session->run.device), on.gpu,
                                      rp_clock_modelled(&session->run), err);
    if (rc < 0)
        return rc;
    snprintf(gpu.arch, sizeof gpu.arch, "%s", on.gfx);
    gpu.compute_units = on.compute_units;
    if (!rp_counted_differ(&session->roof.measured_on, &gpu))
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "--ceilings: %s is of %s with %u CUs, and this GPU is %s with %u CUs",
                   options->ceilings, session->roof.measured_on.arch,
                   session->roof.measured_on.compute_units, gpu.arch, gpu.compute_units);
}

/* Refuses everything that can be refused before the program runs. */
static int prepare(const struct rp_profile_cli *options, struct rp_profile_session *session,
                   struct rp_err *err)
{
    rp_autofree char *program = NULL;
    int rc = rp_environment_detect(&session->env, err);

    rp_device_options_read(options->device, options->threads, options->gpus, options->timing,
                           &session->run);
    session->run.clock_mhz = (uint32_t)options->clock;
    session->run.takes_clock = true;
    session->run.no_hip_calls = options->no_hip_calls;
    session->run.selected_regions = options->selected_regions;
    session->run.roctx_range = options->roctx_range;
    session->run.counters = "";
    session->kept.written = options->counters.at;
    session->kept.written_count = options->counters.count;
    if (rc == 0)
        rc = rp_device_resolve(&session->env, &session->run, err);
    if (rc == 0 && session->run.device == RP_DEVICE_SOFTWARE && !options->wallclock &&
        session->run.timing == RP_TIMING_OFF)
        rc = rp_fail(err, RP_USAGE,
                     "--timing off models no times, and a profile is about these: use counts or "
                     "detailed, or rocm-perf run; --no-rocprof times the whole process");
    if (rc == 0 && options->wallclock && session->run.clock_mhz)
        rc = rp_fail(err, RP_USAGE,
                     "--no-rocprof times the whole process by the host's clock, so nothing is "
                     "modelled at %" PRIu32 " MHz: leave --clock and ROCM_PERF_DEVICE_CLOCK out",
                     session->run.clock_mhz);
    if (rc == 0 && !options->wallclock)
        rc = rp_tracer_choose(&session->env, session->run.device,
                              (enum rp_tracer_request)options->tracer, &session->tracer, err);
    if (rc == 0 && session->tracer == &rp_tracer_rocprofv3 && rp_clock_modelled(&session->run))
        rc = rp_fail(err, RP_USAGE,
                     "--clock: traces of rocprofv3 do not say at which clock the times were "
                     "modelled; leave --tracer out");
    if (rc == 0 && options->pid)
        rc = check_attach(session, err);
    if (rc == 0 && session->tracer && session->tracer->check_window) {
        const struct rp_recording_window window = rp_profile_window(options);

        rc = session->tracer->check_window(&window, &session->run, err);
    }
    if (rc == 0 && options->counters.count && rp_device_counts(session))
        rc = rp_check_device_counters(options, session, err);
    else if (rc == 0 && options->counters.count && !session->tracer->count)
        rc = rp_fail(err, RP_ENVIRONMENT,
                     "--pmc: the %s tracer cannot read hardware counters; they need a GPU and"
                     " rocprofv3",
                     session->tracer->name);
    if (rc == 0)
        rc = read_ceilings(options, session, err);
    session->threads = (struct rp_thread_trace_options){
#define NUMBER(member, ...) .member = options->att_##member,
#define WORD(member, ...)   .member = options->att_##member,
#include "run/thread_trace_options.def"
#undef NUMBER
#undef WORD
        .serialize_all = options->att_serialize_all,
    };
    if (rc == 0 && options->deep_analysis && rp_device_counts(session))
        rc = rp_device_thread_trace_check(&session->threads, err);
    if (rc == 0 && options->deep_analysis && session->tracer->check_threads)
        foresee_threads(session);
    if (rc == 0 && !options->pid)
        rc = rp_find_program(options->args.operands[0], &program, err);
    if (rc == 0 && session->env.rocm_note && !options->quiet)
        rp_cli_note("%s", session->env.rocm_note);
    if (rc == 0 && program)
        rp_cli_warn_about_target(program, &session->run);
    if (rc == 0)
        rc = rp_kept_input_open(options->runs > 1 || options->deep_analysis || options->roofline ||
                                    options->counters.count,
                                options->runs > 1 ? "use --runs 1" : "leave out further analyses",
                                &session->input, err);
    if (rc == 0)
        rp_cli_rescue(options->output);
    if (rc == 0)
        rc = rp_result_folder_open(options->output, &session->dir, err);
    return rc;
}

/* When the program's own kernels did not end, a trace of the runtime's kernels alone is no result
 * of the program. */
static int refuse_failed(const struct rp_profile_cli *options,
                         const struct rp_profile_session *session, struct rp_err *err)
{
    const struct rp_profile *p = session->profile;

    if (options->wallclock ||
        !(session->losses.lost_dispatches + session->losses.lost_records + p->launches.failed))
        return 0;
    for (size_t i = 0; i < p->kernel_count; i++)
        if (!p->kernels[i].runtime_internal)
            return 0;
    return no_kernel(options, session, &p->launches, err);
}

/* Finds in what the runs differ, other than times. */
static int find_differences(struct rp_profile_session *session, struct rp_err *err)
{
    const struct rp_profile *base = session->profile;
    int rc;

    session->failed_launches =
        rp_alloc_zero(session->run_count + 1, sizeof *session->failed_launches);
    for (size_t i = 0; i < session->run_count; i++)
        session->failed_launches[i] = (i ? session->repeats[i] : base)->launches.failed;
    rc = rp_profile_run_differences(base, session->repeats, session->run_count,
                                    &session->differences, err);
    return rc < 0 ? rc
                  : rp_profile_repeat_kernels(base, session->repeats, session->run_count,
                                              &session->repeat_kernels, err);
}

/* Collects the times of kernels by run. */
static int time_kernels(struct rp_profile_session *session, struct rp_err *err)
{
    const struct rp_profile *base = session->profile;

    session->kernel_ms =
        rp_alloc_zero(session->run_count * base->kernel_count + 1, sizeof *session->kernel_ms);
    for (size_t i = 0; i < session->run_count; i++)
        rp_profile_kernel_ms(base, i ? session->repeats[i] : base,
                             session->kernel_ms + i * base->kernel_count);
    session->gpu_span_ms = rp_alloc_zero(session->run_count + 1, sizeof *session->gpu_span_ms);
    for (size_t i = 0; i < session->run_count; i++) {
        const uint64_t ns = (i ? session->repeats[i] : base)->gpu_span_ns;

        session->gpu_span_ms[i] = ns ? (double)ns / 1e6 : NAN;
    }
    return find_differences(session, err);
}

/* A trace of rocprofv3 does not say by which model the software device made its times, but who
 * started the device knows. */
static int know_timing(struct rp_profile_session *session, struct rp_err *err)
{
    rp_cleanup(rp_device_identity_free) struct rp_device_identity on = {0};
    struct rp_profile *profile = session->profile;
    int rc;

    if (session->run.device != RP_DEVICE_SOFTWARE || !session->tracer || profile->timing_model)
        return 0;
    rc = rp_device_identify(&session->env, &session->run, &on, err);
    if (rc < 0)
        return rc;
    profile->timing_model = rp_timing_word(rp_timing_in_force(&session->run));
    profile->timing_version = on.timing_version;
    return 0;
}

static void rp_profile_session_free(struct rp_profile_session *session);

/* Before it is known who records, a signal waits. */
static void refuse_switches(const struct rp_profile_session *session)
{
    if (!session->tracer)
        rp_proc_refuse_switches("rocm-perf: SIGUSR1 and SIGUSR2 switch recording, and --no-rocprof "
                                "records nothing: leave it out\n");
    else if (!session->tracer->switched)
        rp_proc_refuse_switches("rocm-perf: SIGUSR1 and SIGUSR2 do not switch recording of "
                                "rocprofv3: use --tracer builtin\n");
}

static int exit_status(const struct rp_run *run)
{
    return run->end.status + (run->end.signaled ? 128 : 0);
}

static const char *recorded_part(const struct rp_profile_cli *options, const struct rp_run *run)
{
    const struct rp_recording_window window = rp_profile_window(options);

    return options->pid ? "hand" : rp_recorded_part(&window, run);
}

/**
 * Runs the program options->runs times and computes the profile.
 * @return 0; RP_PROGRAM when a run failed (what it recorded is kept in DIR/failed) or none of its
 *         kernels ended, RP_BAD_INPUT when it launched no kernel, RP_INTERRUPTED, RP_USAGE,
 * RP_ENVIRONMENT
 */
static int profile_session_run(const struct rp_profile_cli *options,
                               const struct rp_profile_job *job, struct rp_profile_session *ret,
                               struct rp_err *err)
{
    struct rp_profile_session session = {.run_id = job->id, .ranks = (uint32_t)job->size};
    int rc;

    /* Signals are caught until the end, because the folder must be left clean. */
    rp_proc_catch_signals();
    rp_proc_switch_by_signals(NULL);
    rc = prepare(options, &session, err);
    rp_proc_survive_signals();
    if (rc == 0)
        refuse_switches(&session);
    if (rc == 0)
        rc = run_all(options, &session, err);
    if (rc == 0) /* Without a trace there are no stores, and the wall clock was measured instead. */
        rc = rp_profile_compute(session.stores, session.store_count,
                                options->wallclock ? session.wall_ms : session.runtime_ms,
                                session.run_count, &session.profile, err);
    if (rc == 0)
        rc = know_timing(&session, err);
    if (rc == 0 && !options->wallclock)
        rc = time_kernels(&session, err);
    if (rc == 0)
        rc = refuse_failed(options, &session, err);
    if (rc == 0)
        rc = rp_profile_analyses(options, &session, err);
    if (rc == 0 && session.tracer && session.tracer->version)
        session.tracer_version = session.tracer->version(&session.env);
    if (rc < 0) {
        const int status = session.run_count ? exit_status(&session.runs[0]) : 0;

        rp_profile_session_free(&session);
        *ret = (struct rp_profile_session){.failed_status = status};
        return rc;
    }
    *ret = session;
    return 0;
}

/** Writes profile.json beside the traces and moves all of them into place. */
static int profile_session_commit(struct rp_profile_session *session, const char *json,
                                  struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(session->dir.partial, "profile.json");
    int rc = rp_write_file(path, json, strlen(json), err);

    if (rc < 0)
        return rc;
    return session->out_of_order ? rp_result_folder_keep_failed(&session->dir, err)
                                 : rp_result_folder_commit(&session->dir, err);
}

static void rp_profile_session_free(struct rp_profile_session *session)
{
    rp_kept_input_free(&session->input);
    rp_profile_free(session->profile);
    rp_profile_close_stores(session->stores, session->store_count);
    for (size_t i = 0; i < session->run_count; i++)
        rp_run_free(&session->runs[i]);
    free(session->runs);
    free(session->range_names);
    for (size_t i = 0; i < session->warning_count; i++)
        free(session->warnings[i]);
    free(session->warnings);
    for (size_t i = 0; session->repeats && i < session->run_count; i++)
        rp_profile_free(session->repeats[i]);
    free(session->repeats);
    free(session->kernel_ms);
    free(session->gpu_span_ms);
    rp_repeat_kernels_free(&session->repeat_kernels);
    rp_run_differences_free(&session->differences);
    free(session->failed_launches);
    free(session->runtime_ms);
    free(session->wall_ms);
    free(session->tracer_version);
    free(session->counters_lost);
    free(session->threads_lost);
    rp_roofline_free(&session->roofline);
    rp_counters_free(session->counters);
    rp_roof_options_free(&session->roof);
    rp_kept_counters_free(&session->kept);
    rp_thread_traces_free(&session->waves);
    rp_buf_free(&session->verdict);
    rp_buf_free(&session->summary);
    rp_result_folder_close(&session->dir);
    rp_environment_free(&session->env);
    memset(session, 0, sizeof *session);
}

static void fill_report(const struct rp_profile_cli *options,
                        const struct rp_profile_session *session, struct rp_profile_report *report)
{
    const struct rp_run *base = &session->runs[0];
    size_t args = 0;

    while (options->args.operands[args])
        args++;
    *report = (struct rp_profile_report){
        .profile = session->profile,
        .device = rp_device_label(session->run.device),
        .measurement = options->wallclock ? RP_MEASURED_WALL_CLOCK : RP_MEASURED_DISPATCHES,
        .runtime_ms = options->wallclock ? session->wall_ms : session->runtime_ms,
        .runs = session->run_count,
        .kernel_ms = session->kernel_ms,
        .gpu_span_ms = session->gpu_span_ms,
        .repeat_kernels = &session->repeat_kernels,
        .differences = &session->differences,
        .failed_launches = session->failed_launches,
        .counters = session->counters,
        .roofline = session->has_roofline ? &session->roofline : NULL,
        .roofline_reason = session->roofline_reason,
        .provenance =
            {
                .command = (const char *const *)options->args.operands,
                .command_count = args,
                .pid = (int64_t)options->pid,
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
                .unrecorded = session->unrecorded,
                .window_over = base->window_over,
                .counter_passes = session->counter_passes,
                .exit_status = exit_status(base),
                .recorded_part = recorded_part(options, base),
                .interrupted =
                    base->end.interrupted ? rp_signal_abbreviation(base->end.interrupted) : NULL,
                .wall_ms = session->wall_ms,
                .wall_count = session->run_count,
            },
    };
}

/* Notes where the traces will be after the commit. */
static void note_traces(const struct rp_profile_session *session, char **paths,
                        struct rp_profile_report *report)
{
    struct rp_provenance *provenance = &report->provenance;

    for (size_t i = 0; i < session->store_count; i++) {
        const char *name = strrchr(session->runs[0].db_paths[i], '/') + 1;

        paths[i] =
            rp_format("%s%s/%s", session->dir.path, session->out_of_order ? "/failed" : "", name);
    }
    provenance->traces = (const char *const *)paths;
    provenance->trace_count = session->store_count;
}

/* The table shows failed launches by itself, so this is for the other forms. */
static void warn_of_failed_launches(const struct rp_profile *profile)
{
    rp_autofree char *text = profile->launches.failed ? rp_launches_text(&profile->launches) : NULL;

    if (text)
        rp_cli_note("%s", text);
}

/* What says when a run ends well and which part of it is recorded holds for the next run, too: a
 * server would never end without.
 * @return how many words it has put: at most 10 */
static size_t put_kept(const struct rp_profile_cli *options, const char **words, char delay[32],
                       char duration[32], char status[32])
{
    size_t count = 0;

    if (RP_IS_GIVEN(profile, options, expected_status)) {
        snprintf(status, 32, "%" PRIu64, options->expected_status);
        words[count++] = "--expect-status";
        words[count++] = status;
    }
    if (options->delay_s > 0) {
        snprintf(delay, 32, "%.10g", options->delay_s);
        words[count++] = "--delay";
        words[count++] = delay;
    }
    if (options->duration_s > 0) {
        snprintf(duration, 32, "%.10g", options->duration_s);
        words[count++] = "--duration";
        words[count++] = duration;
    }
    if (options->start_paused)
        words[count++] = "--start-paused";
    if (options->selected_regions)
        words[count++] = "--selected-regions";
    if (options->roctx_range) {
        words[count++] = "--roctx-range";
        words[count++] = options->roctx_range;
    }
    return count;
}

/* Who knows which kernels ran wants to know why they take that long; who knows that, where to look
 * closer. */
static void put_next(const struct rp_profile_cli *options, const struct rp_profile_session *session,
                     struct rp_buf *text)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    const bool known = options->deep_analysis || session->out_of_order || options->pid;
    rp_autofree char *failed = rp_path_join(options->output, "failed");
    rp_autofree const char **words = rp_alloc_zero(options->args.operand_count + 24, sizeof *words);
    char delay[32], duration[32], status[32], clock[24];
    size_t count = 0;

    words[count++] = "rocm-perf";
    words[count++] = known ? "report" : "profile";
    if (known) {
        words[count++] = session->out_of_order ? failed : options->output;
    } else {
        words[count++] = "--why";
        if (RP_IS_GIVEN(profile, options, device)) {
            words[count++] = "--device";
            words[count++] = options->device;
        }
        if (options->timing >= 0) {
            words[count++] = "--timing";
            words[count++] = rp_timing_words[options->timing];
        }
        if (options->clock) {
            snprintf(clock, sizeof clock, "%" PRIu64, options->clock);
            words[count++] = "--clock";
            words[count++] = clock;
        }
        count += put_kept(options, words + count, delay, duration, status);
        if (rp_needs_separator(RP_COMMAND_profile, options->args.operands,
                               options->args.operand_count))
            words[count++] = "--";
        for (size_t i = 0; i < options->args.operand_count; i++)
            words[count++] = options->args.operands[i];
    }
    rp_buf_puts(text, "\n");
    rp_page_next(&page, words);
}

/* The profile of what ran until a signal came is shown, but is no success. */
static int interrupted_code(const struct rp_profile_cli *options,
                            const struct rp_profile_session *session, struct rp_err *err)
{
    rp_autofree char *how = rp_profile_end_text(options, session, &session->runs[0]);

    rp_fail(err, RP_PROGRAM,
            "%s %s when it was interrupted; its profile until then is in %s/failed",
            options->args.operands[0], how, session->dir.path);
    return rp_cli_error(err);
}

static int print_result(const struct rp_profile_cli *options,
                        const struct rp_profile_session *session,
                        const struct rp_profile_report *report, const char *json,
                        struct rp_err *err)
{
    rp_autobuf text = {0};

    if (options->json || options->quiet)
        warn_of_failed_launches(report->profile);
    if (options->json)
        return rp_cli_result(json);
    if (session->verdict.len && !options->quiet) {
        const struct rp_page page = rp_page_of_words(&text, rp_cli_style());

        rp_page_words(&page, RP_INK_BOLD, 0, 0, "%s", rp_buf_text(&session->verdict));
        rp_buf_puts(&text, "\n");
    }
    if (options->quiet)
        rp_buf_printf(&text, "%.6f\n", report->runtime_ms[0]);
    else if (rp_report_profile_term(report, rp_cli_style_of(options->verbose), &text, err) < 0)
        return rp_cli_error(err);
    rp_buf_add(&text, session->summary.data, session->summary.len);
    if (!options->quiet)
        put_next(options, session, &text);
    return rp_cli_result(rp_buf_text(&text));
}

static void free_paths(char ***paths)
{
    for (char **path = *paths; path && *path; path++)
        free(*path);
    free(*paths);
}

/** Does the actions that need no program.
 * @return false: a profile is wanted */
static bool do_without_program(const struct rp_profile_cli *options, int *ret_code)
{
    if (options->list_counters)
        *ret_code = rp_list_device_counters();
    else if (options->version)
        *ret_code = rp_cli_result("rocm-perf " RP_VERSION "\n");
    return options->list_counters || options->version;
}

/* Parts of two runs that are cut out by the host's clock or by hand are not equal. */
static bool is_part_of_a_run(const struct rp_profile_cli *options)
{
    return options->delay_s > 0 || options->duration_s > 0 || options->start_paused || options->pid;
}

static void free_words(char ***words)
{
    if (*words)
        free(**words);
    free(*words);
}

/** Makes the command line of the process the operands: it is what is profiled.
 * @param ret all words are in the first one's text; release with free_words */
static int take_command(struct rp_profile_cli *options, char ***ret, struct rp_err *err)
{
    rp_autofree char *path = rp_format("/proc/%" PRIu64 "/cmdline", options->pid);
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    rp_autobuf text = {0};
    struct stat st;
    size_t count = 0, at = 0;
    char block[4096], **words;

    if (fd < 0 || fstat(fd, &st) != 0)
        return rp_fail(err, RP_USAGE, "--pid %" PRIu64 ": there is no such process", options->pid);
    for (ssize_t got; (got = read(fd, block, sizeof block)) > 0;)
        rp_buf_add(&text, block, (size_t)got);
    if (!text.len)
        return rp_fail(err, RP_USAGE,
                       "--pid %" PRIu64 ": this process has ended, or is a thread of the kernel",
                       options->pid);
    if (geteuid() != 0 && st.st_uid != geteuid())
        return rp_fail(err, RP_ENVIRONMENT,
                       "--pid %" PRIu64 ": the process belongs to another user (%u): run rocm-perf "
                       "as that user or as root",
                       options->pid, (unsigned)st.st_uid);
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '\0';
    *ret = words = rp_alloc_zero(count + 2, sizeof *words);
    const size_t length = text.len;
    char *all = rp_buf_steal(&text);

    for (count = 0; at < length; at += strlen(all + at) + 1)
        words[count++] = all + at;
    options->args.operands = words;
    options->args.operand_count = count;
    return 0;
}

int rp_cmd_profile(int argc, char **argv)
{
    rp_cleanup(rp_args_free) struct rp_profile_cli options;
    rp_cleanup(rp_profile_session_free) struct rp_profile_session session = {0};
    rp_cleanup(rp_profile_job_free) struct rp_profile_job job = {0};
    rp_cleanup(free_paths) char **paths = NULL;
    rp_cleanup(free_words) char **command = NULL;
    struct rp_profile_report report;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf json = {0};
    bool is_rank;
    int code;

    if (!rp_options_parse(RP_COMMAND_profile, argc, argv, &options, &code) ||
        do_without_program(&options, &code))
        return code;
    options.deep_analysis |= options.why;
    if (is_part_of_a_run(&options) && !RP_IS_GIVEN(profile, &options, runs))
        options.runs = 1;
    if (options.pid && take_command(&options, &command, &err) < 0)
        return rp_cli_error(&err);
    /* Wall clocks are no trace, so each rank prints its own. */
    is_rank = !options.pid && rp_profile_job_find(options.output, &job);
    if (is_rank && !RP_IS_GIVEN(profile, &options, runs))
        options.runs = 1; /* MPI starts a rank once. */
    if (is_rank)
        options.output = job.output;
    else
        rp_profile_note_stale(options.output, 0);
    if (profile_session_run(&options, &job, &session, &err) < 0) {
        if (is_rank && !options.wallclock)
            rp_profile_job_end(&options, &job, NULL, session.failed_status);
        return rp_cli_error(&err);
    }
    fill_report(&options, &session, &report);
    paths = rp_alloc_zero(session.store_count + 1, sizeof *paths);
    note_traces(&session, paths, &report);
    if (rp_report_profile_json(&report, &json, &err) < 0 ||
        profile_session_commit(&session, rp_buf_text(&json), &err) < 0) {
        if (is_rank && !options.wallclock)
            rp_profile_job_end(&options, &job, NULL, report.provenance.exit_status);
        return rp_cli_error(&err);
    }
    code = is_rank && !options.wallclock
               ? rp_profile_job_end(&options, &job, session.out_of_order ? NULL : &report,
                                    report.provenance.exit_status)
               : print_result(&options, &session, &report, rp_buf_text(&json), &err);
    return code == 0 && session.out_of_order ? interrupted_code(&options, &session, &err) : code;
}
