/* What becomes of a kernel whose dispatches are not test_captured; a script stands for isolate. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/session_parts.h"

#include "experiment/child_run.h"
#include "unit/scratch.h"

#include "optimize/session_rounds.c"

struct test_captured {
    json_t *json;
    bool budget_over;
    int rc, after; /**< after: what the session makes of it */
};

static void free_captured(struct test_captured *c)
{
    json_decref(c->json);
}

/** A budget whose end_ns is long ago ends what runs at once. */
static struct test_captured capture(const char *script, int64_t end_ns)
{
    rp_autofree char *self = scratch_script("rocm-perf", script);
    rp_autofree char *profile = rp_path_join(scratch_dir, "profile");
    rp_autofree char *folder = rp_path_join(scratch_dir, "captures");
    char program[] = "app", name[] = "k";
    char *argv[] = {program, NULL};
    const struct rp_session_options options = {.folder = scratch_dir};
    const struct rp_kernel_facts facts = {.name = name, .symbol = name};
    struct rp_session s = {.o = &options,
                           .folder = {.path = scratch_dir, .lock = -1},
                           .patience = {.end_ns = end_ns},
                           .program = program};
    struct rp_kernel_run run = {.s = &s, .facts = &facts, .json = json_object()};
    struct test_captured c = {.json = run.json};
    struct rp_err err = RP_ERR_INIT;

    s.measure = (struct rp_child_context){
        .self = self, .folder = scratch_dir, .program = argv, .patience = &s.patience};
    c.rc = session_capture(&run, profile, folder, &err);
    c.after = rp_session_excuse_budget_end(&s, c.rc, &err);
    c.budget_over = s.budget_over;
    return c;
}

static const char *stop_of(const struct test_captured *c)
{
    return json_string_value(json_object_get(c->json, "stop"));
}

static void end_of_budget_is_no_verdict(void **state)
{
    rp_cleanup(free_captured) struct test_captured c = capture("#!/bin/sh\nexec sleep 1000\n", 1);

    (void)state;
    assert_int_equal(c.rc, -RP_VERDICT);
    assert_int_equal(c.after, 0);
    assert_true(c.budget_over);
    assert_string_equal(stop_of(&c), "the time of --budget was over");
}

static void what_cannot_be_captured_is_said(void **state)
{
    rp_cleanup(free_captured) struct test_captured c =
        capture("#!/bin/sh\necho too large\nexit 1\n", 0);

    (void)state;
    assert_int_equal(c.rc, 0);
    assert_false(c.budget_over);
    assert_string_equal(stop_of(&c), "its dispatches cannot be captured: too large");
}

static void only_who_changes_launches_reads_their_constants(void **state)
{
    char text[] = "enum { BLOCK = 64 };\nvoid f() { k<<<8, BLOCK>>>(); }\n", name[] = "k";
    const struct rp_kernel_facts facts = {.name = name};
    const struct rp_proposer *proposer;

    (void)state;
    for (size_t i = 0; (proposer = rp_proposer_at(i)); i++) {
        struct rp_kernel_source source = {.text = text, .bytes = strlen(text), .name = name};
        const struct rp_session_options options = {.proposer = proposer};
        struct rp_session s = {.o = &options};
        struct rp_kernel_run run = {.s = &s, .facts = &facts, .source = &source};
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(find_constants(&run, &err), 0);
        assert_int_equal(source.constant_count, strcmp(proposer->name, "textbook") == 0);
        for (size_t j = 0; j < source.constant_count; j++)
            free(source.constants[j].name);
        free(source.constants);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_of_budget_is_no_verdict),
        cmocka_unit_test(what_cannot_be_captured_is_said),
        cmocka_unit_test(only_who_changes_launches_reads_their_constants),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
