/* Recorded spaces: what is read, the formats of other tuners, and what a search imports. */
#include "tune/recorded_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "tune/space.h"
#include "unit/scratch.h"
#include "unit/tune/made_space.h"

#include "tune/recorded_space.c"

/* Recorded spaces: what is in a file, plain and compressed, and what is wrong with others. */

static const char whole_file[] =
    "{\"name\":\"three\",\"device\":\"none\",\"parameters\":[\"size\",\"kind\"],\"configs\":[\n"
    "{\"size\":32,\"kind\":\"a\",\"runtime_ms\":2.5,\"runtime_median_ms\":2.25,\"repeats\":7},\n"
    "{\"size\":16,\"kind\":\"b\",\"runtime_ms\":null,\"compile_ms\":9},\n"
    "{\"size\":16,\"kind\":null,\"runtime_ms\":1}]}";

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
    snprintf(plain, sizeof plain, "%s/plain.json", scratch_dir);
    snprintf(packed, sizeof packed, "%s/packed.json.gz", scratch_dir);
    assert_int_equal(rp_write_file(plain, whole_file, sizeof whole_file - 1, &err), 0);
    gz = gzopen(packed, "wb");
    assert_int_equal(gzwrite(gz, whole_file, sizeof whole_file - 1), sizeof whole_file - 1);
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
    snprintf(packed, sizeof packed, "%s/cut.json.gz", scratch_dir);
    gz = gzopen(packed, "wb");
    assert_int_equal(gzwrite(gz, whole_file, sizeof whole_file - 1), sizeof whole_file - 1);
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

        assert_int_equal(recorded_parse(wrong[i].text, strlen(wrong[i].text), &recorded, &err),
                         -RP_BAD_INPUT);
        if (!strstr(err.text, wrong[i].said))
            fail_msg("%s: \"%s\" lacks \"%s\"", wrong[i].text, err.text, wrong[i].said);
    }
}

/* Recorded spaces of other tuners. */

static struct rp_recorded parse(const char *text)
{
    struct rp_recorded recorded;
    struct rp_err err = RP_ERR_INIT;

    if (recorded_parse(text, strlen(text), &recorded, &err) < 0)
        fail_msg("%.200s: %s", text, err.text);
    return recorded;
}

#define CACHE_HEAD                                                                                 \
    "{\n\"device_name\": \"some GPU\",\n\"kernel_name\": \"gemm\",\n\"problem_size\": "            \
    "[\n48,\n64\n],\n"                                                                             \
    "\"tune_params_keys\": [\n\"x\",\n\"how\"\n],\n\"tune_params\": {\n\"x\": "                    \
    "[\n1,\n2\n],\n\"how\": "                                                                      \
    "[\n\"a,}\"\n]\n},\n\"objective\": \"time\",\n\"cache\": {"
#define CACHE_ENTRIES                                                                              \
    "\n\"1,a,}\": {\"x\": 1, \"how\": \"a,}\", \"time\": 2.5, \"times\": [4.0, 1.5, 2.0], "        \
    "\"compile_time\": 300.5, \"benchmark_time\": 9.0, \"verification_time\": 0, \"timestamp\": "  \
    "\"2022-12-23 12:11:26+00:00\"},"                                                              \
    "\n\"2,a,}\": {\"x\": 2, \"how\": \"a,}\", \"time\": \"CompilationFailedConfig\", "            \
    "\"compile_time\": 100},"                                                                      \
    "\n\"3,a,}\": {\"x\": 3, \"how\": \"a,}\", \"__error__\": \"RuntimeFailedConfig\"},"           \
    "\n\"4,a,}\": {\"x\": 4, \"how\": \"a,}\", \"time\": 1e+20},"                                  \
    "\n\"5,a,}\": {\"x\": 5, \"how\": \"a,}\", \"time\": NaN},"                                    \
    "\n\"6,a,}\": {\"x\": 6, \"how\": \"a,}\", \"time\": 7, \"f\": Infinity}"

static void check_cache(const char *text)
{
    struct rp_recorded recorded = parse(text);
    const struct rp_recorded_run *runs = recorded.runs;

    assert_string_equal(recorded.name, "gemm");
    assert_string_equal(recorded.device, "some GPU");
    assert_int_equal(recorded.space->parameter_count, 2);
    assert_int_equal(recorded.space->count, 6);
    assert_int_equal(rp_space_value(recorded.space, 5, 0)->integer, 6);
    assert_string_equal(rp_space_value(recorded.space, 5, 1)->text, "a,}");
    assert_true(runs[0].ok && runs[0].runtime_ms == 2.5 && runs[0].median_ms == 2.0);
    assert_true(runs[0].min_ms == 1.5 && runs[0].first_ms == 4.0 && runs[0].repeats == 3);
    assert_true(runs[0].compile_ms == 300.5 && runs[0].bench_ms == 9);
    assert_true(runs[0].std_ms > 1.3228 && runs[0].std_ms < 1.3229);
    for (size_t i = 1; i < 5; i++)
        assert_false(runs[i].ok);
    assert_true(runs[1].compile_ms == 100 && runs[2].compile_ms < 0);
    assert_true(runs[5].ok && runs[5].runtime_ms == 7 && runs[5].repeats == 0);
    rp_recorded_free(&recorded);
}

