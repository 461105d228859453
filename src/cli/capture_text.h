/**
 * @file capture_text.h
 * @brief Capture folders for people and programs.
 */
#ifndef RP_CLI_CAPTURE_TEXT_H
#define RP_CLI_CAPTURE_TEXT_H

#include "base/buf.h"
#include "report/report.h"
#include "trace/capture.h"

/** One line: folder, kernel, geometry, memory. */
void rp_capture_line(const char *folder, const struct rp_capture *capture,
                     struct rp_term_style style, struct rp_buf *to);

/** What is in it. */
void rp_capture_describe(const char *folder, const struct rp_capture *capture,
                         struct rp_term_style style, struct rp_buf *to);

/** The same as JSON (schemas/capture.schema.json). @return false: out of memory */
bool rp_capture_describe_json(const char *folder, const struct rp_capture *capture,
                              struct rp_buf *to);

#endif
