/*
 * The list of memory that a snapshot takes, and the other end of its link, which is stopped, slow,
 * or gone.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/capture.h"
#include "tracer/memory_snapshot.h"
#include "tracer/tracer.h"

#include "unit/cmocka_all.h"

#include "tracer/memory_snapshot.c"

/*
 * The list of memory that a snapshot takes: each byte once, what is there before what may be stale,
 * and what has gone without a word is told.
 */

enum { PAGE = 4096, MOST = 64 };

static struct rp_tool test_tool;
static char *test_pages; /* MOST test_pages of the program, of which tests unmap some */

static int set_up(void **state)
{
    (void)state;
    memset(&test_tool, 0, sizeof(test_tool));
    pthread_mutex_init(&test_tool.memory.lock, NULL);
    test_pages =
        mmap(NULL, (size_t)MOST * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(test_pages != MAP_FAILED);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(test_pages, (size_t)MOST * PAGE);
    rp_vec_free(&test_tool.memory);
    return 0;
}

static uint64_t page_at(size_t page)
{
    return (uint64_t)(uintptr_t)test_pages + page * PAGE;
}

static void announce(enum rp_memory_class memory_class, size_t from, size_t to)
{
    struct rp_memory *m = &test_tool.memory;

    rp_vec_push(m, (struct rp_memory_entry){.region = {.base = page_at(from),
                                                       .bytes = (to - from) * PAGE,
                                                       .memory_class = memory_class}});
}

static void unmap(size_t from, size_t to)
{
    assert_int_equal(munmap(test_pages + from * PAGE, (to - from) * PAGE), 0);
}

struct test_piece {
    enum rp_memory_class memory_class;
    size_t from, to;
    bool gone;
};

static void expect(const struct test_piece *wanted, size_t count)
{
    struct rp_memory_entry *got;
    size_t got_count;

    assert_true(memory_list(&test_tool, &got, &got_count));
    assert_int_equal(got_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got[i].region.memory_class, wanted[i].memory_class);
        assert_int_equal(got[i].region.base, page_at(wanted[i].from));
        assert_int_equal(got[i].region.bytes, (wanted[i].to - wanted[i].from) * PAGE);
        assert_int_equal(got[i].gone, wanted[i].gone);
    }
    free(got);
}

#define EXPECT(...)                                                                                \
    do {                                                                                           \
        const struct test_piece wanted_[] = {__VA_ARGS__};                                         \
        expect(wanted_, sizeof(wanted_) / sizeof(*wanted_));                                       \
    } while (0)

static void what_is_unmapped_is_told(void **state)
{
    (void)state;
    announce(RP_MEMORY_SVM, 0, 10);
    announce(RP_MEMORY_LOCKED, 20, 22);
    unmap(3, 5);
    unmap(20, 22);
    EXPECT({RP_MEMORY_SVM, 0, 3, false}, {RP_MEMORY_SVM, 3, 5, true}, {RP_MEMORY_SVM, 5, 10, false},
           {RP_MEMORY_LOCKED, 20, 22, true});
}

/* Its addresses are reserved for something that comes later, as the C library does for its heaps.
 */
static void what_cannot_be_read_is_no_memory(void **state)
{
    (void)state;
    announce(RP_MEMORY_SVM, 40, 50);
    assert_int_equal(mprotect(test_pages + 44 * PAGE, 6 * PAGE, PROT_NONE), 0);
    EXPECT({RP_MEMORY_SVM, 40, 44, false}, {RP_MEMORY_SVM, 44, 50, true});
}

/* Managed memory that was freed, and whose addresses the runtime has given out again. */
static void what_is_given_out_goes_first(void **state)
{
    (void)state;
    announce(RP_MEMORY_SVM, 0, 12);
    announce(RP_MEMORY_POOL, 2, 4);
    announce(RP_MEMORY_VMEM, 6, 9);
    unmap(8, 12);
    EXPECT({RP_MEMORY_SVM, 0, 2, false}, {RP_MEMORY_POOL, 2, 4, false},
           {RP_MEMORY_SVM, 4, 6, false}, {RP_MEMORY_VMEM, 6, 9, false},
           {RP_MEMORY_SVM, 9, 12, true});
}

