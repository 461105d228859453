/**
 * @file device_threads.h
 * @brief Thread traces of the software device: asks for them, and turns what was recorded into the
 * files that rocprofv3 leaves.
 */
#ifndef RP_COLLECT_DEVICE_THREADS_H
#define RP_COLLECT_DEVICE_THREADS_H

#include <stddef.h>

#include "collect/rocprofv3_args.h"
#include "collect/traced_run.h"

/** @return 0; RP_USAGE for what the software device does not have */
int rp_device_threads_check(const struct rp_thread_trace_options *options, struct rp_err *err);

/**
 * Puts the wish into the environment, for programs started from now on; with detailed timing, which
 * thread traces are made of.
 * @param options  with symbols
 * @return 0, RP_ENVIRONMENT
 */
int rp_device_threads_ask(const struct rp_thread_trace_options *options, struct rp_err *err);
/** Takes it out again. @param timing  ROCM_PERF_DEVICE_TIMING as it was; NULL: not there */
void rp_device_threads_ask_nothing(const char *timing);

/**
 * Traces beside the record files of a run's processes, in the order of their start, become folders
 * in DIR/<prefix>-threads; run->thread_trace is that if there are any.
 * @return 0, RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_device_threads_convert(const struct rp_run_request *request,
                              const struct rp_thread_trace_options *options,
                              const char *const *record_files, size_t count, struct rp_run *run,
                              struct rp_err *err);

#endif
