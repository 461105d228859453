/**
 * @file record_file.h
 * @brief The writer of the record file (trace/records.h) is safe against sudden death of the
 * process.
 *
 * The file is mapped shared, window by window; a record is visible once committed_records has been
 * release-stored behind it, so everything committed outlives the process. Blocks are reserved
 * before a window is used: a full disk is counted in lost_records instead of raising SIGBUS.
 * All functions may be called from any thread.
 */
#ifndef RP_TRACER_RECORD_FILE_H
#define RP_TRACER_RECORD_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_trace_string {
    struct rp_trace_string *next;
    uint32_t id;
    uint32_t hash;
    char text[];
};

enum { RP_TRACE_STRING_BUCKETS = 1024 };

/** Zero-initialise it, then call rp_trace_open(). */
struct rp_trace {
    int fd;
    bool open;
    bool discards; /**< nobody reads it: records are not kept */
    pthread_mutex_t lock;
    struct rp_trace_header *header; /**< mapping of the first page, for as long as it is open */
    pthread_mutex_t window_lock;    /**< inside lock: the window stays while it is held */
    uint8_t *window;
    uint64_t window_offset_bytes;
    uint64_t prepared_bytes; /**< pages of the file are there up to here; under window_lock */
    uint64_t reserved_bytes; /**< blocks exist up to here */
    uint64_t record_count;
    uint64_t retry_at_lost; /**< after a failure: try again when lost_records reaches this */
    uint32_t string_count;
    struct rp_trace_string *strings[RP_TRACE_STRING_BUCKETS];
};

/** Creates the file; -errno on failure, nothing is left behind then. */
int rp_trace_open(struct rp_trace *trace, const char *path, const struct rp_trace_header *header);

/** Appends one record, or counts it as lost. */
void rp_trace_append(struct rp_trace *trace, const struct rp_record *record);

/**
 * Maps the pages that the next records go to, so that program threads do not wait for the file
 * system to do so. The tool's own thread calls it again and again.
 */
void rp_trace_prepare(struct rp_trace *trace);

/** These are numbers of the header. */
enum rp_trace_note {
    RP_TRACE_LOST_RECORDS,    /**< so many more that should have become records did not */
    RP_TRACE_LAUNCH_CALLS,    /**< so many more calls of the program that launch */
    RP_TRACE_LOST_DISPATCHES, /**< in all */
    RP_TRACE_FLAGS,           /**< besides those that are set */
    RP_TRACE_FINI_NS,
};
void rp_trace_note(struct rp_trace *trace, enum rp_trace_note what, uint64_t value);

/** Something that should have become a record did not. */
static inline void rp_trace_count_lost(struct rp_trace *trace)
{
    rp_trace_note(trace, RP_TRACE_LOST_RECORDS, 1);
}

/** Id of a string, written on first use; 0 for NULL and "". */
uint32_t rp_trace_string(struct rp_trace *trace, const char *text);

/** Cuts the file to its used length and unmaps it. */
void rp_trace_close(struct rp_trace *trace);

#endif
