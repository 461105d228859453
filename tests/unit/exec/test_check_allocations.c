/* What is freed is held back while bounds are checked, and no more of it than the host can spare.
 */
#include <stdint.h>

#include "device/check/check.h"
#include "unit/cmocka_all.h"

enum { PAGE = 4096, LARGE = 16 << 20, MOST_HELD_BYTES = 64 << 20, MOST_HELD = 256 };

static int begin(void **state)
{
    (void)state;
    rp_findings_begin(RP_CHECK_BOUNDS, NULL);
    return 0;
}

static void allocate(uint64_t at, uint64_t bytes)
{
    rp_allocation_add(&(struct rp_allocation){.begin = at, .bytes = bytes});
}

static void large_ones_behind_small_ones(void **state)
{
    const uint64_t small = 0x7f0000000000, large = 0x7e0000000000;
    uint64_t held = 0;
    (void)state;
    for (uint64_t i = 0; i < 2 * MOST_HELD; i++) {
        const uint64_t at = i < MOST_HELD ? small + i * 2 * PAGE : large + i * 2 * LARGE;
        const uint64_t bytes = i < MOST_HELD ? PAGE : LARGE;
        allocate(at, bytes);
        assert_true(rp_allocation_free(at));
        held += bytes;
        for (uint64_t back; (back = rp_allocation_release());)
            held -= back >= small ? PAGE : LARGE;
        assert_true(held <= MOST_HELD_BYTES);
    }
    assert_true(held == MOST_HELD_BYTES);
    /* What is larger, or unknown, is not held at all. */
    allocate(small, LARGE + 1);
    assert_false(rp_allocation_free(small));
    assert_false(rp_allocation_free(small));
    assert_true(rp_allocation_release() == 0);
}

static void many_small_ones(void **state)
{
    const uint64_t from = 0x7d0000000000;
    uint64_t held = 0;
    (void)state;
    for (uint64_t i = 0; i < 3 * MOST_HELD; i++) {
        allocate(from + i * PAGE, 64);
        held += rp_allocation_free(from + i * PAGE);
        for (uint64_t back; (back = rp_allocation_release());)
            held -= back < from + 3 * MOST_HELD * PAGE; /* Others are of the test before. */
    }
    assert_true(held == MOST_HELD);
}

static void padding_makes_no_small_size_of_a_large_one(void **state)
{
    (void)state;
    assert_true(rp_allocation_padding(1) == RP_ALLOCATION_PADDING);
    assert_true(rp_allocation_padding(UINT64_MAX - RP_ALLOCATION_PADDING) == RP_ALLOCATION_PADDING);
    assert_true(rp_allocation_padding(UINT64_MAX - RP_ALLOCATION_PADDING + 1) == 0);
    assert_true(rp_allocation_padding(UINT64_MAX) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_ones_behind_small_ones),
        cmocka_unit_test(many_small_ones),
        cmocka_unit_test(padding_makes_no_small_size_of_a_large_one),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
