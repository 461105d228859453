#include "unit/cmocka_all.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "base/err.h"

#include "analyze/bottleneck.c"

#define LABEL(id) RP_BOTTLENECK_##id

static void know(struct rp_features *f, enum rp_feature feature, double value)
{
    f->of[feature] = (struct rp_quantity){.known = true, .value = value};
}

/* A kernel of which everything is known and nothing is remarkable. */
static struct rp_features calm(void)
{
    struct rp_features f = {0};

    for (unsigned i = 0; i < RP_FEATURE_COUNT; i++)
        know(&f, (enum rp_feature)i, 0.1);
    know(&f, RP_FEATURE_DURATION_NS, 1e6);
    know(&f, RP_FEATURE_GRID_WAVES, 40);
    know(&f, RP_FEATURE_LANES, 1);
    know(&f, RP_FEATURE_OCCUPANCY, 0.9);
    know(&f, RP_FEATURE_OCCUPANCY_LIMIT, 1);
    return f;
}

static enum rp_bottleneck judge(const struct rp_features *f)
{
    unsigned points[RP_BOTTLENECK_COUNT];

    return rules_judge(f, points);
}

static void nothing_known_is_unknown(void **state)
{
    struct rp_features f = {0};

    (void)state;
    assert_int_equal(judge(&f), LABEL(UNKNOWN));
    f = calm(); /* all is known, no rule fires */
    assert_int_equal(judge(&f), LABEL(MIXED));
    f.of[RP_FEATURE_STALL_MEMORY].known = false; /* it might have */
    assert_int_equal(judge(&f), LABEL(UNKNOWN));
}

struct test_row {
    enum rp_bottleneck label;
    struct {
        enum rp_feature feature;
        double value;
    } known[4];
};

/* Textbook cases: what a person would say of them. */
static const struct test_row rows[] = {
    {LABEL(MEMORY_BANDWIDTH), {{RP_FEATURE_HBM_SHARE, 0.85}, {RP_FEATURE_BOUND_SHARE, 0.85}}},
    {LABEL(MEMORY_BANDWIDTH), /* waits belong to a full memory */
     {{RP_FEATURE_HBM_SHARE, 0.80},
      {RP_FEATURE_BOUND_SHARE, 0.80},
      {RP_FEATURE_STALL_MEMORY, 0.7},
      {RP_FEATURE_WAIT, 0.9}}},
    {LABEL(MEMORY_BANDWIDTH), {{RP_FEATURE_L2_SHARE, 0.7}, {RP_FEATURE_BOUND_SHARE, 0.7}}},
    {LABEL(COMPUTE), {{RP_FEATURE_MFMA_SHARE, 0.7}, {RP_FEATURE_BOUND_SHARE, 0.7}}},
    {LABEL(COMPUTE), {{RP_FEATURE_VALU_SHARE, 0.6}, {RP_FEATURE_BOUND_SHARE, 0.6}}},
    {LABEL(COMPUTE), {{RP_FEATURE_STALL_MATH, 0.4}}},
    {LABEL(LDS), {{RP_FEATURE_LDS_SHARE, 0.7}, {RP_FEATURE_BOUND_SHARE, 0.7}}},
    {LABEL(LDS), {{RP_FEATURE_STALL_LDS, 0.5}}},
    {LABEL(LDS), {{RP_FEATURE_LDS_CONFLICTS, 0.5}, {RP_FEATURE_LDS_SHARE, 0.3}}},
    {LABEL(LATENCY), {{RP_FEATURE_STALL_MEMORY, 0.6}}},
    {LABEL(LATENCY), {{RP_FEATURE_WAIT, 0.8}}},
    {LABEL(UNDER_OCCUPIED), {{RP_FEATURE_OCCUPANCY, 0.12}}},
    {LABEL(UNDER_OCCUPIED), {{RP_FEATURE_GRID_WAVES, 0.3}}},
    {LABEL(UNDER_OCCUPIED), /* the stalls are there for want of waves */
     {{RP_FEATURE_OCCUPANCY, 0.12}, {RP_FEATURE_STALL_MEMORY, 0.6}, {RP_FEATURE_WAIT, 0.8}}},
    {LABEL(DIVERGENCE), {{RP_FEATURE_LANES, 0.2}}},
    {LABEL(DIVERGENCE), {{RP_FEATURE_LANES, 0.5}}},
    {LABEL(LAUNCH), {{RP_FEATURE_LAUNCH_SHARE, 0.8}, {RP_FEATURE_HOST_SHARE, 0.5}}},
    {LABEL(LAUNCH), {{RP_FEATURE_DURATION_NS, 4000}, {RP_FEATURE_HOST_SHARE, 0.7}}},
    {LABEL(MIXED), {{RP_FEATURE_LANES, 0.5}, {RP_FEATURE_STALL_LDS, 0.3}}}, /* 2 points each */
};

