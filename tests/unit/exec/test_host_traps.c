/* Accesses to memory that is taken away: caught inside the guard, the program's own outside. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/exec/host_traps.h"

#include "unit/cmocka_all.h"

#include "device/exec/host_traps.c"

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
        struct rp_trap trap = {0};
        assert_false(rp_trap_run(touch, &steps, &trap));
        assert_int_equal(steps, 1);
        assert_int_equal(trap.address, (uintptr_t)(page + 10));
        assert_int_equal(trap.kind, RP_TRAP_NOT_WRITABLE);
        assert_true(rp_trap_run(harmless, &steps, &trap));
        assert_int_equal(steps, 2);
    }
}

static void *in_deaf_thread(void *arg)
{
    sigset_t all;
    struct rp_trap trap;
    int steps = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    *(bool *)arg = !rp_trap_run(touch, &steps, &trap);
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

static sigjmp_buf test_back;
static volatile int theirs;
static void *volatile their_address;

static void their_handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    theirs = signal;
    their_address = info->si_addr;
    siglongjmp(test_back, 1);
}

static void the_programs_handler_gets_the_rest(void)
{
    struct sigaction action = {.sa_sigaction = their_handler, .sa_flags = SA_SIGINFO}, old;
    assert_true(rp_trap_owns_signal(SIGSEGV) && rp_trap_owns_signal(SIGBUS) &&
                !rp_trap_owns_signal(SIGINT));
    rp_trap_sigaction(SIGSEGV, NULL, &old);
    rp_trap_sigaction(SIGSEGV, &action, NULL);
    if (!sigsetjmp(test_back, 1))
        page[3] = 1;
    assert_int_equal(theirs, SIGSEGV);
    assert_ptr_equal(their_address, (void *)(uintptr_t)(page + 3));
    theirs = 0;
    int steps = 0;
    struct rp_trap trap;
    assert_false(rp_trap_run(touch, &steps, &trap));
    assert_int_equal(theirs, 0);
    if (!sigsetjmp(test_back, 1)) /* sent, not trapped */
        raise(SIGSEGV);
    assert_int_equal(theirs, SIGSEGV);
    rp_trap_sigaction(SIGSEGV, &old, &action);
    assert_ptr_equal(action.sa_sigaction, their_handler);
}

static void read_page(void *ctx)
{
    *(volatile int *)ctx = page[0];
}

/* What the program has done to its page is told apart. */
static void each_trap_has_its_kind(void)
{
    struct rp_trap trap;
    int value;
    assert_false(rp_trap_run(read_page, &value, &trap));
    assert_int_equal(trap.kind, RP_TRAP_NOT_READABLE);
    assert_int_equal(mprotect((void *)(uintptr_t)page, 4096, PROT_READ), 0);
    assert_true(rp_trap_run(read_page, &value, &trap));
    assert_false(rp_trap_run(touch, &value, &trap));
    assert_int_equal(trap.kind, RP_TRAP_NOT_WRITABLE);
    assert_int_equal(munmap((void *)(uintptr_t)page, 4096), 0);
    assert_false(rp_trap_run(read_page, &value, &trap));
    assert_int_equal(trap.kind, RP_TRAP_GONE);
    FILE *empty = tmpfile();
    assert_non_null(empty);
    assert_ptr_equal(
        mmap((void *)(uintptr_t)page, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fileno(empty), 0),
        (void *)(uintptr_t)page);
    assert_false(rp_trap_run(read_page, &value, &trap));
    assert_int_equal(trap.kind, RP_TRAP_NO_STORAGE);
    fclose(empty);
    for (enum rp_trap_kind a = RP_TRAP_GONE; a <= RP_TRAP_NO_STORAGE; a++)
        for (enum rp_trap_kind b = RP_TRAP_GONE; b < a; b++)
            assert_string_not_equal(rp_trap_text(a), rp_trap_text(b));
}

static void write_to(void *ctx)
{
    *(volatile int *)ctx = 1;
}

