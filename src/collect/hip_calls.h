/**
 * @file records.h
 * @brief The HIP calls of a record file: which stream each used, when it ran, and its rows.
 */
#ifndef RP_COLLECT_HIP_CALLS_H
#define RP_COLLECT_HIP_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_store_writer;
struct rp_record_file;

struct rp_hip_calls;

/**
 * Puts the calls into the order of their entry and follows the streams' handles through it: streams
 * are numbered 1, 2, ... in the order of their creation, or of their first use when their creation
 * was not seen, as rocprofv3 does; 0 is the default stream.
 *
 * On the software device the calls' times are not the host's, which has nothing to do with the
 * modelled clock: a call begins when the one before it in its thread has ended, and takes no time,
 * but one that waits for work ends with that work.
 */
int rp_hip_calls_read(const struct rp_record_file *file, struct rp_hip_calls **ret,
                      struct rp_err *err);
void rp_hip_calls_free(struct rp_hip_calls *calls);

size_t rp_hip_calls_count(const struct rp_hip_calls *calls);

/** Stream of what a call started; 0 also for what no call is known of. */
int64_t rp_hip_calls_stream(const struct rp_hip_calls *calls, uint64_t correlation_id);

/** Writes the streams, then the calls with their arguments. */
int rp_hip_calls_put(const struct rp_hip_calls *calls, struct rp_store_writer *writer,
                     struct rp_err *err);

#endif
