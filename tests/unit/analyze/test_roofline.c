/* Rooflines of real counter files against values that another program computed from them
 * (tests/data/counters/README.md), and formulas that no such file reaches against sums by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/counter_set.h"
#include "trace/csv_read.h"
#include "trace/rocpd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rp_err err;
static const struct rp_roofline_options plain;

struct result {
    struct rp_counters *counters;
    struct rp_roofline r;
};

static void release(struct result *result)
{
    rp_roofline_free(&result->r);
    rp_counters_free(result->counters);
}

static void compute(struct result *ret, const struct rp_roofline_options *options)
{
    err = (struct rp_err)RP_ERR_INIT;
    if (rp_roofline_compute(ret->counters, options, &ret->r, &err) != 0)
        fail_msg("%s", err.text);
}

static void open_file(struct result *ret, const char *name,
                      const struct rp_roofline_options *options)
{
    rp_autofree char *path = rp_format("%s/counters/%s", getenv("RP_TEST_DATA"), name);

    err = (struct rp_err)RP_ERR_INIT;
    if (rp_counters_open(path, &ret->counters, &err) != 0)
        fail_msg("%s", err.text);
    compute(ret, options);
}

static void parse(struct result *ret, const char *text, const struct rp_roofline_options *options)
{
    err = (struct rp_err)RP_ERR_INIT;
    if (rp_counters_parse("t.csv", text, strlen(text), &ret->counters, &err) != 0)
        fail_msg("%s", err.text);
    compute(ret, options);
}

static void open_case(struct result *ret, const char *name,
                      const struct rp_roofline_options *options)
{
    rp_autofree char *path = rp_format("%s/cases/%s", getenv("RP_TEST_DATA"), name);

    err = (struct rp_err)RP_ERR_INIT;
    if (rp_counters_open(path, &ret->counters, &err) != 0)
        fail_msg("%s", err.text);
    compute(ret, options);
}

static bool has_note(const struct rp_roofline *r, const char *part)
{
    for (size_t i = 0; i < r->note_count; i++)
        if (strstr(r->notes[i], part))
            return true;
    return false;
}

/* --- against the expected values ---------------------------------------------------------- */

/* The shortest text that reads back as the same number, as the other program wrote it. */
static const char *shortest(double value, char room[40])
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(room, 40, "%.*g", digits, value);
        if (strtod(room, NULL) == value)
            break;
    }
    return room;
}

struct column {
    const char *name;
    struct rp_quantity q;
};

/* "" is unknown; numbers are compared digit by digit. */
static unsigned compare(const char *file, const struct rp_csv *head, const struct rp_csv *row,
                        const struct column *columns, size_t count, const char *skip)
{
    unsigned compared = 0;

    for (size_t i = 0; i < count; i++) {
        const char *want = NULL;
        char mine[40], theirs[40];

        for (size_t c = 0; c < head->count; c++)
            if (strcmp(rp_csv_field(head, c), columns[i].name) == 0)
                want = rp_csv_field(row, c);
        if (!want)
            fail_msg("%s has no column %s", file, columns[i].name);
        if (strstr(skip, columns[i].name))
            continue;
        if (columns[i].q.known != (*want != '\0'))
            fail_msg("%s: %s is '%s', known here: %d", file, columns[i].name, want,
                     columns[i].q.known);
        compared++;
        if (*want &&
            strcmp(shortest(columns[i].q.value, mine), shortest(strtod(want, NULL), theirs)) != 0)
            fail_msg("%s: %s is %s, here %s", file, columns[i].name, want, mine);
    }
    return compared;
}

static void open_expected(const char *name, struct rp_buf *text, struct rp_csv *head,
                          struct rp_csv *rows)
{
    rp_autofree char *path = rp_format("%s/counters/expected/%s", getenv("RP_TEST_DATA"), name);
    rp_autofree char *all = rp_read_text(path, 1 << 20);

    assert_non_null(all);
    rp_buf_puts(text, all);
    *head = (struct rp_csv){.at = text->data, .end = text->data + text->len};
    assert_int_equal(rp_csv_next(head, &err), 1);
    *rows = (struct rp_csv){.at = head->at, .end = head->end, .lines = 1};
}

static const char *field(const struct rp_csv *head, const struct rp_csv *row, const char *name)
{
    for (size_t c = 0; c < head->count; c++)
        if (strcmp(rp_csv_field(head, c), name) == 0)
            return rp_csv_field(row, c);
    return "";
}

static void check_kernels(const char *file, const struct rp_roofline *r, const char *skip)
{
    rp_autobuf text = {0};
    rp_autofree char *name = rp_format("expected_%s_kernels.csv", file);
    struct rp_csv head, rows;

    open_expected(name, &text, &head, &rows);
    for (size_t k = 0; k < r->kernel_count; k++) {
        const struct rp_roofline_kernel *one = &r->kernels[k];
        const struct rp_quantity calls = {true, (double)one->calls};
        const struct column columns[] = {
            {"calls", calls},
            {"total_ns", one->time_ns},
            {"sum_total_flops", one->flops},
            {"sum_hbm_read_bytes", one->hbm_read},
            {"sum_hbm_write_bytes", one->hbm_write},
            {"sum_hbm_bytes", one->bytes[RP_LEVEL_HBM]},
            {"sum_l2_bytes_tccreq_x128", one->by_convention[RP_L2_REQUESTS_128]},
            {"sum_l2_bytes_tcp_tcc_x64", one->by_convention[RP_L2_FROM_L1_64]},
            {"sum_l2_bytes_rd128_wr64", one->by_convention[RP_L2_FROM_L1_READS_128]},
            {"sum_l1_bytes_x64", one->by_convention[RP_L1_ACCESSES_64]},
            {"sum_l1_bytes_x128", one->by_convention[RP_L1_ACCESSES_128]},
            {"sum_lds_bytes", one->bytes[RP_LEVEL_LDS]},
            {"gflops", one->gflops},
            {"ai_hbm", one->intensity[RP_LEVEL_HBM]},
            {"hbm_gbps", one->gbps[RP_LEVEL_HBM]},
            {"ai_l1_rc", one->intensity[RP_LEVEL_L1]},
            {"ai_lds", one->intensity[RP_LEVEL_LDS]},
        };

        assert_int_equal(rp_csv_next(&rows, &err), 1);
        /* The other program keeps the end that names the descriptor. */
        assert_int_equal(strlen(one->name), rp_kernel_name_length(field(&head, &rows, "kernel")));
        assert_int_equal(strncmp(field(&head, &rows, "kernel"), one->name, strlen(one->name)), 0);
        assert_true(
            compare(name, &head, &rows, columns, sizeof columns / sizeof columns[0], skip) >= 13);
    }
    assert_int_equal(rp_csv_next(&rows, &err), 0);
    rp_csv_free(&head);
    rp_csv_free(&rows);
}

