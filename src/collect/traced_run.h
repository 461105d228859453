/**
 * @file traced_run.h
 * @brief One run of the program under the built-in collector (or untraced, for the wall clock).
 */
#ifndef RP_COLLECT_TRACED_RUN_H
#define RP_COLLECT_TRACED_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/proc.h"
#include "collect/environment.h"

struct rp_run_request {
    const struct rp_environment *env;
    enum rp_device device; /**< resolved */
    char *const *argv;
    bool traced;
    bool log;              /**< the collector writes tracer.log into out_dir */
    const char *out_dir;   /**< where the databases go */
    const char *db_prefix; /**< "trace": trace_results.db, trace_2_results.db, ... */
    int stdout_fd;         /**< for the program; -1 = inherit */
};

/** Owned; release with rp_run_free. */
struct rp_run {
    struct rp_proc_end end;
    char **db_paths; /**< one per process that used the GPU, in order of start */
    size_t db_count;
};

/**
 * Runs the program once and turns what its processes recorded into rocpd databases, also when the
 * program failed (ret->end tells).
 * @return 0; RP_USAGE (not a program), RP_ENVIRONMENT, RP_BAD_INPUT (damaged record file),
 *         RP_INTERRUPTED
 */
int rp_run_program(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err);
void rp_run_free(struct rp_run *run);

#endif
