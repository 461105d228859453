/**
 * @file run.h
 * @brief What the opaque handle of include/rocm-perf/rocm-perf.h holds.
 */
#ifndef RP_LIBRARY_RUN_H
#define RP_LIBRARY_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "library/parts.h"

struct rocm_perf_error;
struct rp_kernel_summary;

/** Where else a kernel of the ranking is named; NULL: nowhere. */
struct rp_run_kernel {
    const struct rp_kernel_summary *summary;
    const struct rp_roofline_kernel *roofline;
};

struct rocm_perf {
    struct rp_inputs in;
    struct rp_parts parts;
    struct rp_origin origin;
    char *arch; /**< NULL: not named */
    enum { RP_RUN_OPENED, RP_RUN_ANALYSED, RP_RUN_FAILED } state;
    struct rp_run_kernel *kernels; /**< by the ranking */
    char **notes;
    size_t note_count;
};

/** Tells the caller, who may not want to know. @return -err->code */
int rp_run_failed(const struct rp_err *err, struct rocm_perf_error *ret);

/** Numbers have a point, whatever the program's locale says. */
struct rp_plain_numbers {
    void *own, *former; /**< locale_t; NULL: out of memory, and nothing was changed */
};
struct rp_plain_numbers rp_plain_numbers_begin(void);
void rp_plain_numbers_end(struct rp_plain_numbers *plain);

#endif
