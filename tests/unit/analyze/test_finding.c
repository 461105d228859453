#include "unit/cmocka_all.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/finding.h"

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
    know(&f, RP_FEATURE_TIME_GLOBAL, 0.02);
    know(&f, RP_FEATURE_TIME_LDS, 0.02);
    know(&f, RP_FEATURE_TIME_SCALAR, 0.02);
    know(&f, RP_FEATURE_TIME_SCRATCH, 0.02);
    know(&f, RP_FEATURE_LANES_OF_WORKGROUP, 1);
    know(&f, RP_FEATURE_DURATION_NS, 1e6);
    know(&f, RP_FEATURE_GRID_WAVES, 40);
    know(&f, RP_FEATURE_LANES, 1);
    know(&f, RP_FEATURE_OCCUPANCY, 0.9);
    know(&f, RP_FEATURE_OCCUPANCY_LIMIT, 1);
    know(&f, RP_FEATURE_COALESCING, 1);
    know(&f, RP_FEATURE_USED_BYTES, 1);
    know(&f, RP_FEATURE_L1_LINES, 4);
    know(&f, RP_FEATURE_TRACED_SHARE, 1);
    know(&f, RP_FEATURE_WAVES_POSSIBLE, 1);
    know(&f, RP_FEATURE_WORKGROUP_LANES, 1);
    return f;
}

static struct rp_finding judge(const struct rp_features *f)
{
    const struct rp_wave_time none = {0};

    return rp_finding_judge(f, &none);
}

static void nothing_known_is_unknown(void **state)
{
    struct rp_features f = {0};

    (void)state;
    assert_int_equal(judge(&f).cause, RP_CAUSE_UNKNOWN);
    f = calm(); /* all is known, no rule fires */
    assert_int_equal(judge(&f).cause, RP_CAUSE_BALANCED);
    assert_false(judge(&f).gain.known);
    f.of[RP_FEATURE_STALL_LDS].known = false; /* no rule asks for it */
    assert_int_equal(judge(&f).cause, RP_CAUSE_BALANCED);
    f.of[RP_FEATURE_TIME_SCRATCH].known = false; /* it might have spilled */
    assert_int_equal(judge(&f).cause, RP_CAUSE_UNKNOWN);
}

struct row {
    enum rp_cause cause;
    struct {
        enum rp_feature feature;
        double value;
    } known[5];
};

#define F(id) RP_FEATURE_##id
#define C(id) RP_CAUSE_##id

/* Textbook cases: what a person would say of them. */
static const struct row rows[] = {
    {C(HBM), {{F(HBM_SHARE), 0.85}, {F(BOUND_SHARE), 0.85}}},
    {C(HBM), /* waits belong to a full memory */
     {{F(HBM_SHARE), 0.62}, {F(STALL_MEMORY), 0.7}, {F(WAIT), 0.9}, {F(TIME_GLOBAL), 0.9}}},
    {C(L2), {{F(L2_SHARE), 0.7}, {F(BOUND_SHARE), 0.7}}},
    {C(L1), {{F(L1_SHARE), 0.5}, {F(TIME_GLOBAL), 0.8}}},
    {C(MFMA), {{F(MFMA_SHARE), 0.7}, {F(BOUND_SHARE), 0.7}}},
    {C(VALU), {{F(VALU_SHARE), 0.6}, {F(BOUND_SHARE), 0.6}}},
    {C(VALU), {{F(TIME_VALU), 0.7}, {F(VALU_STALL), 0.4}}},
    {C(TRANSCENDENTAL), {{F(TIME_TRANSCENDENTAL), 0.5}, {F(TIME_VALU), 0.7}, {F(VALU_BUSY), 0.8}}},
    {C(LDS_BANDWIDTH), {{F(LDS_BUSY), 0.7}, {F(TIME_LDS), 0.5}}},
    {C(LDS_CONFLICTS), {{F(LDS_BUSY), 0.7}, {F(TIME_LDS), 0.6}, {F(LDS_CONFLICTS), 0.8}}},
    {C(UNCOALESCED), /* a copy by columns is slow although HBM is half busy */
     {{F(COALESCING), 0.1}, {F(TIME_GLOBAL), 0.9}, {F(HBM_SHARE), 0.5}, {F(USED_BYTES), 0.2}}},
    {C(HBM), /* full lines move: that they are asked for piecemeal costs nothing */
     {{F(COALESCING), 0.4}, {F(TIME_GLOBAL), 0.9}, {F(HBM_SHARE), 0.7}}},
    {C(SPILLS), {{F(TIME_SCRATCH), 0.6}, {F(HBM_SHARE), 0.3}}},
    {C(ATOMICS), {{F(TIME_ATOMIC), 0.7}}},
    {C(BARRIER), {{F(TIME_BARRIER), 0.5}}},
    {C(DIVERGENCE), {{F(LANES_OF_WORKGROUP), 0.3}, {F(TIME_VALU), 0.8}}},
    {C(LATENCY), {{F(TIME_GLOBAL), 0.8}, {F(HBM_SHARE), 0.2}}},
    {C(LATENCY), {{F(WAIT), 0.8}, {F(BOUND_SHARE), 0.2}}},
    {C(SMALL_GRID), {{F(GRID_WAVES), 0.1}, {F(TIME_GLOBAL), 0.8}}},
    {C(OCCUPANCY),
     {{F(OCCUPANCY), 0.12},
      {F(OCCUPANCY_LIMIT), 0.12},
      {F(WAVES_POSSIBLE), 8},
      {F(STALL_MEMORY), 0.8},
      {F(TIME_GLOBAL), 0.8}}},
    {C(LATENCY), /* registers keep no waves out that the grid has */
     {{F(OCCUPANCY), 0.12}, {F(OCCUPANCY_LIMIT), 0.12}, {F(TIME_GLOBAL), 0.8}}},
    {C(OCCUPANCY), {{F(WORKGROUP_LANES), 0.25}, {F(TIME_GLOBAL), 0.9}, {F(LANES), 0.25}}},
    {C(SCALAR_CACHE), {{F(TIME_SCALAR), 0.7}, {F(SCALAR_MISSES), 0.3}}},
    {C(INSTRUCTION_CACHE), {{F(TIME_FETCH), 0.6}, {F(INSTRUCTION_MISSES), 0.1}}},
    {C(LATENCY), {{F(TIME_SCALAR), 0.7}, {F(SCALAR_MISSES), 0.01}}},
    {C(VALU), {{F(VALU_BUSY), 0.95}, {F(LDS_BUSY), 0.75}}}, /* the busiest */
    {C(LAUNCH), {{F(LAUNCH_SHARE), 0.8}, {F(HOST_SHARE), 0.5}}},
    {C(LAUNCH), {{F(DURATION_NS), 4000}, {F(HOST_SHARE), 0.7}}},
};

