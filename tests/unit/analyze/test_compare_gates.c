/**
 * @file test_compare_gates.c
 * @brief What two results that compare have in common: which do not compare, which kernels are the
 * same, gates, and JSON that is not as it should be.
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/path.h"
#include "unit/cmocka_all.h"

#include "unit/analyze/compare_cases.h"

#include "analyze/compare_side.c"

/* --- what does not compare ----------------------------------------------------------------- */

static void is_refused(const struct rp_versus_side *before, const struct rp_versus_side *after,
                       const char *says)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_versus_found c;

    assert_int_equal(rp_versus(before, after, &test_rule, &c, &err), -RP_BAD_INPUT);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(rp_versus(after, before, &test_rule, &c, &err), -RP_BAD_INPUT);
}

static void what_does_not_compare_is_refused(void **state)
{
    double ms[] = {1};
    struct rp_versus_gpu others[] = {
        {.architecture = (char *)"gfx90a", .compute_units = 304},
        {.architecture = (char *)"gfx942", .compute_units = 38},
        {.architecture = (char *)"gfx942", .compute_units = 304, .engine_clock_mhz = 1300},
        {.architecture = (char *)"gfx942", .compute_units = 304, .product = (char *)"MI308X"}};
    const struct rp_versus_side plain = side_of(ms, 1, NULL, 0);
    struct rp_versus_side a = plain, b = plain;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        b.gpus = &others[i];
        is_refused(&a, &b, "same kind of GPU");
    }
    b = plain;
    b.software = true;
    is_refused(&a, &b, "modelled and measured");
    a.software = true;
    is_refused(&a, &b, "by which model");
    a.timing_model = (char *)"counts";
    b.timing_model = (char *)"detailed";
    is_refused(&a, &b, "one model");
    b.timing_model = (char *)"counts";
    b.timing_version = 2;
    is_refused(&a, &b, "one model");
    a.wall = b.wall = true;
    is_refused(&a, &b, "wall clocks");
    a = b = plain;
    a.wall = true;
    is_refused(&a, &b, "wall clock of the whole process");
    a.told.is = true;
    is_refused(&a, &b, "give it alone");
}

/* --- kernels ------------------------------------------------------------------------------- */

static void rows_of_a_name_are_one_kernel(void **state)
{
    double first[] = {3, NAN, NAN}, second[] = {4, 5, NAN};
    struct rp_versus_side side = {0};
    struct rp_versus_kernel row = kernel_of("k", first, 3);
    const struct rp_versus_kernel *k;

    (void)state;
    row.heaviest_ms = 3;
    row.metrics[RP_COMPARE_VGPRS] = (struct rp_quantity){true, 8};
    row.metrics[RP_COMPARE_DISPATCHES] = (struct rp_quantity){true, 2};
    assert_int_equal(rp_versus_side_add_kernel(&side, &row, NULL), 0);
    row.runs.ms = second;
    row.heaviest_ms = 4;
    row.metrics[RP_COMPARE_VGPRS].value = 16;
    assert_int_equal(rp_versus_side_add_kernel(&side, &row, NULL), 0);
    assert_int_equal(side.kernel_count, 1);
    k = &side.kernels[0];
    assert_true(k->runs.ms[0] == 7 && k->runs.ms[1] == 5 && isnan(k->runs.ms[2]));
    assert_true(k->metrics[RP_COMPARE_VGPRS].value == 16);
    assert_true(k->metrics[RP_COMPARE_DISPATCHES].value == 4);
    rp_versus_side_free(&side);
}

