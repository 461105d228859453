/* Fewer workgroups than captured, and where the runtime says how many there are. */
#include "replay/replay_code.h"

#include <string.h>

#include "trace/code_object.h"
#include "unit/cmocka_all.h"

static void each_way_has_fewer(void **state)
{
    static const struct {
        uint32_t grid[3], expected[RP_GRID_WAYS][3]; /* 0: there is none */
    } rows[] = {
        {{640, 1, 1}, {{320, 1, 1}, {448, 1, 1}, {64, 1, 1}}},
        {{641, 1, 1}, {{384, 1, 1}, {576, 1, 1}, {64, 1, 1}}}, /* a partial workgroup */
        {{192, 1, 1}, {{128, 1, 1}, {64, 1, 1}, {0}}},
        {{128, 1, 1}, {{64, 1, 1}, {0}, {0}}},
        {{64, 1, 1}, {{0}, {0}, {0}}},
        {{640, 8, 3}, {{320, 4, 2}, {448, 5, 1}, {64, 1, 1}}},
        {{64, 1, 4}, {{64, 1, 2}, {64, 1, 3}, {64, 1, 1}}},
    };
    static const uint16_t workgroup[3] = {64, 1, 1};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned way = 0; way < RP_GRID_WAYS; way++) {
            uint32_t other[3] = {0};
            const char *why = rp_grid_fewer(rows[i].grid, workgroup, (enum rp_grid_way)way, other);

            assert_int_equal(!why, rows[i].expected[way][0] != 0);
            if (!why)
                assert_memory_equal(other, rows[i].expected[way], sizeof other);
        }
    assert_int_equal(rp_grid_groups(rows[1].grid, workgroup), 11);
    assert_int_equal(rp_grid_groups(rows[5].grid, workgroup), 10 * 8 * 3);
}

#define KIND(t)                                                                                    \
    {                                                                                              \
        .at = (t), .bytes = sizeof(t) - 1                                                          \
    }

static void the_kernel_is_told(void **state)
{
    struct rp_code_arg args[] = {
        {.offset = 0, .bytes = 8, .kind = KIND("global_buffer")},
        {.offset = 8, .bytes = 4, .kind = KIND("hidden_block_count_x")},
        {.offset = 12, .bytes = 4, .kind = KIND("hidden_block_count_y")},
        {.offset = 16, .bytes = 2, .kind = KIND("hidden_group_size_x")},
        {.offset = 18, .bytes = 2, .kind = KIND("hidden_remainder_x")},
        {.offset = 30, .bytes = 4, .kind = KIND("hidden_block_count_z")}, /* behind the end */
        {.offset = UINT64_MAX, .bytes = 2, .kind = KIND("hidden_remainder_y")},
    };
    const struct rp_code_kernel kernel = {.args = args, .arg_count = 7};
    static const uint32_t grid[3] = {320, 3, 1};
    static const uint16_t workgroup[3] = {64, 1, 1};
    uint8_t kernarg[32], expected[32];
    struct rp_grid_args found;

    (void)state;
    rp_grid_find_args(&kernel, sizeof kernarg, &found);
    memset(kernarg, 0x55, sizeof kernarg);
    memcpy(expected, kernarg, sizeof kernarg);
    memcpy(expected + 8, (const uint32_t[]){5, 3}, 8);
    memset(expected + 18, 0, 2);
    rp_grid_put_args(&found, grid, workgroup, kernarg);
    assert_memory_equal(kernarg, expected, sizeof kernarg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_has_fewer),
        cmocka_unit_test(the_kernel_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
