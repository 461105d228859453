/* What wakes the host, when it submits, and KFD events. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "device/driver/command_processor.h"

/* ---- events ---------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    struct rp_events *events = malloc(sizeof *events);
    if (!events)
        return -1;
    rp_events_init(events);
    *state = events;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static uint32_t create(struct rp_events *events, uint32_t type, bool auto_reset)
{
    uint32_t id = 0;
    assert_int_equal(rp_events_create(events, type, auto_reset, &id), 0);
    assert_int_not_equal(id, 0);
    return id;
}

static uint32_t poll_one(struct rp_events *events, uint32_t id, uint64_t *age)
{
    struct rp_kfd_event_data data = {.event_id = id, .last_age = age ? *age : 0};
    uint32_t result = 99;
    assert_int_equal(rp_events_wait(events, &data, 1, true, 0, &result), 0);
    if (age)
        *age = data.last_age;
    return result;
}

static void auto_reset_wakes_once(void **state)
{
    struct rp_events *events = *state;
    uint32_t id = create(events, RP_KFD_EVENT_SIGNAL, true);
    assert_int_equal(poll_one(events, id, NULL), RP_KFD_WAIT_TIMEOUT);
    assert_int_equal(rp_events_change(events, id, RP_EVENT_SET), 0);
    assert_int_equal(poll_one(events, id, NULL), RP_KFD_WAIT_COMPLETE);
    assert_int_equal(poll_one(events, id, NULL), RP_KFD_WAIT_TIMEOUT);
}

static void manual_reset_stays(void **state)
{
    struct rp_events *events = *state;
    uint32_t id = create(events, RP_KFD_EVENT_SIGNAL, false);
    rp_events_change(events, id, RP_EVENT_SET);
    assert_int_equal(poll_one(events, id, NULL), RP_KFD_WAIT_COMPLETE);
    assert_int_equal(poll_one(events, id, NULL), RP_KFD_WAIT_COMPLETE);
    assert_int_equal(rp_events_change(events, id, RP_EVENT_RESET), 0);
    assert_int_equal(poll_one(events, id, NULL), RP_KFD_WAIT_TIMEOUT);
}

/* A waiter that names the age it has seen does not miss a set that another waiter consumed. */
static void age_never_misses(void **state)
{
    struct rp_events *events = *state;
    uint32_t id = create(events, RP_KFD_EVENT_SIGNAL, true);
    uint64_t mine = 1, other = 1;
    assert_int_equal(poll_one(events, id, &mine), RP_KFD_WAIT_TIMEOUT);
    rp_events_change(events, id, RP_EVENT_SET);
    assert_int_equal(poll_one(events, id, &other), RP_KFD_WAIT_COMPLETE);
    assert_int_equal(poll_one(events, id, &mine), RP_KFD_WAIT_COMPLETE);
    assert_int_equal(mine, other);
    assert_int_equal(poll_one(events, id, &mine), RP_KFD_WAIT_TIMEOUT);
}