/* Each is found by its name, when there are many, and after they were put in order. */
static void kernels_are_found_by_name(void **state)
{
    enum { KERNELS = 3000 };
    struct rp_versus_side side = {0};
    char name[32];
    double ms;
    struct rp_versus_kernel row = kernel_of(name, &ms, 1);

    (void)state;
    assert_null(rp_versus_side_find(&side, "kernel_0"));
    for (int pass = 0; pass < 2; pass++) /* the second time they are there */
        for (int i = 0; i < KERNELS; i++) {
            snprintf(name, sizeof name, "kernel_%d", i);
            ms = i * 37 % KERNELS + 1;
            assert_int_equal(rp_versus_side_add_kernel(&side, &row, NULL), 0);
        }
    assert_int_equal(side.kernel_count, KERNELS);
    versus_side_finish(&side);
    assert_true(side.kernels[0].runs.ms[0] == 2.0 * KERNELS);
    for (int i = 0; i < KERNELS; i++) {
        const struct rp_versus_kernel *found;

        snprintf(name, sizeof name, "kernel_%d", i);
        found = rp_versus_side_find(&side, name);
        assert_non_null(found);
        assert_string_equal(found->name, name);
    }
    assert_null(rp_versus_side_find(&side, "kernel"));
    assert_null(rp_versus_side_find(&side, NULL));
    rp_versus_side_free(&side);
}

/* --- gates --------------------------------------------------------------------------------- */

static void gates_that_are_none_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {{"runtime", "no comparison"},
                {"", "no comparison"},
                {"runtime=<1", "no comparison"},
                {"runtime<=", "no bound"},
                {"runtime<=fast", "no bound"},
                {"runtime<=1.02x", "no bound"},
                {"runtime<=-1", "no bound"},
                {"runtime<=nan", "no bound"},
                {"runtime<=1e999", "no bound"},
                {"vgprs<=2*after", "no bound"},
                {"speed<=1", "nothing is called"},
                {"<=1", "nothing is called"},
                {"runtime==1", "never exactly"},
                {"runtime<=before", "ratio to before"},
                {"kernel:vadd<=1", "kernel:NAME:"},
                {"kernel::runtime<=1", "kernel:NAME:"},
                {"kernel:a:speed<=1", "nothing is called"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_versus_condition gate;
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_versus_condition_parse(rows[i].text, &gate, &err), -RP_USAGE);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, err.text, rows[i].says);
    }
}

static void gates_are_read(void **state)
{
    struct rp_versus_condition gate;

    (void)state;
    assert_int_equal(rp_versus_condition_parse("runtime<=1.02", &gate, NULL), 0);
    assert_true(gate.runtime && gate.relation == RP_AT_MOST && gate.bound == 1.02 && !gate.kernel);
    rp_versus_condition_free(&gate);
    assert_int_equal(rp_versus_condition_parse(
                         "kernel:void ns::k<(A)1>(int):lds_bytes == 2 * before", &gate, NULL),
                     -RP_USAGE); /* no space before the star's word */
    assert_int_equal(rp_versus_condition_parse(
                         "kernel:void ns::k<(A)1>(int):lds_bytes == 2*before ", &gate, NULL),
                     0);
    assert_string_equal(gate.kernel, "void ns::k<(A)1>(int)");
    assert_true(gate.metric == RP_COMPARE_LDS_BYTES && gate.relation == RP_EXACTLY &&
                gate.bound == 2 && gate.of_before);
    rp_versus_condition_free(&gate);
    assert_int_equal(rp_versus_condition_parse("vgprs<=before + 8", &gate, NULL), 0);
    assert_true(gate.of_before && gate.bound == 1 && gate.more == 8);
    rp_versus_condition_free(&gate);
    assert_int_equal(rp_versus_condition_parse("vgprs<=before+", &gate, NULL), -RP_USAGE);
    assert_int_equal(rp_versus_condition_parse("vgprs<=before+8x", &gate, NULL), -RP_USAGE);
    assert_int_equal(rp_versus_condition_parse("vgprs<=before-8", &gate, NULL), -RP_USAGE);
    assert_int_equal(rp_versus_condition_parse("occupancy>=before", &gate, NULL), 0);
    assert_true(gate.relation == RP_AT_LEAST && gate.bound == 1 && gate.of_before);
    rp_versus_condition_free(&gate);
}

