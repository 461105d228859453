/**
 * @file forms.h
 * @brief A writer for each row of report_forms.def: a row without one does not compile.
 */
#ifndef RP_REPORT_FORMS_FORMS_H
#define RP_REPORT_FORMS_FORMS_H

struct rp_buf;
struct rp_err;
struct rp_report_parts;

#define RP_REPORT_FORM(function, name, ending, what)                                               \
    int rp_form_##function(const struct rp_report_parts *parts, struct rp_buf *buf,                \
                           struct rp_err *err);
#include "rocm-perf/report_forms.def"
#undef RP_REPORT_FORM

#endif
