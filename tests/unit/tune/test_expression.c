/* Expressions: what they are worth, what they need, and which texts are none. */
#include "tune/expression.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "unit/cmocka_all.h"

enum { A, B, ZERO, HALF, FLAG, KIND, ABSENT, NAMED, LARGE, COUNT };

/** a 7, b 32, zero 0, half 0.5, flag true, kind "fast", absent without value, block-m 3 */
static struct rp_space *parameters(void)
{
    static const struct {
        const char *name;
        struct rp_value value;
    } rows[COUNT] = {
        [A] = {"a", {.kind = RP_VALUE_INTEGER, .integer = 7}},
        [B] = {"b", {.kind = RP_VALUE_INTEGER, .integer = 32}},
        [ZERO] = {"zero", {.kind = RP_VALUE_INTEGER, .integer = 0}},
        [HALF] = {"half", {.kind = RP_VALUE_REAL, .real = 0.5}},
        [FLAG] = {"flag", {.kind = RP_VALUE_BOOLEAN, .boolean = true}},
        [KIND] = {"kind", {.kind = RP_VALUE_TEXT, .text = "fast"}},
        [ABSENT] = {"absent", {.kind = RP_VALUE_INTEGER, .integer = 1}},
        [NAMED] = {"block-m", {.kind = RP_VALUE_INTEGER, .integer = 3}},
        [LARGE] = {"large", {.kind = RP_VALUE_INTEGER, .integer = INT64_MAX}},
    };
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;

    assert_non_null(space);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(rp_space_add_parameter(space, rows[i].name, &rows[i].value, 1, &err), 0);
    return space;
}

static const uint16_t row[COUNT] = {[ABSENT] = RP_NO_VALUE};