static void is_near(const char *text, const struct rp_versus_found *c, const char *near)
{
    struct rp_versus_condition gate;
    struct rp_versus_outcome gated;

    assert_int_equal(rp_versus_condition_parse(text, &gate, NULL), 0);
    rp_versus_condition_judge(&gate, c, &gated);
    assert_int_equal(gated.passed, RP_COMPARE_OPEN);
    assert_string_equal(gated.near, near);
    rp_versus_condition_free(&gate);
}

static void a_gate_of_no_kernel_tells_near_names(void **state)
{
    enum { KERNELS = 7 };
    static const char *const names[KERNELS] = {
        "void gemm<float, 64>(float*)",
        "void gemm<float, 32>(float*)",
        "(anonymous namespace)::reduce(int*) [clone .kd]",
        "gemv(float*)",
        "ns::gemm_tail(int)",
        "gemm_with_a_name_so_long_that_nobody_misspells_it_at_all()",
        ""};
    double ms[] = {1};
    struct rp_versus_kernel a[KERNELS];
    struct rp_versus_pair kernels[KERNELS] = {0};
    struct rp_versus_found c = {.kernels = kernels, .kernel_count = KERNELS};

    (void)state;
    for (size_t i = 0; i < KERNELS; i++) {
        a[i] = kernel_of(names[i], ms, 1);
        kernels[i].after = &a[i];
    }
    kernels[3] = (struct rp_versus_pair){.before = &a[3]};
    is_near("kernel:gemn:runtime<=1", &c, "gemm, gemv");
    is_near("kernel:gem:runtime<=1", &c, "gemm, gemv, ns::gemm_tail");
    is_near("kernel:gemm<double>:vgprs<=1", &c, "gemm, gemv, ns::gemm_tail");
    is_near("kernel:gemm<float, 64>(int*):vgprs<=1", &c, "gemm, gemv, ns::gemm_tail");
    is_near("kernel:reduce:runtime<=1", &c, "(anonymous namespace)::reduce");
    is_near("kernel:nothing:runtime<=1", &c, "");
    is_near("kernel:x:runtime<=1", &c, "");
    is_near("kernel:gemm_with_a_name_so_long_that_nobody_misspells_it_at_al:runtime<=1", &c, "");
}

/* Work that is not done takes no time. */
static void fails_for(const char *text, const struct rp_versus_found *c, const char *kernel)
{
    struct rp_versus_condition gate;
    struct rp_versus_outcome gated;

    assert_int_equal(rp_versus_condition_parse(text, &gate, NULL), 0);
    rp_versus_condition_judge(&gate, c, &gated);
    assert_int_equal(gated.passed, RP_COMPARE_FAILED);
    assert_string_equal(gated.kernel, kernel);
    assert_non_null(strstr(gated.reason, "ran before and does not run now")
                        ?: strstr(gated.reason, "ran before does not run now"));
    rp_versus_condition_free(&gate);
}

