/**
 * @file test_isolate_run.c
 * @brief Programs that are stopped in the middle of a message hold up neither others nor the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "run/isolate_run.h"

#include "unit/scratch.h"

#include "run/isolate_run.c"

static char test_folder[80], test_path[80];
static struct rp_snapshot_request test_wishes = {.folder = test_folder, .origin = {.version = "0"}};
static const uint64_t test_numbers[] = {3, 5};
static const struct rp_snapshot_server_request test_wanted = {
    .kernel_regex = "add",
    .selection = {.mode = RP_SNAPSHOT_NUMBERS,
                  .filters = RP_SNAPSHOT_GRID,
                  .grid = {64, 1, 1},
                  .number_count = 2},
    .numbers = test_numbers};

static int set_up(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    snprintf(test_folder, sizeof test_folder, "%s/shot", scratch_dir);
    snprintf(test_path, sizeof test_path, "%s/socket", scratch_dir);
    return 0;
}

static struct rp_snapshot_server *test_start(void)
{
    struct rp_snapshot_server *server;
    struct rp_err err = RP_ERR_INIT;

    if (snapshot_server_start(test_path, &test_wishes, &test_wanted, &server, &err) < 0)
        fail_msg("%s", err.text);
    return server;
}

static int connect_to(void)
{
    const struct timeval patience = {.tv_sec = 10};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, test_path);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void put(int fd, const void *bytes, size_t count)
{
    assert_int_equal(send(fd, bytes, count, MSG_NOSIGNAL), count);
}

static void put_message(int fd, uint32_t kind, const void *bytes, size_t count)
{
    const struct rp_snapshot_message m = {.kind = kind, .bytes = count};

    put(fd, &m, sizeof m);
    put(fd, bytes, count);
}

/* What is test_wanted, in one piece. */
static void hear_selection(int fd)
{
    struct rp_snapshot_selection selection;
    uint64_t got[2];

    assert_int_equal(recv(fd, &selection, sizeof selection, MSG_WAITALL), sizeof selection);
    assert_memory_equal(&selection, &test_wanted.selection, sizeof selection);
    assert_int_equal(recv(fd, got, sizeof got, MSG_WAITALL), sizeof got);
    assert_memory_equal(got, test_numbers, sizeof got);
}

static void send_hello(int fd)
{
    static const struct rp_snapshot_hello hello = {.version = RP_SNAPSHOT_VERSION, .pid = 5};

    put_message(fd, RP_SNAPSHOT_HELLO, &hello, sizeof hello);
    hear_selection(fd);
}

static uint32_t ask(int fd, const char *symbol)
{
    uint32_t reply = 77;

    put_message(fd, RP_SNAPSHOT_KERNEL, symbol, strlen(symbol));
    assert_int_equal(recv(fd, &reply, sizeof reply, MSG_WAITALL), sizeof reply);
    return reply;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One stops within a header, one within what follows it, one between messages. */
static void who_is_stopped_holds_up_nobody(void **state)
{
    const struct rp_snapshot_message m = {.kind = RP_SNAPSHOT_KERNEL, .bytes = 100};
    struct rp_snapshot_server *server = test_start();
    struct rp_captured_run isolation = {0};
    struct rp_err err = RP_ERR_INIT;
    const int in_header = connect_to(), in_bytes = connect_to(), idle = connect_to();
    double from;
    int other;

    (void)state;
    put(in_header, &m, 7);
    send_hello(in_bytes);
    put(in_bytes, &m, sizeof m);
    put(in_bytes, "half", 4);
    send_hello(idle);
    other = connect_to();
    send_hello(other);
    assert_int_equal(ask(other, "_Z3addPf.kd"), 1);
    assert_int_equal(ask(other, "_Z3mulPf.kd"), 0);
    close(other);
    from = now_s();
    assert_int_equal(snapshot_server_stop(server, &isolation, &err), 0);
    assert_true(now_s() - from < 8); /* they have 2 s for last words */
    assert_int_equal(isolation.processes, 4);
    assert_int_equal(isolation.kernels_seen, 2);
    assert_int_equal(isolation.kernels_wanted, 1);
    assert_int_equal(isolation.captured, 0);
    rp_captured_run_free(&isolation);
    close(in_header);
    close(in_bytes);
    close(idle);
}

/* A byte at a time is as good as all at once. */
static void messages_in_pieces(void **state)
{
    static const struct rp_snapshot_hello hello = {.version = RP_SNAPSHOT_VERSION, .pid = 5};
    static const char symbol[] = "_Z3addPf.kd";
    const struct rp_snapshot_message m[] = {
        {.kind = RP_SNAPSHOT_HELLO, .bytes = sizeof hello},
        {.kind = RP_SNAPSHOT_KERNEL, .bytes = sizeof symbol - 1}};
    char all[2 * sizeof *m + sizeof hello + sizeof symbol - 1], *at = all;
    struct rp_snapshot_server *server = test_start();
    struct rp_captured_run isolation = {0};
    struct rp_err err = RP_ERR_INIT;
    const int fd = connect_to();
    uint32_t reply = 77;

    (void)state;
    at = mempcpy(at, &m[0], sizeof m[0]);
    at = mempcpy(at, &hello, sizeof hello);
    at = mempcpy(at, &m[1], sizeof m[1]);
    memcpy(at, symbol, sizeof symbol - 1);
    for (size_t i = 0; i < sizeof all; i++)
        put(fd, all + i, 1);
    hear_selection(fd);
    assert_int_equal(recv(fd, &reply, sizeof reply, MSG_WAITALL), sizeof reply);
    assert_int_equal(reply, 1);
    close(fd);
    assert_int_equal(snapshot_server_stop(server, &isolation, &err), 0);
    assert_int_equal(isolation.kernels_wanted, 1);
    rp_captured_run_free(&isolation);
}

/* What says that it is longer than any message may be is not waited for. */
static void nonsense_ends_the_link(void **state)
{
    const struct rp_snapshot_message m = {.kind = RP_SNAPSHOT_KERNEL, .bytes = UINT64_MAX};
    struct rp_snapshot_server *server = test_start();
    struct rp_captured_run isolation = {0};
    struct rp_err err = RP_ERR_INIT;
    const int fd = connect_to();
    char byte;

    (void)state;
    send_hello(fd);
    put(fd, &m, sizeof m);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
    assert_int_equal(snapshot_server_stop(server, &isolation, &err), 0);
    rp_captured_run_free(&isolation);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, scratch_end)
    const struct CMUnitTest tests[] = {
        TEST(who_is_stopped_holds_up_nobody),
        TEST(messages_in_pieces),
        TEST(nonsense_ends_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