static void all_and_any(void **state)
{
    struct rp_events *events = *state;
    struct rp_kfd_event_data data[2] = {
        {.event_id = create(events, RP_KFD_EVENT_SIGNAL, true)},
        {.event_id = create(events, RP_KFD_EVENT_SIGNAL, true)},
    };
    uint32_t result;
    rp_events_change(events, data[1].event_id, RP_EVENT_SET);
    assert_int_equal(rp_events_wait(events, data, 2, true, 0, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_TIMEOUT); /* and nothing was consumed */
    assert_int_equal(rp_events_wait(events, data, 2, false, 0, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_COMPLETE);
    rp_events_change(events, data[0].event_id, RP_EVENT_SET);
    rp_events_change(events, data[1].event_id, RP_EVENT_SET);
    assert_int_equal(rp_events_wait(events, data, 2, true, 0, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_COMPLETE);
    assert_int_equal(rp_events_wait(events, data, 2, false, 0, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_TIMEOUT);
}

static void memory_fault_reaches_its_waiters(void **state)
{
    struct rp_events *events = *state;
    struct rp_kfd_memory_exception what = {.not_present = 1, .va = 0x1000, .gpu_id = 2};
    uint32_t memory = create(events, RP_KFD_EVENT_MEMORY, false), result;
    uint32_t signal = create(events, RP_KFD_EVENT_SIGNAL, false);
    assert_int_equal(rp_events_memory_fault(events, &what), 1);
    struct rp_kfd_event_data data = {.event_id = memory};
    assert_int_equal(rp_events_wait(events, &data, 1, true, 0, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_COMPLETE);
    assert_int_equal(data.memory.va, 0x1000);
    assert_int_equal(poll_one(events, signal, NULL), RP_KFD_WAIT_TIMEOUT);
}

static void *set_later(void *arg)
{
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
    rp_events_change(arg, 1, RP_EVENT_SET);
    return NULL;
}

static void *destroy_later(void *arg)
{
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
    rp_events_change(arg, 1, RP_EVENT_DESTROY);
    return NULL;
}

static void sleepers(void **state)
{
    struct rp_events *events = *state;
    struct rp_kfd_event_data data = {.event_id = create(events, RP_KFD_EVENT_SIGNAL, true)};
    uint32_t result;
    pthread_t thread;
    assert_int_equal(data.event_id, 1);
    assert_int_equal(rp_events_wait(events, &data, 1, true, 30, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_TIMEOUT);
    assert_int_equal(pthread_create(&thread, NULL, set_later, events), 0);
    assert_int_equal(rp_events_wait(events, &data, 1, true, UINT32_MAX, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_COMPLETE);
    pthread_join(thread, NULL);
    assert_int_equal(pthread_create(&thread, NULL, destroy_later, events), 0);
    assert_int_equal(rp_events_wait(events, &data, 1, true, UINT32_MAX, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_FAIL);
    pthread_join(thread, NULL);
}

static void *serve_one(void *arg)
{
    struct rp_kfd_event_data data[2] = {{.event_id = 1}, {.event_id = 2}};
    uint32_t result;
    rp_events_wait(arg, data, 2, false, UINT32_MAX, &result);
    return NULL;
}

/* Quiet means: whoever serves events sleeps, and nothing waits to be served. */
static void quiet(void **state)
{
    struct rp_events *events = *state;
    struct timespec pause = {.tv_nsec = 1000 * 1000};
    pthread_t thread;
    create(events, RP_KFD_EVENT_SIGNAL, true);
    create(events, RP_KFD_EVENT_SIGNAL, true);
    assert_true(rp_events_quiet(events)); /* nobody serves yet */
    assert_int_equal(pthread_create(&thread, NULL, serve_one, events), 0);
    bool waiting = false;
    for (int i = 0; i < 5000 && !waiting; i++) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&events->lock);
        waiting = events->waiters != NULL;
        /* Fired, but the thread has had no chance to notice: not quiet. */
        if (waiting)
            events->slots[1].signaled = true;
        pthread_mutex_unlock(&events->lock);
    }
    assert_true(waiting);
    assert_false(rp_events_quiet(events));
    pthread_mutex_lock(&events->lock);
    events->slots[1].signaled = false;
    pthread_mutex_unlock(&events->lock);
    assert_true(rp_events_quiet(events));
    rp_events_change(events, 2, RP_EVENT_SET);
    pthread_join(thread, NULL);
    bool over = false; /* a thread that ended serves no more, once the kernel has buried it */
    for (int i = 0; i < 5000 && !over; i++) {
        nanosleep(&pause, NULL);
        over = rp_events_quiet(events);
    }
    assert_true(over);
}

static void mistakes(void **state)
{
    struct rp_events *events = *state;
    struct rp_kfd_event_data data = {.event_id = 77};
    uint32_t result, id;
    assert_int_equal(rp_events_wait(events, &data, 1, true, 0, &result), -EINVAL);
    assert_int_equal(rp_events_wait(events, &data, 0, true, 0, &result), -EINVAL);
    assert_int_equal(rp_events_create(events, RP_KFD_EVENT_TYPE_MAX, true, &id), -EINVAL);
    assert_int_equal(rp_events_change(events, 0, RP_EVENT_SET), -EINVAL);
    assert_int_equal(rp_events_change(events, RP_KFD_EVENT_LIMIT, RP_EVENT_RESET), -EINVAL);
    assert_int_equal(rp_events_change(events, 77, RP_EVENT_DESTROY), -EINVAL);
    for (int i = 1; i < RP_KFD_EVENT_LIMIT; i++)
        create(events, RP_KFD_EVENT_SIGNAL, true);
    assert_int_equal(rp_events_create(events, RP_KFD_EVENT_SIGNAL, true, &id), -ENOSPC);
    assert_int_equal(rp_events_change(events, 77, RP_EVENT_DESTROY), 0);
    assert_int_equal(create(events, RP_KFD_EVENT_SIGNAL, true), 77);
}

/* ---- wakes ----------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void ring_before_the_wait_is_not_lost(void **state)
{
    (void)state;
    uint32_t seen = rp_host_wakeups();
    rp_host_wake();
    double begin = now();
    rp_host_sleep(seen, 60ull * 1000000000);
    assert_true(now() - begin < 30);
    assert_int_equal(rp_host_wakeups(), seen + 1);
}

static void wait_ends_without_a_ring(void **state)
{
    (void)state;
    double begin = now(), end;
    do { /* a wait may end early, not be the only one to end */
        rp_host_sleep(rp_host_wakeups(), 20 * 1000000);
        end = now();
    } while (end - begin < 0.02);
    assert_true(end - begin < 30);
}

enum { ROUNDS = 2000 };

struct game {
    uint32_t ball; /**< even: the main thread's turn */
};

static void play(struct game *game, uint32_t mine)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (;;) {
            uint32_t seen = rp_host_wakeups();
            if (__atomic_load_n(&game->ball, __ATOMIC_ACQUIRE) % 2 == mine)
                break;
            rp_host_sleep(seen, 60ull * 1000000000);
        }
        __atomic_add_fetch(&game->ball, 1, __ATOMIC_RELEASE);
        rp_host_wake();
    }
}

static void *second(void *game)
{
    play(game, 1);
    return NULL;
}

/* One lost ring costs a minute. */
static void two_threads_take_turns(void **state)
{
    (void)state;
    struct game game = {0};
    pthread_t thread;
    double begin = now();
    assert_int_equal(pthread_create(&thread, NULL, second, &game), 0);
    play(&game, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(game.ball, 2 * ROUNDS);
    assert_true(now() - begin < 50);
}

/* ---- when the host submits ------------------------------------------------------------------- */

/* When the host submitted: from write indices and what it learnt between them, whenever the device
 * comes to ask. */

enum { BEGIN = 100, QUEUES = 3 };

struct bench {
    struct rp_happens_before causal;
    struct rp_happens_before_queue lines[QUEUES];
    uint64_t written[QUEUES];
};

static int open_bench(void **state)
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

static int close_bench(void **state)
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

static void work_of_the_host_takes_time(void **state)
{
    struct bench *b = *state;
    b->written[0] = 1;
    rp_happens_before_open(&b->causal);
    b->written[1] = 1;
    rp_happens_before_close(&b->causal, 0);
    rp_happens_before_spend(&b->causal, 200);
    b->written[0] = 2;
    b->written[1] = 2;
    assert_int_equal(submitted(b, 0, 0), BEGIN); /* before */
    assert_int_equal(submitted(b, 1, 0), BEGIN);
    assert_int_equal(submitted(b, 0, 1), BEGIN + 200);
    assert_int_equal(submitted(b, 1, 1), BEGIN + 200);
    assert_false(rp_happens_before_learn(&b->causal, BEGIN + 100)); /* That was long ago. */
    assert_int_equal(rp_happens_before_known(&b->causal), BEGIN + 200);
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
#define EVENT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define QUEUE(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)
    const struct CMUnitTest tests[] = {
        EVENT(auto_reset_wakes_once),
        EVENT(manual_reset_stays),
        EVENT(age_never_misses),
        EVENT(all_and_any),
        EVENT(sleepers),
        EVENT(memory_fault_reaches_its_waiters),
        EVENT(quiet),
        EVENT(mistakes),
        cmocka_unit_test(ring_before_the_wait_is_not_lost),
        cmocka_unit_test(wait_ends_without_a_ring),
        cmocka_unit_test(two_threads_take_turns),
        QUEUE(what_came_before_a_wait_is_not_moved_by_it),
        QUEUE(packets_of_an_open_call_are_held),
        QUEUE(calls_of_two_threads),
        QUEUE(work_of_the_host_takes_time),
        QUEUE(nothing_is_held_for_who_is_kept_waiting),
        QUEUE(any_order_of_host_and_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
