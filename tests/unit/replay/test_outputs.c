/**
 * @file test_outputs.c
 * @brief When a result is right, and how far a wrong one is off.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "half.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "unit/cmocka_all.h"

/* --- numbers --------------------------------------------------------------------------------- */

/* Results compared as numbers, against the host's own arithmetic; poison is never right.
/ */

static struct rp_compare_rule rule(const char *text)
{
    struct rp_compare_rule r;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_compare_rule_parse(text, &r, &err), 0);
    return r;
}

static bool same(const char *text, const void *got, const void *expected, size_t bytes)
{
    const struct rp_compare_rule r = rule(text);
    uint64_t bad[RP_PAGE_MASKS];
    uint64_t any = 0;

    rp_compare_words(&r, got, expected, bytes, bad);
    for (size_t i = 0; i < (bytes / 4 + 63) / 64; i++)
        any |= bad[i];
    return !any;
}

static void test_rules(void **state)
{
    static const char *const wrong[] = {
        "",           "f31",         "f32,",        "f32,abs",    "f32,abs=",    "f32,abs=x",
        "f32,abs=1x", "f32,ulp=0.5", "exact,abs=1", "f32,abs=-1", "f32,abs=nan", "f32,rel=1e999",
        "f32 ,abs=1", "f32,foo=1",   "ulp",         "ulp=2,f32"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rp_compare_rule r = {.ulp = 77};
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_compare_rule_parse(wrong[i], &r, &err), -RP_USAGE);
        assert_non_null(strstr(err.text, "use exact"));
        assert_int_equal(r.ulp, 77);
    }
    assert_true(rule("bf16,ulp=3,rel=0.5,abs=1e-3").ulp == 3);
    assert_true(rule("ulp=2").type == RP_F32 && rule("ulp=2").ulp == 2);
    assert_true(rule("rel=1e-3,abs=1").rel == 1e-3 && rule("rel=1e-3,abs=1").abs == 1);
    assert_true(rule("bf16,ulp=3,rel=0.5,abs=1e-3").rel == 0.5);
    assert_true(rule("bf16,ulp=3,rel=0.5,abs=1e-3").abs == 1e-3);
}

static void test_specials(void **state)
{
    const float nan_a = NAN, inf = INFINITY, minus_inf = -INFINITY, one = 1, zero = 0,
                minus = -0.0f;
    const uint32_t nan_bits = 0xffc12345;
    const char *loose = "f32,abs=1e30,rel=1e30,ulp=1000000000";

    (void)state;
    assert_true(same(loose, &nan_a, &nan_bits, 4));
    assert_false(same("exact", &nan_a, &nan_bits, 4));
    assert_false(same(loose, &nan_a, &one, 4));
    assert_false(same(loose, &one, &nan_a, 4));
    assert_false(same(loose, &inf, &one, 4));
    assert_false(same(loose, &one, &inf, 4));
    assert_false(same(loose, &inf, &minus_inf, 4));
    assert_true(same("f32", &zero, &minus, 4));
    assert_false(same("exact", &zero, &minus, 4));
}

/* Numbers from the host: what lies n steps away is n units in the last place away, across zero too.
 */
static void test_ulps(void **state)
{
    (void)state;
    srand(7);
    for (unsigned i = 0; i < 2000; i++) {
        float a =
            i % 10 == 0 ? 0 : ldexpf((float)rand() / (float)RAND_MAX - 0.5f, rand() % 200 - 140);
        double d = i % 10 == 0 ? 0 : ldexp((double)rand() / RAND_MAX - 0.5, rand() % 2000 - 1060);
        const unsigned steps = (unsigned)rand() % 5 + 1;
        char enough[32], few[32];
        float b = a;
        double e = d;

        for (unsigned s = 0; s < steps; s++) {
            b = nextafterf(b, i % 2 ? INFINITY : -INFINITY);
            e = nextafter(e, i % 2 ? INFINITY : -INFINITY);
        }
        snprintf(enough, sizeof enough, "f32,ulp=%u", steps);
        snprintf(few, sizeof few, "f32,ulp=%u", steps - 1);
        assert_true(same(enough, &b, &a, 4));
        assert_false(same(few, &b, &a, 4));
        enough[1] = few[1] = '6';
        enough[2] = few[2] = '4';
        assert_true(same(enough, &e, &d, 8));
        assert_false(same(few, &e, &d, 8));
    }
}

/* All values of 16 bits, against the host's conversion: which of them are within 0.25 of 1.5. */
static void test_halves(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const uint16_t got[2] = {(uint16_t)bits, 0}, f16[2] = {0x3e00, 0}, bf16[2] = {0x3fc0, 0};
        const uint32_t widened = bits << 16;
        float brain;

        memcpy(&brain, &widened, sizeof brain);
        assert_int_equal(same("f16,abs=0.25", got, f16, 4),
                         fabsf(host_f32_of_f16((uint16_t)bits) - 1.5f) <= 0.25f);
        assert_int_equal(same("bf16,abs=0.25", got, bf16, 4), fabsf(brain - 1.5f) <= 0.25f);
    }
}

