/**
 * @file threads_write.h
 * @brief Writes a thread trace as rocprofv3 leaves it after decoding: a folder of JSON files and a
 * table beside it (docs/format/thread-trace.md).
 */
#ifndef RP_COLLECT_THREADS_WRITE_H
#define RP_COLLECT_THREADS_WRITE_H

#include "collect/threads_listing.h"

struct rp_demangler;

/**
 * DIR/ui_output_agent_A_dispatch_D and DIR/stats_ui_output_agent_A_dispatch_D.csv
 * @return 0, RP_ENVIRONMENT
 */
int rp_threads_write(const struct rp_threads_file *file, const struct rp_threads_listing *listing,
                     struct rp_demangler *demangler, const char *dir, uint64_t agent,
                     uint64_t dispatch, struct rp_err *err);

#endif
