/**
 * @file json_trace.h
 * @brief Records of a JSON trace become rows of rocpd: those that rocprofv3 would have written.
 */
#ifndef RP_TRACE_JSON_TRACE_H
#define RP_TRACE_JSON_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json_read.h"
#include "trace/foreign_trace.h"

struct rp_err;

enum {
    RP_JSON_SECTIONS = 0
#define SECTION(path, function, whole) +1
#include "trace/json_sections.def"
#undef SECTION
};

/** Has a process of the file a record in that section? False when the file cannot be read so far.
 */
bool rp_json_has_records(const char *path, const char *section);

/* Cuts a JSON file of any length into its values, in the memory of one of them.
 *
 * What a value is, jansson says; here it is only found where one ends. A value that is handed over
 * has been made what jansson takes: integers that need all 64 bits (handles) become texts, NaN and
 * Infinity null, bytes that are not UTF-8 U+FFFD.
 */

/**
 * The file may be packed by gzip. @param peek  as for rp_gzip_open
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT when it cannot be read
 */
int rp_json_stream_open(struct rp_json_stream *cut, const char *path, uint64_t peek,
                        struct rp_err *err);

#endif
