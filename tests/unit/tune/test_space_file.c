/* Files of search spaces: what is read, what is refused and why, and T1. */
#include "tune/space_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "tune/expression.h"
#include "tune/space.h"
#include "unit/cmocka_all.h"

#include "tune/space_file.c"

/* Files of search spaces: what they allow, and what is said about those that cannot be used. */

static struct rp_space *parse(const char *text, struct rp_buf *notes)
{
    struct rp_space *space = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (space_parse(text, strlen(text), notes, NULL, &space, NULL, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return space;
}

/** All keys, sorted, one per line. */
static void list(const struct rp_space *space, struct rp_buf *ret)
{
    char *keys[64];

    assert_in_range(space->count, 1, 64);
    for (size_t i = 0; i < space->count; i++)
        assert_non_null(keys[i] = rp_space_key(space, i));
    for (size_t i = 0; i < space->count; i++)
        for (size_t j = i + 1; j < space->count; j++)
            if (strcmp(keys[i], keys[j]) > 0) {
                char *other = keys[i];

                keys[i] = keys[j];
                keys[j] = other;
            }
    for (size_t i = 0; i < space->count; i++) {
        rp_buf_printf(ret, "%s\n", keys[i]);
        free(keys[i]);
    }
}

static void check_space(const char *text, const char *expected)
{
    struct rp_space *space = parse(text, NULL);
    rp_autobuf found = {0};

    list(space, &found);
    assert_string_equal(rp_buf_text(&found), expected);
    rp_space_free(space);
}

static void lists(void **state)
{
    static const char expected[] = "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"x\"}\n{\"a\":2}\n";

    (void)state;
    check_space("[{\"a\":1,\"b\":\"x\"},{\"b\":\"x\",\"a\":2},{\"a\":2,\"b\":null}]", expected);
    check_space("{\"name\":\"n\",\"configurations\":"
                "[{\"a\":1,\"b\":\"x\"},{\"a\":2,\"b\":\"x\"},{\"a\":2,\"b\":null}]}",
                expected);
}

static void values_of_a_parameter(void **state)
{
    (void)state;
    check_space("{\"a\":[1,1.5,true,\"t\"]}",
                "{\"a\":\"t\"}\n{\"a\":1.5}\n{\"a\":1}\n{\"a\":true}\n");
    check_space("{\"configurations\":[1,2]}", "{\"configurations\":1}\n{\"configurations\":2}\n");
    check_space("{\"parameters\":{\"a\":{\"values\":[1]},\"b\":[2]}}", "{\"a\":1,\"b\":2}\n");
    check_space("{\"parameters\":{\"a\":{\"range\":[1,7,3]}}}",
                "{\"a\":1}\n{\"a\":4}\n{\"a\":7}\n");
    check_space("{\"parameters\":{\"a\":{\"range\":[2,3]}}}", "{\"a\":2}\n{\"a\":3}\n");
    check_space("{\"parameters\":{\"a\":{\"range\":[3,1,-2]}}}", "{\"a\":1}\n{\"a\":3}\n");
    check_space(
        "{\"parameters\":{\"a\":{\"range\":[0.1,0.35,0.1]}}}",
        "{\"a\":0.10000000000000001}\n{\"a\":0.20000000000000001}\n{\"a\":0.29999999999999999}\n");
    check_space("{\"parameters\":{\"a\":{\"range\":[9223372036854775806,9223372036854775807]}}}",
                "{\"a\":9223372036854775806}\n{\"a\":9223372036854775807}\n");
    check_space("{\"parameters\":{\"a\":{\"powers_of_two\":[4,31]}}}",
                "{\"a\":16}\n{\"a\":4}\n{\"a\":8}\n");
    check_space(
        "{\"parameters\":{\"a\":{\"powers_of_two\":[4611686018427387904,9223372036854775807]}}}",
        "{\"a\":4611686018427387904}\n");
}

static void constraints(void **state)
{
    (void)state;
    check_space(
        "{\"parameters\":{\"a\":[1,2,3],\"b\":[1,2,3]},\"constraints\":[\"a * b <= 3\",\"b > 1\"]}",
        "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":3}\n");
    check_space("{\"parameters\":{\"free\":[\"x\",\"y\"],\"a\":[1,2],\"z\":[2,1]},"
                "\"constraints\":[\"a < z\"]}",
                "{\"a\":1,\"free\":\"x\",\"z\":2}\n{\"a\":1,\"free\":\"y\",\"z\":2}\n");
}

/* A condition may stand before the parameter it asks for, and ask for a conditional one. */
static void conditions(void **state)
{
    (void)state;
    check_space(
        "{\"parameters\":{\"pad\":{\"values\":[1,2],\"when\":\"lds\"},\"lds\":[true,false]}}",
        "{\"lds\":false}\n{\"lds\":true,\"pad\":1}\n{\"lds\":true,\"pad\":2}\n");
    check_space("{\"parameters\":{\"pad\":{\"values\":[1,2],\"when\":\"lds\",\"else\":0},"
                "\"lds\":[true,false]}}",
                "{\"lds\":false,\"pad\":0}\n{\"lds\":true,\"pad\":1}\n{\"lds\":true,\"pad\":2}\n");
    check_space("{\"parameters\":{\"pad\":{\"values\":[1,2],\"when\":\"lds\",\"else\":2},"
                "\"lds\":[true,false]}}",
                "{\"lds\":false,\"pad\":2}\n{\"lds\":true,\"pad\":1}\n{\"lds\":true,\"pad\":2}\n");
    check_space(
        "{\"parameters\":{\"a\":[0,1],\"b\":{\"values\":[0,1],\"when\":\"a\"},"
        "\"c\":{\"values\":[5,6],\"when\":\"b == 1\"}}}",
        "{\"a\":0}\n{\"a\":1,\"b\":0}\n{\"a\":1,\"b\":1,\"c\":5}\n{\"a\":1,\"b\":1,\"c\":6}\n");
    /* a constraint that asks for what has no value does not count */
    check_space("{\"parameters\":{\"a\":[0,1],\"b\":{\"values\":[3,4],\"when\":\"a\"}},"
                "\"constraints\":[\"b > 3\"]}",
                "{\"a\":0}\n{\"a\":1,\"b\":4}\n");
}

static void what_cannot_be_computed_is_left_out(void **state)
{
    static const char text[] = "{\"parameters\":{\"a\":[0,1,2],\"b\":{\"values\":[7],"
                               "\"when\":\"4 / a > 2\"}},\"constraints\":[\"8 % a == 0 or a\"]}";
    rp_autobuf notes = {0}, found = {0};
    struct rp_space *space = parse(text, &notes);

    (void)state;
    list(space, &found);
    assert_string_equal(rp_buf_text(&found), "{\"a\":1,\"b\":7}\n{\"a\":2}\n");
    assert_string_equal(rp_buf_text(&notes),
                        "constraint 8 % a == 0 or a could not be computed 1 times (division by "
                        "zero): such configurations are left out\n");
    rp_space_free(space);
}

/* Against every combination by itself. */
static void pruning_loses_nothing(void **state)
{
    static const char text[] =
        "{\"parameters\":{\"x\":{\"range\":[0,12]},\"y\":{\"range\":[0,12]},"
        "\"z\":{\"range\":[0,12]},\"w\":{\"range\":[0,12]}},"
        "\"constraints\":[\"w * x < 40\",\"y != z\",\"(x + y + z + w) % 3 == 1\",\"z >= x // 2\"]}";
    struct rp_space *space = parse(text, NULL);
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 13 * 13 * 13 * 13; i++) {
        const uint16_t x = (uint16_t)(i % 13), y = (uint16_t)(i / 13 % 13),
                       z = (uint16_t)(i / 169 % 13), w = (uint16_t)(i / 2197);
        const bool good = w * x < 40 && y != z && (x + y + z + w) % 3 == 1 && z >= x / 2;

        assert_true((rp_space_find(space, (uint16_t[]){x, y, z, w}) >= 0) == good);
        count += good;
    }
    assert_int_equal(space->count, count);
    rp_space_free(space);
}

static void a_full_product_that_is_mostly_forbidden_is_quick(void **state)
{
    /* 10^12 combinations, of which each level leaves one in ten */
    struct rp_space *space = parse("{\"parameters\":{\"a\":{\"range\":[0,99]},\"z\":{\"range\":[0,"
                                   "999]},\"b\":{\"range\":[0,99]},"
                                   "\"y\":{\"range\":[0,999]},\"c\":{\"range\":[0,99]}},"
                                   "\"constraints\":[\"y == z\",\"a == b\",\"b == c\",\"z == a\"]}",
                                   NULL);

    (void)state;
    assert_int_equal(space->count, 100);
    rp_space_free(space);
}

static void refuse(const char *text, const char *why)
{
    struct rp_space *space;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(space_parse(text, strlen(text), NULL, NULL, &space, NULL, &err),
                     -RP_BAD_INPUT);
    if (!strstr(err.text, why))
        fail_msg("%s: %s; it does not say: %s", text, err.text, why);
}

static void what_is_no_space(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "it is empty"},
        {"3", "'[' or '{' expected"},
        {"{\"a\":[1,]}", "line 1, column 9: unexpected token"},
        {"{\"a\":[1],\"a\":[2]}", "duplicate object key"},
        {"{\"a\":[\"x\\u0000\"]}", "a text has a zero byte"},
        {"{\"a\\u0000\":[1]}", "a text has a zero byte"},
        {"{\"a\":[9223372036854775808]}", "a number that does not fit in 64 bits"},
        {"{\"a\":[1e400]}", "a number that does not fit in 64 bits"},
        {"{\"a\":[NaN]}", "column"},
        {"[]", "the list of configurations is empty"},
        {"{\"configurations\":[]}", "the list of configurations is empty"},
        {"[{}]", "configuration 1 has no parameter"},
        {"[{\"a\":1},2]", "configuration 2: not an object"},
        {"[{\"a\":1},{\"A\":1}]", "configuration 2: parameter a is missing"},
        {"[{\"a\":1},{\"a\":2,\"b\":1}]", "configuration 2: parameter b is not in configuration 1"},
        {"[{\"a\":1},{\"a\":2},{\"a\":1}]", "configuration 3: the same as one before it"},
        {"[{\"a\":[1]}]", "configuration 1, parameter a: neither a number"},
        {"[{\"a\":null}]", "parameter a: no configuration has a value of it"},
        {"{}", "there is no parameter"},
        {"{\"parameters\":{}}", "there is no parameter"},
        {"{\"\":[1]}", "a parameter without a name"},
        {"{\"a\\n\":[1]}", "a brace or a control character"},
        {"{\"a\":1}", "parameter a: not a list of values"},
        {"{\"a\":[]}", "parameter a: not a list of values"},
        {"{\"a\":[1,null]}", "parameter a: value 2 is neither"},
        {"{\"a\":[1,2,1]}", "parameter a: value 1 is there twice"},
        {"{\"a\":[1],\"constraints\":[\"a > 0\"]}", "\"constraints\" needs \"parameters\""},
        {"{\"parameters\":{\"a\":[1]},\"constraint\":[]}", "key constraint is not known"},
        {"{\"parameters\":{\"a\":{\"value\":[1]}}}", "parameter a: key value is not known"},
        {"{\"parameters\":{\"a\":{\"when\":\"a\"}}}", "neither values, range nor powers_of_two"},
        {"{\"parameters\":{\"a\":{\"values\":[1],\"range\":[1,2]}}}", "both values and range"},
        {"{\"parameters\":{\"a\":{\"range\":[1,2,0]}}}", "range: its step is 0"},
        {"{\"parameters\":{\"a\":{\"range\":[2,1]}}}", "range: no value from 2 to 1 by steps of 1"},
        {"{\"parameters\":{\"a\":{\"range\":[1,1e9,1]}}}", "range: 1000000000 values; at most"},
        {"{\"parameters\":{\"a\":{\"range\":[-9e18,9e18,1e-300]}}}", "values; at most"},
        {"{\"parameters\":{\"a\":{\"range\":[-9223372036854775807,9223372036854775807]}}}",
         "values; at most"},
        {"{\"parameters\":{\"a\":{\"range\":[\"1\",2]}}}", "range: item 1 is not a number"},
        {"{\"parameters\":{\"a\":{\"range\":[1]}}}", "range: not [from, to]"},
        {"{\"parameters\":{\"a\":{\"powers_of_two\":[3,8]}}}", "powers_of_two: not [from, to]"},
        {"{\"parameters\":{\"a\":{\"powers_of_two\":[8,4]}}}", "powers_of_two: not [from, to]"},
        {"{\"parameters\":{\"a\":{\"values\":[1],\"else\":2}}}", "else without when"},
        {"{\"parameters\":{\"a\":{\"values\":[1],\"when\":1}}}", "parameter a: when: not a text"},
        {"{\"parameters\":{\"a\":{\"values\":[1],\"when\":\"b\"}}}",
         "parameter a: when: column 1: there is no parameter b"},
        {"{\"parameters\":{\"a\":{\"values\":[1],\"when\":\"b\"},"
         "\"b\":{\"values\":[1],\"when\":\"a\"},\"c\":[1]}}",
         "depend on each other in a circle: a, b"},
        {"{\"parameters\":{\"a\":[1]},\"constraints\":\"a\"}", "is not a list of texts"},
        {"{\"parameters\":{\"a\":[1]},\"constraints\":[\"a\",1]}", "constraint 2 is not a text"},
        {"{\"parameters\":{\"a\":[1]},\"constraints\":[\"a <\"]}",
         "constraint 1 \"a <\": column 4: a value is missing at the end"},
        {"{\"parameters\":{\"a\":[1]},\"constraints\":[\"1 < 2\"]}", "no parameter stands in it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuse(rows[i].text, rows[i].why);
}

static void contradictions_are_blamed_on_the_right_ones(void **state)
{
    (void)state;
    refuse("{\"parameters\":{\"a\":[1,2],\"b\":[1,2]},"
           "\"constraints\":[\"a > 0\",\"a + b > 9\",\"b > 0\"]}",
           "no configuration is left: constraint 2 \"a + b > 9\" holds for none");
    refuse("{\"parameters\":{\"a\":[1,2],\"b\":[1,2]},"
           "\"constraints\":[\"a > b\",\"a > 0\",\"b > a\"]}",
           "constraint 1 \"a > b\" and constraint 3 \"b > a\" contradict each other");
    refuse("{\"parameters\":{\"a\":[1,2],\"b\":[1,2]},\"constraints\":[\"a / (b - b) > 1\"]}",
           "constraint 1 \"a / (b - b) > 1\" can never be computed (division by zero)");
    refuse("{\"parameters\":{\"a\":[\"x\"]},\"constraints\":[\"a < 3\"]}",
           "can never be computed (a text where a number is needed)");
    refuse("{\"parameters\":{\"a\":[1,2,3,4,5]},\"constraints\":[\"a != 1\",\"a != 2\",\"a != 3\","
           "\"a != 4\",\"a != 5\"]}",
           "\"a != 4\" and 1 more contradict each other");
}

static void too_large_ones_end_early(void **state)
{
    rp_autobuf text = {0};

    (void)state;
    refuse("{\"parameters\":{\"a\":{\"range\":[1,1000]},\"b\":{\"range\":[1,1000]},"
           "\"c\":{\"range\":[1,1000]}}}",
           "1000000000 configurations, more than 10000000; add constraints, or give fewer values");
    rp_buf_puts(&text, "{\"parameters\":{");
    for (int i = 0; i < 257; i++)
        rp_buf_printf(&text, "%s\"p%d\":[0,1]", i ? "," : "", i);
    rp_buf_puts(&text, "}}");
    refuse(rp_buf_text(&text), "more than 256 parameters");
}

static void hostile_texts_are_values_like_others(void **state)
{
    static const char text[] =
        "{\"parameters\":{\"a\":[\"'; rm -rf / #\",\"$(id)\\n`id`\",\"%s%n\",\"\"]},"
        "\"constraints\":[\"a != '%d' and a != '$(x)'\"]}";
    struct rp_space *space = parse(text, NULL);

    (void)state;
    assert_int_equal(space->count, 4);
    assert_string_equal(rp_space_value(space, 1, 0)->text, "$(id)\n`id`");
    rp_space_free(space);
}

static void hear(void *context, uint64_t tried, uint64_t most, size_t found)
{
    uint64_t *last = context;

    assert_true(tried > *last && tried < most);
    assert_true(found < 100);
    *last = tried;
}

/* A constraint of all parameters prunes nothing: who waits hears how far it is. */
static void long_enumerations_are_heard_of(void **state)
{
    static const char text[] = "{\"parameters\":{\"a\":[0,1,2,3,4,5,6,7,8,9,10,11],"
                               "\"b\":[0,1,2,3,4,5,6,7,8,9,10,11],"
                               "\"c\":[0,1,2,3,4,5,6,7,8,9,10,11],"
                               "\"d\":[0,1,2,3,4,5,6,7,8,9,10,11],"
                               "\"e\":[0,1,2,3,4,5,6,7,8,9,10,11],"
                               "\"f\":[0,1,2,3,4,5,6,7,8,9,10,11]},"
                               "\"constraints\":[\"a + b + c + d + e + f == 64\"]}";
    uint64_t last = 0;
    const struct rp_enumerate_watch watch = {hear, &last};
    struct rp_err err = RP_ERR_INIT;
    struct rp_space *space;

    (void)state;
    assert_int_equal(space_parse(text, strlen(text), NULL, &watch, &space, NULL, &err), 0);
    assert_int_equal(space->count, 21);
    assert_true(last == 3 << 20);
    rp_space_free(space);
}

static void files(void **state)
{
    char path[] = "/tmp/rp-space-XXXXXX";
    struct rp_err err = RP_ERR_INIT;
    struct rp_space *space;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "{\"a\":[1,2]}", 11), 11);
    close(fd);
    assert_int_equal(rp_space_read(path, NULL, NULL, &space, NULL, &err), 0);
    assert_int_equal(space->count, 2);
    rp_space_free(space);
    unlink(path);
    assert_int_equal(rp_space_read(path, NULL, NULL, &space, NULL, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, path));
}

