/* Steps of the self-test that count what the workload executes, and trace its waves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/selftest.h"
#include "cli/selftest_steps.h"

/* --- counters ------------------------------------------------------------------------------ */

/* A counter of a kernel, for one launch. */
static double counter(const json_t *profile, const char *kernel, const char *name)
{
    const json_t *found = rp_selftest_named(json_object_get(profile, "kernels"), kernel);

    return rp_selftest_number(json_object_get(found, "counters"), name, NULL) /
           rp_selftest_number(found, "calls", NULL);
}

static void counter_values(const struct rp_selftest *test, const json_t *profile, json_t *values)
{
    const double waves = (double)test->sizes.blocks * RP_SELFTEST_BLOCK / test->work.arch.wave_size;

    rp_selftest_put(values, "waves_expected", waves);
    rp_selftest_put(values, "fma_expected", waves * RP_SELFTEST_FMA_A_ROUND * test->sizes.rounds);
    rp_selftest_put(values, "lds_expected", waves * 2);
    rp_selftest_put(values, "waves", counter(profile, RP_SELFTEST_KNOWN, "SQ_WAVES"));
    rp_selftest_put(values, "fma", counter(profile, RP_SELFTEST_KNOWN, "SQ_INSTS_VALU_FMA_F32"));
    rp_selftest_put(values, "loads", counter(profile, RP_SELFTEST_KNOWN, "SQ_INSTS_VMEM_RD"));
    rp_selftest_put(values, "stores", counter(profile, RP_SELFTEST_KNOWN, "SQ_INSTS_VMEM_WR"));
    rp_selftest_put(values, "lds", counter(profile, RP_SELFTEST_KNOWN, "SQ_INSTS_LDS"));
}

static void roofline_values(const struct rp_selftest *test, const json_t *roofline, json_t *values)
{
    const json_t *kernels = json_object_get(roofline, "kernels");
    const json_t *known = rp_selftest_named(kernels, RP_SELFTEST_KNOWN),
                 *copy = rp_selftest_named(kernels, "selftest_copy"),
                 *matrix = rp_selftest_named(kernels, "selftest_matrix"),
                 *peaks = json_object_get(known, "ceilings");
    const struct rp_selftest_sizes *sizes = &test->sizes;
    const double waves = (double)sizes->blocks * RP_SELFTEST_BLOCK / 64;

    rp_selftest_put(values, "flops_expected",
                    (double)sizes->blocks * RP_SELFTEST_BLOCK * RP_SELFTEST_FMA_A_ROUND *
                        sizes->rounds * 2);
    rp_selftest_put(values, "matrix_flops_expected",
                    waves * 4 * sizes->matrix_rounds * 32 * 32 * 8 * 2);
    rp_selftest_put(values, "copy_bytes", (double)sizes->copy_mib * (1 << 20));
    rp_selftest_put(values, "flops", rp_selftest_number(known, "flops_by_type", "valu_f32"));
    rp_selftest_put(values, "matrix_flops",
                    rp_selftest_number(matrix, "flops_by_type", "mfma_f16"));
    rp_selftest_put(values, "copy_read_bytes", rp_selftest_number(copy, "hbm_read_bytes", NULL));
    rp_selftest_put(values, "copy_write_bytes", rp_selftest_number(copy, "hbm_write_bytes", NULL));
    rp_selftest_put(values, "peak_hbm_gbps", rp_selftest_number(peaks, "hbm_gbps", NULL));
    rp_selftest_put(values, "peak_lds_gbps", rp_selftest_number(peaks, "lds_gbps", NULL));
    rp_selftest_put(values, "peak_fma_gflops", rp_selftest_number(peaks, "valu_f32_gflops", NULL));
    rp_selftest_put(values, "peak_matrix_gflops",
                    rp_selftest_number(peaks, "mfma_f16_gflops", NULL));
}

/* What was counted beside the known counts: of each kernel, all of it. It goes into the file for
 * who compares. */
