/**
 * @file test_snapshot_link.c
 * @brief The other end of the link is stopped, slow, or gone: the program is not held for good.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/capture_stream.h"
#include "tracer/memory_snapshot.h"

enum { MUCH = 8 << 20 }; /* more than a socket holds */

static char folder[] = "/tmp/rp-test-link-XXXXXX";
static char path[64];
static pid_t other;

/* Listens in a process of its own, and then does what @p then says. */
static void start(void (*then)(int fd))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int ready[2];
    char byte;

    snprintf(path, sizeof(path), "%s/socket", folder);
    strcpy(address.sun_path, path);
    unlink(path);
    assert_int_equal(pipe(ready), 0);
    other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            listen(listener, 1) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        then(accept(listener, NULL, NULL));
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
}

static void end(void)
{
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
}

static void stop(int fd)
{
    (void)fd;
    raise(SIGSTOP);
}

/* Longer than a look at it takes. */
static void sleep_and_read(int fd)
{
    static char bytes[1 << 16];
    const struct timespec nap = {.tv_sec = 1, .tv_nsec = 300 * 1000000};
    const uint32_t yes = 1;
    size_t left = sizeof(struct rp_snapshot_message) * 2 + sizeof(struct rp_snapshot_hello) + MUCH;

    nanosleep(&nap, NULL);
    while (left > 0) {
        const ssize_t got = read(fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes));

        if (got <= 0)
            _exit(1);
        left -= (size_t)got;
    }
    nanosleep(&nap, NULL);
    if (write(fd, &yes, sizeof(yes)) < 0)
        _exit(1);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void one_that_is_stopped(void **state)
{
    char *bytes = calloc(1, MUCH);
    struct rp_snapshot_link link;
    const double from = now_s();

    (void)state;
    start(stop);
    assert_true(rp_snapshot_link_open(&link, path, true, 0));
    assert_false(rp_snapshot_send(&link, RP_SNAPSHOT_PAGES, bytes, MUCH, NULL, 0));
    assert_int_equal(link.fd, -1);
    assert_true(
        rp_snapshot_link_open(&link, path, true, 0)); /* the socket still has room for that */
    assert_false(rp_snapshot_ask(&link, "kernel"));
    assert_int_equal(link.fd, -1);
    assert_true(now_s() - from < 60);
    end();
    free(bytes);
}

static void one_that_takes_its_time(void **state)
{
    char *symbol = malloc(MUCH + 1);
    struct rp_snapshot_link link;

    (void)state;
    memset(symbol, 'k', MUCH);
    symbol[MUCH] = '\0';
    start(sleep_and_read);
    assert_true(rp_snapshot_link_open(&link, path, true, 0));
    assert_true(rp_snapshot_ask(&link, symbol));
    assert_true(link.fd >= 0);
    rp_snapshot_link_close(&link);
    end();
    free(symbol);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_stopped),
        cmocka_unit_test(one_that_takes_its_time),
    };
    int failed;

    if (!mkdtemp(folder))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
