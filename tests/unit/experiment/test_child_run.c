/* What is printed is in the files when the tap is closed, up to the limit; who keeps the pipe open
 * is not waited for. */
#include "experiment/child_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "unit/scratch.h"

enum { MOST = 300000 };

static char *paths[2];

static int make_folder(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    paths[0] = rp_path_join(scratch_dir, "out");
    paths[1] = rp_path_join(scratch_dir, "err");
    return paths[0] && paths[1] ? 0 : -1;
}

static int remove_folder(void **state)
{
    free(paths[0]);
    free(paths[1]);
    return scratch_end(state);
}

static void print(int fd, char c, size_t count)
{
    char bytes[1000];

    memset(bytes, c, sizeof bytes);
    while (count) {
        const size_t now = count < sizeof bytes ? count : sizeof bytes;

        assert_int_equal(write(fd, bytes, now), now);
        count -= now;
    }
}

static void check(const char *path, char c, size_t count)
{
    rp_autofree char *text = rp_read_text(path, 1 << 20);

    assert_non_null(text);
    assert_int_equal(strlen(text), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(text[i], c);
}

static void up_to_the_limit(void **state)
{
    static const size_t counts[] = {0, 1, 1000, MOST - 1, MOST, MOST + 1, 5 * MOST};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t count = counts[i];
        struct rp_output_limiter tap;
        int kept;

        assert_int_equal(rp_output_limiter_open((const char *const *)paths, MOST, &tap, &err), 0);
        kept = dup(tap.fds[0]); /* as by a process that nobody could end */
        print(tap.fds[0], 'o', count);
        print(tap.fds[1], 'e', 10);
        rp_output_limiter_close(&tap);
        close(kept);
        assert_int_equal(tap.over[0], count > MOST);
        assert_false(tap.over[1]);
        check(paths[0], 'o', count < MOST ? count : MOST);
        check(paths[1], 'e', 10);
    }
}

static void where_it_cannot_write(void **state)
{
    const char *const nowhere[] = {"/nonexistent/out", "/nonexistent/err"};
    struct rp_output_limiter tap;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_output_limiter_open(nowhere, 1, &tap, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "/nonexistent/out"));
}

static void long_output_is_cut_in_the_middle(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "log");
    const char *const argv[] = {"/bin/sh", "-c", "seq 1 2000; echo oops >&2; exit 3", NULL};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;
    rp_autofree char *text = NULL;
    rp_autofree char *how = NULL;

    (void)state;
    assert_int_equal(rp_child_run(&(struct rp_child){.argv = argv,
                                                     .stdout_path = path,
                                                     .stderr_path = path,
                                                     .timeout_ns = (int64_t)60 * 1000000000,
                                                     .limits = rp_compiler_limits()},
                                  &end, &err),
                     0);
    text = rp_child_text(path, 40);
    /* Twenty bytes of each end. */
    assert_string_equal(text, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n...\n1998\n1999\n2000\noops\n");
    how = rp_child_end_sentence(&end);
    assert_string_equal(how, "it ended with exit status 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_output_is_cut_in_the_middle),
        cmocka_unit_test(up_to_the_limit),
        cmocka_unit_test(where_it_cannot_write),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