static void gates_hold_or_not_or_are_open(void **state)
{
    double ms[] = {1};
    struct rp_versus_kernel a[2] = {kernel_of("void k<1>(int)", ms, 1), kernel_of("gone", ms, 1)};
    struct rp_versus_kernel b[2] = {kernel_of("void k<1>(int)", ms, 1), kernel_of("new", ms, 1)};
    struct rp_versus_pair kernels[] = {
        {.before = &a[0], .after = &b[0]}, {.before = &a[1]}, {.after = &b[1]}};
    struct rp_versus_side before = side_of(ms, 1, a, 2), after = side_of(ms, 1, b, 2);
    struct rp_versus_found c = {.before = &before,
                                .after = &after,
                                .kernels = kernels,
                                .kernel_count = 3,
                                .whole = {.bounded = true, .ratio = 1.01, .low = 1, .high = 1.02}};

    (void)state;
    kernels[0].time = (struct rp_versus_time){.bounded = false, .reason = "too few"};
    a[0].metrics[RP_COMPARE_VGPRS] = (struct rp_quantity){true, 32};
    b[0].metrics[RP_COMPARE_VGPRS] = (struct rp_quantity){true, 40};
    after.metrics[RP_COMPARE_DISPATCHES] = (struct rp_quantity){true, 7};
    assert_int_equal(applied("runtime<=1.02", &c), RP_COMPARE_PASSED);
    assert_int_equal(applied("runtime<1.02", &c), RP_COMPARE_OPEN);
    assert_int_equal(applied("runtime<=1.01", &c), RP_COMPARE_OPEN);
    assert_int_equal(applied("runtime<1", &c), RP_COMPARE_FAILED);
    assert_int_equal(applied("runtime>1.02", &c), RP_COMPARE_FAILED);
    assert_int_equal(applied("runtime>=1", &c), RP_COMPARE_PASSED);
    assert_int_equal(applied("kernel:k:runtime<=9", &c), RP_COMPARE_OPEN);
    assert_int_equal(applied("kernel:gone:runtime<=9", &c), RP_COMPARE_OPEN);
    assert_int_equal(applied("kernel:new:runtime<=9", &c), RP_COMPARE_OPEN);
    assert_int_equal(applied("kernel:no:runtime<=9", &c), RP_COMPARE_OPEN);
    assert_int_equal(applied("kernel:k:vgprs<=40", &c), RP_COMPARE_PASSED);
    assert_int_equal(applied("kernel:k:vgprs<=before", &c), RP_COMPARE_FAILED);
    assert_int_equal(applied("kernel:k:vgprs==1.25*before", &c), RP_COMPARE_PASSED);
    assert_int_equal(applied("vgprs<=40", &c), RP_COMPARE_OPEN); /* of "new" it is not known */
    assert_int_equal(applied("vgprs<=39", &c), RP_COMPARE_FAILED);
    assert_int_equal(applied("dispatches==7", &c), RP_COMPARE_PASSED);
    assert_int_equal(applied("dispatches<=before", &c), RP_COMPARE_OPEN);
    fails_for("runtime<=1.02", &c, "gone");
    fails_for("kernel:gone:runtime<=9", &c, "gone");
    a[1].runtime_internal = true; /* copies and fills of HIP come and go */
    kernels[0].after = NULL;
    fails_for("runtime<=1.02", &c, "void k<1>(int)");
}

/* Fewer copies change no kernel, and the program is faster all the same. */
static void the_time_end_to_end_is_judged_by_itself(void **state)
{
    const struct rp_versus_rule rule = {.margin = 0.01, .alpha = 0.01};
    double kernels_ms[] = {1}, long_ms[] = {4}, short_ms[] = {2}, unknown_ms[] = {NAN};
    const struct {
        double *before, *after;
        const char *model;
        double ratio; /* NAN: not known */
    } rows[] = {{long_ms, short_ms, "detailed", 0.5},
                {short_ms, long_ms, "detailed", 2},
                {long_ms, unknown_ms, "detailed", NAN},
                {long_ms, short_ms, "counts", NAN}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_versus_kernel k = kernel_of("k", kernels_ms, 1);
        struct rp_versus_side before = side_of(kernels_ms, 1, &k, 1), after = before;
        struct rp_versus_found c;
        const bool known = !isnan(rows[i].ratio);

        before.software = after.software = true;
        before.timing_model = after.timing_model = (char *)rows[i].model;
        before.spans = (struct rp_versus_runs){.ms = rows[i].before, .count = 1};
        after.spans = (struct rp_versus_runs){.ms = rows[i].after, .count = 1};
        assert_int_equal(rp_versus(&before, &after, &rule, &c, NULL), 0);
        assert_int_equal(c.span.basis, known ? RP_COMPARE_MODELLED : RP_COMPARE_NOT_TIMED);
        assert_int_equal(rp_versus_span_matters(&c), known);
        assert_int_equal(c.whole.verdict, RP_COMPARE_EQUAL);
        assert_int_equal(applied("runtime<=1", &c), RP_COMPARE_PASSED);
        assert_int_equal(applied("end_to_end<=1", &c), !known               ? RP_COMPARE_OPEN
                                                       : rows[i].ratio <= 1 ? RP_COMPARE_PASSED
                                                                            : RP_COMPARE_FAILED);
        if (known)
            assert_true(c.span.ratio == rows[i].ratio);
        rp_versus_found_free(&c);
    }
}

