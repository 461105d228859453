/**
 * @file test_memory.c
 * @brief What lies between captured memory and the ends of its pages.
 */
#include <stdlib.h>

#include "base/err.h"
#include "replay/replay.h"
#include "unit/cmocka_all.h"

#include "replay/replay_memory.c"

/* --- margins --------------------------------------------------------------------------------- */

/* What lies between captured memory and the ends of its pages.
/ */

enum { PAGE = RP_PAGE_BYTES };

struct case_ {
    uint64_t regions[8]; /* base and bytes by turns */
    uint64_t margins[8]; /* likewise, by hand */
};

static void check(const struct case_ *c, const struct rp_replay_range *ranges, size_t range_count)
{
    struct rp_capture_memory memory[4] = {0};
    struct rp_redzone *got = NULL;
    size_t regions = 0, count = 0, expected = 0;

    for (; regions < 4 && c->regions[2 * regions + 1]; regions++) {
        memory[regions].region.base = c->regions[2 * regions];
        memory[regions].region.bytes = c->regions[2 * regions + 1];
    }
    while (expected < 4 && c->margins[2 * expected + 1])
        expected++;
    redzones_find(ranges, range_count, memory, regions, &got, &count);
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got[i].address, c->margins[2 * i]);
        assert_int_equal(got[i].bytes, c->margins[2 * i + 1]);
    }
    free(got);
}

static void test_margins(void **state)
{
    const struct rp_replay_range ranges[] = {{.base = 16 * PAGE, .bytes = 2 * PAGE},
                                             {.base = 32 * PAGE, .bytes = PAGE}};
    const struct case_ cases[] = {
        {{16 * PAGE, 2 * PAGE, 32 * PAGE, PAGE}, {0}},
        {{16 * PAGE, 2 * PAGE - 96, 32 * PAGE, PAGE}, {18 * PAGE - 96, 96}},
        {{16 * PAGE + 8, 2 * PAGE - 8, 32 * PAGE, 1}, {16 * PAGE, 8, 32 * PAGE + 1, PAGE - 1}},
        /* in any order; two that share a page; one within another */
        {{32 * PAGE, PAGE, 17 * PAGE + 16, PAGE - 16, 16 * PAGE, PAGE + 4}, {17 * PAGE + 4, 12}},
        {{16 * PAGE, 2 * PAGE - 1, 16 * PAGE + 8, 8, 32 * PAGE, PAGE}, {18 * PAGE - 1, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], ranges, 2);
}

static void test_whose(void **state)
{
    const struct rp_replay_range ranges[] = {
        {.base = 16 * PAGE, .bytes = PAGE},
        {.base = 32 * PAGE, .bytes = PAGE, .flags = RP_MEMORY_HOST}};
    const struct rp_capture_memory memory[] = {
        {.region = {.base = 16 * PAGE, .bytes = 1}},
        {.region = {.base = 32 * PAGE, .bytes = 1, .flags = RP_MEMORY_HOST}}};
    struct rp_redzone *got = NULL;
    size_t count = 0;

    (void)state;
    redzones_find(ranges, 2, memory, 2, &got, &count);
    assert_int_equal(count, 2);
    assert_false(got[0].host);
    assert_true(got[1].host);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_margins),
                                       cmocka_unit_test(test_whose)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
