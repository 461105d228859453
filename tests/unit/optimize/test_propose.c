/*
 * What is proposed, in which order, and that the guards accept it; which loops are left alone.
 */
#include <stdio.h>

#include "base/buf.h"
#include "optimize/kernel_facts.h"
#include "optimize/propose.h"

#include "unit/optimize/sources.h"

#include "optimize/propose.c"

/* What the unroll proposer proposes, in which order, and that the guards accept all of it. */

static const char loops[] =
    "#include \"hip_small.h\"\n"
    "__global__ void loops(float *a, const float *b, int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++)\n"     /* line 4: no, another loop is in it */
    "        for (int j = 0; j < 6; j++)\n" /* line 5: 6 rounds */
    "            a[i] += b[j];\n"
    "    if (n > 3) for (int i = 0; i < n; i++) a[i] += b[i];\n" /* line 7 */
    "#pragma unroll 2\n"
    "    for (int i = 0; i < n; i++) { a[i] *= 2; }\n"          /* line 9 */
    "    for (int i = 1; i < n; i *= 2) { __syncthreads(); }\n" /* no, it does not count */
    "    for (int i = 0; i < 1; i++) a[i] = 0;\n"               /* line 11: no factor fits */
    "}\n";

static char *loops_path;
static struct rp_compile_command *loops_command;
static struct rp_kernel_source *loops_source;

static int set_up(void **state)
{
    if (sources_begin(state) < 0)
        return -1;
    loops_path = scratch_put("k.hip", loops);
    loops_command = sources_command("hipcc -nogpuinc -O3 {source}", loops_path);
    loops_source = sources_kernel(loops_command, loops_path, "_Z5loopsPfPKfi");
    return 0;
}

static int tear_down(void **state)
{
    rp_kernel_source_free(loops_source);
    rp_compile_command_free(loops_command);
    free(loops_path);
    return scratch_end(state);
}

/** The plan as "line*factor ..." */
static void plan_is(const struct rp_kernel_facts *facts, const char *expected)
{
    struct rp_unroll_step plan[64];
    size_t count = unroll_plan(loops_source, facts, plan);
    char made[1024] = "";

    for (size_t i = 0; i < count; i++)
        snprintf(made + strlen(made), sizeof made - strlen(made), "%s%u*%u", i ? " " : "",
                 loops_source->loops[plan[i].loop].line, plan[i].factor);
    assert_string_equal(made, expected);
}

/* Line 5 is deeper, so it comes first; of the others, those of unknown trip count are alike. 6 is a
 * multiple of 2, 3 and 6 only, so 4 and 5 come last for it, and 8 and 7 not at all. */
#define REST " 5*4 5*5"

static void without_facts_powers_of_two_come_first(void **state)
{
    (void)state;
    plan_is(NULL, "5*2 7*2 9*2 7*4 9*4 7*8 9*8 5*3 7*3 9*3 5*6 7*6 9*6 7*5 9*5 7*7 9*7" REST);
}

static void a_kernel_that_waits_for_its_code_gets_less_of_it_first(void **state)
{
    struct rp_kernel_facts facts = {.cause = (char *)"instruction_cache_misses"};

    (void)state;
    plan_is(&facts, "5*1 7*1 9*1 "
                    "5*2 7*2 9*2 7*4 9*4 7*8 9*8 5*3 7*3 9*3 5*6 7*6 9*6 7*5 9*5 7*7 9*7" REST);
}

static void stalls_choose_the_loop_and_the_factor(void **state)
{
    struct rp_stalled_line lines[] = {{(char *)"/somewhere/k.hip:9", 60, 0.6},
                                      {(char *)"other.hip:7", 30, 0.3},
                                      {(char *)"k.hip:6", 10, 0.1}};
    struct rp_kernel_facts facts = {
        .stall = {true, 0.5}, .lines = lines, .line_count = sizeof lines / sizeof *lines};

    (void)state;
    plan_is(&facts, "9*4 7*4 9*8 7*8 9*2 5*2 7*2 9*6 5*6 7*6 9*3 5*3 7*3 9*5 7*5 9*7 7*7" REST);
}