static void textbook_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rp_features f = calm();

        for (size_t k = 0; k < 4; k++)
            if (rows[i].known[k].value > 0)
                know(&f, rows[i].known[k].feature, rows[i].known[k].value);
        if (judge(&f) != rows[i].label)
            fail_msg("row %zu: %s instead of %s", i, rp_bottleneck_names[judge(&f)],
                     rp_bottleneck_names[rows[i].label]);
    }
}

static void every_rule_can_fire(void **state)
{
    size_t count;
    const struct rp_rule *rules_ = rp_rules(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct rp_features f = {0};

        assert_false(rp_rule_fires(&rules_[i], &f));
        assert_true(rp_rule_open(&rules_[i], &f));
        for (size_t c = 0; c < 2; c++)
            know(&f, rules_[i].when[c].feature,
                 rules_[i].when[c].value * (rules_[i].when[c].at_least ? 1.01 : 0.99));
        assert_true(rp_rule_fires(&rules_[i], &f));
        assert_false(rp_rule_open(&rules_[i], &f));
        know(&f, rules_[i].when[1].feature,
             rules_[i].when[1].value * (rules_[i].when[1].at_least ? 0.99 : 1.01));
        assert_false(rp_rule_fires(&rules_[i], &f));
    }
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a, 64 bits */
    return hash;
}

/* FNV-1a over all rows: what a version stands for. */
static uint64_t rules_checksum(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char row[512];

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rp_rule *r = &rules[i];

        snprintf(row, sizeof row, "%s %s %u %s %d %.6f %s %d %.6f\n", r->id,
                 rp_bottleneck_names[r->label], r->points, rp_feature_name(r->when[0].feature),
                 r->when[0].at_least, r->when[0].value, rp_feature_name(r->when[1].feature),
                 r->when[1].at_least, r->when[1].value);
        hash = mix(hash, row);
    }
    return hash;
}

/* A version stands for one table only: a changed rule needs a new version, and a test_row there. */
static void a_version_is_one_table(void **state)
{
    FILE *file = fopen(RULES_VERSIONS, "r");
    char version[32], line[256];
    uint64_t checksum;
    bool found = false;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%31s %" SCNx64, version, &checksum) != 2)
            continue;
        if (strcmp(version, rp_rules_version()) == 0) {
            found = true;
            if (checksum != rules_checksum())
                fail_msg("rules changed without a new RP_RULES_VERSION: %s is %016" PRIx64
                         ", the table has %016" PRIx64,
                         version, checksum, rules_checksum());
        } else {
            assert_true(checksum != rules_checksum());
        }
    }
    fclose(file);
    if (!found)
        fail_msg("%s lacks version %s: %016" PRIx64, RULES_VERSIONS, rp_rules_version(),
                 rules_checksum());
}

static void features_are_sorted(void **state)
{
    (void)state;
    for (unsigned i = 1; i < RP_FEATURE_COUNT; i++)
        assert_true(strcmp(rp_feature_name((enum rp_feature)(i - 1)),
                           rp_feature_name((enum rp_feature)i)) < 0);
}

