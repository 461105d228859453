#include "test.h"

#include <pthread.h>
#include <time.h>

#include "device/driver/command_processor.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_before_the_wait_is_not_lost),
        cmocka_unit_test(wait_ends_without_a_ring),
        cmocka_unit_test(two_threads_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
