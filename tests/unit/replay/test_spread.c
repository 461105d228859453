/**
 * @file test_spread.c
 * @brief The tolerance that runs of one kernel give: sums in orders that vary, of each type, and
 * what is let through with it and what is not.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "replay/derived_tolerance.h"
#include "unit/cmocka_all.h"

enum { NUMBERS = 256, TERMS = 300, RUNS = 6, MORE = 40 };

static uint64_t seed = 99;

static uint64_t any(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 20;
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
            bits = narrow(sum * (1 + (float)(any() % 100) * (type == RP_F16 ? 1e-5f : 8e-5f)),
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
    for (unsigned i = 1; i <= RUNS; i++) {
        sums(type, signs, i, run);
        rp_spread_note(&spread, run, captured, NUMBERS * rp_number_shape(type).bytes);
    }
    assert_true(spread.words > 0);
    assert_true(rp_spread_rule(&spread, &rule));
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
    rp_spread_note(&spread, (uint8_t *)run, (uint8_t *)captured, sizeof run);
    assert_int_equal(spread.words, 256);
    assert_false(rp_spread_rule(&spread, &rule));
    memset(&spread, 0, sizeof spread);
    rp_spread_note(&spread, (uint8_t *)run, (uint8_t *)run, sizeof run);
    assert_int_equal(spread.words, 0);
    for (unsigned i = 0; i < 256; i++)
        run[i] = (uint32_t)any();
    rp_spread_note(&spread, (uint8_t *)run, (uint8_t *)captured, sizeof run);
    assert_false(rp_spread_rule(&spread, &rule));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),        cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_less_precise), cmocka_unit_test(test_integers_beside),
        cmocka_unit_test(test_no_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