/* Of measured times it needs as many runs as that of kernels. */
static void measured_times_end_to_end_need_runs(void **state)
{
    const struct rp_versus_rule rule = {.margin = 0.01, .alpha = 0.01};
    double before_ms[] = {4, 4.01, 3.99, 4, 4.01, 3.99},
           after_ms[] = {2, 2.01, 1.99, 2, 2.01, 1.99};

    (void)state;
    for (size_t runs = 5; runs <= 6; runs++) {
        struct rp_versus_side before = side_of(before_ms, runs, NULL, 0), after = before;
        struct rp_versus_found c;

        before.spans = before.runs;
        after.spans = (struct rp_versus_runs){.ms = after_ms, .count = runs};
        assert_int_equal(rp_versus(&before, &after, &rule, &c, NULL), 0);
        assert_int_equal(c.span.basis, runs < 6 ? RP_COMPARE_TOO_FEW : RP_COMPARE_MEASURED);
        assert_int_equal(c.span.verdict, runs < 6 ? RP_COMPARE_UNDECIDED : RP_COMPARE_FASTER);
        rp_versus_found_free(&c);
    }
}

/* One side did less work than the other, and is not faster for that. */
static void failed_launches_are_not_fast(void **state)
{
    static const struct rp_failed_launch refused = {.api = "hipLaunchKernel",
                                                    .error = "hipErrorInvalidConfiguration",
                                                    .kernel = "k",
                                                    .calls = 1};
    struct rp_failed_launch often = refused, list[2] = {refused, refused};
    const struct rp_launches one = {.calls = 2, .failed = 1, .list = list, .count = 1};
    const struct rp_launches more = {.calls = 3, .failed = 2, .list = &often, .count = 1};
    const struct rp_launches none = {.calls = 2};
    const struct rp_versus_rule exact = {.margin = 0.01, .alpha = 0.01};
    const struct {
        const struct rp_launches *before, *after;
        bool same;
    } rows[] = {{&none, &none, true},
                {&none, &one, false},
                {&one, &none, false},
                {&one, &one, true}, /* the program tries something, and copes */
                {&one, &more, false}};

    (void)state;
    often.calls = 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double slow[] = {2}, fast[] = {1};
        struct rp_versus_kernel k = kernel_of("k", slow, 1);
        struct rp_versus_side before = side_of(slow, 1, &k, 1), after = side_of(fast, 1, &k, 1);
        struct rp_versus_found c;

        before.software = after.software = true;
        before.timing_model = after.timing_model = (char *)"detailed";
        assert_int_equal(versus_side_add_failed(&before, rows[i].before, NULL), 0);
        assert_int_equal(versus_side_add_failed(&after, rows[i].after, NULL), 0);
        assert_int_equal(rp_versus(&before, &after, &exact, &c, NULL), 0);
        assert_int_equal(c.whole.verdict, rows[i].same ? RP_COMPARE_FASTER : RP_COMPARE_UNDECIDED);
        assert_int_equal(c.whole.basis,
                         rows[i].same ? RP_COMPARE_MODELLED : RP_COMPARE_FAILED_LAUNCHES);
        rp_versus_found_free(&c);
        free(before.failed_launches);
        free(after.failed_launches);
    }
}

/* --- JSON ---------------------------------------------------------------------------------- */

#define PROFILE(kernels, gpus)                                                                     \
    "{\"schema_version\": \"1.0\", \"device\": \"hardware\", \"measurement\": \"dispatches\","     \
    " \"timing\": null, \"stability\": {\"runs_ms\": [1, 2]}, \"gpus\": " gpus                     \
    ", \"kernels\": " kernels ", \"provenance\": {\"dispatches\": 3, \"complete\": true,"          \
    " \"command\": [\"./a\", \"b\"]}}"
#define GPU "[{\"architecture\": \"gfx942\", \"product\": null}]"

#define BESIDE(version)                                                                            \
    "{\"schema_version\": \"" version                                                              \
    "\", \"kernels\": [{\"name\": \"k\", \"hbm_read_bytes\": 3, "                                  \
    "\"hbm_write_bytes\": 4, \"bound\": \"hbm\"}]}"

