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
#include "cli/cli.h"
#include "cli/options.h"
#include "run/record_to_db.h"
#include "run/result_folder.h"
#include "run/run_program.h"
#include "run/standard_input.h"
#include "trace/rocpd.h"

struct rp_run;

/** cmd_profile.c makes and releases it. */
struct rp_profile_session {
    struct rp_environment env;
    struct rp_run_options run;      /**< resolved; of all runs but the first it counts nothing */
    const struct rp_tracer *tracer; /**< NULL: wallclock */
    char *tracer_version;           /**< NULL: that of this program, or unknown */
    struct rp_result_folder dir;
    const char *run_id; /**< what the processes of other ranks have in common with this run; NULL */
    uint32_t ranks;     /**< of the job; 0: this is none of them */
    int failed_status;  /**< exit status of a program that failed: what stays of a failed session */
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
    double *gpu_span_ms;         /**< as in rp_profile_report */
    struct rp_repeat_kernels repeat_kernels;
    struct rp_run_differences differences;
    uint64_t *failed_launches;  /**< per run; NULL: wallclock */
    struct rp_profile *profile; /**< wallclock: no kernels, stability of the wall clock */
    uint64_t unrecorded; /**< dispatches of the base run outside of the part that is recorded */
    char *range_names;   /**< RP_STORE_RANGES_TAG of the base run */
    int interrupted;     /**< the signal that ended a run: no more are made; 0: none */
    bool out_of_order;   /**< that run was the base run, and its program did not end as it should */
    bool leak_shown;     /**< of ROCr, with --debug */
    char **warnings;     /**< of the tracer, shown once */
    size_t warning_count;

    /** What the software device has counted although nobody has asked for it. */
    struct rp_kept_counters kept;

    /* --roofline, --focus-critical and --deep-analysis add these. */
    struct rp_roof_options roof;  /**< as the command line says */
    struct rp_counters *counters; /**< of all passes; NULL: none */
    struct rp_roofline roofline;
    bool has_roofline;                      /**< or a reason in it */
    const char *roofline_reason;            /**< why it was not tried */
    char *counters_lost;                    /**< why a run that counts failed; NULL: none did */
    size_t counter_passes;                  /**< runs that counted */
    struct rp_thread_traces waves;          /**< of the run with a thread trace */
    struct rp_thread_trace_options threads; /**< what was asked of it */
    const char *no_threads_reason;          /**< why there is no thread trace; NULL: there is */
    char *threads_lost;                     /**< the same, where it is owned */
    struct rp_buf verdict; /**< of the program, in two sentences; empty: none was asked for */
    struct rp_buf summary; /**< for people, to print below the profile */
};

/** Says whether the run was killed, or ended with another status than the expected one. */
bool rp_profile_ended_badly(const struct rp_profile_cli *options, const struct rp_run *run);

/** Says which part of each run is recorded. */
struct rp_recording_window rp_profile_window(const struct rp_profile_cli *options);

struct rp_profile_step {
    const char *folder;            /**< below that of the result; NULL: that one */
    const char *prefix;            /**< of its databases */
    const char *what;              /**< for who watches: "run 2 of 3" */
    double left_s;                 /**< until the last such run has ended; 0: not known */
    const char *device_counters;   /**< of the software device, with commas; NULL: none */
    struct rp_kept_counters *kept; /**< takes the counters that were not asked for; NULL: none */
    const char *const *counters;   /**< a pass of the tracer, ended by NULL; NULL: none */
    const struct rp_thread_trace_options *threads; /**< NULL: no thread trace */
    bool call_sites;                               /**< HIP calls with their lines */
    bool shows_log;                                /**< with --debug, if the tracer does not */
    int stdout_fd;                                 /**< of the program, closed; 0 = inherit */
};

/** Runs the program once. It says what it does, gives the program the same standard input each
 * time, and shows what the tracer said, unless it was shown before. */
int rp_profile_run(const struct rp_profile_cli *options, struct rp_profile_session *session,
                   const struct rp_profile_step *step, struct rp_run *ret, struct rp_err *err);

