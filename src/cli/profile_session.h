/**
 * @file profile_session.h
 * @brief What `rocm-perf profile` does between its options and its report.
 */
#ifndef RP_CLI_PROFILE_SESSION_H
#define RP_CLI_PROFILE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "cli/results.h"
#include "collect/environment.h"
#include "collect/kept_input.h"
#include "collect/result_dir.h"
#include "collect/tracer.h"
#include "trace/rocpd.h"

enum { RP_MAX_PMC = 256 };

struct rp_profile_options {
    unsigned runs;
    enum rp_device device; /**< the user's wish */
    bool wallclock;        /**< --no-rocprof */
    bool json, quiet, debug;
    bool no_hip_calls;
    int64_t timeout_ns;  /**< of one run; 0 = none */
    int expected_status; /**< exit status of a program with which nothing is wrong */
    enum rp_tracer_wish tracer;
    bool roofline, focus_critical, deep_analysis;
    const char *counters[RP_MAX_PMC]; /**< --pmc, besides those of the roofline */
    size_t counter_count;
    struct rp_thread_trace_options threads;
    const char *out_dir;
    char *const *argv; /**< program and arguments */
};

/** Owned; release with rp_profile_session_free. */
struct rp_profile_session {
    struct rp_environment env;
    enum rp_device device;          /**< resolved */
    const struct rp_tracer *tracer; /**< NULL: wallclock */
    char *tracer_version;           /**< NULL: that of this program, or unknown */
    struct rp_result_dir dir;
    struct rp_kept_input input; /**< for all runs */
    struct rp_run *runs;        /**< in order; runs[0] is the base run */
    size_t run_count;
    struct rp_store **stores; /**< of the base run, one per process */
    size_t store_count;
    struct rp_losses losses;     /**< over all runs */
    double *runtime_ms;          /**< per run: sum of (end - start) of all dispatches */
    double *wall_ms;             /**< per run: the whole process */
    struct rp_profile **repeats; /**< per run but the first */
    double *kernel_ms;           /**< as in rp_profile_report */
    struct rp_repeat_kernels repeat_kernels;
    struct rp_run_differences differences;
    uint64_t *failed_launches;  /**< per run; NULL: wallclock */
    struct rp_profile *profile; /**< wallclock: no kernels, stability of the wall clock */
    bool leak_shown;            /**< of ROCr, with --debug */
    char **warnings;            /**< of the tracer, shown once */
    size_t warning_count;

    /* What --roofline, --focus-critical and --deep-analysis add. */
    struct rp_counters *counters; /**< of all passes; NULL: none */
    struct rp_roofline roofline;
    bool has_roofline;             /**< or a reason in it */
    const char *roofline_reason;   /**< static: why it was not tried */
    size_t counter_passes;         /**< runs that counted */
    struct rp_thread_traces waves; /**< of the run with a thread trace */
    const char *no_threads_reason; /**< static: why there is no thread trace; NULL: there is */
    struct rp_buf summary;         /**< for people, to print below the profile */
};

/** It was killed, or ended with another status than the one that is expected. */
bool rp_profile_ended_badly(const struct rp_profile_options *options, const struct rp_run *run);

/**
 * Runs the program options->runs times and computes the profile.
 * @return 0; RP_PROGRAM when a run failed (what it recorded is kept in DIR/failed) or none of its
 *         kernels ended, RP_BAD_INPUT when it launched no kernel, RP_INTERRUPTED, RP_USAGE,
 * RP_ENVIRONMENT
 */
int rp_profile_session_run(const struct rp_profile_options *options, struct rp_profile_session *ret,
                           struct rp_err *err);

/** Shows what the tracer said, unless it was shown before. */
int rp_profile_session_warn(struct rp_profile_session *session, const struct rp_run *run,
                            struct rp_err *err);

/** "PROGRAM exited with status 3 in WHERE"; what was recorded goes to DIR/failed. Always fails. */
int rp_profile_session_failed(const struct rp_profile_options *options,
                              struct rp_profile_session *session, const struct rp_run *run,
                              const char *where, struct rp_err *err);

/** "software", "hardware" or NULL: our collector writes it down, rocprofv3 the environment of the
 *  process. */
int rp_profile_device_of(struct rp_store *store, const char **ret, struct rp_err *err);

/** Opens the databases of a run; free with rp_profile_close_stores. */
int rp_profile_open_stores(const struct rp_run *run, struct rp_store ***ret, struct rp_err *err);
void rp_profile_close_stores(struct rp_store **stores, size_t count);

/** Further runs and results for --roofline, --focus-critical, --deep-analysis and --pmc. */
int rp_profile_extras(const struct rp_profile_options *options, struct rp_profile_session *session,
                      struct rp_err *err);

/** Writes profile.json beside the traces and moves all into place. */
int rp_profile_session_commit(struct rp_profile_session *session, const char *json,
                              struct rp_err *err);
void rp_profile_session_free(struct rp_profile_session *session);

#endif
