/* T1: lists of values as Python writes them, spaces that are read, and spaces that are written. */
#include "tune/space_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tune/enumerate.h"
#include "tune/expression.h"
#include "tune/space.h"
#include "unit/cmocka_all.h"

/* --- lists ----------------------------------------------------------------------------------- */

static void lists_of_values(void **state)
{
    static const struct {
        const char *text, *values;
    } rows[] = {
        {"[16, 32]", "16 32 "},
        {" [ ] ", ""},
        {"[4096,]", "4096 "},
        {"(1, 2.5, True, 'a b')", "1 2.5 true a b "},
        {"[\"it's\", 'a\\n\\'b\\'']", "it's a\n'b' "},
        {"[2**3, 10 // 3, -1]", "8 3 -1 "},
        {"range(3)", "0 1 2 "},
        {"list(range(2, 5))", "2 3 4 "},
        {"[1, 2] + list(range(32, 64+1, 32))", "1 2 32 64 "},
        {"tuple(range(5, 1, -2))", "5 3 "},
        {"[2**i for i in range(0, 4)]", "1 2 4 8 "},
        {"[1] + [2 * i for i in range(1, 4)]", "1 2 4 6 "},
        {"[i for i in range(10) if i % 3 == 1]", "1 4 7 "},
        {"[min(x, 5) * 2 for x in [1, 9]]", "2 10 "},
        {"[('x') for i in (1, 2)]", "x x "},
        {"[16*i for i in list([1] + [3])]", "16 48 "},
        {"['for', 'a,b]', \"if ]\"]", "for a,b] if ] "},
        {"range(9223372036854775806, 9223372036854775807, 5)", "9223372036854775806 "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_value_list values = {0};
        struct rp_err err = RP_ERR_INIT;
        rp_autobuf found = {0};

        if (rp_values_parse(rows[i].text, &values, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        for (size_t k = 0; k < values.count; k++) {
            rp_value_text(&values.list[k], &found);
            rp_buf_puts(&found, " ");
        }
        assert_string_equal(rp_buf_text(&found), rows[i].values);
        rp_value_list_free(&values);
    }
}

static void what_is_no_list(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "neither a list"},
        {"3", "column 1: neither a list"},
        {"[1, 2", "column 6: ] is missing"},
        {"[1 2]", "\"1 2\": column 3: an operator is missing"},
        {"[1] 2", "column 5: what stands here is not known"},
        {"[1] + 2", "column 7: neither a list"},
        {"[x]", "there is no parameter x"},
        {"[1 / 0]", "\"1 / 0\": division by zero"},
        {"range(0, 1, 0)", "range() with a step of 0"},
        {"range(1, 2, 3, 4)", "one to three numbers"},
        {"range(0.5)", "range() needs integers"},
        {"range()", "the expression is empty"},
        {"range(1000000000)", "more than 10000 values"},
        {"[i for i range(3)]", "in is missing"},
        {"[j for i in range(3)]", "there is no parameter j"},
        {"[i for i in range(3) while 1]", "] is missing"},
        {"[__import__('os').system('id')]", "no parameter __import__"},
        {"__import__('os').system('id')", "neither a list"},
        {"[i for i in [1, 1]]", "value 1 is there twice"},
        {"list(list(list(list(list(list(list(list(list(list(list(list(list(list(list(list(list("
         "list("
         "list(list(list([1])",
         "nested too deeply"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_value_list values;
        struct rp_err err = RP_ERR_INIT;

        if (rp_values_parse(rows[i].text, &values, &err) != -RP_BAD_INPUT)
            fail_msg("%s is taken", rows[i].text);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s; it does not say: %s", rows[i].text, err.text, rows[i].why);
    }
}

/* --- reading --------------------------------------------------------------------------------- */

static void spaces_are_read(void **state)
{
    static const char text[] =
        "{\"General\":{\"FormatVersion\":1},\"ConfigurationSpace\":{\"TuningParameters\":["
        "{\"Name\":\"block_size_x\",\"Type\":\"int\",\"Values\":\"[16*i for i in range(1,9)]\","
        "\"Default\":16},"
        "{\"Name\":\"use_padding\",\"Type\":\"int\",\"Values\":\"[0, 1]\"},"
        "{\"Name\":\"kind\",\"Type\":\"string\",\"Values\":[\"a\",\"b\"]}],"
        "\"Conditions\":[{\"Expression\":\"use_padding==0 or (block_size_x % 32 != 0)\","
        "\"Parameters\":[\"use_padding\",\"block_size_x\"]}]},"
        "\"KernelSpecification\":{\"Language\":\"CUDA\"}}";
    struct rp_space *space;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    if (rp_space_parse(text, strlen(text), NULL, NULL, &space, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(space->count, (8 + 4) * 2);
    assert_string_equal(space->parameters[2].name, "kind");
    rp_space_free(space);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{\"ConfigurationSpace\":{}}", "there is no parameter"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{}]}}",
         "T1: tuning parameter 1: it has no \"Name\""},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"[1\"}]}}",
         "T1: tuning parameter 1: a: Values: column 3: ] is missing"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\"}]}}", "a: 0 values"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":[1]}],"
         "\"Conditions\":[{}]}}",
         "T1: condition 1 has no \"Expression\""},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":[1]}],"
         "\"Conditions\":[{\"Expression\":\"a <\"}]}}",
         "T1: condition 1 \"a <\": column 4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_space *space;
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(
            rp_space_parse(rows[i].text, strlen(rows[i].text), NULL, NULL, &space, NULL, &err),
            -RP_BAD_INPUT);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s; it does not say: %s", rows[i].text, err.text, rows[i].why);
    }
}

