#include "rocm-perf/report.h"

#include <string.h>

static int write_term(const struct rp_profile_report *report, struct rp_term_style style,
                      struct rp_buf *buf, struct rp_err *err)
{
    return rp_report_profile_term(report, style, buf, err);
}

static int write_json(const struct rp_profile_report *report, struct rp_term_style style,
                      struct rp_buf *buf, struct rp_err *err)
{
    (void)style;
    return rp_report_profile_json(report, buf, err);
}

static const struct rp_report_format formats[] = {
#define RP_FORMAT(name_, write_, summary_) {.name = name_, .summary = summary_, .write = write_},
#include "report/formats.def"
#undef RP_FORMAT
};

const struct rp_report_format *rp_report_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

const struct rp_report_format *rp_report_formats(unsigned *ret_count)
{
    if (ret_count)
        *ret_count = (unsigned)(sizeof formats / sizeof formats[0]);
    return formats;
}
