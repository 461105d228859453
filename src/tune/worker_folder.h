/**
 * @file worker_folder.h
 * @brief Where a worker keeps traces and outputs: gone when it ends, or when the next one begins.
 */
#ifndef RP_TUNE_WORKER_FOLDER_H
#define RP_TUNE_WORKER_FOLDER_H

struct rp_err;

struct rp_worker_folder {
    char *path; /**< NULL: there is none */
    int lock;   /**< held while the worker lives */
};

/**
 * A new folder in $TMPDIR, or /tmp. Those of workers that were killed are removed.
 * @return 0, RP_ENVIRONMENT
 */
int rp_worker_folder_open(struct rp_worker_folder *ret, struct rp_err *err);
/** Removes it. Accepts one that has no path. */
void rp_worker_folder_close(struct rp_worker_folder *folder);

#endif
