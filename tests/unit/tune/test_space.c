/* Spaces built by hand: what can be added, what is found again, and by which name. */
#include "tune/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "unit/cmocka_all.h"

#define INTEGER(n)                                                                                 \
    {                                                                                              \
        .kind = RP_VALUE_INTEGER, .integer = (n)                                                   \
    }
#define REAL(x)                                                                                    \
    {                                                                                              \
        .kind = RP_VALUE_REAL, .real = (x)                                                         \
    }
#define BOOLEAN(b)                                                                                 \
    {                                                                                              \
        .kind = RP_VALUE_BOOLEAN, .boolean = (b)                                                   \
    }
#define TEXT(t)                                                                                    \
    {                                                                                              \
        .kind = RP_VALUE_TEXT, .text = (t)                                                         \
    }

static const struct rp_value sizes[] = {INTEGER(16), INTEGER(32), INTEGER(64)};
static const struct rp_value kinds[] = {TEXT("a \"b\""), REAL(0.5), BOOLEAN(true), INTEGER(1),
                                        REAL(1)};

static struct rp_space *two_parameters(void)
{
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;

    assert_non_null(space);
    assert_int_equal(rp_space_add_parameter(space, "size", sizes, 3, &err), 0);
    assert_int_equal(rp_space_add_parameter(space, "kind", kinds, 5, &err), 0);
    return space;
}

static void configurations_are_found_again(void **state)
{
    struct rp_space *space = two_parameters();
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (uint16_t i = 0; i < 3; i++)
        for (uint16_t j = 0; j < 5; j++)
            assert_int_equal(rp_space_add(space, (uint16_t[]){i, j}, &err), 0);
    assert_int_equal(rp_space_add(space, (uint16_t[]){1, 2}, &err), 1);
    assert_int_equal(rp_space_add(space, (uint16_t[]){1, RP_NO_VALUE}, &err), 0);
    assert_int_equal(space->count, 16);
    assert_int_equal(rp_space_find(space, (uint16_t[]){1, 2}), 7);
    assert_int_equal(rp_space_find(space, (uint16_t[]){2, RP_NO_VALUE}), -1);
    assert_int_equal(rp_space_value(space, 7, 0)->integer, 32);
    assert_null(rp_space_value(space, 15, 1));
    rp_space_free(space);
}

static void many_are_found_again(void **state)
{
    enum { SIDE = 200 };
    struct rp_space *space = rp_space_new();
    struct rp_value values[SIDE];
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (int i = 0; i < SIDE; i++)
        values[i] = (struct rp_value)INTEGER(i);
    assert_int_equal(rp_space_add_parameter(space, "x", values, SIDE, &err), 0);
    assert_int_equal(rp_space_add_parameter(space, "y", values, SIDE, &err), 0);
    for (uint16_t i = 0; i < SIDE; i++)
        for (uint16_t j = 0; j < SIDE; j++)
            assert_int_equal(rp_space_add(space, (uint16_t[]){i, j}, &err), 0);
    for (uint16_t i = 0; i < SIDE; i++)
        for (uint16_t j = 0; j < SIDE; j++)
            assert_int_equal(rp_space_find(space, (uint16_t[]){i, j}), i * SIDE + j);
    rp_space_free(space);
}

static void names_do_not_depend_on_order(void **state)
{
    static const struct rp_value turned[] = {INTEGER(64), INTEGER(16)};
    struct rp_space *a = two_parameters(), *b = rp_space_new();
    struct rp_err err = RP_ERR_INIT;
    char *name_a, *name_b;

    (void)state;
    assert_int_equal(rp_space_add_parameter(b, "kind", kinds, 1, &err), 0);
    assert_int_equal(rp_space_add_parameter(b, "size", turned, 2, &err), 0);
    assert_int_equal(rp_space_add(a, (uint16_t[]){0, 0}, &err), 0);
    assert_int_equal(rp_space_add(b, (uint16_t[]){0, 1}, &err), 0);
    name_a = rp_space_key(a, 0);
    name_b = rp_space_key(b, 0);
    assert_string_equal(name_a, "{\"kind\":\"a \\\"b\\\"\",\"size\":16}");
    assert_string_equal(name_a, name_b);
    free(name_a);
    free(name_b);
    assert_int_equal(rp_space_add(a, (uint16_t[]){0, RP_NO_VALUE}, &err), 0);
    name_a = rp_space_key(a, 1);
    assert_string_equal(name_a, "{\"size\":16}");
    free(name_a);
    rp_space_free(a);
    rp_space_free(b);
}

static void values_as_text(void **state)
{
    static const struct {
        struct rp_value value;
        const char *text;
    } rows[] = {
        {INTEGER(INT64_MIN), "-9223372036854775808"},
        {REAL(0.1), "0.1"},
        {REAL(1), "1.0"},
        {REAL(1e300), "1e+300"},
        {REAL(1000), "1000.0"},
        {REAL(-123456789.5), "-123456789.5"},
        {BOOLEAN(false), "false"},
        {TEXT("$(x)"), "$(x)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autobuf text = {0};

        rp_value_text(&rows[i].value, &text);
        assert_string_equal(rp_buf_text(&text), rows[i].text);
    }
}

static void what_cannot_be_added(void **state)
{
    static const struct rp_value twice[] = {INTEGER(1), INTEGER(1)};
    struct rp_space *space = two_parameters();
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_space_add_parameter(space, "size", sizes, 3, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_space_add_parameter(space, "", sizes, 3, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_space_add_parameter(space, "none", sizes, 0, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_space_add_parameter(space, "twice", twice, 2, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "value 1 is there twice"));
    assert_int_equal(space->parameter_count, 2);
    rp_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations_are_found_again), cmocka_unit_test(many_are_found_again),
        cmocka_unit_test(names_do_not_depend_on_order),   cmocka_unit_test(values_as_text),
        cmocka_unit_test(what_cannot_be_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