/* --- ranking ------------------------------------------------------------------------------- */

static struct rp_roofline_kernel roofed(const char *name, double time_ns, double share)
{
    return (struct rp_roofline_kernel){.name = name,
                                       .calls = 2,
                                       .time_ns = {true, time_ns},
                                       .bound_share = {true, share},
                                       .gbps = {[RP_LEVEL_HBM] = {true, share * 1000}}};
}

static void close_to(struct rp_quantity q, double value)
{
    assert_true(q.known);
    if (fabs(q.value - value) > 1e-9 * fabs(value))
        fail_msg("%.12g instead of %.12g", q.value, value);
}

/* a: 600 of 1000 ns on the path, but without it another path of 700 ns remains. */
static void path_and_what_if_bound_the_gain(void **state)
{
    struct rp_dag_share shares[] = {{"a", 600, true}, {"b", 300, true}, {"[launch]", 100, false}};
    struct rp_dag_what_if what_ifs[] = {
        {"a", 1, 2, 800, 800, 800}, {"a", 0, 1, 700, 700, 700}, {"b", 0, 1, 700, 700, 700}};
    struct rp_dag_result dag = {.makespan_ns = 1000,
                                .shares = shares,
                                .share_count = 3,
                                .what_ifs = what_ifs,
                                .what_if_count = 3,
                                .grade_dependencies = {[RP_DAG_PARTIAL] = 1}};
    struct rp_roofline_kernel kernels[] = {roofed("a", 600, 0.4), roofed("b", 300, 0.1)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.dag = &dag, .roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_CRITICAL_PATH);
    assert_string_equal(b.kernels[0].name, "a"); /* 0.6 x 0.6 before 0.3 x 0.9 */
    close_to(b.kernels[0].priority, 0.36);
    close_to(b.kernels[1].priority, 0.27);
    close_to(b.kernels[0].end_to_end_bound, 1000.0 / 700); /* 640 on its path, 700 elsewhere */
    close_to(b.kernels[1].end_to_end_bound, 1000.0 / 730);
    close_to(b.kernels[0].free_bound, 1000.0 / 700);
    close_to(b.kernels[0].features.of[RP_FEATURE_HBM_SHARE], 0.4);
    rp_bottlenecks_free(&b);
}

/* Without any known dependency, the path is a guess: time counts. */
static void a_guessed_path_does_not_weigh(void **state)
{
    struct rp_dag_share shares[] = {{"a", 600, true}, {"b", 10, true}};
    struct rp_dag_result dag = {.makespan_ns = 1000,
                                .shares = shares,
                                .share_count = 2,
                                .grade_dependencies = {[RP_DAG_INFERRED] = 9}};
    struct rp_roofline_kernel kernels[] = {roofed("a", 100, 0.5), roofed("b", 300, 0.5)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.dag = &dag, .roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_KERNEL_TIME);
    assert_string_equal(b.kernels[0].name, "b");
    close_to(b.kernels[0].weight, 0.75);
    close_to(b.kernels[1].weight, 0.25);
    rp_bottlenecks_free(&b);
    kernels[0].time_ns.known = false; /* then the path is all there is */
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_CRITICAL_PATH);
    rp_bottlenecks_free(&b);
}

static void without_a_path_kernel_time_weighs(void **state)
{
    struct rp_roofline_kernel kernels[] = {roofed("a", 100, 0.9), roofed("b", 300, 0.5)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_KERNEL_TIME);
    assert_string_equal(b.kernels[0].name, "b");
    close_to(b.kernels[0].weight, 0.75);
    close_to(b.kernels[0].end_to_end_bound, 400.0 / (400 - 150));
    close_to(b.kernels[1].end_to_end_bound, 400.0 / (400 - 10));
    assert_int_equal(b.kernels[1].label, LABEL(MEMORY_BANDWIDTH));
    kernels[0].time_ns.known = false; /* then no weight is known */
    rp_bottlenecks_free(&b);
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_NOTHING);
    assert_false(b.kernels[0].weight.known);
    assert_false(b.kernels[0].priority.known);
    rp_bottlenecks_free(&b);
}

