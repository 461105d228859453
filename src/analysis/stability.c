#include "rocm-perf/analysis.h"

#include <math.h>

/* Coefficient of variation up to which repeated runs count as stable, moderate. */
static const double stable_cv = 0.05;
static const double moderate_cv = 0.10;

static enum rp_stability_class classify(const struct rp_stability *s)
{
    if (s->runs < 2 || !isfinite(s->cv))
        return RP_STABILITY_UNKNOWN;
    if (s->cv <= stable_cv)
        return RP_STABLE;
    return s->cv <= moderate_cv ? RP_MODERATE : RP_UNSTABLE;
}

void rp_stability_compute(const double *runtime_ms, size_t runs, struct rp_stability *ret)
{
    struct rp_stability s = {.runs = (uint32_t)runs, .classification = RP_STABILITY_UNKNOWN};
    double sum_of_squares = 0;

    /* Taken from the first run on: equal runs then have exactly their own value as mean, and two
     * passes keep deviations that are small against the mean. */
    for (size_t i = 1; i < runs; i++)
        s.mean_ms += (runtime_ms[i] - runtime_ms[0]) / (double)runs;
    if (runs > 0)
        s.mean_ms += runtime_ms[0];
    for (size_t i = 0; i < runs; i++)
        sum_of_squares += (runtime_ms[i] - s.mean_ms) * (runtime_ms[i] - s.mean_ms);
    if (runs > 1)
        s.stddev_ms = sqrt(sum_of_squares / (double)(runs - 1));
    /* Runs without any kernel time agree perfectly. */
    s.cv = s.mean_ms > 0 ? s.stddev_ms / s.mean_ms : 0;
    s.classification = classify(&s);
    *ret = s;
}

const char *rp_stability_class_name(enum rp_stability_class c)
{
    switch (c) {
    case RP_STABLE:
        return "stable";
    case RP_MODERATE:
        return "moderate";
    case RP_UNSTABLE:
        return "unstable";
    case RP_STABILITY_UNKNOWN:
        break;
    }
    return "unknown";
}