/** The value as text, "absent", or why it fails. */
static void evaluate(const struct rp_space *space, const char *text, struct rp_buf *ret)
{
    struct rp_expression *expression = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_value value;
    const char *why = NULL;

    if (rp_expression_parse(text, space, &expression, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    assert_string_equal(expression->text, text);
    switch (rp_expression_evaluate(expression, space, row, &value, &why)) {
    case RP_EVALUATED:
        rp_value_text(&value, ret);
        break;
    case RP_EVALUATED_ABSENT:
        rp_buf_puts(ret, "absent");
        break;
    case RP_EVALUATED_FAILED:
        rp_buf_puts(ret, why);
        break;
    }
    rp_expression_free(expression);
}

struct row {
    const char *text, *value;
};

static void check_rows(const struct row *rows, size_t count)
{
    struct rp_space *space = parameters();

    for (size_t i = 0; i < count; i++) {
        rp_autobuf value = {0};

        evaluate(space, rows[i].text, &value);
        if (strcmp(rp_buf_text(&value), rows[i].value) != 0)
            fail_msg("%s: %s instead of %s", rows[i].text, rp_buf_text(&value), rows[i].value);
    }
    rp_space_free(space);
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        (void)state;                                                                               \
        check_rows(rows, sizeof rows / sizeof *rows);                                              \
    } while (0)

static void numbers(void **state)
{
    CHECK({"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"10 - 3 - 2", "5"}, {"a * b", "224"},
          {"7 // 2", "3"}, {"-7 // 2", "-4"}, {"7 // -2", "-4"}, {"-7 // -2", "3"}, {"7 % 3", "1"},
          {"-7 % 3", "2"}, {"7 % -3", "-2"}, {"-7 % -3", "-1"}, {"b / 4", "8"}, {"a / 2", "3.5"},
          {"7.5 // 2", "3.0"}, {"-7.5 % 2", "0.5"}, {"2 ** 10", "1024"}, {"2 ** 3 ** 2", "512"},
          {"-2 ** 2", "-4"}, {"(-2) ** 2", "4"}, {"2 ** -1", "0.5"}, {"(-1) ** 1001", "-1"},
          {"(-1) ** 1000", "1"}, {"0 ** 0", "1"}, {"0x20 + 1", "33"}, {"1e3", "1000.0"},
          {".5 + half", "1.0"}, {"flag + flag", "2"}, {"- - 3", "3"}, {"+true", "1"},
          {"min(3, a, b)", "3"}, {"max(half, 0)", "0.5"}, {"max(a)", "7"}, {"abs(a - b)", "25"},
          {"abs(-half)", "0.5"}, {"{block-m} * {a}", "21"},
          {"-9223372036854775807 - 1 < 0", "true"}, {"(-9223372036854775807 - 1) % -1", "0"},
          {"3 * -a", "-21"});
}

static void comparisons(void **state)
{
    CHECK({"a < b", "true"}, {"a >= b", "false"}, {"1 == 1.0", "true"}, {"flag == 1", "true"},
          {"1 < a < b < 100", "true"}, {"1 < a < 5 < 100", "false"}, {"16 <= b <= 16", "false"},
          {"(1 < a) == (2 < b)", "true"}, {"a == 7 != b", "true"}, {"kind == 'fast'", "true"},
          {"kind != \"fast\"", "false"}, {"kind == 1", "false"}, {"kind != 1", "true"},
          {"kind < 'slow'", "true"}, {"a in [1, 7, 9]", "true"}, {"a in (1, 9)", "false"},
          {"a not in [1, 9]", "true"}, {"a in []", "false"}, {"a in [7.0,]", "true"},
          {"kind in ['slow', 'fast']", "true"}, {"a + 1 in [b // 4]", "true"},
          /* a conversion to reals would make these two equal */
          {"9223372036854775807 == 9223372036854775808.0", "false"},
          {"9007199254740993 > 9007199254740992.0", "true"}, {"large < 1e300", "true"},
          {"'it\\'s' == \"it's\"", "true"}, {"'' == ''", "true"}, {"'a\\n\\t' == 'a\n\t'", "true"},
          {"7 < 7.5", "true"}, {"-7 > -7.5", "true"}, {"-8 < -7.5", "true"});
}

static void junctions(void **state)
{
    CHECK({"a == 7 and b == 32", "true"}, {"a == 7 && b == 1", "false"}, {"0 or kind", "true"},
          {"zero || ''", "false"}, {"not a == 8", "true"}, {"not not a", "true"},
          {"!flag", "false"}, {"!zero == true", "true"}, {"1 or 0 and 0", "true"},
          {"(1 or 0) and 0", "false"}, {"1 and 2", "true"}, {"zero and 1 / zero", "false"},
          {"flag or 1 / zero", "true"}, {"a > 9 > 1 / zero", "false"},
          {"a in [7, 1 / zero]", "true"}, {"True and not False", "true"},
          {"1 and 1 and 0 or 0 or 1", "true"});
}

static void what_fails(void **state)
{
    CHECK({"1 / zero", "division by zero"}, {"1 // zero", "division by zero"},
          {"a % zero", "division by zero"}, {"half % 0", "division by zero"},
          {"zero ** -1", "division by zero"}, {"0.0 ** -1", "division by zero"},
          {"large + 1", "a number that does not fit"}, {"large * 2", "a number that does not fit"},
          {"-large - 2", "a number that does not fit"}, {"2 ** 63", "a number that does not fit"},
          {"10 ** 1000000000000", "a number that does not fit"},
          {"1e300 * 1e300", "a number that does not fit"},
          {"(-half) ** half", "a number that does not fit"},
          {"(-large - 1) // -1", "a number that does not fit"},
          {"abs(-large - 1)", "a number that does not fit"},
          {"kind + 1", "a text where a number is needed"},
          {"kind < 1", "a text where a number is needed"},
          {"-kind", "a text where a number is needed"},
          {"min(kind, 1)", "a text where a number is needed"},
          {"abs('x')", "a text where a number is needed"}, {"absent == 1", "absent"},
          {"flag or absent", "true"}, {"flag and absent", "absent"});
}

static void refuse(const struct rp_space *space, const char *text, const char *why)
{
    struct rp_expression *expression;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_expression_parse(text, space, &expression, &err), -RP_BAD_INPUT);
    if (!strstr(err.text, why))
        fail_msg("%s: %s; it does not say: %s", text, err.text, why);
}

static void what_is_no_expression(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "column 1: the expression is empty"},
        {" \n", "the expression is empty"},
        {"a +", "column 4: a value is missing at the end"},
        {"a b", "column 3: an operator is missing"},
        {"a = 7", "column 3: = is not known here; == compares"},
        {"a & 1", "column 3: operations on bits are not known"},
        {"nothing < 1", "column 1: there is no parameter nothing"},
        {"{no thing} < 1", "there is no parameter no thing"},
        {"{a < 1", "column 1: { without }"},
        {"(a < 1", "column 7: ) is missing at the end"},
        {"min(a, )", "column 8: a value is missing here"},
        {"abs(a, b)", "column 6: ) is missing here"},
        {"a in 7", "column 6: behind in there has to be a list"},
        {"a in [1 2]", "column 9: a comma or ] is missing"},
        {"a not 7", "column 7: in is missing here"},
        {"a in [7] == true", "column 10: a list ends a comparison"},
        {"1 < a in [7]", "column 7: put parentheses"},
        {"'abc", "column 1: this text has no closing '"},
        {"'abc\\", "column 1: this text has no closing '"},
        {"'a\\x'", "column 3: in a text, a backslash"},
        {"9223372036854775808", "column 1: a number that does not fit"},
        {"1e999", "a number that does not fit"},
        {"12ab", "column 1: this is no number"},
        {"0x", "this is no number"},
        {"1.2.3", "this is no number"},
        {"a; b", "column 2: this character has no meaning"},
        {"$(a)", "column 1: this character has no meaning"},
        {"a %s b", "column 4: there is no parameter s"},
        {"%n", "column 1: a value is missing here"},
    };
    struct rp_space *space = parameters();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuse(space, rows[i].text, rows[i].why);
    rp_space_free(space);
}