/* CDNA3 has 512 VGPRs for the waves of a SIMD, eight at a time: 64 leave room for 8 waves, 65 for
 * 7; 72 (512 / 7 = 73.1, rounded down to eights) for 7. */
static void few_free_registers_mean_small_steps(void **state)
{
    struct rp_kernel_facts facts = {
        .arch = (char *)"gfx942", .stall = {true, 0.9}, .vgprs = {true, 64}};
    static const char few_free[] =
        "5*2 7*2 9*2 5*3 7*3 9*3 7*4 9*4 7*5 9*5 5*6 7*6 9*6 7*7 9*7 7*8 9*8" REST;
    static const char many_stalls[] =
        "7*4 9*4 7*8 9*8 5*2 7*2 9*2 5*6 7*6 9*6 5*3 7*3 9*3 7*5 9*5 7*7 9*7" REST;

    (void)state;
    plan_is(&facts, few_free);
    facts.vgprs.value = 24; /* 40 more: a wave has 64 anyhow */
    plan_is(&facts, many_stalls);
    facts.scratch_bytes = (struct rp_quantity){true, 16};
    plan_is(&facts, few_free);
}

static void every_proposal_is_new_and_passes_the_guards(void **state)
{
    const struct rp_proposer *unroll = rp_proposer_named("unroll");
    struct rp_proposal made[64] = {0};
    struct rp_attempt attempts[64] = {0};
    struct rp_proposer_input input = {
        .source = loops_source, .attempts = attempts, .scope = RP_EDIT_UNROLL};
    struct rp_err err = RP_ERR_INIT;
    void *own;
    int rc;

    (void)state;
    assert_non_null(unroll);
    assert_int_equal(unroll->open(&(struct rp_proposer_config){0}, &own, &err), 0);
    while ((rc = unroll->propose(own, &input, &made[input.attempt_count], &err)) == 1) {
        struct rp_proposal *proposal = &made[input.attempt_count];
        struct rp_guard_result result;

        assert_true(input.attempt_count < 63);
        assert_int_equal(proposal->bytes, strlen(proposal->kernel_text));
        for (size_t i = 0; i < input.attempt_count; i++)
            assert_string_not_equal(made[i].kernel_text, proposal->kernel_text);
        if (rp_guard_check(loops_source, proposal->kernel_text, proposal->bytes, RP_EDIT_UNROLL,
                           loops_command, "gfx942", scratch_dir, &result, &err) < 0)
            fail_msg("%s: %s", proposal->title, err.text);
        rp_guard_result_free(&result);
        attempts[input.attempt_count++] = (struct rp_attempt){
            .title = proposal->title, .kernel_text = proposal->kernel_text, .outcome = "equal"};
    }
    assert_int_equal(rc, 0);
    assert_int_equal(input.attempt_count, 18); /* 19 of the plan, one of which is there already */
    assert_string_equal(made[0].title, "unroll the loop at line 5 by 2");
    assert_non_null(
        strstr(made[0].kernel_text, "i++)\n        #pragma unroll 2\n        for (int j"));
    assert_string_equal(made[1].title, "unroll the loop at line 7 by 2");
    assert_non_null(strstr(made[1].kernel_text, "if (n > 3) \n#pragma unroll 2\n"));
    assert_string_equal(made[3].title, "unroll the loop at line 9 by 4");
    assert_non_null(strstr(made[3].kernel_text, "\n#pragma unroll 4\n    for (int i = 0"));
    assert_null(strstr(made[3].kernel_text, "#pragma unroll 2"));
    for (size_t i = 0; i < input.attempt_count; i++)
        rp_proposal_free(&made[i]);
    unroll->close(own);
}

