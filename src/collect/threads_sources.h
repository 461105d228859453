/**
 * @file threads_sources.h
 * @brief Copies of the source files that a listing names, for viewers on other machines.
 */
#ifndef RP_COLLECT_THREADS_SOURCES_H
#define RP_COLLECT_THREADS_SOURCES_H

struct rp_err;
struct rp_threads_listing;

/**
 * FOLDER/source_<n>_<name>, and FOLDER/snapshots.json, which names them in a tree of folders. What
 * cannot be read is left out; without any file there is no tree.
 * @return 0, RP_ENVIRONMENT
 */
int rp_threads_copy_sources(const struct rp_threads_listing *listing, const char *folder,
                            struct rp_err *err);

#endif
