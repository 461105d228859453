/** Findings in words: the sentences about the program, the line of a kernel, its evidence. */
#include "report/finding_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "unit/cmocka_all.h"

/** A program of two kernels, of which the first takes 71 % of the critical path. */
struct sample {
    struct rp_bottleneck_kernel kernels[2];
    struct rp_bottlenecks b;
};

static void make(struct sample *s, enum rp_cause cause)
{
    memset(s, 0, sizeof *s);
    s->kernels[0].name = (char *)"void ns::saxpy<float>(float const*)";
    s->kernels[0].weight = (struct rp_quantity){true, 0.71};
    s->kernels[0].features.of[RP_FEATURE_HBM_SHARE] = (struct rp_quantity){true, 0.86};
    s->kernels[0].finding.cause = cause;
    s->kernels[0].finding.line = "/home/me/src/saxpy.hip:12";
    s->kernels[0].finding.gain = (struct rp_factor_range){true, 1.5, 1.8, 2.1};
    s->kernels[0].finding.program_gain = (struct rp_factor_range){true, 1.31, 1.45, 1.6};
    s->kernels[1].name = (char *)"void ns::saxpy<double>(double const*)";
    s->b = (struct rp_bottlenecks){.basis = RP_RANK_CRITICAL_PATH,
                                   .program = s->kernels[0].finding,
                                   .program_share = s->kernels[0].weight,
                                   .program_is_kernel = true,
                                   .kernels = s->kernels,
                                   .kernel_count = 2};
}

static void check_program(const struct sample *s, const char *wanted)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_finding_texts texts;
    rp_autobuf text = {0};

    assert_int_equal(rp_finding_texts_make(&s->b, &texts, &err), 0);
    rp_finding_put_program(&texts, &text);
    assert_string_equal(rp_buf_text(&text), wanted);
    rp_finding_texts_free(&texts);
}

static void check_kernel(const struct sample *s, const char *wanted)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_finding_texts texts;
    rp_autobuf text = {0};

    assert_int_equal(rp_finding_texts_make(&s->b, &texts, &err), 0);
    rp_finding_put_kernel(&texts, 0, &text);
    assert_string_equal(rp_buf_text(&text), wanted);
    rp_finding_texts_free(&texts);
}

static void a_kernel_that_limits_the_program(void **state)
{
    struct sample s;

    (void)state;
    make(&s, RP_CAUSE_HBM);
    check_program(&s,
                  "`saxpy<float>` takes 71 % of the critical path and is memory-bandwidth bound: "
                  "HBM bandwidth at saxpy.hip:12 (86 % of peak). Try: move fewer "
                  "bytes: fuse kernels, use narrower types, reuse data while it is on the chip; "
                  "expect 1.3x to 1.6x faster end to end.");
    check_kernel(&s, "HBM bandwidth at saxpy.hip:12; 1.3x to 1.6x faster end to end");
    s.b.basis = RP_RANK_NOTHING;
    s.b.program.program_gain.known = false;
    s.b.program.line = NULL;
    check_program(&s, "`saxpy<float>` is memory-bandwidth bound: HBM bandwidth (86 % of "
                      "peak). Try: move fewer bytes: fuse kernels, use narrower types, reuse data "
                      "while it is on the chip; expect 1.5x to 2.1x faster for the kernel.");
}

/* Of an interval nobody can tell what it would become, whatever its model was called. */
static void times_between_bounds_promise_nothing(void **state)
{
    static const char *const models[] = {"counts", "fast"};
    struct sample s;

    (void)state;
    make(&s, RP_CAUSE_HBM);
    for (size_t i = 0; i < 2; i++) {
        s.b.origin.timing_model = models[i];
        check_program(&s, "`saxpy<float>` takes 71 % of the critical path and is memory-bandwidth "
                          "bound: HBM bandwidth at saxpy.hip:12 (86 % of peak). Try: move fewer "
                          "bytes: fuse kernels, use narrower types, reuse data while it is on the "
                          "chip. Counts timing knows times between bounds only: shares of them are "
                          "guesses, and --timing detailed says what to expect.");
        check_kernel(&s, "HBM bandwidth at saxpy.hip:12");
    }
    s.b.origin.timing_model = "detailed";
    check_kernel(&s, "HBM bandwidth at saxpy.hip:12; 1.3x to 1.6x faster end to end");
}

/* What is not known is said, with what would tell. */
static void what_is_not_known(void **state)
{
    struct sample s;

    (void)state;
    make(&s, RP_CAUSE_UNKNOWN);
    s.b.program.gain.known = s.b.program.program_gain.known = false;
    check_program(&s, "`saxpy<float>` takes 71 % of the critical path; what limits it is unknown "
                      "without hardware counters and a thread trace.");
    s.kernels[0].features.of[RP_FEATURE_STALL].known = true;
    check_program(&s, "`saxpy<float>` takes 71 % of the critical path; what limits it is unknown "
                      "without hardware counters.");
    make(&s, RP_CAUSE_HBM);
    s.kernels[0].finding.or_cause = RP_CAUSE_LATENCY;
    s.kernels[0].finding.to_tell = RP_FEATURE_STALL;
    check_kernel(&s,
                 "HBM bandwidth or memory latency at saxpy.hip:12; 1.3x to 1.6x faster end to end");
    s.b.kernel_count = 0;
    check_program(&s, "");
}

