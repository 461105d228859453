/**
 * @file ci_text.h
 * @brief Text of unknown origin as CI services read it: Markdown of GitHub and GitLab, workflow
 *        commands, JUnit XML, OpenMetrics. Nothing in it acts there.
 */
#ifndef RP_REPORT_CI_TEXT_H
#define RP_REPORT_CI_TEXT_H

#include <stddef.h>

struct rp_buf;

/** A comment may have 65,535 bytes. Writers stop here, so that there is room for an end. */
enum { RP_MARKDOWN_MOST_BYTES = 60000, RP_MARKDOWN_NAME_CELLS = 120 };

/** Appends our own words, which have no Markdown or HTML in them, cut to so many cells. GitHub
 * reads "@name", "#1" and "www." in them nevertheless, so text from a trace goes into a code span.
 */
void rp_markdown_plain(struct rp_buf *buf, const char *text, unsigned most_cells);
/** Appends a code span, in which nothing is acted on, with any text, cut to RP_MARKDOWN_NAME_CELLS.
 * It appends nothing for an empty text. */
void rp_markdown_code(struct rp_buf *buf, const char *text);
/** Writes the same in a cell of a table, where a '|' would end the cell even within code. */
void rp_markdown_cell(struct rp_buf *buf, const char *text);
/** Writes a block of code, line by line, in which nothing is acted on. */
void rp_markdown_block(struct rp_buf *buf, const char *text);

/** Writes a workflow command of GitHub, one line.
 * @param kind "error", "warning", "notice"
 * @param file NULL: of no file
 * @param line 0: of no line of it */
void rp_workflow_annotate(struct rp_buf *buf, const char *kind, const char *title, const char *file,
                          unsigned line, const char *text);

extern const char rp_junit_first_line[];

struct rp_junit_counts {
    size_t tests, failures, errors, skipped;
};

void rp_junit_begin_suite(struct rp_buf *buf, const char *name, struct rp_junit_counts n);
void rp_junit_property(struct rp_buf *buf, const char *name, const char *value);
/** Servers use the class to keep cases of several results apart. The tag is left open for a time,
 * and ended with ">". */
void rp_junit_begin_case(struct rp_buf *buf, const char *class, const char *name);
void rp_junit_end_case(struct rp_buf *buf);
/** Writes "failure", "error" or "skipped". The text is written twice, because some servers show the
 * attribute, others the element. */
void rp_junit_outcome(struct rp_buf *buf, const char *element, const char *type, const char *text);
/** Writes what the case has said. */
void rp_junit_said(struct rp_buf *buf, const char *text);

/** Escapes a label of OpenMetrics except line ends, which the format writes in its own way: names
 * that are the same then are the same label. */
void rp_metrics_clean(struct rp_buf *buf, const char *text);
/** Writes a label of OpenMetrics: name="text". */
void rp_metrics_label(struct rp_buf *buf, const char *name, const char *text);

#endif
