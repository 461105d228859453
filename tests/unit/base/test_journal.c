/* What is written comes back, whatever is left of the last line; other damage is found. */
#include "base/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include "unit/scratch.h"

#include "base/journal.c"

static char *test_path;

static unsigned folders; /* that were put on the disk */

/* In place of libc's: thousands of files need not be on the disk here. */
int fsync(int fd)
{
    struct stat st;

    folders += fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    return 0;
}

static int set_up(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    test_path = rp_path_join(scratch_dir, "journal.jsonl");
    return 0;
}

static int tear_down(void **state)
{
    free(test_path);
    return scratch_end(state);
}

static void add_three(void)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;

    assert_int_equal(rp_journal_create(test_path, &journal, &err), 0);
    assert_int_equal(rp_journal_add(journal, "session", NULL, json_pack("{s:i}", "a", 1), &err), 0);
    assert_int_equal(
        rp_journal_add(journal, "built", "k1", json_pack("{s:f}", "ratio", 0.1 + 0.2), &err), 0);
    assert_int_equal(rp_journal_add(journal, "built", "k1",
                                    json_pack("{s:s}", "text", "line\nbreak \"\xc3\xa9\""), &err),
                     0);
    rp_journal_close(journal);
}

static struct rp_journal *resumed(uint64_t *ret_cut)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal = NULL;

    assert_int_equal(rp_journal_resume(test_path, &journal, ret_cut, &err), 0);
    return journal;
}

static void names_are_on_the_disk_as_well(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;

    (void)state;
    folders = 0;
    assert_int_equal(rp_journal_create(test_path, &journal, &err), 0);
    assert_int_equal(folders, 1);
    assert_int_equal(rp_journal_write_head(journal, &err), 0);
    assert_int_equal(folders, 2);
    assert_int_equal(rp_write_file(test_path, "", 0, &err), 0);
    assert_int_equal(folders, 3);
    rp_journal_close(journal);
}

static void records_come_back(void **state)
{
    struct rp_journal *journal;
    const char *kind, *key;
    uint64_t cut;

    (void)state;
    add_three();
    journal = resumed(&cut);
    assert_int_equal(cut, 0);
    assert_int_equal(rp_journal_count(journal), 3);
    assert_true(json_real_value(json_object_get(rp_journal_at(journal, 1, &kind, &key), "ratio")) ==
                0.1 + 0.2);
    assert_string_equal(kind, "built");
    assert_string_equal(key, "k1");
    assert_string_equal(
        json_string_value(json_object_get(rp_journal_find(journal, "built", "k1"), "text")),
        "line\nbreak \"\xc3\xa9\"");
    assert_null(rp_journal_find(journal, "built", "k2"));
    assert_non_null(rp_journal_find(journal, "session", NULL));
    rp_journal_close(journal);
}

/** As a kill at any moment leaves it: every length, then a further record, then read again. */
static void any_torn_end_is_cut_off(void **state)
{
    rp_autofree char *whole = NULL;
    size_t bytes, first, second;

    (void)state;
    add_three();
    whole = rp_read_text(test_path, 1 << 20);
    assert_non_null(whole);
    bytes = strlen(whole);
    first = (size_t)(strchr(whole, '\n') + 1 - whole);
    second = (size_t)(strchr(whole + first, '\n') + 1 - whole);
    for (size_t length = 0; length <= bytes; length++) {
        const size_t whole_lines = (length >= first) + (length >= second) + (length == bytes);
        const size_t kept = length == bytes    ? bytes
                            : length >= second ? second
                            : length >= first  ? first
                                               : 0;
        struct rp_err err = RP_ERR_INIT;
        struct rp_journal *journal;
        uint64_t cut;

        assert_int_equal(rp_write_file(test_path, whole, length, &err), 0);
        journal = resumed(&cut);
        assert_int_equal(rp_journal_count(journal), whole_lines);
        assert_int_equal(cut, length - kept);
        assert_int_equal(rp_journal_add(journal, "more", "", json_object(), &err), 0);
        rp_journal_close(journal);
        journal = resumed(&cut);
        assert_int_equal(cut, 0);
        assert_int_equal(rp_journal_count(journal), whole_lines + 1);
        rp_journal_close(journal);
    }
}

static void every_changed_byte_is_found(void **state)
{
    rp_autofree char *whole = NULL;
    size_t bytes, last;

    (void)state;
    add_three();
    whole = rp_read_text(test_path, 1 << 20);
    assert_non_null(whole);
    bytes = strlen(whole);
    for (last = bytes - 1; whole[last - 1] != '\n'; last--)
        ;
    for (size_t i = 0; i < bytes; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_journal *journal = NULL;
        uint64_t cut;
        int rc;

        whole[i] ^= 4;
        assert_int_equal(rp_write_file(test_path, whole, bytes, &err), 0);
        whole[i] ^= 4;
        rc = rp_journal_resume(test_path, &journal, &cut, &err);
        if (i < last - 1) { /* that one is the newline before the last line */
            assert_int_equal(rc, -RP_BAD_INPUT);
            assert_non_null(strstr(err.text, test_path));
        } else { /* the last line cannot be told from a torn one */
            assert_int_equal(rc, 0);
            assert_int_equal(rp_journal_count(journal), i < last ? 1 : 2);
            rp_journal_close(journal);
        }
    }
}

