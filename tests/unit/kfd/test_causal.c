/* When the host submitted: from write indices and what it learnt between them, whenever the device
 * comes to ask. */
#include <stdlib.h>

#include "device/driver/command_processor.h"
#include "test.h"

enum { BEGIN = 100, QUEUES = 3 };

struct bench {
    struct rp_happens_before causal;
    struct rp_happens_before_queue lines[QUEUES];
    uint64_t written[QUEUES];
};

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    if (!b)
        return -1;
    rp_happens_before_init(&b->causal, BEGIN);
    rp_happens_before_activate(&b->causal);
    for (int i = 0; i < QUEUES; i++)
        rp_happens_before_add(&b->causal, &b->lines[i], &b->written[i], 0);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < QUEUES; i++)
        rp_happens_before_remove(&b->causal, &b->lines[i]);
    assert_null(b->causal.lines);
    free(b);
    return 0;
}

static uint64_t submitted(struct bench *b, int queue, uint64_t index)
{
    uint64_t ticks;
    assert_true(rp_happens_before_submitted(&b->causal, &b->lines[queue], index, &ticks));
    return ticks;
}

static bool held(struct bench *b, int queue, uint64_t index)
{
    uint64_t ticks;
    return !rp_happens_before_submitted(&b->causal, &b->lines[queue], index, &ticks);
}

static void what_came_before_a_wait_is_not_moved_by_it(void **state)
{
    struct bench *b = *state;
    b->written[0] = 1;
    b->written[1] = 1;
    assert_true(rp_happens_before_learn(&b->causal, 500)); /* of the first queue's packet */
    b->written[1] = 2;
    b->written[2] = 1;
    assert_int_equal(submitted(b, 1, 0), BEGIN); /* the device is late */
    assert_int_equal(submitted(b, 1, 1), 500);
    assert_int_equal(submitted(b, 2, 0), 500);
    assert_false(rp_happens_before_learn(&b->causal, 400)); /* no news */
    b->written[2] = 2;
    assert_int_equal(submitted(b, 2, 1), 500);
    assert_int_equal(rp_happens_before_known(&b->causal), 500);
}

static void packets_of_an_open_call_are_held(void **state)
{
    struct bench *b = *state;
    b->written[0] = 1;
    rp_happens_before_open(&b->causal);
    assert_int_equal(submitted(b, 0, 0), BEGIN); /* it was there before */
    b->written[0] = 3;
    assert_true(held(b, 0, 1));
    rp_happens_before_close(&b->causal, 900);
    assert_int_equal(submitted(b, 0, 1), 900);
    assert_int_equal(submitted(b, 0, 2), 900);
    b->written[0] = 4; /* what has nothing to do with it */
    assert_int_equal(submitted(b, 0, 3), BEGIN);
    assert_int_equal(rp_happens_before_known(&b->causal), BEGIN);
}

static void calls_of_two_threads(void **state)
{
    struct bench *b = *state;
    rp_happens_before_open(&b->causal);
    b->written[0] = 1;
    rp_happens_before_open(&b->causal);
    b->written[1] = 1;
    rp_happens_before_close(&b->causal, 900); /* whose it was is not known */
    assert_true(held(b, 0, 0));
    assert_true(held(b, 1, 0));
    assert_true(rp_happens_before_learn(&b->causal, 300));
    rp_happens_before_close(&b->causal, 200);
    assert_int_equal(submitted(b, 0, 0), 900);
    assert_int_equal(submitted(b, 1, 0), 900);
    rp_happens_before_open(&b->causal);
    b->written[0] = 2;
    rp_happens_before_close(&b->causal, 0);
    assert_int_equal(submitted(b, 0, 1), 300);
}

static void nothing_is_held_for_who_is_kept_waiting(void **state)
{
    struct bench *b = *state;
    rp_happens_before_open(&b->causal);
    b->written[0] = 1;
    assert_true(held(b, 0, 0));
    rp_happens_before_hold_nothing(&b->causal, true);
    assert_int_equal(submitted(b, 0, 0), BEGIN);
    rp_happens_before_hold_nothing(&b->causal, false);
    b->written[0] = 2;
    assert_true(held(b, 0, 1));
    rp_happens_before_close(&b->causal, 900);
    assert_int_equal(submitted(b, 0, 1), 900);
}

/* A host that submits and learns at random, and a device that is behind by any number of packets,
 * against a list of what was known when. */
static void any_order_of_host_and_device(void **state)
{
    struct bench *b = *state;
    enum { STEPS = 200000, PACKETS = 100000 };
    static uint64_t expected[QUEUES][PACKETS];
    uint64_t read[QUEUES] = {0}, known = BEGIN;
    unsigned seed = 12345, behind = 0;
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned dice = seed >> 16 & 0x7fff;
        int queue = (int)(dice % QUEUES);
        switch (dice / 8 % 4) {
        case 0:
            expected[queue][b->written[queue]++] = known;
            break;
        case 1:
            known += dice % 7;
            rp_happens_before_learn(&b->causal, known);
            break;
        default: /* the device works in bursts */
            if (i / 5000 % 2 && read[queue] < b->written[queue]) {
                assert_int_equal(submitted(b, queue, read[queue]), expected[queue][read[queue]]);
                read[queue]++;
            }
        }
        if (b->written[queue] - read[queue] > behind)
            behind = (unsigned)(b->written[queue] - read[queue]);
    }
    assert_true(behind > 300);
    for (int i = 0; i < QUEUES; i++)
        assert_true(read[i] > 10000 && b->lines[i].capacity < 4096);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_came_before_a_wait_is_not_moved_by_it),
        TEST(packets_of_an_open_call_are_held),
        TEST(calls_of_two_threads),
        TEST(nothing_is_held_for_who_is_kept_waiting),
        TEST(any_order_of_host_and_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
