/**
 * @file test_quiesce.c
 * @brief A gate closes though threads pass it all the time, and nobody is within then.
 */
#include <time.h>

#include "tracer/isolate.h"
#include "unit/cmocka_all.h"

enum { THREADS = 4, WITHIN_NS = 20000, PATIENCE_MS = 10000 };

static struct rp_pause gate;
static unsigned within, stop;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Each call of the runtime makes another one: a callback that allocates. */
static void *pass(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        const bool entered = rp_pause_enter(&gate);
        const int64_t since = now_ns();

        __atomic_add_fetch(&within, 1, __ATOMIC_ACQ_REL);
        while (now_ns() - since < WITHIN_NS)
            rp_pause_leave(&gate, rp_pause_enter(&gate));
        __atomic_sub_fetch(&within, 1, __ATOMIC_ACQ_REL);
        rp_pause_leave(&gate, entered);
    }
    return unused;
}

static void test_busy(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    rp_pause_init(&gate, true);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pass, NULL), 0);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(rp_pause_begin(&gate, PATIENCE_MS));
        assert_int_equal(__atomic_load_n(&within, __ATOMIC_ACQUIRE), 0);
        rp_pause_end(&gate);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_own_call(void **state)
{
    bool entered;

    (void)state;
    rp_pause_init(&gate, true);
    entered = rp_pause_enter(&gate);
    assert_false(rp_pause_begin(&gate, 1)); /* it would wait for itself */
    rp_pause_leave(&gate, entered);
    assert_true(rp_pause_begin(&gate, 1));
    entered = rp_pause_enter(&gate); /* who closed it may go on */
    rp_pause_leave(&gate, entered);
    rp_pause_end(&gate);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *unused)
{
    rp_pause_lock(&gate, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void test_lock(void **state)
{
    const int64_t end = now_ns() + (int64_t)PATIENCE_MS * 1000000;
    pthread_t thread;

    (void)state;
    rp_pause_init(&gate, true);
    pthread_mutex_lock(&lock);
    assert_false(rp_pause_holds_up_others(&gate));
    assert_int_equal(pthread_create(&thread, NULL, take, NULL), 0);
    while (!rp_pause_holds_up_others(&gate) && now_ns() < end)
        ;
    assert_true(rp_pause_holds_up_others(&gate));
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    assert_false(rp_pause_holds_up_others(&gate));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_own_call),
        cmocka_unit_test(test_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
