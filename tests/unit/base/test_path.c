/* Files and folders: what is written whole, removed, found, and for whom. */
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#include "unit/scratch.h"

static int tear_down(void **state)
{
    scratch_end(state);
    assert_false(rp_path_exists(scratch_dir));
    return 0;
}

static void outputs_go_where_links_lead_and_into_devices(void **state)
{
    rp_autofree char *file = rp_path_join(scratch_dir, "file");
    rp_autofree char *link = rp_path_join(scratch_dir, "link");
    rp_autofree char *text = NULL;
    struct stat st;

    (void)state;
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
    assert_int_equal(rp_write_output(scratch_dir, "text", 4, NULL), -RP_ENVIRONMENT);
}

static void folders_are_made_and_removed(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *deep = rp_path_join(scratch_dir, "a/b//c");
    rp_autofree char *file = rp_path_join(scratch_dir, "a/file");
    rp_autofree char *below_file = rp_path_join(file, "x");

    (void)state;
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
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *outside = rp_path_join(scratch_dir, "outside");
    rp_autofree char *tree = rp_path_join(scratch_dir, "tree");
    rp_autofree char *link = rp_path_join(tree, "link");
    rp_autofree char *kept = rp_path_join(outside, "kept");

    (void)state;
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
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *path = rp_path_join(scratch_dir, "f");
    rp_autofree char *text = NULL, *line = NULL, *none = NULL;

    (void)state;
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
    rp_autofree char *path = rp_path_join(scratch_dir, "source.hip");
    int fd = open(scratch_dir, O_WRONLY | O_TMPFILE, 0600), status;
    rp_autofree char *text = NULL;
    pid_t child;

    (void)state;
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
    assert_int_equal(count_files(scratch_dir), 1);
}

static void programs_are_found_or_explained(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *found = NULL;
    rp_autofree char *plain = rp_path_join(scratch_dir, "plain");
    char *none = NULL;

    (void)state;
    assert_int_equal(rp_find_program("sh", &found, &err), 0);
    assert_int_equal(found[0], '/');
    assert_int_equal(rp_find_program("no-such-program-here", &none, &err), -RP_USAGE);
    assert_int_equal(rp_find_program("", &none, &err), -RP_USAGE);
    assert_int_equal(rp_find_program(scratch_dir, &none, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_int_equal(rp_write_file(plain, "", 0, &err), 0);
    assert_int_equal(rp_find_program(plain, &none, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "chmod"));
    assert_null(none);
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
    const mode_t before = umask(0);

    (void)state;
    for (size_t i = 0; i < sizeof umasks / sizeof *umasks; i++) {
        rp_autofree char *folder = rp_format("%s/m%zu", scratch_dir, i);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(outputs_go_where_links_lead_and_into_devices),
        TEST(folders_are_made_and_removed),
        TEST(removing_does_not_follow_links),
        TEST(files_are_replaced_whole),
        TEST(a_write_that_is_killed_leaves_nothing),
        TEST(programs_are_found_or_explained),
        TEST(modes_are_the_same_under_each_umask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
