#include "unit/cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

static void messages_read_outside_in(void **state)
{
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_fail(&err, RP_BAD_INPUT, "table %s is missing", "t"), -RP_BAD_INPUT);
    assert_int_equal(rp_wrap(&err, "read trace %s", "x.db"), -RP_BAD_INPUT);
    assert_string_equal(err.text, "read trace x.db: table t is missing");
    assert_int_equal(rp_fail_errno(&err, RP_ENVIRONMENT, ENOSPC, "write"), -RP_ENVIRONMENT);
    assert_string_equal(err.text, "write: No space left on device");
    assert_int_equal(rp_fail(NULL, RP_USAGE, "nobody listens"), -RP_USAGE);
}

static void long_messages_are_cut(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    char big[3 * RP_ERR_TEXT_BYTES];

    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    rp_fail_errno(&err, RP_USAGE, EIO, "%s", big);
    assert_int_equal(strlen(err.text), RP_ERR_TEXT_BYTES - 1);
    rp_wrap(&err, "%s", big);
    assert_int_equal(strlen(err.text), RP_ERR_TEXT_BYTES - 1);
}

static void buffers_grow(void **state)
{
    rp_autobuf buf = {0};
    rp_autofree char *taken = NULL;

    (void)state;
    assert_string_equal(rp_buf_text(&buf), "");
    for (int i = 0; i < 1000; i++)
        rp_buf_printf(&buf, "%d,", i % 10);
    assert_int_equal(buf.len, 2000);
    rp_buf_add(&buf, "\0z", 2);
    assert_int_equal(buf.data[2001], 'z');
    taken = rp_buf_steal(&buf);
    assert_int_equal(strlen(taken), 2000);
    assert_int_equal(buf.len, 0);
    assert_null(buf.data);
}

struct scratch {
    char dir[64];
};

static int make_scratch(void **state)
{
    struct scratch *scratch = calloc(1, sizeof *scratch);

    strcpy(scratch->dir, "/tmp/rp-test-XXXXXX");
    *state = scratch;
    return mkdtemp(scratch->dir) ? 0 : -1;
}

static int drop_scratch(void **state)
{
    struct scratch *scratch = *state;

    rp_remove_tree(scratch->dir);
    assert_false(rp_path_exists(scratch->dir));
    free(scratch);
    return 0;
}

