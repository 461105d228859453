/* Standard input of this program stands for that of rocm-perf, and is read here as a profiled
 * program would. */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "run/standard_input.h"

static struct rp_err test_err;

static void ok(int rc)
{
    if (rc < 0)
        fail_msg("%s", test_err.text);
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

    ok(rp_kept_input_begin(in, &test_err));
    while (count < most && (n = read(STDIN_FILENO, ret + count, most - count)) > 0)
        count += (size_t)n;
    assert_true(n >= 0);
    ok(rp_kept_input_end(in, &test_err));
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
    ok(rp_kept_input_open(true, "use --runs 1", &in, &test_err));
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
    ok(rp_kept_input_open(true, "use --runs 1", &in, &test_err));
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
        ok(rp_kept_input_open(true, "use --runs 1", &in, &test_err));
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
    ok(rp_kept_input_open(true, "use --runs 1", &in, &test_err));
    in.most_bytes = 200000;
    assert_int_equal(run_reads(&in, bytes, 10), 10); /* a program that reads little may run */
    ok(rp_kept_input_begin(&in, &test_err));
    while (read(STDIN_FILENO, bytes, 4096) > 0)
        ; /* finds an end */
    assert_int_equal(rp_kept_input_end(&in, &test_err), -RP_USAGE);
    assert_non_null(strstr(test_err.text, "use --runs 1"));
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
    ok(rp_kept_input_open(true, "use --runs 1", &in, &test_err));
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
    ok(rp_kept_input_open(true, "use --runs 1", &in, &test_err));
    assert_int_equal(in.kind, RP_INPUT_INHERITED);
    ok(rp_kept_input_begin(&in, &test_err));
    ok(rp_kept_input_end(&in, &test_err));
    rp_kept_input_free(&in);
    close(STDIN_FILENO);
    ok(rp_kept_input_open(true, "use --runs 1", &in, &test_err));
    assert_int_equal(in.kind, RP_INPUT_INHERITED);
    assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
    close(pipe_input());
    fstat(STDIN_FILENO, &before);
    ok(rp_kept_input_open(false, "use --runs 1", &in, &test_err)); /* one run: the pipe itself */
    ok(rp_kept_input_begin(&in, &test_err));
    fstat(STDIN_FILENO, &after);
    assert_int_equal(before.st_ino, after.st_ino);
    rp_kept_input_free(&in);
}

static int run_kept(void)
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

/* All of standard input in a file: what comes, what does not, what has no end. */
static const uint64_t MIB = 1 << 20;
static char dir[] = "/tmp/rp-whole-input-XXXXXX";
static char path[64];
static int before;

/* Standard input is what this command prints. @return of rp_saved_input_read */
static int save(const char *command, bool resumed, bool *ret_has, struct rp_err *err)
{
    const struct rp_saved_input input = {.path = path, .resumed = resumed, .most_bytes = MIB};
    FILE *pipe = popen(command, "r");
    int rc;

    assert_non_null(pipe);
    dup2(fileno(pipe), STDIN_FILENO);
    *ret_has = false;
    *err = (struct rp_err)RP_ERR_INIT;
    rc = rp_saved_input_read(&input, ret_has, err);
    dup2(before, STDIN_FILENO);
    pclose(pipe);
    return rc;
}

static void is_kept(const char *text)
{
    char bytes[64] = "";
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof bytes - 1), strlen(text));
    assert_string_equal(bytes, text);
    close(fd);
}

static void what_comes_is_kept(void **state)
{
    struct rp_err err;
    struct stat info;
    bool has;

    (void)state;
    assert_int_equal(save("echo a; sleep 0.1; echo b", false, &has, &err), 0);
    assert_true(has);
    is_kept("a\nb\n");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(save("true", true, &has, &err), 0); /* --resume goes on with it */
    assert_true(has);
    assert_int_equal(save("echo a; echo b", true, &has, &err), 0);
    assert_true(has);
    assert_int_equal(save("echo a; echo c", true, &has, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "is not what it was"));
    is_kept("a\nb\n");
    assert_int_equal(save("true", false, &has, &err), 0); /* something new begins */
    assert_false(has);
    assert_false(rp_path_exists(path));
    assert_int_equal(save("echo a", true, &has, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "had no standard input when this was begun"));
    assert_null(strstr(err.text, path)); /* which is not there */
}

static void what_has_no_end_is_refused(void **state)
{
    struct rp_err err;
    bool has;

    (void)state;
    assert_int_equal(save("yes", false, &has, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "more than 1 MiB, or no end"));
    assert_int_equal(save("head -c 1048576 /dev/zero", false, &has, &err), 0);
    assert_true(has);
    unlink(path);
}

static void put_note(void *context, const char *text)
{
    char *notes = context;

    snprintf(notes + strlen(notes), 200 - strlen(notes), "%s\n", text);
}

/* A pause is waited through, and said; input that pauses too long is refused, not taken for empty.
 */
static void a_pause_is_no_end(void **state)
{
    char notes[200] = "";
    struct rp_saved_input input = {.path = path,
                                   .most_bytes = MIB,
                                   .notice_ms = 1,
                                   .patience_ms = 50,
                                   .note = put_note,
                                   .context = notes};
    struct rp_err err = RP_ERR_INIT;
    int ends[2];
    bool has;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    assert_int_equal(rp_saved_input_read(&input, &has, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "has paused for 0.05 s after 0 bytes"));
    assert_non_null(strstr(err.text, "< /dev/null"));
    assert_int_equal(strncmp(notes, "waiting for the end of standard input", 37), 0);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    assert_int_equal(rp_saved_input_read(&input, &has, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "after 2 bytes"));
    assert_false(rp_path_exists(path));
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    *notes = 0;
    assert_int_equal(rp_saved_input_read(&input, &has, &err), 0);
    assert_true(has);
    is_kept("abc");
    assert_int_equal(strncmp(notes, "3 bytes of standard input were read", 35), 0);
    unlink(path);
    dup2(before, STDIN_FILENO);
    close(ends[0]);
}

static void devices_are_not_read(void **state)
{
    const struct rp_saved_input input = {.path = path, .most_bytes = MIB};
    struct rp_err err = RP_ERR_INIT;
    int zero = open("/dev/zero", O_RDONLY);
    bool has = true;

    (void)state;
    dup2(zero, STDIN_FILENO);
    assert_int_equal(rp_saved_input_read(&input, &has, &err), 0);
    assert_false(has);
    close(STDIN_FILENO); /* there is none */
    has = true;
    assert_int_equal(rp_saved_input_read(&input, &has, &err), 0);
    assert_false(has);
    dup2(before, STDIN_FILENO);
    close(zero);
}

static int run_whole(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_is_kept),
        cmocka_unit_test(what_has_no_end_is_refused),
        cmocka_unit_test(a_pause_is_no_end),
        cmocka_unit_test(devices_are_not_read),
    };
    int failed;

    before = dup(STDIN_FILENO);
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/stdin", dir);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rp_remove_tree(dir);
    return failed;
}

int main(void)
{
    return run_kept() + run_whole();
}