static void profiles_are_read(void **state)
{
    static const char text[] = PROFILE("[{\"name\": \"k\", \"runs_ms\": [1, null], \"resources\": "
                                       "{\"vgpr_per_thread\": 8, \"sgpr_per_wave\": null}}, "
                                       "{\"name\": \"old\", \"total_ms\": 4, \"timed_calls\": 1}]",
                                       GPU);
    struct rp_versus_side side;

    (void)state;
    assert_int_equal(rp_versus_side_parse(text, "p", &side, NULL), 0);
    assert_int_equal(side.kernel_count, 2);
    assert_string_equal(side.kernels[0].name, "old");
    assert_true(side.kernels[0].runs.count == 1 && side.kernels[0].runs.ms[0] == 4);
    assert_true(side.kernels[1].runs.count == 2 && isnan(side.kernels[1].runs.ms[1]));
    assert_true(side.kernels[1].metrics[RP_COMPARE_VGPRS].known);
    assert_false(side.kernels[1].metrics[RP_COMPARE_SGPRS].known);
    assert_string_equal(side.command, "./a b");
    assert_int_equal(rp_versus_side_add(&side, BESIDE("1.3"), "r", NULL), 0);
    assert_true(side.kernels[1].metrics[RP_COMPARE_BYTES].value == 7);
    assert_string_equal(side.kernels[1].bound, "hbm");
    rp_versus_side_free(&side);
}

/* Stored results of before have the model's old name. */
static void the_old_name_of_a_model_is_read(void **state)
{
    static const char *const models[] = {"fast", "counts"};
    struct rp_versus_side sides[2];
    struct rp_versus_found found;

    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_autofree char *text =
            rp_format("{\"schema_version\": \"1.3\", \"device\": \"software\", \"measurement\": "
                      "\"dispatches\", \"timing\": {\"model\": \"%s\", \"version\": 2}, "
                      "\"provenance\": {\"complete\": true, \"dispatches\": 1}, \"gpus\": " GPU ", "
                      "\"stability\": {\"runs_ms\": [1]}, \"kernels\": []}",
                      models[i]);

        assert_int_equal(rp_versus_side_parse(text, "p", &sides[i], NULL), 0);
        assert_string_equal(sides[i].timing_model, "counts");
    }
    assert_int_equal(rp_versus(&sides[0], &sides[1], &test_rule, &found, NULL), 0);
    rp_versus_found_free(&found);
    for (int i = 0; i < 2; i++)
        rp_versus_side_free(&sides[i]);
}

#define WITH_REPEATS(rows)                                                                         \
    PROFILE("[{\"name\": \"k\", \"calls\": 2, \"total_ms\": 4, \"runs_ms\": [4, 4]}], "            \
            "\"repeat_kernels\": " rows,                                                           \
            GPU)

/* A kernel without a first run is one as any other; rows of a name are summed as ever. */
static void kernels_of_further_runs_are_read(void **state)
{
    static const char text[] =
        WITH_REPEATS("[{\"name\": \"late\", \"runs_calls\": [0, 3], \"runs_ms\": [null, 5], "
                     "\"resources\": {\"vgpr_per_thread\": 8}}, "
                     "{\"name\": \"k\", \"runs_calls\": [0, 9], \"runs_ms\": [null, 2], "
                     "\"resources\": {\"vgpr_per_thread\": 8}}]");
    struct rp_versus_side side;
    const struct rp_versus_kernel *late, *k;

    (void)state;
    assert_int_equal(rp_versus_side_parse(text, "p", &side, NULL), 0);
    assert_int_equal(side.kernel_count, 2);
    late = rp_versus_side_find(&side, "late");
    assert_non_null(late);
    assert_true(late->runs.count == 2 && isnan(late->runs.ms[0]) && late->runs.ms[1] == 5);
    assert_true(late->metrics[RP_COMPARE_VGPRS].value == 8);
    assert_true(late->metrics[RP_COMPARE_DISPATCHES].value == 3);
    k = rp_versus_side_find(&side, "k");
    assert_non_null(k);
    assert_true(k->runs.ms[0] == 4 && k->runs.ms[1] == 6);
    assert_true(k->metrics[RP_COMPARE_DISPATCHES].value == 2);
    assert_false(k->metrics[RP_COMPARE_VGPRS].known);
    rp_versus_side_free(&side);
}

