/* One unit for a column: digits of the largest, carries of rounding, what must not become 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#include "unit/cmocka_all.h"

static struct rp_unit column(enum rp_unit_kind kind, const double *values, size_t count)
{
    struct rp_unit_span span = {0};

    for (size_t i = 0; i < count; i++)
        rp_unit_span_add(&span, values[i]);
    return rp_unit_of(kind, span, true);
}

static void a_figure_has_four_digits_and_its_own_unit(void **state)
{
    static const struct {
        enum rp_unit_kind kind;
        double value;
        const char *text;
    } cases[] = {
        {RP_UNIT_TIME, 0, "0 ns"},
        {RP_UNIT_TIME, 1, "1 ns"},
        {RP_UNIT_TIME, 999, "999 ns"},
        {RP_UNIT_TIME, 0.000641 * 1e6, "641 ns"},
        {RP_UNIT_TIME, 0.25, "0.250 ns"},
        {RP_UNIT_TIME, 640.25, "640.3 ns"},
        {RP_UNIT_TIME, 1330, "1.330 us"},
        {RP_UNIT_TIME, 13300, "13.30 us"},
        {RP_UNIT_TIME, 133000, "133.0 us"},
        {RP_UNIT_TIME, -1330, "-1.330 us"},
        {RP_UNIT_TIME, 181.25e6, "181.3 ms"},
        {RP_UNIT_TIME, 5e9, "5.000 s"},
        {RP_UNIT_TIME, 86400e9, "86400 s"},
        {RP_UNIT_TIME, 1e-9, "<0.001 ns"},
        {RP_UNIT_TIME, -1e-9, ">-0.001 ns"},
        {RP_UNIT_TIME, 1e300, "huge s"},
        {RP_UNIT_BYTES, 0, "0 B"},
        {RP_UNIT_BYTES, 1023, "1023 B"},
        {RP_UNIT_BYTES, 65536, "64 KiB"},
        {RP_UNIT_BYTES, 1040, "1.016 KiB"},
        {RP_UNIT_BYTES, 206e9, "191.9 GiB"},
        {RP_UNIT_FLOPS, 163.4e12, "163.4 TFLOP/s"},
        {RP_UNIT_FLOPS, 1307.4e12, "1307 TFLOP/s"},
        {RP_UNIT_FLOPS, 2500, "2.500 kFLOP/s"},
        {RP_UNIT_RATE, 5325e9, "5.325 TB/s"},
        {RP_UNIT_RATE, 53.25e9, "53.25 GB/s"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(rp_unit_one(cases[i].kind, cases[i].value, false).text, cases[i].text);
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, NAN, false).text, "? ns");
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, 1330, true).text, "1.330 µs");
}

static void rounding_carries_into_the_next_digit_and_unit(void **state)
{
    (void)state;
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, 999960, false).text, "1.000 ms");
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, 999940, false).text, "999.9 us");
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, 999.96, false).text, "1.000 us");
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, 9.9996, false).text, "10.00 ns");
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, 99999600, false).text, "100.0 ms");
    assert_string_equal(rp_unit_one(RP_UNIT_TIME, 999960e6, false).text, "1000 s");
    assert_string_equal(rp_unit_one(RP_UNIT_BYTES, 1023.96 * 1024, false).text, "1.000 MiB");
    assert_string_equal(rp_unit_one(RP_UNIT_BYTES, 1000 * 1024 + 100, false).text, "1000 KiB");
    assert_string_equal(rp_unit_one(RP_UNIT_RATE, 999.96e9, false).text, "1.000 TB/s");
}

static void a_column_has_the_unit_of_its_largest(void **state)
{
    static const double nine_decades[] = {5, 0, 5e9, 2e6, -7}, whole[] = {3, 640},
                        mean[] = {3, 640.5};
    struct rp_unit unit = column(RP_UNIT_TIME, nine_decades, 5);

    (void)state;
    assert_string_equal(unit.name, "s");
    assert_string_equal(rp_unit_number(unit, 5e9).text, "5.000");
    assert_string_equal(rp_unit_number(unit, 2e6).text, "0.002");
    assert_string_equal(rp_unit_number(unit, 5).text, "<0.001");
    assert_string_equal(rp_unit_number(unit, -7).text, ">-0.001");
    assert_string_equal(rp_unit_number(unit, 0).text, "0.000");
    assert_string_equal(rp_unit_number(unit, NAN).text, "?");
    unit = column(RP_UNIT_TIME, whole, 2);
    assert_string_equal(rp_unit_number(unit, 3).text, "3");
    unit = column(RP_UNIT_TIME, mean, 2);
    assert_string_equal(rp_unit_number(unit, 3).text, "3.0");
}

static void what_is_no_number_chooses_no_unit(void **state)
{
    static const double some[] = {NAN, 1330, INFINITY}, none[] = {NAN, -INFINITY};

    (void)state;
    assert_string_equal(column(RP_UNIT_TIME, some, 3).name, "µs");
    assert_string_equal(column(RP_UNIT_TIME, none, 2).name, "ns");
    assert_string_equal(column(RP_UNIT_TIME, NULL, 0).name, "ns");
    assert_string_equal(column(RP_UNIT_RATE, none, 2).name, "GB/s");
    assert_string_equal(rp_unit_one(RP_UNIT_FLOPS, 0, true).text, "0 GFLOP/s");
    assert_string_equal(rp_unit_number(column(RP_UNIT_TIME, some, 3), INFINITY).text, "huge");
}

static void figures_that_are_compared_are_told_apart(void **state)
{
    struct rp_unit_span span = {0}, same = {0}, close = {0};
    struct rp_unit unit;

    (void)state;
    rp_unit_span_add_both(&span, 3500120.5, 3500240);
    unit = rp_unit_of(RP_UNIT_TIME, span, false);
    assert_string_equal(rp_unit_number(unit, 3500120.5).text, "3.50012");
    assert_string_equal(rp_unit_number(unit, 3500240).text, "3.50024");
    rp_unit_span_add_both(&same, 3500000, 3500000);
    assert_string_equal(rp_unit_number(rp_unit_of(RP_UNIT_TIME, same, false), 3500000).text,
                        "3.500");
    rp_unit_span_add_both(&close, 1.5, 1.5 + 1e-12);
    assert_string_equal(rp_unit_number(rp_unit_of(RP_UNIT_TIME, close, false), 1.5).text,
                        "1.500000");
}

static void a_heading_is_as_wide_with_a_letter_of_two_bytes(void **state)
{
    const struct rp_unit ascii = {"us", 1e3, 3}, greek = {"µs", 1e3, 3};

    (void)state;
    assert_string_equal(rp_unit_heading("total", ascii, 14).text, "      total us");
    assert_string_equal(rp_unit_heading("total", greek, 14).text, "      total µs");
    assert_string_equal(rp_unit_heading("", greek, 4).text, "  µs");
    assert_string_equal(rp_unit_heading("total", greek, 3).text, "total µs");
}

static void set_or_not(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void the_locale_says_whether_there_is_more_than_ascii(void **state)
{
    static const struct {
        const char *all, *ctype, *lang;
        bool utf8;
    } cases[] = {
        {NULL, NULL, NULL, false},
        {NULL, NULL, "C.UTF-8", true},
        {"", "", "de_DE.utf8", true},
        {"C", NULL, "C.UTF-8", false},
        {NULL, "en_US.UTF-8@euro", "C", true},
        {NULL, NULL, "de_DE.ISO-8859-1", false},
        {"POSIX", "C.UTF-8", "C.UTF-8", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_or_not("LC_ALL", cases[i].all);
        set_or_not("LC_CTYPE", cases[i].ctype);
        set_or_not("LANG", cases[i].lang);
        assert_int_equal(rp_locale_is_utf8(), cases[i].utf8);
    }
}

static void one_has_no_ending(void **state)
{
    (void)state;
    assert_string_equal(rp_plural(0), "s");
    assert_string_equal(rp_plural(1), "");
    assert_string_equal(rp_plural(2), "s");
}

/** Ratios are told one way only. */
static void changes_of_speed_are_told(void **state)
{
    static const struct {
        double speedup;
        const char *text;
    } rows[] = {
        {2.13, "2.1x faster"},
        {12.04, "12.0x faster"},
        {250, "250x faster"},
        {1.5, "1.50x faster"},
        {1.0234, "1.023x faster"},
        {1.0012, "1.0012x faster"},
        {1, "equally fast"},
        {1.00001, "equally fast"},
        {0.5, "2.0x slower"},
        {1 / 1.31, "1.31x slower"},
        {0, "?"},
        {-1, "?"},
        {NAN, "?"},
        {INFINITY, "?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(rp_speed_change(rows[i].speedup).text, rows[i].text);
    assert_string_equal(rp_speed_range(1.3, 1.6).text, "1.30x to 1.60x faster");
    assert_string_equal(rp_speed_range(0.5, 0.8).text, "1.25x to 2.00x slower");
    assert_string_equal(rp_speed_range(0.98, 1.01).text, "1.020x slower to 1.010x faster");
    assert_string_equal(rp_speed_range(1, 1.25).text, "equally fast to 1.25x faster");
    assert_string_equal(rp_speed_range(1.25, 1.25).text, "1.25x faster");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_of_speed_are_told),
        cmocka_unit_test(one_has_no_ending),
        cmocka_unit_test(a_figure_has_four_digits_and_its_own_unit),
        cmocka_unit_test(rounding_carries_into_the_next_digit_and_unit),
        cmocka_unit_test(a_column_has_the_unit_of_its_largest),
        cmocka_unit_test(what_is_no_number_chooses_no_unit),
        cmocka_unit_test(figures_that_are_compared_are_told_apart),
        cmocka_unit_test(a_heading_is_as_wide_with_a_letter_of_two_bytes),
        cmocka_unit_test(the_locale_says_whether_there_is_more_than_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
