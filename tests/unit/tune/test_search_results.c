/* What a search leaves: results in the format T4, and the picture. */
#include "tune/search.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "tune/recorded_space.h"
#include "tune/space.h"
#include "unit/cmocka_all.h"

#include "tune/search_results.c"

/* Results in the format T4: what is written is read back as a recorded space. */

static struct rp_space *space_of_six(void)
{
    const struct rp_value sizes[] = {{.kind = RP_VALUE_INTEGER, .integer = 16},
                                     {.kind = RP_VALUE_INTEGER, .integer = 32},
                                     {.kind = RP_VALUE_REAL, .real = 0.1}};
    const struct rp_value kinds[] = {{.kind = RP_VALUE_TEXT, .text = "a \"b\"\n$(x)"},
                                     {.kind = RP_VALUE_BOOLEAN, .boolean = true}};
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_space_add_parameter(space, "size", sizes, 3, &err), 0);
    assert_int_equal(rp_space_add_parameter(space, "kind", kinds, 2, &err), 0);
    for (uint16_t i = 0; i < 6; i++)
        assert_int_equal(
            rp_space_add(space, (uint16_t[]){i / 2, i == 5 ? RP_NO_VALUE : i % 2}, &err), 0);
    return space;
}

static const double test_samples[] = {3, 1, 2};
static const struct rp_fair_t4_result test_results[] = {
    {.config = 4,
     .validity = RP_T4_CORRECT,
     .runtime_ms = 2.25,
     .samples_ms = test_samples,
     .sample_count = 3,
     .compile_ms = 100,
     .bench_ms = 7,
     .search_ms = 0.5,
     .framework_ms = 2,
     .check_ms = 1,
     .timestamp = "2026-01-02 03:04:05+00:00"},
    {.config = 0, .validity = RP_T4_TIMEOUT, .runtime_ms = -1, .compile_ms = 5, .bench_ms = -1},
    {.config = 1, .validity = RP_T4_COMPILE},
    {.config = 2, .validity = RP_T4_RUNTIME},
    {.config = 3, .validity = RP_T4_CORRECTNESS},
    {.config = 5, .validity = RP_T4_CORRECT, .runtime_ms = 0.1},
};
enum { COUNT = sizeof test_results / sizeof *test_results };
static const struct rp_fair_t4_source test_source = {.name = "./gemm", .device = "MI300X"};

/** Through a file, as users do. */
static void read_text(const char *text, struct rp_recorded *ret)
{
    char path[] = "/tmp/rp-test-XXXXXX";
    struct rp_err err = RP_ERR_INIT;
    const int fd = mkstemp(path);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(rp_recorded_read(path, ret, &err), 0);
    unlink(path);
}

static void read_back(void **state)
{
    struct rp_space *space = space_of_six();
    struct rp_recorded recorded;
    struct rp_err err = RP_ERR_INIT;
    char *text;

    (void)state;
    assert_int_equal(fair_t4_text(space, test_results, COUNT, &test_source, &text, &err), 0);
    read_text(text, &recorded);
    assert_int_equal(recorded.space->count, COUNT);
    assert_string_equal(recorded.name, "./gemm");
    assert_string_equal(recorded.device, "MI300X");
    for (size_t i = 0; i < COUNT; i++) {
        char *before = rp_space_key(space, test_results[i].config);
        char *after = rp_space_key(recorded.space, i);

        assert_string_equal(before, after);
        assert_int_equal(recorded.runs[i].ok, test_results[i].validity == RP_T4_CORRECT);
        free(before);
        free(after);
    }
    assert_true(recorded.runs[0].runtime_ms == 2.25 && recorded.runs[0].median_ms == 2);
    assert_true(recorded.runs[0].compile_ms == 100 && recorded.runs[0].bench_ms == 7);
    assert_true(recorded.runs[1].compile_ms == 5 && recorded.runs[1].bench_ms < 0);
    assert_true(recorded.runs[5].runtime_ms == 0.1);
    rp_recorded_free(&recorded);
    free(text);
    rp_space_free(space);
}

/* What the format's schema and its other readers ask of each result. */
static void each_result_is_whole(void **state)
{
    static const char *const numbers[] = {"compilation_time", "compilation",      "benchmark",
                                          "framework",        "search_algorithm", "validation"};
    static const char *const values[] = {NULL,
                                         "RuntimeFailedConfig",
                                         "CompilationFailedConfig",
                                         "RuntimeFailedConfig",
                                         "RuntimeFailedConfig",
                                         NULL};
    struct rp_space *space = space_of_six();
    struct rp_err err = RP_ERR_INIT;
    json_t *root, *list;
    char *text;

    (void)state;
    assert_int_equal(fair_t4_text(space, test_results, COUNT, &test_source, &text, &err), 0);
    assert_non_null(root = json_loads(text, 0, NULL));
    assert_string_equal(json_string_value(json_object_get(root, "schema_version")), "1.0.0");
    list = json_object_get(root, "results");
    for (size_t i = 0; i < COUNT; i++) {
        const json_t *result = json_array_get(list, i), *times = json_object_get(result, "times");
        const json_t *time = json_array_get(json_object_get(result, "measurements"), 0);
        const json_t *value = json_object_get(time, "value");

        for (size_t k = 0; k < 6; k++)
            assert_true(json_number_value(json_object_get(times, numbers[k])) >= 0 &&
                        json_is_number(json_object_get(times, numbers[k])));
        assert_true(json_is_array(json_object_get(times, "runtimes")));
        assert_true(json_is_integer(json_object_get(result, "correctness")));
        assert_string_equal(json_string_value(json_object_get(time, "name")), "time");
        if (values[i])
            assert_string_equal(json_string_value(value), values[i]);
        else
            assert_true(json_is_real(value));
    }
    json_decref(root);
    free(text);
    rp_space_free(space);
}

