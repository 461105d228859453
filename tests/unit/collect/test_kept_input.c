/* Standard input of this program stands for that of rocm-perf, and is read here as a profiled
 * program would. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "run/standard_input.h"

static struct rp_err err;

static void ok(int rc)
{
    if (rc < 0)
        fail_msg("%s", err.text);
}

static void set_input(int fd)
{
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
}

/* @return the write end of a pipe that is standard input now */
static int pipe_input(void)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    set_input(ends[0]);
    return ends[1];
}

/* Reads up to most bytes in one run, as far as there are any. */
static size_t run_reads(struct rp_kept_input *in, uint8_t *ret, size_t most)
{
    size_t count = 0;
    ssize_t n = 1;

    ok(rp_kept_input_begin(in, &err));
    while (count < most && (n = read(STDIN_FILENO, ret + count, most - count)) > 0)
        count += (size_t)n;
    assert_true(n >= 0);
    ok(rp_kept_input_end(in, &err));
    return count;
}

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

/* In a process of its own: this one is to read while it writes. */
static pid_t write_bytes(int fd, size_t count)
{
    pid_t child = fork();

    if (child == 0) {
        uint8_t chunk[1000];

        close(STDIN_FILENO); /* or there would always be a reader */
        for (size_t at = 0; at < count; at += sizeof chunk) {
            size_t part = count - at < sizeof chunk ? count - at : sizeof chunk;

            for (size_t i = 0; i < part; i++)
                chunk[i] = byte_at(at + i);
            if (write(fd, chunk, part) != (ssize_t)part)
                break;
        }
        _exit(0);
    }
    close(fd);
    assert_true(child > 0);
    return child;
}

enum { MUCH = 1000000 };

/* Memory holds a part only; the first run reads less than the others. */
static void every_run_gets_the_same(void **state)
{
    static const size_t wanted[] = {3, 0, 500000, 2 * MUCH, 70000, 2 * MUCH};
    uint8_t *bytes = malloc(2 * MUCH);
    struct rp_kept_input in;
    pid_t writer;

    (void)state;
    writer = write_bytes(pipe_input(), MUCH);
    ok(rp_kept_input_open(true, "use --runs 1", &in, &err));
    assert_int_equal(in.kind, RP_INPUT_STREAM);
    in.memory_bytes = 100001;
    for (size_t run = 0; run < sizeof wanted / sizeof *wanted; run++) {
        size_t count = run_reads(&in, bytes, wanted[run]);

        assert_int_equal(count, wanted[run] < MUCH ? wanted[run] : MUCH);
        for (size_t i = 0; i < count; i++)
            if (bytes[i] != byte_at(i))
                fail_msg("run %zu: byte %zu is another one", run, i);
    }
    assert_true(in.file >= 0);
    rp_kept_input_free(&in);
    waitpid(writer, NULL, 0);
    free(bytes);
}

/* As in a CI job: nobody writes, and nobody closes. A run that does not read ends. */
static void an_open_pipe_is_not_waited_for(void **state)
{
    int other = pipe_input();
    struct rp_kept_input in;
    uint8_t bytes[4];

    (void)state;
    ok(rp_kept_input_open(true, "use --runs 1", &in, &err));
    for (int run = 0; run < 3; run++)
        assert_int_equal(run_reads(&in, bytes, 0), 0);
    assert_int_equal(write(other, "abc", 3), 3);
    assert_int_equal(run_reads(&in, bytes, 2), 2);
    assert_int_equal(run_reads(&in, bytes, 3), 3);
    assert_memory_equal(bytes, "abc", 3);
    rp_kept_input_free(&in);
    close(other);
}

/* @return how many bytes of the alphabet are left, the next of which is `next` */
static size_t left_behind(char next)
{
    char bytes[64];
    ssize_t n;

    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK); /* nothing is left: that fails */
    n = read(STDIN_FILENO, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(bytes[0], next);
    return (size_t)n;
}

static void reads_letters(struct rp_kept_input *in, size_t count)
{
    uint8_t bytes[26];

    assert_int_equal(run_reads(in, bytes, count), count);
    assert_memory_equal(bytes, "abcdefghijklmnopqrstuvwxyz", count);
}