static struct rp_features of_row(const struct row *row)
{
    struct rp_features f = calm();

    for (size_t k = 0; k < 5; k++)
        if (row->known[k].value > 0)
            know(&f, row->known[k].feature, row->known[k].value);
    return f;
}

static void textbook_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rp_features f = of_row(&rows[i]);
        struct rp_finding found = judge(&f);

        if (found.cause != rows[i].cause)
            fail_msg("row %zu: %s instead of %s", i, rp_cause_facts(found.cause)->name,
                     rp_cause_facts(rows[i].cause)->name);
        assert_int_equal(found.gain.known, found.cause != RP_CAUSE_LAUNCH);
        if (!found.gain.known)
            continue;
        assert_true(found.gain.low >= 1);
        assert_true(found.gain.high >= found.gain.low);
        assert_true(found.gain.high <= 2 * found.gain.low * (1 + 1e-9));
    }
}

/* At 60 % of HBM's peak or more, nothing is bound by latency, whatever else is known. */
static void a_full_memory_is_no_latency(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned without = 0; without < RP_FEATURE_COUNT; without++) {
            struct rp_features f = of_row(&rows[i]);

            know(&f, RP_FEATURE_HBM_SHARE, 0.6);
            know(&f, RP_FEATURE_BOUND_SHARE, 0.6);
            if (without != RP_FEATURE_HBM_SHARE)
                f.of[without].known = false;
            assert_int_not_equal(judge(&f).cause, RP_CAUSE_LATENCY);
        }
}

/* Stalls alone do not say whether memory is slow or full. */
static void without_bytes_it_is_just_memory(void **state)
{
    struct rp_features f = {0};

    (void)state;
    know(&f, RP_FEATURE_STALL_MEMORY, 0.7);
    know(&f, RP_FEATURE_TIME_GLOBAL, 0.8);
    assert_int_equal(judge(&f).cause, RP_CAUSE_MEMORY);
    assert_false(judge(&f).gain.known);
    assert_int_equal(judge(&f).or_cause, RP_CAUSE_LATENCY);
    assert_int_equal(judge(&f).to_tell, RP_FEATURE_HBM_SHARE);
    know(&f, RP_FEATURE_HBM_SHARE, 0.2);
    assert_int_equal(judge(&f).cause, RP_CAUSE_LATENCY);
}