/* Of the kernel: one whole, one partial, one partial and of a sample, one damaged, which would make
 * stalls more; and a partial one of another kernel. */
static void what_traces_are_worth(void **state)
{
    struct rp_att_kernel a = {.name = (char *)"a"}, c = {.name = (char *)"c"};
    struct rp_thread_trace traces[] = {
        {.completeness = RP_ATT_COMPLETE, .kernels = &a},
        {.completeness = RP_ATT_PARTIAL, .kernels = &a},
        {.completeness = RP_ATT_PARTIAL, .kernels = &a, .part_of_grid = true},
        {.completeness = RP_ATT_DAMAGED, .kernels = &a, .part_of_grid = true},
        {.completeness = RP_ATT_PARTIAL, .kernels = &c},
    };
    const struct rp_thread_traces set = {.traces = traces, .count = 5};
    struct rp_roofline_kernel kernels[] = {roofed("a", 600, 0.4), roofed("b", 300, 0.1)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    const struct rp_bottleneck_inputs in = {.roofline = &roofline, .traces = &set};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;
    const struct rp_traced *of[3] = {NULL};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        traces[i].kernel_count = 1;
        traces[i].sums.latency_cycles = 100;
        traces[i].sums.stall_cycles = i == 3 ? 100 : 10;
    }
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.kernel_count, 3);
    for (size_t i = 0; i < 3; i++) {
        of[b.kernels[i].name[0] - 'a'] = &b.kernels[i].traced;
        if (!strcmp(b.kernels[i].name, "a"))
            close_to(b.kernels[i].features.of[RP_FEATURE_STALL], 0.1);
    }
    assert_memory_equal(of[0], (&(struct rp_traced){3, 2, 1, 1}), sizeof *of[0]);
    assert_memory_equal(of[1], (&(struct rp_traced){0, 0, 0, 0}), sizeof *of[1]);
    assert_memory_equal(of[2], (&(struct rp_traced){1, 1, 0, 0}), sizeof *of[2]);
    rp_bottlenecks_free(&b);
}

static void names_with_kd_are_the_same(void **state)
{
    (void)state;
    assert_true(rp_same_kernel("_Z1kv.kd", "_Z1kv"));
    assert_true(rp_same_kernel("k", "k"));
    assert_false(rp_same_kernel("k", "k2"));
    assert_false(rp_same_kernel(NULL, "k"));
    assert_false(rp_same_kernel(".kd", ""));
}

static void parts_and_wholes_are_counted_together(void **state)
{
    struct rp_roofline_need needs[16];
    size_t count = rp_bottleneck_needs("gfx942", 40, needs, 16);
    unsigned cycles = 0, lanes = 0;

    (void)state;
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        cycles += needs[i].group == 40 && strstr(needs[i].name, "_CYCLES") != NULL;
        lanes += needs[i].group == 41 && strstr(needs[i].name, "VALU") != NULL;
    }
    assert_int_equal(cycles, 2); /* and SQ_WAIT_ANY */
    assert_int_equal(lanes, 2);
    assert_int_equal(rp_bottleneck_needs("gfx1030", 40, needs, 16), 0);
    assert_int_equal(rp_bottleneck_needs("gfx942", 40, needs, 0), 5); /* nothing is written */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_is_unknown),
        cmocka_unit_test(textbook_cases),
        cmocka_unit_test(every_rule_can_fire),
        cmocka_unit_test(a_version_is_one_table),
        cmocka_unit_test(features_are_sorted),
        cmocka_unit_test(path_and_what_if_bound_the_gain),
        cmocka_unit_test(a_guessed_path_does_not_weigh),
        cmocka_unit_test(without_a_path_kernel_time_weighs),
        cmocka_unit_test(what_traces_are_worth),
        cmocka_unit_test(names_with_kd_are_the_same),
        cmocka_unit_test(parts_and_wholes_are_counted_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