static void to_a_file(void **state)
{
    char path[] = "/tmp/rp-t4-XXXXXX";
    struct rp_space *space = space_of_six();
    struct rp_recorded recorded;
    struct rp_err err = RP_ERR_INIT;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rp_fair_t4_write(path, space, test_results, COUNT, &test_source, &err), 0);
    assert_int_equal(rp_recorded_read(path, &recorded, &err), 0);
    rp_recorded_free(&recorded);
    unlink(path);
    assert_int_equal(
        rp_fair_t4_write("/nowhere/x.json", space, test_results, COUNT, &test_source, &err),
        -RP_ENVIRONMENT);
    rp_space_free(space);
}

/* The picture of a search: all of it is within the frame, no label is on another one, and whatever
 * a space is called, it is XML. */

enum { MOST = 1000 };

static struct rp_config_result tuned[MOST];

/** Runtimes from low to high in turn; each n-th fails. */
static char *draw(size_t count, double low, double high, size_t fails, const char *name)
{
    const struct rp_search_about about = {
        .name = name, .objective = "dispatch", .device = "software"};
    const struct rp_search_result result = {.tuned = tuned, .tuned_count = count};
    rp_autobuf svg = {0};

    for (size_t i = 0; i < count; i++)
        tuned[i] = (struct rp_config_result){
            .outcome = fails && i % fails == 0 ? RP_EVALUATION_FAILED : RP_EVALUATION_OK,
            .phase = i < 10 ? "seed" : "predict",
            .runtime_ms = low + (high - low) * (double)(i % 7) / 6};
    rp_search_svg(&(struct rp_search_options){0}, &result, &about, &svg);
    assert_false(svg.failed);
    return rp_buf_steal(&svg);
}

/** The numbers at the axes: none nearer to another than a line, or than its width. */
static void check_labels(const char *svg)
{
    double last_x = -100, last_y = 1000;

    for (const char *at = svg; (at = strstr(at, "<text class=\"n\" x=\"")) != NULL; at++) {
        double x, y;

        assert_int_equal(sscanf(at, "<text class=\"n\" x=\"%lf\" y=\"%lf\"", &x, &y), 2);
        assert_true(x > 0 && x < 900 && y > 0 && y < 520);
        if (strstr(at, "text-anchor=\"middle\"") < strchr(at, '>') &&
            strstr(at, "text-anchor=\"middle\"")) {
            assert_true(x - last_x >= 30);
            last_x = x;
        } else if (!strstr(at, ">failed<") || strstr(at, ">failed<") > strchr(at, '\n')) {
            assert_true(last_y - y >= 16 || y - last_y >= 16);
            last_y = y;
        }
    }
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static void all_sizes(void **state)
{
    static const size_t counts[] = {0, 1, 2, 3, 9, 10, 11, 12, 19, 21, 99, 101, 500, 1000};
    static const double ranges[][2] = {{1, 1},    {1, 1.001}, {0.9, 1.1},   {3, 29},    {3, 31},
                                       {1, 9999}, {1, 10001}, {1e-6, 1e12}, {0.07, 0.7}};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t j = 0; j < sizeof ranges / sizeof *ranges; j++)
            for (size_t fails = 0; fails < 3; fails++) {
                char *svg = draw(counts[i], ranges[j][0], ranges[j][1], fails, "a space");

                check_labels(svg);
                assert_null(strstr(svg, "nan"));
                assert_null(strstr(svg, "inf"));
                /* each one has its place, and there are two circles and a cross in the legend */
                assert_int_equal(count_of(svg, "<circle") + count_of(svg, "class=\"f\""),
                                 counts[i] + 3);
                free(svg);
            }
}

static void says_what_it_is(void **state)
{
    char *svg = draw(30, 1, 2, 0, "a space");

    (void)state;
    assert_non_null(strstr(svg, ">Search of a space<"));
    assert_non_null(strstr(svg, "modelled runtime in ms (software device), logarithmic"));
    assert_non_null(strstr(svg, "fastest: 1 ms, evaluation 1 of 30"));
    assert_non_null(strstr(svg, "evaluations, in the order"));
    free(svg);
    svg = draw(3, 1, 2, 1, "a space");
    assert_non_null(strstr(svg, "none of 3 evaluations works"));
    free(svg);
}

static void names(void **state)
{
    char name[3001];
    char *svg = draw(1, 1, 1, 0, "<a>&\"\n\xff\xc3\xa9\xe2\x80\xae");

    (void)state;
    assert_non_null(strstr(svg, ">Search of &#60;a&#62;&#38;&#34;\\x0a\\xff\xc3\xa9\\u202e<"));
    free(svg);
    for (size_t i = 0; i < 3000; i++)
        name[i] = i % 2 ? '\xa9' : '\xc3';
    name[3000] = 0;
    svg = draw(1, 1, 1, 0, name);
    assert_non_null(strstr(svg, ">Search of ...\xc3\xa9"));
    assert_int_equal(count_of(svg, "\xc3\xa9"), 70);
    free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_back),       cmocka_unit_test(each_result_is_whole),
        cmocka_unit_test(to_a_file),       cmocka_unit_test(all_sizes),
        cmocka_unit_test(says_what_it_is), cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