/* Of any kind of document: later minor versions are read, other major ones are not. */
static void other_versions_are_refused(void **state)
{
    static const char *const read[] = {"1.0", "1.1", "1.10"}, *const refused[] = {
                                                                  "2.0", "1",    "1.", "1.0.0",
                                                                  "1.x", "10.0", "0.9"};
    static const char text[] = PROFILE("[{\"name\": \"k\", \"runs_ms\": [1, 2]}]", GPU);
    struct rp_versus_side side;

    (void)state;
    assert_int_equal(rp_versus_side_parse(text, "p", &side, NULL), 0);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        assert_int_equal(rp_schema_version_check(read[i], "f", NULL), 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_schema_version_check(refused[i], "f", &err), -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, refused[i]));
    }
    assert_int_equal(rp_versus_side_add(&side, BESIDE("2.0"), "r", NULL), -RP_BAD_INPUT);
    assert_int_equal(rp_versus_side_add(&side, "{\"kernels\": []}", "r", NULL), -RP_BAD_INPUT);
    rp_versus_side_free(&side);
}

static void other_json_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "[1]",
        "{}",
        "{\"schema_version\": \"2.0\"}",
        "{\"schema_version\": \"1.0\"}",
        PROFILE("3", GPU),
        PROFILE("[{}]", GPU),
        PROFILE("[]", "[]"),
        WITH_REPEATS("3"),
        WITH_REPEATS("[{}]"),
        WITH_REPEATS("[{\"name\": \"late\"}]"),
        "{\"schema_version\": \"1.0\", \"kernels\": [], \"stability\": 1}",
        "{\"schema_version\": \"1.0\", \"a_to_a_blocks\": []}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_versus_side side;
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_versus_side_parse(rows[i], "the file", &side, &err), -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, "the file"));
    }
}

static void replays_are_told_again(void **state)
{
    struct rp_versus_side side;
    struct rp_versus_found c;

    (void)state;
    assert_int_equal(
        rp_versus_side_parse("{\"schema_version\": \"1.0\", \"a_to_a_blocks\": [], \"verdict\": "
                             "\"slower\", \"ratio\": {\"estimate\": 0.5, \"low\": 0.4, \"high\": "
                             "0.8, \"level\": 0.99}, \"environment\": {\"device\": \"gpu\"}}",
                             "r", &side, NULL),
        0);
    assert_int_equal(rp_versus_find_reported(&side, &c, NULL), 0);
    assert_int_equal(c.whole.verdict, RP_COMPARE_SLOWER);
    assert_true(c.whole.ratio == 2 && c.whole.low == 1.25 && c.whole.high == 2.5);
    rp_versus_found_free(&c);
    rp_versus_side_free(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_compare_is_refused),
        cmocka_unit_test(rows_of_a_name_are_one_kernel),
        cmocka_unit_test(kernels_are_found_by_name),
        cmocka_unit_test(gates_that_are_none_are_refused),
        cmocka_unit_test(gates_are_read),
        cmocka_unit_test(a_gate_of_no_kernel_tells_near_names),
        cmocka_unit_test(gates_hold_or_not_or_are_open),
        cmocka_unit_test(the_time_end_to_end_is_judged_by_itself),
        cmocka_unit_test(measured_times_end_to_end_need_runs),
        cmocka_unit_test(failed_launches_are_not_fast),
        cmocka_unit_test(profiles_are_read),
        cmocka_unit_test(the_old_name_of_a_model_is_read),
        cmocka_unit_test(kernels_of_further_runs_are_read),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(other_json_is_refused),
        cmocka_unit_test(replays_are_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
