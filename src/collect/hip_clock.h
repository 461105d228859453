/**
 * @file hip_clock.h
 * @brief When HIP calls happen on the clock of the software device, which the host does not move.
 *
 * A program on the software device takes no modelled time for itself. So a call begins when the one
 * before it in its thread has ended, and ends at once; one that waits for work ends when that work
 * does. What it waited for follows from the order of the calls and from the work each started, not
 * from when the host saw what: equal runs give equal times. Only where a thread has waited for
 * another one, which nothing records, the work that it starts then tells when.
 */
#ifndef RP_COLLECT_HIP_CLOCK_H
#define RP_COLLECT_HIP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_err;
struct rp_record_file;
struct rp_hip_clock;

/** One call; steps are made in the order of entry. */
struct rp_hip_step {
    uint64_t correlation_id;
    uint64_t event; /**< handle, if the call has one */
    int64_t stream; /**< 0 = the default stream */
    uint32_t tid;
    enum rp_hip_kind kind;
    bool non_blocking; /**< of STREAM_CREATE */
};

int rp_hip_clock_new(const struct rp_record_file *file, int64_t stream_count,
                     struct rp_hip_clock **ret, struct rp_err *err);
void rp_hip_clock_free(struct rp_hip_clock *clock);

int rp_hip_clock_step(struct rp_hip_clock *clock, const struct rp_hip_step *step,
                      int64_t *ret_start_ns, int64_t *ret_end_ns, struct rp_err *err);

#endif
