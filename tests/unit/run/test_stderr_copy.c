/* What is shown of standard error, and what is kept. */
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "run/stderr_copy.h"

static struct rp_err test_err;

static bool hides_log(const char *line, size_t length)
{
    return memmem(line, length, "hide", 4) != NULL;
}

/* Writes to the test_tap_, gives what reached standard error and what was kept. */
static void test_tap_(const char *const *pieces, char *shown, size_t room, char **ret_kept)
{
    char path[] = "/tmp/test_rocprofv3.XXXXXX";
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    struct rp_stderr_copy *tapped;
    ssize_t got;

    assert_true(file >= 0 && saved >= 0);
    dup2(file, STDERR_FILENO);
    assert_int_equal(rp_stderr_copy_open(hides_log, NULL, 0, &tapped, &test_err), 0);
    for (; *pieces; pieces++)
        assert_int_equal(write(rp_stderr_copy_fd(tapped), *pieces, strlen(*pieces)),
                         strlen(*pieces));
    *ret_kept = rp_stderr_copy_close(tapped);
    dup2(saved, STDERR_FILENO);
    close(saved);
    got = pread(file, shown, room - 1, 0);
    assert_true(got >= 0);
    shown[got] = '\0';
    close(file);
    unlink(path);
}

/** Where a run has a standard error of its own, nothing is shown on that of this process. */
static void test_tap_to_a_file(void **state)
{
    char path[] = "/tmp/test_rocprofv3.XXXXXX", shown[64] = "";
    int file = mkstemp(path);
    struct rp_stderr_copy *tapped;
    char *kept;

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(rp_stderr_copy_open(hides_log, NULL, file, &tapped, &test_err), 0);
    assert_int_equal(write(rp_stderr_copy_fd(tapped), "said\nW20260101 x] hide\n", 23), 23);
    kept = rp_stderr_copy_close(tapped);
    assert_string_equal(kept, "said\nW20260101 x] hide\n");
    assert_int_equal(pread(file, shown, sizeof shown - 1, 0), 5);
    assert_string_equal(shown, "said\n");
    free(kept);
    close(file);
    unlink(path);
}

static void test_tap(void **state)
{
    static const char *const pieces[] = {"10 %\r20 %",
                                         "\nWell hide\nW20260101 x] hide me\n",
                                         "E2026",
                                         "0101 x] show\n",
                                         "I20260101 x] hi",
                                         "de\n",
                                         "W20260101 no end",
                                         NULL};
    rp_autofree char *kept = NULL;
    char shown[256];

    (void)state;
    test_tap_(pieces, shown, sizeof shown, &kept);
    assert_string_equal(shown, "10 %\r20 %\nWell hide\nE20260101 x] show\nW20260101 no end");
    assert_string_equal(kept, "10 %\r20 %\nWell hide\nW20260101 x] hide me\nE20260101 x] show\n"
                              "I20260101 x] hide\nW20260101 no end");
}

/* Of much text the first and the last part are kept, all of it is shown. */
static void test_long_tap(void **state)
{
    enum { LINES = 60000 };
    rp_autofree char *text = malloc(LINES * 16 + 1), *kept = NULL, *shown = malloc(LINES * 16 + 64);
    const char *pieces[] = {"first\n", text, "last\n", NULL};
    size_t at = 0;

    (void)state;
    assert_true(text && shown);
    for (int i = 0; i < LINES; i++)
        at += (size_t)sprintf(text + at, "line %08d\n", i);
    test_tap_(pieces, shown, LINES * 16 + 64, &kept);
    assert_int_equal(strlen(shown), at + strlen("first\nlast\n"));
    assert_true(strncmp(kept, "first\nline 00000000\n", 20) == 0);
    assert_string_equal(kept + strlen(kept) - 20, "\nline 00059999\nlast\n");
    assert_true(strlen(kept) < 600 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tap_to_a_file),
        cmocka_unit_test(test_tap),
        cmocka_unit_test(test_long_tap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