/* For the next command of a loop over its lines. The longest run counts. */
static void what_no_run_reads_is_left(void **state)
{
    enum { UNREAD, PIPE, SOCKET, INPUTS };

    (void)state;
    for (int input = 0; input < INPUTS; input++) {
        struct rp_kept_input in;
        int ends[2];

        assert_int_equal(input == SOCKET ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends),
                         0);
        set_input(ends[0]);
        assert_int_equal(write(ends[1], "abcdefghijklmnopqrstuvwxyz", 26), 26);
        ok(rp_kept_input_open(true, "use --runs 1", &in, &err));
        reads_letters(&in, 0);
        if (input != UNREAD) {
            reads_letters(&in, 2);
            reads_letters(&in, 7);
            reads_letters(&in, 3);
        }
        rp_kept_input_free(&in);
        assert_int_equal(left_behind(input == UNREAD ? 'a' : 'h'), input == UNREAD ? 26 : 19);
        close(ends[1]);
    }
}

static void an_endless_stream_is_refused(void **state)
{
    uint8_t *bytes = malloc(2 * MUCH);
    struct rp_kept_input in;
    pid_t writer;

    (void)state;
    writer = write_bytes(pipe_input(), MUCH);
    ok(rp_kept_input_open(true, "use --runs 1", &in, &err));
    in.most_bytes = 200000;
    assert_int_equal(run_reads(&in, bytes, 10), 10); /* a program that reads little may run */
    ok(rp_kept_input_begin(&in, &err));
    while (read(STDIN_FILENO, bytes, 4096) > 0)
        ; /* finds an end */
    assert_int_equal(rp_kept_input_end(&in, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "use --runs 1"));
    rp_kept_input_free(&in);
    set_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
    waitpid(writer, NULL, 0);
    free(bytes);
}

/* From where it stood; who reads after the command goes on where the first run has stopped. */
static void a_file_is_read_again(void **state)
{
    char path[] = "/tmp/rp-kept-XXXXXX";
    int fd = mkstemp(path);
    struct rp_kept_input in;
    uint8_t bytes[16];

    (void)state;
    assert_int_equal(write(fd, "0123456789", 10), 10);
    unlink(path);
    lseek(fd, 2, SEEK_SET);
    set_input(fd);
    ok(rp_kept_input_open(true, "use --runs 1", &in, &err));
    assert_int_equal(in.kind, RP_INPUT_FILE);
    assert_int_equal(run_reads(&in, bytes, 3), 3);
    assert_memory_equal(bytes, "234", 3);
    assert_int_equal(run_reads(&in, bytes, sizeof bytes), 8);
    assert_memory_equal(bytes, "23456789", 8);
    rp_kept_input_free(&in);
    assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_CUR), 5);
}

static void devices_and_nothing_are_inherited(void **state)
{
    struct rp_kept_input in;
    struct stat before, after;

    (void)state;
    set_input(open("/dev/zero", O_RDONLY | O_CLOEXEC));
    ok(rp_kept_input_open(true, "use --runs 1", &in, &err));
    assert_int_equal(in.kind, RP_INPUT_INHERITED);
    ok(rp_kept_input_begin(&in, &err));
    ok(rp_kept_input_end(&in, &err));
    rp_kept_input_free(&in);
    close(STDIN_FILENO);
    ok(rp_kept_input_open(true, "use --runs 1", &in, &err));
    assert_int_equal(in.kind, RP_INPUT_INHERITED);
    assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
    close(pipe_input());
    fstat(STDIN_FILENO, &before);
    ok(rp_kept_input_open(false, "use --runs 1", &in, &err)); /* one run: the pipe itself */
    ok(rp_kept_input_begin(&in, &err));
    fstat(STDIN_FILENO, &after);
    assert_int_equal(before.st_ino, after.st_ino);
    rp_kept_input_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_run_gets_the_same),
        cmocka_unit_test(an_open_pipe_is_not_waited_for),
        cmocka_unit_test(what_no_run_reads_is_left),
        cmocka_unit_test(an_endless_stream_is_refused),
        cmocka_unit_test(a_file_is_read_again),
        cmocka_unit_test(devices_and_nothing_are_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