static void what_limits_beside_kernels(void **state)
{
    struct sample s;

    (void)state;
    make(&s, RP_CAUSE_HBM);
    s.b.program_is_kernel = false;
    s.b.program =
        (struct rp_finding){.cause = RP_CAUSE_COPY, .program_gain = {true, 1.02, 1.02, 1.02}};
    s.b.program_share.value = 0.984;
    check_program(&s,
                  "Copies between host and GPU limit the program: 98 % of the critical path. Try: "
                  "copy less and once, keep data on the GPU, or overlap copies with kernels "
                  "(pinned memory, two streams); expect about 1.02x faster end to end.");
    s.b.program = (struct rp_finding){.cause = RP_CAUSE_HOST, .program_gain = {true, 1, 3, 12.4}};
    check_program(
        &s, "The host's own work limits the program: 98 % of the critical path. Try: move "
            "the work to the GPU, or overlap it with kernels; expect up to 12x faster end to end.");
}

static const struct rp_rule *rule_named(const char *id)
{
    size_t count;
    const struct rp_rule *rules = rp_rules(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(rules[i].id, id) == 0)
            return &rules[i];
    fail_msg("no rule %s", id);
    return NULL;
}

/* Known numbers only, each feature once, and every cause and feature has words. */
static void evidence_has_words(void **state)
{
    struct rp_finding_evidence rows[RP_CAUSE_EVIDENCE];
    struct sample s;

    (void)state;
    make(&s, RP_CAUSE_HBM);
    assert_int_equal(rp_finding_evidence(&s.kernels[0], rows), 1);
    assert_string_equal(rows[0].name, "hbm_share");
    assert_string_equal(rows[0].value, "86");
    assert_string_equal(rows[0].unit, "% of peak");
    make(&s, RP_CAUSE_LATENCY); /* What made the rule fire comes first. */
    s.kernels[0].finding.rule = rule_named("scalar_loads_wait");
    s.kernels[0].features.of[RP_FEATURE_TIME_GLOBAL] = (struct rp_quantity){true, 0.001};
    s.kernels[0].features.of[RP_FEATURE_TIME_SCALAR] = (struct rp_quantity){true, 0.71};
    assert_true(rp_finding_evidence(&s.kernels[0], rows) > 1);
    assert_string_equal(rows[0].name, "time_scalar_load");
    assert_string_equal(rows[1].name, "time_global");
    s.kernels[0].finding.rule = rule_named("loads_hold_up_waves");
    assert_true(rp_finding_evidence(&s.kernels[0], rows) > 0);
    assert_string_equal(rows[0].name, "time_global");
    for (unsigned cause = 0; cause < RP_CAUSE_COUNT; cause++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_finding_texts texts;
        rp_autobuf text = {0};
        size_t count;

        make(&s, (enum rp_cause)cause);
        for (unsigned f = 0; f < RP_FEATURE_COUNT; f++)
            s.kernels[0].features.of[f] = (struct rp_quantity){true, 0.5};
        count = rp_finding_evidence(&s.kernels[0], rows);
        assert_true(count > 0);
        for (size_t i = 0; i < count; i++)
            assert_non_null(rows[i].words);
        assert_int_equal(rp_finding_texts_make(&s.b, &texts, &err), 0);
        rp_finding_put_program(&texts, &text);
        assert_non_null(strstr(rp_buf_text(&text), "`saxpy<float>` takes 71 %"));
        assert_int_equal(rp_buf_text(&text)[text.len - 1], '.');
        rp_finding_texts_free(&texts);
    }
}

static void mark(struct rp_buf *to, const char *text)
{
    rp_buf_printf(to, "[%s]", text);
}

/* The Markdown of names and places is their writer's business. */
static void code_is_marked(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_finding_texts texts;
    rp_autobuf text = {0};
    struct sample s;

    (void)state;
    make(&s, RP_CAUSE_SPILLS);
    assert_int_equal(rp_finding_texts_make(&s.b, &texts, &err), 0);
    texts.put_code = mark;
    rp_finding_put_program(&texts, &text);
    assert_non_null(strstr(rp_buf_text(&text), "[saxpy<float>] takes 71 %"));
    assert_non_null(
        strstr(rp_buf_text(&text), "register spills to scratch memory at [saxpy.hip:12]"));
    rp_finding_texts_free(&texts);
}

static void code_without_lines_is_said_to_be_that(void **state)
{
    static const char *const word = " Its code has no line information: compile it with -g to "
                                    "know the line.";
    const struct {
        double cycles;
        bool has_lines, has_line;
        enum rp_cause cause;
        bool said;
    } cases[] = {
        {100, false, false, RP_CAUSE_SPILLS, true},
        {100, true, false, RP_CAUSE_SPILLS, false},    /* The line is unknown for another reason. */
        {0, false, false, RP_CAUSE_SPILLS, false},     /* Nothing was traced. */
        {100, false, true, RP_CAUSE_SPILLS, false},    /* The host code has lines. */
        {100, false, false, RP_CAUSE_BALANCED, false}, /* No line is to be changed. */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_finding_texts texts;
        rp_autobuf text = {0};
        struct sample s;

        make(&s, cases[i].cause);
        if (!cases[i].has_line)
            s.b.program.line = NULL;
        s.kernels[0].waves.cycles = cases[i].cycles;
        s.kernels[0].waves.has_lines = cases[i].has_lines;
        assert_int_equal(rp_finding_texts_make(&s.b, &texts, &err), 0);
        rp_finding_put_program(&texts, &text);
        assert_int_equal(strstr(rp_buf_text(&text), word) != NULL, cases[i].said);
        rp_finding_texts_free(&texts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_limits_the_program),
        cmocka_unit_test(code_without_lines_is_said_to_be_that),
        cmocka_unit_test(times_between_bounds_promise_nothing),
        cmocka_unit_test(what_is_not_known),
        cmocka_unit_test(what_limits_beside_kernels),
        cmocka_unit_test(evidence_has_words),
        cmocka_unit_test(code_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
