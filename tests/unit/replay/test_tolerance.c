/**
 * @file test_tolerance.c
 * @brief The tolerance that follows from what runs of the captured kernel differ by.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/output_rules.h"
#include "unit/cmocka_all.h"

#include "replay/derived_tolerance.c"

/* --- near ------------------------------------------------------------------------------------ */

/* Words that the tolerance for sums is for: sums that happened to come out the same are
among them, integers beside the sums are not.
/ */

enum { RUNS = 6, WORDS = RP_PAGE_BYTES / 4 };

static uint64_t seed = 7;

static uint32_t any(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

/** A region of a page: its states, and what runs of the kernel gave. */
struct scene {
    union {
        uint32_t words[WORDS];
        float sums[WORDS];
        double wide[WORDS / 2];
        uint8_t bytes[RP_PAGE_BYTES];
    } before, after, runs[RUNS];
    struct rp_spread spread;
    struct rp_compare_rule rule;
    uint64_t near[RP_PAGE_MASKS];
    unsigned different; /**< words, in all runs together */
};

/* A sum, which in each run is one of so many steps off, as often as not none. */
static void set_sum(struct scene *s, size_t at, float value, unsigned steps)
{
    s->after.sums[at] = value;
    for (unsigned i = 0; i < RUNS; i++)
        s->runs[i].words[at] = s->after.words[at] + any() % (steps + 1);
}

static void set_word(struct scene *s, size_t at, uint32_t value)
{
    s->after.words[at] = value;
    for (unsigned i = 0; i < RUNS; i++)
        s->runs[i].words[at] = value;
}

static void find(struct scene *s)
{
    uint8_t units[WORDS];
    uint64_t differs[RP_PAGE_MASKS] = {0}, one[RP_PAGE_MASKS];
    struct rp_tolerance_count count = {0};
    unsigned unit_bytes;

    for (unsigned i = 0; i < RUNS; i++) {
        spread_note(&s->spread, s->runs[i].bytes, s->after.bytes, RP_PAGE_BYTES);
        rp_compare_words(&rp_exact, s->runs[i].bytes, s->after.bytes, RP_PAGE_BYTES, one);
        for (size_t j = 0; j < RP_PAGE_MASKS; j++)
            differs[j] |= one[j];
    }
    for (size_t i = 0; i < WORDS; i++)
        s->different += rp_word_in(differs, i);
    assert_true(spread_rule(&s->spread, &s->rule));
    unit_bytes = tolerance_unit_bytes(&s->rule);
    tolerance_units(&s->spread, &s->rule, s->before.bytes, s->after.bytes, differs, units);
    tolerance_count(units, RP_PAGE_BYTES / unit_bytes, &count);
    tolerance_drop_rows(&count, units, RP_PAGE_BYTES / unit_bytes);
    tolerance_mask(units, unit_bytes, s->near);
}

/* Of each such word: may another kernel give the next number instead? */
static unsigned near_words(const struct scene *s, size_t from, size_t end, size_t step)
{
    unsigned count = 0;

    for (size_t i = from; i < end; i += step) {
        uint64_t bad[RP_PAGE_MASKS];
        uint32_t got[WORDS];

        memcpy(got, s->after.words, sizeof got);
        got[i]++;
        rp_compare_words(&s->rule, (uint8_t *)got, s->after.bytes, RP_PAGE_BYTES, bad);
        count += rp_word_in(s->near, i) && !rp_word_in(bad, i);
    }
    return count;
}

static float some_sum(void)
{
    return 10 + (float)(any() % 1000) / 7;
}

/* Sums of few terms often come out the same. */
static void test_sums(void **state)
{
    static const unsigned steps[] = {1, 2, 5, 40};

    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        struct scene *s = calloc(1, sizeof *s);

        for (size_t i = 0; i < 500; i++)
            set_sum(s, i, some_sum(), any() % 3 ? steps[k] : 1);
        find(s);
        assert_int_equal(s->rule.type, RP_F32);
        assert_in_range(s->different, 450, 499); /* some are the same */
        assert_int_equal(near_words(s, 0, 500, 1), 500);
        assert_int_equal(near_words(s, 500, WORDS, 1), 0);
        free(s);
    }
}

/* With inputs for which the tolerance does not hold, what it does not apply to is compared exactly
 * all the same, in a region with sums as in others, and sums are compared roughly. */