/* The examples of docs/format/search-space.md give what stands behind them. */

/** @param says  what stands behind the example */
static void check_document(const char *example, size_t bytes, const char *says)
{
    struct rp_space *space = NULL;
    struct rp_err err = RP_ERR_INIT;
    const int rc = space_parse(example, bytes, NULL, NULL, &space, NULL, &err);
    const char *expected;
    char count[80];

    if (strncmp(says, "gives ", 6) == 0) {
        if (rc < 0)
            fail_msg("%.60s…: %s", example, err.text);
        snprintf(count, sizeof count, "gives %zu configurations.", space->count);
        if (strncmp(says, count, strlen(count)) != 0)
            fail_msg("%.60s…: %s", example, count);
        rp_space_free(space);
        return;
    }
    assert_int_equal(strncmp(says, "fails: ", 7), 0);
    assert_int_equal(rc, -RP_BAD_INPUT);
    expected = says + 7;
    if (strncmp(err.text, expected, strcspn(expected, "\n")) != 0)
        fail_msg("%.60s…: %s", example, err.text);
}

static void examples(void **state)
{
    static const char begin[] = "\n```json\n", end[] = "\n```\n";
    rp_autofree char *path =
        rp_path_join(getenv("RP_TEST_DATA"), "../../docs/format/search-space.md");
    rp_autofree char *text = rp_read_text(path, 1 << 20);
    const char *at = text;
    int count = 0;

    (void)state;
    assert_non_null(text);
    while ((at = strstr(at, begin))) {
        const char *example = at + sizeof begin - 1, *behind = strstr(example, end);

        assert_non_null(behind);
        at = behind + sizeof end - 1;
        check_document(example, (size_t)(behind - example), at);
        count++;
    }
    assert_int_equal(count, 4);
}

