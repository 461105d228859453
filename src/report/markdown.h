/**
 * @file markdown.h
 * @brief Text within Markdown, as GitHub reads it.
 */
#ifndef RP_REPORT_MARKDOWN_H
#define RP_REPORT_MARKDOWN_H

struct rp_buf;

/** What a comment may have is 65,535 bytes; whoever writes one stops here, with room for an end. */
enum { RP_MARKDOWN_MOST_BYTES = 60000, RP_MARKDOWN_NAME_CELLS = 120 };

/** Appends text of which nothing is Markdown or HTML, cut to RP_MARKDOWN_NAME_CELLS. */
void rp_markdown_plain(struct rp_buf *buf, const char *text);

#endif
