/** @file page_parts.h @brief The page as the build has made it (embed.c), without title and data.
 */
#ifndef RP_REPORT_HTML_PAGE_PARTS_H
#define RP_REPORT_HTML_PAGE_PARTS_H

#include <stddef.h>

extern const char rp_html_begin[], rp_html_middle[], rp_html_end[];
extern const size_t rp_html_begin_bytes, rp_html_middle_bytes, rp_html_end_bytes;

#endif