/** before n times, middle, behind n times */
static char *nest(const char *before, const char *middle, const char *behind, size_t n)
{
    rp_autobuf text = {0};

    for (size_t i = 0; i < n; i++)
        rp_buf_puts(&text, before);
    rp_buf_puts(&text, middle);
    for (size_t i = 0; i < n; i++)
        rp_buf_puts(&text, behind);
    return rp_buf_steal(&text);
}

static void deep_and_long_ones(void **state)
{
    static const struct {
        const char *before, *middle, *behind;
        size_t n;
        const char *value; /**< NULL: refused */
    } rows[] = {
        {"(", "a", ")", 90, "7"},
        {"(", "a", ")", 1000000, NULL},
        {"-", "a", "", 180, "7"},
        {"-", "a", "", 1000000, NULL},
        {"not ", "a", "", 1000000, NULL},
        {"2**", "1", "", 1000000, NULL},
        {"", "a", " + 1", 100000, "100007"},
        {"", "a in [1", ",1", 10000, NULL},
        {"a in [1, 1 + 2 * ", "1", "]", 1000000, NULL},
        {"1 < 2 + 3 * (", "1", ")", 90, "true"},
        {"", "1", " and 1", 100000, "true"},
        {"", "1 < 1000000", " < 1000001", 2, "false"},
    };
    struct rp_space *space = parameters();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = nest(rows[i].before, rows[i].middle, rows[i].behind, rows[i].n);
        rp_autobuf value = {0};

        if (!rows[i].value) {
            refuse(space, text, "column");
        } else {
            evaluate(space, text, &value);
            assert_string_equal(rp_buf_text(&value), rows[i].value);
        }
        free(text);
    }
    rp_space_free(space);
}

static void which_parameters_it_needs(void **state)
{
    struct rp_space *space = parameters();
    struct rp_expression *expression;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_expression_parse("kind == 'b' or b + a < b", space, &expression, &err), 0);
    assert_int_equal(expression->parameter_count, 3);
    assert_memory_equal(expression->parameters, ((uint16_t[]){A, B, KIND}), 3 * sizeof(uint16_t));
    rp_expression_free(expression);
    assert_int_equal(rp_expression_parse("1 < 2", space, &expression, &err), 0);
    assert_int_equal(expression->parameter_count, 0);
    rp_expression_free(expression);
    rp_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(junctions),
        cmocka_unit_test(what_fails),
        cmocka_unit_test(what_is_no_expression),
        cmocka_unit_test(deep_and_long_ones),
        cmocka_unit_test(which_parameters_it_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
