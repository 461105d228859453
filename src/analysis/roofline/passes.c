#include "analysis/roofline/parts.h"

#include <math.h>

/* rocprof-compute and rocprofv3 count in some 15 runs of a program, which never agree to the last
 * request. What is left of one counter without others is then negative by a little: in real GEMMs
 * 28 % of the dispatches have such a pair, by 1 ppm to 1.6 %. */

static const struct rp_roof_difference differences[] = {
#define C(counter)                          RP_ROOF_##counter
#define LIST_1(a)                           {C(a)}, 1
#define LIST_2(a, b)                        {C(a), C(b)}, 2
#define LIST_4(a, b, c, d)                  {C(a), C(b), C(c), C(d)}, 4
#define PICK(a, b, c, d, list, ...)         list
#define LIST(...)                           PICK(__VA_ARGS__, LIST_4, LIST_3, LIST_2, LIST_1, 0)(__VA_ARGS__)
#define RP_DIFFERENCE(id, what, whole, ...) {C(whole), LIST(__VA_ARGS__)},
#include "rocm-perf/pass_differences.def"
#undef RP_DIFFERENCE
};

const struct rp_roof_difference *rp_roof_difference(enum rp_difference difference)
{
    return &differences[difference];
}

const char *rp_difference_name(enum rp_difference difference)
{
    static const char *const names[] = {
#define RP_DIFFERENCE(id, what, ...) what,
#include "rocm-perf/pass_differences.def"
#undef RP_DIFFERENCE
    };
    return names[difference];
}

double rp_pass_tolerance(void)
{
    return RP_PASS_TOLERANCE_PERCENT / 100.0;
}

bool rp_pass_part(double whole, double *part)
{
    if (*part <= whole)
        return true;
    if (*part - whole > rp_pass_tolerance() * whole)
        return false;
    *part = whole;
    return true;
}

/* @return whether all of its counters are there */
static bool split(const struct rp_quantity *of, const struct rp_roof_difference *d,
                  double *ret_whole, double *ret_parts)
{
    bool known = of[d->whole].known;

    *ret_whole = of[d->whole].value;
    *ret_parts = 0;
    for (size_t i = 0; i < d->part_count; i++) {
        known = known && of[d->parts[i]].known;
        *ret_parts += of[d->parts[i]].value;
    }
    return known;
}

void rp_roof_see_excess(const struct rp_quantity of[RP_ROOF_COUNTERS], struct rp_roof_sums *sums)
{
    for (size_t i = 0; i < RP_DIFFERENCE_COUNT; i++) {
        struct rp_roof_excess *e = &sums->excess[i];
        double whole, parts, by;

        if (!split(of, &differences[i], &whole, &parts) || parts <= whole)
            continue;
        by = whole > 0 ? (parts - whole) / whole : INFINITY;
        e->negative++;
        e->most = by > e->most ? by : e->most;
        e->sum += parts - whole;
    }
}

struct rp_quantity rp_roof_rest(const struct rp_roof_sums *sums, enum rp_difference difference,
                                struct rp_roofline_kernel *kernel)
{
    struct rp_pass_difference *d = &kernel->differences[difference];
    const struct rp_roof_excess *e = &sums->excess[difference];
    struct rp_quantity rest = {0};
    double whole, parts;

    if (!split(sums->of, &differences[difference], &whole, &parts))
        return rest;
    d->asked = true;
    d->negative = e->negative;
    d->most = e->most;
    d->share = e->sum > 0 ? e->sum / whole : 0;
    d->withheld = e->sum > rp_pass_tolerance() * whole;
    if (d->withheld)
        return rest;
    rest.known = true;
    rest.value = whole > parts ? whole - parts : 0;
    return rest;
}

struct rp_quantity rp_roof_rest_of(const struct rp_quantity of[RP_ROOF_COUNTERS],
                                   enum rp_difference difference)
{
    struct rp_quantity rest = {0};
    double whole, parts;

    if (split(of, &differences[difference], &whole, &parts) && rp_pass_part(whole, &parts)) {
        rest.known = true;
        rest.value = whole - parts;
    }
    return rest;
}
