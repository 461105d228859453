#include "unit/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "base/err.h"

#include "analyze/bottleneck.c"
#include "analyze/bottleneck_features.c"
#include "analyze/bottleneck_lines.c"
#include "analyze/bottleneck_rank.c"

#define LABEL(id) RP_BOTTLENECK_##id

/* --- ranking ------------------------------------------------------------------------------- */

static struct rp_roofline_kernel roofed(const char *name, double time_ns, double share)
{
    return (struct rp_roofline_kernel){.name = name,
                                       .calls = 2,
                                       .time_ns = {true, time_ns},
                                       .bound_share = {true, share},
                                       .gbps = {[RP_LEVEL_HBM] = {true, share * 1000}}};
}

static void close_to(struct rp_quantity q, double value)
{
    assert_true(q.known);
    if (fabs(q.value - value) > 1e-9 * fabs(value))
        fail_msg("%.12g instead of %.12g", q.value, value);
}

/* a: 600 of 1000 ns on the path, but without it another path of 700 ns remains. */
static void path_and_what_if_bound_the_gain(void **state)
{
    struct rp_dag_share shares[] = {{"a", 600, true}, {"b", 300, true}, {"[launch]", 100, false}};
    struct rp_dag_what_if what_ifs[] = {
        {"a", 1, 2, 800, 800, 800}, {"a", 0, 1, 700, 700, 700}, {"b", 0, 1, 700, 700, 700}};
    struct rp_dag_result dag = {.makespan_ns = 1000,
                                .shares = shares,
                                .share_count = 3,
                                .what_ifs = what_ifs,
                                .what_if_count = 3,
                                .grade_dependencies = {[RP_DAG_PARTIAL] = 1}};
    struct rp_roofline_kernel kernels[] = {roofed("a", 600, 0.4), roofed("b", 300, 0.1)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.dag = &dag, .roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_CRITICAL_PATH);
    assert_string_equal(b.kernels[0].name, "a"); /* 0.6 x 0.6 before 0.3 x 0.9 */
    close_to(b.kernels[0].priority, 0.36);
    close_to(b.kernels[1].priority, 0.27);
    close_to(b.kernels[0].end_to_end_bound, 1000.0 / 700); /* 640 on its path, 700 elsewhere */
    close_to(b.kernels[1].end_to_end_bound, 1000.0 / 730);
    close_to(b.kernels[0].free_bound, 1000.0 / 700);
    close_to(b.kernels[0].features.of[RP_FEATURE_HBM_SHARE], 0.4);
    rp_bottlenecks_free(&b);
}

/* Without any known dependency, the path is a guess: time counts. */
static void a_guessed_path_does_not_weigh(void **state)
{
    struct rp_dag_share shares[] = {{"a", 600, true}, {"b", 10, true}};
    struct rp_dag_result dag = {.makespan_ns = 1000,
                                .shares = shares,
                                .share_count = 2,
                                .grade_dependencies = {[RP_DAG_INFERRED] = 9}};
    struct rp_roofline_kernel kernels[] = {roofed("a", 100, 0.5), roofed("b", 300, 0.5)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.dag = &dag, .roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_KERNEL_TIME);
    assert_string_equal(b.kernels[0].name, "b");
    close_to(b.kernels[0].weight, 0.75);
    close_to(b.kernels[1].weight, 0.25);
    rp_bottlenecks_free(&b);
    kernels[0].time_ns.known = false; /* then the path is all there is */
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_CRITICAL_PATH);
    rp_bottlenecks_free(&b);
}

static void without_a_path_kernel_time_weighs(void **state)
{
    struct rp_roofline_kernel kernels[] = {roofed("a", 100, 0.9), roofed("b", 300, 0.5)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_KERNEL_TIME);
    assert_string_equal(b.kernels[0].name, "b");
    close_to(b.kernels[0].weight, 0.75);
    close_to(b.kernels[0].end_to_end_bound, 400.0 / (400 - 150));
    close_to(b.kernels[1].headroom, 0); /* HBM at its ceiling */
    close_to(b.kernels[1].end_to_end_bound, 1);
    assert_int_equal(b.kernels[1].label, LABEL(MEMORY_BANDWIDTH));
    kernels[0].time_ns.known = false; /* then no weight is known */
    rp_bottlenecks_free(&b);
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.basis, RP_RANK_NOTHING);
    assert_false(b.kernels[0].weight.known);
    assert_false(b.kernels[0].priority.known);
    rp_bottlenecks_free(&b);
}

