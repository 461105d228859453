/**
 * @file capture.h
 * @brief Names in a capture folder.
 */
#ifndef RP_TRACE_CAPTURE_H
#define RP_TRACE_CAPTURE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/capture_pages.h"
#include "trace/capture_stream.h"

struct rp_capture;
struct rp_capture_writer;
struct rp_err;
struct rp_snapshot_feed;

#define RP_CAPTURE_DISPATCH_FILE "dispatch.json"
#define RP_CAPTURE_REGIONS_FILE  "memory_regions.json"
#define RP_CAPTURE_COVERAGE_FILE "coverage.json"
/* This file is written last, so that a folder without it is not complete. */
#define RP_CAPTURE_CHECKSUMS_FILE "checksums.json"
/* The self check is added to a complete capture. */
#define RP_CAPTURE_SELF_CHECK_FILE "self_check.json"
#define RP_CAPTURE_KERNARG_FILE    "kernarg.bin"
#define RP_CAPTURE_CODE_FILE       "kernel.hsaco"
#define RP_CAPTURE_PAGES_FILE      "memory/pages.bin"
/* Such files are in memory/ and after/. */
#define RP_CAPTURE_REGION_FILE "region_%012" PRIx64 ".bin"
/* A folder of several captures has one of these for each. */
#define RP_CAPTURE_SEVERAL_FOLDER "dispatch-%" PRIu64
#define RP_CAPTURE_PARTIAL        ".partial-" /* A process number follows. */

#define RP_CAPTURE_FORMAT "rocm-perf-capture"
enum { RP_CAPTURE_FORMAT_VERSION = 1 };

/* Reader of capture folders (docs/formats.md). */

/** This is a captured region. */
struct rp_capture_memory {
    struct rp_snapshot_region region;
    struct rp_region_map before;
    struct rp_region_map after; /**< no runs: nothing changed */
    uint64_t nonzero_pages, changed_pages;
};

/** What is not captured. */
struct rp_capture_refusal {
    struct rp_snapshot_region region;
    const char *reason;
};

/** Strings belong to the capture. */
struct rp_capture_facts {
    struct rp_snapshot_dispatch dispatch;
    const char *name, *symbol;
    const char *isa, *product; /**< "" = unknown */
    const char *acquire_scope, *release_scope;
    bool barrier;
    bool software;
    const char *timing; /**< of the software device, a word of --timing; "" = unknown */
    uint32_t pid;
    const char *version; /**< of rocm-perf that made it */
};

/**
 * Opens a folder, checks its texts and maps, and finds its pages. Their contents are not looked at:
 * that is for rp_capture_verify, and for those who read them.
 * @return 0; RP_BAD_INPUT naming the file that is missing or damaged; RP_ENVIRONMENT
 */
int rp_capture_open(const char *folder, struct rp_capture **ret, struct rp_err *err);
/** Closes a capture; NULL is accepted. */
void rp_capture_close(struct rp_capture *capture);

/** What is known of an open capture. */
struct rp_capture_contents {
    struct rp_capture_facts facts;
    struct rp_capture_memory *memory;
    size_t memory_count;
    struct rp_capture_refusal *refusals;
    size_t refusal_count;
    uint64_t stored_pages;
};

const struct rp_capture_contents *rp_capture_contents(const struct rp_capture *capture);

/** Reads one page of a region as it was in a state. */
int rp_capture_page(struct rp_capture *capture, const struct rp_capture_memory *memory,
                    enum rp_region_state state, uint64_t page, uint8_t ret[RP_PAGE_BYTES],
                    struct rp_err *err);

struct rp_capture_sizes {
    uint64_t files, bytes; /**< on the disk */
};

/** Reads every byte: checksums of the files, and all pages. @return 0 or RP_BAD_INPUT */
int rp_capture_verify(struct rp_capture *capture, struct rp_capture_sizes *ret, struct rp_err *err);

