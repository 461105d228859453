#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "device/driver/command_processor.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(auto_reset_wakes_once),
        TEST(manual_reset_stays),
        TEST(age_never_misses),
        TEST(all_and_any),
        TEST(sleepers),
        TEST(memory_fault_reaches_its_waiters),
        TEST(quiet),
        TEST(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
