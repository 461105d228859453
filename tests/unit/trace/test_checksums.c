/**
 * @file test_checksums.c
 * @brief The list of checksums of a capture folder when a file is added to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "trace/capture.h"
#include "unit/cmocka_all.h"

static char work[64], folder[80];

/* A capture, to be changed. */
static int set_up(void **state)
{
    const char *data = getenv("RP_TEST_DATA");
    char shell[512];

    (void)state;
    assert_non_null(data);
    strcpy(work, "/tmp/rp-checksums-XXXXXX");
    assert_non_null(mkdtemp(work));
    snprintf(folder, sizeof folder, "%s/chase", work);
    snprintf(shell, sizeof shell, "cp -r '%s/capture/chase' %s", data, folder);
    assert_int_equal(system(shell), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rp_remove_tree(work);
    return 0;
}

static void put_file(const char *name, const char *text)
{
    char path[128];
    struct rp_err err = RP_ERR_INIT;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(rp_write_file(path, text, strlen(text), &err), 0);
}

static void add(const char *name)
{
    struct rp_err err = RP_ERR_INIT;

    if (rp_capture_add_checksum(folder, name, &err) < 0)
        fail_msg("%s", err.text);
}

/* "": nothing */
static const char *what_is_wrong(uint64_t *ret_files)
{
    static struct rp_err err;
    uint64_t bytes;

    err = (struct rp_err)RP_ERR_INIT;
    rp_capture_check_checksums(folder, ret_files, &bytes, &err);
    return err.text;
}

static uint64_t must_be_sound(void)
{
    uint64_t files = 0;
    const char *wrong = what_is_wrong(&files);

    if (wrong[0])
        fail_msg("%s", wrong);
    return files;
}

static size_t read_list(char *ret, size_t most)
{
    char path[128];
    FILE *in;
    size_t got;

    snprintf(path, sizeof path, "%s/checksums.json", folder);
    in = fopen(path, "rb");
    assert_non_null(in);
    got = fread(ret, 1, most, in);
    fclose(in);
    assert_true(got > 0 && got < most);
    return got;
}

static void a_run_that_is_killed_leaves_a_whole_capture(void **state)
{
    const uint64_t files = must_be_sound();

    (void)state;
    put_file("self_check.json.partial.77", "{");
    assert_int_equal(must_be_sound(), files);
    put_file("self_check.json", "{}\n");
    assert_int_equal(must_be_sound(), files);
    put_file("checksums.json.partial.78", "");
    assert_int_equal(must_be_sound(), files);
    add("self_check.json");
    assert_int_equal(must_be_sound(), files + 1);
}

static void other_files_are_no_part_of_it(void **state)
{
    static const char *const names[] = {"self_check.json.bak", "self_check.jso", "more.json",
                                        "memory/self_check.json"};
    uint64_t files;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];

        put_file(names[i], "{}\n");
        if (!strstr(what_is_wrong(&files), names[i]))
            fail_msg("%s is no part of it: %s", names[i], what_is_wrong(&files));
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
}

static void the_list_is_that_of_all_files(void **state)
{
    static char added[16384], whole[16384];
    struct rp_err err = RP_ERR_INIT;
    size_t bytes;

    (void)state;
    for (unsigned i = 0; i < 2; i++) { /* also where it is in the list already */
        put_file("self_check.json", i ? "{}\n" : "{\n}\n");
        add("self_check.json");
        must_be_sound();
    }
    bytes = read_list(added, sizeof added);
    assert_int_equal(rp_capture_write_checksums(folder, &err), 0);
    assert_int_equal(read_list(whole, sizeof whole), bytes);
    assert_memory_equal(added, whole, bytes);
}

static void what_is_damaged_stays_so(void **state)
{
    uint64_t files;

    (void)state;
    put_file("kernarg.bin", "other");
    put_file("self_check.json", "{}\n");
    add("self_check.json");
    assert_non_null(strstr(what_is_wrong(&files), "kernarg.bin is damaged"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_is_killed_leaves_a_whole_capture),
        TEST(other_files_are_no_part_of_it),
        TEST(the_list_is_that_of_all_files),
        TEST(what_is_damaged_stays_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
