/**
 * @file isolate_run.h
 * @brief Runs a program and captures one dispatch of it (capture/snapshot.h).
 */
#ifndef RP_COLLECT_ISOLATE_RUN_H
#define RP_COLLECT_ISOLATE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/proc.h"
#include "collect/environment.h"

struct rp_err;

enum { RP_ISOLATION_NAMES = 16 };

struct rp_isolation_request {
    const struct rp_environment *env;
    enum rp_device device; /**< resolved */
    char *const *argv;
    const char *kernel;  /**< regular expression for demangled names */
    uint64_t dispatch;   /**< 1, 2, ... of those that match */
    const char *folder;  /**< of the capture; must not exist */
    const char *version; /**< of this program */
};

/** Owned; release with rp_isolation_free. */
struct rp_isolation {
    struct rp_proc_end end;
    bool captured;
    char *declined;      /**< why it is not captured though it was there; NULL: not known */
    size_t processes;    /**< that used a GPU */
    size_t kernels_seen; /**< kernels in loaded code objects, and those with a matching name */
    size_t kernels_wanted;
    char *names[RP_ISOLATION_NAMES]; /**< of the first kernels seen, without HIP's own */
    bool more_names;
};

/**
 * The program runs to its end whether the dispatch is captured or not.
 * @return 0; RP_USAGE (no program, a regular expression that cannot be read, a folder that exists),
 *         RP_ENVIRONMENT (the capture cannot be written, ...), RP_INTERRUPTED
 */
int rp_isolate_program(const struct rp_isolation_request *request, struct rp_isolation *ret,
                       struct rp_err *err);
void rp_isolation_free(struct rp_isolation *isolation);

#endif