/* Each byte once, against a count of every page. */
static void random_overlaps(void **state)
{
    uint32_t seed = 7;

    (void)state;
    unmap(30, 34);
    for (size_t round = 0; round < 300; round++) {
        unsigned known[MOST] = {0}; /* 1: announced by the program, 2: given out by the runtime */
        struct rp_memory_entry *got;
        size_t count, at = 0;

        test_tool.memory.count = 0;
        for (size_t i = 0; i < 12; i++) {
            size_t from = (seed = seed * 1664525 + 1013904223) >> 26, to;
            unsigned rank = (seed >> 9 & 1) + 1;

            to = from + 1 + (seed >> 20 & 15);
            to = to > MOST ? MOST : to;
            announce(rank == 2 ? RP_MEMORY_POOL : RP_MEMORY_SVM, from, to);
            for (size_t p = from; p < to; p++)
                known[p] = known[p] > rank ? known[p] : rank;
        }
        assert_true(memory_list(&test_tool, &got, &count));
        for (size_t i = 0; i < count; i++) {
            const size_t from = (got[i].region.base - page_at(0)) / PAGE;
            const size_t to = from + got[i].region.bytes / PAGE;

            assert_true(from >= at && to > from && to <= MOST);
            for (; at < from; at++)
                assert_int_equal(known[at], 0);
            for (; at < to; at++) {
                assert_int_equal(known[at], got[i].region.memory_class == RP_MEMORY_POOL ? 2 : 1);
                assert_int_equal(got[i].gone, known[at] == 1 && at >= 30 && at < 34);
            }
        }
        for (; at < MOST; at++)
            assert_int_equal(known[at], 0);
        free(got);
    }
}

static unsigned access_of_agents; /* bit i: agent i + 1 has it */

static rp_hsa_status get_access(void *base, uint32_t *ret, rp_hsa_agent agent)
{
    if (base != test_pages)
        return RP_HSA_STATUS_ERROR;
    *ret = access_of_agents >> (agent - 1) & 1 ? 3 : 0;
    return RP_HSA_SUCCESS;
}

/* And who reads it. */
static void withdrawn_access_is_seen(void **state)
{
    enum { OWNER = 3 };
    static const struct {
        unsigned access;
        size_t page;
        uint32_t flags;
        rp_hsa_agent reader;
        bool unreachable;
    } rows[] = {
        {0, 0, 0, 0, true},
        {1, 0, 0, 0, true}, /* the host alone, which does not read memory of a GPU */
        {1, 0, RP_MEMORY_HOST, 0, false},
        {2, 0, RP_MEMORY_HOST, 2, false},
        {3, 0, RP_MEMORY_HOST, 0, false},
        {2, 0, 0, 2, false},
        {6, 0, 0, OWNER, false},
        {0, 4, 0, OWNER, false /* the runtime is silent */},
    };

    (void)state;
    for (rp_hsa_agent agent = 1; agent <= 3; agent++) /* the first one is the host */
        test_tool.agents[test_tool.agent_count++] =
            (struct rp_agent){.handle = agent, .gpu = agent != 1};
    test_tool.hsa.hsa_amd_vmem_get_access = get_access;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rp_memory_entry *got;
        size_t count;

        test_tool.memory.count = 0;
        announce(RP_MEMORY_VMEM, rows[i].page, rows[i].page + 2);
        test_tool.memory.items[0].owner = test_tool.memory.items[0].reader = OWNER;
        test_tool.memory.items[0].region.flags = rows[i].flags;
        access_of_agents = rows[i].access;
        assert_true(memory_list(&test_tool, &got, &count));
        assert_int_equal(count, 1);
        assert_int_equal(got[0].unreachable, rows[i].unreachable);
        assert_int_equal(got[0].reader, rows[i].reader);
        free(got);
    }
}

/* The other end of the link is stopped, slow, or gone: the program is not held for good. */

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
    assert_false(rp_snapshot_ask(&link, "kernel", 0));
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
    assert_true(rp_snapshot_ask(&link, symbol, 0));
    assert_true(link.fd >= 0);
    rp_snapshot_link_close(&link);
    end();
    free(symbol);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    rmdir(folder);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_unmapped_is_told),
        TEST(what_cannot_be_read_is_no_memory),
        TEST(what_is_given_out_goes_first),
        TEST(random_overlaps),
        TEST(withdrawn_access_is_seen),
        cmocka_unit_test(one_that_is_stopped),
        cmocka_unit_test(one_that_takes_its_time),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