static void test_exact_words(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    struct rp_derived_region regions[2] = {{.rule.type = RP_EXACT}};
    struct rp_differing_page near = {.key = {.region = 0}};
    struct rp_derived_tolerance own = {.regions = regions};
    uint64_t bad[RP_PAGE_MASKS];
    uint32_t got[WORDS];

    (void)state;
    for (size_t i = 0; i < 100; i++)
        set_sum(s, i, some_sum(), 4);
    for (size_t i = 100; i < 200; i++)
        set_word(s, i, (uint32_t)i);
    find(s);
    regions[0].rule = s->rule;
    memcpy(near.words, s->near, sizeof near.words);
    rp_vec_push(&own.near, near);
    for (size_t i = 0; i < WORDS; i++)
        got[i] = s->after.words[i] + 10000; /* of a sum about a thousandth */
    got[7] ^= 0x80000000;
    got[8] = 0x7fc00000; /* NaN */
    rp_derived_tolerance_compare_roughly(&own, 0, 0, (uint8_t *)got, s->after.bytes, bad);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(rp_word_in(bad, i), i >= 100 || i == 7 || i == 8);
    rp_derived_tolerance_compare_roughly(&own, 1, 0, (uint8_t *)got, s->after.bytes, bad);
    for (size_t i = 0; i < 200; i++)
        assert_true(rp_word_in(bad, i));
    rp_vec_free(&own.near);
    free(s);
}

/* What is no sum by its size: counters, from those that are denormal numbers to those that are
 * numbers far smaller or larger than the sums, and empty sums. */
static void test_counters(void **state)
{
    static const uint32_t counters[] = {0,        1,          0x7fffff,   0x800000,   0x1000001,
                                        50000000, 0x30000000, 0x7f800000, 0xffffffff, 0x60000000};
    enum { COUNT = sizeof counters / sizeof *counters };
    struct scene *s = calloc(1, sizeof *s);

    (void)state;
    for (size_t i = 0; i < 100; i++)
        set_sum(s, i, some_sum(), 4);
    for (size_t i = 0; i < COUNT; i++)
        set_word(s, 100 + i, counters[i]);
    find(s);
    assert_int_equal(near_words(s, 0, 100, 1), 100);
    assert_int_equal(near_words(s, 100, 100 + COUNT, 1), 0);
    free(s);
}

/* Keys that are as large as the sums, taken as numbers: in structures of two to five words, and one
 * behind the other. */
static void test_keys(void **state)
{
    (void)state;
    for (size_t fields = 2; fields <= 5; fields++) {
        struct scene *s = calloc(1, sizeof *s);

        for (size_t i = 0; i < 180 * fields; i++)
            if (i % fields == 1)
                set_word(s, i, 0x42000000 + any() % 0x200000);
            else
                set_sum(s, i, some_sum(), 3);
        find(s);
        assert_int_equal(near_words(s, 1, 180 * fields, fields), 0);
        assert_int_equal(near_words(s, 0, 180 * fields, 1), 180 * (fields - 1));
        free(s);
    }
    for (size_t first = 0; first < 2; first++) {
        struct scene *s = calloc(1, sizeof *s);

        for (size_t i = 0; i < 200; i++)
            if (i / 100 == first)
                set_word(s, i, 0x42000000 + any() % 0x200000);
            else
                set_sum(s, i, some_sum(), 3);
        find(s);
        assert_int_equal(near_words(s, first * 100, first * 100 + 100, 1), 0);
        assert_in_range(near_words(s, 0, 200, 1), 98, 100); /* the last ones are beside the keys */
        free(s);
    }
}

/* Sums that come near 0: the tolerance is absolute, and a small number can be anything by it. */
static void test_small_beside_absolute(void **state)
{
    struct scene *s = calloc(1, sizeof *s);

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        const float noise = (float)(i % 10) * 1e-3f;

        set_word(s, i, 0);
        s->after.sums[i] = i % 5 ? some_sum() : 1e-4f;
        for (unsigned k = 0; k < RUNS; k++)
            s->runs[k].sums[i] = s->after.sums[i] + noise * (float)(any() % 5);
    }
    set_word(s, 100, 0x36000000); /* 1.9e-6 */
    set_word(s, 101, 0);
    find(s);
    assert_true(s->rule.abs > 0);
    assert_int_equal(near_words(s, 100, 102, 1), 0);
    free(s);
}

/* Of fp64 the unit is two words; of fp16 one, with two of them. */
static void test_other_widths(void **state)
{
    struct scene *s = calloc(1, sizeof *s);

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        s->after.wide[i] = 10 + (double)(any() % 1000) / 7;
        for (unsigned k = 0; k < RUNS; k++)
            s->runs[k].words[2 * i] = s->after.words[2 * i] + (k == 0 ? 0 : any() % 4),
                                 s->runs[k].words[2 * i + 1] = s->after.words[2 * i + 1];
    }
    set_word(s, 400, 12345);
    set_word(s, 401, 54321);
    find(s);
    assert_int_equal(s->rule.type, RP_F64);
    assert_int_equal(near_words(s, 0, 400, 2), 200); /* lower halves */
    assert_int_equal(near_words(s, 1, 400, 2), 0);
    assert_int_equal(near_words(s, 400, 402, 1), 0);
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < 200; i++) {
        const uint32_t low = 0x4900 + any() % 0x400, high = 0x4900 + any() % 0x400;

        set_word(s, i, low | high << 16);
        for (unsigned k = 0; k < RUNS; k++)
            s->runs[k].words[i] = (low + any() % 2) | (high + any() % 2) << 16;
    }
    set_word(s, 200, 1000);
    find(s);
    assert_int_equal(s->rule.type, RP_F16);
    assert_int_equal(near_words(s, 0, 200, 1), 200);
    assert_int_equal(near_words(s, 200, 201, 1), 0);
    free(s);
}

