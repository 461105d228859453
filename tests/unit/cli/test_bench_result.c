/* What bench writes: the median and the ends of samples, ceilings that --ceilings reads, reasons in
 * place of numbers; and its rows, whose sizes the kernels must be able to do. */
#include "cli/bench.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/roofline.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"

static void sample(struct rp_bench *bench, size_t row, double value)
{
    struct rp_bench_value *to = &bench->values[row];

    to->wanted = true;
    to->samples[to->count++] = value;
}

static struct rp_bench made(bool software)
{
    struct rp_bench bench = {.date = "2026-11-30T12:00:00Z",
                             .work = {.software = software,
                                      .isa = "gfx942",
                                      .on = {.software = software,
                                             .gfx = (char *)"gfx942",
                                             .gpu = (char *)"AMD Instinct MI300X",
                                             .rocm = (char *)"7.2.4",
                                             .compute_units = 304,
                                             .timing = (char *)(software ? "detailed" : "")}}};

    rp_arch_select("mi300x", &bench.work.arch);
    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        bench.values[i].clock_mhz = bench.values[i].power_w = bench.values[i].temperature_c = NAN;
    return bench;
}

static double of(const json_t *document, const char *name, const char *key)
{
    const json_t *rows = json_object_get(document, "measurements"), *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const json_t *value = json_object_get(row, key);

        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
            return json_is_number(value) ? json_number_value(value) : NAN;
    }
    fail_msg("%s is missing", name);
    return NAN;
}

static void the_file_is_read_as_ceilings(void **state)
{
    struct rp_bench bench = made(false);
    struct rp_measured_ceilings ceilings = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        sample(&bench, RP_BENCH_hbm_read, (const double[]){4.1e12, 4.0e12, 4.4e12}[i]);
    sample(&bench, RP_BENCH_hbm_write, 4.2e12);
    sample(&bench, RP_BENCH_fma_f16, 160e12);
    sample(&bench, RP_BENCH_mfma_f8, 2e15);
    bench.values[RP_BENCH_mfma_f4].wanted = true;
    bench.values[RP_BENCH_hbm_read].power_w = 700;

    json_t *document = rp_bench_document(&bench);
    assert_non_null(document);
    assert_true(of(document, "hbm_read", "median") == 4.1e12);
    assert_true(of(document, "hbm_read", "least") == 4.0e12);
    assert_true(of(document, "hbm_read", "most") == 4.4e12);
    assert_true(of(document, "hbm_read", "samples") == 3);
    assert_true(of(document, "hbm_read", "power_w") == 700);
    assert_true(isnan(of(document, "hbm_read", "clock_mhz")));
    assert_true(fabs(of(document, "hbm_read", "expected") / 5324.8e9 - 1) < 1e-9);
    assert_true(fabs(of(document, "hbm_read", "share") - 4.1e12 / 5324.8e9) < 1e-9);
    assert_true(isnan(of(document, "mfma_f4", "median")));

    rp_autofree char *text = json_dumps(document, 0);
    assert_int_equal(rp_roofline_parse_ceilings(text, &ceilings, &err), 0);
    assert_true(ceilings.by_bench && !ceilings.software);
    assert_string_equal(ceilings.gpu, "AMD Instinct MI300X");
    assert_string_equal(ceilings.date, "2026-11-30T12:00:00Z");
    assert_int_equal(ceilings.compute_units, 304);
    assert_true(ceilings.of.gbps[RP_LEVEL_HBM].value == 4200);        /* the fastest */
    assert_true(ceilings.of.gflops[RP_FLOP_VALU_F16].value == 80000); /* as counters count it */
    assert_true(ceilings.of.gflops[RP_FLOP_MFMA_F8].value == 2e6);
    assert_false(ceilings.of.gbps[RP_LEVEL_L2].known);
    assert_false(ceilings.of.gflops[RP_FLOP_MFMA_F6F4].known);
    json_decref(document);
}

static char *text_of(const struct rp_bench *bench)
{
    struct rp_buf text = {0};

    rp_bench_text(bench, "f.json", (struct rp_term_style){0}, &text);
    return rp_buf_steal(&text);
}

static void the_first_line_says_that_it_is_modelled(void **state)
{
    struct rp_bench software = made(true), hardware = made(false);
    rp_autofree char *modelled = NULL;
    rp_autofree char *measured = NULL;

    (void)state;
    sample(&software, RP_BENCH_hbm_read, rp_bench_expected(&software, RP_BENCH_hbm_read));
    sample(&software, RP_BENCH_lds, rp_bench_expected(&software, RP_BENCH_lds) * 1.06);
    sample(&hardware, RP_BENCH_hbm_read, 4.2e12);
    hardware.values[RP_BENCH_hbm_read].clock_mhz = 1234;
    hardware.values[RP_BENCH_peer].wanted = true;
    modelled = text_of(&software);
    measured = text_of(&hardware);
    assert_true(strncmp(modelled, "SOFTWARE DEVICE: modelled time", 30) == 0);
    assert_non_null(
        strstr(modelled, "gives back 1 of 2 constants of its model within 5 %; not LDS"));
    assert_null(strstr(measured, "odelled"));
    assert_non_null(strstr(measured, "79 % of the memory's bandwidth"));
    assert_non_null(strstr(measured, "1234 MHz"));
    assert_non_null(strstr(measured, "not measured: there is one GPU"));
}

/* Loads are four at a time, steps of a chase 64, and a ring has a power of two of lines. */
static void the_kernels_can_do_all_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < RP_BENCH_ROWS; i++) {
        const struct rp_bench_row *row = &rp_bench_rows[i];

        for (size_t k = 0; k < 2; k++) {
            const struct rp_bench_size *size = k ? &row->hardware : &row->modelled;

            if (row->kind == RP_BENCH_LATENCY) {
                assert_int_equal(size->times % 64 + size->more_times % 64, 0);
                assert_int_equal(size->rounds & (size->rounds - 1), 0);
                assert_true(size->more_times > size->times);
            }
            if (strcmp(row->kernel, "read") == 0 || strcmp(row->kernel, "copy") == 0)
                assert_int_equal(size->rounds % 4 + size->more_rounds % 4, 0);
            if (strcmp(row->kernel, "read_shared") == 0)
                assert_int_equal(size->times % 4 + size->more_times % 4, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_read_as_ceilings),
        cmocka_unit_test(the_first_line_says_that_it_is_modelled),
        cmocka_unit_test(the_kernels_can_do_all_sizes),
    };

    return cmocka_run_group_tests_name("bench_result", tests, NULL, NULL);
}
