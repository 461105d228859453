/* Grids of fewer workgroups for a captured launch and for one of workgroups of another size. */
#include <stdint.h>

#include "replay/other_launch.h"
#include "replay/replay.h"
#include "unit/cmocka_all.h"

static struct rp_snapshot_dispatch captured(uint32_t x, uint32_t y, uint16_t sx, uint16_t sy)
{
    return (struct rp_snapshot_dispatch){.grid = {x, y, 1}, .workgroup = {sx, sy, 1}};
}

static struct rp_replay_launch_change other(uint32_t x, uint32_t y, uint16_t sx, uint16_t sy)
{
    return (struct rp_replay_launch_change){
        .given = true, .grid = {x, y, 1}, .workgroup = {sx, sy, 1}};
}

static void so_many_workgroups_of_one_stand_for_one_of_the_other(void **state)
{
    /* 64 workgroups of 16 are 4 of 16x16. */
    const struct rp_snapshot_dispatch small = captured(1024, 1, 16, 1);
    const struct rp_replay_launch_change large = other(64, 16, 16, 16);
    uint32_t grid[3], of_other[3];

    (void)state;
    assert_null(rp_other_launch_fewer(&small, &large, RP_GRID_HALF, grid, of_other));
    assert_int_equal(grid[0], 512);
    assert_int_equal(of_other[0], 32);
    assert_int_equal(of_other[1], 16);
    assert_null(rp_other_launch_fewer(&small, &large, RP_GRID_ONE, grid, of_other));
    assert_int_equal(grid[0], 256);
    assert_int_equal(of_other[0], 16);
    assert_true(rp_other_launch_has_same_items(&small, &large));
}

static void the_other_way_round(void **state)
{
    const struct rp_snapshot_dispatch large = captured(1024, 1, 256, 1);
    const struct rp_replay_launch_change small = other(1024, 1, 64, 1);
    uint32_t grid[3], of_other[3];

    (void)state;
    assert_null(rp_other_launch_fewer(&large, &small, RP_GRID_HALF, grid, of_other));
    assert_int_equal(grid[0], 512);
    assert_int_equal(of_other[0], 512);
}

static void other_numbers_of_workgroups_tell_nothing(void **state)
{
    /* 3 workgroups of 64 are one of 128 and a half. */
    const struct rp_snapshot_dispatch small = captured(192, 1, 64, 1);
    const struct rp_replay_launch_change large = other(256, 1, 128, 1);
    const struct rp_replay_launch_change one = other(192, 1, 192, 1);
    uint32_t grid[3], of_other[3];

    (void)state;
    assert_non_null(rp_other_launch_fewer(&small, &large, RP_GRID_HALF, grid, of_other));
    assert_false(rp_other_launch_has_same_items(&small, &large));
    assert_non_null(rp_other_launch_fewer(&small, &one, RP_GRID_HALF, grid, of_other));
}

static void what_the_runtime_says_is_put_and_taken_back(void **state)
{
    struct rp_replay_launch_change launch = other(256, 1, 128, 1);
    uint32_t kernarg[2] = {4, 64}, was[RP_LAUNCH_NUMBERS] = {0};

    (void)state;
    launch.count = 1;
    launch.at[0].offset = 4;
    launch.at[0].bytes = 2;
    launch.at[0].value = 128;
    rp_other_launch_put(&launch, (uint8_t *)kernarg, was);
    assert_int_equal(kernarg[0], 4);
    assert_int_equal(kernarg[1], 128);
    rp_other_launch_put_back(&launch, (uint8_t *)kernarg, was);
    assert_int_equal(kernarg[1], 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_workgroups_of_one_stand_for_one_of_the_other),
        cmocka_unit_test(the_other_way_round),
        cmocka_unit_test(other_numbers_of_workgroups_tell_nothing),
        cmocka_unit_test(what_the_runtime_says_is_put_and_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
