/**
 * @file report_text.h
 * @brief Makes text of unknown origin safe, and prints numbers the same everywhere.
 */
#ifndef RP_REPORT_REPORT_TEXT_H
#define RP_REPORT_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/bottleneck.h"
#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/json_write.h"
#include "base/units.h"
#include "report/report.h"

struct rp_buf;
struct rp_err;
struct rp_report_parts;

/**
 * Appends text for a line, escaped (base/utf8.h). If it is longer than max_cells, "..." replaces
 * the middle.
 */
void rp_text_printable(struct rp_buf *buf, const char *text, unsigned max_cells);

/** Counts the terminal cells that rp_text_printable needs for the whole text. */
size_t rp_text_cells(const char *text);

/** Opens the document, an object. */
struct rp_json_writer rp_report_json(struct rp_buf *buf);
/** Closes the document. */
int rp_report_json_end(struct rp_json_writer *json, struct rp_err *err);
/** Writes six decimals, to which every real number of a report is cut. */
void rp_report_quantity(struct rp_json_writer *json, const char *key, struct rp_quantity quantity);
/** Writes the object "timing", or null without a model. */
void rp_report_timing(struct rp_json_writer *json, const char *key, const char *model,
                      uint32_t version);

enum { RP_MOST_BY_NAME = 32 };

/** Sorts the numbers of the names by name. */
void rp_by_name(const char *const *names, unsigned count, unsigned *ret_order);

/** Reports whether everything fit into memory. */
int rp_report_end(const struct rp_buf *buf, struct rp_err *err);

enum rp_ink { RP_INK_PLAIN, RP_INK_BOLD, RP_INK_DIM, RP_INK_RED, RP_INK_YELLOW, RP_INK_GREEN };

/** Says where the report goes and what it may use. */
struct rp_page {
    struct rp_buf *out;
    bool colour;
    unsigned width; /**< columns */
    bool utf8;      /**< units may be more than ASCII */
};

/** Writes one line, cut in its middle if it is wider than the page. */
void rp_page_text(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *text);
void rp_page_line(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));

/** Makes a page of tables, no narrower than @p least_width. Without a terminal it has 80 columns.
 */
struct rp_page rp_page_of(struct rp_buf *out, struct rp_term_style style, unsigned least_width);

/**
 * Makes a page of sentences, names and paths, of which nothing may be lost: lines are not cut but
 * broken between words. Without a terminal (a style without a width) lines are not broken, for
 * programs that read them line by line.
 */
struct rp_page rp_page_of_words(struct rp_buf *out, struct rp_term_style style);

/**
 * Writes one line of such a page, broken between words where it is too narrow and at newlines.
 * @param hang by how much further lines are indented more than the first
 */
void rp_page_words(const struct rp_page *page, enum rp_ink ink, unsigned indent, unsigned hang,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** Says what times of the software device are.
 * @param model "fast", "detailed", "off"; NULL: not known */
void rp_software_line(const struct rp_page *page, const char *model);

/** Writes a line that ends with a name: numbers first, as @p fmt says, and then as much of @p name
 * as fits. */
void rp_page_named(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *name,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** Appends text for an element or an attribute in double quotes: valid UTF-8 on one line.
 * Characters that XML cannot hold, and those that would turn the writing direction, become '?'. */
void rp_xml_text(struct rp_buf *buf, const char *text, unsigned most_cells);
/** Appends the whole of ' name="text"'. Characters that XML cannot hold are written as rp_escape
 * does; "" becomes "(no name)". */
void rp_xml_attribute(struct rp_buf *buf, const char *name, const char *text);

/** Appends a cell (RFC 4180), in quotes where it needs them. No spreadsheet takes it for a formula.
 */
void rp_csv_cell(struct rp_buf *buf, const char *text);

/* Each row of report_forms.def needs a writer, and a row without one does not compile. */

#define RP_REPORT_FORM(function, name, ending, what)                                               \
    int rp_form_##function(const struct rp_report_parts *parts, struct rp_buf *buf,                \
                           struct rp_err *err);
#include "report/report_forms.def"
#undef RP_REPORT_FORM

/** Holds what else is known of kernels, by name. A kernel that ran on two GPUs, or was compiled
 * twice, has two rows there, and no single number. */
struct rp_form_known {
    const struct rp_roofline_kernel **counted;
    const struct rp_kernel_summary **launched;
    size_t counted_count, launched_count;
    const struct rp_profile *profile; /**< NULL: none */
};
/** @param ret  release with rp_form_known_free */
int rp_form_known_make(const struct rp_report_parts *parts, struct rp_form_known *ret,
                       struct rp_err *err);
void rp_form_known_free(struct rp_form_known *known);

/** Returns launches that may have failed. NULL means not known. */
const struct rp_launches *rp_form_launches(const struct rp_report_parts *parts);

/** Appends these levels, with the separator between them.
 * @return how many */
size_t rp_form_put_impossible(struct rp_buf *buf, const struct rp_form_known *known,
                              const char *name, const char *separator);

/** Says whether some time of this report, or a value that follows from it, is modelled. */
bool rp_form_is_software(const struct rp_report_parts *parts);
/** Returns "software" or "hardware", or "" when the traces do not say it. */
const char *rp_form_device(const struct rp_report_parts *parts);
/** Appends what times of the software device are, without a line's end. It appends nothing on
 * hardware. */
void rp_form_put_mark(struct rp_buf *buf, const struct rp_report_parts *parts);

extern const char rp_html_begin[], rp_html_middle[], rp_html_end[];
extern const size_t rp_html_begin_bytes, rp_html_middle_bytes, rp_html_end_bytes;

#endif