/* Writes a capture folder (docs/formats.md) as its contents come, in bounded memory.
 *
 * It grows in "<folder>.partial-<pid>" and gets its name when it is whole and on the disk.
 */

/** What dispatch.json says besides what the tool told. */
struct rp_capture_origin {
    const char *const *command; /**< NULL-terminated */
    const char *version;        /**< of rocm-perf */
    const char *rocm;           /**< NULL: unknown */
};

/* The receiving end of capture_stream.h: messages of one process into a capture folder.
 *
 * The process may be killed, or be of another version: whatever comes is checked, and ends in a
 * whole capture or in none.
 */

struct rp_snapshot_request {
    const char *folder; /**< of the capture, made when a dispatch comes */
    bool several;       /**< it gets a folder for each one: RP_CAPTURE_SEVERAL_FOLDER */
    struct rp_capture_origin origin;
    /**
     * Returns the name of a symbol as people write it, which the caller owns, or NULL when memory
     * ends.
     */
    char *(*name)(const char *symbol, void *data);
    /** Whether dispatches of a kernel are wanted. */
    bool (*wants)(const char *symbol, const char *name, void *data);
    /**
     * Is called when the dispatch with this number among those that match takes long. NULL: nobody
     * wants to know
     */
    void (*waits)(uint64_t match, const struct rp_snapshot_waits *waits);
    void *data;
};

/** @param wishes  must outlive the feed */
int rp_snapshot_feed_open(const struct rp_snapshot_request *wishes, struct rp_snapshot_feed **ret,
                          struct rp_err *err);

/**
 * Returns how many bytes a message with this header may have, so that a larger one is refused
 * before it is read.
 */
size_t rp_snapshot_max_bytes(uint32_t kind);

/**
 * Takes a message with its bytes, which are aligned to 8.
 * @param ret_reply  for KERNEL: the answer
 * @return 0; RP_BAD_INPUT (not understood), RP_ENVIRONMENT (cannot be written): then it is over
 */
int rp_snapshot_feed_take(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *message,
                          const void *bytes, uint32_t *ret_reply, struct rp_err *err);

/** What has come of it so far. */
struct rp_snapshot_state {
    struct rp_capture_writer *writer; /**< not NULL: a capture has begun and is not whole */
    size_t done;                      /**< whole captures */
    uint64_t match;      /**< number of the newest one among the dispatches that match */
    char *declined;      /**< why the tool declined first; NULL: it did not */
    size_t declines;     /**< how often it did */
    size_t seen, wanted; /**< kernels, and those of them that are wanted */
    struct rp_snapshot_filtered passed[RP_SNAPSHOT_MAX_FILTERED]; /**< left out, one of each kind */
    size_t passed_count;
};

const struct rp_snapshot_state *rp_snapshot_feed_state(const struct rp_snapshot_feed *feed);

/** Closes the feed and removes a capture that is not complete. NULL is accepted. */
void rp_snapshot_feed_close(struct rp_snapshot_feed *feed);

/* checksums.json holds size and XXH3 (128 bits) of each file of a capture folder. It is written
 * last, so that a folder without it is not complete.
 */

/** Writes checksums of all files in the folder. */
int rp_capture_write_checksums(const char *folder, struct rp_err *err);

/**
 * Adds the checksum of one more file with the extension .json, or of one that was rewritten. The
 * list must exist, and its other entries stay.
 */
int rp_capture_add_checksum(const char *folder, const char *name, struct rp_err *err);

/** @return 0; RP_BAD_INPUT naming the first file that is missing or another */
int rp_capture_check_checksums(const char *folder, uint64_t *ret_files, uint64_t *ret_bytes,
                               struct rp_err *err);

/**
 * Checks the files at the top of the folder except pages.bin, whose pages have checksums of their
 * own. A replay would otherwise take these files as they are. It costs milliseconds, whatever the
 * capture's size.
 */
int rp_capture_check_small_files(const char *folder, struct rp_err *err);

#endif
