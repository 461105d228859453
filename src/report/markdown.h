/**
 * @file markdown.h
 * @brief Text within Markdown, as GitHub reads it.
 */
#ifndef RP_REPORT_MARKDOWN_H
#define RP_REPORT_MARKDOWN_H

struct rp_buf;

/** What a comment may have is 65,535 bytes; whoever writes one stops here, with room for an end. */
enum { RP_MARKDOWN_MOST_BYTES = 60000, RP_MARKDOWN_NAME_CELLS = 120 };

/** Appends words of ours, of which nothing is Markdown or HTML, cut to RP_MARKDOWN_NAME_CELLS.
 * GitHub reads
 * "@name", "#1" and "www." in them nevertheless: what is from a trace goes into a code span. */
void rp_markdown_plain(struct rp_buf *buf, const char *text);

/** Appends a code span, in which nothing is acted on, with any text, cut to RP_MARKDOWN_NAME_CELLS;
 * nothing for an empty one. */
void rp_markdown_code(struct rp_buf *buf, const char *text);

/** The same in a cell of a table, where also within code a '|' would end the cell. */
void rp_markdown_cell(struct rp_buf *buf, const char *text);

#endif