static void limits_hide_what_looks_like_them(void **state)
{
    struct rp_features f = calm();

    (void)state;
    know(&f, RP_FEATURE_HBM_SHARE, 0.8);
    know(&f, RP_FEATURE_TIME_GLOBAL, 0.8);
    f.of[RP_FEATURE_GRID_WAVES].known = false; /* a small grid fills no HBM */
    assert_int_equal(judge(&f).or_cause, RP_CAUSE_UNKNOWN);
    f.of[RP_FEATURE_COALESCING].known = false;
    assert_int_equal(judge(&f).or_cause, RP_CAUSE_UNCOALESCED);
    assert_int_equal(judge(&f).to_tell, RP_FEATURE_COALESCING);
}

static void what_costs_little_is_not_blamed(void **state)
{
    struct rp_features f = calm();

    (void)state;
    know(&f, RP_FEATURE_TIME_BARRIER, 0);
    know(&f, RP_FEATURE_TIME_SCRATCH, 0.15); /* its rule fires, for a gain of 1.14 */
    know(&f, RP_FEATURE_VALU_SHARE, 0.7);
    assert_int_equal(judge(&f).cause, RP_CAUSE_VALU);
    know(&f, RP_FEATURE_TIME_SCRATCH, 0.5);
    assert_int_equal(judge(&f).cause, RP_CAUSE_SPILLS);
    know(&f, RP_FEATURE_VALU_SHARE, 0.1);
    know(&f, RP_FEATURE_TIME_ATOMIC, 0.4); /* of two mistakes, the one that costs more */
    assert_int_equal(judge(&f).cause, RP_CAUSE_SPILLS);
    know(&f, RP_FEATURE_TIME_BARRIER, 0.5); /* waves wait there for those that wait for scratch */
    assert_int_equal(judge(&f).cause, RP_CAUSE_SPILLS);
    know(&f, RP_FEATURE_TIME_SCRATCH, 0.02);
    know(&f, RP_FEATURE_TIME_ATOMIC, 0.1);
    assert_int_equal(judge(&f).cause, RP_CAUSE_BARRIER);
}

static void gains_end_at_the_next_unit(void **state)
{
    struct rp_features f = calm();
    double alone, with;

    (void)state;
    know(&f, RP_FEATURE_LDS_CONFLICTS, 0.9);
    know(&f, RP_FEATURE_TIME_LDS, 0.9);
    alone = judge(&f).gain.high;
    know(&f, RP_FEATURE_VALU_BUSY, 0.6);
    with = judge(&f).gain.high;
    assert_true(with < alone);
    assert_true(fabs(with - M_SQRT2 * 0.9 / 0.6) < 1e-9); /* the pipeline reaches 0.9 */
}

/* A kernel that loads its arguments and stores once, measured: 1.69 us, of which its wave has 38.5
 * %. An empty kernel takes 1.1 us, so that 1.54x is the most that anything can bring. */
static void short_kernels_gain_what_their_waves_have(void **state)
{
    struct rp_wave_time waves = {.cycles = 100};
    struct rp_features f = calm();
    struct rp_finding finding;

    (void)state;
    waves.of[RP_WAVE_PART_STORE].line = (char *)"a.hip:2";
    waves.of[RP_WAVE_PART_STORE].line_cycles = 1;
    waves.of[RP_WAVE_PART_SCALAR_LOAD].line = (char *)"a.hip:1";
    waves.of[RP_WAVE_PART_SCALAR_LOAD].line_cycles = 71;
    know(&f, RP_FEATURE_DURATION_NS, 1690);
    know(&f, RP_FEATURE_TIME_GLOBAL, 0.005);
    know(&f, RP_FEATURE_TIME_SCALAR, 0.71);
    know(&f, RP_FEATURE_SCALAR_MISSES, 0.01);
    know(&f, RP_FEATURE_TRACED_SHARE, 0.385);
    know(&f, RP_FEATURE_TIME_BARRIER, 0);
    finding = rp_finding_judge(&f, &waves);
    assert_int_equal(finding.cause, RP_CAUSE_LATENCY);
    assert_string_equal(finding.rule->id, "scalar_loads_wait");
    assert_string_equal(rp_finding_title(&finding), "latency of scalar loads");
    assert_non_null(strstr(rp_finding_advice(&finding), "more work in each wave"));
    assert_string_equal(finding.line, "a.hip:1");
    assert_true(finding.gain.high <= 1 / (1 - 0.385 * 0.71) + 1e-9);
    assert_true(finding.gain.middle > 1.2 && finding.gain.middle < finding.gain.high);
    f.of[RP_FEATURE_TRACED_SHARE].known = false;
    assert_true(judge(&f).gain.high <= 1.69 / 1.1 + 1e-9);
    know(&f, RP_FEATURE_TRACED_SHARE, 0.385);
    know(&f, RP_FEATURE_DURATION_NS, 1e6); /* Tails and shared units go with the waves. */
    assert_true(judge(&f).gain.middle > 2.1);
    know(&f, RP_FEATURE_DURATION_NS, 1690);
    know(&f, RP_FEATURE_TIME_GLOBAL, 0.9); /* So it is with other waits. */
    know(&f, RP_FEATURE_TIME_SCALAR, 0.02);
    assert_true(judge(&f).gain.high <= 1 / (1 - 0.385) + 1e-9);
}

