/**
 * @file test_pages.c
 * @brief Pages that are changed: what is one of numbers, and what stays.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "trace/capture.h"
#include "unit/cmocka_all.h"

#include "replay/page_changes.c"

/* --- addresses ------------------------------------------------------------------------------- */

/* What is taken for an address, and that pairs of integers are not: a program's inputs would
be changed in one capture of it and not in the next.
/ */

/* As far apart as a system lays memory out. */
static const struct rp_replay_range test_ranges[] = {
    {.base = 0x555555600000, .bytes = 0x2000},
    {.base = 0x7effc0000000, .bytes = 0x100000},
    {.base = 0x7effc0200000, .bytes = 0x1000},
    {.base = 0x7fff00000000, .bytes = 0x1000},
};
static const struct rp_addresses test_addresses = {.ranges = test_ranges, .count = 4}, nowhere;

static void test_have(void **state)
{
    (void)state;
    for (size_t i = 0; i < test_addresses.count; i++) {
        const uint64_t base = test_ranges[i].base, end = base + test_ranges[i].bytes;

        assert_true(rp_addresses_have(&test_addresses, base));
        assert_true(rp_addresses_have(&test_addresses, base + 0x804));
        assert_true(rp_addresses_have(&test_addresses, end)); /* one past the last */
        assert_false(rp_addresses_have(&test_addresses, base - 1));
        assert_false(rp_addresses_have(&test_addresses, end + 1));
        assert_false(rp_addresses_have(&nowhere, base));
    }
    assert_false(rp_addresses_have(&test_addresses, 0));
    assert_false(rp_addresses_have(&test_addresses, UINT64_MAX));
}

static void test_are_in(void **state)
{
    uint8_t page[RP_PAGE_BYTES] = {0};
    const uint64_t pointer = test_ranges[2].base + 8,
                   end = test_ranges[1].base + test_ranges[1].bytes;

    (void)state;
    assert_false(addresses_are_in(&test_addresses, page, sizeof page));
    memcpy(page + 4088, &pointer, 8);
    assert_true(addresses_are_in(&test_addresses, page, sizeof page));
    assert_false(addresses_are_in(&test_addresses, page, 4095)); /* the region ends in it */
    assert_false(addresses_are_in(&nowhere, page, sizeof page));
    memset(page, 0, sizeof page);
    memcpy(page + 4, &pointer, 8); /* none is there */
    assert_false(addresses_are_in(&test_addresses, page, sizeof page));
    memcpy(page + 16, &end, 8);
    assert_true(addresses_are_in(&test_addresses, page, 24));
}

/* 0x00007f01'00007f00 and the like lie between the first and the last of the test_ranges. */
static void test_indices(void **state)
{
    enum { COUNT = 1 << 16, HERE = RP_PAGE_BYTES / 4 };
    struct rp_inputs_rule rule;

    (void)state;
    assert_int_equal(rp_inputs_parse("i32", RP_EXACT, &rule, NULL), 0);
    for (uint32_t first = 0; first < COUNT; first += HERE) {
        uint32_t was[HERE], is[HERE];

        for (uint32_t i = 0; i < HERE; i++)
            was[i] = is[i] = first + i;
        rp_write_set_flip(RP_FLIP_EACH, first, (uint8_t *)is, sizeof is, &test_addresses);
        for (uint32_t i = 0; i < HERE; i++)
            assert_int_not_equal(is[i], was[i]);
        memcpy(is, was, sizeof is);
        assert_in_range(change_all(&rule, &test_addresses, first, sizeof is, (uint8_t *)is), 400,
                        620);
        memcpy(is, was, sizeof is);
        assert_in_range(enlarge(&test_addresses, first, sizeof is, (uint8_t *)is), 400, 620);
    }
}

/* Those stay, and null pointers among them; what is between two test_ranges does not. */
static void test_pointers(void **state)
{
    const uint64_t was[8] = {test_ranges[0].base,
                             test_ranges[1].base + 16,
                             0,
                             test_ranges[1].base + test_ranges[1].bytes,
                             test_ranges[2].base - 8,
                             12345,
                             7,
                             1};

    (void)state;
    for (int way_ = 0; way_ < RP_FLIPS; way_++) {
        uint64_t is[8];

        memcpy(is, was, sizeof is);
        rp_write_set_flip((enum rp_flip)way_, 0, (uint8_t *)is, sizeof is, &test_addresses);
        assert_memory_equal(is, was, 32);
        if (way_ == RP_FLIP_EACH)
            assert_true(is[4] != was[4] && is[5] != was[5]);
    }
}

