/* Grids of fewer workgroups for a captured launch and for one of workgroups of another size, and
 * which arguments of two launches are the same. */
#include <stdint.h>

#include "unit/cmocka_all.h"

#include "replay/other_launch.c"

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

/* --- arguments ------------------------------------------------------------------------------ */

enum { A = 0x10000, B = 0x20000, C = 0x40000, LARGE = 0x80000, SIZE = 0x1000 };

/** Says whether two pointers and a number are those of the captured launch, k(A, B, 7), in a
 * program whose three allocations of one size, and the larger one, lie some bytes further on. */
static bool are_same_arguments(uint64_t first, uint64_t second, uint64_t number, uint64_t further)
{
    struct rp_capture_memory memory[2][4];
    struct rp_code_arg args[] = {{.offset = 0, .bytes = 8},
                                 {.offset = 8, .bytes = 8},
                                 {.offset = 16, .bytes = 4},
                                 {.offset = 24, .bytes = 4, .kind = {"hidden_grid_dims", 16}}};
    const struct rp_code_kernel kernel = {.args = args, .arg_count = 4};
    struct rp_capture_contents contents[2] = {0};
    const uint64_t bases[] = {A, B, C, LARGE};
    const uint64_t was[] = {A + 16, B, 7, 1}, is[] = {first, second, number, 2};
    struct rp_err err = RP_ERR_INIT;
    int rc;

    for (size_t run = 0; run < 2; run++) {
        for (size_t i = 0; i < 4; i++)
            memory[run][i] = (struct rp_capture_memory){
                .region = {.base = bases[i] + (run ? further : 0), .bytes = i < 3 ? SIZE : LARGE}};
        contents[run].memory = memory[run];
        contents[run].memory_count = 4;
        contents[run].facts.dispatch.kernarg_bytes = sizeof was;
    }
    rc = compare_arguments(&contents[0], &contents[1], &kernel, (const uint8_t *)was,
                           (const uint8_t *)is, &err);
    assert_true(rc == 0 || (rc == -RP_VERDICT && strstr(err.text, "another argument")));
    return rc == 0;
}

static void addresses_are_the_same_where_all_allocations_are(void **state)
{
    static const uint64_t furthers[] = {0, 0x1000000};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint64_t further = furthers[i], a = A + further + 16, b = B + further;

        assert_true(are_same_arguments(a, b, 7, further));
        assert_false(are_same_arguments(a, b, 8, further));
        assert_false(are_same_arguments(a, b + 16, 7, further));
        assert_false(are_same_arguments(a - 16, b, 7, further));
        /* In and out are exchanged, or are one, or lie in another allocation. */
        assert_false(are_same_arguments(b + 16, a - 16, 7, further));
        assert_false(are_same_arguments(a, a - 16, 7, further));
        assert_false(are_same_arguments(a, LARGE + further, 7, further));
        assert_false(are_same_arguments(a, 0, 7, further));
    }
    /* What is there in both runs is itself. */
    assert_false(are_same_arguments(A + 16, C, 7, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_workgroups_of_one_stand_for_one_of_the_other),
        cmocka_unit_test(the_other_way_round),
        cmocka_unit_test(other_numbers_of_workgroups_tell_nothing),
        cmocka_unit_test(what_the_runtime_says_is_put_and_taken_back),
        cmocka_unit_test(addresses_are_the_same_where_all_allocations_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
