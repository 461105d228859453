/**
 * @file report_forms.h
 * @brief A writer for each row of report_forms.def: a row without one does not compile.
 */
#ifndef RP_REPORT_REPORT_FORMS_H
#define RP_REPORT_REPORT_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/bottleneck.h"
#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "report/report.h"

struct rp_buf;
struct rp_err;
struct rp_report_parts;

#define RP_REPORT_FORM(function, name, ending, what)                                               \
    int rp_form_##function(const struct rp_report_parts *parts, struct rp_buf *buf,                \
                           struct rp_err *err);
#include "report/report_forms.def"
#undef RP_REPORT_FORM

/* What the forms of a report share: numbers of kernels, and where times are from. */

/** What else is known of kernels, by name: one that ran on two GPUs, or was compiled twice, has two
 *  rows there, and no single number. */
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

/** Launches that may have failed; NULL: not known. */
const struct rp_launches *rp_form_launches(const struct rp_report_parts *parts);

/** Appends these levels, each behind the separator but the first. @return how many */
size_t rp_form_put_impossible(struct rp_buf *buf, const struct rp_form_known *known,
                              const char *name, const char *separator);

/** Some time of this report, or what follows from it, is modelled. */
bool rp_form_is_software(const struct rp_report_parts *parts);
/** "software", "hardware"; "" when the traces do not say */
const char *rp_form_device(const struct rp_report_parts *parts);
/** Appends what times of the software device are, without a line's end; nothing on hardware. */
void rp_form_put_mark(struct rp_buf *buf, const struct rp_report_parts *parts);

/* The page as the build has made it (html_embed.c), without title and data. */

extern const char rp_html_begin[], rp_html_middle[], rp_html_end[];
extern const size_t rp_html_begin_bytes, rp_html_middle_bytes, rp_html_end_bytes;

#endif
