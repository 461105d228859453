#include "analyze/bottleneck.h"
#include "analyze/dag.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rp_bottleneck_kernel kernel(char *name)
{
    return (struct rp_bottleneck_kernel){
        .name = name, .calls = 1, .time_ns = {.known = true, .value = 1500}};
}

static void make(const char *form, const struct rp_report_parts *parts, struct rp_buf *ret)
{
    struct rp_err err = RP_ERR_INIT;

    assert_non_null(rp_report_form_named(form));
    assert_int_equal(rp_report_form_named(form)->write(parts, ret, &err), 0);
    assert_non_null(ret->data);
}

static void make_of(const char *form, char *const *names, size_t count, struct rp_buf *ret)
{
    struct rp_bottleneck_kernel *kernels = calloc(count, sizeof *kernels);
    const struct rp_bottlenecks b = {.kernels = kernels, .kernel_count = count};

    assert_non_null(kernels);
    for (size_t i = 0; i < count; i++)
        kernels[i] = kernel(names[i]);
    make(form, &(struct rp_report_parts){.title = "T", .bottlenecks = &b}, ret);
    free(kernels);
}

/* The name of each kernel takes as much as it can. */
static void test_markdown_is_short(void **state)
{
    enum { MANY = 10000 };
    static char name[500], *names[MANY];
    rp_autobuf text = {0};

    (void)state;
    memset(name, '`', sizeof name - 1);
    for (size_t i = 0; i < MANY; i++)
        names[i] = name;
    make_of("markdown", names, MANY, &text);
    assert_true(text.len < 65535);
    assert_non_null(strstr(text.data, "9950 more kernels"));
}

static void cell_is(const char *name, const char *cell)
{
    char *names[] = {(char *)name};
    rp_autobuf text = {0}, row = {0};

    make_of("markdown", names, 1, &text);
    rp_buf_printf(&row, "\n| %s | 1 | ", cell);
    if (!strstr(text.data, rp_buf_text(&row)))
        fail_msg("no cell \"%s\" in:\n%s", cell, text.data);
}

/* GitHub acts on "@name", "#1" and "www." wherever they are, however they are written, but in code.
 */
static void test_markdown_names_are_code(void **state)
{
    rp_autobuf text = {0};
    char *names[] = {(char *)"x"};
    const struct rp_bottlenecks none = {0};

    (void)state;
    cell_is("@octocat fixes #1, www.a.b <b>$x$</b>", "`@octocat fixes #1, www.a.b <b>$x$</b>`");
    cell_is("a|b\\|c\\", "`a\\|b\\\\|c\\`"); /* a bar ends a cell also within code */
    cell_is("a`b", "``a`b``");
    cell_is("`", "`` ` ``");
    cell_is("a```", "```` a``` ````");
    cell_is(" a ", "`  a  `");
    cell_is("a\nb\xe2\x80\xae", "`a\\x0ab\\u202e`");
    cell_is("", "");
    make_of("markdown", names, 1, &text);
    assert_non_null(strstr(text.data, "### `T`\n"));
    rp_buf_free(&text);
    make("markdown", &(struct rp_report_parts){.title = "./a|b @x", .bottlenecks = &none}, &text);
    assert_non_null(strstr(text.data, "### `./a|b @x`\n")); /* no table: the bar is itself */
}