/* A bug of the library inside the guard is not the program's doing. */
static void a_bug_of_our_own_is_none_of_theirs(void)
{
    char *own = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(own, MAP_FAILED);
    rp_trap_borrow((uintptr_t)own, (uintptr_t)own + 4096);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        int status;
        if (child == 0) {
            struct sigaction plain = {.sa_handler = SIG_DFL}; /* not cmocka's */
            struct rp_trap trap;
            rp_trap_sigaction(SIGSEGV, &plain, NULL);
            _exit(rp_trap_run(write_to, own + 4092 + 4 * i, &trap) ? 1 : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (i == 0)
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
        else
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
    munmap(own, 8192);
}

static volatile int handled;

static void changes_the_disposition(int signal)
{
    struct sigaction action = {.sa_handler = changes_the_disposition}, old;
    (void)signal;
    rp_trap_sigaction(SIGBUS, &action, &old);
    rp_trap_sigaction(SIGBUS, NULL, &old);
    handled++;
}

static volatile bool over;

static void *changes_it_too(void *arg)
{
    struct sigaction action = {.sa_handler = SIG_IGN}, old;
    while (!over) {
        rp_trap_sigaction(SIGBUS, &action, &old);
        rp_trap_sigaction(SIGBUS, &old, NULL);
    }
    return arg;
}

/*
 * sigaction() may be called by a handler that has interrupted sigaction(), and in a child forked
 * while another thread is in it. A deadlock ends the test by SIGALRM.
 */
static void handlers_and_children_may_ask(void)
{
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = changes_the_disposition, .sa_flags = SA_RESTART}, old;
    pthread_t thread;
    alarm(60);
    rp_trap_sigaction(SIGBUS, &action, NULL); /* not cmocka's any more */
    assert_int_equal(sigaction(SIGVTALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_VIRTUAL, &often, NULL), 0);
    while (handled < 200) {
        rp_trap_sigaction(SIGBUS, &action, &old);
        assert_ptr_equal(old.sa_handler, changes_the_disposition);
    }
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    assert_int_equal(pthread_create(&thread, NULL, changes_it_too, NULL), 0);
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        int status;
        if (child == 0) {
            alarm(5);
            rp_trap_sigaction(SIGBUS, &action, &old);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    over = true;
    pthread_join(thread, NULL);
    alarm(0);
}

/* One test: cmocka sets the handlers anew for each. */
static void guards(void **state)
{
    (void)state;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_false(rp_trap_owns_signal(SIGSEGV));
    assert_int_equal(rp_trap_install(), 0);
    rp_trap_borrow((uintptr_t)page, (uintptr_t)page + 4096);
    caught_again_and_again();
    also_where_signals_are_blocked();
    the_programs_handler_gets_the_rest();
    each_trap_has_its_kind();
    a_bug_of_our_own_is_none_of_theirs();
    handlers_and_children_may_ask();
}

static void lent_spans_join_and_stretch(void **state)
{
    (void)state;
    static struct rp_borrowed_ranges lent;
    assert_false(borrowed_ranges_has(&lent, 0));
    borrowed_ranges_add(&lent, 100, 200);
    borrowed_ranges_add(&lent, 300, 400);
    borrowed_ranges_add(&lent, 150, 300); /* touches both; one of them grows */
    for (uint64_t at = 90; at < 410; at++)
        assert_int_equal(borrowed_ranges_has(&lent, at), at >= 100 && at < 400);
    assert_int_equal(lent.count, 2);
    for (uint64_t i = 0; i < 2 * RP_BORROWED_RANGES; i++)
        borrowed_ranges_add(&lent, 10000 + 100 * i, 10010 + 100 * i);
    assert_int_equal(lent.count, RP_BORROWED_RANGES);
    for (uint64_t i = 0; i < 2 * RP_BORROWED_RANGES; i++) /* more than was lent, never less */
        assert_true(borrowed_ranges_has(&lent, 10000 + 100 * i) &&
                    borrowed_ranges_has(&lent, 10009 + 100 * i));
    assert_false(borrowed_ranges_has(&lent, 9999));
    assert_false(borrowed_ranges_has(&lent, 10010 + 200 * RP_BORROWED_RANGES));
}

static struct rp_signal_action contended;

/* Each thread's actions are recognisable as a whole: no reader may see a mixture. */
static void *contend(void *arg)
{
    struct sigaction action = {.sa_flags = (int)(intptr_t)arg}, old;
    intptr_t wrong = 0;
    memset(&action.sa_mask, (int)(intptr_t)arg, sizeof action.sa_mask);
    for (int i = 0; i < 20000; i++) {
        signal_action_set(&contended, &action, &old);
        wrong += ((unsigned char *)&old.sa_mask)[5] != (unsigned char)old.sa_flags;
        signal_action_get(&contended, &old);
        wrong += ((unsigned char *)&old.sa_mask)[120] != (unsigned char)old.sa_flags;
    }
    return (void *)wrong;
}

static void dispositions_change_as_a_whole(void **state)
{
    (void)state;
    pthread_t threads[4];
    void *wrong;
    for (intptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, contend, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards),
        cmocka_unit_test(lent_spans_join_and_stretch),
        cmocka_unit_test(dispositions_change_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
