/* JSON piece by piece: commas, lines, escapes, numbers that read back. */
#include <float.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"

#include "unit/cmocka_all.h"

/* The same document in every layout. */
static void put_document(struct rp_json_writer *json)
{
    rp_json_add_object(json, NULL);
    rp_json_add_array(json, "empty");
    rp_json_end(json);
    rp_json_add_array(json, "items");
    rp_json_add_int(json, NULL, -3);
    rp_json_add_object(json, NULL);
    rp_json_add_bool(json, "is", true);
    rp_json_add_object(json, "of");
    rp_json_end(json);
    rp_json_end(json);
    rp_json_add_null(json, NULL);
    rp_json_end(json);
    rp_json_add_text(json, "name", "a");
    rp_json_end(json);
}

static void check_document(unsigned indent, bool compact, const char *wanted)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf, .indent = indent, .compact = compact};

    put_document(&json);
    assert_string_equal(rp_buf_text(&buf), wanted);
    assert_int_equal(json.depth, 0);
}

static void a_document_has_three_layouts(void **state)
{
    (void)state;
    check_document(0, false,
                   "{\"empty\": [], \"items\": [-3, {\"is\": true, \"of\": {}}, null], "
                   "\"name\": \"a\"}");
    check_document(0, true,
                   "{\"empty\":[],\"items\":[-3,{\"is\":true,\"of\":{}},null],\"name\":\"a\"}");
    check_document(2, false,
                   "{\n  \"empty\": [],\n  \"items\": [\n    -3,\n    {\n      \"is\": true,\n"
                   "      \"of\": {}\n    },\n    null\n  ],\n  \"name\": \"a\"\n}");
}

/* Layouts are those of jansson, which other files are written by. */
static void lines_are_those_of_jansson(void **state)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf, .indent = 3};
    json_t *read;
    char *again;

    (void)state;
    put_document(&json);
    read = json_loads(rp_buf_text(&buf), 0, NULL);
    assert_non_null(read);
    again = json_dumps(read, JSON_INDENT(3));
    assert_string_equal(rp_buf_text(&buf), again);
    free(again);
    json_decref(read);
}

static void a_line_begins_where_it_is_asked_for(void **state)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf};

    (void)state;
    rp_json_add_object(&json, NULL);
    rp_json_break(&json, 2);
    rp_json_add_array(&json, "list");
    for (int i = 0; i < 2; i++) {
        rp_json_break(&json, 40);
        rp_json_add_int(&json, NULL, i);
    }
    rp_json_end(&json);
    rp_json_add_count(&json, "n", 2);
    rp_json_break(&json, 0);
    rp_json_end(&json);
    assert_string_equal(rp_buf_text(&buf),
                        "{\n  \"list\": [\n                                        0,"
                        "\n                                        1], "
                        "\"n\": 2\n}");
}

static void outer_levels_alone_have_lines(void **state)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf, .indent = 2, .levels = 1};

    (void)state;
    rp_json_add_object(&json, NULL);
    rp_json_add_object(&json, "of");
    rp_json_add_int_if(&json, "a", true, -1);
    rp_json_add_count_if(&json, "b", false, 1);
    rp_json_end(&json);
    rp_json_add_array(&json, "none");
    rp_json_end(&json);
    rp_json_end(&json);
    assert_string_equal(rp_buf_text(&buf),
                        "{\n  \"of\": {\"a\": -1, \"b\": null},\n  \"none\": []\n}");
}

static void text_and_keys_are_escaped(void **state)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf, .compact = true};

    (void)state;
    rp_json_add_object(&json, NULL);
    rp_json_add_text(&json, "a\"b", "c\\d\n\x7f");
    rp_json_add_text(&json, "##[x", "\xff# ##[y]");
    rp_json_add_text(&json, "none", NULL);
    rp_json_add_json(&json, "raw", "[%d,%s]", 1, "2.50");
    rp_json_end(&json);
    assert_string_equal(rp_buf_text(&buf),
                        "{\"a\\\"b\":\"c\\\\d\\u000a\\u007f\",\"\\u0023#[x\":\"\xef\xbf\xbd# "
                        "\\u0023#[y]\",\"none\":null,\"raw\":[1,2.50]}");
}

static void check_number(double value, const char *wanted)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf};

    rp_json_add_number(&json, NULL, value);
    assert_string_equal(rp_buf_text(&buf), wanted);
    if (isfinite(value))
        assert_true(strtod(wanted, NULL) == value);
}

static void numbers_read_back(void **state)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf};

    (void)state;
    check_number(0, "0");
    check_number(12, "12");
    check_number(0.1, "0.1");
    check_number(1.0 / 3, "0.3333333333333333");
    check_number(-2, "-2");
    check_number(1e300, "1e+300");
    check_number(9007199254740993.0, "9007199254740992");
    check_number(DBL_MIN, "2.2250738585072014e-308");
    check_number(NAN, "null");
    check_number(-HUGE_VAL, "null");
    rp_json_add_array(&json, NULL);
    rp_json_add_int(&json, NULL, INT64_MIN);
    rp_json_add_int(&json, NULL, INT64_MAX);
    rp_json_add_count(&json, NULL, UINT64_MAX);
    rp_json_add_count(&json, NULL, 0);
    rp_json_end(&json);
    assert_string_equal(rp_buf_text(&buf), "[-9223372036854775808, 9223372036854775807, "
                                           "18446744073709551615, 0]");
    assert_true(rp_round6(1.23456789) == 1.234568);
    assert_true(rp_round6(1e305) == 1e305);
}

static void real_numbers_are_those_of_jansson(void **state)
{
    static const double values[] = {0,          1,    -1,     0.5,   1e-7,
                                    123456.789, 1e15, 1.5e16, 1e300, -2.5e-300};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int digits = 6; digits <= 17; digits++) {
            rp_autobuf buf = {0};
            struct rp_json_writer json = {.out = &buf};
            json_t *real = json_real(values[i]);
            char *wanted = json_dumps(real, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));

            rp_json_add_real(&json, NULL, values[i], digits);
            assert_string_equal(rp_buf_text(&buf), wanted);
            free(wanted);
            json_decref(real);
        }
}

static void a_locale_does_not_change_numbers(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        skip();
    {
        rp_autobuf buf = {0};
        struct rp_json_writer json = {.out = &buf};

        rp_json_add_array(&json, NULL);
        rp_json_add_number(&json, NULL, 0.25);
        rp_json_add_real(&json, NULL, 1.5e-9, 15);
        rp_json_end(&json);
        setlocale(LC_NUMERIC, "C");
        assert_string_equal(rp_buf_text(&buf), "[0.25, 1.5e-9]");
    }
}

static void what_is_too_deep_fails(void **state)
{
    rp_autobuf buf = {0};
    struct rp_json_writer json = {.out = &buf};

    (void)state;
    for (int i = 0; i < RP_JSON_MOST_DEPTH; i++)
        rp_json_add_array(&json, NULL);
    assert_false(buf.failed);
    rp_json_add_array(&json, NULL);
    assert_true(buf.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_has_three_layouts),
        cmocka_unit_test(lines_are_those_of_jansson),
        cmocka_unit_test(a_line_begins_where_it_is_asked_for),
        cmocka_unit_test(outer_levels_alone_have_lines),
        cmocka_unit_test(text_and_keys_are_escaped),
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(real_numbers_are_those_of_jansson),
        cmocka_unit_test(a_locale_does_not_change_numbers),
        cmocka_unit_test(what_is_too_deep_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
