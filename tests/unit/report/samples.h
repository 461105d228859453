/**
 * @file samples.h
 * @brief Made-up profiles that reach every form a report can take.
 */
#ifndef RP_TESTS_REPORT_SAMPLES_H
#define RP_TESTS_REPORT_SAMPLES_H

#include "analyze/profile.h"
#include "report/report.h"

struct sample {
    const char *name; /**< also the file name of its JSON */
    struct rp_profile_report report;
};

/** All samples; static, the same at every call. */
const struct sample *samples(size_t *ret_count);
const struct rp_profile_report *sample(const char *name);

#endif
