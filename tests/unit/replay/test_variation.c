/**
 * @file test_variation.c
 * @brief Other launches: fewer workgroups, other values of arguments.
 */
#include <string.h>

#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/replay_trial.h"
#include "trace/code_object.h"
#include "unit/cmocka_all.h"

#include "replay/launch_changes.c"

/* --- grid ------------------------------------------------------------------------------------ */

/* Fewer workgroups than captured, and where the runtime says how many there are. */

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
            const char *why =
                rp_launch_fewer(rows[i].grid, workgroup, (enum rp_grid_way)way, other);

            assert_int_equal(!why, rows[i].expected[way][0] != 0);
            if (!why)
                assert_memory_equal(other, rows[i].expected[way], sizeof other);
        }
    assert_int_equal(rp_launch_groups(rows[1].grid, workgroup), 11);
    assert_int_equal(rp_launch_groups(rows[5].grid, workgroup), 10 * 8 * 3);
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
    struct rp_grid_args found = {0};

    (void)state;
    rp_launch_find_grid_args(&kernel, sizeof kernarg, &found);
    memset(kernarg, 0x55, sizeof kernarg);
    memcpy(expected, kernarg, sizeof kernarg);
    memcpy(expected + 8, (const uint32_t[]){5, 3}, 8);
    memcpy(expected + 16, (const uint16_t[]){64}, 2);
    memset(expected + 18, 0, 2);
    rp_launch_put_grid(&found, grid, workgroup, kernarg);
    assert_memory_equal(kernarg, expected, sizeof kernarg);
}

/* --- scalars --------------------------------------------------------------------------------- */

/* Arguments by value: which they are, and what they become. */

#define SCALARS_KIND(t)                                                                            \
    {                                                                                              \
        .at = (t), .bytes = sizeof(t) - 1                                                          \
    }

static uint64_t changed(const void *value, unsigned bytes, void *ret)
{
    const struct rp_scalars scalars = {.count = 1, .at = {{.offset = 0, .bytes = bytes}}};
    static const struct rp_replay_range range = {.base = 0x7f0000000000, .bytes = 0x100000};
    static const struct rp_addresses addresses = {.ranges = &range, .count = 1};

    memcpy(ret, value, bytes);
    return rp_launch_change_scalars(&scalars, &addresses, RP_SCALARS_OTHER, ret);
}

