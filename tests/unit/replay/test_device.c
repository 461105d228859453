/**
 * @file test_device.c
 * @brief Which GPUs stand for the captured ones, and which kinds of memory may share a page.
 */
#include <string.h>

#include "base/err.h"
#include "replay/replay.h"
#include "unit/cmocka_all.h"

#include "replay/replay_device.c"

/* --- kinds ----------------------------------------------------------------------------------- */

/* Which GPU stands for a captured one; what becomes of regions that share a page.
/ */

enum { NONE = 99 };

/* By hand: captured nodes, the kernel's first; nodes of GPUs here; which of them runs it. */
static void assigned(const char *nodes, const char *here, size_t kernel_on, const size_t *expected)
{
    struct rp_replay_gpu gpus[8] = {0};
    uint32_t captured[8];
    size_t got[8];

    for (size_t i = 0; nodes[i]; i++)
        captured[i] = (uint32_t)(nodes[i] - '0');
    for (size_t i = 0; here[i]; i++)
        gpus[i].node = (uint32_t)(here[i] - '0');
    replay_assign_gpus(captured, strlen(nodes), gpus, strlen(here), kernel_on, got);
    for (size_t i = 0; nodes[i]; i++)
        assert_int_equal(got[i], expected[i] == NONE ? SIZE_MAX : expected[i]);
}

#define ASSIGNED(nodes, here, kernel_on, ...)                                                      \
    assigned(nodes, here, kernel_on, (const size_t[]){__VA_ARGS__})

static void test_gpus(void **state)
{
    (void)state;
    ASSIGNED("1", "1", 0, 0);
    ASSIGNED("2", "1", 0, 0);
    ASSIGNED("2", "12", 1, 1);
    ASSIGNED("21", "12", 1, 1, 0);
    ASSIGNED("21", "1", 0, 0, NONE);
    ASSIGNED("123", "123", 0, 0, 1, 2);
    ASSIGNED("321", "123", 2, 2, 1, 0);
    /* The kernel runs where another one's memory was: that goes to the GPU that is free. */
    ASSIGNED("21", "13", 0, 0, 1);
    ASSIGNED("512", "123", 0, 0, 2, 1);
    ASSIGNED("789", "12", 1, 1, 0, NONE);
    /* One that is there by its own node is not given to another one before. */
    ASSIGNED("172", "123", 0, 0, 2, 1);
}

static struct rp_replay_range test_range(uint64_t base, uint64_t bytes, uint32_t flags,
                                         uint32_t node)
{
    return (struct rp_replay_range){.base = base, .bytes = bytes, .flags = flags, .node = node};
}

static void test_shared_pages(void **state)
{
    const struct rp_replay_range coarse = test_range(0x1000, 0x1000, RP_MEMORY_COARSE, 1);
    const struct rp_replay_range fine = test_range(0x1000, 0x2000, RP_MEMORY_FINE, 1);
    const struct rp_replay_range other = test_range(0x1000, 0x2000, RP_MEMORY_COARSE, 2);
    const struct rp_replay_range host =
        test_range(0x1000, 0x2000, RP_MEMORY_HOST | RP_MEMORY_FINE, 0);
    struct rp_err err = RP_ERR_INIT;
    struct rp_replay_range last = test_range(0, 0x2000, RP_MEMORY_COARSE, 1);

    (void)state;
    assert_int_equal(replay_add_range(&last, &fine, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "two kinds or GPUs shares the page at 0x1000"));
    assert_int_equal(replay_add_range(&last, &other, &err), -RP_BAD_INPUT);
    assert_int_equal(replay_add_range(&last, &host, &err), -RP_BAD_INPUT);
    assert_int_equal(last.bytes, 0x2000);
    assert_int_equal(replay_add_range(&last, &coarse, &err), 0);
    assert_int_equal(last.bytes, 0x2000);
    last.bytes = 0x1800;
    assert_int_equal(replay_add_range(&last, &coarse, &err), 0);
    assert_int_equal(last.bytes, 0x2000);
    last = test_range(0, 0x2000, RP_MEMORY_HOST | RP_MEMORY_COARSE, 0);
    assert_int_equal(replay_add_range(&last, &host, &err), 0);
    assert_int_equal(last.flags, RP_MEMORY_HOST);
    assert_int_equal(last.bytes, 0x3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpus),
                                       cmocka_unit_test(test_shared_pages)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
