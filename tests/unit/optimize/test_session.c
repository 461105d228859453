/* A session that was not steady is repeated once, and counts; scripts stand for replay compare. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/session_parts.h"
#include "run/machine.h"

#include "unit/scratch.h"

#include "optimize/session.c"

#define RESULT(verdict, by, ratio)                                                                 \
    "{\"verdict\": \"" verdict "\", \"reason\": null, \"undecided_by\": " by                       \
    ", \"a\": {\"median_us\": 20}, \"b\": {\"median_us\": 10}, \"ratio\": " ratio                  \
    ", \"rule\": {\"margin\": 0.02, \"noise\": 0.001, \"alpha\": 0.01}}"
#define UNSTEADY RESULT("undecided", "\"unsteady\"", "null")
#define FASTER   RESULT("faster", "null", "{\"estimate\": 2, \"low\": 1.9, \"high\": 2.1}")
#define BLIND    RESULT("undecided", "\"blind\"", "{\"estimate\": 2, \"low\": 1.9, \"high\": 2.1}")

/**
 * The comparisons of two geometries, when the n-th call of `replay compare` prints the n-th text.
 * @return how often it was called
 */
static unsigned compared(const char *const *texts, struct rp_decision *ret, json_t **ret_json)
{
    rp_autofree char *count = rp_path_join(scratch_dir, "count");
    rp_autofree char *script =
        rp_format("#!/bin/sh\n[ \"$2\" = compare ] || exit 1 # what is faster is counted, too\n"
                  "echo >>%s\ncat %s/$(wc -l <%s).json\n",
                  count, scratch_dir, count);
    rp_autofree char *self = scratch_script("rocm-perf", script);
    rp_autofree char *calls = NULL;
    char a[] = "a", b[] = "b", program[] = "app", hsaco[] = "a.hsaco";
    char *argv[] = {program, NULL};
    struct rp_captured geometries[] = {{.folder = a, .name = a, .weight = 1},
                                       {.folder = b, .name = b, .weight = 1}};
    const struct rp_session_options options = {.least_improvement = 0.02};
    struct rp_run_deadline patience = {0};
    struct rp_session s = {.o = &options,
                           .measure = {.self = self,
                                       .folder = scratch_dir,
                                       .program = argv,
                                       .patience = &patience,
                                       .least_improvement = 0.02}};
    static char kernel[] = "void k() { }";
    struct rp_kernel_source source = {
        .text = kernel, .bytes = sizeof kernel - 1, .end = sizeof kernel - 1, .body_begin = 9};
    struct rp_kernel_run run = {.s = &s,
                                .source = &source,
                                .hsaco = hsaco,
                                .captures = {.list = geometries, .count = 2, .covered = 1}};
    struct rp_err err = RP_ERR_INIT;

    rp_write_file(count, "", 0, &err);
    for (unsigned i = 0; texts[i]; i++) {
        rp_autofree char *path = rp_format("%s/%u.json", scratch_dir, i + 1);

        assert_int_equal(rp_write_file(path, texts[i], strlen(texts[i]), &err), 0);
    }
    assert_int_equal(rp_session_compare(
                         &run,
                         &(struct rp_session_candidate){.hsaco = (char *)"b.hsaco", .text = kernel},
                         false, ret, ret_json, &err),
                     0);
    calls = rp_read_text(count, 100);
    assert_non_null(calls);
    return (unsigned)strlen(calls);
}

static const json_t *unsteady_of(const json_t *comparisons, size_t geometry)
{
    return json_object_get(json_array_get(comparisons, geometry), "unsteady_comparison");
}

static void is_repeated_once(void **state)
{
    struct rp_decision d;
    json_t *json;

    (void)state;
    assert_int_equal(compared((const char *const[]){FASTER, UNSTEADY, FASTER, NULL}, &d, &json), 3);
    assert_int_equal(d.outcome, RP_OUTCOME_FASTER);
    assert_true(fabs(d.error - 0.03) < 1e-12);
    assert_null(unsteady_of(json, 0));
    assert_string_equal(json_string_value(json_object_get(unsteady_of(json, 1), "undecided_by")),
                        "unsteady");
    json_decref(json);
}

static void is_not_repeated_twice(void **state)
{
    struct rp_decision d;
    json_t *json;

    (void)state;
    assert_int_equal(
        compared((const char *const[]){UNSTEADY, UNSTEADY, FASTER, FASTER, NULL}, &d, &json), 3);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(d.reason, "a: unsteady: ", 13), 0);
    json_decref(json);
}