/* Sums that were there before are no row beside the few that were computed. */
static void test_unchanged(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    uint32_t saved;

    (void)state;
    for (size_t i = 0; i < 20; i++)
        set_sum(s, i, some_sum(), 3);
    s->after.sums[19] = 20;
    memcpy(&saved, &s->after.words[19], 4);
    set_word(s, 19, saved); /* the same in all runs, by chance */
    for (size_t i = 20; i < 500; i++) {
        s->before.sums[i] = some_sum();
        set_word(s, i, s->before.words[i]);
    }
    find(s);
    assert_int_equal(near_words(s, 0, 20, 1), 20);
    free(s);
}

/* --- spread ---------------------------------------------------------------------------------- */

/* The tolerance that runs of one kernel give: sums in orders that vary, of each type, and
what is let through with it and what is not.
/ */

enum { NUMBERS = 256, TERMS = 300, SPREAD_RUNS = 6, MORE = 40 };

static uint64_t spread_seed = 99;

static uint64_t spread_any(void)
{
    spread_seed = spread_seed * 6364136223846793005u + 1442695040888963407u;
    return spread_seed >> 20;
}

/* Rounds to a number with fewer bits, ties to even. */
static uint64_t narrow(float value, unsigned exponent_bits, unsigned fraction_bits)
{
    uint32_t bits;
    uint64_t kept;
    int exponent;

    memcpy(&bits, &value, 4);
    kept = (bits & 0x7fffff) >> (23 - fraction_bits);
    exponent = (int)(bits >> 23 & 255) - 127 + (1 << (exponent_bits - 1)) - 1;
    kept |= (uint64_t)exponent << fraction_bits;
    kept += (bits >> (22 - fraction_bits) & 1) &&
            ((bits & ((1u << (22 - fraction_bits)) - 1)) || (kept & 1));
    return kept | (uint64_t)(bits >> 31) << (exponent_bits + fraction_bits);
}

/* A sum of the same terms from another one on; of terms of both signs, if it is to come near 0. */
static void sums(enum rp_number_type type, bool signs, unsigned order, uint8_t *ret)
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        const unsigned from = order * 2654435761u >> 7;
        double wide = 0;
        float sum = 0;
        uint64_t bits = 0;

        for (unsigned j = 0; j < TERMS; j++) {
            const unsigned k = (from + j * 7 + i) % TERMS;
            const double term = (1.0 + k * k % 101) / 7 * (signs && k % 2 ? -1 : 1);

            sum += (float)term + (float)i * 0.01f;
            wide += term + i * 0.01;
        }
        if (type == RP_F64)
            memcpy(&bits, &wide, 8);
        else if (type == RP_F32)
            memcpy(&bits, &sum, 4);
        else /* as by a kernel that adds in fp32 with some more noise, and stores less */
            bits =
                narrow(sum * (1 + (float)(spread_any() % 100) * (type == RP_F16 ? 1e-5f : 8e-5f)),
                       type == RP_F16 ? 5 : 8, type == RP_F16 ? 10 : 7);
        memcpy(ret + i * rp_number_shape(type).bytes, &bits, rp_number_shape(type).bytes);
    }
}

static struct rp_compare_rule rule_of_runs(enum rp_number_type type, bool signs, uint8_t *captured)
{
    struct rp_spread spread = {0};
    struct rp_compare_rule rule;
    uint8_t run[NUMBERS * 8];

    sums(type, signs, 0, captured);
    for (unsigned i = 1; i <= SPREAD_RUNS; i++) {
        sums(type, signs, i, run);
        spread_note(&spread, run, captured, NUMBERS * rp_number_shape(type).bytes);
    }
    assert_true(spread.words > 0);
    assert_true(spread_rule(&spread, &rule));
    return rule;
}

static bool right(const struct rp_compare_rule *rule, const uint8_t *got, const uint8_t *expected,
                  size_t bytes)
{
    uint64_t bad[NUMBERS * 8 / 4 / 64] = {0};
    bool any_bad = false;

    rp_compare_words(rule, got, expected, bytes, bad);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        any_bad = any_bad || bad[i];
    return !any_bad;
}