static void a_loop_that_stays_the_same_code_is_left(void **state)
{
    const struct rp_proposer *unroll = rp_proposer_named("unroll");
    struct rp_proposal made[64] = {0};
    struct rp_attempt attempts[64] = {0};
    struct rp_proposer_input input = {
        .source = loops_source, .attempts = attempts, .scope = RP_EDIT_UNROLL};
    size_t of_line_7 = 0;

    (void)state;
    while (unroll->propose(NULL, &input, &made[input.attempt_count], NULL) == 1) {
        bool line_7 = strstr(made[input.attempt_count].title, "line 7") != NULL;

        assert_true(input.attempt_count < 63);
        of_line_7 += line_7;
        attempts[input.attempt_count] =
            (struct rp_attempt){.kernel_text = made[input.attempt_count].kernel_text,
                                .outcome = line_7 ? "same code" : "slower"};
        input.attempt_count++;
    }
    assert_int_equal(of_line_7, 2);
    assert_int_equal(input.attempt_count, 13);
    for (size_t i = 0; i < input.attempt_count; i++)
        rp_proposal_free(&made[i]);
}

static void proposers_are_listed(void **state)
{
    size_t count = 0;

    (void)state;
    for (const struct rp_proposer *p; (p = rp_proposer_at(count)); count++) {
        assert_ptr_equal(rp_proposer_named(p->name), p);
        assert_non_null(p->summary);
    }
    assert_true(count >= 1);
    assert_null(rp_proposer_named("nobody"));
}

/* Which loops are left alone for their pragmas. */

/* One loop of a kernel. */
struct row {
    const char *mark;    /* a comment in front of it */
    const char *text;    /* what it does; or what stands in front of the comment */
    const char *why_not; /* NULL: it may be unrolled */
};

#define MACRO   "its pragma comes out of a macro"
#define BETWEEN "with other lines of the preprocessor in between"

static const struct row of_pragmas[] = {
    {"macro", "UNROLL(2)\n", MACRO},
    {"text of a macro", "TEXT(unroll 4)\n", MACRO},
    {"if", "#if 1\n#pragma unroll 4\n#endif\n", BETWEEN},
    {"if not", "#ifdef OTHER\n#pragma unroll 4\n#endif\n", BETWEEN},
    {"if and own", "#ifdef OTHER\n_Pragma(\"unroll 2\")\n#else\n#endif\n#pragma unroll 4\n",
     BETWEEN},
    {"within if", "#ifndef OTHER\n#pragma unroll 4\n", NULL},
    {"more than unrolling", "#endif\n#pragma clang loop vectorize(disable) unroll_count(2)\n",
     "its pragma asks for something else, too"},
    {"other pragma", "#pragma clang loop vectorize(disable)\n", NULL},
    {"behind another", "#pragma unroll 4\n#pragma clang loop vectorize(disable)\n", BETWEEN},
    {"own", "_Pragma(\"unroll 4\")", NULL},
};

static const char small_build[] = "hipcc -nogpuinc -O3 {source}";

static void rows_hold(const char *text, const char *build, const char *symbol,
                      const struct row *rows, size_t count)
{
    rp_autofree char *path = scratch_put("k.hip", text);
    struct rp_compile_command *command = sources_command(build, path);
    struct rp_kernel_source *source = sources_kernel(command, path, symbol);
    unsigned wrong = 0;

    assert_int_equal(source->loop_count, count);
    for (size_t i = 0; i < count; i++) {
        const struct rp_source_loop *loop = &source->loops[i];
        rp_autofree char *mark = rp_format("/*%s*/", rows[i].mark);
        const char *why = loop->why_not;

        assert_memory_equal(source->text + loop->begin - strlen(mark), mark, strlen(mark));
        if (rows[i].why_not ? why && strstr(why, rows[i].why_not) : !why)
            continue;
        print_error("%s: %s\n", mark, why ? why : "(may be)");
        wrong++;
    }
    assert_int_equal(wrong, 0);
    rp_kernel_source_free(source);
    rp_compile_command_free(command);
}

