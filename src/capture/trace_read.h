/**
 * @file trace_read.h
 * @brief Reader of record files (records.h), for files that may be cut short, unclosed or damaged.
 *
 * Cut short or unclosed is normal (the program was killed) and only noted; what the format cannot
 * explain is refused with the file's name, the record's number and what is wrong with it.
 */
#ifndef RP_CAPTURE_TRACE_READ_H
#define RP_CAPTURE_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/records.h"

struct rp_err;
struct rp_trace_file;

/**
 * Maps a trace and checks every record: kinds, ids that refer to something, string parts, times.
 * Where the header says that records were lost, kernels, queues and code objects that are referred
 * to may be among them: their ids are then accepted as they are. Strings always exist.
 * @return 0; RP_ENVIRONMENT when it cannot be read, RP_BAD_INPUT when it is no trace or damaged
 */
int rp_trace_file_open(const char *path, struct rp_trace_file **ret, struct rp_err *err);

/** The same for bytes in memory, which must outlive the reader. @p name is for messages. */
int rp_trace_file_parse(const char *name, const void *bytes, size_t size,
                        struct rp_trace_file **ret, struct rp_err *err);

/** Accepts NULL. */
void rp_trace_file_close(struct rp_trace_file *file);

/** A copy with a consistent committed_records: as many as are really there. */
const struct rp_trace_header *rp_trace_file_header(const struct rp_trace_file *file);

/** Whether the tool was unloaded in order, every committed record is there and nothing was lost. */
bool rp_trace_file_complete(const struct rp_trace_file *file);

/** Records in order of writing; strings among them. The array belongs to the reader. */
const struct rp_record *rp_trace_file_records(const struct rp_trace_file *file, size_t *ret_count);

/** Text of a string; "" for id 0. Never NULL: every id in an accepted trace exists. */
const char *rp_trace_file_string(const struct rp_trace_file *file, uint32_t id);

#endif
