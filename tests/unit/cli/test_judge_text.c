/* What people read of a comparison says no more than it shows. */
#include "cli/judge_text.h"

#include "base/buf.h"
#include "report/report.h"

#include "unit/cmocka_all.h"

/** @param comparison of one geometry, with ' in place of " */
static char *text_of(const char *comparison, const char *reason)
{
    struct rp_term_style style = {0};
    rp_autobuf out = {0}, json = {0};
    struct rp_page page = rp_page_of_words(&out, style);
    json_t *list;

    rp_buf_printf(&json, "[{'geometry': 'grid 1', 'reason': %s, 'comparison': %s}]", reason,
                  comparison);
    for (char *at = json.data; *at; at++)
        if (*at == '\'')
            *at = '"';
    list = json_loads(rp_buf_text(&json), 0, NULL);
    assert_non_null(list);
    rp_judge_text_comparisons(&page, list);
    json_decref(list);
    return rp_buf_steal(&out);
}

static void check(const char *comparison, const char *reason, const char *expected)
{
    char *text = text_of(comparison, reason);

    assert_string_equal(text, expected);
    free(text);
}

#define RIGHT "{'verdict': 'faster', 'a': {'median_us': 2}, 'b': {'median_us': 1, 'other_inputs': {"

static void rounding_is_not_the_same(void **state)
{
    (void)state;
    check(RIGHT "'numbers': {'tried': true}}}, 'rule': {'compare': 'exact', 'rounding': null}}",
          "null",
          "  grid 1: 2.000 -> 1.000 µs; the same with the captured inputs and with 1 kind of "
          "others\n");
    check(RIGHT "}}, 'rule': {'compare': 'exact', 'rounding': {'largest': 4.6e-05, 'allowed': "
                "2.7e-04}}}",
          "null",
          "  grid 1: 2.000 -> 1.000 µs; right with the captured inputs and with 0 kinds of others; "
          "changes rounding: largest difference 4.6e-05, allowed 0.00027\n");
    check(RIGHT "}}, 'rule': {'compare': 'f32,ulp=20', 'rounding': null}}", "null",
          "  grid 1: 2.000 -> 1.000 µs; the same (f32,ulp=20) with the captured inputs and with 0 "
          "kinds of others\n");
}

static void what_was_not_compared_is_told(void **state)
{
    (void)state;
    check(RIGHT "'zeros': {'tried': false, 'reason': 'it varies'},"
                "'fields': {'tried': false, 'reason': 'it is built in'},"
                "'few': {'tried': false, 'reason': 'the captured kernel gives the same with them'},"
                "'signs': {'tried': false, 'reason': 'it varies'}}}}",
          "null",
          "  grid 1: 2.000 -> 1.000 µs; the same with the captured inputs and with 0 kinds of "
          "others\n"
          "  not compared with inputs of other signs and sizes, with numbers in place of zeros: it "
          "varies\n"
          "  not compared with other values in structures that are passed: it is built in\n");
    check(RIGHT "'reason': 'it took too long', 'zeros': {'tried': false, 'reason': 'it took too "
                "long'}}}}",
          "null",
          "  grid 1: 2.000 -> 1.000 µs; the same with the captured inputs and with 0 kinds of "
          "others\n"
          "  not compared with other inputs: it took too long\n");
}

#define WRONG(type, got, expected)                                                                 \
    "{'verdict': 'different output', 'b': {'first_difference': {'argument': 2, 'element': 0, "     \
    "'type': '" type "', 'values': ['" got "', '" expected "']}, "                                 \
    "'other_inputs': {'reason': 'it is wrong'}}, 'rule': {'compare': 'exact'}}"

#define LAUNCHED "    both were launched as the program launches the original\n"

static void what_is_wrong_is_shown(void **state)
{
    (void)state;
    check(WRONG("i32", "19", "16"), "'it differs'",
          "  grid 1; it differs\n    argument 2, element 0: 19 in place of 16 (compared: "
          "exact)\n" LAUNCHED);
    check(WRONG("f32", "64.1062622", "64.1062546"), "'it differs'",
          "  grid 1; it differs\n    argument 2, element 0: 64.1062622 in place of 64.1062546 "
          "(compared: exact); where rounding may differ so much, --compare rel=1e-5 allows for "
          "it\n" LAUNCHED);
    check("{'verdict': 'different output', 'b': {'first_difference': null, 'other_inputs': "
          "{'first_difference': {'argument': null, 'element': null, 'address': '0x10', 'type': "
          "'f32', 'values': ['1', 'nan']}}}}",
          "'it differs'", "  grid 1; it differs\n    at 0x10: 1 in place of nan\n" LAUNCHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_not_the_same),
        cmocka_unit_test(what_was_not_compared_is_told),
        cmocka_unit_test(what_is_wrong_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