/* --- inputs ---------------------------------------------------------------------------------- */

/* Which pages are taken for numbers, and what becomes of these.
/ */

#define LOW  0x7f0000000000u
#define HIGH 0x7f0001000000u

static const struct rp_replay_range range = {.base = LOW, .bytes = HIGH - LOW};
static const struct rp_addresses addresses = {.ranges = &range, .count = 1}, inputs_nowhere;

static uint64_t seed = 1;

static uint64_t any(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 11 ^ seed << 40;
}

static struct rp_inputs_rule rule_of(const char *text, enum rp_number_type output)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_inputs_rule rule;

    assert_int_equal(rp_inputs_parse(text, output, &rule, &err), 0);
    return rule;
}

static uint64_t change(const char *text, const void *was, size_t bytes, void *ret)
{
    const struct rp_inputs_rule rule = rule_of(text, RP_EXACT);
    const uint64_t count = (memcpy(ret, was, bytes), change_all(&rule, &addresses, 7, bytes, ret));

    assert_int_equal(count != 0, memcmp(was, ret, bytes) != 0);
    return count;
}

/* --- what is changed ----------------------------------------------------------------------- */

static void test_floats(void **state)
{
    float was[1024], is[1024];
    uint64_t count, seen = 0, doubled = 0, halved = 0;

    (void)state;
    for (int i = 0; i < 1024; i++)
        was[i] = ldexpf((float)(any() % 1000 + 1), (int)(any() % 40) - 25) * (any() & 1 ? 1 : -1);
    was[3] = 0;
    was[4] = -0.0f;
    was[5] = INFINITY;
    was[6] = -NAN;
    count = change("auto", was, sizeof was, is);
    for (int i = 0; i < 1024; i++) {
        const double ratio = (double)is[i] / (double)was[i];

        if (memcmp(&is[i], &was[i], 4) == 0)
            continue;
        seen++;
        assert_true(i < 3 || i > 6);
        doubled += ratio == 2;
        halved += ratio == 0.5;
        if (ratio == 2 || ratio == 0.5)
            continue;
        /* a quarter of the power of two below it */
        assert_true(fabs(fabs((double)is[i] - (double)was[i]) -
                         ldexp(0.25, ilogb((double)was[i]))) < 1e-30);
        assert_true(ratio >= 0.8);
        assert_true(ratio <= 1.25 && ilogb((double)is[i]) == ilogb((double)was[i]));
    }
    assert_int_equal(seen, count);
    /* a sixteenth of 510, within 4 standard deviations */
    assert_true(doubled > 9 && doubled < 55 && halved > 9 && halved < 55);
    assert_true(count > 400 && count < 620); /* half of 1020, within 7 standard deviations */
}

static void test_doubles(void **state)
{
    double was[512], is[512];

    (void)state;
    for (int i = 0; i < 512; i++)
        was[i] = sin(i + 1) * 1000;
    assert_true(change("auto", was, sizeof was, is) > 150);
    for (int i = 0; i < 512; i++)
        assert_true((is[i] / was[i] >= 0.8 && is[i] / was[i] <= 1.25) || is[i] == 2 * was[i] ||
                    is[i] == was[i] / 2);
}