static void lines_cannot_be_left_out_or_swapped(void **state)
{
    rp_autofree char *whole = NULL;
    rp_autobuf other = {0};
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;
    size_t first;
    uint64_t cut;

    (void)state;
    add_three();
    whole = rp_read_text(test_path, 1 << 20);
    assert_non_null(whole);
    first = (size_t)(strchr(whole, '\n') + 1 - whole);
    assert_int_equal(rp_write_file(test_path, whole + first, strlen(whole) - first, &err), 0);
    assert_int_equal(rp_journal_resume(test_path, &journal, &cut, &err), -RP_BAD_INPUT);
    rp_buf_add(&other, whole, first);
    rp_buf_puts(&other, strchr(whole + first, '\n') + 1);
    rp_buf_add(&other, whole + first, 1);
    assert_int_equal(rp_write_file(test_path, other.data, other.len, &err), 0);
    assert_int_equal(rp_journal_resume(test_path, &journal, &cut, &err), -RP_BAD_INPUT);
}

static void is_not_begun_twice_and_is_private(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;
    struct stat st;

    (void)state;
    /* One that was killed before its first record has begun nothing. */
    assert_int_equal(rp_write_file(test_path, "", 0, &err), 0);
    assert_int_equal(rp_journal_create(test_path, &journal, &err), 0);
    assert_int_equal(rp_journal_count(journal), 0);
    rp_journal_close(journal);
    unlink(test_path);
    assert_false(rp_journal_is_begun(test_path));
    add_three();
    assert_true(rp_journal_is_begun(test_path));
    assert_int_equal(rp_journal_create(test_path, &journal, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "--resume"));
    assert_non_null(strstr(err.text, "another -o"));
    assert_int_equal(stat(test_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/** Nothing is lost when a file begins anew that has no more than a first record, or a part. */
static void begins_anew_where_nothing_was_done(void **state)
{
    static const char foreign[] = "not ours";
    rp_autofree char *whole = NULL, *head = rp_format("%s" RP_JOURNAL_HEAD, test_path);
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;
    size_t first, second;

    (void)state;
    add_three();
    whole = rp_read_text(test_path, 1 << 20);
    first = strcspn(whole, "\n") + 1;
    second = first + strcspn(whole + first, "\n") + 1;
    for (unsigned i = 0; i < 8; i++) {
        const size_t bytes =
            (const size_t[]){0, 1, 50, first - 1, first, first + 1, second - 1, second}[i];
        const bool begun = bytes == second;

        assert_int_equal(rp_write_file(test_path, whole, bytes, &err), 0);
        assert_int_equal(rp_journal_is_begun(test_path), begun);
        if (begun) {
            assert_int_equal(rp_journal_create(test_path, &journal, &err), -RP_USAGE);
            continue;
        }
        assert_int_equal(rp_journal_create(test_path, &journal, &err), 0);
        assert_int_equal(rp_journal_add(journal, "other", NULL, json_object(), &err), 0);
        assert_int_equal(rp_journal_count(journal), 1);
        rp_journal_close(journal);
    }
    /* a session that has ended, and something else, are left alone */
    assert_int_equal(rp_write_file(test_path, whole, first, &err), 0);
    assert_int_equal(rp_write_file(head, "{}", 2, &err), 0);
    assert_int_equal(rp_journal_create(test_path, &journal, &err), -RP_USAGE);
    unlink(head);
    assert_int_equal(rp_write_file(test_path, foreign, strlen(foreign), &err), 0);
    assert_int_equal(rp_journal_create(test_path, &journal, &err), -RP_USAGE);
}

static void text_is(const char *bytes, size_t count, const char *expected)
{
    json_t *text = rp_journal_string(bytes, count);

    assert_non_null(text);
    assert_string_equal(json_string_value(text), expected);
    json_decref(text);
}

/** An end that is missing looks like a session that was killed, but for the head. */
static void a_missing_end_is_found_by_the_head(void **state)
{
    rp_autofree char *head = rp_format("%s" RP_JOURNAL_HEAD, test_path);
    rp_autofree char *whole = NULL, *of_whole = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;
    uint64_t cut;

    (void)state;
    add_three();
    journal = resumed(&cut);
    assert_int_equal(rp_journal_write_head(journal, &err), 0);
    of_whole = rp_read_text(head, 1 << 10);
    rp_journal_close(journal);
    journal = resumed(&cut); /* one more than the head knows */
    assert_int_equal(rp_journal_add(journal, "more", "", json_object(), &err), 0);
    rp_journal_close(journal);
    journal = resumed(&cut);
    assert_int_equal(rp_journal_count(journal), 4);
    rp_journal_close(journal);

    whole = rp_read_text(test_path, 1 << 20);
    for (unsigned lines = 0; lines < 3; lines++) {
        const char *end = whole;

        for (unsigned i = 0; i < lines; i++)
            end = strchr(end, '\n') + 1;
        assert_int_equal(rp_write_file(test_path, whole, (size_t)(end - whole), &err), 0);
        assert_int_equal(rp_journal_resume(test_path, &journal, &cut, &err), -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, "its end is missing: restore it from a copy"));
    }
    /* A head is not of a journal that is begun without the old one. */
    assert_int_equal(unlink(test_path), 0);
    assert_int_equal(rp_journal_create(test_path, &journal, &err), 0);
    assert_false(rp_path_exists(head));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rp_journal_add(journal, "other", NULL, json_object(), &err), 0);
    rp_journal_close(journal);
    rp_journal_close(resumed(&cut));
    /* Another journal, whole in itself. */
    assert_int_equal(rp_write_file(head, of_whole, strlen(of_whole), &err), 0);
    assert_int_equal(rp_journal_resume(test_path, &journal, &cut, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "record 3 is not the one"));
    assert_non_null(strstr(err.text, "or begin anew with another -o"));
    assert_int_equal(rp_write_file(head, "{}", 2, &err), 0);
    assert_int_equal(rp_journal_resume(test_path, &journal, &cut, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "is damaged: restore both from a copy, or, if"));
}

/** What may not be read is no damage. Root may read everything, so this is somebody else then. */
static void who_may_read_it(void **state)
{
    const bool root = geteuid() == 0;
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;
    uint64_t cut;

    (void)state;
    add_three();
    assert_int_equal(chmod(test_path, 0), 0);
    assert_int_equal(chmod(scratch_dir, 0755), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(rp_journal_resume(test_path, &journal, &cut, &err), -RP_ENVIRONMENT);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_non_null(strstr(err.text, "Permission denied: --resume reads and writes it"));
    unlink(test_path);
    assert_int_equal(mkdir(test_path, 0700), 0);
    assert_int_equal(rp_journal_resume(test_path, &journal, &cut, &err), -RP_BAD_INPUT);
}

static void what_cannot_be_written(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "missing/journal.jsonl");
    rp_autofree char *head = rp_format("%s" RP_JOURNAL_HEAD, test_path);
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(rp_journal_create(path, &journal, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "No such file or directory: fix that, or choose another -o"));
    assert_int_equal(rp_journal_create(test_path, &journal, &err), 0);
    assert_int_equal(dup2(full, journal->fd), journal->fd);
    close(full);
    assert_int_equal(rp_journal_add(journal, "k", NULL, json_object(), &err), -RP_ENVIRONMENT);
    assert_non_null(
        strstr(err.text, "No space left on device: make space, and go on with --resume"));
    assert_true(err.has_remedy);
    rp_journal_close(journal);
    /* A head that cannot be removed. */
    assert_int_equal(unlink(test_path), 0);
    assert_int_equal(mkdir(head, 0700), 0);
    assert_int_equal(rp_journal_create(test_path, &journal, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "journal.jsonl.head: Is a directory: fix that, or choose"));
}

/* json_pack has made nothing of it: that is no end of memory. */
static void what_json_cannot_hold(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_journal *journal;

    (void)state;
    assert_int_equal(rp_journal_create(test_path, &journal, &err), 0);
    assert_int_equal(rp_journal_add(journal, "k", NULL, json_pack("{s:s}", "a", "\xff"), &err),
                     -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "that JSON cannot hold"));
    assert_int_equal(rp_journal_add(journal, "k", NULL, json_pack("{s:i}", "a", 1), &err), 0);
    assert_int_equal(rp_journal_count(journal), 1);
    rp_journal_close(journal);
}

static void text_that_is_no_utf8_is_kept_readable(void **state)
{
    (void)state;
    text_is("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 17,
            "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    text_is("a\xff"
            "b",
            3,
            "a\xef\xbf\xbd"
            "b");
    text_is("\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
    text_is("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
    text_is("x\0y", 3, "x\xef\xbf\xbdy");
    text_is("\xe2\x82", 2, "\xef\xbf\xbd\xef\xbf\xbd");
    text_is("", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_on_the_disk_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_torn_end_is_cut_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_changed_byte_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_cannot_be_left_out_or_swapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_not_begun_twice_and_is_private, set_up, tear_down),
        cmocka_unit_test_setup_teardown(begins_anew_where_nothing_was_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_end_is_found_by_the_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_may_read_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_json_cannot_hold, set_up, tear_down),
        cmocka_unit_test(text_that_is_no_utf8_is_kept_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
