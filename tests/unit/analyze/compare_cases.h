/**
 * @file compare_cases.h
 * @brief Sides and gates of comparisons that tests make up.
 */
#ifndef RP_UNIT_ANALYZE_COMPARE_CASES_H
#define RP_UNIT_ANALYZE_COMPARE_CASES_H

#include "analyze/compare.h"
#include "unit/cmocka_all.h"

static const struct rp_versus_rule test_rule = {.margin = 0.01, .alpha = 0.01};

static struct rp_versus_kernel kernel_of(const char *name, double *ms, size_t runs)
{
    return (struct rp_versus_kernel){.name = (char *)name, .runs = {.ms = ms, .count = runs}};
}

static struct rp_versus_side side_of(double *ms, size_t runs, struct rp_versus_kernel *kernels,
                                     size_t count)
{
    static struct rp_versus_gpu gpu = {.architecture = (char *)"gfx942", .compute_units = 304};

    return (struct rp_versus_side){.path = (char *)"x",
                                   .gpus = &gpu,
                                   .gpu_count = 1,
                                   .runs = {.ms = ms, .count = runs},
                                   .kernels = kernels,
                                   .kernel_count = count};
}

static enum rp_versus_passed applied(const char *text, const struct rp_versus_found *c)
{
    struct rp_versus_condition gate;
    struct rp_versus_outcome gated;

    assert_int_equal(rp_versus_condition_parse(text, &gate, NULL), 0);
    gate.may_miss = true;
    rp_versus_condition_judge(&gate, c, &gated);
    assert_int_equal(gated.passed == RP_COMPARE_OPEN, gated.reason[0] != '\0');
    rp_versus_condition_free(&gate);
    return gated.passed;
}

#endif