static void test_tolerances(void **state)
{
    (void)state;
    srand(8);
    for (unsigned i = 0; i < 20000; i++) {
        const float expected = ((float)rand() / (float)RAND_MAX - 0.5f) * 100;
        const float got = expected + ((float)rand() / (float)RAND_MAX - 0.5f) * 0.1f;
        const double gap = fabs((double)got - (double)expected);

        assert_int_equal(same("f32,abs=0.01", &got, &expected, 4), gap <= 0.01);
        assert_int_equal(same("f32,rel=0.001", &got, &expected, 4),
                         gap <= 0.001 * fabs((double)expected));
    }
}

/* The bits that are set are those of the words of the numbers that differ. */
static void test_places(void **state)
{
    const char *const types[] = {"exact", "f32", "f16", "bf16", "f64"};
    static uint8_t got[RP_PAGE_BYTES], expected[RP_PAGE_BYTES];

    (void)state;
    srand(9);
    for (unsigned i = 0; i < 500; i++) {
        const unsigned type = (unsigned)rand() % 5, at = (unsigned)rand() % RP_PAGE_BYTES;
        const struct rp_compare_rule r = rule(types[type]);
        uint64_t bad[RP_PAGE_MASKS], wanted[RP_PAGE_MASKS] = {0};

        memset(expected, 0x11, sizeof expected);
        memset(got, 0x11, sizeof got);
        got[at] ^= 0x20;
        wanted[at / 256] |= (uint64_t)1 << at / 4 % 64;
        if (type == 4)
            wanted[at / 256] |= (uint64_t)3 << (at / 8 * 2) % 64;
        rp_compare_words(&r, got, expected, sizeof got, bad);
        assert_memory_equal(bad, wanted, sizeof bad);
    }
}

static void test_poison(void **state)
{
    const char *const rules[] = {"exact", "f32,abs=1e9,rel=9", "f16,abs=100,rel=9",
                                 "bf16,abs=1e9,rel=9", "f64,abs=1e9,rel=9"};
    static const uint8_t poison_itself[8] = {0xfd, 0xff, 0xfd, 0xff, 0xfd, 0xff, 0xfd, 0xff};
    static uint8_t after[RP_PAGE_BYTES], page[RP_PAGE_BYTES];

    (void)state;
    srand(10);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rp_compare_rule r = rule(rules[i]);
        uint64_t mask[RP_PAGE_MASKS], bad[RP_PAGE_MASKS];

        memset(mask, 0xff, sizeof mask);
        for (size_t j = 0; j < sizeof after; j++)
            after[j] = (uint8_t)(rand() % 64); /* no NaN */
        for (size_t j = 0; j < sizeof after; j += 64)
            memcpy(after + j, poison_itself, 8); /* but here */
        for (unsigned kind = 0; kind < RP_POISON_KINDS; kind++) {
            memset(page, 0, sizeof page);
            rp_write_set_poison(&r, (enum rp_poison)kind, mask, after, sizeof page, page);
            rp_compare_words(&r, page, after, sizeof page, bad);
            assert_memory_equal(bad, mask, sizeof bad);
        }
    }
}

static const struct rp_replay_range range = {.base = 0x7f0000000000, .bytes = 0x1000};
static const struct rp_addresses addresses = {.ranges = &range, .count = 1}, nowhere;
static const struct rp_replay_range other_range = {.base = 1 << 20, .bytes = 1 << 20};
static const struct rp_addresses other_addresses = {.ranges = &other_range, .count = 1};

/* Addresses in the range stay, and null pointers beside them; all else is changed in every word. */
static void test_flip(void **state)
{
    static uint64_t page[RP_PAGE_BYTES / 8], old[RP_PAGE_BYTES / 8];

    (void)state;
    for (size_t i = 0; i < RP_PAGE_BYTES / 8; i++)
        old[i] = page[i] = i % 3 ? i % 7 * 0x123456789 : 0x7f0000000000 + i * 100;
    rp_write_set_flip(RP_FLIP_EACH, 0, (uint8_t *)page, sizeof page, &addresses);
    for (size_t i = 0; i < RP_PAGE_BYTES / 8; i++) {
        const bool stays = i % 3 ? i % 7 == 0 : i * 100 < 0x1000;
        const uint64_t bits = page[i] ^ old[i];

        assert_true(stays ? bits == 0 : (bits & ~0x300000003u) == 0);
        assert_true(stays || ((bits & 3) && bits >> 32));
    }
    /* Half of the last word is there. */
    memset(page, 0, sizeof page);
    rp_write_set_flip(RP_FLIP_EACH, 0, (uint8_t *)page, sizeof page - 2, &addresses);
    for (size_t i = 0; i < RP_PAGE_BYTES / 4; i++)
        assert_in_range(((uint32_t *)page)[i], 1, 3);
}

