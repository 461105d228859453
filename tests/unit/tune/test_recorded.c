/* Recorded spaces: what is in a file, plain and compressed, and what is wrong with others. */
#include "tune/recorded_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "base/path.h"
#include "tune/space.h"
#include "unit/cmocka_all.h"

static const char whole[] =
    "{\"name\":\"three\",\"device\":\"none\",\"parameters\":[\"size\",\"kind\"],\"configs\":[\n"
    "{\"size\":32,\"kind\":\"a\",\"runtime_ms\":2.5,\"runtime_median_ms\":2.25,\"repeats\":7},\n"
    "{\"size\":16,\"kind\":\"b\",\"runtime_ms\":null,\"compile_ms\":9},\n"
    "{\"size\":16,\"kind\":null,\"runtime_ms\":1}]}";

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rp-recorded-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    rp_remove_tree(folder);
    return 0;
}

static void check_whole(const struct rp_recorded *recorded)
{
    const struct rp_recorded_run *runs = recorded->runs;

    assert_string_equal(recorded->name, "three");
    assert_string_equal(recorded->device, "none");
    assert_int_equal(recorded->space->count, 3);
    assert_int_equal(recorded->space->parameter_count, 2);
    assert_int_equal(rp_space_value(recorded->space, 0, 0)->integer, 32);
    assert_string_equal(rp_space_value(recorded->space, 1, 1)->text, "b");
    assert_null(rp_space_value(recorded->space, 2, 1));
    assert_true(runs[0].ok && !runs[1].ok && runs[2].ok);
    assert_true(runs[0].runtime_ms == 2.5 && runs[0].median_ms == 2.25 && runs[0].repeats == 7);
    assert_true(runs[0].compile_ms < 0 && runs[1].compile_ms == 9 && runs[2].repeats == 0);
}

static void plain_and_compressed_files_are_the_same(void **state)
{
    char plain[128], packed[128];
    struct rp_err err = RP_ERR_INIT;
    struct rp_recorded recorded;
    gzFile gz;

    (void)state;
    snprintf(plain, sizeof plain, "%s/plain.json", folder);
    snprintf(packed, sizeof packed, "%s/packed.json.gz", folder);
    assert_int_equal(rp_write_file(plain, whole, sizeof whole - 1, &err), 0);
    gz = gzopen(packed, "wb");
    assert_int_equal(gzwrite(gz, whole, sizeof whole - 1), sizeof whole - 1);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_int_equal(rp_recorded_read(plain, &recorded, &err), 0);
    check_whole(&recorded);
    rp_recorded_free(&recorded);
    assert_int_equal(rp_recorded_read(packed, &recorded, &err), 0);
    check_whole(&recorded);
    rp_recorded_free(&recorded);
}

static void a_compressed_file_that_is_cut_off_is_named(void **state)
{
    char packed[128];
    struct rp_err err = RP_ERR_INIT;
    struct rp_recorded recorded;
    gzFile gz;

    (void)state;
    snprintf(packed, sizeof packed, "%s/cut.json.gz", folder);
    gz = gzopen(packed, "wb");
    assert_int_equal(gzwrite(gz, whole, sizeof whole - 1), sizeof whole - 1);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_int_equal(truncate(packed, 60), 0);
    assert_int_equal(rp_recorded_read(packed, &recorded, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, packed));
    assert_non_null(strstr(err.text, "cut off"));
    assert_int_equal(rp_recorded_read("/nowhere/x.json", &recorded, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "/nowhere/x.json"));
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"{", "line 1"},
        {"[]", "neither \"configs\""},
        {"{\"configs\":[]}", "no list \"parameters\""},
        {"{\"parameters\":[],\"configs\":[]}", "no list \"parameters\""},
        {"{\"parameters\":[1],\"configs\":[]}", "name 1 is not a text"},
        {"{\"parameters\":[\"a\"],\"configs\":[]}", "no list \"configs\""},
        {"{\"parameters\":[\"a\"],\"configs\":[1]}", "configuration 1 is not an object"},
        {"{\"parameters\":[\"a\"],\"configs\":[{\"a\":[]}]}", "configuration 1, parameter a"},
        {"{\"parameters\":[\"a\"],\"configs\":[{\"b\":1}]}", "parameter a: no configuration"},
        {"{\"parameters\":[\"a\",\"a\"],\"configs\":[{\"a\":1}]}", "a is there twice"},
        {"{\"parameters\":[\"a\"],\"configs\":[{\"a\":1},{\"a\":1}]}",
         "configuration 2: the same configuration"},
        {"{\"parameters\":[\"a\"],\"configs\":[{\"a\":1,\"runtime_ms\":-1}]}",
         "configuration 1: runtime_ms is not"},
        {"{\"parameters\":[\"a\"],\"configs\":[{\"a\":1,\"runtime_ms\":\"1\"}]}",
         "configuration 1: runtime_ms is not"},
        {"{\"parameters\":[\"a\"],\"configs\":[{\"a\":1,\"runtime_ms\":0}]}", "runtime_ms is 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_recorded recorded;

        assert_int_equal(rp_recorded_parse(wrong[i].text, strlen(wrong[i].text), &recorded, &err),
                         -RP_BAD_INPUT);
        if (!strstr(err.text, wrong[i].said))
            fail_msg("%s: \"%s\" lacks \"%s\"", wrong[i].text, err.text, wrong[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_compressed_files_are_the_same),
        cmocka_unit_test(a_compressed_file_that_is_cut_off_is_named),
        cmocka_unit_test(what_is_wrong_is_said),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
