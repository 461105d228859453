/* Arguments by value: which they are, and what they become. */
#include "replay/scalars.h"

#include <string.h>

#include "capture/code_metadata.h"
#include "replay/addresses.h"
#include "replay/replay.h"
#include "unit/cmocka_all.h"

#define KIND(t)                                                                                    \
    {                                                                                              \
        .at = (t), .bytes = sizeof(t) - 1                                                          \
    }

static uint64_t changed(const void *value, unsigned bytes, void *ret)
{
    const struct rp_scalars scalars = {.count = 1, .at = {{.offset = 0, .bytes = bytes}}};
    static const struct rp_replay_range range = {.base = 0x7f0000000000, .bytes = 0x100000};
    static const struct rp_addresses addresses = {.ranges = &range, .count = 1};

    memcpy(ret, value, bytes);
    return rp_scalars_change(&scalars, &addresses, ret);
}

static void only_scalars_are_found(void **state)
{
    struct rp_code_arg args[] = {
        {.offset = 0, .bytes = 8, .kind = KIND("global_buffer")},
        {.offset = 8, .bytes = 4, .kind = KIND("by_value")},
        {.offset = 16, .bytes = 8, .kind = KIND("by_value")},
        {.offset = 24, .bytes = 12, .kind = KIND("by_value")}, /* a structure */
        {.offset = 40, .bytes = 4, .kind = KIND("hidden_block_count_x")},
        {.offset = 48, .bytes = 8, .kind = KIND("by_value")}, /* behind the end */
        {.offset = UINT64_MAX, .bytes = 4, .kind = KIND("by_value")},
    };
    const struct rp_code_kernel kernel = {.args = args, .arg_count = 7};
    struct rp_scalars found;

    (void)state;
    rp_scalars_find(&kernel, 52, &found);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.at[0].offset, 8);
    assert_int_equal(found.at[1].offset, 16);
    assert_int_equal(found.at[1].bytes, 8);
}

static void sizes_become_smaller_and_odd(void **state)
{
    uint32_t before = 0;

    (void)state;
    for (uint32_t n = 2; n <= 70000; n++) {
        uint32_t other;

        assert_int_equal(changed(&n, 4, &other), 1);
        assert_true(other >= 1 && other < n && other % 2 == 1);
        assert_true(other >= before); /* the greater of two is not the smaller one then */
        assert_true(n < 16 || other >= n - n / 8 - 2);
        before = other;
    }
}

static void what_else_there_is(void **state)
{
    const uint32_t none = 0, one = 1, minus = UINT32_MAX;
    const uint64_t address = 0x7f0000000010, size = 1u << 20;
    const float factor = 1.7f;
    const double wide = -0.3;
    uint64_t other;
    float other_factor;
    double other_wide;

    (void)state;
    assert_int_equal(changed(&none, 4, &other), 0);
    assert_int_equal(changed(&one, 4, &other), 0);
    assert_int_equal(changed(&minus, 4, &other), 0);
    assert_int_equal(changed(&address, 8, &other), 0);
    assert_int_equal(other, address);
    assert_int_equal(changed(&size, 8, &other), 1);
    assert_int_equal(other, 917503);
    assert_int_equal(changed(&factor, 4, &other_factor), 1);
    assert_true(other_factor > 1.3f && other_factor < 2.2f && other_factor != factor);
    assert_int_equal(changed(&wide, 8, &other_wide), 1);
    assert_true(other_wide < -0.2 && other_wide > -0.4 && other_wide < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_scalars_are_found),
        cmocka_unit_test(sizes_become_smaller_and_odd),
        cmocka_unit_test(what_else_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
