/* Accesses to memory that is taken away: caught inside the guard, the program's own outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/exec/guard.h"

static volatile int *page; /* nobody may access it */

static void touch(void *ctx)
{
    volatile int *steps = ctx;
    *steps = 1;
    page[10] = 5;
    *steps = 2;
}

static void harmless(void *ctx)
{
    *(int *)ctx += 1;
}

static void caught_again_and_again(void)
{
    for (volatile int i = 0; i < 3; i++) {
        int steps = 0;
        uint64_t address = 0;
        assert_false(rp_guarded(touch, &steps, &address));
        assert_int_equal(steps, 1);
        assert_int_equal(address, (uintptr_t)(page + 10));
        assert_true(rp_guarded(harmless, &steps, &address));
        assert_int_equal(steps, 2);
    }
}

static void *in_deaf_thread(void *arg)
{
    sigset_t all;
    uint64_t address;
    int steps = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    *(bool *)arg = !rp_guarded(touch, &steps, &address);
    return NULL;
}

static void also_where_signals_are_blocked(void)
{
    pthread_t thread;
    bool caught = false;
    assert_int_equal(pthread_create(&thread, NULL, in_deaf_thread, &caught), 0);
    pthread_join(thread, NULL);
    assert_true(caught);
}

static sigjmp_buf back;
static volatile int theirs;
static void *volatile their_address;

static void their_handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    theirs = signal;
    their_address = info->si_addr;
    siglongjmp(back, 1);
}

static void the_programs_handler_gets_the_rest(void)
{
    struct sigaction action = {.sa_sigaction = their_handler, .sa_flags = SA_SIGINFO}, old;
    assert_true(rp_guard_owns(SIGSEGV) && rp_guard_owns(SIGBUS) && !rp_guard_owns(SIGINT));
    rp_guard_disposition(SIGSEGV, NULL, &old);
    rp_guard_disposition(SIGSEGV, &action, NULL);
    if (!sigsetjmp(back, 1))
        page[3] = 1;
    assert_int_equal(theirs, SIGSEGV);
    assert_ptr_equal(their_address, (void *)(uintptr_t)(page + 3));
    theirs = 0;
    int steps = 0;
    uint64_t address;
    assert_false(rp_guarded(touch, &steps, &address));
    assert_int_equal(theirs, 0);
    if (!sigsetjmp(back, 1)) /* sent, not trapped */
        raise(SIGSEGV);
    assert_int_equal(theirs, SIGSEGV);
    rp_guard_disposition(SIGSEGV, &old, &action);
    assert_ptr_equal(action.sa_sigaction, their_handler);
}

/* One test: cmocka sets the handlers anew for each. */
static void guards(void **state)
{
    (void)state;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_false(rp_guard_owns(SIGSEGV));
    assert_int_equal(rp_guard_install(), 0);
    caught_again_and_again();
    also_where_signals_are_blocked();
    the_programs_handler_gets_the_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(guards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
