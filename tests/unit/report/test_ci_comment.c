/* A result with names that would act on GitHub, and with more gates than a comment has room for. */
#include "report/ci_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "report/ci_text.h"

#include "unit/cmocka_all.h"

static char *copy(const char *text)
{
    char *ret = strdup(text);

    assert_non_null(ret);
    return ret;
}

static struct rp_ci_result a_result(void)
{
    return (struct rp_ci_result){.config = copy("rocm-perf.json"),
                                 .base_name = copy("main"),
                                 .base_commit = copy("0123456789abcdef0123456789abcdef01234567"),
                                 .head_commit = copy("fedcba9876543210fedcba9876543210fedcba98"),
                                 .device = copy("software"),
                                 .timing = copy("detailed (version 1)")};
}

static void add(struct rp_ci_result *r, const char *program, enum rp_ci_outcome outcome,
                const char *note)
{
    const size_t at = rp_ci_gate_add(r, program, "time", "not tried");
    struct rp_ci_gate *gate = &r->gates.items[at];

    rp_ci_gate_decide(gate, outcome, "14.2 %% slower than base (6.35 -> 7.25 us), limit 2 %%");
    if (note)
        rp_ci_gate_note(gate, note, "mm.hip", 3);
}

static void says(struct rp_ci_result *r, const char *verdict)
{
    rp_autobuf text = {0};

    rp_ci_verdict_text(&text, r);
    assert_string_equal(rp_buf_text(&text), verdict);
}

static void the_verdict_counts_gates(void **state)
{
    struct rp_ci_result r = a_result();

    (void)state;
    add(&r, "a", RP_CI_HOLDS, NULL);
    says(&r, "the one gate holds");
    assert_int_equal(rp_ci_verdict(&r), RP_CI_HOLDS);
    add(&r, "b", RP_CI_SKIPPED, NULL);
    add(&r, "c", RP_CI_HOLDS, NULL);
    says(&r, "all 2 gates hold (1 skipped)");
    add(&r, "d", RP_CI_UNDECIDED, NULL);
    says(&r, "1 of 3 gates is undecided (1 skipped)");
    assert_int_equal(rp_ci_verdict(&r), RP_CI_UNDECIDED);
    add(&r, "e", RP_CI_FAILS, NULL);
    says(&r, "1 of 4 gates fails, 1 is undecided (1 skipped)");
    add(&r, "f", RP_CI_FAILS, NULL);
    says(&r, "2 of 5 gates fail, 1 is undecided (1 skipped)");
    assert_int_equal(rp_ci_verdict(&r), RP_CI_FAILS);
    rp_ci_result_free(&r);
}

static void the_comment_has_the_sentence(void **state)
{
    struct rp_ci_result r = a_result();
    rp_autobuf text = {0};

    (void)state;
    add(&r, "mm", RP_CI_FAILS, "row_sums(float*)");
    rp_ci_comment(&r, &text);
    assert_non_null(strstr(rp_buf_text(&text),
                           "### rocm-perf: the one gate fails\n\n* `mm`: 14.2 % slower than base "
                           "(6.35 -> 7.25 us), limit 2 %: `row_sums(float*)` at `mm.hip:3`\n"));
    assert_non_null(strstr(rp_buf_text(&text),
                           "**Software device: times are modelled (detailed (version 1)), not "
                           "measured on hardware.**"));
    rp_ci_result_free(&r);
}

static void what_gates_of_a_program_have_in_common_is_said_once(void **state)
{
    struct rp_ci_result r = a_result();
    rp_autobuf text = {0};

    (void)state;
    add(&r, "mm", RP_CI_UNDECIDED, NULL);
    add(&r, "other", RP_CI_UNDECIDED, NULL);
    add(&r, "mm", RP_CI_UNDECIDED, NULL);
    add(&r, "mm", RP_CI_UNDECIDED, "row_sums(float*)");
    rp_ci_comment(&r, &text);
    assert_non_null(strstr(rp_buf_text(&text),
                           "\n* undecided: `mm`: 14.2 % slower than base (6.35 -> 7.25 us), limit "
                           "2 % (2 gates)\n* undecided: `other`: 14.2 % slower than base (6.35 -> "
                           "7.25 us), limit 2 %\n* undecided: `mm`: 14.2 % slower than base (6.35 "
                           "-> 7.25 us), limit 2 %: `row_sums(float*)` at `mm.hip:3`\n\n"));
    rp_ci_result_free(&r);
}