static void test_halves(void **state)
{
    const struct rp_inputs_rule said = rule_of("auto", RP_F16), vouched = rule_of("f16", RP_EXACT);
    uint16_t was[2048], is[2048];

    (void)state;
    for (int i = 0; i < 2048; i++) /* 2^-8 to 2^7, and all fractions */
        was[i] = (uint16_t)((7 + any() % 16) << 10 | any() % 1024 | (any() & 1) << 15);
    memcpy(is, was, sizeof is);
    assert_true(change_all(&said, &addresses, 1, sizeof is, (uint8_t *)is) > 800);
    for (int i = 0; i < 2048; i++)
        assert_true((was[i] ^ is[i]) == 0 || (was[i] ^ is[i]) == 0x100 || is[i] == was[i] + 0x400 ||
                    is[i] == was[i] - 0x400);
    /* Those that have no double stay numbers. */
    for (int i = 0; i < 2048; i++)
        was[i] = (uint16_t)(30 << 10 | any() % 1024);
    memcpy(is, was, sizeof is);
    assert_true(change_all(&said, &addresses, 1, sizeof is, (uint8_t *)is) > 800);
    for (int i = 0; i < 2048; i++)
        assert_true(is[i] < 0x7c00);
    /* The lowest indices of 32 bits that could be numbers of 16. */
    for (int i = 0; i < 2048; i++)
        was[i] = i % 2 ? 0 : (uint16_t)(2000 + i);
    memcpy(is, was, sizeof is);
    assert_int_equal(change_all(&said, &addresses, 1, sizeof is, (uint8_t *)is), 0);
    assert_int_equal(change_all(&vouched, &addresses, 1, sizeof is, (uint8_t *)is), 0);
}

/* --- what is not --------------------------------------------------------------------------- */

static void test_structure(void **state)
{
    uint32_t was[1024], is[1024];
    uint64_t wide[512], there[512];
    float values[1024] = {0};
    char text[4096];

    (void)state;
    for (uint32_t i = 0; i < 1024; i++)
        was[i] = i * 37; /* rows of a sparse matrix */
    assert_int_equal(change("auto", was, sizeof was, is), 0);
    for (uint32_t i = 0; i < 1024; i++)
        was[i] = (uint32_t) - (int32_t)i; /* NaNs */
    assert_int_equal(change("auto", was, sizeof was, is), 0);
    for (uint32_t i = 0; i < 1024; i++)
        was[i] = (uint32_t)any();
    assert_int_equal(change("auto", was, sizeof was, is), 0);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "The quick brown fox jumps over the lazy dog.\n"[i % 45];
    assert_int_equal(change("auto", text, sizeof text, is), 0);
    for (int i = 0; i < 512; i++)
        wide[i] = LOW + any() % (HIGH - LOW);
    assert_int_equal(change("auto", wide, sizeof wide, there), 0);
    for (int i = 0; i < 512; i++) /* counts of nanoseconds */
        wide[i] = 1700000000000000000u + (uint64_t)i * 1000003;
    assert_int_equal(change("auto", wide, sizeof wide, there), 0);
    assert_int_equal(change("auto", values, sizeof values, is), 0); /* zeros */
    for (int i = 0; i < 1024; i++)
        values[i] = i % 3 ? 1 : -1; /* also of few values */
    assert_true(change("auto", values, sizeof values, is) > 400);
    memset(values, 0, sizeof values);
    for (int i = 0; i < 15; i++)
        values[i * 50] = (float)i + 0.5f; /* fewer than can be sure */
    assert_int_equal(change("auto", values, sizeof values, is), 0);
}

/* One address or one index among numbers makes a page one that is not touched. */
static void test_mixed(void **state)
{
    float was[1024], is[1024];
    const uint64_t address = LOW + 4096;
    const uint32_t index = 5;

    (void)state;
    for (int i = 0; i < 1024; i++)
        was[i] = (float)i + 0.25f;
    assert_true(change("auto", was, sizeof was, is) > 400);
    memcpy(&was[500], &index, 4);
    assert_int_equal(change("auto", was, sizeof was, is), 0);
    assert_int_equal(change("f32", was, sizeof was, is), 0);
    was[500] = 1;
    memcpy(&was[700], &address, 8);
    assert_int_equal(change("auto", was, sizeof was, is), 0);
    assert_int_equal(change("f32", was, sizeof was, is), 0);
    assert_int_equal(change("i32", was, sizeof was, is), 0);
}

