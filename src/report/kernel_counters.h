/** @file kernel_counters.h @brief Hardware counters of a profile's kernels: sums over dispatches.
 */
#ifndef RP_REPORT_KERNEL_COUNTERS_H
#define RP_REPORT_KERNEL_COUNTERS_H

#include <stdbool.h>

#include "analysis/name_index.h"

struct rp_counted_dispatch;
struct rp_counters;
struct rp_kernel_summary;
struct rp_profile;

struct rp_kernel_counters {
    const struct rp_counters *set;            /**< NULL: nothing was counted */
    const struct rp_profile *profile;         /**< whose kernels are asked for */
    const struct rp_counted_dispatch **order; /**< by kernel and device, else as in the file */
    struct rp_name_index counted, profiled;   /**< names of kernels */
};

/** @return false: out of memory. @p set may be NULL; both must stay until the end. */
bool rp_kernel_counters_make(struct rp_kernel_counters *ret, const struct rp_profile *profile,
                             const struct rp_counters *set);
void rp_kernel_counters_free(struct rp_kernel_counters *counters);

/**
 * Sums of all counters over the dispatches of a kernel, by number in the set. Dispatches were
 * counted under the kernel's name: if another kernel of the GPU has it too, as when code is
 * compiled twice, nobody knows whose they are.
 * @param ret_known  whether all these dispatches have the counter; its sum is one only then
 * @return false: nothing is known of the kernel
 */
bool rp_kernel_counters_sum(const struct rp_kernel_counters *counters,
                            const struct rp_kernel_summary *kernel, double *ret_sums,
                            bool *ret_known);

#endif
