/**
 * @file profile_session.h
 * @brief What `rocm-perf profile` does between its options and its report.
 */
#ifndef RP_CLI_PROFILE_SESSION_H
#define RP_CLI_PROFILE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/environment.h"
#include "collect/result_dir.h"
#include "collect/traced_run.h"
#include "rocm-perf/analysis.h"
#include "rocm-perf/store.h"

struct rp_profile_options {
    unsigned runs;
    enum rp_device device; /**< the user's wish */
    bool wallclock;        /**< --no-rocprof */
    bool json, quiet, debug;
    const char *out_dir;
    char *const *argv; /**< program and arguments */
};

/** What the collector says it could not record, over all runs. */
struct rp_losses {
    uint64_t incomplete_traces, lost_records, lost_dispatches, untraced_queues;
};

/** Owned; release with rp_profile_session_free. */
struct rp_profile_session {
    struct rp_environment env;
    enum rp_device device; /**< resolved */
    struct rp_result_dir dir;
    struct rp_run *runs; /**< in order; runs[0] is the base run */
    size_t run_count;
    struct rp_store **stores; /**< of the base run, one per process */
    size_t store_count;
    struct rp_losses losses;
    double *runtime_ms;         /**< per run: sum of (end - start) of all dispatches */
    double *wall_ms;            /**< per run: the whole process */
    struct rp_profile *profile; /**< wallclock: no kernels, stability of the wall clock */
};

/**
 * Runs the program options->runs times and computes the profile.
 * @return 0; RP_PROGRAM when a run failed (what it recorded is kept in DIR/failed) or none of its
 *         kernels ended, RP_BAD_INPUT when it launched no kernel, RP_INTERRUPTED, RP_USAGE,
 * RP_ENVIRONMENT
 */
int rp_profile_session_run(const struct rp_profile_options *options, struct rp_profile_session *ret,
                           struct rp_err *err);

/** Writes profile.json beside the traces and moves all into place. */
int rp_profile_session_commit(struct rp_profile_session *session, const char *json,
                              struct rp_err *err);
void rp_profile_session_free(struct rp_profile_session *session);

#endif
