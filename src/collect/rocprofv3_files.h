/**
 * @file rocprofv3_files.h
 * @brief What rocprofv3 left in its output folder, found by content: names differ by version.
 */
#ifndef RP_COLLECT_ROCPROFV3_FILES_H
#define RP_COLLECT_ROCPROFV3_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct rp_err;

/** Owned; release with rp_rocprofv3_files_free. */
struct rp_rocprofv3_files {
    char **databases; /**< rocpd, of processes that used the GPU, by start of the process */
    size_t database_count;
    size_t unreadable;  /**< databases that were cut short */
    bool thread_traces; /**< at least one folder with a decoded thread trace */
};

/** @return 0, RP_ENVIRONMENT when the folder cannot be read or memory is out */
int rp_rocprofv3_files_find(const char *dir, struct rp_rocprofv3_files *ret, struct rp_err *err);
void rp_rocprofv3_files_free(struct rp_rocprofv3_files *files);

#endif