static void test_words(void **state)
{
    uint32_t was[1024], is[1024];
    uint8_t short_page[7] = {1, 2, 3, 4, 5, 6, 7}, other[7];
    uint64_t count;

    (void)state;
    for (uint32_t i = 0; i < 1024; i++)
        was[i] = (uint32_t)any();
    count = change("i32", was, sizeof was, is);
    assert_in_range(count, 400, 620);
    for (uint32_t i = 0; i < 1024; i++) {
        assert_true((was[i] ^ is[i]) <= 1);
        count -= was[i] ^ is[i];
    }
    assert_int_equal(count, 0);
    change("i32", short_page, sizeof short_page, other);
    change("f64", short_page, sizeof short_page, other);
    assert_int_equal(change("none", was, sizeof was, is), 0);
}

/* --- zeros and large integers -------------------------------------------------------------- */

static const uint64_t none_kept[RP_PAGE_BYTES / 256];

static uint64_t fill(bool integers, const uint64_t *keep, void *page, size_t bytes)
{
    const struct rp_inputs_rule rule = rule_of("auto", RP_EXACT);

    return rp_inputs_fill(&rule, integers, &addresses, 7, keep, bytes, page);
}

static void test_numbers_for_zeros(void **state)
{
    float zeros[1024] = {0}, numbers[1024];
    uint64_t keep[RP_PAGE_BYTES / 256] = {0}, count, seen = 0;

    (void)state;
    keep[3] = UINT64_MAX; /* 192 to 255 */
    count = fill(false, keep, zeros, sizeof zeros);
    assert_in_range(count, 380, 580); /* half of 960, within 6 standard deviations */
    for (int i = 0; i < 1024; i++) {
        seen += zeros[i] != 0;
        assert_true(zeros[i] == 0 || (zeros[i] >= 0.5f && zeros[i] < 2));
        assert_true(i / 64 != 3 || zeros[i] == 0);
    }
    assert_int_equal(seen, count);
    for (int i = 0; i < 1024; i++)
        numbers[i] = i % 4 ? (float)i : 0;
    assert_in_range(fill(false, none_kept, numbers, sizeof numbers), 64, 192); /* of 256 */
    for (int i = 0; i < 1024; i++)
        assert_true(i % 4 ? numbers[i] == (float)i : numbers[i] < 2);
    assert_int_equal(fill(true, none_kept, numbers, sizeof numbers), 0); /* no integers */
}

static void test_integers_for_zeros(void **state)
{
    const uint64_t address = LOW + 4096;
    uint32_t words[1024], zeros[1024] = {0};

    (void)state;
    for (uint32_t i = 0; i < 1024; i++)
        words[i] = i % 4 ? i * 37 : 0;
    assert_int_equal(fill(false, none_kept, words, sizeof words), 0); /* no numbers */
    assert_in_range(fill(true, none_kept, words, sizeof words), 64, 192);
    for (uint32_t i = 0; i < 1024; i++)
        assert_true(i % 4 ? words[i] == i * 37 : words[i] <= 3);
    assert_in_range(fill(true, none_kept, zeros, sizeof zeros), 160, 352); /* of 512 */
    for (uint32_t i = 0; i < 1024; i++)
        assert_true(zeros[i] <= (i % 2 ? 0 : 3));
    memcpy(&words[500], &address, 8);
    assert_int_equal(fill(true, none_kept, words, sizeof words), 0);
    assert_int_equal(fill(false, none_kept, words, sizeof words), 0);
}

static void test_large_integers(void **state)
{
    uint32_t words[1024];
    int64_t wide[512];
    float numbers[1024];
    uint64_t count;

    (void)state;
    for (int i = 0; i < 1024; i++)
        words[i] = (uint32_t)(i % 5 - 1);
    count = enlarge(&addresses, 7, sizeof words, (uint8_t *)words);
    assert_in_range(count, 200, 420); /* half of those above 0 */
    for (int i = 0; i < 1024; i++) {
        const uint32_t was = (uint32_t)(i % 5 - 1);

        assert_true(words[i] == was || (i % 5 > 1 && words[i] == (0x60000000 | was)));
        count -= words[i] != was;
    }
    assert_int_equal(count, 0);
    for (int i = 0; i < 512; i++)
        wide[i] = i - 100;
    assert_true(enlarge(&addresses, 7, sizeof wide, (uint8_t *)wide) > 100);
    for (int i = 0; i < 512; i++)
        assert_true(wide[i] == i - 100 || (i > 100 && wide[i] == i - 100 + ((int64_t)3 << 32)));
    for (int i = 0; i < 1024; i++)
        numbers[i] = (float)i;
    assert_int_equal(enlarge(&addresses, 7, sizeof numbers, (uint8_t *)numbers), 0);
}

