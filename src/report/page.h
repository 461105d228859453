/**
 * @file page.h
 * @brief A report for people, line by line: cut to the width, coloured or not.
 */
#ifndef RP_REPORT_PAGE_H
#define RP_REPORT_PAGE_H

#include <stdbool.h>

struct rp_buf;

enum rp_ink { RP_INK_PLAIN, RP_INK_BOLD, RP_INK_DIM, RP_INK_RED, RP_INK_YELLOW, RP_INK_GREEN };

/** Where the report goes and what it may use. */
struct rp_page {
    struct rp_buf *out;
    bool colour;
    unsigned width; /**< columns */
};

/** Changes the colour from here on. */
void rp_page_ink(const struct rp_page *page, enum rp_ink ink);

/** One line, cut in its middle if it is wider than the page. */
void rp_page_text(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *text);
void rp_page_line(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));

/** What times of the software device are. @param model  "fast", "detailed", "off"; NULL: not said
 */
void rp_software_line(const struct rp_page *page, const char *model);

/** A line that ends with a name: numbers first, as @p fmt says; then as much of @p name as fits. */
void rp_page_named(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *name,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