/* Every dispatch by itself: the counters of the others are taken away. */
static void check_dispatches(const char *file, struct rp_counters *counters, const char *skip)
{
    rp_autobuf text = {0};
    rp_autofree char *name = rp_format("expected_%s_dispatches.csv", file);
    struct rp_counters one = *counters;
    struct rp_csv head, rows;

    open_expected(name, &text, &head, &rows);
    one.dispatch_count = 1;
    for (size_t i = 0; i < counters->dispatch_count; i++) {
        struct rp_roofline r = {0};

        one.dispatches = &counters->dispatches[i];
        assert_int_equal(rp_roofline_compute(&one, &plain, &r, &err), 0);
        assert_int_equal(rp_csv_next(&rows, &err), 1);
        const struct rp_roofline_kernel *k = &r.kernels[0];
        const struct column columns[] = {
            {"duration_ns", k->time_ns},
            {"valu_flops_f16", k->flops_by_type[RP_FLOP_VALU_F16]},
            {"valu_flops_f32", k->flops_by_type[RP_FLOP_VALU_F32]},
            {"valu_flops_f64", k->flops_by_type[RP_FLOP_VALU_F64]},
            {"mfma_flops_f16", k->flops_by_type[RP_FLOP_MFMA_F16]},
            {"mfma_flops_bf16", k->flops_by_type[RP_FLOP_MFMA_BF16]},
            {"mfma_flops_f32", k->flops_by_type[RP_FLOP_MFMA_F32]},
            {"mfma_flops_f64", k->flops_by_type[RP_FLOP_MFMA_F64]},
            {"mfma_flops_f8", k->flops_by_type[RP_FLOP_MFMA_F8]},
            {"mfma_flops_f6f4", k->flops_by_type[RP_FLOP_MFMA_F6F4]},
            {"mfma_iops_i8", k->matrix_int8_ops},
            {"total_flops", k->flops},
            {"hbm_read_bytes", k->hbm_read},
            {"hbm_write_bytes", k->hbm_write},
            {"hbm_bytes", k->bytes[RP_LEVEL_HBM]},
            {"hbm_gbps", k->gbps[RP_LEVEL_HBM]},
            {"l2_bytes_tccreq_x128", k->by_convention[RP_L2_REQUESTS_128]},
            {"l2_bytes_tcp_tcc_x64", k->by_convention[RP_L2_FROM_L1_64]},
            {"l2_bytes_rd128_wr64", k->bytes[RP_LEVEL_L2]},
            {"l1_bytes_x64", k->bytes[RP_LEVEL_L1]},
            {"lds_bytes", k->bytes[RP_LEVEL_LDS]},
        };
        assert_true(
            compare(name, &head, &rows, columns, sizeof columns / sizeof columns[0], skip) >= 17);
        rp_roofline_free(&r);
    }
    assert_int_equal(rp_csv_next(&rows, &err), 0);
    rp_csv_free(&head);
    rp_csv_free(&rows);
}