static void test_csv_has_no_formulas(void **state)
{
    static const struct {
        const char *name, *cell;
    } rows[] = {
        {"plain", "\nplain,"},
        {"=1+1", "\n\"'=1+1\","},
        {"+x", "\n\"'+x\","},
        {"-x", "\n\"'-x\","},
        {"@x", "\n\"'@x\","},
        {"  =x", "\n\"'  =x\","},
        {"\tx", "\n\\x09x,"},
        {"a,b\"c", "\n\"a,b\"\"c\","},
        {"a\nb", "\na\\x0ab,"},
        {"a\xff", "\na\\xff,"},
        {"a\x1b[31m", "\na\\x1b[31m,"},
        {"::error::x", "\n\\x3a:error::x,"},
        {"", "\n,"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rp_autobuf text = {0};
        char *name = strdup(rows[i].name);

        assert_non_null(name);
        make_of("csv", &name, 1, &text);
        assert_non_null(strstr(text.data, rows[i].cell));
        free(name);
    }
}

/* Each sample has labels of its own, also of names that look the same once they are escaped. */
static void test_openmetrics_labels(void **state)
{
    char a[] = "a\xfe", b[] = "a\\xfe", c[] = "x\"\\\n", *names[] = {a, b, c};
    rp_autobuf text = {0};

    (void)state;
    make_of("openmetrics", names, 3, &text);
    assert_non_null(strstr(text.data,
                           "time_seconds{device=\"unknown\",title=\"T\",kernel=\"a\\\\xfe"
                           "\"} 1.5e-06\n"));
    assert_non_null(strstr(text.data, "kernel=\"a\\\\xfe #2\"} 1.5e-06\n"));
    assert_non_null(strstr(text.data, "kernel=\"x\\\"\\\\\\n\"} 1.5e-06\n"));
    assert_string_equal(text.data + text.len - 6, "# EOF\n");
}

static void test_xml_text(void **state)
{
    char name[] = "<a b=\"'\">&\x01\x1b]]>\xef\xbf\xbf\xff", *names[] = {name};
    rp_autobuf text = {0};

    (void)state;
    make_of("junit", names, 1, &text);
    assert_non_null(strstr(text.data, "name=\"&lt;a b=&quot;&#39;&quot;&gt;&amp;\\x01\\x1b]]&gt;?"
                                      "\\xff\""));
}

/* A server takes cases of one name for one case, and drops those without. */
static void test_junit_names_differ(void **state)
{
    char a[] = "k\x01", b[] = "k\x02", turned[] = "k\xe2\x80\xae", none[] = "";
    char *names[] = {a, b, turned, none};
    rp_autobuf text = {0};

    (void)state;
    make_of("junit", names, 4, &text);
    assert_non_null(strstr(text.data, "name=\"k\\x01\""));
    assert_non_null(strstr(text.data, "name=\"k\\x02\""));
    assert_non_null(strstr(text.data, "name=\"k\\u202e\""));
    assert_non_null(strstr(text.data, "name=\"(no name)\""));
}

/* Software in any part: graph, kernels, or waves alone. */
static void test_modelled_time_is_marked(void **state)
{
    static const char *const forms[] = {"markdown", "csv", "openmetrics", "junit"};
    struct rp_bottleneck_kernel k = kernel((char[]){"k"});
    const struct rp_dag_result dag = {.device = "software"};
    const struct rp_bottlenecks plain = {.kernels = &k, .kernel_count = 1},
                                waves = {.kernels = &k, .kernel_count = 1, .modelled_waves = true},
                                all = {.kernels = &k,
                                       .kernel_count = 1,
                                       .origin = {.device = "software", .timing_model = "fast"}};
    const struct rp_report_parts parts[] = {
        {.title = "T", .bottlenecks = &plain},
        {.title = "T", .bottlenecks = &plain, .dag = &dag},
        {.title = "T", .bottlenecks = &waves},
        {.title = "T", .bottlenecks = &all},
    };

    (void)state;
    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 4; i++) {
            rp_autobuf text = {0};

            make(forms[f], &parts[i], &text);
            assert_int_equal(strstr(text.data, "software") || strstr(text.data, "SOFTWARE"), i > 0);
        }
}

/* However many operations there are, a picture has no more than its pixels need; where it cannot be
 * drawn it says so. */
static void test_timeline_is_small(void **state)
{
    enum { MANY = 200000 };
    struct rp_dag_step *steps = calloc(MANY, sizeof *steps);
    uint32_t *track_of_step = calloc(MANY, sizeof *track_of_step);
    struct rp_timeline_track lanes[70] = {0};
    const struct rp_timeline timeline = {
        .lanes = lanes, .lane_count = 70, .track_of_step = track_of_step};
    const struct rp_dag_result dag = {
        .steps = steps, .step_count = MANY, .makespan_ns = 10LL * MANY};
    const struct rp_bottlenecks b = {0};
    const struct rp_report_parts parts = {
        .title = "T", .bottlenecks = &b, .dag = &dag, .timeline = &timeline};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0}, none = {0};

    (void)state;
    assert_true(steps && track_of_step);
    for (size_t i = 0; i < MANY; i++) {
        steps[i] = (struct rp_dag_step){.name = i % 2 ? "<a>" : "b",
                                        .start_ns = 10 * (int64_t)i,
                                        .duration_ns = i % 7 + 1,
                                        .on_path = i % 3 == 0};
        track_of_step[i] = (uint32_t)(i % 70);
    }
    make("svg-timeline", &parts, &text);
    assert_true(text.len < 10 << 20);
    assert_non_null(strstr(text.data, "and 6 more streams"));
    assert_non_null(strstr(text.data, "stroke-opacity")); /* the path does not cover all */
    assert_non_null(strstr(text.data, "&lt;a&gt;"));
    assert_int_equal(rp_report_form_named("svg-timeline")
                         ->write(&(struct rp_report_parts){.bottlenecks = &b}, &none, &err),
                     -RP_BAD_INPUT);
    assert_int_equal(rp_report_form_named("svg-roofline")->write(&parts, &none, &err),
                     -RP_BAD_INPUT);
    free(steps);
    free(track_of_step);
}

static void test_forms_by_name(void **state)
{
    size_t count;

    (void)state;
    for (const struct rp_report_form *f = rp_report_forms(&count); count; count--, f++) {
        char path[64];

        snprintf(path, sizeof path, "x/a%s", f->ending);
        assert_ptr_equal(rp_report_form_of_file(path), f);
        assert_ptr_equal(rp_report_form_named(f->name), f);
    }
    assert_null(rp_report_form_of_file("a.pdf"));
    assert_null(rp_report_form_named("pdf"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markdown_is_short),
        cmocka_unit_test(test_markdown_names_are_code),
        cmocka_unit_test(test_csv_has_no_formulas),
        cmocka_unit_test(test_openmetrics_labels),
        cmocka_unit_test(test_xml_text),
        cmocka_unit_test(test_junit_names_differ),
        cmocka_unit_test(test_modelled_time_is_marked),
        cmocka_unit_test(test_forms_by_name),
        cmocka_unit_test(test_timeline_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
