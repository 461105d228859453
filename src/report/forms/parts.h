/**
 * @file parts.h
 * @brief What the forms of a report share: numbers of kernels, and where times are from.
 */
#ifndef RP_REPORT_FORMS_PARTS_H
#define RP_REPORT_FORMS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-perf/bottleneck.h"
#include "rocm-perf/report.h"

struct rp_buf;

/** A number of a kernel, row by row of kernel_values.def. */
struct rp_form_value {
    const char *name, *metric, *unit, *help;
    double scale; /**< from the value to the unit of the metric */
};
const struct rp_form_value *rp_form_values(size_t *ret_count);

enum { RP_FORM_MOST_VALUES = 32 };

/** Kernels of the roofline by name: one that ran on two GPUs has two rows there, and no single
 *  number. */
struct rp_form_counted {
    const struct rp_roofline_kernel **by_name;
    size_t count;
};
/** @param ret  release with rp_form_counted_free */
int rp_form_counted_make(const struct rp_roofline *roofline, struct rp_form_counted *ret,
                         struct rp_err *err);
void rp_form_counted_free(struct rp_form_counted *counted);
/** NULL: it was not counted, or not once. */
const struct rp_roofline_kernel *rp_form_counted_find(const struct rp_form_counted *counted,
                                                      const char *name);

/** All numbers of a kernel. @param ret  RP_FORM_MOST_VALUES */
void rp_form_values_of(const struct rp_bottleneck_kernel *k, const struct rp_roofline_kernel *r,
                       struct rp_quantity *ret);

/** Some time of this report, or what follows from it, is modelled. */
bool rp_form_is_software(const struct rp_report_parts *parts);
/** "software", "hardware"; "" when the traces do not say */
const char *rp_form_device(const struct rp_report_parts *parts);
/** "fast" ...; "" */
const char *rp_form_timing(const struct rp_report_parts *parts);
/** Appends what times of the software device are, without a line's end; nothing on hardware. */
void rp_form_put_mark(struct rp_buf *buf, const struct rp_report_parts *parts);

/** Appends a number that is known and finite. @return whether it is */
bool rp_form_put_number(struct rp_buf *buf, struct rp_quantity value, double scale);

#endif