static void outputs_go_where_links_lead_and_into_devices(void **state)
{
    struct scratch *scratch = *state;
    rp_autofree char *file = rp_path_join(scratch->dir, "file");
    rp_autofree char *link = rp_path_join(scratch->dir, "link");
    rp_autofree char *text = NULL;
    struct stat st;

    assert_int_equal(rp_write_output(file, "old", 3, NULL), 0);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(rp_write_output(link, "new", 3, NULL), 0);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    text = rp_read_text(file, 10);
    assert_string_equal(text, "new");
    assert_int_equal(rp_write_output("/dev/null", "text", 4, NULL), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(rp_write_output("/dev/full", "text", 4, NULL), -RP_ENVIRONMENT);
    assert_int_equal(rp_write_output(scratch->dir, "text", 4, NULL), -RP_ENVIRONMENT);
}

static void folders_are_made_and_removed(void **state)
{
    struct scratch *scratch = *state;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *deep = rp_path_join(scratch->dir, "a/b//c");
    rp_autofree char *file = rp_path_join(scratch->dir, "a/file");
    rp_autofree char *below_file = rp_path_join(file, "x");

    assert_int_equal(rp_mkdirs(deep, &err), 0);
    assert_int_equal(rp_mkdirs(deep, &err), 0);
    assert_true(rp_path_is_dir(deep));
    assert_int_equal(rp_write_file(file, "text\nmore", 9, &err), 0);
    assert_int_equal(rp_mkdirs(below_file, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "a/file"));
    rp_remove_tree("/no/such/path");
}

static void removing_does_not_follow_links(void **state)
{
    struct scratch *scratch = *state;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *outside = rp_path_join(scratch->dir, "outside");
    rp_autofree char *tree = rp_path_join(scratch->dir, "tree");
    rp_autofree char *link = rp_path_join(tree, "link");
    rp_autofree char *kept = rp_path_join(outside, "kept");

    assert_int_equal(rp_mkdirs(outside, &err), 0);
    assert_int_equal(rp_mkdirs(tree, &err), 0);
    assert_int_equal(rp_write_file(kept, "", 0, &err), 0);
    assert_int_equal(symlink(outside, link), 0);
    rp_remove_tree(tree);
    assert_false(rp_path_exists(tree));
    assert_true(rp_path_exists(kept));
}

static void files_are_replaced_whole(void **state)
{
    struct scratch *scratch = *state;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *path = rp_path_join(scratch->dir, "f");
    rp_autofree char *text = NULL, *line = NULL, *none = NULL;

    assert_int_equal(rp_write_file(path, "one\n", 4, &err), 0);
    assert_int_equal(rp_write_file(path, "two\nlines\n", 10, &err), 0);
    text = rp_read_text(path, 100);
    assert_string_equal(text, "two\nlines\n");
    line = rp_read_line(path);
    assert_string_equal(line, "two");
    none = rp_read_text(path, 5);
    assert_null(none);
    assert_int_equal(rp_write_file("/no/such/dir/f", "x", 1, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "/no/such/dir/f"));
}

static size_t count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* The first byte beyond the limit ends the process in the middle of it. */
static void a_write_that_is_killed_leaves_nothing(void **state)
{
    static char much[1 << 20];
    struct scratch *scratch = *state;
    rp_autofree char *path = rp_path_join(scratch->dir, "source.hip");
    int fd = open(scratch->dir, O_WRONLY | O_TMPFILE, 0600), status;
    rp_autofree char *text = NULL;
    pid_t child;

    if (fd < 0)
        skip(); /* a file system without such files */
    close(fd);
    assert_int_equal(rp_write_file(path, "the user's", 10, NULL), 0);
    child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
        signal(SIGXFSZ, SIG_DFL);
        rp_write_file(path, much, sizeof much, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    text = rp_read_text(path, 100);
    assert_string_equal(text, "the user's");
    assert_int_equal(count_files(scratch->dir), 1);
}

static void programs_are_found_or_explained(void **state)
{
    struct scratch *scratch = *state;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *found = NULL;
    rp_autofree char *plain = rp_path_join(scratch->dir, "plain");
    char *none = NULL;

    assert_int_equal(rp_find_program("sh", &found, &err), 0);
    assert_int_equal(found[0], '/');
    assert_int_equal(rp_find_program("no-such-program-here", &none, &err), -RP_USAGE);
    assert_int_equal(rp_find_program("", &none, &err), -RP_USAGE);
    assert_int_equal(rp_find_program(scratch->dir, &none, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_int_equal(rp_write_file(plain, "", 0, &err), 0);
    assert_int_equal(rp_find_program(plain, &none, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "chmod"));
    assert_null(none);
}

static int run(const char *script, const struct rp_env_change *env, struct rp_proc_end *end,
               struct rp_err *err)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    struct rp_proc proc = {
        .path = "/bin/sh", .argv = argv, .env = env, .stdout_fd = -1, .stderr_fd = -1};

    return rp_proc_run(&proc, end, err);
}

static void processes_end_as_they_ended(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    (void)state;
    assert_int_equal(run("exit 7", NULL, &end, &err), 0);
    assert_false(end.signaled);
    assert_int_equal(end.status, 7);
    assert_int_equal(run("kill -SEGV $$", NULL, &end, &err), 0);
    assert_true(end.signaled);
    assert_int_equal(end.status, SIGSEGV);
    assert_int_equal(run("sleep 0.05", NULL, &end, &err), 0);
    assert_true(end.wall_ns >= 50000000);
}

/* Who is started by a program that ignores SIGCHLD would not hear how its children end. */
static void ends_are_heard_of_with_sigchld_ignored(void **state)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, by_default = {.sa_handler = SIG_DFL};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;
    struct sigaction after;
    char *argv[] = {(char *)"grep", (char *)"-q", (char *)"^SigIgn:.*[13579bdf]....$",
                    (char *)"/proc/self/status", NULL};
    struct rp_proc look = {.path = "/bin/grep", .argv = argv, .stdout_fd = -1, .stderr_fd = -1};

    (void)state;
    sigaction(SIGCHLD, &ignore, NULL);
    assert_int_equal(run("exit 7", NULL, &end, &err), 0);
    assert_false(end.signaled);
    assert_int_equal(end.status, 7);
    /* The program has what it would have without us: bit 16 of the ignored ones. */
    assert_int_equal(rp_proc_run(&look, &end, &err), 0);
    assert_int_equal(end.status, 0);
    sigaction(SIGCHLD, &by_default, &after);
    assert_true(after.sa_handler == SIG_IGN);
}

static void environment_is_changed_for_the_child_only(void **state)
{
    const struct rp_env_change change[] = {
        {"RP_TEST_NEW", "new", NULL},
        {"RP_TEST_LIST", "first", ":"},
        {"RP_TEST_GONE", NULL, NULL},
        {0},
    };
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    (void)state;
    setenv("RP_TEST_LIST", "second", 1);
    setenv("RP_TEST_GONE", "still here", 1);
    assert_int_equal(run("[ $RP_TEST_NEW = new ] && [ $RP_TEST_LIST = first:second ] && "
                         "[ -z \"${RP_TEST_GONE+x}\" ]",
                         change, &end, &err),
                     0);
    assert_int_equal(end.status, 0);
    assert_null(getenv("RP_TEST_NEW"));
    assert_string_equal(getenv("RP_TEST_LIST"), "second");
}

static void a_failing_exec_is_reported(void **state)
{
    struct scratch *scratch = *state;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *path = rp_path_join(scratch->dir, "not-a-program");
    char *argv[] = {path, NULL};
    struct rp_proc proc = {.path = path, .argv = argv, .stdout_fd = -1, .stderr_fd = -1};
    struct rp_proc_end end;

    assert_int_equal(rp_write_file(path, "\1\2\3", 3, &err), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(rp_proc_run(&proc, &end, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "neither a program"));
}

static void a_signal_stops_the_run(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    (void)state;
    /* The child signals us: the handler must pass it on, and the run must end as interrupted. */
    assert_int_equal(run("kill -TERM $PPID; exec sleep 30", NULL, &end, &err), -RP_INTERRUPTED);
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* Under each umask: results nobody else writes, captures and sessions nobody else reads, and what
 * is there keeps its mode. */
static void modes_are_the_same_under_each_umask(void **state)
{
    static const mode_t umasks[] = {0, 022, 077};
    const struct scratch *scratch = *state;
    const mode_t before = umask(0);

    for (size_t i = 0; i < sizeof umasks / sizeof *umasks; i++) {
        rp_autofree char *folder = rp_format("%s/m%zu", scratch->dir, i);
        rp_autofree char *own = rp_format("%s/own/deep", folder), *file = rp_path_join(folder, "f");
        rp_autofree char *own_file = rp_path_join(own, "f"), *piece = rp_path_join(own, "piece");
        rp_autofree char *closed = rp_path_join(folder, "closed");
        rp_autofree char *like = rp_path_join(folder, "like"), *place = rp_path_join(own, "for");
        struct rp_err err = RP_ERR_INIT;
        FILE *stream;

        umask(umasks[i]);
        assert_int_equal(rp_mkdirs(folder, &err), 0);
        assert_int_equal(mode_of(folder), 0775 & ~umasks[i]);
        assert_int_equal(rp_mkdirs_private(own, &err), 0);
        assert_int_equal(mode_of(own), 0700);
        assert_int_equal(rp_write_file(file, "x", 1, &err), 0);
        assert_int_equal(mode_of(file), 0664 & ~umasks[i]);
        assert_int_equal(rp_write_private_file(own_file, "x", 1, &err), 0);
        assert_int_equal(mode_of(own_file), 0600);
        stream = rp_create_private_file(piece);
        assert_non_null(stream);
        fclose(stream);
        assert_int_equal(mode_of(piece), 0600);
        assert_int_equal(rp_write_file(closed, "x", 1, &err), 0);
        assert_int_equal(chmod(closed, 0640), 0);
        assert_int_equal(rp_write_file(closed, "y", 1, &err), 0);
        assert_int_equal(rp_write_private_file(closed, "y", 1, &err), 0);
        assert_int_equal(rp_write_output(closed, "y", 1, &err), 0);
        assert_int_equal(rp_write_file_like(closed, file, "y", 1, &err), 0);
        assert_int_equal(rp_write_file_for(closed, file, "y", 1, &err), 0);
        assert_int_equal(mode_of(closed), 0640);
        assert_int_equal(chmod(file, 06777), 0);
        assert_int_equal(rp_write_file_like(own_file, file, "y", 1, &err), 0);
        assert_int_equal(mode_of(own_file), 0600);
        assert_int_equal(rp_write_file_like(like, file, "y", 1, &err), 0);
        assert_int_equal(mode_of(like), 0664);
        assert_int_equal(rp_write_file_for(place, file, "y", 1, &err), 0);
        assert_int_equal(mode_of(place), 06777);
    }
    umask(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_read_outside_in),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(buffers_grow),
        cmocka_unit_test_setup_teardown(folders_are_made_and_removed, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(outputs_go_where_links_lead_and_into_devices, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(removing_does_not_follow_links, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(files_are_replaced_whole, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(modes_are_the_same_under_each_umask, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(a_write_that_is_killed_leaves_nothing, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(programs_are_found_or_explained, make_scratch,
                                        drop_scratch),
        cmocka_unit_test(processes_end_as_they_ended),
        cmocka_unit_test(ends_are_heard_of_with_sigchld_ignored),
        cmocka_unit_test(environment_is_changed_for_the_child_only),
        cmocka_unit_test_setup_teardown(a_failing_exec_is_reported, make_scratch, drop_scratch),
        cmocka_unit_test(a_signal_stops_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