static void a_comment_never_becomes_too_long(void **state)
{
    enum { GATES = 5000, EVIDENCE = 10000, NOTES = 2 };
    struct rp_ci_result r = a_result();
    char *evidence = malloc(EVIDENCE + 1);
    rp_autobuf text = {0};

    (void)state;
    assert_non_null(evidence);
    memset(evidence, '`', EVIDENCE);
    evidence[EVIDENCE] = '\0';
    for (int i = 0; i < GATES; i++) {
        char name[32];

        snprintf(name, sizeof name, "program %d", i);
        add(&r, name, RP_CI_FAILS, "`@all` | <b>");
        r.gates.items[i].evidence = i % 2 ? copy(evidence) : NULL;
    }
    /* What to know of the verdict is there, however many gates there are. */
    for (int i = 0; i < NOTES; i++)
        rp_vec_push(&r.remarks, copy(evidence));
    rp_vec_push(&r.remarks, copy("base and head have the same files"));
    rp_ci_comment(&r, &text);
    assert_in_range(text.len, 10000, 65534);
    assert_non_null(strstr(rp_buf_text(&text), "\n* note: base and head have the same files\n"));
    assert_non_null(strstr(rp_buf_text(&text), "5000 of 5000 gates fail"));
    assert_non_null(strstr(rp_buf_text(&text), " more gates that do not hold are left out, because "
                                               "a comment may have 65,535 bytes: ci.json"));
    free(evidence);
    rp_ci_result_free(&r);
}

static void names_are_no_commands(void **state)
{
    struct rp_ci_result r = a_result();
    rp_autobuf text = {0}, quality = {0}, junit = {0};

    (void)state;
    add(&r, "a,b::c\n::error::d", RP_CI_FAILS, "50%0A::error::x");
    rp_ci_annotations(&r, &text);
    assert_string_equal(rp_buf_text(&text),
                        "::error file=mm.hip,line=3,title=rocm-perf%3A a%2Cb%3A%3Ac\\x0a%3A%3Aerror"
                        "%3A%3Ad time::a,b::c\\x0a::error::d: 14.2 %25 slower than base (6.35 -> "
                        "7.25 us), limit 2 %25: 50%250A::error::x\n");
    rp_ci_code_quality(&r, &quality);
    assert_non_null(strstr(rp_buf_text(&quality), "\"path\":\"mm.hip\",\"lines\":{\"begin\":3}"));
    /* What a compiler says has lines, and they stay lines. */
    r.gates.items[0].evidence = copy("a\n\n<b>\x1b\n");
    rp_ci_junit(&r, &junit);
    assert_non_null(strstr(rp_buf_text(&junit), "<system-out>a\n\n&lt;b&gt;\\x1b</system-out>"));
    rp_ci_result_free(&r);
}

static void a_block_of_code_ends_where_it_should(void **state)
{
    rp_autobuf text = {0};

    (void)state;
    rp_markdown_block(&text, "a\n````\n<b>");
    assert_string_equal(rp_buf_text(&text), "`````text\na\n````\n<b>\n`````\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verdict_counts_gates),
        cmocka_unit_test(the_comment_has_the_sentence),
        cmocka_unit_test(what_gates_of_a_program_have_in_common_is_said_once),
        cmocka_unit_test(a_comment_never_becomes_too_long),
        cmocka_unit_test(names_are_no_commands),
        cmocka_unit_test(a_block_of_code_ends_where_it_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