/* Of the kernel: one whole, one partial, one partial and of a sample, one damaged, which would make
 * stalls more; and a partial one of another kernel. */
static void what_traces_are_worth(void **state)
{
    struct rp_att_kernel a = {.name = (char *)"a"}, c = {.name = (char *)"c"};
    struct rp_thread_trace traces[] = {
        {.completeness = RP_ATT_COMPLETE, .kernels = &a},
        {.completeness = RP_ATT_PARTIAL, .kernels = &a},
        {.completeness = RP_ATT_PARTIAL, .kernels = &a, .part_of_grid = true},
        {.completeness = RP_ATT_DAMAGED, .kernels = &a, .part_of_grid = true},
        {.completeness = RP_ATT_PARTIAL, .kernels = &c},
    };
    const struct rp_thread_traces set = {.traces = traces, .count = 5};
    struct rp_roofline_kernel kernels[] = {roofed("a", 600, 0.4), roofed("b", 300, 0.1)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    const struct rp_bottleneck_inputs in = {.roofline = &roofline, .traces = &set};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;
    const struct rp_traced *of[3] = {NULL};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        traces[i].kernel_count = 1;
        traces[i].sums.latency_cycles = 100;
        traces[i].sums.stall_cycles = i == 3 ? 100 : 10;
    }
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_int_equal(b.kernel_count, 3);
    for (size_t i = 0; i < 3; i++) {
        of[b.kernels[i].name[0] - 'a'] = &b.kernels[i].traced;
        if (!strcmp(b.kernels[i].name, "a"))
            close_to(b.kernels[i].features.of[RP_FEATURE_STALL], 0.1);
    }
    assert_memory_equal(of[0], (&(struct rp_traced){3, 2, 1, 1}), sizeof *of[0]);
    assert_memory_equal(of[1], (&(struct rp_traced){0, 0, 0, 0}), sizeof *of[1]);
    assert_memory_equal(of[2], (&(struct rp_traced){1, 1, 0, 0}), sizeof *of[2]);
    rp_bottlenecks_free(&b);
}

