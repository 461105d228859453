/**
 * @file test_off.c
 * @brief How far results are off, against steps of the host's own nextafter.
 */
#include <math.h>
#include <string.h>

#include "replay/output_rules.h"
#include "unit/cmocka_all.h"

enum { COUNT = 16 };

static const uint8_t *bytes(const void *p)
{
    return p;
}

static void some_f32(float *ret, unsigned seed)
{
    for (unsigned i = 0; i < COUNT; i++)
        ret[i] = (i % 2 ? -1.f : 1.f) * (float)(1 + (i * 37 + seed) % 101) / 7.f;
}

static float step_f32(float x, unsigned steps)
{
    while (steps--)
        x = nextafterf(x, INFINITY);
    return x;
}

static double step_f64(double x, unsigned steps)
{
    while (steps--)
        x = nextafter(x, INFINITY);
    return x;
}

static void test_f32(void **state)
{
    struct rp_mismatch off = {0};
    enum rp_number_type type;
    uint64_t steps;
    float got[COUNT], expected[COUNT];

    (void)state;
    some_f32(expected, 3);
    memcpy(got, expected, sizeof got);
    rp_mismatch_note(&off, bytes(got), bytes(expected), sizeof got);
    assert_false(rp_mismatch_is_rounding(&off, &type, &steps)); /* nothing differs */
    got[4] = step_f32(got[4], 5);
    got[7] = step_f32(got[7], 64);
    rp_mismatch_note(&off, bytes(got), bytes(expected), sizeof got);
    assert_true(rp_mismatch_is_rounding(&off, &type, &steps));
    assert_int_equal(type, RP_F32);
    assert_int_equal(steps, 64);
    got[9] = step_f32(got[9], 65);
    rp_mismatch_note(&off, bytes(got), bytes(expected), sizeof got);
    assert_false(rp_mismatch_is_rounding(&off, &type, &steps));
}

/* One alone, in the lower half. */
static void test_one(void **state)
{
    struct rp_mismatch off = {0};
    enum rp_number_type type;
    uint64_t steps;
    float got[COUNT], expected[COUNT];

    (void)state;
    some_f32(expected, 8);
    memcpy(got, expected, sizeof got);
    got[6] = step_f32(got[6], 1);
    rp_mismatch_note(&off, bytes(got), bytes(expected), sizeof got);
    assert_true(rp_mismatch_is_rounding(&off, &type, &steps));
    assert_int_equal(type, RP_F32);
    assert_int_equal(steps, 1);
}

static void test_f64(void **state)
{
    struct rp_mismatch off = {0};
    enum rp_number_type type;
    uint64_t steps;
    double got[COUNT], expected[COUNT];

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        expected[i] = (double)(i + 1) / 3;
        got[i] = step_f64(expected[i], i % 4);
    }
    rp_mismatch_note(&off, bytes(got), bytes(expected), sizeof got);
    assert_true(rp_mismatch_is_rounding(&off, &type, &steps));
    assert_int_equal(type, RP_F64);
    assert_int_equal(steps, 3);
}

/* Counters off by one are no rounding, nor is a NaN, nor another sign. */
static void test_no_numbers(void **state)
{
    static const struct {
        uint32_t got, expected;
    } words[] = {{1000, 1001},
                 {0x7f800000, 0x7f7fffff},
                 {0x7fc00001, 0x7fc00000},
                 {0, 1},
                 {0xbf800000, 0x3f800000}};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const uint32_t got[] = {words[i].got, words[i].got};
        const uint32_t expected[] = {words[i].expected, words[i].expected};
        struct rp_mismatch off = {0};
        enum rp_number_type type;
        uint64_t steps;

        rp_mismatch_note(&off, bytes(got), bytes(expected), sizeof got);
        assert_false(rp_mismatch_is_rounding(&off, &type, &steps));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_no_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