/* Other orders are right; one number that is 6 to 12 % larger is not. */
static void check_type(enum rp_number_type type, bool signs)
{
    const unsigned width = rp_number_shape(type).bytes;
    uint8_t captured[NUMBERS * 8], run[NUMBERS * 8];
    const struct rp_compare_rule rule = rule_of_runs(type, signs, captured);
    char text[160];
    uint64_t bits = 0;

    rp_compare_rule_print(&rule, text, sizeof text);
    print_message("%s\n", text);
    for (unsigned i = 0; i < MORE; i++) {
        sums(type, signs, 100 + i, run);
        assert_true(right(&rule, run, captured, NUMBERS * width));
    }
    memcpy(run, captured, sizeof run);
    memcpy(&bits, run + 200 * width, width);
    bits += (uint64_t)1 << (rp_number_shape(type).fraction_bits - 3); /* 6 to 12 % */
    memcpy(run + 200 * width, &bits, width);
    assert_false(right(&rule, run, captured, NUMBERS * width));
}

static void test_types(void **state)
{
    uint8_t captured[NUMBERS * 8];

    (void)state;
    check_type(RP_F32, false);
    check_type(RP_F64, false);
    check_type(RP_F16, false);
    check_type(RP_BF16, false);
    assert_int_equal(rule_of_runs(RP_F32, false, captured).type, RP_F32);
    assert_int_equal(rule_of_runs(RP_F64, false, captured).type, RP_F64);
    assert_int_equal(rule_of_runs(RP_F16, false, captured).type, RP_F16);
    assert_in_range(rule_of_runs(RP_F32, false, captured).ulp, 4, 400);
    assert_in_range(rule_of_runs(RP_F64, false, captured).ulp, 4, 400);
    assert_in_range(rule_of_runs(RP_BF16, false, captured).ulp, 4, 8);
}

/* Near 0 the order changes the sum by much of its size: by little of that of the others. */
static void test_cancellation(void **state)
{
    (void)state;
    check_type(RP_F32, true);
    check_type(RP_F64, true);
}

/* A result of fewer bits is not the same in another order. */
static void test_less_precise(void **state)
{
    uint8_t captured[NUMBERS * 8], run[NUMBERS * 8];
    const struct rp_compare_rule rule = rule_of_runs(RP_F32, false, captured);

    (void)state;
    for (unsigned i = 0; i < NUMBERS; i++) {
        float value;
        uint32_t bits;

        memcpy(&value, captured + 4 * i, 4);
        bits = (uint32_t)narrow(value, 8, 7) << 16;
        memcpy(run + 4 * i, &bits, 4);
    }
    assert_false(right(&rule, run, captured, NUMBERS * 4));
}

/* A counter beside the sums: near as a number of fp32, but wrong. */
static void test_integers_beside(void **state)
{
    static const uint32_t expected[] = {0, 1, 1000, 0x7fffff}, got[] = {1, 0, 1001, 0x7ffffe};
    uint8_t captured[NUMBERS * 8];

    (void)state;
    for (unsigned signs = 0; signs < 2; signs++) {
        const struct rp_compare_rule rule = rule_of_runs(RP_F32, signs, captured);

        for (unsigned i = 0; i < sizeof got / sizeof *got; i++) {
            assert_false(right(&rule, (const uint8_t *)&got[i], (const uint8_t *)&expected[i], 4));
            assert_true(right(&rule, (const uint8_t *)&got[i], (const uint8_t *)&got[i], 4));
        }
    }
}

/* Counters, and who comes first. */
static void test_no_numbers(void **state)
{
    uint32_t captured[256], run[256];
    struct rp_spread spread = {0};
    struct rp_compare_rule rule;

    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        captured[i] = i;
        run[i] = 255 - i;
    }
    spread_note(&spread, (uint8_t *)run, (uint8_t *)captured, sizeof run);
    assert_int_equal(spread.words, 256);
    assert_false(spread_rule(&spread, &rule));
    memset(&spread, 0, sizeof spread);
    spread_note(&spread, (uint8_t *)run, (uint8_t *)run, sizeof run);
    assert_int_equal(spread.words, 0);
    for (unsigned i = 0; i < 256; i++)
        run[i] = (uint32_t)spread_any();
    spread_note(&spread, (uint8_t *)run, (uint8_t *)captured, sizeof run);
    assert_false(spread_rule(&spread, &rule));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_exact_words),
                                       cmocka_unit_test(test_counters),
                                       cmocka_unit_test(test_keys),
                                       cmocka_unit_test(test_small_beside_absolute),
                                       cmocka_unit_test(test_other_widths),
                                       cmocka_unit_test(test_unchanged),
                                       cmocka_unit_test(test_types),
                                       cmocka_unit_test(test_cancellation),
                                       cmocka_unit_test(test_less_precise),
                                       cmocka_unit_test(test_integers_beside),
                                       cmocka_unit_test(test_no_numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