static void kernels_of_others_are_not_judged(void **state)
{
    struct rp_roofline_kernel kernels[] = {roofed("__amd_rocclr_copyBuffer", 100, 0.9),
                                           roofed("ncclDevKernel_Generic_1(int)", 300, 0.1),
                                           roofed("mine", 50, 0.9)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 3, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    for (size_t i = 0; i < b.kernel_count; i++)
        assert_int_equal(b.kernels[i].finding.cause, b.kernels[i].name[0] == '_' ? RP_CAUSE_RUNTIME
                                                     : b.kernels[i].name[0] == 'n'
                                                         ? RP_CAUSE_COMMUNICATION
                                                         : RP_CAUSE_HBM);
    rp_bottlenecks_free(&b);
}

/* 600 of 1000 ns are the kernel's, but at half of its time another path of 800 ns is longer. */
static void the_program_gains_what_the_graph_says(void **state)
{
    struct rp_dag_share shares[] = {{"a", 600, true}};
    struct rp_dag_what_if what_ifs[] = {
        {"a", 3, 2, 850, 850, 850}, {"a", 2, 1, 800, 800, 800}, {"a", 0, 1, 800, 800, 800}};
    struct rp_dag_result dag = {.makespan_ns = 1000,
                                .shares = shares,
                                .share_count = 1,
                                .what_ifs = what_ifs,
                                .what_if_count = 3,
                                .grade_dependencies = {[RP_DAG_PARTIAL] = 1}};
    struct rp_bottleneck_kernel k = {.weight = {true, 0.6}, .free_bound = {true, 1.25}};
    struct rp_indexed_name found = {.at = 2};

    (void)state;
    close_to((struct rp_quantity){true, program_factor(&dag, &found, &k, 1.5)}, 1000.0 / 850);
    close_to((struct rp_quantity){true, program_factor(&dag, &found, &k, 2)}, 1000.0 / 800);
    close_to((struct rp_quantity){true, program_factor(&dag, &found, &k, 100)}, 1000.0 / 800);
    /* Between 1 and 2/3 of the time, half of the way. */
    close_to((struct rp_quantity){true, program_factor(&dag, &found, &k, 1.2)}, 1000.0 / 925);
    close_to((struct rp_quantity){true, program_factor(&dag, NULL, &k, 1.5)}, 1000.0 / 800);
}

/* A workgroup takes whole waves, however few of their lanes it fills. */
static void workgroups_take_whole_waves(void **state)
{
    struct rp_kernel_summary s = {.grid = {1000, 4, 1}, .block = {1, 1, 1}};

    (void)state;
    assert_true(waves_of_grid(&s, 64) == 4000);
    s.block[0] = 96;
    assert_true(waves_of_grid(&s, 64) == 11 * 4 * 2);
    s.block[0] = 256;
    assert_true(waves_of_grid(&s, 64) == 4 * 4 * 4);
    s.block[1] = 0;
    assert_true(waves_of_grid(&s, 64) == 0);
}

/* The kernel that takes most is the program's, also where it has nothing to gain. */
static void a_full_memory_limits_its_program(void **state)
{
    struct rp_roofline_kernel kernels[] = {roofed("tiny", 10, 0.1), roofed("large", 990, 0.8)};
    struct rp_roofline_device device = {.ceilings = {.gbps = {[RP_LEVEL_HBM] = {true, 1000}}}};
    struct rp_roofline roofline = {
        .kernels = kernels, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_inputs in = {.roofline = &roofline};
    struct rp_bottlenecks b = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_bottlenecks_find(&in, &b, &err), 0);
    assert_true(b.program_is_kernel);
    assert_string_equal(b.kernels[b.program_kernel].name, "large");
    assert_int_equal(b.program.cause, RP_CAUSE_HBM);
    rp_bottlenecks_free(&b);
}

static void names_with_kd_are_the_same(void **state)
{
    (void)state;
    assert_true(rp_same_kernel("_Z1kv.kd", "_Z1kv"));
    assert_true(rp_same_kernel("k", "k"));
    assert_false(rp_same_kernel("k", "k2"));
    assert_false(rp_same_kernel(NULL, "k"));
    assert_false(rp_same_kernel(".kd", ""));
}

static void parts_and_wholes_are_counted_together(void **state)
{
    struct rp_roofline_need needs[16];
    size_t count = rp_bottleneck_needs("gfx942", 40, needs, 16);
    unsigned cycles = 0, lanes = 0;

    (void)state;
    assert_int_equal(count, 14);
    for (size_t i = 0; i < count; i++) {
        cycles += needs[i].group == 40 && strstr(needs[i].name, "_CYCLES") != NULL;
        lanes += needs[i].group == 40 && strstr(needs[i].name, "VALU") != NULL;
    }
    assert_int_equal(cycles, 4); /* and SQ_WAIT_ANY */
    assert_int_equal(lanes, 3);
    assert_int_equal(rp_bottleneck_needs("gfx1030", 40, needs, 16), 0);
    assert_int_equal(rp_bottleneck_needs("gfx942", 40, needs, 0), 14); /* nothing is written */
}

/* --- lines of calls ------------------------------------------------------------------------ */

static const struct rp_rule *rule_called(const char *id)
{
    size_t count;
    const struct rp_rule *rules = rp_rules(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(rules[i].id, id) == 0)
            return &rules[i];
    fail_msg("no rule is called %s", id);
    return NULL;
}

/* Gives a program with this cause its line. Kernels a and b are short, and launched equally often:
 * b before a. */
static const char *program_line(enum rp_cause cause, bool is_kernel)
{
    static const struct rp_quantity short_ns = {true, 3000};
    struct rp_kernel_summary kernels[] = {
        {.name = "a", .symbol = "", .calls = 50, .launch_line = "x:2", .launch_order = 4},
        {.name = "b", .symbol = "", .calls = 50, .launch_line = "x:1", .launch_order = 3},
        {.name = "c", .symbol = "", .calls = 90}};
    struct rp_profile profile = {
        .kernels = kernels, .kernel_count = 3, .copy_line = "x:3", .host_line = "x:4"};
    struct rp_bottleneck_inputs in = {.profile = &profile};
    struct rp_bottleneck_kernel found[] = {
        {.name = (char *)"a", .calls = 50, .weight = {true, 0.5}, .finding = {.line = "own:9"}},
        {.name = (char *)"b", .calls = 50, .weight = {true, 0.3}},
        {.name = (char *)"c", .calls = 90, .weight = {true, 0.2}}};
    struct rp_bottlenecks b = {.kernels = found,
                               .kernel_count = 3,
                               .program = {.cause = cause},
                               .program_is_kernel = is_kernel};
    rp_cleanup(bottleneck_index_free) struct rp_bottleneck_index index = {0};

    for (size_t i = 0; i < 3; i++)
        found[i].features.of[RP_FEATURE_DURATION_NS] = short_ns;
    assert_true(bottleneck_index_make(&index, &in));
    rp_bottleneck_line_of_program(&in, &index, &b);
    return b.program.line;
}

static void the_program_has_the_line_of_its_cause(void **state)
{
    (void)state;
    assert_string_equal(program_line(RP_CAUSE_LAUNCH, false), "x:1");
    assert_string_equal(program_line(RP_CAUSE_COPY, false), "x:3");
    assert_string_equal(program_line(RP_CAUSE_HOST, false), "x:4");
    assert_null(program_line(RP_CAUSE_COMMUNICATION, false));
    assert_null(program_line(RP_CAUSE_HBM, true)); /* It has its kernel's when it is judged. */
}

/* What is decided at the launch has its line; another finding keeps that of the kernel's code. */
static void kernels_have_the_lines_of_their_launches(void **state)
{
    const struct {
        struct rp_finding finding;
        const char *line;
    } rows[] = {
        {{.cause = RP_CAUSE_SMALL_GRID}, "x:7"},
        {{.cause = RP_CAUSE_LAUNCH}, "x:7"},
        {{.cause = RP_CAUSE_OCCUPANCY,
          .rule = rule_called("workgroups_fill_waves_in_part"),
          .line = "own:9"},
         "x:7"},
        {{.cause = RP_CAUSE_OCCUPANCY,
          .rule = rule_called("resources_keep_waves_out"),
          .line = "own:9"},
         "own:9"},
        {{.cause = RP_CAUSE_HBM, .line = "own:9"}, "own:9"},
    };
    struct rp_kernel_summary kernel = {.name = "k(int)", .symbol = "k", .launch_line = "x:7"};
    struct rp_profile profile = {.kernels = &kernel, .kernel_count = 1};
    struct rp_bottleneck_inputs in = {.profile = &profile};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_bottleneck_kernel found = {.name = (char *)"k", .finding = rows[i].finding};
        struct rp_bottlenecks b = {.kernels = &found, .kernel_count = 1};
        rp_cleanup(bottleneck_index_free) struct rp_bottleneck_index index = {0};

        assert_true(bottleneck_index_make(&index, &in));
        rp_bottleneck_lines_of_kernels(&in, &index, &b);
        assert_string_equal(found.finding.line, rows[i].line);
    }
}

