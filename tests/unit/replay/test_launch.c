/**
 * @file test_launch.c
 * @brief What one run submits, and numbers for pages that are the same in each session.
 */
#include <string.h>

#include "replay/replay.h"
#include "trace/capture.h"
#include "unit/cmocka_all.h"

#include "replay/replay_launch.c"

/* --- packets --------------------------------------------------------------------------------- */

/* A replayed packet has the scopes of the captured one, and barriers that restored memory
needs around it.
/ */

/* Fields of a header by the HSA specification: 8 bits type, 1 barrier, 2 acquire, 2 release. */
static unsigned type(uint16_t header)
{
    return header & 255;
}

static unsigned acquire(uint16_t header)
{
    return header >> 9 & 3;
}

static unsigned release(uint16_t header)
{
    return header >> 11 & 3;
}

static void test_scopes(void **state)
{
    const struct rp_replay_launch launch = {.timed = 1, .ended = 2};

    (void)state;
    for (unsigned a = 0; a < 3; a++)
        for (unsigned r = 0; r < 3; r++)
            for (unsigned barrier = 0; barrier < 2; barrier++) {
                const struct rp_snapshot_dispatch d = {
                    .header = (uint16_t)(2 | barrier << 8 | a << 9 | r << 11)};
                struct rp_replay_packet p[RP_REPLAY_PACKETS];

                replay_make_packets(&d, &launch, p);
                assert_int_equal(type(p[1].header), 2);
                assert_int_equal(acquire(p[1].header), a);
                assert_int_equal(release(p[1].header), r);
                for (unsigned i = 0; i < RP_REPLAY_PACKETS; i++)
                    assert_true(p[i].header & 256); /* in this order */
                assert_int_equal(type(p[0].header), 3);
                assert_int_equal(acquire(p[0].header), 2);
                assert_int_equal(type(p[2].header), 3);
                assert_int_equal(release(p[2].header), 2);
                assert_int_equal(p[1].completion, 1);
                assert_int_equal(p[2].completion, 2);
            }
}

static void test_geometry(void **state)
{
    const struct rp_snapshot_dispatch d = {.header = 2,
                                           .setup = 3,
                                           .grid = {1000, 20, 3},
                                           .workgroup = {64, 2, 1},
                                           .private_bytes = 1,
                                           .group_bytes = 1};
    const struct rp_replay_launch launch = {
        .private_bytes = 272, .group_bytes = 4096, .kernel_object = 0x12340, .kernarg = 0x56780};
    struct rp_replay_packet p[RP_REPLAY_PACKETS];
    static const uint64_t none[7];

    (void)state;
    replay_make_packets(&d, &launch, p);
    assert_int_equal(p[1].setup, 3);
    assert_memory_equal(p[1].grid, d.grid, sizeof d.grid);
    assert_memory_equal(p[1].workgroup, d.workgroup, sizeof d.workgroup);
    assert_int_equal(p[1].private_bytes, 272);
    assert_int_equal(p[1].group_bytes, 4096);
    assert_int_equal(p[1].kernel_object, 0x12340);
    assert_int_equal(p[1].kernarg, 0x56780);
    assert_int_equal(p[1].reserved0 | p[1].reserved2, 0);
    /* Barriers that wait for no signal. */
    assert_memory_equal((char *)&p[0] + 2, none, 54);
    assert_memory_equal((char *)&p[2] + 2, none, 54);
}

/* --- places ---------------------------------------------------------------------------------- */

/* Numbers for captured regions do not follow from where the system has put them.
/ */

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
    replay_places_find(list, REGIONS, kernarg, sizeof kernarg, ret);
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
        cmocka_unit_test(test_scopes), cmocka_unit_test(test_geometry),
        cmocka_unit_test(test_other_addresses), cmocka_unit_test(test_far_apart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