static void test_negative_integers(void **state)
{
    int32_t words[1024];
    int64_t wide[512];
    float numbers[1024];
    uint64_t count;

    (void)state;
    for (int i = 0; i < 1024; i++)
        words[i] = i % 5 - 1;
    count = negate(&addresses, 7, sizeof words, (uint8_t *)words);
    assert_in_range(count, 330, 490); /* half of 819 */
    for (int i = 0; i < 1024; i++) {
        assert_true(words[i] == i % 5 - 1 || words[i] == 1 - i % 5);
        count -= words[i] != i % 5 - 1;
    }
    assert_int_equal(count, 0);
    for (int i = 0; i < 512; i++)
        wide[i] = i - 100;
    assert_true(negate(&addresses, 7, sizeof wide, (uint8_t *)wide) > 150);
    for (int i = 0; i < 512; i++)
        assert_true(wide[i] == i - 100 || wide[i] == 100 - i);
    for (int i = 0; i < 1024; i++)
        numbers[i] = (float)i;
    assert_int_equal(negate(&addresses, 7, sizeof numbers, (uint8_t *)numbers), 0);
}

/* An image that has no byte above 127, and what stays. */
static void test_bytes(void **state)
{
    const struct rp_inputs_rule rule = rule_of("auto", RP_EXACT);
    uint8_t image[4096], was[4096];
    uint32_t words[1024];
    float numbers[1024];
    uint64_t count;

    (void)state;
    for (size_t i = 0; i < sizeof image; i++)
        was[i] = image[i] = (uint8_t)(any() % 127 + 1);
    for (size_t i = 0; i < sizeof image; i += 16)
        was[i] = image[i] = 0;
    count = change_bytes(&rule, &addresses, 7, sizeof image, image);
    assert_in_range(count, 1700, 2150);
    for (size_t i = 0; i < sizeof image; i++) {
        assert_true((image[i] ^ was[i]) == 0 || (image[i] ^ was[i]) == 0x80);
        assert_true(i % 16 || image[i] == 0);
        count -= image[i] != was[i];
    }
    assert_int_equal(count, 0);
    for (uint32_t i = 0; i < 1024; i++) {
        words[i] = i * 37; /* indices */
        numbers[i] = (float)i;
    }
    assert_int_equal(change_bytes(&rule, &addresses, 7, 4096, (uint8_t *)words), 0);
    assert_int_equal(change_bytes(&rule, &addresses, 7, 4096, (uint8_t *)numbers), 0);
}

/* Structures of numbers and indices. */
static void test_some_numbers(void **state)
{
    struct rp_inputs_rule rule = rule_of("auto", RP_EXACT);
    const uint64_t address = LOW + 4096;
    struct {
        float x;
        uint32_t index;
    } was[512], is[512];
    uint64_t count, below = 0;

    (void)state;
    for (uint32_t i = 0; i < 512; i++) {
        was[i].x = (float)i + 0.25f;
        was[i].index = i * 12345;
    }
    memcpy(is, was, sizeof is);
    count = change_some(&rule, &addresses, 7, sizeof is, (uint8_t *)is);
    assert_in_range(count, 190, 320);
    for (uint32_t i = 0; i < 512; i++) {
        assert_int_equal(is[i].index, was[i].index);
        assert_true(is[i].x > 0);
    }
    rule.signs = true;
    change_some(&rule, &addresses, 7, sizeof is, (uint8_t *)is);
    for (uint32_t i = 0; i < 512; i++)
        below += is[i].x < 0;
    assert_in_range(below, 150, 320);
    memcpy(&is[7], &address, sizeof address);
    assert_int_equal(change_some(&rule, &addresses, 7, 4096, (uint8_t *)is), 0);
}