/** What a kernel has that declares arrays of 3072, 1024 and 768 bytes. */
struct resources_of_test {
    uint32_t registers, lds_bytes, scratch_bytes;
    uint64_t own_lds_bytes; /**< of lds_bytes */
};

static struct rp_finding declared(enum rp_cause cause, const char *limiter,
                                  struct resources_of_test has)
{
    static struct rp_att_variable variables[] = {
        {(char *)"x:4", 8},   {(char *)"x:3", 1024}, {(char *)"x:5", 3072},
        {(char *)"x:7", 768}, {(char *)"x:6", 512},  {(char *)"x:2", 32},
    };
    static struct rp_att_kernel name = {.symbol = (char *)"k", .name = (char *)"k"};
    struct rp_thread_trace trace = {.kernels = &name,
                                    .kernel_count = 1,
                                    .variables = variables,
                                    .variable_count = 6,
                                    .kernel_place = (char *)"x:1",
                                    .kernel_lds_bytes = has.own_lds_bytes};
    struct rp_thread_traces traces = {.traces = &trace, .count = 1};
    struct rp_kernel_summary kernel = {.name = "k",
                                       .symbol = "k",
                                       .launch_line = "x:90",
                                       .resources = {.lds_bytes = has.lds_bytes,
                                                     .scratch_bytes = has.scratch_bytes,
                                                     .arch_vgpr = has.registers}};
    struct rp_profile profile = {.kernels = &kernel, .kernel_count = 1};
    struct rp_bottleneck_inputs in = {.profile = &profile, .traces = &traces};
    struct rp_bottleneck_kernel found = {
        .name = (char *)"k",
        .finding = {.cause = cause,
                    .rule = rule_called(cause == RP_CAUSE_SPILLS ? "scratch_holds_up_waves"
                                                                 : "resources_keep_waves_out"),
                    .line = "x:50",
                    .limiter = limiter}};
    struct rp_bottlenecks b = {.kernels = &found, .kernel_count = 1};
    rp_cleanup(bottleneck_index_free) struct rp_bottleneck_index index = {0};

