/**
 * @file test_places.c
 * @brief Numbers for captured regions do not follow from where the system has put them.
 */
#include <string.h>

#include "replay/replay.h"
#include "trace/capture_stream.h"
#include "unit/cmocka_all.h"

enum { REGIONS = 6 };

/* A program that is captured twice: two buffers are arguments, one of them by an address within;
 * two of the other ones are alike. In the second session all lies elsewhere, and in another order.
 */
static void find(const uint64_t bases[REGIONS], uint64_t ret[REGIONS])
{
    static const uint64_t bytes[REGIONS] = {4096, 4096, 4096, 4096, 8192, 8192};
    struct rp_snapshot_region regions[REGIONS];
    const struct rp_snapshot_region *list[REGIONS];
    uint64_t kernarg[3] = {bases[0], 12, bases[1] + 4095};

    for (size_t i = 0; i < REGIONS; i++) {
        regions[i] = (struct rp_snapshot_region){.base = bases[i], .bytes = bytes[i]};
        list[i] = &regions[i];
    }
    regions[5].node = 1;
    rp_replay_places_find(list, REGIONS, kernarg, sizeof kernarg, ret);
}

static void test_other_addresses(void **state)
{
    static const uint64_t here[REGIONS] = {0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000};
    static const uint64_t there[REGIONS] = {0x91000, 0x24000, 0x43000, 0x54000, 0x78000, 0x32000};
    uint64_t a[REGIONS], b[REGIONS];

    (void)state;
    find(here, a);
    find(there, b);
    assert_memory_equal(a, b, sizeof a);
}

static void test_far_apart(void **state)
{
    static const uint64_t here[REGIONS] = {0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000};
    uint64_t places[REGIONS];

    (void)state;
    find(here, places);
    for (size_t i = 0; i < REGIONS; i++) {
        assert_int_equal(places[i] % 4096, 0);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(places[i], places[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_addresses),
        cmocka_unit_test(test_far_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
