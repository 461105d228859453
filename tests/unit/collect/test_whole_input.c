/* All of standard input in a file: what comes, what does not, what has no end. */
#include "run/standard_input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "unit/cmocka_all.h"

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

int main(void)
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