    assert_true(bottleneck_index_make(&index, &in));
    rp_bottleneck_lines_of_kernels(&in, &index, &b);
    return found.finding;
}

static void what_keeps_waves_out_is_declared_somewhere(void **state)
{
    const struct resources_of_test in_code = {64, 4096, 0, 4096}, by_launch = {64, 20480, 0, 0},
                                   both = {64, 20480, 0, 3072}, many = {256, 0, 0, 0};

    (void)state;
    assert_string_equal(declared(RP_CAUSE_OCCUPANCY, "lds", in_code).line, "x:5");
    assert_string_equal(declared(RP_CAUSE_OCCUPANCY, "lds", in_code).waits_at, "x:50");
    assert_string_equal(declared(RP_CAUSE_OCCUPANCY, "lds", by_launch).line, "x:90");
    assert_string_equal(declared(RP_CAUSE_OCCUPANCY, "lds", both).line, "x:90");
    assert_string_equal(declared(RP_CAUSE_OCCUPANCY, "vgpr", many).line, "x:5");
    assert_string_equal(declared(RP_CAUSE_OCCUPANCY, "vgpr", in_code).line, "x:7");
    assert_string_equal(declared(RP_CAUSE_OCCUPANCY, "workgroup_size", in_code).line, "x:90");
    assert_string_equal(declared(RP_CAUSE_HBM, NULL, in_code).line, "x:50");
    assert_null(declared(RP_CAUSE_HBM, NULL, in_code).waits_at);
}

static void spills_are_of_an_array_or_of_the_kernel(void **state)
{
    const struct resources_of_test lds = {128, 4096, 400, 4096}, bounds = {256, 4096, 400, 4096},
                                   indexed = {44, 4096, 900, 4096}, few = {64, 4096, 400, 4096};
    const struct rp_finding array = declared(RP_CAUSE_SPILLS, NULL, indexed);

    (void)state;
    assert_string_equal(declared(RP_CAUSE_SPILLS, NULL, lds).line, "x:7"); /* too large for 128 */
    assert_string_equal(declared(RP_CAUSE_SPILLS, NULL, bounds).line, "x:1");
    assert_null(declared(RP_CAUSE_SPILLS, NULL, bounds).limiter);
    assert_string_equal(declared(RP_CAUSE_SPILLS, NULL, few).line, "x:1"); /* by launch bounds */
    assert_string_equal(array.line, "x:7");                                /* Registers are left. */
    assert_string_equal(rp_finding_title(&array), "an array in scratch memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_and_what_if_bound_the_gain),
        cmocka_unit_test(a_guessed_path_does_not_weigh),
        cmocka_unit_test(without_a_path_kernel_time_weighs),
        cmocka_unit_test(what_traces_are_worth),
        cmocka_unit_test(kernels_of_others_are_not_judged),
        cmocka_unit_test(the_program_gains_what_the_graph_says),
        cmocka_unit_test(workgroups_take_whole_waves),
        cmocka_unit_test(a_full_memory_limits_its_program),
        cmocka_unit_test(names_with_kd_are_the_same),
        cmocka_unit_test(parts_and_wholes_are_counted_together),
        cmocka_unit_test(the_program_has_the_line_of_its_cause),
        cmocka_unit_test(kernels_have_the_lines_of_their_launches),
        cmocka_unit_test(what_keeps_waves_out_is_declared_somewhere),
        cmocka_unit_test(spills_are_of_an_array_or_of_the_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
