/**
 * @file capture_files.h
 * @brief What the writer of a capture folder knows, for the files that make it.
 */
#ifndef RP_TRACE_CAPTURE_FILES_H
#define RP_TRACE_CAPTURE_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/capture.h"
#include "trace/capture_pages.h"
#include "trace/capture_stream.h"

struct rp_err;

/* Opens files of a capture folder for reading. */

/**
 * Never waits for a writer (a pipe that stands there).
 * @return 0, RP_BAD_INPUT when it is missing or no regular file, RP_ENVIRONMENT when it cannot be
 *         read
 */
int rp_capture_open_file(const char *path, int *ret_fd, struct rp_err *err);

/**
 * Reads the JSON text of a file, repeated keys refused.
 * @param why  what is wrong with the text
 * @param ret  NULL: it is none
 * @return as rp_capture_open_file
 */
int rp_capture_load_json(const char *path, json_error_t *why, json_t **ret, struct rp_err *err);

struct rp_captured_region {
    struct rp_snapshot_region region;
    char *reason; /**< not NULL: it is not captured, because */
    bool has_after;
    uint64_t nonzero_pages;
    uint64_t changed_pages;
};

struct rp_capture_writer {
    char *folder;
    char *partial; /**< NULL: it has got its name */
    struct rp_snapshot_hello hello;
    struct rp_snapshot_dispatch dispatch;
    char *symbol, *name;
    struct rp_page_store *store;

    struct rp_captured_region *regions;
    size_t count;
    struct rp_snapshot_region *unmapped;
    size_t unmapped_count;
    bool after;                   /**< the state after the dispatch comes */
    size_t at;                    /**< the region that comes */
    size_t next_after;            /**< likewise, after the dispatch */
    struct rp_region_writer *map; /**< its map; NULL: none has begun */
    struct rp_region_map before;  /**< after the dispatch: its map before */
    uint64_t next_page;
};

/** Writes dispatch.json, memory_regions.json and coverage.json. */
int rp_capture_write_json(const struct rp_capture_writer *w, const struct rp_capture_origin *origin,
                          struct rp_err *err);

#endif