static void what_is_known_is_not_repeated(void **state)
{
    struct rp_decision d;
    json_t *json;

    (void)state;
    assert_int_equal(compared((const char *const[]){FASTER, FASTER, NULL}, &d, &json), 2);
    assert_int_equal(d.outcome, RP_OUTCOME_FASTER);
    assert_true(fabs(d.error - 0.02) < 1e-12);
    json_decref(json);
    assert_int_equal(compared((const char *const[]){FASTER, BLIND, NULL}, &d, &json), 2);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(d.reason, "b: blind capture: ", 18), 0);
    json_decref(json);
}

#define OTHER_INPUTS                                                                               \
    "{\"b\": {\"other_inputs\": {\"equal\": true, \"reason\": null, \"numbers\": {\"tried\": "     \
    "false, "                                                                                      \
    "\"reason\": \"no numbers\"}, \"order\": {\"tried\": true, \"reason\": null}}}}"

static void what_was_not_tried_is_named(void **state)
{
    json_t *comparisons = json_loads("[{\"geometry\": \"a\", \"comparison\": " OTHER_INPUTS
                                     "}, {\"geometry\": \"b\", \"comparison\": " OTHER_INPUTS
                                     "}, {\"geometry\": \"c\", \"kernel\": \"other\", "
                                     "\"comparison\": " OTHER_INPUTS "}]",
                                     0, NULL);
    json_t *expected =
        json_loads("[{\"kernel\": \"k\", \"inputs\": \"numbers\", \"reason\": \"no numbers\", "
                   "\"geometries\": [\"a\", \"b\"]}, {\"kernel\": \"other\", \"inputs\": "
                   "\"numbers\", \"reason\": \"no numbers\", \"geometries\": [\"c\"]}]",
                   0, NULL);
    json_t *list;

    (void)state;
    assert_non_null(comparisons);
    list = rp_session_untried_inputs(comparisons, "k");
    assert_true(json_equal(list, expected));
    json_decref(list);
    list = rp_session_untried_inputs(NULL, "k");
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    json_decref(comparisons);
    json_decref(expected);
}

/** As the journal gives it back, with its keys sorted. */
static void what_was_not_tried_has_one_order(void **state)
{
#define KIND(name) "\"" name "\": {\"tried\": false, \"reason\": \"r\"}"
#define IN(kinds)                                                                                  \
    "[{\"geometry\": \"a\", \"comparison\": {\"b\": {\"other_inputs\": {" kinds "}}}}]"
    json_t *live = json_loads(IN(KIND("signs") "," KIND("bytes") "," KIND("order")), 0, NULL);
    json_t *kept = json_loads(IN(KIND("bytes") "," KIND("order") "," KIND("signs")), 0, NULL);
    json_t *from_live = rp_session_untried_inputs(live, "k");
    json_t *from_kept = rp_session_untried_inputs(kept, "k");

    (void)state;
    assert_int_equal(json_array_size(from_live), 3);
    assert_true(json_equal(from_live, from_kept));
    json_decref(live);
    json_decref(kept);
    json_decref(from_live);
    json_decref(from_kept);
}

/** From the beginning: what is built of the source runs before there is a profile. */
static void patience_is_by_the_device(void **state)
{
    const struct rp_device_identity software = {.software = true}, gpu = {0};
    struct rp_session_options options = {.on = &software};

    (void)state;
    assert_true(session_deadline(&options, 0).modelled);
    options.on = &gpu;
    assert_false(session_deadline(&options, 0).modelled);
}

/* optimize.json of before is not written over by what is none. */
static void a_source_that_is_gone_leaves_the_result(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "optimize.json"), *text = NULL;
    char source[] = "/none/there.hip", original[] = "x";
    const struct rp_session_options options = {.source = source, .folder = scratch_dir};
    struct rp_session s = {.o = &options,
                           .source = source,
                           .original = original,
                           .original_bytes = 1,
                           .accepted = json_array()};
    struct rp_session_result result;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_write_file(path, "{}\n", 3, &err), 0);
    assert_int_equal(finish(&s, 0, &result, &err), -RP_ENVIRONMENT);
    assert_string_equal(err.text, "cannot read /none/there.hip");
    text = rp_read_text(path, 100);
    assert_string_equal(text, "{}\n");
    rp_session_result_free(&result);
    json_decref(s.accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_repeated_once),
        cmocka_unit_test(is_not_repeated_twice),
        cmocka_unit_test(what_is_known_is_not_repeated),
        cmocka_unit_test(what_was_not_tried_is_named),
        cmocka_unit_test(what_was_not_tried_has_one_order),
        cmocka_unit_test(patience_is_by_the_device),
        cmocka_unit_test(a_source_that_is_gone_leaves_the_result),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
