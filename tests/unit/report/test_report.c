#include "report/samples.h"

#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"
#include "trace/counter_set.h"

#include <jansson.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *json_text(const char *name)
{
    struct rp_buf buf = {0};
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_report_profile_json(sample(name), &buf, &err), 0);
    return rp_buf_steal(&buf);
}

static json_t *json_of(const char *name)
{
    char *text = json_text(name);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (!root)
        print_message("%s: %s\n%s\n", name, error.text, text);
    assert_non_null(root);
    free(text);
    return root;
}

static const json_t *at(const json_t *root, const char *a, const char *b)
{
    const json_t *value = json_object_get(root, a);

    value = b ? json_object_get(value, b) : value;
    assert_non_null(value);
    return value;
}

static void assert_real(const json_t *value, double expected)
{
    assert_true(json_is_real(value));
    assert_true(fabs(json_real_value(value) - expected) < 1e-9);
}

/* Two GPUs, a name that two kernels of one GPU have, the name of a descriptor, a counter that a
 * dispatch lacks. */
static void counters_are_of_kernel_and_gpu(void **state)
{
    static const char *kernels[] = {"a.kd", "twice"}, *names[] = {"X", "Y"};
    static struct rp_counter_value values[] = {{.value = 1},
                                               {.counter = 1, .value = 10},
                                               {.value = 2},
                                               {.value = 4},
                                               {.counter = 1, .value = 40}};
    static struct rp_counted_device devices[] = {{.id = 7}, {.id = 3}};
    static struct rp_counted_dispatch dispatches[] = {
        {.kernel = 0, .device = 0, .id = 1, .values = values, .value_count = 2},
        {.kernel = 0, .device = 1, .id = 2, .values = values + 2, .value_count = 1},
        {.kernel = 1, .device = 0, .id = 3, .values = values + 3, .value_count = 2},
        {.kernel = 0, .device = 1, .id = 4, .values = values + 3, .value_count = 2},
    };
    const struct rp_counters counters = {.names = names,
                                         .name_count = 2,
                                         .kernels = kernels,
                                         .kernel_count = 2,
                                         .devices = devices,
                                         .device_count = 2,
                                         .dispatches = dispatches,
                                         .dispatch_count = 4};
    struct rp_agent_summary agents[] = {{.name = "gfx942", .trace_id = 3},
                                        {.name = "gfx942", .trace_id = 7}};
    struct rp_kernel_summary rows[] = {{.name = "a", .agent = 0},
                                       {.name = "a", .agent = 1},
                                       {.name = "twice", .agent = 1},
                                       {.name = "twice", .agent = 1},
                                       {.name = "twice", .agent = 0}};
    static const char *const wanted[] = {"{\"X\":6.0}", "{\"X\":1.0,\"Y\":10.0}", "null", "null",
                                         "{}"};
    struct rp_profile p = {.agents = agents, .agent_count = 2, .kernels = rows, .kernel_count = 5};
    struct rp_profile_report r = *sample("one");
    struct rp_buf buf = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    r.profile = &p;
    r.kernel_ms = NULL; /* of two kernels */
    r.counters = &counters;
    assert_int_equal(rp_report_profile_json(&r, &buf, &err), 0);
    json_t *root = json_loads(rp_buf_text(&buf), 0, NULL);
    assert_non_null(root);
    for (size_t i = 0; i < 5; i++) {
        const json_t *row = json_array_get(json_object_get(root, "kernels"), i);
        char *text = json_dumps(json_object_get(row, "counters"),
                                JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        assert_string_equal(text, wanted[i]);
        free(text);
    }
    json_decref(root);
    rp_buf_free(&buf);
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_message("missing: %s\nin:\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

/* Of no model, as in a result of hardware, of one without replays, and of one with them. */
static void json_names_the_model_of_time(void **state)
{
    struct rp_profile_report report = *sample("one");
    struct rp_profile profile = *report.profile;
    struct rp_kernel_summary kernels[2] = {profile.kernels[0], profile.kernels[1]};
    static const char *const wanted[] = {
        "null",
        "{\"bounds\":{\"calls\":3,\"longest_ms\":4.5,\"shortest_ms\":0.25},"
        "\"error_share\":null,\"fast_clock_waves\":null,\"model\":\"counts\","
        "\"overlapped\":{\"dispatches\":0,\"ns\":0},\"replayed_calls\":null,"
        "\"replayed_waves\":null,\"version\":3,\"waves\":null}",
        "{\"error_share\":0.125,\"fast_clock_waves\":9,\"model\":\"detailed\","
        "\"overlapped\":{\"dispatches\":4,\"ns\":1500000},\"replayed_calls\":3,"
        "\"replayed_waves\":20,\"version\":3,\"waves\":40}",
    };

    (void)state;
    profile.kernels = kernels;
    report.profile = &profile;
    for (size_t i = 0; i < 3; i++) {
        struct rp_buf buf = {0};
        struct rp_err err = RP_ERR_INIT;
        json_t *root;
        char *text;

        profile.timing_version = i ? 3 : 0;
        profile.timing_model = i == 2 ? "detailed" : i ? "counts" : NULL;
        if (i == 2)
            profile.replayed = kernels[0].replayed =
                (struct rp_simulated_timing){.calls = 3,
                                             .waves = 40,
                                             .replayed_waves = 20,
                                             .error_share = 0.125,
                                             .fast_clocks_known = true,
                                             .fast_clock_waves = 9};
        if (i == 1)
            profile.replayed = kernels[0].replayed = (struct rp_simulated_timing){
                .bounded_calls = 3, .shortest_ns = 250000, .longest_ns = 4500000};
        if (i == 2)
            profile.overlapped = (struct rp_overlapped){4, 1500000};
        assert_int_equal(rp_report_profile_json(&report, &buf, &err), 0);
        root = json_loads(rp_buf_text(&buf), 0, NULL);
        text =
            json_dumps(at(root, "timing", NULL), JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        assert_string_equal(text, wanted[i]);
        free(text);
        text = json_dumps(json_object_get(json_array_get(at(root, "kernels", NULL), 0), "bounds"),
                          JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        assert_true(i == 1 ? !strcmp(text, "{\"calls\":3,\"longest_ms\":4.5,\"shortest_ms\":0.25}")
                           : !text);
        free(text);
        text = json_dumps(json_object_get(json_array_get(at(root, "kernels", NULL), 0), "timing"),
                          JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        assert_string_equal(
            text, i < 2 ? "null"
                        : "{\"error_share\":0.125,\"fast_clock_waves\":9,\"replayed_calls\":3,"
                          "\"replayed_waves\":20,\"waves\":40}");
        free(text);
        json_decref(root);
        rp_buf_free(&buf);
        assert_int_equal(rp_report_profile_term(&report, (struct rp_term_style){0}, &buf, &err), 0);
        assert_contains(rp_buf_text(&buf), i == 2   ? "modelled time (detailed timing), not"
                                           : i == 1 ? "modelled time (counts timing), not"
                                                    : "modelled time (software device), not");
        if (i == 2) {
            assert_contains(rp_buf_text(&buf), "9 of 40 waves read counts timing's clock");
            if (i == 1)
                assert_contains(rp_buf_text(&buf), "Bounds        between 250");
            assert_contains(rp_buf_text(&buf),
                            "4 launches overlap for 1.500 ms: they share the device");
            assert_contains(rp_buf_text(&buf), "all dispatches; host time is not modelled\n");
        } else {
            assert_null(strstr(rp_buf_text(&buf), "Overlap"));
            assert_int_equal(strstr(rp_buf_text(&buf), "launch and host time are not modelled\n") !=
                                 NULL,
                             i == 1);
        }
        if (i == 2) {
            assert_contains(rp_buf_text(&buf), "50.0 % of the waves; estimated error of "
                                               "extrapolation 12.5 %");
            assert_contains(rp_buf_text(&buf),
                            "1 of 4 launches could not be replayed: timed from counts");
        }
        rp_buf_free(&buf);
    }
}

static void json_carries_the_contract(void **state)
{
    json_t *root = json_of("one");

    (void)state;
    assert_string_equal(json_string_value(at(root, "schema_version", NULL)), "1.0");
    assert_string_equal(json_string_value(at(root, "device", NULL)), "software");
    assert_real(at(root, "runtime_ms", NULL), 0.0034);
    assert_real(at(root, "user_ms", NULL), 0.003);
    assert_real(at(root, "runtime_internal_ms", NULL), 0.0004);
    assert_string_equal(json_string_value(at(root, "kernel", "name")),
                        "vadd(float const*, float const*, float*, int)");
    assert_int_equal(json_integer_value(json_array_get(at(root, "kernel", "grid"), 0)), 1024);
    assert_int_equal(json_integer_value(json_array_get(at(root, "kernel", "block"), 0)), 256);
    assert_string_equal(json_string_value(at(root, "gpu", "architecture")), "gfx942");
    assert_int_equal(json_integer_value(at(root, "gpu", "wave_size")), 64);
    assert_int_equal(json_integer_value(at(root, "gpu", "compute_units")), 304);
    assert_int_equal(json_integer_value(at(root, "stability", "runs")), 3);
    assert_real(at(root, "stability", "mean_ms"), 0.0034);
    assert_real(at(root, "stability", "cv"), 0);
    assert_string_equal(json_string_value(at(root, "stability", "classification")), "stable");
    assert_int_equal(json_integer_value(at(root, "resources", "vgpr_per_thread")), 12);
    assert_int_equal(json_integer_value(at(root, "resources", "agpr_per_thread")), 4);
    assert_int_equal(json_integer_value(at(root, "resources", "sgpr_per_wave")), 16);
    assert_int_equal(json_integer_value(at(root, "resources", "lds_bytes")), 1024);
    assert_real(at(root, "occupancy", "theoretical"), 1);
    assert_int_equal(json_integer_value(at(root, "occupancy", "threads_per_block")), 256);
    assert_string_equal(json_string_value(at(root, "occupancy", "limiter")), "none");
    assert_true(json_is_null(at(root, "roofline", NULL)));
    assert_int_equal(json_array_size(at(root, "kernels", NULL)), 2);
    assert_true(json_is_true(
        json_object_get(json_array_get(at(root, "kernels", NULL), 1), "runtime_internal")));
    json_decref(root);
}

static void json_says_null_where_nothing_is_known(void **state)
{
    json_t *root = json_of("unknown_arch"), *row;

    (void)state;
    assert_true(json_is_null(at(root, "gpu", "compute_units")));
    assert_true(json_is_null(at(root, "gpu", "product")));
    assert_true(json_is_null(at(root, "occupancy", "theoretical")));
    assert_true(json_is_null(at(root, "occupancy", "waves_per_simd")));
    assert_true(json_is_string(at(root, "occupancy", "reason")));
    assert_true(json_is_false(at(root, "provenance", "complete")));
    row = json_array_get(at(root, "kernels", NULL), 1);
    assert_true(json_is_null(json_object_get(row, "mean_ms")));
    assert_true(json_is_null(json_object_get(row, "symbol")));
    assert_true(json_is_null(at(row, "resources", "vgpr_per_thread")));
    assert_true(json_is_null(at(row, "resources", "scratch_bytes"))); /* nor does it say 0 */
    json_decref(root);
    root = json_of("empty");
    assert_true(json_is_null(at(root, "kernel", NULL)));
    assert_true(json_is_null(at(root, "gpu", NULL)));
    json_decref(root);
    root = json_of("runtime_only");
    assert_true(json_is_null(at(root, "kernel", NULL)));
    assert_true(json_is_object(at(root, "gpu", NULL)));
    json_decref(root);
}

static void json_of_the_wall_clock_claims_no_runtime(void **state)
{
    json_t *root = json_of("wallclock");

    (void)state;
    assert_string_equal(json_string_value(at(root, "measurement", NULL)), "wallclock");
    assert_true(json_is_null(at(root, "runtime_ms", NULL)));
    assert_true(json_is_string(at(root, "runtime_reason", NULL)));
    assert_real(at(root, "wall_ms", NULL), 181.25);
    assert_string_equal(json_string_value(at(root, "stability", "quantity")), "wall_ms");
    assert_real(at(root, "stability", "mean_ms"), 183.625);
    json_decref(root);
}

static void json_keeps_hostile_names_whole(void **state)
{
    json_t *root = json_of("hostile");

    (void)state;
    assert_string_equal(json_string_value(at(root, "kernel", "name")),
                        "quote\" back\\slash \x1b[2J\x07 new\nline\ttab");
    json_decref(root);
}

static void json_is_the_same_every_time(void **state)
{
    size_t count;
    const struct sample *all = samples(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        char *first = json_text(all[i].name), *second;

        second = json_text(all[i].name);
        assert_string_equal(first, second);
        assert_int_equal(first[strlen(first) - 1], '\n');
        free(first);
        free(second);
    }
}

/* "a" : before "b" : at every level, so that diff is useful. */
static void check_sorted(const json_t *value)
{
    const char *last = "", *key;
    json_t *child;
    size_t i;

    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, child)
        {
            assert_true(strcmp(last, key) < 0);
            last = key;
            check_sorted(child);
        }
    }
    json_array_foreach(value, i, child) check_sorted(child);
}

static void json_keys_are_sorted(void **state)
{
    json_t *root = json_of("many");

    (void)state;
    check_sorted(root);
    json_decref(root);
}

static char *term_text(const char *name, struct rp_term_style style)
{
    struct rp_buf buf = {0};
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_report_profile_term(sample(name), style, &buf, &err), 0);
    return rp_buf_steal(&buf);
}

/* As the roofline, the critical path and the timeline number them; by place where two machines have
 * the same number. */
static void term_numbers_gpus_as_the_trace(void **state)
{
    struct rp_agent_summary agents[] = {{.name = "gfx942", .trace_id = 3},
                                        {.name = "gfx942", .trace_id = 7}};
    struct rp_kernel_summary rows[] = {{.name = "a", .agent = 0, .calls = 1, .total_ns = 2},
                                       {.name = "b", .agent = 1, .calls = 1, .total_ns = 1}};
    struct rp_profile p = *sample("one")->profile;
    struct rp_profile_report r = *sample("one");

    (void)state;
    p.agents = agents;
    p.kernels = rows;
    p.agent_count = p.kernel_count = 2;
    r.profile = &p;
    r.kernel_ms = NULL;
    r.provenance.tracer = "rocprofv3";
    for (int i = 0; i < 2; i++) {
        struct rp_buf buf = {0};
        struct rp_err err = RP_ERR_INIT;

        agents[0].trace_id = i ? 7 : 3;
        assert_int_equal(rp_report_profile_term(&r, (struct rp_term_style){0}, &buf, &err), 0);
        assert_contains(rp_buf_text(&buf), i ? "GPU 0         gfx942" : "GPU 3         gfx942");
        assert_contains(rp_buf_text(&buf), i ? "GPU 1         gfx942" : "GPU 7         gfx942");
        assert_contains(rp_buf_text(&buf), i ? "b, GPU 1" : "b, GPU 7");
        assert_contains(rp_buf_text(&buf), "host times are this host's, kernel times are modelled");
        rp_buf_free(&buf);
    }
}

static void term_marks_communication(void **state)
{
    struct rp_kernel_summary rows[] = {
        {.name = "ncclDevKernel_Generic_2(ncclDevKernelArgsStorage<4096ul>)",
         .calls = 1,
         .total_ns = 2},
        {.name = "mscclKernel_Sum_float_LL_false(ncclDevComm*)", .calls = 1, .total_ns = 1}};
    struct rp_profile p = *sample("one")->profile;
    struct rp_profile_report r = *sample("one");
    struct rp_buf buf = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    p.kernels = rows;
    p.kernel_count = 2;
    r.profile = &p;
    r.kernel_ms = NULL;
    assert_int_equal(rp_report_profile_term(&r, (struct rp_term_style){0}, &buf, &err), 0);
    assert_contains(rp_buf_text(&buf), "ncclDevKernel_Generic_2 (communication)\n");
    assert_contains(rp_buf_text(&buf), "mscclKernel_Sum_float_LL_false (communication)\n");
    rp_buf_free(&buf);
}

static void term_tells_the_device_first(void **state)
{
    char *text = term_text("one", (struct rp_term_style){0});
    char *first = strndup(text, strcspn(text, "\n"));

    (void)state;
    assert_contains(first, "SOFTWARE DEVICE: modelled time (software device), not hardware time");
    free(first);
    free(text);
    text = term_text("many", (struct rp_term_style){0});
    assert_int_equal(strncmp(text, "HARDWARE", 8), 0);
    assert_null(strstr(text, "software"));
    free(text);
    text = term_text("wallclock", (struct rp_term_style){.width = 20});
    assert_contains(text, "SOFTWARE DEVICE: wall clock of the emulation, not hardware time\n");
    assert_contains(text, "181.3 ms, whole process");
    assert_null(strstr(text, "Kernels"));
    free(text);
}

static void term_is_a_line_for_each_kernel(void **state)
{
    static const char *const parts[] = {
        "GPU           AMD Instinct MI300X, gfx942, 304 CUs, wave64",
        "rocm-perf profile: ./vadd 1024 --check",
        "Runtime       3.400 us, all dispatches",
        "Stability     stable: 3 runs, CV 0.0 %",
        "% time                total us   calls   mean us  kernel\n",
        "  88.2 ###########       3.000       2     1.500  vadd\n",
        "__amd_rocclr_copyBuffer (HIP runtime)\n",
        "warning: the runs launch different work",
    };
    char *text = term_text("one", (struct rp_term_style){0});

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_contains(text, parts[i]);
    assert_null(strstr(text, "VGPR"));
    assert_null(strstr(text, "stddev"));
    free(text);
    text = term_text("one", (struct rp_term_style){.utf8 = true});
    assert_contains(text, "  88.2 ██████████▋       3.000       2     1.500  vadd\n");
    free(text);
}

static void term_tells_what_ran_how_long_and_how_well(void **state)
{
    static const char *const parts[] = {
        "AMD Instinct MI300X, gfx942, 304 CUs, wave64",
        "rocm-perf profile: ./vadd 1024 --check",
        "Runtime       3.400 us, all dispatches",
        "Program       3.000 us in 2 launches of 1 kernel\n",
        "HIP runtime   400 ns in 2 launches of 1 kernel\n",
        "Stability     stable: 3 runs, CV 0.0 %",
        "              mean 3.400 us, stddev 0 ns",
        "vadd(float const*, float const*, float*, int)\n",
        "grid 4 x 1 x 1 blocks of 256 x 1 x 1 (1024 x 1 x 1 work-items)",
        "VGPR 12, AGPR 4, SGPR 16, LDS 1024 bytes, scratch 0 bytes",
        "occupancy 100.0 %, 32 of 32 waves per CU, not limited",
        "Kernels of the HIP runtime",
        "__amd_rocclr_copyBuffer\n",
        "warning: the runs launch different work",
    };
    char *text = term_text("one", (struct rp_term_style){.verbose = true}), *warning;

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_contains(text, parts[i]);
    warning = strstr(text, "warning");
    assert_non_null(strstr(warning, " 0, 1, 2  late(float*)\n"));
    assert_null(strstr(warning + 1, "warning"));
    free(text);
}

static void term_warns(void **state)
{
    char *text = term_text("unknown_arch", (struct rp_term_style){.verbose = true});

    (void)state;
    assert_contains(text, "occupancy unknown: the architecture is not in the table");
    assert_contains(text, "registers unknown");
    assert_contains(text, "warning: dispatches without a usable time (listed, not timed): 2\n");
    assert_contains(text,
                    "warning: traces not closed in order (the end of the run may be missing): 1\n");
    assert_contains(text, "warning: exit status of the program: 139\n");
    assert_contains(text, "GPU           gfx1250\n");
    assert_contains(text, "warning: records the tracer could not write: 5\n");
    free(text);
}

/* Every line of every sample fits the width, but for a single word that is longer; without a
 * terminal lines are as long as they are. Nothing but colour codes when asked controls it. */
static void term_fits_its_width(void **state)
{
    static const unsigned widths[] = {40, 60, 80, 100, 200};
    size_t count;
    const struct sample *all = samples(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t w = 0; w < 2 * sizeof widths / sizeof widths[0]; w++) {
            const struct rp_term_style style = {.width = widths[w / 2], .verbose = w % 2};
            char *text = term_text(all[i].name, style);
            unsigned limit = style.width < 70 ? 70 : style.width;
            char *save = NULL;

            assert_null(strchr(text, '\x1b'));
            for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                assert_true(rp_text_cells(line) <= limit || !strchr(line + strspn(line, " "), ' '));
            free(text);
        }
    }
}

/* Columns of both tables, of the program and of the runtime, have the same units. */
static void term_has_one_unit_for_a_column(void **state)
{
    static const char ascii[] = "   #    calls       total us       mean us        max us  share%";
    static const char greek[] = "   #    calls       total µs       mean µs        max µs  share%";
    char *plain = term_text("one", (struct rp_term_style){.verbose = true});
    char *utf8 = term_text("one", (struct rp_term_style){.utf8 = true, .verbose = true});
    const char *first = strstr(plain, ascii);

    (void)state;
    assert_non_null(first);
    assert_non_null(strstr(first + 1, ascii));
    assert_null(strstr(plain, "µ"));
    assert_contains(utf8, greek);
    assert_contains(utf8, "Runtime       3.400 µs, all dispatches");
    assert_int_equal(rp_text_cells(ascii), rp_text_cells(greek));
    free(plain);
    free(utf8);
}

static void term_colours_only_if_told(void **state)
{
    char *plain = term_text("one", (struct rp_term_style){.width = 80});
    char *coloured = term_text("one", (struct rp_term_style){.width = 80, .colour = true});
    char *to = coloured;

    (void)state;
    assert_non_null(strchr(coloured, '\x1b'));
    for (const char *from = coloured; *from; from++) {
        if (*from == '\x1b')
            from = strchr(from, 'm');
        else
            *to++ = *from;
    }
    *to = '\0';
    assert_string_equal(plain, coloured);
    free(plain);
    free(coloured);
}

static void term_does_not_flood(void **state)
{
    char *text = term_text("many", (struct rp_term_style){.width = 80});

    (void)state;
    assert_contains(text, "and 30 more: profile.json has them all");
    free(text);
    text = term_text("many", (struct rp_term_style){0});
    assert_null(strstr(text, "more"));
    free(text);
    text = term_text("many", (struct rp_term_style){.verbose = true});
    assert_contains(text, "limited by VGPRs");
    free(text);
}

/* A terminal gets the first counters and kernels and is told of the others, a pipe all of them; no
 * name is cut there. */
static void test_counters(void **state)
{
    enum { KERNELS = 8, COUNTERS = 20 };
    static const char long_name[] = "void a_kernel_whose_name_is_longer_than_a_line<float, float, "
                                    "float, float>(float const*, float const*, float*, int, int)";
    struct rp_kernel_count counts[COUNTERS];
    struct rp_roofline_kernel kernels[KERNELS] = {0};
    struct rp_roofline_device device = {0};
    const struct rp_roofline r = {
        .kernels = kernels, .kernel_count = KERNELS, .devices = &device, .device_count = 1};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf pipe = {0}, terminal = {0}, derived = {0};
    char names[COUNTERS][24];
    size_t lines = 0;

    (void)state;
    for (size_t i = 0; i < COUNTERS; i++) {
        snprintf(names[i], sizeof names[i], "GL2C_ODD_%zu\033", i);
        counts[i] = (struct rp_kernel_count){.name = names[i], .dispatches = 2, .sum = 3};
    }
    for (size_t i = 0; i < KERNELS; i++)
        kernels[i] = (struct rp_roofline_kernel){
            .name = long_name, .calls = 4, .counts = counts, .count_count = COUNTERS};
    kernels[1].derived[RP_DERIVED_L2_HIT_RATE] =
        (struct rp_derived_value){.asked = true, .missing = {"TCC_HIT_sum", "TCC_MISS_sum"}};
    assert_int_equal(
        rp_report_counters_term(&r, true, (struct rp_term_style){.width = 80}, &terminal, &err), 0);
    assert_int_equal(rp_report_counters_term(&r, true, (struct rp_term_style){0}, &pipe, &err), 0);
    assert_int_equal(rp_report_counters_term(&r, false, (struct rp_term_style){0}, &derived, &err),
                     0);
    assert_non_null(strstr(rp_buf_text(&terminal), "and 4 more counters"));
    assert_non_null(strstr(rp_buf_text(&terminal), "and 2 more kernels"));
    assert_null(strstr(rp_buf_text(&terminal), "GL2C_ODD_16"));
    assert_null(strstr(rp_buf_text(&pipe), " more "));
    assert_non_null(strstr(rp_buf_text(&pipe), long_name));
    assert_null(strchr(rp_buf_text(&pipe), '\033'));
    for (const char *at = rp_buf_text(&pipe); (at = strstr(at, "GL2C_ODD_")); at++, lines++)
        ;
    assert_int_equal(lines, KERNELS * COUNTERS);
    assert_non_null(strstr(rp_buf_text(&pipe), "             3             1.5  2 of 4"));
    /* Without the counters themselves only the kernel with something made of them is there. */
    assert_non_null(strstr(rp_buf_text(&derived), "- needs TCC_HIT_sum, TCC_MISS_sum"));
    assert_null(strstr(rp_buf_text(&derived), "GL2C_ODD_"));
    assert_ptr_equal(strstr(rp_buf_text(&derived), long_name),
                     strstr(rp_buf_text(&derived), "void a_kernel"));
    for (const char *at = rp_buf_text(&terminal); *at;) {
        const char *end = strchrnul(at, '\n');
        assert_true(end - at <= 80);
        at = end + (*end == '\n');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_of_kernel_and_gpu),
        cmocka_unit_test(json_names_the_model_of_time),
        cmocka_unit_test(term_numbers_gpus_as_the_trace),
        cmocka_unit_test(json_carries_the_contract),
        cmocka_unit_test(json_says_null_where_nothing_is_known),
        cmocka_unit_test(json_of_the_wall_clock_claims_no_runtime),
        cmocka_unit_test(json_keeps_hostile_names_whole),
        cmocka_unit_test(json_is_the_same_every_time),
        cmocka_unit_test(json_keys_are_sorted),
        cmocka_unit_test(term_tells_the_device_first),
        cmocka_unit_test(term_tells_what_ran_how_long_and_how_well),
        cmocka_unit_test(term_warns),
        cmocka_unit_test(term_fits_its_width),
        cmocka_unit_test(term_marks_communication),
        cmocka_unit_test(term_is_a_line_for_each_kernel),
        cmocka_unit_test(term_has_one_unit_for_a_column),
        cmocka_unit_test(term_colours_only_if_told),
        cmocka_unit_test(term_does_not_flood),
        cmocka_unit_test(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