/* T1: lists of values as Python writes them, spaces that are read, and spaces that are written. */

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

        if (values_parse(rows[i].text, &values, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        for (size_t k = 0; k < values.count; k++) {
            rp_value_text(&values.list[k], &found);
            rp_buf_puts(&found, " ");
        }
        assert_string_equal(rp_buf_text(&found), rows[i].values);
        value_list_free(&values);
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

        if (values_parse(rows[i].text, &values, &err) != -RP_BAD_INPUT)
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
    if (space_parse(text, strlen(text), NULL, NULL, &space, NULL, &err) < 0)
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
            space_parse(rows[i].text, strlen(rows[i].text), NULL, NULL, &space, NULL, &err),
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

    if (space_parse(text, strlen(text), NULL, NULL, &space, &rules, err) < 0)
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
        assert_int_equal(space_parse(text, strlen(text), NULL, NULL, &space, NULL, &err), 0);
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
        cmocka_unit_test(lists),
        cmocka_unit_test(values_of_a_parameter),
        cmocka_unit_test(constraints),
        cmocka_unit_test(conditions),
        cmocka_unit_test(what_cannot_be_computed_is_left_out),
        cmocka_unit_test(pruning_loses_nothing),
        cmocka_unit_test(a_full_product_that_is_mostly_forbidden_is_quick),
        cmocka_unit_test(what_is_no_space),
        cmocka_unit_test(contradictions_are_blamed_on_the_right_ones),
        cmocka_unit_test(too_large_ones_end_early),
        cmocka_unit_test(hostile_texts_are_values_like_others),
        cmocka_unit_test(long_enumerations_are_heard_of),
        cmocka_unit_test(files),
        cmocka_unit_test(examples),
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