/** Returns "was killed by signal 2 (Interrupt)", which the caller frees. */
char *rp_profile_end_text(const struct rp_profile_cli *options,
                          const struct rp_profile_session *session, const struct rp_run *run);

/** Says that HIP was not loaded, and what helps, behind what went wrong; "" where it was, or where
 * that is not known. */
const char *rp_profile_without_hip(const struct rp_profile_session *session,
                                   const struct rp_run *run);

/** Fails with "PROGRAM exited with status 3 in WHERE", and moves what was recorded to DIR/failed.
 */
int rp_profile_session_failed(const struct rp_profile_cli *options,
                              struct rp_profile_session *session, const struct rp_run *run,
                              const char *where, struct rp_err *err);

/** Opens the databases of a run. Free them with rp_profile_close_stores. */
int rp_profile_open_stores(const struct rp_run *run, struct rp_store ***ret, struct rp_err *err);
void rp_profile_close_stores(struct rp_store **stores, size_t count);

/** This process is one rank of a job, each of which profiles. */
struct rp_profile_job {
    int rank, size;
    char *root;   /**< the folder of the job, as --output names it */
    char *output; /**< that of this rank, below it */
    char *id;     /**< of the job; the same for all ranks */
};
struct rp_profile_report;

/** Finds by a launcher's variables whether there are other ranks.
 * @param ret release with rp_profile_job_free */
bool rp_profile_job_find(const char *output, struct rp_profile_job *ret);
/** Prints a warning where there are folders of more ranks than this run has. */
void rp_profile_note_stale(const char *root, int size);
/** Accepts zeros. */
void rp_profile_job_free(struct rp_profile_job *job);

/**
 * Notes that this rank has ended, and prints the profile of all if it was the last.
 * @param report of this rank; NULL: it has failed, and its message is printed
 * @param exit_status of its program
 * @return exit code
 */
int rp_profile_job_end(const struct rp_profile_cli *options, const struct rp_profile_job *job,
                       const struct rp_profile_report *report, int exit_status);

/** Makes further runs and results for --roofline, --focus-critical, --deep-analysis and --pmc, and
 * without them the same files as far as that needs no further run. */
int rp_profile_analyses(const struct rp_profile_cli *options, struct rp_profile_session *session,
                        struct rp_err *err);

/* This section lists the hardware counters of the software device, and asks it for them. */

/** Does --list-counters.
 * @return exit code */
int rp_list_device_counters(void);

/**
 * Checks that the device has all that --pmc names.
 * @return 0, or RP_USAGE with the name and what to do
 */
int rp_check_device_counters(const struct rp_profile_cli *options,
                             const struct rp_profile_session *session, struct rp_err *err);

/** Counters that nobody has asked for are taken of so many launches at most. */
enum { RP_MOST_KEPT_LAUNCHES = 50000 };

/** Says whether counters of the rooflines are taken that nobody has asked for. */
bool rp_keeps_counters(const struct rp_profile_cli *options,
                       const struct rp_profile_session *session);

/** Lists what the base run on the software device counts, with commas. NULL means nothing. */
char *rp_asked_device_counters(const struct rp_profile_cli *options,
                               const struct rp_profile_session *session);

/** Warns on stderr when launches lack counters that were asked for. */
void rp_warn_of_missing_counters(const struct rp_profile_cli *options,
                                 const struct rp_profile_session *session);

/** Says whether the device counts for this tracer, so that no further runs are needed. */
bool rp_device_counts(const struct rp_profile_session *session);

/* This section finds kernels that a run has launched, by their symbols. */

/**
 * Finds those of the base run's kernels whose name matches the expression.
 * @param regex NULL: those that are called as one of @p names, which ends with NULL
 * @param ret NULL-terminated; the names belong to the stores, so only the array is freed
 * @return 0; RP_USAGE (the expression), RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_kernel_symbols(const struct rp_profile_session *session, const char *regex,
                      const char *const *names, const char ***ret, struct rp_err *err);

#endif