/* Signs: mostly both, and pages that are negative all over, in the same places each time. */
static void test_negative_pages(void **state)
{
    enum { PAGES = 400, NUMBERS = 1024 };
    struct rp_inputs_rule rule;
    unsigned negative = 0;

    (void)state;
    assert_int_equal(rp_inputs_parse("f32", RP_EXACT, &rule, NULL), 0);
    rule.signs = true;
    for (unsigned page = 0; page < PAGES; page++) {
        float numbers[NUMBERS];
        unsigned below = 0;

        for (unsigned i = 0; i < NUMBERS; i++)
            numbers[i] = (float)(i + 1);
        assert_true(
            change_all(&rule, &inputs_nowhere, page * 4096, sizeof numbers, (uint8_t *)numbers));
        for (unsigned i = 0; i < NUMBERS; i++)
            below += numbers[i] < 0;
        negative += below == NUMBERS;
        assert_true(below == NUMBERS || (below > NUMBERS / 4 && below < NUMBERS * 3 / 4));
    }
    assert_in_range(negative, PAGES / 8, PAGES / 2);
}

/* --- rare values ----------------------------------------------------------------------------- */

static uint64_t rare(enum rp_variation variation, void *page)
{
    const struct rp_inputs_rule rule = rule_of("auto", RP_EXACT);

    return rp_inputs_vary(variation, &rule, &inputs_nowhere, 5 * 4096, RP_PAGE_BYTES, page);
}

static void make_rare(float *numbers, int32_t *words)
{
    for (int i = 0; i < 1024; i++) {
        numbers[i] = (float)(i % 9 - 2) * 1.5f + 0.25f;
        words[i] = i % 9 - 2;
    }
}

/* No page has a positive number then. */
static void test_all_negative(void **state)
{
    float numbers[1024], was[1024];
    int32_t words[1024], were[1024];
    const struct rp_inputs_rule rule = rule_of("auto", RP_EXACT);

    (void)state;
    make_rare(was, were);
    make_rare(numbers, words);
    assert_true(rare(RP_VARY_NEGATIVE, numbers) > 600);
    assert_true(rare(RP_VARY_NEGATIVE, words) > 600);
    for (int i = 0; i < 1024; i++) {
        assert_true(numbers[i] < 0 && fabsf(numbers[i]) == fabsf(was[i]));
        assert_true(words[i] <= 0 && abs(words[i]) == abs(were[i]));
    }
    make_rare(numbers, words);
    numbers[7] = 0; /* It would be the largest. */
    assert_true(rare(RP_VARY_NEGATIVE, numbers) > 600);
    assert_true(numbers[7] == numbers[6] && numbers[7] < 0);
    for (unsigned piece = 1; piece < 4; piece += 2) {
        make_rare(numbers, words);
        assert_true(rp_inputs_vary(RP_VARY_NEGATIVE, &rule, &inputs_nowhere, piece * 8192,
                                   RP_PAGE_BYTES, (uint8_t *)numbers) == 1024);
        for (int i = 0; i < 1024; i++)
            assert_true(piece == 1 ? numbers[i] <= -128 && numbers[i] > -256
                                   : numbers[i] == -fabsf(was[i]) / 16384);
    }
}

/* Numbers are the same three in each page, whole ones three of the page, which may be indices. */
static void test_few_values(void **state)
{
    float numbers[1024];
    int32_t words[1024], seen[3];
    unsigned count = 0;

    (void)state;
    make_rare(numbers, words);
    assert_true(rare(RP_VARY_FEW, numbers) > 600);
    assert_true(rare(RP_VARY_FEW, words) > 300);
    for (int i = 0; i < 1024; i++) {
        unsigned at = 0;

        assert_true(numbers[i] == 1 || numbers[i] == 1.25f || numbers[i] == 1.5f);
        while (at < count && seen[at] != words[i])
            at++;
        assert_true(at < 3 && words[i] >= -2 && words[i] <= 6);
        if (at == count)
            seen[count++] = words[i];
    }
    assert_true(count > 1);
}

