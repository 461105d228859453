/**
 * @file test_addresses.c
 * @brief What is taken for an address, and that pairs of integers are not: a program's inputs would
 * be changed in one capture of it and not in the next.
 */
#include "replay/page_changes.h"

#include <string.h>

#include "replay/replay.h"
#include "unit/cmocka_all.h"

#include "replay/page_changes.c"

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
    assert_false(rp_addresses_are_in(&test_addresses, page, sizeof page));
    memcpy(page + 4088, &pointer, 8);
    assert_true(rp_addresses_are_in(&test_addresses, page, sizeof page));
    assert_false(rp_addresses_are_in(&test_addresses, page, 4095)); /* the region ends in it */
    assert_false(rp_addresses_are_in(&nowhere, page, sizeof page));
    memset(page, 0, sizeof page);
    memcpy(page + 4, &pointer, 8); /* none is there */
    assert_false(rp_addresses_are_in(&test_addresses, page, sizeof page));
    memcpy(page + 16, &end, 8);
    assert_true(rp_addresses_are_in(&test_addresses, page, 24));
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
        assert_in_range(rp_inputs_change(&rule, &test_addresses, first, sizeof is, (uint8_t *)is),
                        400, 620);
        memcpy(is, was, sizeof is);
        assert_in_range(rp_inputs_enlarge(&test_addresses, first, sizeof is, (uint8_t *)is), 400,
                        620);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_have),
        cmocka_unit_test(test_are_in),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_pointers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
