/**
 * @file page.h
 * @brief A report for people, line by line: cut to the width, coloured or not.
 */
#ifndef RP_REPORT_PAGE_H
#define RP_REPORT_PAGE_H

#include <stdbool.h>

#include "rocm-perf/report.h"

struct rp_buf;

enum rp_ink { RP_INK_PLAIN, RP_INK_BOLD, RP_INK_DIM, RP_INK_RED, RP_INK_YELLOW, RP_INK_GREEN };

/** Where the report goes and what it may use. */
struct rp_page {
    struct rp_buf *out;
    bool colour;
    unsigned width; /**< columns */
    bool utf8;      /**< units may be more than ASCII */
};

/** Changes the colour from here on. */
void rp_page_ink(const struct rp_page *page, enum rp_ink ink);

/** One line, cut in its middle if it is wider than the page. */
void rp_page_text(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *text);
void rp_page_line(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));

/**
 * A page of sentences, names and paths, of which nothing may be lost: lines are not cut but broken
 * between words. Without a terminal (a style without a width) they are as long as they are, for who
 * reads them line by line.
 */
struct rp_page rp_page_of_words(struct rp_buf *out, struct rp_term_style style);

/**
 * One line of such a page, broken between words where it is too narrow and at newlines.
 * @param hang  by how much further lines are indented more than the first
 */
void rp_page_words(const struct rp_page *page, enum rp_ink ink, unsigned indent, unsigned hang,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** What times of the software device are. @param model  "fast", "detailed", "off"; NULL: not said
 */
void rp_software_line(const struct rp_page *page, const char *model);

/** A line that ends with a name: numbers first, as @p fmt says; then as much of @p name as fits. */
void rp_page_named(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *name,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