static void test_sparse(void **state)
{
    float numbers[1024], was[1024];
    int32_t words[1024], were[1024];
    unsigned others[2] = {0, 0};

    (void)state;
    make_rare(was, were);
    make_rare(numbers, words);
    assert_in_range(rare(RP_VARY_SPARSE, numbers), 1, 32);
    assert_in_range(rare(RP_VARY_SPARSE, words), 1, 32);
    for (int i = 0; i < 1024; i++) {
        others[0] += numbers[i] != was[i];
        others[1] += words[i] != were[i];
    }
    assert_in_range(others[0], 1, 32);
    assert_in_range(others[1], 1, 32);
}

/* NaN and infinities of either sign among numbers, and nowhere if finite ones are asked for. */
static void test_special(void **state)
{
    const struct rp_inputs_rule finite = rule_of("finite", RP_EXACT);
    float numbers[1024];
    int32_t words[1024];
    unsigned nan = 0, above = 0, below = 0, zeros = 0;

    (void)state;
    make_rare(numbers, words);
    assert_int_equal(rp_inputs_vary(RP_VARY_SPECIAL, &finite, &inputs_nowhere, 7 * 4096,
                                    sizeof numbers, (uint8_t *)numbers),
                     0);
    assert_in_range(rare(RP_VARY_SPECIAL, numbers), 64, 256);
    assert_int_equal(rare(RP_VARY_SPECIAL, words), 0);
    for (int i = 0; i < 1024; i++) {
        nan += isnan(numbers[i]);
        above += isinf(numbers[i]) && numbers[i] > 0;
        below += isinf(numbers[i]) && numbers[i] < 0;
        zeros += numbers[i] == 0;
    }
    assert_true(nan > 2 && above > 1 && below > 1);
    assert_in_range(nan + above + below, 8, 32);
    assert_in_range(zeros, 64, 256);
}

static void test_updated(void **state)
{
    const struct rp_inputs_rule rule = rule_of("auto", RP_EXACT);
    const uint64_t words_of[RP_PAGE_MASKS] = {0xff};
    uint32_t words[1024] = {0}, after[1024] = {0};
    float numbers[1024];
    int32_t unused[1024];

    (void)state;
    words[9] = 5;
    assert_int_equal(rp_inputs_update(&rule, &inputs_nowhere, 3, words_of, (uint8_t *)after,
                                      sizeof words, (uint8_t *)words),
                     8);
    for (int i = 0; i < 1024; i++)
        assert_true(i < 8 ? words[i] >= 1 && words[i] <= 3 : words[i] == (i == 9 ? 5 : 0));
    make_rare(numbers, unused);
    assert_int_equal(rp_inputs_update(&rule, &inputs_nowhere, 3, words_of, (uint8_t *)numbers,
                                      sizeof words, (uint8_t *)words),
                     0);
}

static void test_parse(void **state)
{
    static const char *const bad[] = {"", "exact", "f32,abs=1", "i64", "f8", "AUTO"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_inputs_rule rule;

        assert_int_equal(rp_inputs_parse(bad[i], RP_EXACT, &rule, &err), -RP_USAGE);
        assert_non_null(strstr(err.text, "--inputs"));
    }
    assert_int_equal(rule_of("auto", RP_BF16).types[0], RP_BF16);
    assert_int_equal(rule_of("auto", RP_BF16).type_count, 3);
    assert_int_equal(rule_of("auto", RP_F64).type_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_have),
                                       cmocka_unit_test(test_are_in),
                                       cmocka_unit_test(test_indices),
                                       cmocka_unit_test(test_pointers),
                                       cmocka_unit_test(test_floats),
                                       cmocka_unit_test(test_doubles),
                                       cmocka_unit_test(test_halves),
                                       cmocka_unit_test(test_structure),
                                       cmocka_unit_test(test_mixed),
                                       cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_negative_pages),
                                       cmocka_unit_test(test_all_negative),
                                       cmocka_unit_test(test_few_values),
                                       cmocka_unit_test(test_sparse),
                                       cmocka_unit_test(test_special),
                                       cmocka_unit_test(test_updated),
                                       cmocka_unit_test(test_parse),
                                       cmocka_unit_test(test_numbers_for_zeros),
                                       cmocka_unit_test(test_integers_for_zeros),
                                       cmocka_unit_test(test_large_integers),
                                       cmocka_unit_test(test_negative_integers),
                                       cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_some_numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