static void put_pragmas(struct rp_buf *text)
{
    rp_buf_puts(text, "#include \"hip_small.h\"\n"
                      "#define UNROLL(n) _Pragma(\"unroll 2\")\n"
                      "#define TEXT(x) _Pragma(#x)\n"
                      "__global__ void k(float *a, int n)\n"
                      "{\n");
    for (size_t i = 0; i < sizeof of_pragmas / sizeof *of_pragmas; i++)
        rp_buf_printf(text, "%s/*%s*/for (int i = 0; i < n; i++) a[i] += 1;\n", of_pragmas[i].text,
                      of_pragmas[i].mark);
    rp_buf_puts(text, "}\n");
}

static void pragmas_that_cannot_be_replaced_refuse_their_loop(void **state)
{
    rp_autobuf text = {0};

    (void)state;
    put_pragmas(&text);
    rows_hold(rp_buf_text(&text), small_build, "_Z1kPfi", of_pragmas,
              sizeof of_pragmas / sizeof *of_pragmas);
}

/* Two pragmas for one loop are an error, and the guards ask the compiler. */
static void proposals_for_the_others_compile(void **state)
{
    enum { LOOPS = 3, STEPS = 7, OWN = 1 /* is what stands there */ };
    const struct rp_proposer *unroll = rp_proposer_named("unroll");
    struct rp_proposal made[LOOPS * STEPS + 1] = {0};
    struct rp_attempt attempts[LOOPS * STEPS + 1] = {0};
    rp_autobuf text = {0};
    rp_autofree char *path = NULL;
    struct rp_compile_command *command;
    struct rp_kernel_source *source;
    struct rp_err err = RP_ERR_INIT;
    size_t count = 0;
    void *own;

    (void)state;
    put_pragmas(&text);
    path = scratch_put("k.hip", rp_buf_text(&text));
    command = sources_command(small_build, path);
    source = sources_kernel(command, path, "_Z1kPfi");
    assert_int_equal(unroll->open(&(struct rp_proposer_config){0}, &own, &err), 0);
    while (count <= LOOPS * STEPS) {
        const struct rp_proposer_input input = {.source = source,
                                                .attempts = attempts,
                                                .attempt_count = count,
                                                .scope = RP_EDIT_UNROLL};
        struct rp_guard_result result;

        if (unroll->propose(own, &input, &made[count], &err) != 1)
            break;
        if (rp_guard_check(source, made[count].kernel_text, made[count].bytes, RP_EDIT_UNROLL,
                           command, "gfx942", scratch_dir, &result, &err) < 0)
            fail_msg("%s: %s", made[count].title, err.text);
        rp_guard_result_free(&result);
        attempts[count] = (struct rp_attempt){
            .title = made[count].title, .kernel_text = made[count].kernel_text, .outcome = "equal"};
        count++;
    }
    assert_int_equal(count, LOOPS * STEPS - OWN);
    while (count-- > 0)
        rp_proposal_free(&made[count]);
    unroll->close(own);
    rp_kernel_source_free(source);
    rp_compile_command_free(command);
}

int main(void)
{
    const struct CMUnitTest group_0[] = {
        cmocka_unit_test(without_facts_powers_of_two_come_first),
        cmocka_unit_test(a_kernel_that_waits_for_its_code_gets_less_of_it_first),
        cmocka_unit_test(stalls_choose_the_loop_and_the_factor),
        cmocka_unit_test(few_free_registers_mean_small_steps),
        cmocka_unit_test(every_proposal_is_new_and_passes_the_guards),
        cmocka_unit_test(a_loop_that_stays_the_same_code_is_left),
        cmocka_unit_test(proposers_are_listed),
    };
    const struct CMUnitTest group_1[] = {
        cmocka_unit_test(pragmas_that_cannot_be_replaced_refuse_their_loop),
        cmocka_unit_test(proposals_for_the_others_compile),
    };
    int failed = 0;

    failed += cmocka_run_group_tests(group_0, set_up, tear_down);
    failed += cmocka_run_group_tests(group_1, sources_begin, scratch_end);
    return failed;
}
