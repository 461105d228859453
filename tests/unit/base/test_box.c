#include "base/box.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sandbox.h"
#include "unit/scratch.h"

static char *box, *kept;
static const char *writable[2];
static struct rp_sandbox sandbox = {.writable = writable};

static int begin(void **state)
{
    if (scratch_begin(state) != 0)
        return -1;
    box = rp_path_join(scratch_dir, "box");
    kept = scratch_put("kept/file", "mine");
    writable[0] = box;
    return rp_box_renew(&sandbox, NULL);
}

static int end(void **state)
{
    free(box);
    free(kept);
    return scratch_end(state);
}

static char *inside(const char *name)
{
    return rp_path_join(box, name);
}

static void assert_kept(void)
{
    rp_autofree char *text = rp_read_text(kept, 100);
    struct stat st;

    assert_non_null(text);
    assert_string_equal(text, "mine");
    assert_int_equal(stat(kept, &st), 0);
    assert_int_equal(st.st_nlink, 1);
}

static int take(const char *name, struct rp_err *err)
{
    rp_autofree char *place = rp_path_join(scratch_dir, name);

    return rp_box_take(&sandbox, place, err);
}

static void refused(const char *name, const char *why)
{
    rp_autofree char *place = rp_path_join(scratch_dir, name);
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(take(name, &err), -RP_BAD_INPUT);
    if (!strstr(err.text, why))
        fail_msg("%s: %s", name, err.text);
    assert_false(rp_path_is_dir(place) && strcmp(name, "folder") != 0);
    assert_kept();
}

static void it_is_new_each_time(void **state)
{
    rp_autofree char *shut = inside("shut"), *pipe = inside("shut/pipe"), *link = inside("link"),
                     *folder = inside("kept");
    rp_autofree char *target = rp_path_join(scratch_dir, "kept");
    struct stat before, after;

    (void)state;
    assert_int_equal(stat(target, &before), 0);
    assert_int_equal(mkdir(shut, 0700), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(symlink(target, folder), 0);
    assert_int_equal(chmod(shut, 0), 0);
    assert_int_equal(chmod(box, 0500), 0);
    assert_int_equal(rp_box_renew(&sandbox, NULL), 0);
    assert_int_equal(rmdir(box), 0); /* It is empty. */
    assert_kept();
    assert_int_equal(stat(target, &after), 0);
    assert_int_equal(before.st_mode, after.st_mode);
    assert_int_equal(rp_box_renew(&sandbox, NULL), 0);
}

static void what_cannot_be_removed_is_named(void **state)
{
    rp_autofree char *deep = rp_strdup(box);
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (int i = 0; i < 70; i++) {
        rp_autofree char *above = deep;

        deep = rp_path_join(above, "d");
        assert_int_equal(mkdir(deep, 0700), 0);
    }
    assert_int_equal(rp_box_renew(&sandbox, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, box));
    assert_non_null(strstr(err.text, "remove it"));
    rp_remove_tree(box);
    assert_int_equal(rp_box_renew(&sandbox, NULL), 0);
}

static void results_are_copied(void **state)
{
    rp_autofree char *program = scratch_script("box/program", "#!/bin/sh\n");
    rp_autofree char *in_folder = scratch_put("box/folder/in/a", "result");
    rp_autofree char *place = rp_path_join(scratch_dir, "program");
    rp_autofree char *got = rp_path_join(scratch_dir, "folder/in/a");
    rp_autofree char *made = rp_box_place(&sandbox, place), *none = rp_box_place(NULL, place);
    rp_autofree char *text = NULL;
    struct stat st;

    (void)state;
    assert_string_equal(made, program);
    assert_string_equal(none, place);
    /* A link that is in the place is not followed, either. */
    assert_int_equal(symlink(kept, place), 0);
    assert_int_equal(take("program", NULL), 0);
    assert_kept();
    assert_int_equal(lstat(place, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(take("folder", NULL), 0);
    assert_int_equal(take("folder", NULL), 0); /* in the place of the one before */
    text = rp_read_text(got, 100);
    assert_non_null(text);
    assert_string_equal(text, "result");
    assert_int_equal(stat(got, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* What is written in the box later is not in the copy. */
    assert_int_equal(rp_write_file(in_folder, "other", 5, NULL), 0);
    free(rp_steal(text));
    text = rp_read_text(got, 100);
    assert_string_equal(text, "result");
}

static void what_is_not_a_file_is_refused(void **state)
{
    rp_autofree char *link_ = inside("link"), *second = inside("second"), *pipe = inside("pipe"),
                     *in_folder = inside("folder/link"), *other = NULL, *whole = inside("linked");
    rp_autofree char *target = rp_path_join(scratch_dir, "kept");

    (void)state;
    assert_int_equal(rp_box_renew(&sandbox, NULL), 0);
    other = scratch_put("box/folder/file", "a");
    assert_int_equal(symlink(kept, link_), 0);
    assert_int_equal(symlink(target, whole), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink(kept, in_folder), 0);
    refused("link", "is a link");
    refused("linked", "is a link");
    refused("pipe", "something other than files");
    refused("folder", "is a link");
    refused("missing", "was not made");
    assert_int_equal(link(other, second), 0);
    refused("second", "something other than files with one name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_new_each_time),
        cmocka_unit_test(what_cannot_be_removed_is_named),
        cmocka_unit_test(results_are_copied),
        cmocka_unit_test(what_is_not_a_file_is_refused),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
