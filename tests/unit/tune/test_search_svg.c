/* The picture of a search: all of it is within the frame, no label is on another one, and whatever
 * a space is called, it is XML. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tune/search.h"
#include "unit/cmocka_all.h"

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
    rp_search_svg(NULL, &result, &about, &svg);
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
        cmocka_unit_test(all_sizes),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