/* --- writing --------------------------------------------------------------------------------- */

static int export(const char *text, char **ret, struct rp_err *err)
{
    rp_cleanup(rp_rules_free) struct rp_rules rules = {0};
    struct rp_space *space;
    int rc;

    if (rp_space_parse(text, strlen(text), NULL, NULL, &space, &rules, err) < 0)
        fail_msg("%s: %s", text, err->text);
    rc = rp_fair_t1_text(space, &rules, "gemm", ret, err);
    rp_space_free(space);
    return rc;
}

static void written_ones_have_the_same_configurations(void **state)
{
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"{\"a\":[1,2],\"b\":[\"x\",\"it's\\n\\\\\"]}", 4},
        {"[{\"a\":1,\"b\":true},{\"a\":1,\"b\":false}]", 2},
        {"{\"parameters\":{\"a\":{\"range\":[1,9]},\"b\":[0.5,1]},"
         "\"constraints\":[\"a * b > 2 && a != 3 || {a} == 1\",\"a in [1,2,9] or true\"]}",
         13},
        {"{\"parameters\":{\"pad\":{\"values\":[1,2],\"when\":\"lds && a > 1\",\"else\":0},"
         "\"lds\":[true,false],\"a\":[1,2]}}",
         5},
        {"{\"parameters\":{\"pad\":{\"values\":[\"x\",\"y\"],\"when\":\"lds\",\"else\":\"y\"},"
         "\"lds\":[true,false]}}",
         3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autofree char *text = NULL;
        struct rp_space *space;
        struct rp_err err = RP_ERR_INIT;

        if (export(rows[i].text, &text, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_int_equal(rp_space_parse(text, strlen(text), NULL, NULL, &space, NULL, &err), 0);
        assert_int_equal(space->count, rows[i].count);
        rp_space_free(space);
    }
}

/* Other readers take them for Python. */
static void written_as_python(void **state)
{
    static const char text[] =
        "{\"parameters\":{\"a\":[true,false],\"b\":[\"'\",\"x\"],\"c\":[1,2]},"
        "\"constraints\":[\"a == true && b != '&& true'\\n|| {c} == 1\"]}";
    rp_autofree char *written = NULL;
    struct rp_err err = RP_ERR_INIT;
    json_t *root, *space;

    (void)state;
    assert_int_equal(export(text, &written, &err), 0);
    assert_non_null(root = json_loads(written, 0, NULL));
    space = json_object_get(root, "ConfigurationSpace");
#define TEXT(list, i, key)                                                                         \
    json_string_value(json_object_get(json_array_get(json_object_get(space, list), i), key))
    assert_string_equal(TEXT("TuningParameters", 0, "Type"), "bool");
    assert_string_equal(TEXT("TuningParameters", 0, "Values"), "[True, False]");
    assert_string_equal(TEXT("TuningParameters", 1, "Values"), "['\\'', 'x']");
    assert_string_equal(TEXT("TuningParameters", 2, "Type"), "int");
    assert_string_equal(TEXT("Conditions", 0, "Expression"),
                        "a == True  and  b != '&& true'  or  c == 1");
    json_decref(root);
}

static void what_cannot_be_written(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"[{\"a\":1,\"b\":1},{\"a\":2,\"b\":2}]", "which 2 of the 4 combinations are allowed"},
        {"{\"a\":[1,\"x\"]}", "several kinds"},
        {"{\"a\":[\"\\u0001\"]}", "a control character in a value"},
        {"{\"parameters\":{\"a\":[1,2],\"b\":{\"values\":[1],\"when\":\"a > 1\"}}}",
         "give b an \"else\""},
        {"{\"parameters\":{\"a-b\":[1,2]},\"constraints\":[\"{a-b} > 1\"]}",
         "parameter a-b is no name that T1 can have"},
        {"{\"parameters\":{\"a\":[0,1]},\"constraints\":[\"!a\"]}",
         "T1 does not know !: write not"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_err err = RP_ERR_INIT;
        char *text;

        assert_int_equal(export(rows[i].text, &text, &err), -RP_BAD_INPUT);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s; it does not say: %s", rows[i].text, err.text, rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_values),
        cmocka_unit_test(what_is_no_list),
        cmocka_unit_test(spaces_are_read),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(written_ones_have_the_same_configurations),
        cmocka_unit_test(written_as_python),
        cmocka_unit_test(what_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