static void test_expected(void **state)
{
    /* The values expected for MI350 use TCC_BUBBLE, which is 0 there: half of what was read. */
    static const char bubble[] = "sum_hbm_read_bytes sum_hbm_bytes hbm_read_bytes hbm_bytes "
                                 "hbm_gbps ai_hbm";
    static const struct {
        const char *file, *expected, *arch, *product, *skip;
        double peak;
    } cases[] = {
        {"vcopy_MI200", "vcopy_MI200", "gfx90a", NULL, "", 1638.4},
        {"kernel_names_MI200", "kernelnames_MI200", "gfx90a", NULL, "", 1638.4},
        {"no_roof_MI300A_A1", "vcopy_MI300A", "gfx942", NULL, "", 5324.8},
        {"no_roof_MI300X_A1", "vcopy_MI300X", "gfx942", NULL, "", 5324.8},
        {"vcopy_MI300X_A1_rocpd", "vcopy_MI300X_rocpd_rocm7", "gfx942", "AMD Instinct MI300X", "",
         5324.8},
        {"vcopy_MI350", "vcopy_MI350", "gfx950", "AMD Instinct MI350X", bubble, 7782.4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct result got = {0};

        open_file(&got, cases[i].file, &plain);
        assert_null(got.r.reason);
        assert_string_equal(got.r.devices[0].arch, cases[i].arch);
        if (cases[i].product)
            assert_string_equal(got.r.devices[0].product, cases[i].product);
        assert_true(got.r.devices[0].ceilings.gbps[RP_LEVEL_HBM].value == cases[i].peak);
        check_kernels(cases[i].expected, &got.r, cases[i].skip);
        check_dispatches(cases[i].expected, got.counters, cases[i].skip);
        release(&got);
    }
}

/* --- traps -------------------------------------------------------------------------------- */

static void test_spoilt_times(void **state)
{
    struct result got = {0}, whole = {0};

    (void)state;
    open_file(&got, "vcopy_MI300A_A1", &plain);
    open_file(&whole, "no_roof_MI300A_A1", &plain);
    assert_false(got.r.kernels[0].time_ns.known);
    assert_false(got.r.kernels[0].gflops.known);
    assert_false(got.r.kernels[0].gbps[RP_LEVEL_HBM].known);
    assert_true(got.r.kernels[0].hbm_write.value == 25165824);
    assert_true(has_note(&got.r, "timestamps of 3 dispatches were rounded"));
    assert_false(has_note(&whole.r, "rounded"));
    assert_true(has_note(&whole.r, "not in flops: mfma_f8"));
    assert_true(has_note(&whole.r, "sum over 6 XCDs"));
    release(&got);
    release(&whole);
}

static void test_bubble_of_gfx950(void **state)
{
    struct result got = {0};
    const struct rp_roofline_kernel *k;

    (void)state;
    open_file(&got, "vcopy_MI350", &plain);
    k = &got.r.kernels[0];
    assert_false(k->hbm_read.known || k->bytes[RP_LEVEL_HBM].known);
    /* 3 copies of 1,048,576 doubles read 25,165,824 bytes. */
    assert_true(k->hbm_read_least.value == 12599296 && k->hbm_read_most.value == 25198592);
    assert_true(k->hbm_write.value == 25165824);
    assert_int_equal(k->bound, RP_BOUND_UNKNOWN);
    assert_true(has_note(&got.r, "TCC_BUBBLE reads 0 on gfx950"));
    /* sysinfo.csv says 128 CUs and 0 MHz. */
    assert_int_equal(got.r.devices[0].compute_units, 256);
    assert_int_equal(got.r.devices[0].engine_clock_mhz, 2200);
    release(&got);
}

/* 100 requests: 30 of 128, 50 of 64 and 20 of 32 bytes. */
static void test_long_reads(void **state)
{
    static const struct rp_roofline_options options = {.arch = "gfx950"};
    static const char *const files[] = {
        "Dispatch_ID,Kernel_Name,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_128B_sum,TCC_EA0_RDREQ_32B_sum,"
        "TCC_BUBBLE_sum\n0,k,100,30,20,0\n",
        "Dispatch_ID,Kernel_Name,TCC_EA0_RDREQ_64B_sum,TCC_EA0_RDREQ_128B_sum,"
        "TCC_EA0_RDREQ_32B_sum\n0,k,50,30,20\n",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct result got = {0};
        parse(&got, files[i], &options);
        assert_true(got.r.kernels[0].hbm_read.known);
        assert_true(got.r.kernels[0].hbm_read.value == 30 * 128 + 50 * 64 + 20 * 32);
        release(&got);
    }
}

/* --- work --------------------------------------------------------------------------------- */

#define HEAD                                                                                       \
    "Dispatch_ID,Kernel_Name,SQ_INSTS_VALU_ADD_F32,SQ_INSTS_VALU_MUL_F32,"                         \
    "SQ_INSTS_VALU_TRANS_F32,SQ_INSTS_VALU_FMA_F32,SQ_INSTS_VALU_MFMA_MOPS_BF16,"                  \
    "SQ_INSTS_VALU_MFMA_MOPS_F8,SQ_INSTS_VALU_MFMA_MOPS_I8,TCC_EA0_RDREQ_sum,"                     \
    "TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum,"                \
    "SQ_LDS_IDX_ACTIVE,SQ_LDS_BANK_CONFLICT,Start_Timestamp,End_Timestamp\n"

static void test_work_and_bound(void **state)
{
    static const struct rp_roofline_options options = {.arch = "gfx942:mi300x"};
    /* A matrix kernel, then one that moves bytes. */
    static const char text[] =
        HEAD "0,gemm,1,2,3,4,2147483648,0,7,1000,0,1000,1000,1000,50,10,1000,"
             "2001000\n"
             "1,copy,0,0,0,1,0,0,0,3000000,100,1000000,10,4,0,0,1000,101000\n";
    struct result got = {0};
    const struct rp_roofline_kernel *k;

    (void)state;
    parse(&got, text, &options);
    assert_int_equal(got.r.kernel_count, 2);
    k = &got.r.kernels[0];
    assert_string_equal(k->name, "gemm");
    assert_true(k->flops_by_type[RP_FLOP_VALU_F32].value == 64 * (1 + 2 + 3 + 2 * 4));
    /* 2 * 8192^3: what a real MI325X counts for a product of matrices of 8192. */
    assert_true(k->flops_by_type[RP_FLOP_MFMA_BF16].value == 1099511627776.0);
    assert_true(k->flops.value == 1099511627776.0 + 896);
    assert_true(k->matrix_int8_ops.value == 7 * 512);
    assert_true(k->hbm_read.value == 128000 && k->hbm_write.value == 64000);
    assert_true(k->bytes[RP_LEVEL_LDS].value == 40 * 128);
    assert_int_equal(k->bound, RP_BOUND_MFMA);
    assert_int_equal(k->level_class[RP_LEVEL_HBM], RP_CLASS_COMPUTE);
    assert_int_equal(k->level_class[RP_LEVEL_LDS], RP_CLASS_COMPUTE);
    assert_int_equal(k->level_class[RP_LEVEL_L1], RP_CLASS_UNKNOWN); /* not counted */
    assert_int_equal(got.r.kernels[1].level_class[RP_LEVEL_HBM], RP_CLASS_MEMORY);
    /* 304 CUs * 2.1 GHz * 2048 = 1307443.2 GFLOP/s, data sheet 1307.4 TFLOP/s; 2 ms. */
    assert_true(k->bound_share.value > 0.42 && k->bound_share.value < 0.4205);
    k = &got.r.kernels[1];
    assert_true(k->hbm_read.value == 128e6 + 64.0 * (2000000 - 100) + 3200);
    assert_true(k->hbm_write.value == 4 * 64 + 6 * 32);
    assert_int_equal(k->bound, RP_BOUND_HBM);
    assert_true(k->gbps[RP_LEVEL_HBM].value == k->bytes[RP_LEVEL_HBM].value / 100000);
    assert_int_equal(got.r.program.calls, 2);
    assert_true(got.r.program.time_ns.value == 2100000);
    assert_true(got.r.program.flops.value == 1099511627776.0 + 896 + 128);
    assert_int_equal(got.r.program.bound, RP_BOUND_MFMA);
    assert_true(has_note(&got.r, "packed vector instructions"));
    assert_true(has_note(&got.r, "lanes are masked off"));
    release(&got);
}

static void test_ceilings(void **state)
{
    static const struct {
        const char *arch;
        double hbm, l2, l1, lds, valu, bf16, f64;
    } cases[] = {
        /* Clock * CUs (or channels) * bytes or FLOPs a clock; bf16 and f64 as in data sheets. */
        {"mi300x", 5324.8, 2.1 * 128 * 128, 2.1 * 304 * 128, 2.1 * 304 * 128, 81715.2, 1307443.2,
         163430.4},
        {"mi250x", 0, 1.7 * 32 * 64, 1.7 * 110 * 64, 1.7 * 110 * 128, 23936, 191488, 47872},
        {"mi350x", 7782.4, 2.2 * 128 * 128, 2.2 * 256 * 128, 2.2 * 256 * 256, 72089.6, 2306867.2,
         72089.6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct rp_roofline_options options = {.arch = cases[i].arch};
        struct result got = {0};
        const struct rp_ceilings *c;

        parse(&got, "Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n", &options);
        c = &got.r.devices[0].ceilings;
#define NEAR(a, b) assert_true((a) > (b)*0.999999 && (a) < (b)*1.000001)
        if (cases[i].hbm > 0)
            NEAR(c->gbps[RP_LEVEL_HBM].value, cases[i].hbm);
        NEAR(c->gbps[RP_LEVEL_L2].value, cases[i].l2);
        NEAR(c->gbps[RP_LEVEL_L1].value, cases[i].l1);
        NEAR(c->gbps[RP_LEVEL_LDS].value, cases[i].lds);
        NEAR(c->gflops[RP_FLOP_VALU_F32].value, cases[i].valu);
        NEAR(c->gflops[RP_FLOP_MFMA_BF16].value, cases[i].bf16);
        NEAR(c->gflops[RP_FLOP_MFMA_F64].value, cases[i].f64);
        release(&got);
    }
}

#define BENCH(device, ceilings)                                                                    \
    "{\"schema_version\": \"1.0\", \"device\": \"" device                                          \
    "\", \"date\": \"2026-11-30\", \"gpu\": "                                                      \
    "{\"arch\": \"gfx942\", \"product\": null, \"compute_units\": 304}, \"measurements\": [], "    \
    "\"ceilings\": " ceilings "}"

/* The file of bench is read as it is: its bf16 and its vector rates are of what counters count. */
static void test_bench_ceilings(void **state)
{
    static const struct rp_counted_device on = {.source = "bench.json", .arch = "gfx942"};
    static const struct {
        const char *of, *times; /* of the ceilings and of the results; NULL: not known */
        const char *note;       /* NULL: they are refused */
    } cases[] = {
        {"hardware", "hardware",
         "ceilings are measured ones (--ceilings), as far as rocm-perf bench "
         "measured them: gfx942, 2026-11-30"},
        {"software", "software", "ceilings are modelled ones"},
        {"hardware", "software", "measured on hardware, and the times are modelled"},
        {"software", NULL, "do not say whether their times are"},
        {"software", "hardware", NULL},
    };

    (void)state;
    static const struct rp_measured_ceilings other = {
        .by_bench = true, .gpu = "AMD Instinct MI325X", .arch = "gfx942"};
    err = (struct rp_err)RP_ERR_INIT;
    assert_int_equal(rp_roofline_ceilings_fit(&other, "f", NULL, NULL, 0, &err), 0);
    assert_int_equal(rp_roofline_ceilings_fit(&other, "f", NULL, "AMD Instinct MI325X", 0, &err),
                     0);
    assert_int_equal(rp_roofline_ceilings_fit(&other, "f", NULL, "AMD Instinct MI300X", 0, &err),
                     -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "of an AMD Instinct MI325X, and the results are of an AMD "
                                     "Instinct MI300X"));
    static const struct rp_measured_ceilings modelled = {
        .by_bench = true, .software = true, .gpu = "AMD Instinct MI300X", .arch = "gfx942"};
    assert_int_equal(
        rp_roofline_ceilings_fit(&modelled, "f", "software", "AMD Instinct MI300X", 1400, &err),
        -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "the results at 1400 MHz"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_measured_ceilings measured = {0};
        struct rp_roofline_options options = {
            .arch = "mi300x", .measured = &measured, .measured_on = &on};
        struct result got = {0};

        options.origin.device = cases[i].times;
        assert_int_equal(
            rp_roofline_parse_ceilings(
                strcmp(cases[i].of, "hardware") == 0
                    ? BENCH("hardware", "{\"mfma_bf16_gflops\": 5, \"mfma_f16_gflops\": 7, "
                                        "\"valu_f32_gflops\": 1e6, \"l2_gbps\": null}")
                    : BENCH("software", "{\"mfma_bf16_gflops\": 5, \"mfma_f16_gflops\": 7, "
                                        "\"valu_f32_gflops\": 1e6, \"l2_gbps\": null}"),
                &measured, &err),
            0);
        if (!cases[i].note) {
            err = (struct rp_err)RP_ERR_INIT;
            assert_int_equal(rp_counters_parse("t.csv", "Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n",
                                               strlen("Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n"),
                                               &got.counters, &err),
                             0);
            assert_int_equal(rp_roofline_compute(got.counters, &options, &got.r, &err),
                             -RP_BAD_INPUT);
            assert_non_null(strstr(err.text, "bench.json was modelled by the software device"));
            rp_counters_free(got.counters);
            continue;
        }
        parse(&got, "Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n", &options);
        assert_true(has_note(&got.r, cases[i].note));
        assert_true(got.r.measured.by_bench);
        NEAR(got.r.devices[0].ceilings.gflops[RP_FLOP_MFMA_BF16].value, 5);
        NEAR(got.r.devices[0].ceilings.gflops[RP_FLOP_VALU_F32].value, 1e6);
        NEAR(got.r.devices[0].ceilings.gbps[RP_LEVEL_L2].value, 2.1 * 128 * 128);
        release(&got);
    }
}

/* Ceilings of the software device are of one model of time, and so should be what they are for. */
static void test_ceilings_of_a_model(void **state)
{
    static const struct rp_counted_device on = {.source = "bench.json", .arch = "gfx942"};
    static const struct {
        const char *timing; /* of the file */
        const char *model;  /* of the results */
        uint32_t version;
        const char *note; /* NULL: none */
    } cases[] = {
        {"{\"model\": \"detailed\", \"version\": 16}", "detailed", 16, NULL},
        {"{\"model\": \"detailed\", \"version\": 16}", "warm", 16, NULL},
        {"{\"model\": \"detailed\", \"version\": 16}", NULL, 0, NULL},
        {"{\"model\": \"\", \"version\": 3}", "detailed", 16, NULL},
        {"{\"model\": \"detailed\", \"version\": -3}", "detailed", 16, NULL},
        {"null", "detailed", 16, NULL},
        {"{\"model\": \"detailed\", \"version\": 15}", "detailed", 16,
         "the ceilings are of detailed timing, version 15, and the times of detailed timing, "
         "version 16"},
        {"{\"model\": \"detailed\", \"version\": 16}", "fast", 2,
         "and the times of counts timing, version 2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_measured_ceilings measured = {0};
        struct rp_roofline_options options = {.arch = "mi300x",
                                              .measured = &measured,
                                              .measured_on = &on,
                                              .origin = {.device = "software",
                                                         .timing_model = cases[i].model,
                                                         .timing_version = cases[i].version}};
        rp_autofree char *text = rp_format("{\"timing\": %s, %s", cases[i].timing,
                                           BENCH("software", "{\"l2_gbps\": 5}") + 1);
        struct result got = {0};

        err = (struct rp_err)RP_ERR_INIT;
        assert_int_equal(rp_roofline_parse_ceilings(text, &measured, &err), 0);
        parse(&got, "Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n", &options);
        if (cases[i].note && !has_note(&got.r, cases[i].note))
            fail_msg("case %zu: no note says '%s'", i, cases[i].note);
        assert_int_equal(has_note(&got.r, "the ceilings are of"), cases[i].note != NULL);
        release(&got);
    }
}

/* Every file that is none, or says too little, is refused for one reason, and changes nothing. */
static void test_bad_ceilings(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "no column HBMBw"},
        {"{", "line 1"},
        {"{}", "no file of rocm-perf bench"},
        {"  {\"ceilings\": {}, \"measurements\": 1}", "no file of rocm-perf bench"},
        {"{\"ceilings\": {}, \"measurements\": []}", "schema_version"},
        {BENCH("moon", "{\"hbm_gbps\": 1}"), "of which device"},
        {BENCH("hardware", "{}"), "none of its ceilings"},
        {BENCH("hardware", "{\"hbm_gbps\": 0}"), "ceilings.hbm_gbps is no number above 0"},
        {BENCH("hardware", "{\"mfma_f8_gflops\": true}"), "ceilings.mfma_f8_gflops is no number"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_measured_ceilings measured = {.compute_units = 7};

        err = (struct rp_err)RP_ERR_INIT;
        assert_int_equal(rp_roofline_parse_ceilings(cases[i].text, &measured, &err), -RP_BAD_INPUT);
        if (!strstr(err.text, cases[i].why))
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(measured.compute_units, 7);
    }
}

/* Partition modes of the driver, and files that do not name them. */
static void test_partitions(void **state)
{
    static const struct {
        const char *sysinfo; /* columns below */
        uint32_t compute_units, xccs, parts;
        double hbm;
    } cases[] = {
        {"gfx942,29857,304,8,SPX,NPS1", 304, 8, 0, 5324.8},
        {"gfx942,29857,152,4,DPX,NPS1", 152, 4, 2, 5324.8},
        {"gfx942,29857,152,4,DPX,NPS2", 152, 4, 2, 5324.8 / 2},
        {"gfx942,29857,76,2,QPX,NPS1", 76, 2, 4, 5324.8},
        {"gfx942,29857,38,1,CPX,NPS1", 38, 1, 8, 5324.8},
        {"gfx942,29857,38,1,CPX,NPS4", 38, 1, 8, 5324.8 / 4},
        {"gfx942,29856,76,2,TPX,NPS1", 76, 2, 3, 5324.8},
        {"gfx942,29856,38,1,CPX,NPS4", 38, 1, 6, 5324.8 / 4},
        {"gfx942,29861,304,1,CPX,NPS4", 38, 1, 8, 6144.0 / 4}, /* 304 is a guess, too */
        {"gfx950,30112,32,1,CPX,NPS2", 32, 1, 8, 7782.4 / 2},
        {"gfx950,30112,128,8,SPX,NPS1", 256, 8, 0, 7782.4}, /* guesses of a real file */
        {"gfx942,29861,304,1,,", 304, 8, 0, 6144},          /* and of another */
        {"gfx942,29857,38,1,N/A,N/A", 38, 1, 8, 5324.8},
        {"gfx942,29857,304,8,SPX,NPS4", 304, 8, 0, 5324.8}, /* no part reaches all of it */
        {"gfx90a,29704,110,1,NA,NA", 110, 1, 0, 1638.4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rp_counters *facts = NULL;
        struct result got = {0};
        rp_autofree char *text = rp_format(
            "gpu_arch,gpu_chip_id,cu_per_gpu,num_xcd,compute_partition,memory_partition\n%s\n",
            cases[i].sysinfo);

        assert_int_equal(rp_counters_parse("sysinfo.csv", text, strlen(text), &facts, &err), 0);
        assert_int_equal(rp_counters_parse("t.csv", "Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n",
                                           strlen("Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n"),
                                           &got.counters, &err),
                         0);
        assert_int_equal(rp_counters_merge(got.counters, facts, &err), 0);
        rp_counters_free(facts);
        compute(&got, &plain);
        if (got.r.devices[0].compute_units != cases[i].compute_units ||
            got.r.devices[0].xcc_count != cases[i].xccs || got.r.devices[0].parts != cases[i].parts)
            fail_msg("%s: %u CUs, %u XCDs, %u parts", cases[i].sysinfo,
                     got.r.devices[0].compute_units, got.r.devices[0].xcc_count,
                     got.r.devices[0].parts);
        NEAR(got.r.devices[0].ceilings.gbps[RP_LEVEL_HBM].value, cases[i].hbm);
        assert_int_equal(has_note(&got.r, "partitions"), cases[i].parts > 1);
        release(&got);
    }
}

static void test_overrides(void **state)
{
    static const struct rp_roofline_options options = {
        .arch = "gfx942", .memory_gbps = 4000, .clock_mhz = 1000};
    static const struct rp_roofline_options unknown = {.arch = "gfx9999"};
    struct result got = {0};
    struct rp_roofline r;

    (void)state;
    parse(&got, "Dispatch_ID,Kernel_Name,TCC_REQ\n0,k,1\n", &options);
    assert_true(got.r.devices[0].ceilings.gbps[RP_LEVEL_HBM].value == 4000);
    assert_true(got.r.devices[0].ceilings.gflops[RP_FLOP_MFMA_F8].value == 304.0 * 4096);
    assert_false(got.r.devices[0].ceilings.gflops[RP_FLOP_MFMA_F6F4].known);
    assert_int_equal(rp_roofline_compute(got.counters, &unknown, &r, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "gfx942:mi300a"));
    release(&got);
}

/* --- little was counted ------------------------------------------------------------------- */

static void test_width(void **state)
{
    static const struct rp_roofline_options exact = {.model = RP_FLOPS_EXACT},
                                            width = {.model = RP_FLOPS_WIDTH};
    rp_autofree char *path =
        rp_format("%s/rocpd/multik-pmc-synthetic_results.db", getenv("RP_TEST_DATA"));
    struct rp_store *store;
    struct result got = {0}, none = {0}, wide = {0};

    (void)state;
    assert_int_equal(rp_store_open(path, &store, &err), 0);
    assert_int_equal(rp_roofline_counters(store, &got.counters, &err), 0);
    compute(&got, &plain);
    assert_int_equal(got.r.program.calls, 34);
    for (size_t i = 0; i < got.r.kernel_count; i++)
        if (strcmp(got.r.kernels[i].name, "k_dynlds(float const*, float*, int)") == 0) {
            /* SQ_INSTS_VALU of its 4 dispatches is 32768, by rocpd's own view. */
            assert_true(got.r.kernels[i].flops_by_width);
            assert_true(got.r.kernels[i].flops.value == 8 * 32768);
            assert_false(got.r.kernels[i].bytes[RP_LEVEL_HBM].known);
        }
    assert_true(has_note(&got.r, "simple model"));
    rp_roofline_free(&got.r);
    compute(&got, &exact);
    assert_non_null(strstr(got.r.reason, "SQ_INSTS_VALU"));
    parse(&none, "Kind,Dispatch_ID,Kernel_Name\nKERNEL_DISPATCH,0,k\n", &plain);
    assert_string_equal(none.r.reason, "no hardware counters were collected");
    open_file(&wide, "no_roof_MI300X_A1", &width);
    /* As if no request were longer than 64 bytes: RDREQ * 64 of three dispatches. */
    assert_true(wide.r.kernels[0].hbm_read.known && wide.r.kernels[0].reads_by_width);
    assert_true(wide.r.kernels[0].hbm_read.value < 25210560);
    rp_store_close(store);
    release(&got);
    release(&none);
    release(&wide);
}

/* A GPU that no table knows: its derived counters still say how much it read. */
static void test_unknown_gpu(void **state)
{
    struct result got = {0};
    double sum = 0;

    (void)state;
    open_file(&got, "gfx1151", &plain);
    assert_null(got.r.reason);
    assert_int_equal(got.r.program.calls, 34);
    for (size_t i = 0; i < got.counters->dispatch_count; i++)
        sum += got.counters->dispatches[i].values[0].value;
    assert_true(got.r.program.hbm_read.known && got.r.program.hbm_read.value == sum * 1024);
    assert_false(got.r.program.hbm_write.known);
    assert_int_equal(got.r.program.bound, RP_BOUND_UNKNOWN);
    assert_true(has_note(&got.r, "--arch"));
    release(&got);
}

/* One dispatch without a counter makes the kernel's sum unknown, not too small. */
static void test_missing_in_one(void **state)
{
    static const struct rp_roofline_options options = {.arch = "gfx942"};
    struct result got = {0};

    (void)state;
    parse(&got,
          "Dispatch_ID,Kernel_Name,TCC_REQ_sum,TCP_TOTAL_CACHE_ACCESSES_sum\n0,k,1,2\n1,k,,2\n",
          &options);
    assert_false(got.r.kernels[0].by_convention[RP_L2_REQUESTS_128].known);
    assert_true(got.r.kernels[0].bytes[RP_LEVEL_L1].value == 256);
    release(&got);
}

/* --- passes that disagree ------------------------------------------------------------------ */

static bool has_text(const char *text, const char *part)
{
    return text && strstr(text, part);
}

#define MEMORY                                                                                     \
    "Dispatch_ID,Kernel_Name,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,"              \
    "TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum\n"

/* A rest that is negative within 5 % is 0; beyond, the value is withheld, with the reason. */
static void test_tolerance(void **state)
{
    static const struct rp_roofline_options options = {.arch = "gfx942"};
    static const struct {
        const char *rows, *note;
        double read, written; /* -1: withheld */
    } cases[] = {
        {"0,k,1000,0,1000,400,400\n", NULL, 128000, 25600},
        {"0,k,1000,0,1000,400,420\n",
         "TCC_EA0_WRREQ_64B_sum exceeds TCC_EA0_WRREQ_sum by 5 % at most, in 1 of 1 dispatches of "
         "k",
         128000, 26880},
        {"0,k,1000,0,1000,400,421\n",
         "bytes written of k are not known: TCC_EA0_WRREQ_64B_sum exceeds TCC_EA0_WRREQ_sum by"
         " 5.2 %",
         128000, -1},
        {"0,k,1000,10,1000,400,400\n",
         "TCC_BUBBLE_sum + TCC_EA0_RDREQ_32B_sum exceed TCC_EA0_RDREQ_sum by 1 % at most",
         128000 + 320, 25600},
        {"0,k,1000,0,1100,400,400\n", "bytes read of k are not known", -1, 25600},
        /* What is wrong in one dispatch is not made good by another, unless it is small. */
        {"0,k,1000,0,0,400,400\n1,k,1000,0,0,400,800\n", "TCC_EA0_WRREQ_sum by 50 %", 128000, -1},
        {"0,k,1000,0,0,400,0\n1,k,1000,0,0,400,410\n", "by 2.5 % at most, in 1 of 2 dispatches",
         128000, 410 * 64 + 390 * 32},
        {"0,k,1000,0,0,0,1\n", "exceeds TCC_EA0_WRREQ_sum, which counted nothing", 64000, -1},
        {"0,k,1000,0,0,0,1\n1,k,1000,0,0,400,400\n",
         "exceeds TCC_EA0_WRREQ_sum in 1 of 2 dispatches of k, where TCC_EA0_WRREQ_sum counted"
         " nothing in at least one: what",
         128000, 401 * 64},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *text = rp_format("%s%s", MEMORY, cases[i].rows);
        struct result got = {0};
        const struct rp_roofline_kernel *k;

        parse(&got, text, &options);
        k = &got.r.kernels[0];
        assert_int_equal(k->hbm_read.known, cases[i].read >= 0);
        assert_int_equal(k->hbm_write.known, cases[i].written >= 0);
        assert_true(k->hbm_read.value == (cases[i].read < 0 ? 0 : cases[i].read));
        assert_true(k->hbm_write.value == (cases[i].written < 0 ? 0 : cases[i].written));
        assert_false(k->reads_by_width);
        if (cases[i].note && !has_note(&got.r, cases[i].note))
            fail_msg("case %zu: no note says '%s'", i, cases[i].note);
        if (!cases[i].note)
            assert_false(has_note(&got.r, "exceed"));
        release(&got);
    }
}

/* Every difference of every formula goes the same way. */
static void test_all_differences(void **state)
{
    static const struct {
        const char *arch, *names, *little, *much;
        enum rp_difference difference;
    } cases[] = {
        {"gfx90a", "TCC_EA_RDREQ_sum,TCC_EA_RDREQ_32B_sum", "100,101", "100,120",
         RP_DIFFERENCE_READS_OF_TWO},
        {"gfx942", "TCC_EA0_RDREQ_sum,TCC_BUBBLE_sum,TCC_EA0_RDREQ_32B_sum", "100,90,11",
         "100,90,30", RP_DIFFERENCE_READS_OF_BUBBLE},
        {"gfx950", "TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_128B_sum,TCC_EA0_RDREQ_32B_sum", "100,90,11",
         "100,90,30", RP_DIFFERENCE_READS_OF_128},
        {"gfx90a", "TCC_EA_WRREQ_sum,TCC_EA_WRREQ_64B_sum", "100,101", "100,120",
         RP_DIFFERENCE_WRITES},
        {"gfx950", "SQ_LDS_IDX_ACTIVE,SQ_LDS_BANK_CONFLICT", "100,101", "100,120",
         RP_DIFFERENCE_LDS},
        {"gfx942",
         "TCP_TOTAL_CACHE_ACCESSES_sum,TCP_TCC_READ_REQ_sum,TCP_TCC_WRITE_REQ_sum,"
         "TCP_TCC_ATOMIC_WITH_RET_REQ_sum,TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
         "100,90,11,0,0", "100,90,30,0,0", RP_DIFFERENCE_L1_HITS},
    };

    (void)state;
    assert_int_equal(sizeof cases / sizeof *cases, RP_DIFFERENCE_COUNT);
    for (size_t i = 0; i < 2 * RP_DIFFERENCE_COUNT; i++) {
        bool much = i % 2;
        const struct rp_roofline_options options = {.arch = cases[i / 2].arch};
        rp_autofree char *text =
            rp_format("Dispatch_ID,Kernel_Name,%s\n0,k,%s\n", cases[i / 2].names,
                      much ? cases[i / 2].much : cases[i / 2].little);
        struct result got = {0};
        const struct rp_pass_difference *d;

        parse(&got, text, &options);
        d = &got.r.kernels[0].differences[cases[i / 2].difference];
        assert_true(d->asked && d->negative == 1 && d->withheld == much);
        assert_true(d->most > (much ? 0.19 : 0.009) && d->most < (much ? 0.21 : 0.011));
        assert_true(has_note(&got.r, much ? "not known" : "passes disagree"));
        release(&got);
    }
}

/* What lacks a pass in part of its dispatches. */
static void test_lost_pass(void **state)
{
    static const struct rp_roofline_options options = {.arch = "gfx942"};
    struct result lost = {0}, some = {0}, own = {0};

    (void)state;
    open_case(&lost, "counters_pass_lost", &options);
    assert_true(has_note(&lost.r, "write requests counted in 2 of 3 dispatches of k(float*)"));
    assert_true(lost.r.kernels[0].hbm_read.known && !lost.r.kernels[0].hbm_write.known);
    parse(&some, "Dispatch_ID,Kernel_Name,SQ_WAVES\n0,k,7\n1,k,\n", &options);
    assert_true(has_note(&some.r, "counters collected in 1 of 2 dispatches of k"));
    parse(&own, "Dispatch_ID,Kernel_Name,SQ_WAVES,MINE\n0,k,7,1\n1,k,7,\n", &options);
    assert_true(has_note(&own.r, "MINE counted in 1 of 2 dispatches of k"));
    release(&lost);
    release(&some);
    release(&own);
}

/* The vector ceiling is that of one instruction at a time. Above it is what two can do where a SIMD
 * has two ports (published f32 multiply-adds of an MI300X reach 140 TFLOP/s), and what none can. */
static void test_two_at_once(void **state)
{
    static const char two[] = "k is above its VALU ceiling (150.0 %), which is that of one vector "
                              "instruction at a time",
                      wrong[] = "GPU or clock are not those of the run";
    static const struct {
        const char *arch, *note, *other;
        double fma; /* in 1 us */
    } cases[] = {
        {"gfx942", two, wrong, 1.5 * 304 * 2.1e3},
        {"gfx950", two, wrong, 1.5 * 256 * 2.2e3},
        {"gfx942", "k exceeds its VALU ceiling (250.0 %): GPU or clock", "at a time",
         2.5 * 304 * 2.1e3},
        {"gfx90a", "k exceeds its VALU ceiling (150.0 %): GPU or clock", "at a time",
         1.5 * 110 * 1.7e3},
        {"gfx942", "packed vector instructions", "VALU ceiling", 0.9 * 304 * 2.1e3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_roofline_options options = {.arch = cases[i].arch};
        rp_autofree char *text = rp_format(
            "Dispatch_ID,Kernel_Name,SQ_INSTS_VALU_ADD_F32,SQ_INSTS_VALU_MUL_F32,"
            "SQ_INSTS_VALU_TRANS_F32,SQ_INSTS_VALU_FMA_F32,TCC_EA0_RDREQ_sum,"
            "TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_RDREQ_128B_sum,TCC_EA0_WRREQ_sum,"
            "TCC_EA0_WRREQ_64B_sum,Start_Timestamp,End_Timestamp\n"
            "0,k,0,0,0,%.0f,10,0,0,0,10,10,1000,2000\n",
            cases[i].fma);
        struct result got = {0};

        parse(&got, text, &options);
        if (got.r.kernels[0].bound != RP_BOUND_VALU)
            fail_msg("case %zu: bound %d", i, (int)got.r.kernels[0].bound);
        if (!has_note(&got.r, cases[i].note))
            fail_msg("case %zu: no note says '%s'", i, cases[i].note);
        if (has_note(&got.r, cases[i].other))
            fail_msg("case %zu: a note says '%s'", i, cases[i].other);
        release(&got);
    }
}

/* Above the peak of HBM: what the Infinity Cache can serve, and what nothing can. */
static void test_peaks(void **state)
{
    static const struct {
        const char *arch, *note;
        double reads; /* of 64 bytes, in 1 us */
        enum rp_peak peak;
    } cases[] = {
        {"gfx942", NULL, 80000, RP_PEAK_BELOW},
        {"gfx942",
         "k: 6.4 TB/s exceeds the HBM peak of 5.32 TB/s (120 %): probably served by the Infinity "
         "Cache",
         100000, RP_PEAK_CACHED},
        {"gfx942", "k: 19.2 TB/s exceeds the HBM peak of 5.32 TB/s (361 %) and the 17.2 TB/s",
         300000, RP_PEAK_IMPOSSIBLE},
        {"gfx950", "probably served by the Infinity Cache", 300000, RP_PEAK_CACHED},
        {"gfx950", " and the 36 TB/s of the L2", 600000, RP_PEAK_IMPOSSIBLE},
        {"gfx90a", "k: 6.4 TB/s exceeds the HBM peak of 1.64 TB/s (391 %), so counters", 100000,
         RP_PEAK_IMPOSSIBLE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_roofline_options options = {.arch = cases[i].arch};
        rp_autofree char *text = rp_format(
            "Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp,TCC_EA0_RDREQ_sum,"
            "TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_RDREQ_128B_sum,TCC_EA0_WRREQ_sum,"
            "TCC_EA0_WRREQ_64B_sum,SQ_INSTS_VALU\n0,k,1000,2000,%.0f,0,0,0,0,0,1\n",
            cases[i].reads);
        struct result got = {0};
        const struct rp_roofline_kernel *k;

        parse(&got, text, &options);
        k = &got.r.kernels[0];
        assert_int_equal(k->peak[RP_LEVEL_HBM], cases[i].peak);
        assert_int_equal(got.r.program.peak[RP_LEVEL_HBM], cases[i].peak);
        if (cases[i].note && !has_note(&got.r, cases[i].note))
            fail_msg("case %zu: no note says '%s'", i, cases[i].note);
        if (!cases[i].note)
            assert_false(has_note(&got.r, "exceeds the"));
        assert_int_equal(k->bound_share.known, cases[i].peak != RP_PEAK_IMPOSSIBLE);
        assert_int_equal(has_note(&got.r, "Infinity Cache (256 MB) is counted"),
                         strcmp(cases[i].arch, "gfx90a") != 0);
        release(&got);
    }
}

/* --- kernel x counter ---------------------------------------------------------------------- */

static const struct rp_kernel_count *count_of(const struct rp_roofline_kernel *k, const char *name)
{
    for (size_t i = 0; i < k->count_count; i++)
        if (strcmp(k->counts[i].name, name) == 0)
            return &k->counts[i];
    return NULL;
}

/* Counters of any name, without times and without a roofline. */
static void test_counts(void **state)
{
    struct result got = {0}, full = {0};

    (void)state;
    open_case(&got, "notime", &plain);
    assert_non_null(got.r.reason);
    assert_int_equal(got.r.kernel_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct rp_roofline_kernel *k = &got.r.kernels[i];
        bool copy = strstr(k->name, "Copy") != NULL;

        assert_int_equal(k->count_count, 2);
        assert_true(count_of(k, "TCP_UTCL1_TRANSLATION_HIT_sum")->sum ==
                    (copy ? 30341578 : 15186725));
        assert_int_equal(count_of(k, "TCP_UTCL1_TRANSLATION_HIT_sum")->dispatches, 1);
        assert_string_equal(k->derived[RP_DERIVED_UTCL1_HIT_RATE].missing[0],
                            "TCP_UTCL1_REQUEST_sum");
        assert_false(k->derived[RP_DERIVED_L2_HIT_RATE].asked);
    }
    parse(&full, "Dispatch_ID,Kernel_Name,GL2C_X,SQ_WAVES\n0,k,4294967295,3\n1,k,5,4\n", &plain);
    assert_true(count_of(&full.r.kernels[0], "GL2C_X")->sum == 5);
    assert_int_equal(count_of(&full.r.kernels[0], "GL2C_X")->dispatches, 1);
    assert_true(count_of(&full.r.kernels[0], "SQ_WAVES")->sum == 7);
    assert_true(has_note(&full.r, "GL2C_X reads 4294967295"));
    release(&got);
    release(&full);
}

/* Formulas against sums by hand; numbers are such that no two counters can be exchanged. */
static void test_derived(void **state)
{
    static const char text[] =
        "Dispatch_ID,Kernel_Name,TCC_HIT_sum,TCC_MISS_sum,TCP_TOTAL_CACHE_ACCESSES_sum,"
        "TCP_TCC_READ_REQ_sum,TCP_TCC_WRITE_REQ_sum,TCP_TCC_ATOMIC_WITH_RET_REQ_sum,"
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum,SQC_DCACHE_HITS,SQC_DCACHE_MISSES,SQC_ICACHE_HITS,"
        "SQC_ICACHE_MISSES,TCP_UTCL1_TRANSLATION_HIT_sum,TCP_UTCL1_REQUEST_sum,"
        "TA_TOTAL_WAVEFRONTS_sum,TCP_TOTAL_ACCESSES_sum,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,"
        "TCC_BUBBLE_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum,TCC_EA0_RDREQ_LEVEL_sum,"
        "TCC_EA0_WRREQ_LEVEL_sum,SQ_LDS_BANK_CONFLICT,SQ_LDS_IDX_ACTIVE,SQ_ACCUM_PREV_HIRES,"
        "SQ_LEVEL_WAVES,GRBM_GUI_ACTIVE,SQ_WAVE_CYCLES,SQ_BUSY_CU_CYCLES,SQ_ACTIVE_INST_VALU,"
        "SQ_VALU_MFMA_BUSY_CYCLES,SQ_THREAD_CYCLES_VALU,SQ_INSTS,SQ_WAVES,SQ_WAIT_ANY\n"
        "0,k,30,10,1000,200,100,40,10,90,10,970,30,450,500,100,6400,100,25,50,80,60,70000,24000,"
        "30,70,1216000,0,8000,5000,1000,30400,243200,1459200,750,20,4000\n";
    static const struct {
        enum rp_derived derived;
        double value;
    } cases[] = {
        {RP_DERIVED_L2_HIT_RATE, 30.0 / 40},
        {RP_DERIVED_L1_HIT_RATE, 650.0 / 1000},
        {RP_DERIVED_SCALAR_L1_HIT_RATE, 0.9},
        {RP_DERIVED_INST_L1_HIT_RATE, 0.97},
        {RP_DERIVED_UTCL1_HIT_RATE, 0.9},
        {RP_DERIVED_COALESCING, 0.25},
        {RP_DERIVED_READ_BYTES, (50 * 128 + 25 * 64 + 25 * 32) / 100.0},
        {RP_DERIVED_WRITE_BYTES, (60 * 64 + 20 * 32) / 80.0},
        {RP_DERIVED_READ_LATENCY, 700},
        {RP_DERIVED_WRITE_LATENCY, 300},
        {RP_DERIVED_LDS_CONFLICTS, 30.0 / 40},
        {RP_DERIVED_OCCUPANCY, 4}, /* 1216000 wave cycles in 1000 clocks on 304 CUs */
        {RP_DERIVED_BUSY_OCCUPANCY, 5},
        {RP_DERIVED_VALU, 0.1},
        {RP_DERIVED_MFMA, 0.2},
        {RP_DERIVED_LANES, 48},
        {RP_DERIVED_IPC, 0.75},
        {RP_DERIVED_WAVE_LIFE, 1000},
        {RP_DERIVED_WAIT, 0.8},
    };
    static const struct rp_roofline_options options = {.arch = "gfx942"};
    struct result got = {0};

    (void)state;
    assert_int_equal(sizeof cases / sizeof *cases, RP_DERIVED_COUNT);
    parse(&got, text, &options);
    for (size_t i = 0; i < RP_DERIVED_COUNT; i++) {
        const struct rp_derived_value *d = &got.r.kernels[0].derived[cases[i].derived];

        if (!d->asked || !d->q.known || d->q.value < cases[i].value * 0.999999 ||
            d->q.value > cases[i].value * 1.000001)
            fail_msg("%s is %g, not %g", rp_derived_info(cases[i].derived)->name, d->q.value,
                     cases[i].value);
        assert_int_equal(d->dispatches, 1);
        assert_null(d->reason);
    }
    release(&got);
}

/* Why a derived value is not known. */
static void test_derived_unknown(void **state)
{
    static const struct rp_roofline_options options = {.arch = "gfx942"};
    struct result got = {0}, blind = {0};
    const struct rp_derived_value *d;

    (void)state;
    parse(&got,
          "Dispatch_ID,Kernel_Name,TCC_HIT_sum,TCC_MISS_sum,SQ_LDS_BANK_CONFLICT,"
          "SQ_LDS_IDX_ACTIVE,SQ_WAIT_ANY,SQ_WAVE_CYCLES,SQ_THREAD_CYCLES_VALU\n"
          "0,k,30,,0,0,120,100,5\n1,k,30,10,0,0,120,100,5\n2,k,,20,0,0,120,100,5\n",
          &options);
    d = got.r.kernels[0].derived;
    assert_true(d[RP_DERIVED_L2_HIT_RATE].q.value == 0.75); /* of the one that has both */
    assert_int_equal(d[RP_DERIVED_L2_HIT_RATE].dispatches, 1);
    assert_string_equal(d[RP_DERIVED_LDS_CONFLICTS].reason, "none counted");
    assert_true(has_text(d[RP_DERIVED_WAIT].reason, "contradict"));
    assert_string_equal(d[RP_DERIVED_LANES].missing[0], "SQ_ACTIVE_INST_VALU");
    assert_false(d[RP_DERIVED_LANES].q.known);
    parse(&blind, "Dispatch_ID,Kernel_Name,SQ_ACTIVE_INST_VALU,GRBM_GUI_ACTIVE\n0,k,5,100\n",
          &plain);
    assert_true(has_text(blind.r.kernels[0].derived[RP_DERIVED_VALU].reason, "--arch"));
    release(&got);
    parse(&got,
          "Dispatch_ID,Kernel_Name,SQ_ACCUM_PREV_HIRES,SQ_LEVEL_WAVES,SQ_IFETCH_LEVEL,"
          "GRBM_GUI_ACTIVE\n0,k,9,5,5,100\n",
          &options);
    assert_true(has_text(got.r.kernels[0].derived[RP_DERIVED_OCCUPANCY].reason, "levels"));
    release(&got);
    release(&blind);
}

/* Requests that one dispatch counted belong to the bytes of that one, not to those of all. */
static void test_derived_of_same_dispatches(void **state)
{
    static const struct rp_roofline_options options = {.arch = "gfx942"};
    struct result got = {0};
    const struct rp_derived_value *read;

    (void)state;
    parse(&got,
          "Dispatch_ID,Kernel_Name,FETCH_SIZE,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum\n"
          "0,some,1000,8000,0\n1,some,1000,,\n2,some,1000,,\n3,other,,8000,0\n4,other,9,,\n",
          &options);
    for (size_t k = 0; k < 2; k++) {
        read = &got.r.kernels[k].derived[RP_DERIVED_READ_BYTES];
        assert_int_equal(read->dispatches, 1);
        if (strcmp(got.r.kernels[k].name, "some") == 0) {
            assert_true(read->q.known && read->q.value == 128);
            assert_true(got.r.kernels[k].hbm_read.value == 3 * 1024 * 1000);
        } else {
            assert_false(read->q.known);
            assert_true(has_text(read->reason, "bytes read"));
        }
    }
    release(&got);
}

/* What is asked for exists: real machines counted it under that name. */
static void check_needs(const char *gfx, const char *folder, const char *const *uncounted)
{
    struct rp_roofline_need needs[64];
    rp_autofree char *path =
        rp_format("%s/counters/%s/pmc_perf.csv", getenv("RP_TEST_DATA"), folder);
    struct rp_counters *real;
    size_t count = rp_roofline_needs(gfx, needs, 64);

    assert_in_range(count, 10, 64);
    assert_int_equal(rp_counters_open(path, &real, &err), 0);
    for (size_t i = 0; i < count; i++) {
        bool found = false;

        for (size_t j = 0; j < real->name_count && !found; j++)
            found = strcmp(real->names[j], needs[i].name) == 0;
        for (size_t j = 0; uncounted && uncounted[j] && !found; j++)
            found = strcmp(uncounted[j], needs[i].name) == 0;
        if (!found)
            fail_msg("%s: nobody counted %s", gfx, needs[i].name);
    }
    rp_counters_free(real);
}

static void test_needs(void **state)
{
    /* Newer than the file: rocprof-compute collects them since 3.5. */
    static const char *const new_of_gfx950[] = {"TCC_EA0_RDREQ_64B_sum", "TCC_EA0_RDREQ_128B_sum",
                                                NULL};
    struct rp_roofline_need needs[64];

    (void)state;
    check_needs("gfx908", "vcopy_MI100", NULL);
    check_needs("gfx90a", "vcopy_MI200", NULL);
    check_needs("gfx942", "vcopy_MI300X_A1_rocpd", NULL);
    check_needs("gfx950", "vcopy_MI350", new_of_gfx950);
    assert_int_equal(rp_roofline_needs("gfx1030", needs, 64), 3);
    assert_string_equal(needs[0].name, "SQ_INSTS_VALU");
    assert_string_equal(needs[1].name, "FETCH_SIZE");
    assert_string_equal(needs[2].name, "WRITE_SIZE");
    assert_int_equal(rp_roofline_needs("gfx942", needs, 0), rp_roofline_needs("gfx942", needs, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_spoilt_times),
        cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_ceilings_of_a_model),
        cmocka_unit_test(test_bubble_of_gfx950),
        cmocka_unit_test(test_long_reads),
        cmocka_unit_test(test_work_and_bound),
        cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_bench_ceilings),
        cmocka_unit_test(test_bad_ceilings),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_unknown_gpu),
        cmocka_unit_test(test_missing_in_one),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_all_differences),
        cmocka_unit_test(test_lost_pass),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_derived),
        cmocka_unit_test(test_derived_unknown),
        cmocka_unit_test(test_derived_of_same_dispatches),
    };

    return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