/* So many of the words of two pages, one of which is a copy, would be a copy still. */
static unsigned alike(enum rp_flip way, uint32_t word, unsigned *changed)
{
    static uint32_t a[RP_PAGE_WORDS], b[RP_PAGE_WORDS], again[RP_PAGE_WORDS];
    unsigned same = 0;

    *changed = 0;
    for (size_t i = 0; i < RP_PAGE_WORDS; i++)
        a[i] = b[i] = again[i] = word;
    rp_write_set_flip(way, 0x7f0000000000, (uint8_t *)a, sizeof a, &nowhere);
    rp_write_set_flip(way, 0x7f0000001000, (uint8_t *)b, sizeof b, &nowhere);
    rp_write_set_flip(way, 0x7f0000000000, (uint8_t *)again, sizeof again, &nowhere);
    assert_memory_equal(a, again, sizeof a);
    for (size_t i = 0; i < RP_PAGE_WORDS; i++) {
        same += a[i] == b[i];
        *changed += a[i] != word;
    }
    return same;
}

/* A third of flags are off in the first way, and fewer in others; numbers change, and flags, small
 * integers of both signs and infinities do not. */
static void test_ways(void **state)
{
    static const uint32_t structure[] = {0, 1, 4999, 0x7fffff, 0xffffffff, 0xff800001, 0x7f800000};
    static const uint32_t numbers[] = {0x3f800000, 0xc0490fdb, 0x3c003c00, 0x3f803f80, 0x40091eb8};
    static const double changed_share[RP_FLIP_ORDER] = {1, 0.5, 0.125, 0.5};
    /* Two of three values; or none of both, and such a third of both. */
    static const double alike_share[RP_FLIP_ORDER] = {1. / 3, 0.25 + 0.25 / 3, 0.7656 + 0.0156 / 3,
                                                      0.25 + 0.25 / 3};
    unsigned changed;

    (void)state;
    for (unsigned way = 0; way < RP_FLIP_ORDER; way++) {
        const unsigned same = alike((enum rp_flip)way, 0x3f800000, &changed);

        /* within 4 standard deviations of at most 16 */
        assert_true(fabs(changed - changed_share[way] * RP_PAGE_WORDS) < 64);
        assert_true(fabs(same - alike_share[way] * RP_PAGE_WORDS) < 64);
    }
    for (size_t i = 0; i < sizeof structure / sizeof *structure; i++)
        assert_true(alike(RP_FLIP_NUMBERS, structure[i], &changed) == RP_PAGE_WORDS && !changed);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        alike(RP_FLIP_NUMBERS, numbers[i], &changed);
        assert_in_range(changed, 448, 576);
    }
}

/* Each number of 8 bytes is there once, few where they were; another page has another order. What
 * is too short for a second number stays, and addresses and null pointers beside them do. */
static void test_order(void **state)
{
    static uint64_t page[RP_PAGE_BYTES / 8], other[RP_PAGE_BYTES / 8];
    static unsigned seen[RP_PAGE_BYTES / 8];
    unsigned stay = 0, alike_count = 0, falls = 0;

    (void)state;
    for (size_t i = 0; i < RP_PAGE_BYTES / 8; i++)
        page[i] = other[i] = i;
    rp_write_set_flip(RP_FLIP_ORDER, 0x7f0000000000, (uint8_t *)page, sizeof page,
                      &other_addresses);
    rp_write_set_flip(RP_FLIP_ORDER, 0x7f0000001000, (uint8_t *)other, sizeof other,
                      &other_addresses);
    for (size_t i = 0; i < RP_PAGE_BYTES / 8; i++) {
        assert_true(page[i] < RP_PAGE_BYTES / 8 && seen[page[i]]++ == 0);
        stay += page[i] == i;
        alike_count += page[i] == other[i];
        falls += i && page[i] < page[i - 1];
    }
    assert_int_equal(stay, 0);
    assert_true(alike_count < 384 && falls > 96);
    rp_write_set_flip(RP_FLIP_ORDER, 0, (uint8_t *)memcpy(other, page, sizeof page), 12,
                      &other_addresses);
    assert_memory_equal(page, other, sizeof page);
    for (size_t i = 0; i < RP_PAGE_BYTES / 8; i++) /* addresses, null pointers and two numbers */
        page[i] = other[i] = i % 8 == 0 ? (1 << 20) + i : i % 8 == 3 ? 0 : i;
    rp_write_set_flip(RP_FLIP_ORDER, 0, (uint8_t *)page, sizeof page, &other_addresses);
    for (size_t i = 0, moved = 0; i < RP_PAGE_BYTES / 8; i++) {
        assert_true(page[i] == other[i] || (i % 8 >= 4 && page[i] == other[i ^ 1]));
        moved += page[i] != other[i];
        assert_true(i + 1 < RP_PAGE_BYTES / 8 || (moved > 64 && moved < 192));
    }
}