static void only_scalars_are_found(void **state)
{
    struct rp_code_arg args[] = {
        {.offset = 0, .bytes = 8, .kind = SCALARS_KIND("global_buffer")},
        {.offset = 8, .bytes = 4, .kind = SCALARS_KIND("by_value")},
        {.offset = 16, .bytes = 8, .kind = SCALARS_KIND("by_value")},
        {.offset = 24, .bytes = 12, .kind = SCALARS_KIND("by_value")}, /* a structure */
        {.offset = 36, .bytes = 1, .kind = SCALARS_KIND("by_value")},
        {.offset = 38, .bytes = 2, .kind = SCALARS_KIND("by_value")},
        {.offset = 40, .bytes = 4, .kind = SCALARS_KIND("hidden_block_count_x")},
        {.offset = 48, .bytes = 8, .kind = SCALARS_KIND("by_value")}, /* behind the end */
        {.offset = UINT64_MAX, .bytes = 4, .kind = SCALARS_KIND("by_value")},
    };
    const struct rp_code_kernel kernel = {.args = args, .arg_count = 9};
    struct rp_scalars found;

    (void)state;
    scalars_find(&kernel, 52, &found);
    assert_int_equal(found.count, 7);
    assert_int_equal(found.at[0].offset, 8);
    assert_int_equal(found.at[1].offset, 16);
    assert_int_equal(found.at[1].bytes, 8);
    assert_false(found.at[1].field);
    for (size_t i = 2; i < 5; i++) {
        assert_int_equal(found.at[i].offset, 24 + (i - 2) * 4);
        assert_true(found.at[i].field && found.at[i].bytes == 4 && found.at[i].may_point);
    }
    assert_int_equal(found.at[5].bytes, 1);
    assert_int_equal(found.at[6].bytes, 2);
    assert_true(found.at[5].field && !found.at[5].may_point);
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

static const struct rp_replay_range captured = {.base = 0x7f0000000000, .bytes = 0x100000};
static const struct rp_addresses captured_memory = {.ranges = &captured, .count = 1};

/* Or a kernel that takes one for another is right in all runs. */
static void equal_ones_become_unequal(void **state)
{
    static const struct rp_scalars scalars = {.count = 6,
                                              .at = {{.offset = 0, .bytes = 4},
                                                     {.offset = 4, .bytes = 4},
                                                     {.offset = 8, .bytes = 4, .field = true},
                                                     {.offset = 12, .bytes = 4},
                                                     {.offset = 16, .bytes = 4},
                                                     {.offset = 20, .bytes = 4}}};

    (void)state;
    for (uint32_t n = 3; n < 70000; n++) {
        const uint32_t was[6] = {n, n, n, n + 1, 0x3f800000, 0x3f800000};
        uint32_t is[6];

        memcpy(is, was, sizeof is);
        assert_int_equal(
            rp_launch_change_scalars(&scalars, &captured_memory, RP_SCALARS_UNEQUAL, (uint8_t *)is),
            3);
        assert_true(is[0] >= 1 && is[0] < is[1] && is[1] < is[2] && is[2] == n);
        assert_int_equal(is[3], n + 1); /* equal to none */
        assert_int_equal(is[4], 0x3f900000);
        assert_int_equal(is[5], 0x3f800000);
    }
}

static void fields_and_signs(void **state)
{
    static const struct rp_scalars scalars = {
        .count = 6,
        .at = {{.offset = 0, .bytes = 4},
               {.offset = 16, .bytes = 4, .field = true, .may_point = true},
               {.offset = 20, .bytes = 4, .field = true, .may_point = true},
               {.offset = 24, .bytes = 4, .field = true, .may_point = true},
               {.offset = 28, .bytes = 4, .field = true, .may_point = true},
               {.offset = 32, .bytes = 1, .field = true}}};
    struct {
        int32_t plain[4];
        uint64_t address;
        uint32_t size;
        float scale;
        uint8_t flag;
    } was = {{-5}, 0x7f0000000010, 128, -0.5f, 1}, is = was;

    (void)state;
    assert_int_equal(
        rp_launch_change_scalars(&scalars, &captured_memory, RP_SCALARS_OTHER, (uint8_t *)&is), 0);
    assert_int_equal(
        rp_launch_change_scalars(&scalars, &captured_memory, RP_SCALARS_FIELDS, (uint8_t *)&is), 3);
    assert_int_equal(is.plain[0], -5);
    assert_true(is.address == was.address);
    assert_int_equal(is.size, 111);
    assert_true(is.scale < -0.5f && is.scale > -0.8f);
    assert_int_equal(is.flag, 0);
    is = was;
    assert_int_equal(
        rp_launch_change_scalars(&scalars, &captured_memory, RP_SCALARS_SIGNS, (uint8_t *)&is), 2);
    assert_int_equal(is.plain[0], 5);
    assert_true(is.address == was.address && is.size == 128 && is.scale > 0.49f && is.flag == 1);
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* One size after the other: half, few, one, none, and larger ones, for which others may yield. */
static void sizes_are_tried_one_at_a_time(void **state)
{
    static const struct rp_scalars scalars = {
        .count = 3,
        .at = {{.offset = 0, .bytes = 4}, {.offset = 4, .bytes = 4}, {.offset = 8, .bytes = 4}}};
    static const struct {
        uint32_t rows, n;
    } expected[2 * RP_SIZE_WAYS] = {{500, 32},  {3, 32},     {1, 32},     {0, 32},   {4003, 32},
                                    {4003, 32}, {4003, 5},   {1000, 16},  {1000, 3}, {1000, 1},
                                    {1000, 0},  {1000, 131}, {1000, 131}, {125, 131}};
    struct rp_size_change change;

    (void)state;
    for (unsigned part = 0; part < 2 * RP_SIZE_WAYS; part++) {
        uint32_t values[3] = {1000, 0x3f800000, 32};

        assert_true(rp_launch_size(&scalars, &captured_memory, (uint8_t *)values, part, &change));
        assert_int_equal(change.way, part % RP_SIZE_WAYS);
        assert_int_equal(
            rp_launch_change_size(&scalars, &captured_memory, &change, (uint8_t *)values), 1);
        assert_int_equal(values[0], expected[part].rows);
        assert_int_equal(values[1], 0x3f800000);
        assert_int_equal(values[2], expected[part].n);
    }
    assert_false(rp_launch_size(&scalars, &captured_memory,
                                (const uint8_t *)(const uint32_t[]){1000, 0x3f800000, 32},
                                2 * RP_SIZE_WAYS, &change));
}

/* A zero becomes 1, or numbers, or all of them where nobody says which of the two it is; one at a
 * time, and half of an address stays.
 */
static void zeros_become_other_values(void **state)
{
    static const struct {
        size_t scalar;
        uint64_t is;
    } expected[] = {{0, 0x3f800000}, {0, 0xbf000000}, {1, 1}, {2, 1},
                    {2, 0x3f800000}, {2, 0xbf000000}, {5, 1}};
    struct {
        uint32_t factor, mode, unknown, size;
        uint64_t address;
        uint8_t flag;
    } kernarg = {.size = 128, .address = 0x7f0000000000}, changed;
    struct rp_replay r = {
        .kernarg_kept = &kernarg,
        .scalars = {.count = 6,
                    .at = {{.offset = 0, .bytes = 4},
                           {.offset = 4, .bytes = 4},
                           {.offset = 8, .bytes = 4},
                           {.offset = 12, .bytes = 4},
                           {.offset = 16, .bytes = 4, .field = true, .may_point = true},
                           {.offset = 24, .bytes = 1, .field = true}}},
        .visible = {.count = 6,
                    .at = {{.offset = 0, .scalar = rp_argument_scalar("k(float, int, T)", 0)},
                           {.offset = 4, .scalar = rp_argument_scalar("k(float, int, T)", 1)},
                           {.offset = 8, .scalar = rp_argument_scalar("k(float, int, T)", 2)},
                           {.offset = 12},
                           {.offset = 16},
                           {.offset = 24}}}};
    struct rp_size_change change;
    unsigned part = 0;

    (void)state;
    for (; part < sizeof expected / sizeof *expected; part++) {
        assert_true(rp_launch_zero(&r, &captured_memory, part, &change));
        assert_int_equal(change.scalar, expected[part].scalar);
        changed = kernarg;
        assert_int_equal(rp_launch_change_zero(&r.scalars, &change, (uint8_t *)&changed), 1);
        assert_int_equal(change.is, expected[part].is);
        assert_memory_equal((uint8_t *)&changed + r.scalars.at[change.scalar].offset, &change.is,
                            r.scalars.at[change.scalar].bytes);
        assert_int_equal(changed.size, 128);
    }
    assert_false(rp_launch_zero(&r, &captured_memory, part, &change));
}

static void workgroups_of_half_the_size(void **state)
{
    static const uint32_t grid[3] = {1000, 40, 1};
    static const uint16_t workgroup[3] = {32, 8, 1}, small[3] = {64, 1, 1}, odd[3] = {129, 1, 1};
    uint16_t of[3];
    uint32_t items[3];

    (void)state;
    assert_true(rp_launch_smaller_workgroup(grid, workgroup, 0, of, items));
    assert_true(of[0] == 16 && of[1] == 8 && items[0] == 32 * 16 && items[1] == 40);
    assert_true(rp_launch_smaller_workgroup(grid, workgroup, 1, of, items));
    assert_true(of[0] == 32 && of[1] == 4 && items[0] == 1024 && items[1] == 20);
    assert_false(rp_launch_smaller_workgroup(grid, workgroup, 2, of, items));
    assert_false(rp_launch_smaller_workgroup(grid, small, 0, of, items));
    assert_false(rp_launch_smaller_workgroup(grid, odd, 0, of, items));
}

/* By what a message names it. */
static void arguments_are_numbered(void **state)
{
    struct rp_code_arg args[] = {
        {.offset = 0, .bytes = 8, .kind = SCALARS_KIND("global_buffer")},
        {.offset = 8, .bytes = 16, .kind = SCALARS_KIND("by_value")},
        {.offset = 24, .bytes = 4, .kind = SCALARS_KIND("by_value")},
        {.offset = 32, .bytes = 4, .kind = SCALARS_KIND("hidden_block_count_x")},
    };
    const struct rp_code_kernel kernel = {.args = args, .arg_count = 4};
    struct rp_visible_args visible;

    (void)state;
    visible_find(&kernel, 64, &visible);
    assert_int_equal(visible.count, 3);
    assert_true(visible.at[0].pointer && !visible.at[1].pointer);
    assert_int_equal(rp_launch_argument_at(&visible, 0), 1);
    assert_int_equal(rp_launch_argument_at(&visible, 12), 2);
    assert_int_equal(rp_launch_argument_at(&visible, 24), 3);
}

/* --- overlaps -------------------------------------------------------------------------------- */

enum { OVERLAP_ARGS = 4 };

static bool overlaps(const struct rp_replay *r, const struct rp_write_set *set, unsigned part,
                     unsigned written, unsigned read)
{
    struct rp_overlap found = {0};

    return rp_launch_overlap(r, set, part, &found) && found.written == written &&
           found.read == read;
}

/* Two inputs, of which the second is half as large, results, and results behind these in their
 * region: three and one words, as the captured kernel writes them. */
static void results_take_the_place_of_inputs(void **state)
{
    struct rp_capture_memory memory[] = {
        {.region = {.base = 0x10000, .bytes = 16}},
        {.region = {.base = 0x20000, .bytes = 8}},
        {.region = {.base = 0x30000, .bytes = 8192}},
    };
    uint64_t kernarg[] = {0x10000, 0x20000, 0x30ff8, 0x31010};
    struct rp_replay r = {.memory = memory, .memory_count = 3, .kernarg_kept = kernarg};
    struct rp_write_page pages[] = {{.key = {2, 0}}, {.key = {2, 1}}};
    const struct rp_write_set set = {.items = pages, .count = 2, .sorted = 2};
    struct rp_overlap found = {0};

    (void)state;
    for (uint32_t i = 0; i < OVERLAP_ARGS; i++) {
        r.visible.at[r.visible.count].offset = 8 * i;
        r.visible.at[r.visible.count++].pointer = true;
    }
    pages[0].written[RP_PAGE_MASKS - 1] = (uint64_t)3 << 62;
    pages[1].written[0] = 1 | 1 << 4;
    assert_true(overlaps(&r, &set, 0, 2, 0));
    assert_true(overlaps(&r, &set, 1, 3, 0));
    assert_true(overlaps(&r, &set, 2, 3, 1)); /* Three words find no room there. */
    assert_false(rp_launch_overlap(&r, &set, 3, &found));
    assert_true(rp_launch_overlap(&r, &set, 1, &found));
    assert_true(found.from == 0x10000 && found.bytes == 16);
    assert_int_equal(rp_launch_make_overlap(&r.visible, &found, (uint8_t *)kernarg), 1);
    assert_int_equal(kernarg[3], 0x10000);
    assert_int_equal(kernarg[2], 0x30ff8);
    kernarg[3] = 0x31010;
    r.visible.at[0].no_alias = true;
    assert_true(overlaps(&r, &set, 0, 3, 1));
    assert_false(rp_launch_overlap(&r, &set, 1, &found));
    r.visible.at[3].no_alias = true;
    assert_false(rp_launch_overlap(&r, &set, 0, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_way_has_fewer),
                                       cmocka_unit_test(the_kernel_is_told),
                                       cmocka_unit_test(only_scalars_are_found),
                                       cmocka_unit_test(sizes_become_smaller_and_odd),
                                       cmocka_unit_test(what_else_there_is),
                                       cmocka_unit_test(equal_ones_become_unequal),
                                       cmocka_unit_test(fields_and_signs),
                                       cmocka_unit_test(sizes_are_tried_one_at_a_time),
                                       cmocka_unit_test(zeros_become_other_values),
                                       cmocka_unit_test(workgroups_of_half_the_size),
                                       cmocka_unit_test(arguments_are_numbered),
                                       cmocka_unit_test(results_take_the_place_of_inputs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
