/**
 * @file test_gate.c
 * @brief A gate closes though threads pass it all the time, and nobody is within then.
 */
#include <time.h>

#include "tool/gate.h"
#include "unit/cmocka_all.h"

enum { THREADS = 4, WITHIN_NS = 20000, PATIENCE_MS = 10000 };

static struct rp_gate gate;
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
        const bool entered = rp_gate_enter(&gate);
        const int64_t since = now_ns();

        __atomic_add_fetch(&within, 1, __ATOMIC_ACQ_REL);
        while (now_ns() - since < WITHIN_NS)
            rp_gate_leave(&gate, rp_gate_enter(&gate));
        __atomic_sub_fetch(&within, 1, __ATOMIC_ACQ_REL);
        rp_gate_leave(&gate, entered);
    }
    return unused;
}

static void test_busy(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    rp_gate_init(&gate, true);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pass, NULL), 0);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(rp_gate_close(&gate, PATIENCE_MS));
        assert_int_equal(__atomic_load_n(&within, __ATOMIC_ACQUIRE), 0);
        rp_gate_open(&gate);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_own_call(void **state)
{
    bool entered;

    (void)state;
    rp_gate_init(&gate, true);
    entered = rp_gate_enter(&gate);
    assert_false(rp_gate_close(&gate, 1)); /* it would wait for itself */
    rp_gate_leave(&gate, entered);
    assert_true(rp_gate_close(&gate, 1));
    entered = rp_gate_enter(&gate); /* who closed it may go on */
    rp_gate_leave(&gate, entered);
    rp_gate_open(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_own_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
