#include "experiment/output_compare.h"

#include <string.h>

#include "unit/cmocka_all.h"

static struct rp_output_text of(const char *text)
{
    return (struct rp_output_text){.text = text, .bytes = strlen(text)};
}

static void the_first_line_that_differs_is_found(void **state)
{
    static const struct {
        const char *before, *after;
        double relative, absolute;
        size_t line;
    } rows[] = {
        {"", "", 0, 0, 0},
        {"a\nb\n", "a\nb\n", 0, 0, 0},
        {"a\nb\n", "a\nc\n", 0, 0, 2},
        {"a\n", "a", 0, 0, 2},
        {"a\n", "a\nb\n", 0, 0, 2},
        {"a\nb\n", "a\n", 1, 0, 2},
        {"", "a\n", 1, 1, 1},
        {"x 1.0\n", "x 1.1\n", 0, 0, 1},
        {"x 1.0\n", "x 1.1\n", 0.2, 0, 0},
        {"x 1.0\n", "x 1.1\n", 0.05, 0, 1},
        {"x 1.0\n", "x 1.1\n", 0, 0.2, 0},
        {"x   1.0\n", "x 1.0 \r\n", 1e-9, 0, 0},
        {"x  1.0\n", "x 1.0\n", 0, 0, 1},
        {"sum -0.5e3;\n", "sum -501;\n", 0.01, 0, 0},
        {"sum 1\n", "sum -1\n", 0.5, 0, 1},
        {"sum 1\n", "total 1\n", 1, 1e9, 1},
        {"sum 1 2\n", "sum 1\n", 1, 1e9, 1},
        {"nan\n", "nan\n", 0.1, 0, 0},
        {"1 nan\n", "1 inf\n", 0.1, 0, 1},
        {"-nan 1.00\n", "-nan 1.01\n", 0.1, 0, 0},
        {"-inf 1.00\n", "-1e9 1.01\n", 0.1, 0, 1},
        {"inference 1.00\n", "inference 1.01\n", 0.1, 0, 0},
        {"1e999\n", "2e999\n", 0.1, 0, 1},
        {"a\n", "a", 0.1, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rp_output_bound bound = {rows[i].relative, rows[i].absolute};

        if (rp_output_first_difference(of(rows[i].before), of(rows[i].after), &bound) !=
            rows[i].line)
            fail_msg("row %zu", i);
        if (rp_output_first_difference(of(rows[i].after), of(rows[i].before), &bound) !=
            rows[i].line)
            fail_msg("row %zu, the other way round", i);
    }
}

static void a_zero_byte_is_compared(void **state)
{
    const struct rp_output_text a = {"1\0a\n", 4}, b = {"1\0b\n", 4};
    const struct rp_output_bound bound = {1, 1e9};

    (void)state;
    assert_int_equal(rp_output_first_difference(a, b, &bound), 1);
    assert_int_equal(rp_output_first_difference(a, a, &bound), 0);
}

static void a_line_is_found_by_its_number(void **state)
{
    (void)state;
    assert_int_equal(rp_output_line(of("ab\nc\n"), 1).bytes, 2);
    assert_memory_equal(rp_output_line(of("ab\nc"), 2).text, "c", 1);
    assert_int_equal(rp_output_line(of("ab\nc\n"), 9).bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_that_differs_is_found),
        cmocka_unit_test(a_zero_byte_is_compared),
        cmocka_unit_test(a_line_is_found_by_its_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
