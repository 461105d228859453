/* How the program launches a kernel with a candidate: what is made of captures that cannot be had,
 * and of workgroups of other sizes. A script stands for isolate. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/session_parts.h"

#include "experiment/child_run.h"
#include "unit/scratch.h"

#include "optimize/session_launch.c"

/** @param end_ns of the budget; 0: there is none. @return of capture_launches */
static int capture(const char *script, int64_t end_ns, struct rp_decision *decision)
{
    rp_autofree char *self = scratch_script("rocm-perf", script);
    rp_autofree char *folder = rp_path_join(scratch_dir, "launches");
    char name[] = "k", program[] = "app";
    char *argv[] = {program, NULL};
    const struct rp_kernel_facts facts = {.name = name, .symbol = name};
    struct rp_captured captured = {.number = 1, .workgroup = {16, 1, 1}};
    const struct rp_session_candidate tried = {.workgroup = 256};
    struct rp_session_launch launch = {.program = program};
    struct rp_session s = {.patience = {.end_ns = end_ns}};
    struct rp_kernel_run run = {
        .s = &s, .facts = &facts, .captures = {.list = &captured, .count = 1}};
    struct rp_err err = RP_ERR_INIT;

    s.measure = (struct rp_child_context){
        .self = self, .folder = scratch_dir, .program = argv, .patience = &s.patience};
    *decision = (struct rp_decision){.outcome = RP_OUTCOME_COUNT};
    return capture_launches(&run, &tried, folder, &launch, decision, &err);
}

static void a_capture_that_cannot_be_had_ends_the_candidate_and_not_the_session(void **state)
{
    static const struct {
        enum rp_code status;
        int rc;
    } rows[] = {
        {RP_VERDICT, 0}, {RP_PROGRAM, 0}, {RP_BAD_INPUT, 0}, {RP_ENVIRONMENT, -RP_ENVIRONMENT}};
    struct rp_decision decision;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autofree char *script =
            rp_format("#!/bin/sh\necho planted\nexit %d\n", (int)rows[i].status);

        assert_int_equal(capture(script, 0, &decision), rows[i].rc);
        assert_int_equal(decision.outcome, rows[i].rc ? RP_OUTCOME_COUNT : RP_OUTCOME_UNFIT);
        if (!rows[i].rc)
            assert_non_null(strstr(decision.reason, "planted"));
    }
    /* The end of the budget is no verdict. */
    assert_true(capture("#!/bin/sh\nexec sleep 1000\n", 1, &decision) < 0);
    assert_int_equal(decision.outcome, RP_OUTCOME_COUNT);
}

static void workgroups_have_the_promised_size(void **state)
{
    static const struct {
        uint64_t of_all; /* the largest ones before, captured or not */
        uint32_t captured, launched, promised;
        bool fits;
    } rows[] = {
        {16, 16, 256, 256, true},  {0, 16, 256, 256, true},
        {16, 16, 16, 256, false},  {8, 8, 64, 32, false}, /* dim3(B, B) */
        {64, 16, 64, 256, true},                          /* the largest ones are not captured */
        {64, 16, 256, 256, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_captured list[] = {
            {.workgroup = {1, 1, 1}, .launched = {1, 1, 1}},
            {.workgroup = {rows[i].captured, 1, 1}, .launched = {rows[i].launched, 1, 1}}};
        const struct rp_captures captures = {
            .list = list, .count = 2, .largest_items = rows[i].of_all};
        const struct rp_kernel_run run = {.captures = captures};
        const struct rp_session_candidate tried = {.workgroup = rows[i].promised};
        struct rp_decision decision = {.outcome = RP_OUTCOME_COUNT};

        assert_int_equal(check_sizes(&run, &tried, &captures, &decision), rows[i].fits);
        assert_int_equal(decision.outcome, rows[i].fits ? RP_OUTCOME_COUNT : RP_OUTCOME_UNFIT);
    }
}

static void what_was_captured_is_removed_whoever_has_left_it(void **state)
{
    rp_autofree char *hsaco = rp_path_join(scratch_dir, "candidate-1.hsaco");
    rp_autofree char *captures = rp_format("%s.launches", hsaco);
    rp_autofree char *own = rp_path_join(captures, "own");
    struct rp_session_candidate tried = {.hsaco = rp_strdup(hsaco), .workgroup = 256};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_mkdirs(own, &err), 0);
    rp_session_candidate_free(&tried);
    assert_false(rp_path_exists(captures));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_that_cannot_be_had_ends_the_candidate_and_not_the_session),
        cmocka_unit_test(workgroups_have_the_promised_size),
        cmocka_unit_test(what_was_captured_is_removed_whoever_has_left_it),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