/* One bit of each byte, and none of small integers, or beside addresses. */
static void test_bytes(void **state)
{
    static uint8_t page[RP_PAGE_BYTES], old[RP_PAGE_BYTES];
    unsigned bits[8] = {0};

    (void)state;
    for (size_t i = 0; i < RP_PAGE_BYTES; i++)
        old[i] = page[i] = (uint8_t)(i * i >> 4);
    rp_write_set_flip(RP_FLIP_BYTES, 0x7f0000000000, page, sizeof page - 3, &nowhere);
    for (size_t i = 0; i < RP_PAGE_BYTES - 3; i++) {
        const unsigned bit = page[i] ^ old[i];

        assert_int_equal(__builtin_popcount(bit), 1);
        bits[__builtin_ctz(bit)]++;
    }
    for (size_t i = 0; i < 8; i++) /* within 5 standard deviations of 21 */
        assert_in_range(bits[i], 512 - 106, 512 + 106);
    assert_memory_equal(page + sizeof page - 3, old + sizeof page - 3, 3);
    for (size_t i = 0; i < RP_PAGE_BYTES; i++)
        old[i] = page[i] = i % 4 ? 0 : (uint8_t)i;
    rp_write_set_flip(RP_FLIP_BYTES, 0, page, sizeof page, &other_addresses);
    assert_memory_equal(page, old, sizeof page);
}

/* Pages that are found late come to their place; words of known ones are added. */
static void test_set(void **state)
{
    struct rp_write_set set = {0};

    (void)state;
    for (unsigned pass = 0; pass < 3; pass++) {
        for (uint64_t page = pass; page < 500; page += 3 - pass) {
            struct rp_write_page w = {.key = {page % 2, page}};

            w.written[page % RP_PAGE_MASKS] = 1u << pass;
            rp_write_set_add(&set, &w);
        }
        rp_write_set_sort(&set);
    }
    assert_int_equal(set.count, 500);
    for (uint64_t page = 0; page < 500; page++) {
        const struct rp_write_page *w = rp_write_set_find(&set, page % 2, page);
        const unsigned expected =
            (page % 3 == 0 ? 1 : 0) | (page >= 1 && page % 2 == 1 ? 2 : 0) | (page >= 2 ? 4 : 0);

        assert_non_null(w);
        assert_int_equal(w->written[page % RP_PAGE_MASKS], expected);
        assert_null(rp_write_set_find(&set, 1 - page % 2, page));
    }
    rp_vec_free(&set);
}

/* --- off ------------------------------------------------------------------------------------- */

/* How far results are off, against steps of the host's own nextafter.
/ */

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

/* --- the first word that is wrong ------------------------------------------------------------ */

static void test_difference(void **state)
{
    uint8_t got[RP_PAGE_BYTES] = {0}, expected[RP_PAGE_BYTES] = {0};
    uint64_t bad[RP_PAGE_MASKS] = {0};
    struct rp_word_difference first = {0};

    (void)state;
    rp_word_difference_note(&first, 0x1000, bad, got, expected);
    assert_false(first.any);
    memcpy(got + 4 * 70, (const uint32_t[]){3, 4}, 8);
    bad[1] = 3 << 6;
    rp_word_difference_note(&first, 0x1000, bad, got, expected);
    assert_true(first.any && first.wide && first.expected == 0);
    assert_int_equal(first.address, 0x1000 + 4 * 70);
    assert_int_equal(first.got, 3 | (uint64_t)4 << 32);
    bad[0] = 1;
    rp_word_difference_note(&first, 0x2000, bad, got, expected); /* a later page */
    assert_int_equal(first.address, 0x1000 + 4 * 70);
    memset(bad, 0, sizeof bad);
    bad[RP_PAGE_MASKS - 1] = (uint64_t)1 << 63;
    memset(&first, 0, sizeof first);
    rp_word_difference_note(&first, 0x1000, bad, got, expected);
    assert_true(first.any && !first.wide && first.address == 0x1ffc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_bytes),      cmocka_unit_test(test_set),
        cmocka_unit_test(test_rules),      cmocka_unit_test(test_specials),
        cmocka_unit_test(test_ulps),       cmocka_unit_test(test_halves),
        cmocka_unit_test(test_tolerances), cmocka_unit_test(test_places),
        cmocka_unit_test(test_poison),     cmocka_unit_test(test_flip),
        cmocka_unit_test(test_f32),        cmocka_unit_test(test_one),
        cmocka_unit_test(test_f64),        cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_difference)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