static void every_rule_can_fire(void **state)
{
    size_t count;
    const struct rp_rule *rules = rp_rules(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct rp_condition *last = NULL;
        struct rp_features f = {0};

        assert_false(rp_rule_fires(&rules[i], &f));
        assert_true(rp_rule_open(&rules[i], &f));
        for (size_t c = 0; c < rules[i].count; c++) {
            const struct rp_condition *when = &rules[i].when[c];

            if (when->sense == RP_SENSE_UNKNOWN)
                continue;
            last = when;
            know(&f, when->feature, when->value * (when->sense == RP_SENSE_AT_LEAST ? 1.01 : 0.99));
        }
        assert_true(rp_rule_fires(&rules[i], &f));
        assert_false(rp_rule_open(&rules[i], &f));
        know(&f, last->feature, last->value * (last->sense == RP_SENSE_AT_LEAST ? 0.99 : 1.01));
        assert_false(rp_rule_fires(&rules[i], &f));
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
    size_t count;
    const struct rp_rule *rules = rp_rules(&count);
    char text[256];

    for (size_t i = 0; i < count; i++) {
        const struct rp_rule *r = &rules[i];

        snprintf(text, sizeof text, "%s %s %d\n", r->id, rp_cause_facts(r->cause)->name,
                 (int)r->gain);
        hash = mix(hash, text);
        for (size_t c = 0; c < r->count; c++) {
            snprintf(text, sizeof text, " %s %s %.6f\n", rp_feature_name(r->when[c].feature),
                     rp_sense_names[r->when[c].sense], r->when[c].value);
            hash = mix(hash, text);
        }
    }
    return hash;
}

/* A version stands for one table only: a changed rule needs a new version, and a row there. */
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

static void tables_are_whole(void **state)
{
    (void)state;
    for (unsigned i = 1; i < RP_FEATURE_COUNT; i++)
        assert_true(strcmp(rp_feature_name((enum rp_feature)(i - 1)),
                           rp_feature_name((enum rp_feature)i)) < 0);
    for (unsigned i = 0; i < RP_CAUSE_COUNT; i++) {
        const struct rp_cause_facts *facts = rp_cause_facts((enum rp_cause)i);

        assert_non_null(facts->name);
        assert_non_null(facts->title);
        assert_true(facts->advice || facts->label == RP_BOTTLENECK_UNKNOWN ||
                    facts->label == RP_BOTTLENECK_MIXED);
    }
}

static void the_line_is_that_of_the_part(void **state)
{
    struct rp_wave_time waves = {.cycles = 100};
    struct rp_features f = calm();

    (void)state;
    waves.of[RP_WAVE_PART_LOAD].line = (char *)"a.hip:1";
    waves.of[RP_WAVE_PART_LOAD].line_cycles = 40;
    waves.of[RP_WAVE_PART_STORE].line = (char *)"a.hip:2";
    waves.of[RP_WAVE_PART_STORE].line_cycles = 50;
    waves.of[RP_WAVE_PART_BARRIER].line = (char *)"a.hip:3";
    know(&f, RP_FEATURE_HBM_SHARE, 0.8);
    assert_string_equal(rp_finding_judge(&f, &waves).line, "a.hip:2");
    know(&f, RP_FEATURE_TIME_BARRIER, 0.9);
    know(&f, RP_FEATURE_HBM_SHARE, 0.1);
    assert_string_equal(rp_finding_judge(&f, &waves).line, "a.hip:3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_is_unknown),
        cmocka_unit_test(textbook_cases),
        cmocka_unit_test(a_full_memory_is_no_latency),
        cmocka_unit_test(without_bytes_it_is_just_memory),
        cmocka_unit_test(limits_hide_what_looks_like_them),
        cmocka_unit_test(what_costs_little_is_not_blamed),
        cmocka_unit_test(gains_end_at_the_next_unit),
        cmocka_unit_test(short_kernels_gain_what_their_waves_have),
        cmocka_unit_test(every_rule_can_fire),
        cmocka_unit_test(a_version_is_one_table),
        cmocka_unit_test(tables_are_whole),
        cmocka_unit_test(the_line_is_that_of_the_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