static void kernel_tuner_closed_and_open(void **state)
{
    (void)state;
    check_cache(CACHE_HEAD CACHE_ENTRIES "}\n}");
    check_cache(CACHE_HEAD CACHE_ENTRIES ",");
    check_cache(CACHE_HEAD CACHE_ENTRIES);
    check_cache(CACHE_HEAD CACHE_ENTRIES
                ",\n\"7,a,}\": {\"x\": 7, \"how\": \"a,}\", \"times\": [1, 2");
}

/* Wherever a kill cuts the file, all entries that are whole are there. */
static void kernel_tuner_cut_anywhere(void **state)
{
    static const char text[] = CACHE_HEAD CACHE_ENTRIES;
    size_t entries = 0;

    (void)state;
    for (size_t bytes = sizeof CACHE_HEAD; bytes < sizeof text; bytes++) {
        struct rp_recorded recorded;
        struct rp_err err = RP_ERR_INIT;
        const int rc = recorded_parse(text, bytes, &recorded, &err);

        /* entries, and nothing else, end with a brace outside of texts */
        entries += text[bytes - 1] == '}' && text[bytes - 2] != ',';
        assert_int_equal(rc, entries ? 0 : -RP_BAD_INPUT);
        if (entries) {
            assert_int_equal(recorded.space->count, entries);
            rp_recorded_free(&recorded);
        }
    }
    assert_int_equal(entries, 6);
}

static void t4(void **state)
{
    struct rp_recorded recorded = parse(
        "{\"schema_version\":\"1.0.0\",\"metadata\":{\"timeunit\":\"seconds\",\"device\":\"gpu\"},"
        "\"results\":["
        "{\"configuration\":{\"x\":1,\"p\":true},\"times\":{\"compilation_time\":0.25,\"runtimes\":"
        "[0.002,0.004],\"framework\":1},\"invalidity\":\"correct\",\"correctness\":1,"
        "\"measurements\":[{\"name\":\"power\",\"value\":3,\"unit\":\"W\"},"
        "{\"name\":\"time\",\"value\":3000,\"unit\":\"us\"}],\"objectives\":[\"time\"]},"
        "{\"configuration\":{\"x\":2},\"times\":{\"compilation\":0.5,\"runtimes\":[]},"
        "\"invalidity\":\"timeout\",\"correctness\":0},"
        "{\"configuration\":{\"x\":3},\"times\":{\"runtimes\":[0.5,1.5]},\"invalidity\":"
        "\"correct\","
        "\"correctness\":1}]}");
    const struct rp_recorded_run *runs = recorded.runs;

    (void)state;
    assert_string_equal(recorded.device, "gpu");
    assert_int_equal(recorded.space->count, 3);
    assert_true(runs[0].ok && runs[0].runtime_ms == 3 && runs[0].median_ms == 3);
    assert_true(runs[0].compile_ms == 250 && runs[0].repeats == 2 && runs[0].min_ms == 2);
    assert_true(!runs[1].ok && runs[1].compile_ms == 500);
    assert_true(runs[2].ok && runs[2].runtime_ms == 1000);
    assert_null(rp_space_value(recorded.space, 1, 1));
    rp_recorded_free(&recorded);
}

static void what_is_wrong_in_a_format_is_said(void **state)
{
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"{\"cache\":[]}", "no list \"tune_params_keys\""},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{}}", "no list \"configs\""},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":", "line 1"},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{\"1\":{\"x\":1}}}",
         "configuration \"1\": it has no \"time\""},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{\"1\":{\"x\":1,\"time\":1},"
         "\"1 \":{\"x\":1,\"time\":1}}}",
         "configuration 2: the same configuration"},
        {"{\"tune_params_keys\":[1],\"cache\":{\"1\":{\"x\":1,\"time\":1}}}",
         "name 1 is not a text"},
        {"{\"tune_params_keys\":[\"repeats\"],\"cache\":{\"1\":{\"time\":1}}}",
         "a parameter must not be named repeats"},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{\"1\":{\"x\":1,\"time\":-1}}}",
         "configuration 1: runtime_ms is not"},
        {"{\"results\":{}}", "T4: \"results\" is not a list"},
        {"{\"results\":[]}", "T4: \"results\" is empty"},
        {"{\"results\":[{\"configuration\":{}}]}", "T4: no \"configuration\" has a parameter"},
        {"", "it is empty"},
        {"{\"results\":[1]}", "T4: result 1 has no \"configuration\""},
        {"{\"results\":[{\"configuration\":{\"x\":1}}]}", "T4: result 1: it has no \"invalidity\""},
        {"{\"results\":[{\"configuration\":{\"x\":1},\"invalidity\":\"correct\"}]}",
         "result 1: it is correct, but has neither"},
        {"{\"results\":[{\"configuration\":{\"x\":1},\"invalidity\":\"correct\",\"objectives\":"
         "[\"score\"],\"measurements\":[{\"name\":\"score\",\"value\":1,\"unit\":\"\"}]}]}",
         "result 1: its objective score is no time"},
        {"{\"results\":[],\"metadata\":{\"timeunit\":\"parsecs\"}}",
         "timeunit parsecs is not known"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_recorded recorded;

        assert_int_equal(recorded_parse(wrong[i].text, strlen(wrong[i].text), &recorded, &err),
                         -RP_BAD_INPUT);
        if (!strstr(err.text, wrong[i].said))
            fail_msg("%s: \"%s\" lacks \"%s\"", wrong[i].text, err.text, wrong[i].said);
    }
}