static void all_counters(const json_t *profile, json_t *values)
{
    json_t *all = json_object();
    const json_t *kernel;
    size_t i;

    json_array_foreach(json_object_get(profile, "kernels"), i, kernel)
    {
        const char *name = json_string_value(json_object_get(kernel, "name"));
        json_t *counters = json_object_get(kernel, "counters");

        if (name && strncmp(name, "selftest_", 9) == 0 && counters)
            json_object_set(all, name, counters);
    }
    json_object_set_new(values, "counters", all);
}

static bool can_count(const struct rp_selftest *test)
{
    return test->work.software ? strcmp(test->tracer, "rocprofv3") != 0 || test->work.env->rocprofv3
                               : test->work.env->rocprofv3 && strcmp(test->tracer, "builtin") != 0;
}

int rp_selftest_counters(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    json_t *profile = NULL, *roofline = NULL;
    int rc;

    if (!can_count(test))
        return rp_selftest_no_rocprofv3(err);
    rp_workload_suite(&test->work, "profile", &words);
    rp_workload_add_device(&test->work, &words);
    for (const char *const *each =
             (const char *const[]){"--runs", "1", "--json", "--roofline", "--pmc",
                                   "SQ_WAVES SQ_INSTS_VALU_FMA_F32 SQ_INSTS_VMEM_RD "
                                   "SQ_INSTS_VMEM_WR SQ_INSTS_LDS",
                                   "--tracer", test->tracer, "-o", "counters", NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_workload_add(&test->work, "counted", "counters", &words);
    rp_workload_word(&words, "%u", test->sizes.blocks);
    rp_workload_word(&words, "%u", test->sizes.rounds);
    rp_workload_word(&words, "%u", test->sizes.copy_mib);
    rp_workload_word(&words, "%u", rp_selftest_has_matrix(test) ? test->sizes.matrix_rounds : 0);
    rc = rp_workload_run_json(&test->work, "counters", &words, &profile, err);
    if (rc == 0)
        rc = rp_workload_read_json(&test->work, "counters/roofline.json", &roofline, err);
    if (rc == 0) {
        counter_values(test, profile, values);
        roofline_values(test, roofline, values);
        all_counters(profile, values);
    }
    json_decref(profile);
    json_decref(roofline);
    return rc;
}

/* --- thread trace -------------------------------------------------------------------------- */

static double executed(const json_t *instruction)
{
    return rp_selftest_number(instruction, "sums", "executed");
}

static void thread_trace_values(const struct rp_selftest *test, const json_t *trace, json_t *values)
{
    const json_t *each,
        *waves = json_object_get(trace, "waves"),
        *occupancy = json_object_get(json_object_get(trace, "occupancy"), "engines");
    const double count = (double)json_array_size(waves);
    double fma = 0, barriers = 0, unnamed = 0, lines = 0;
    size_t i;

    json_array_foreach(json_object_get(trace, "instructions"), i, each)
    {
        const char *text = json_string_value(json_object_get(each, "isa"));

        unnamed += !text || !*text;
        lines += !json_is_null(json_object_get(each, "source"));
        if (text && strncmp(text, "v_fma_f32", 9) == 0)
            fma += executed(each);
        if (text && strncmp(text, "s_barrier", 9) == 0)
            barriers += executed(each);
    }
    const bool whole = rp_selftest_number(trace, "waves_cut_short", NULL) == 0;
    rp_selftest_put(values, "waves", count);
    rp_selftest_put(values, "fma", whole ? fma : NAN);
    rp_selftest_put(values, "fma_expected",
                    barriers * RP_SELFTEST_FMA_A_ROUND * test->sizes.rounds);
    rp_selftest_put(values, "barriers", whole ? barriers : NAN);
    rp_selftest_put(values, "unnamed", unnamed);
    rp_selftest_put(values, "without_lines", lines == 0);
    for (const char *const *name =
             (const char *const[]){"waves_cut_short", "waves_lost", "clock_mhz", NULL};
         *name; name++)
        rp_selftest_put(values, *name, rp_selftest_number(trace, *name, NULL));
    rp_selftest_put(values, "executed", rp_selftest_number(trace, "sums", "executed"));
    rp_selftest_put(values, "stall_cycles", rp_selftest_number(trace, "sums", "stall_cycles"));
    rp_selftest_put(values, "latency_cycles", rp_selftest_number(trace, "sums", "latency_cycles"));
    rp_selftest_put(values, "mean_waves_per_simd",
                    rp_selftest_number(json_array_get(occupancy, 0), "mean_waves_per_simd", NULL));
}

/* What the suite says that limits the kernel is reported: nobody knows yet whether it is right on a
 * GPU. */
static void label_values(const struct rp_selftest *test, json_t *values)
{
    rp_autofree char *path = rp_format("%s/thread_trace/analysis.json", test->work.folder);
    json_t *analysis = json_load_file(path, 0, NULL);
    const json_t *kernel =
        rp_selftest_named(json_object_get(analysis, "kernels"), RP_SELFTEST_KNOWN);
    const json_t *label = json_object_get(json_object_get(kernel, "bottleneck"), "label");
    const json_t *occupancy = json_object_get(kernel, "occupancy");

    json_object_set_new(values, "label",
                        json_is_string(label) ? json_string(json_string_value(label))
                                              : json_null());
    rp_selftest_put(values, "achieved_waves_per_simd",
                    rp_selftest_number(occupancy, "achieved_waves_per_simd", NULL));
    rp_selftest_put(values, "theoretical_occupancy",
                    rp_selftest_number(occupancy, "theoretical", NULL));
    json_decref(analysis);
}

static int profile_deep(struct rp_selftest *test, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};

    rp_workload_suite(&test->work, "profile", &words);
    rp_workload_add_device(&test->work, &words);
    for (const char *const *each =
             (const char *const[]){"--runs", "1", "--quiet", "--deep-analysis",
                                   "--kernel-include-regex", RP_SELFTEST_KNOWN, "--tracer",
                                   test->tracer, "-o", "thread_trace", NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_selftest_add_known(test, "thread_trace", test->sizes.rounds, 1, &words);
    return rp_workload_run(&test->work, "thread_trace", &words, NULL, err);
}

/* Whether the decoder is what is missing stands in what profile has said. */
static int no_thread_trace(const struct rp_selftest *test, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/thread_trace.err", test->work.folder);
    rp_autofree char *said = rp_read_text(path, 1 << 20);

    if (said && strstr(said, "decoder")) {
        rp_fail(err, RP_ENVIRONMENT,
                "the decoder of thread traces is missing; install the package "
                "rocprof-trace-decoder, or ROCm 7.13 or later");
        return RP_SELFTEST_SKIP;
    }
    return err->code ? -(int)err->code
                     : rp_fail(err, RP_PROGRAM, "profile --deep-analysis left no thread trace");
}

int rp_selftest_thread_trace(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    json_t *traces = NULL;
    int rc;

    if (!can_count(test))
        return rp_selftest_no_rocprofv3(err);
    if (test->work.software && !test->work.arch.timing) {
        rp_fail(err, RP_ENVIRONMENT, "the software device has no thread traces of %s",
                test->work.isa);
        return RP_SELFTEST_SKIP;
    }
    rc = profile_deep(test, err);
    if (rc == -RP_INTERRUPTED)
        return rc;
    if (rc == 0)
        rc = rp_workload_read_json(&test->work, "thread_trace/thread_trace.json", &traces, err);
    const json_t *first = json_array_get(json_object_get(traces, "thread_trace"), 0);
    if (rc == 0 && first) {
        thread_trace_values(test, first, values);
        label_values(test, values);
    } else {
        rc = no_thread_trace(test, err);
    }
    json_decref(traces);
    return rc;
}