/* Earlier results as a start: which configurations of a space they are, and in which order. */

static char *path;
static struct rp_space *space; /* A = 1 to 12 */

static int make_space(void **state)
{
    static const int numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

    if (scratch_begin(state) < 0)
        return -1;
    path = rp_path_join(scratch_dir, "recorded.json");
    space = rp_space_new();
    made_parameter(space, "A", numbers, 12);
    made_product(space);
    return 0;
}

static int tear_down(void **state)
{
    rp_space_free(space);
    free(path);
    return scratch_end(state);
}

struct row {
    int a, b;
    double ms;
};

static void record(const struct row *rows, size_t count)
{
    struct rp_buf text = {0};
    struct rp_err err = RP_ERR_INIT;

    rp_buf_puts(&text,
                "{\"name\":\"x\",\"device\":\"d\",\"parameters\":[\"A\",\"B\"],\"configs\":[");
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&text, "%s{\"A\":%d,\"B\":%d,\"runtime_ms\":%g}", i ? "," : "", rows[i].a,
                      rows[i].b, rows[i].ms);
    rp_buf_puts(&text, "]}");
    assert_int_equal(rp_write_file(path, text.data, text.len, &err), 0);
    rp_buf_free(&text);
}

static void check(size_t known, const int *wanted, size_t count)
{
    struct rp_imported imported;
    struct rp_err err = RP_ERR_INIT;

    if (rp_import(path, space, &imported, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(imported.known, known);
    assert_int_equal(imported.fastest_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rp_space_value(space, imported.fastest[i], 0)->integer, wanted[i]);
    rp_imported_free(&imported);
}

/* The space has no B: 5, 6 and 7 are three configurations, and each is run once. */
static void rows_of_one_configuration_count_once(void **state)
{
    static const struct row rows[] = {{5, 1, 1.5}, {6, 1, 1.6}, {7, 1, 1.7}, {5, 2, 2.5},
                                      {6, 2, 2.6}, {7, 2, 1.4}, {5, 3, 3.5}, {99, 1, 0.1}};

    (void)state;
    record(rows, sizeof rows / sizeof *rows);
    check(3, (const int[]){7, 5, 6}, 3);
}

static void the_ten_fastest(void **state)
{
    struct row rows[24];

    (void)state;
    for (int i = 0; i < 24; i++)
        rows[i] = (struct row){i % 12 + 1, i / 12, 12 - i % 12 + 0.25 * (i / 12)};
    record(rows, 24);
    check(12, (const int[]){12, 11, 10, 9, 8, 7, 6, 5, 4, 3}, 10);
}

static void another_space_is_named(void **state)
{
    static const struct row rows[] = {{99, 1, 1}};
    struct rp_imported imported;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    record(rows, 1);
    assert_int_equal(rp_import(path, space, &imported, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "no configuration that ran there is in this space"));
}

int main(void)
{
    const struct CMUnitTest tests_with_folder[] = {
        cmocka_unit_test(plain_and_compressed_files_are_the_same),
        cmocka_unit_test(a_compressed_file_that_is_cut_off_is_named),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(kernel_tuner_closed_and_open),
        cmocka_unit_test(kernel_tuner_cut_anywhere),
        cmocka_unit_test(t4),
        cmocka_unit_test(what_is_wrong_in_a_format_is_said),
    };
    const struct CMUnitTest tests_with_space[] = {
        cmocka_unit_test(rows_of_one_configuration_count_once),
        cmocka_unit_test(the_ten_fastest),
        cmocka_unit_test(another_space_is_named),
    };

    return cmocka_run_group_tests(tests_with_folder, scratch_begin, scratch_end) +
           cmocka_run_group_tests(tests_with_space, make_space, tear_down);
}
